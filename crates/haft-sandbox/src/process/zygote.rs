//! The launcher's side of a zygote: starts it, requests supervisors, and stops it. It takes no part
//! in calls; a call's messages travel on the call's own socket.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustix::net::{SendFlags, Shutdown, SocketType, shutdown};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::helper_socket::HelperSocket;
use crate::recovery_log::RecoveryLog;
use crate::wire::{self, HELPER_ARGUMENT, HelperReply, MechanismFlags, ZygoteRequest};

/// Pause before a full socket is tried again, in milliseconds.
const FULL_MS: u64 = 1;

/// A helper that forks supervisors. It ends when this value and all calls that hold it are dropped.
#[derive(Debug)]
pub(super) struct ZygoteHandle {
    socket: OwnedFd,
    handle: OwnedFd,
    /// Taken only when the value is dropped.
    child: Option<Child>,
    /// The kernel mechanisms that it can use.
    pub(super) offer: MechanismFlags,
    /// The recovery log of its commands, if there is one.
    pub(super) recovery_log: Option<Arc<RecoveryLog>>,
}

impl ZygoteHandle {
    /// Starts a zygote and waits until it is ready. The zygote holds the recovery log's lock as
    /// long as it lives.
    pub(super) async fn start(
        helper: &Path,
        recovery_log: Option<Arc<RecoveryLog>>,
    ) -> io::Result<ZygoteHandle> {
        let output = match &recovery_log {
            Some(recovery_log) => Stdio::from(recovery_log.helper_lock()?),
            None => Stdio::null(),
        };
        let (ours, theirs) = wire::socket_pair(SocketType::STREAM)?;
        let child = Command::new(helper)
            .arg(HELPER_ARGUMENT)
            .env_clear()
            .stdin(Stdio::from(theirs))
            .stdout(output)
            .stderr(Stdio::null())
            .spawn()?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or(io::ErrorKind::InvalidData)?;
        // It has not been collected, so its number cannot have been reused.
        let handle = pidfd_open(pid, PidfdFlags::empty())?;
        let no_offer = MechanismFlags::default();
        let mut zygote = ZygoteHandle {
            socket: ours,
            handle,
            child: Some(child),
            offer: no_offer,
            recovery_log,
        };
        match HelperSocket::new(zygote.socket.try_clone()?)?.next().await? {
            Some((HelperReply::Ready(offer, _), _)) => zygote.offer = offer,
            Some(_) => return Err(io::ErrorKind::InvalidData.into()),
            None => return Err(io::ErrorKind::UnexpectedEof.into()),
        }
        Ok(zygote)
    }

    /// Requests a supervisor, which receives the descriptors.
    pub(super) async fn request(
        &self,
        request: ZygoteRequest,
        descriptors: &[BorrowedFd<'_>],
    ) -> io::Result<()> {
        loop {
            match wire::send(&self.socket, &[request.encode()], descriptors, SendFlags::DONTWAIT) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    // Many calls are queued, so the zygote may have been stopped.
                    self.wake();
                    tokio::time::sleep(Duration::from_millis(FULL_MS)).await;
                }
                sent => return sent.map(drop),
            }
        }
    }

    /// Wakes the zygote, in case it was stopped.
    pub(super) fn wake(&self) {
        // An error means that it has ended, which the next request reports.
        let _ = pidfd_send_signal(&self.handle, Signal::CONT);
    }
}

impl Drop for ZygoteHandle {
    fn drop(&mut self) {
        // The zygote sees its requests end, collects its remaining children, and exits.
        let _ = shutdown(&self.socket, Shutdown::Both);
        self.wake();
        if let Some(mut child) = self.child.take() {
            // Collected on a separate thread, because this must not block and the runtime may have
            // shut down. After an error the zombie stays until this process ends.
            let _ =
                thread::Builder::new().name("haft-zygote".to_owned()).spawn(move || child.wait());
        }
    }
}
