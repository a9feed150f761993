//! The launching side of a zygote: starting it, asking it for supervisors, and letting it go. It takes no part in calls;
//! what a call says travels on the call's own socket.

use std::fmt;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustix::net::{
    AddressFamily, SendFlags, Shutdown, SocketFlags, SocketType, shutdown, socketpair,
};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tokio::net::UnixStream;

use super::frames::Frames;
use super::underway::Underway;
use crate::wire::{self, Applied, HELPER_ARGUMENT, Reply, Request};

/// How long a full socket is left alone before it is tried again.
const FULL_MS: u64 = 1;

/// A helper that forks supervisors. It ends when this value and all calls that hold it are gone.
pub(super) struct Zygote {
    socket: OwnedFd,
    handle: OwnedFd,
    /// Taken only when the value is dropped.
    child: Option<Child>,
    offer: Applied,
    underway: Option<Arc<Underway>>,
}

impl Zygote {
    /// Starts a zygote and waits until it is ready. It holds what says that something is under way as long as it lives.
    pub(super) async fn start(
        helper: &Path,
        underway: Option<Arc<Underway>>,
    ) -> io::Result<Zygote> {
        let output = match &underway {
            Some(underway) => Stdio::from(underway.for_helpers()?),
            None => Stdio::null(),
        };
        let (ours, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        let child = Command::new(helper)
            .arg(HELPER_ARGUMENT)
            .env_clear()
            .stdin(Stdio::from(theirs))
            .stdout(output)
            .stderr(Stdio::null())
            .spawn()?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or(io::ErrorKind::InvalidData)?;
        // It has not been waited for, so that the number is its own.
        let handle = pidfd_open(pid, PidfdFlags::empty())?;
        let no_offer = Applied::default();
        let mut zygote =
            Zygote { socket: ours, handle, child: Some(child), offer: no_offer, underway };
        zygote.offer = zygote.receive_offer().await?;
        Ok(zygote)
    }

    /// What of the kernel it can use.
    pub(super) fn offer(&self) -> Applied {
        self.offer
    }

    /// Where it is written down what its commands have under way, if anywhere.
    pub(super) fn underway(&self) -> Option<&Arc<Underway>> {
        self.underway.as_ref()
    }

    /// Asks for a supervisor, which gets the descriptors.
    pub(super) async fn request(
        &self,
        request: Request,
        descriptors: &[BorrowedFd<'_>],
    ) -> io::Result<()> {
        loop {
            match wire::send(&self.socket, &[request.encode()], descriptors, SendFlags::DONTWAIT) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    // Many calls wait already; someone may have stopped it.
                    self.wake();
                    tokio::time::sleep(Duration::from_millis(FULL_MS)).await;
                }
                sent => return sent.map(drop),
            }
        }
    }

    /// Lets it run, in case someone has stopped it.
    pub(super) fn wake(&self) {
        // An error means that it is gone, which the next request finds out.
        let _ = pidfd_send_signal(&self.handle, Signal::CONT);
    }

    async fn receive_offer(&self) -> io::Result<Applied> {
        let socket = StdUnixStream::from(self.socket.try_clone()?);
        socket.set_nonblocking(true)?;
        let mut frames = Frames::new(UnixStream::from_std(socket)?);
        match frames.next().await? {
            Some((Reply::Ready(offer, _), _)) => Ok(offer),
            Some(_) => Err(io::ErrorKind::InvalidData.into()),
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

impl Drop for Zygote {
    fn drop(&mut self) {
        // It reads the end of its requests, collects what still ends, and ends.
        let _ = shutdown(&self.socket, Shutdown::Both);
        self.wake();
        if let Some(mut child) = self.child.take() {
            // Collected on a thread of its own, because this must not block and there may be no runtime any more. An
            // error leaves a zombie until this process ends.
            let _ =
                thread::Builder::new().name("haft-zygote".to_owned()).spawn(move || child.wait());
        }
    }
}

impl fmt::Debug for Zygote {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Zygote").field("offer", &self.offer).finish_non_exhaustive()
    }
}
