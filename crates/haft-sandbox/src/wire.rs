//! The messages between a launcher, its zygote and its supervisors: a specification in one
//! direction, replies in the other. The encoding is custom because names need not be text and
//! because a helper should start without a parser. It deliberately has no version: all ends always
//! come from one build.

mod bounds;
mod cover_order;
mod descriptor_passing;
mod reply;
mod spec;

pub(crate) use bounds::{WireConfinement, WireCover, WireMount};
pub(crate) use cover_order::{COVER_ANSWER_BYTES, decode_covers, encode_covers};
pub(crate) use descriptor_passing::{receive, send, send_all, socket_pair};
pub(crate) use reply::{FRAME_HEADER_BYTES, HelperReply, MechanismFlags, StartFailure, StartStage};
pub(crate) use spec::WireCommandSpec;

/// The first argument that makes a program a helper.
pub(crate) const HELPER_ARGUMENT: &str = "__haft-sandbox-helper";

/// Largest command with its arguments and environment, in bytes.
///
/// Limit (commands): the command is not started.
pub(crate) const SPEC_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Size of the length that precedes a specification.
pub(crate) const SPEC_HEADER_BYTES: usize = 4;

/// A request from a launcher to its zygote. The call's descriptors travel with this one byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ZygoteRequest {
    /// A supervisor.
    Supervisor,
    /// A supervisor in its own network namespaces, which may already be prepared.
    Isolated,
}

/// Maximum number of descriptors in a request: the call's socket, the output pipe, the working
/// directory, and the channel if the command has one.
pub(crate) const REQUEST_DESCRIPTORS_MAX: usize = 4;

impl ZygoteRequest {
    pub(crate) fn encode(self) -> u8 {
        match self {
            ZygoteRequest::Supervisor => b's',
            ZygoteRequest::Isolated => b'i',
        }
    }

    pub(crate) fn decode(byte: u8) -> Option<ZygoteRequest> {
        match byte {
            b's' => Some(ZygoteRequest::Supervisor),
            b'i' => Some(ZygoteRequest::Isolated),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
