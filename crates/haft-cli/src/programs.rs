//! The programs that are installed together, and how one starts another. `haft` asks no model itself: for a command that
//! does, it becomes `haft-agent` with the same arguments.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use haft_app::host::AppHost;

use crate::error::{CommandError, CommandStatus};

/// The program that runs the commands which ask no model.
pub(crate) const HAFT: &str = "haft";
/// The program that runs the commands which ask models.
pub(crate) const AGENT: &str = "haft-agent";

/// Replaces this process with another program of haft, with the same arguments. Returns only if that fails.
pub(crate) fn replace_with(program: &str, host: &AppHost) -> Result<CommandStatus, CommandError> {
    let path = host.companion(program)?;
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    // Help and errors of all programs say `haft`, which is what people type.
    let err = Command::new(&path).arg0(HAFT).args(arguments).exec();
    let path = path.display();
    Err(match err.kind() {
        io::ErrorKind::NotFound => CommandError::usage(format!(
            "this command needs the program {program}, which is not installed: there is no {path}"
        ))
        .hint("install haft again with all of its programs: cargo install --locked --path crates/haft-cli"),
        _ => CommandError::failed(format!("{path} does not start: {err}")),
    })
}
