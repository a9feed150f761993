//! What a launcher, its zygote and its supervisors say to each other over their sockets: a specification there, replies
//! back. The encoding is its own because names need not be text and because a helper should start without setting up a
//! parser. It deliberately has no version: all ends are always of one build.

mod bounds;
mod bytes;
mod passing;
mod reply;
mod spec;

pub(crate) use bounds::{Bounds, Pinned};
pub(crate) use bytes::{Reader, Writer};
pub(crate) use passing::{receive, send, send_all};
pub(crate) use reply::{Applied, FRAME_HEADER_BYTES, Failure, Reply, Stage};
pub(crate) use spec::Spec;

/// The first argument that makes a program a helper.
pub(crate) const HELPER_ARGUMENT: &str = "__haft-sandbox-helper";

/// The largest specification; the kernel's own limit on arguments and environment is below it.
pub(crate) const SPEC_BYTES_MAX: usize = 8 * 1024 * 1024;

/// The size of the length that precedes a specification.
pub(crate) const SPEC_HEADER_BYTES: usize = 4;

/// What a launcher asks its zygote for; the call's descriptors travel with this one byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Request {
    /// A supervisor.
    Supervisor,
    /// A supervisor of namespaces with a network of their own, of which there may be one already.
    Isolated,
}

/// How many descriptors travel with a request at most: the call's socket, the output pipe, the working directory, and
/// the channel if there is one.
pub(crate) const REQUEST_DESCRIPTORS_MAX: usize = 4;

impl Request {
    pub(crate) fn encode(self) -> u8 {
        match self {
            Request::Supervisor => b's',
            Request::Isolated => b'i',
        }
    }

    pub(crate) fn decode(byte: u8) -> Option<Request> {
        match byte {
            b's' => Some(Request::Supervisor),
            b'i' => Some(Request::Isolated),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
