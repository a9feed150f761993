//! The programs that are installed together, and how one starts another. `haft` asks no model itself: for a command that
//! does, and for a plan whose nodes are agents, it becomes `haft-agent` with the same arguments.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use haft_app::host::AppHost;
use rustix::fs::{MemfdFlags, memfd_create};

use crate::error::{CommandError, CommandStatus};

/// The program that runs the commands which ask no model.
pub(crate) const HAFT: &str = "haft";
/// The program that runs the commands which ask models.
pub(crate) const AGENT: &str = "haft-agent";
/// The program that starts runs on Temporal. It is built and installed by itself.
pub(crate) const TEMPORAL: &str = "haft-temporal";

/// Returns whether another program of haft is installed beside this one.
pub(crate) fn is_installed(program: &str, host: &AppHost) -> bool {
    host.companion(program).is_ok_and(|path| path.is_file())
}

/// Replaces this process with another program of haft, with the same arguments. Returns only if that fails.
pub(crate) fn replace_with(program: &str, host: &AppHost) -> Result<CommandStatus, CommandError> {
    replace_with_input(program, host, None)
}

/// Replaces this process like [`replace_with`]. `input` is what this process has already read from standard input.
pub(crate) fn replace_with_input(
    program: &str,
    host: &AppHost,
    input: Option<&str>,
) -> Result<CommandStatus, CommandError> {
    let path = host.companion(program)?;
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    // Help and errors of all programs say `haft`, which is what people type.
    let mut command = Command::new(&path);
    command.arg0(HAFT).args(arguments);
    if let Some(text) = input {
        let file = file_of(text).map_err(|err| {
            CommandError::failed(format!("standard input cannot be handed to {program}: {err}"))
        })?;
        command.stdin(file);
    }
    let install = "install haft again with all of its programs, which lie side by side";
    Err(start_error(program, &path, &command.exec(), install))
}

/// Replaces this process with another program and gives it other arguments. Returns only if that fails.
pub(crate) fn replace_with_command(
    program: &str,
    arguments: &[OsString],
    host: &AppHost,
) -> Result<CommandStatus, CommandError> {
    let path = host.companion(program)?;
    let install = format!("cargo install --locked --path fleet/{program}");
    Err(start_error(program, &path, &Command::new(&path).args(arguments).exec(), &install))
}

fn start_error(program: &str, path: &Path, err: &io::Error, install: &str) -> CommandError {
    let path = path.display();
    match err.kind() {
        io::ErrorKind::NotFound => CommandError::usage(format!(
            "this command needs the program {program}, which is not installed: there is no {path}"
        ))
        .hint(install),
        _ => CommandError::failed(format!("{path} does not start: {err}")),
    }
}

/// Returns a file in memory with this text, to be read from its beginning.
fn file_of(text: &str) -> io::Result<File> {
    let mut file = File::from(memfd_create("haft-input", MemfdFlags::CLOEXEC)?);
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok(file)
}
