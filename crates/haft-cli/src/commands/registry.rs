//! `haft registry`: lists, checks and registers directories of Python tools. Each subcommand has a file below `registry/`.
//! Only `check` runs tools: those that METADATA calls deterministic, in processes that can only read.

mod add;
mod check;
mod directory_scan;
mod list;
mod sync;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use self::add::RegistryAddArgs;
use crate::arguments::cli_context::CliContext;
use crate::error::CommandResult;

pub(crate) use self::add::add_path;
pub(crate) use self::directory_scan::{ScannedDirectory, scan_entries};

/// Check, list and register Python tools
///
/// A tool is a Python file with a dictionary METADATA and the function that it names. METADATA is read by Python's own
/// parser in a confined process, and nothing of a file is executed before its tool is called, or tried by check.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft registry add tools            Offer the tools in a directory from now on
  haft registry check                Say what is wrong with which file, and how to mend it
  haft registry check ~/src/tools    Look at a directory that is not configured
  haft registry sync --check         Say how registry.json differs from the files
  haft call finance_price '{\"symbol\":\"X\"}'")]
pub(crate) struct RegistryArgs {
    #[command(subcommand)]
    command: RegistryCommand,
}

#[derive(Subcommand)]
enum RegistryCommand {
    /// Say of each file what is wrong with it and how to mend it
    ///
    /// A file with an error is left out, one with a warning is not. Where there is a registry.json, it is compared with the
    /// files as well. Tools whose METADATA says "deterministic": True are called twice with sample input, in fresh processes
    /// that can only read files. A warning says if the answers differ. The exit status is 1 if a file has an error, or if a directory cannot be used.
    Check(RegistryDirectoryArgs),
    /// List the tools with their files, effects and parameters
    List(RegistryDirectoryArgs),
    /// Write registry.json, as Smith has it, from the METADATA of the files
    ///
    /// Files with errors are not in it. A registry that cannot be read stays as it is, because a person may have edited it.
    /// The exit status is 1 if there are such files or such a registry, and with --check also if the registry differs from
    /// the files.
    Sync {
        #[command(flatten)]
        directory: RegistryDirectoryArgs,
        /// Write nothing, only say what differs
        #[arg(long)]
        check: bool,
        /// Also write over a registry that cannot be read
        #[arg(long, conflicts_with = "check")]
        force: bool,
    },
    /// Offer the tools in a directory from now on
    ///
    /// Writes a [[python]] entry at the end of haft.toml, and makes the file if there is none. Then checks the directory as
    /// haft registry check does. If haft.toml was trusted, it stays trusted once you confirm that, since the new entry may
    /// widen what is allowed.
    Add(RegistryAddArgs),
}

/// The directories to look at.
#[derive(Args)]
struct RegistryDirectoryArgs {
    /// Directory of Python tools; all that are configured unless given
    dir: Option<PathBuf>,
}

/// Runs the command.
pub(crate) async fn run(args: RegistryArgs, cx: &CliContext) -> CommandResult {
    match args.command {
        RegistryCommand::Check(args) => check::run(args.dir.as_deref(), cx).await,
        RegistryCommand::List(args) => list::run(args.dir.as_deref(), cx).await,
        RegistryCommand::Sync { directory, check, force } => {
            let mode = match (check, force) {
                (true, _) => sync::SyncMode::Report,
                (false, false) => sync::SyncMode::Write,
                (false, true) => sync::SyncMode::WriteOver,
            };
            sync::run(directory.dir.as_deref(), mode, cx).await
        }
        RegistryCommand::Add(args) => add::run(args, cx).await,
    }
}
