//! How a running command and its caller communicate besides the command's output, as a value.

/// The descriptor number of the channel of a command with [`CommandChannel::Descriptor`].
pub const CHANNEL_DESCRIPTOR: i32 = 3;

/// How a running command communicates with the caller: over a connected pair of stream sockets. The
/// command holds one end; [`SandboxProcess::channel`](crate::SandboxProcess::channel) is the
/// other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CommandChannel {
    /// The command's end is [`CHANNEL_DESCRIPTOR`]. The standard streams are the same as without a
    /// channel.
    Descriptor,
    /// The command's end is both standard input and standard output. Only standard error is
    /// captured as output.
    Stdio,
}
