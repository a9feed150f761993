//! `haft man-pages`: one manual page for each command, written into a directory. Packages have them.

use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_mangen::Man;

use super::help_markdown::without_shared_arguments;
use crate::error::{CommandError, CommandResult, CommandStatus};

/// The arguments of `haft man-pages`.
#[derive(Args)]
pub(crate) struct ManPagesArgs {
    /// An existing directory
    dir: PathBuf,
}

/// Runs the command: writes the pages of the command line `haft`.
pub(crate) fn run(args: &ManPagesArgs, haft: Command) -> CommandResult {
    let mut haft = haft.disable_help_subcommand(true);
    // Gives commands their full names.
    haft.build();
    write_pages(&haft, &args.dir).map_err(|err| {
        let dir = args.dir.display();
        CommandError::usage(format!("the pages cannot be written into {dir}: {err}"))
    })?;
    Ok(CommandStatus::Done)
}

/// Writes the page of a command and of the commands below it.
fn write_pages(command: &Command, dir: &Path) -> io::Result<()> {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        write_pages(&without_shared_arguments(below.clone()), dir)?;
    }
    let program = concat!("haft ", env!("CARGO_PKG_VERSION"));
    Man::new(command.clone()).source(program).manual("haft").generate_to(dir)?;
    Ok(())
}
