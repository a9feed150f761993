//! Keeping protected names as they are during one command: what exists is looked up before and handed on to be pinned,
//! and what appeared is undone once nothing of the command is left. Both read directories, on threads that may block.

use std::io;
use std::os::fd::BorrowedFd;
use std::thread;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use tokio::task::{JoinHandle, spawn_blocking};

use crate::protect::{Survey, Undone};

/// What is still to be looked at after a command, and what was found.
#[derive(Debug, Default)]
pub(super) struct Protection {
    survey: Option<Survey>,
    /// Kept here so that waiting can be cancelled.
    concluding: Option<JoinHandle<Vec<Undone>>>,
    undone: Vec<Undone>,
}

impl Protection {
    pub(super) fn new(survey: Option<Survey>) -> Protection {
        Protection { survey, concluding: None, undone: Vec::new() }
    }

    pub(super) fn take(&mut self) -> Option<Survey> {
        self.survey.take()
    }

    /// Undoes what appeared under protected names; to be called when nothing of the command is left.
    pub(super) async fn conclude(&mut self) -> io::Result<()> {
        if let Some(survey) = self.survey.take() {
            self.concluding = Some(spawn_blocking(move || survey.conclude()));
        }
        if let Some(concluding) = &mut self.concluding {
            let undone = concluding.await;
            self.concluding = None;
            self.undone = undone.map_err(io::Error::other)?;
        }
        Ok(())
    }

    /// The same for a command that nobody waits for: it is done when every helper has closed the call's socket.
    pub(super) fn conclude_alone(&mut self, socket: BorrowedFd<'_>) {
        let Some(survey) = self.survey.take() else { return };
        let socket = socket.try_clone_to_owned();
        // There may be no runtime any more. Without a thread there is nobody left who could do it.
        let _ = thread::Builder::new().name("haft-conclude".to_owned()).spawn(move || {
            if let Ok(socket) = socket {
                // The end of the connection is reported whatever is asked for.
                let mut events = [PollFd::new(&socket, PollFlags::empty())];
                while poll(&mut events, None) == Err(Errno::INTR) {}
            }
            survey.conclude()
        });
    }

    /// Returns what was undone.
    pub(super) fn undone(&self) -> &[Undone] {
        &self.undone
    }
}
