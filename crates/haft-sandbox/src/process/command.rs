//! A command as data: what to run, where, and with which environment. Nothing is inherited that is not named here, and
//! nothing here is looked up; the program is searched by the helper, on the command's own PATH.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;

use super::error::SpawnError;

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
}

impl Command {
    /// Returns a command without arguments and with an empty environment.
    pub fn new(program: impl Into<OsString>, cwd: OwnedFd) -> Command {
        Command { program: program.into(), args: Vec::new(), cwd, env: Vec::new() }
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
