//! A command as data: the program, its directory and its environment. The command inherits nothing
//! that is not named here. Nothing is looked up here: the helper searches for the program on the
//! command's own PATH.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;

use super::error::SpawnError;
use crate::channel::CommandChannel;

/// A command to run.
#[derive(Debug)]
#[non_exhaustive]
pub struct SandboxCommand {
    /// The program: a path if it contains a slash, otherwise a name to search on the PATH in `env`.
    pub program: OsString,
    /// The arguments, without the program's own name.
    pub args: Vec<OsString>,
    /// The directory that the command starts in, already opened.
    pub cwd: OwnedFd,
    /// The whole environment. If a name occurs twice, the last value counts.
    pub env: Vec<(OsString, OsString)>,
    /// The channel to the command, if it has one.
    pub channel: Option<CommandChannel>,
}

impl SandboxCommand {
    /// Returns a command without arguments and with an empty environment.
    pub fn new(program: impl Into<OsString>, cwd: OwnedFd) -> SandboxCommand {
        let program = program.into();
        SandboxCommand { program, args: Vec::new(), cwd, env: Vec::new(), channel: None }
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<I>(mut self, args: I) -> SandboxCommand
    where
        I: IntoIterator<Item: Into<OsString>>,
    {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Adds one environment variable.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> SandboxCommand {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Sets the channel.
    #[must_use]
    pub fn channel(mut self, channel: CommandChannel) -> SandboxCommand {
        self.channel = Some(channel);
        self
    }

    /// Refuses values that no program can be started with.
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
