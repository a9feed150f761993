//! Preserves protected paths during one command. A scan before the command finds the existing ones,
//! which are mounted read-only. Once the command has ended completely, new ones are removed. Both
//! steps read directories, on threads that may block.

use std::io;
use std::os::fd::BorrowedFd;
use std::thread;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use tokio::task::{JoinHandle, spawn_blocking};

use crate::protect::{ProtectedPathScan, RevertedChange, RuledPath};

/// The scan to reconcile after a command, and the result.
#[derive(Debug, Default)]
pub(super) struct PendingReconciliation {
    pub(super) scan: Option<ProtectedPathScan>,
    /// Kept here so that waiting can be cancelled.
    reconciling: Option<JoinHandle<(Vec<RevertedChange>, Vec<RuledPath>)>>,
    /// The changes that were reverted; known after the reconciliation.
    pub(super) reverted: Vec<RevertedChange>,
    /// The denied paths that appeared; known after the reconciliation.
    pub(super) appeared: Vec<RuledPath>,
}

impl PendingReconciliation {
    /// Reverts changes under protected names. Call it when no process of the command is left.
    pub(super) async fn reconcile(&mut self) -> io::Result<()> {
        if let Some(scan) = self.scan.take() {
            self.reconciling = Some(spawn_blocking(move || scan.reconcile_ruled()));
        }
        if let Some(reconciling) = &mut self.reconciling {
            let reverted = reconciling.await;
            self.reconciling = None;
            (self.reverted, self.appeared) = reverted.map_err(io::Error::other)?;
        }
        Ok(())
    }

    /// Reconciles a command for which no caller waits, once every helper has closed the call's
    /// socket.
    pub(super) fn reconcile_in_background(&mut self, socket: BorrowedFd<'_>) {
        let Some(scan) = self.scan.take() else { return };
        let socket = socket.try_clone_to_owned();
        // The runtime may have shut down. If no thread can be started, reconciliation is skipped.
        let _ = thread::Builder::new().name("haft-conclude".to_owned()).spawn(move || {
            if let Ok(socket) = socket {
                // A hang-up is reported whichever events are requested.
                let mut events = [PollFd::new(&socket, PollFlags::empty())];
                while poll(&mut events, None) == Err(Errno::INTR) {}
            }
            scan.reconcile()
        });
    }
}
