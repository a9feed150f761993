//! Mistakes on the command line of xtask.

/// A command line that xtask does not understand; the exit status is 2 instead of 1.
#[derive(Debug)]
pub(crate) struct UsageError(pub(crate) String);

impl std::fmt::Display for UsageError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for UsageError {}

/// Returns the error for an argument that a command does not have.
pub(crate) fn unexpected_argument(command: &str, argument: &str) -> UsageError {
    UsageError(format!("`cargo xtask {command}` does not take `{argument}`"))
}
