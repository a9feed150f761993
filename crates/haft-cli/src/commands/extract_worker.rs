//! `haft extract-worker`: reads pages for `web_fetch`, in a process of its own that is confined to nothing else. It is
//! started by haft, spoken to through standard input and output, and ends when there is nothing more to read.

use std::io;

use crate::error::{CommandError, CommandStatus};

/// Runs the command.
pub(crate) fn run() -> Result<CommandStatus, CommandError> {
    // That a page brings a library down is told to whoever asked, and is no fault of haft.
    std::panic::set_hook(Box::new(|_| {}));
    match haft_reader::serve(io::stdin(), io::stdout()) {
        Ok(()) => Ok(CommandStatus::Done),
        Err(err) => Err(CommandError::failed(err.to_string())),
    }
}
