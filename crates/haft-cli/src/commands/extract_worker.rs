//! `haft extract-worker`: reads pages for `web_fetch` in a separate process with no other work. haft starts it, speaks to it
//! over standard input and output, and ends it by closing the input.

use std::io;

use crate::error::{CommandError, CommandStatus};

/// Runs the command.
pub(crate) fn run() -> Result<CommandStatus, CommandError> {
    // If a page crashes a library, haft reports that to the caller. It is not a fault of haft, so no panic is printed.
    std::panic::set_hook(Box::new(|_| {}));
    match haft_reader::serve(io::stdin(), io::stdout()) {
        Ok(()) => Ok(CommandStatus::Done),
        Err(err) => Err(CommandError::failed(err.to_string())),
    }
}
