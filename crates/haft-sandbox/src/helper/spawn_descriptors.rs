//! The descriptors that come with a request for a call, and the replies to it. The supervisors share
//! both. Nothing is started here.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::wire::{self, HelperReply, REQUEST_DESCRIPTORS_MAX, ZygoteRequest};

/// Exit status of a supervisor that leaves processes behind, for its zygote.
const STATUS_REMAINS: i32 = 1;

/// Maximum size of a report; the frames of replies are smaller.
const REPORT_BYTES_MAX: usize = 2_048;

/// The descriptors of a request.
pub(super) struct SpawnDescriptors {
    /// Receives the specification and sends the replies. The command may run while the other end is
    /// open.
    pub(super) socket: OwnedFd,
    /// The destination of the command's output.
    pub(super) output: OwnedFd,
    /// The command's start directory.
    pub(super) cwd: OwnedFd,
    /// The command's end of its channel, if it has one.
    pub(super) channel: Option<OwnedFd>,
}

impl SpawnDescriptors {
    /// Receives a request with its descriptors, or `None` when there will be no more.
    ///
    /// A request is incomplete if this process already has too many descriptors. This error leaves
    /// the next request intact. The sender sees the call's socket close.
    pub(super) fn receive(
        socket: BorrowedFd<'_>,
    ) -> io::Result<Option<(ZygoteRequest, SpawnDescriptors)>> {
        let mut descriptors = Vec::with_capacity(REQUEST_DESCRIPTORS_MAX);
        let mut request = [0];
        if wire::receive(socket, &mut request, &mut descriptors)? == 0 {
            return Ok(None);
        }
        let [request] = request;
        let mut descriptors = descriptors.into_iter();
        let mut next = || descriptors.next();
        match (ZygoteRequest::decode(request), next(), next(), next(), next()) {
            (Some(request), Some(socket), Some(output), Some(cwd), channel) => {
                Ok(Some((request, SpawnDescriptors { socket, output, cwd, channel })))
            }
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    /// Forwards the request to a spare, which has its own namespaces.
    pub(super) fn forward(&self, socket: &OwnedFd) -> io::Result<()> {
        let always = [self.socket.as_fd(), self.output.as_fd(), self.cwd.as_fd()];
        let descriptors: Vec<BorrowedFd<'_>> =
            always.into_iter().chain(self.channel.iter().map(AsFd::as_fd)).collect();
        wire::send_all(socket, &[ZygoteRequest::Isolated.encode()], &descriptors)
    }
}

/// Sends one reply; a launcher that has gone does not need it.
pub(super) fn send_reply(socket: impl AsFd, reply: &HelperReply) {
    let _ = wire::send_all(socket, &reply.encode(), &[]);
}

/// Sends the last reply, and returns the exit status for it.
pub(super) fn send_last_reply(socket: impl AsFd, reply: &HelperReply) -> i32 {
    send_reply(socket, reply);
    if matches!(reply, HelperReply::Survivors(_)) { STATUS_REMAINS } else { 0 }
}

/// Receives one report of a process of this helper, or `None` if the other side has closed.
pub(super) fn receive_report(
    socket: &OwnedFd,
    descriptors: &mut Vec<OwnedFd>,
) -> io::Result<Option<HelperReply>> {
    let mut frame = [0; REPORT_BYTES_MAX];
    match wire::receive(socket, &mut frame, descriptors)? {
        0 => Ok(None),
        count => HelperReply::decode(frame.get(..count).unwrap_or_default()).map(Some),
    }
}
