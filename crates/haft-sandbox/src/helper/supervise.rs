//! Staying with a command until its end, and ending what it left behind. The helper is the reaper of all the command's
//! descendants, so having no child left means that nothing is left. Every wait here is bounded; the command's own
//! duration is the launcher's business.

use std::io::{self, Write as _};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, getpid, kill_process, pidfd_open, wait,
};

use crate::tree;
use crate::wire::{Reply, Stage};

/// How long the helper tries to kill what is left before it reports survivors.
const TEARDOWN_MS_MAX: u64 = 5_000;

/// How long it waits between two tries at most.
const PAUSE_MS_MAX: u64 = 16;

/// How often orphans that ended by themselves are collected while the command runs.
const COLLECT: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// Reports the start, waits for the end of the command or of the launcher, and returns the report of the end.
pub(super) fn supervise(socket: &mut UnixStream, command: Pid) -> Reply {
    let mut family = Family { command, status: None };
    let waited = send(socket, Reply::Started).and_then(|()| family.wait_for_end(socket));
    match (family.tear_down(), waited) {
        (Err(survivors), _) => Reply::Survivors(i32::try_from(survivors).unwrap_or(i32::MAX)),
        (Ok(()), Err(error)) if family.status.is_none() => super::failed(Stage::Setup, &error),
        (Ok(()), _) => family.report(),
    }
}

/// Sends one reply.
pub(super) fn send(socket: &mut UnixStream, reply: Reply) -> io::Result<()> {
    socket.write_all(&reply.encode())
}

/// The command and everything that descends from it.
struct Family {
    command: Pid,
    /// How the command ended, once it was collected.
    status: Option<WaitStatus>,
}

impl Family {
    /// Returns when the command has ended, or when the launcher has closed its side of the socket.
    fn wait_for_end(&mut self, socket: &UnixStream) -> io::Result<()> {
        // The command is not collected yet, so that the number is its own even if it has ended.
        let command = pidfd_open(self.command, PidfdFlags::empty())?;
        while self.status.is_none() {
            let mut events = [
                PollFd::new(socket, PollFlags::IN | PollFlags::RDHUP),
                PollFd::new(&command, PollFlags::IN),
            ];
            match poll(&mut events, Some(&COLLECT)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
            let [lifeline, _] = &events;
            if !lifeline.revents().is_empty() {
                return Ok(());
            }
            self.collect();
        }
        Ok(())
    }

    /// Collects every child that has ended; tells whether any is left.
    fn collect(&mut self) -> bool {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.command => self.status = Some(status),
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return true,
                // No child is left.
                Err(_) => return false,
            }
        }
    }

    /// Kills until no child is left; fails with the number of those that withstand.
    fn tear_down(&mut self) -> Result<(), usize> {
        let deadline = Instant::now() + Duration::from_millis(TEARDOWN_MS_MAX);
        let mut pause_ms = 1;
        let mut survivors = 1;
        while self.collect() {
            if Instant::now() >= deadline {
                return Err(survivors);
            }
            match tree::kill_descendants(getpid()) {
                Ok(count) => survivors = count,
                Err(_) => self.kill_blindly(),
            }
            std::thread::sleep(Duration::from_millis(pause_ms));
            pause_ms = (pause_ms * 2).min(PAUSE_MS_MAX);
        }
        Ok(())
    }

    /// Kills the one child whose number is certain, for want of a view of the others.
    fn kill_blindly(&self) {
        if self.status.is_none() {
            // It is not collected yet, so that the number is still its own.
            let _ = kill_process(self.command, Signal::KILL);
        }
    }

    fn report(&self) -> Reply {
        let exited = self.status.and_then(WaitStatus::exit_status).map(Reply::Exited);
        let signalled = self.status.and_then(WaitStatus::terminating_signal).map(Reply::Signalled);
        // Having no child left implies that the command was collected, and collected children have ended.
        exited.or(signalled).unwrap_or(Reply::Failed(Stage::Setup, Errno::CHILD.raw_os_error()))
    }
}
