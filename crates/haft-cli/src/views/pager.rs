//! Long texts on a terminal: the pager shows them, as with git. `$PAGER` names it, and `less` is used without one. A text for a
//! file or a pipe, and one that fits, is written as it is.

use std::env;
use std::io::{self, IsTerminal as _, Write as _};
use std::process::{Command, Stdio};

use tokio::signal::unix::SignalKind;

use super::output;
use crate::error::CommandError;

/// The pager without `$PAGER`, and its options in `$LESS`: end if the text fits, keep colours, and leave the text on the screen.
const PAGER: &str = "less";
const LESS_OPTIONS: &str = "FRX";

/// Writes a text of haft's own colours through the pager, if standard output is a terminal. The caller escapes those parts
/// that others wrote.
pub(crate) fn write_paged(text: &str) -> Result<(), CommandError> {
    let pager = env::var("PAGER").unwrap_or_else(|_| PAGER.to_owned());
    let is_dumb = env::var_os("TERM").is_none_or(|term| term == "dumb");
    let is_plain = is_dumb || ["", "cat"].contains(&pager.trim());
    if is_plain || text.is_empty() || !io::stdout().is_terminal() {
        return output::write_coloured_data(text);
    }
    let mut command = Command::new("sh");
    command.arg("-c").arg(&pager).stdin(Stdio::piped());
    if env::var_os("LESS").is_none() {
        command.env("LESS", LESS_OPTIONS);
    }
    // Ctrl-C is for the pager: as long as this is here, it does not end haft.
    let _interrupts = tokio::signal::unix::signal(SignalKind::interrupt());
    let Ok(mut child) = command.spawn() else { return output::write_coloured_data(text) };
    if let Some(mut stdin) = child.stdin.take() {
        // A pager that was left early has read enough.
        let _ = stdin.write_all(text.as_bytes());
    }
    match child.wait() {
        // The shell did not find the program.
        Ok(status) if status.code() == Some(127) => output::write_coloured_data(text),
        Ok(_) => Ok(()),
        Err(err) => Err(CommandError::failed(format!("the pager {pager} failed: {err}"))),
    }
}
