//! A command as data: what to run, where, and with which environment. Nothing is inherited that is not named here, and
//! nothing here is looked up; the program is searched by the helper, on the command's own PATH.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;

use super::error::SpawnError;

/// The number of the descriptor that is the channel of a command with [`Channel::Descriptor`].
pub const CHANNEL_DESCRIPTOR: i32 = 3;

/// A command to run.
#[derive(Debug)]
#[non_exhaustive]
pub struct Command {
    /// The program: a path if it holds a slash, else a name to be found on the PATH in `env`.
    pub program: OsString,
    /// The arguments, without the program's own name.
    pub args: Vec<OsString>,
    /// The directory that the command starts in, opened already.
    pub cwd: OwnedFd,
    /// The whole environment; of a name given twice the last one counts.
    pub env: Vec<(OsString, OsString)>,
    /// How it is spoken to, if it is.
    pub channel: Option<Channel>,
}

/// How a command is spoken to while it runs: over a connected pair of stream sockets, of which it holds one end and
/// [`Process::take_channel`](crate::Process::take_channel) gives the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Channel {
    /// Its end is [`CHANNEL_DESCRIPTOR`]; the standard ones are as without a channel.
    Descriptor,
    /// Its end is both standard input and standard output; the output is what goes to standard error.
    Stdio,
}

impl Command {
    /// Returns a command without arguments and with an empty environment.
    pub fn new(program: impl Into<OsString>, cwd: OwnedFd) -> Command {
        let program = program.into();
        Command { program, args: Vec::new(), cwd, env: Vec::new(), channel: None }
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<I>(mut self, args: I) -> Command
    where
        I: IntoIterator<Item: Into<OsString>>,
    {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Adds one environment variable.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Command {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Gives it a channel.
    #[must_use]
    pub fn channel(mut self, channel: Channel) -> Command {
        self.channel = Some(channel);
        self
    }

    /// Refuses what no program can be started with.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "nothing is started there"))]
    pub(super) fn check(&self) -> Result<(), SpawnError> {
        let has_nul = |text: &OsStr| text.as_encoded_bytes().contains(&0);
        let is_no_name = |name: &OsStr| name.is_empty() || name.as_encoded_bytes().contains(&b'=');
        let reason = if self.program.is_empty() {
            "the program has no name"
        } else if has_nul(&self.program) || self.args.iter().any(|arg| has_nul(arg)) {
            "its name or an argument contains a NUL byte"
        } else if self.env.iter().any(|(name, value)| has_nul(name) || has_nul(value)) {
            "an environment variable contains a NUL byte"
        } else if self.env.iter().any(|(name, _)| is_no_name(name)) {
            "the name of an environment variable is empty or contains an equals sign"
        } else {
            return Ok(());
        };
        Err(SpawnError::Invalid { program: self.program.clone(), reason })
    }
}
