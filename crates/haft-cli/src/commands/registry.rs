//! `haft registry`: directories of Python tools, looked over before a call or a plan meets what is wrong with them. Each
//! subcommand is a file of its own below `registry/`; nothing here runs a tool.

mod add;
mod check;
mod directory_scan;
mod list;
mod sync;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use self::add::RegistryAddArgs;
pub(crate) use self::directory_scan::scan_entries;
use crate::arguments::setting_args::SettingArgs;
use crate::error::{CommandError, CommandStatus};
use haft_app::host::AppHost;

/// Check, list and register Python tools
///
/// A tool is a Python file with a dictionary METADATA and the function that it names. METADATA is read by Python's own
/// parser in a confined process, and nothing of a file is executed before its tool is called.
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
    /// files as well. The exit status is 1 if a file has an error, or if a directory cannot be used.
    Check(RegistryDirectoryArgs),
    /// List the tools with their files, effects and parameters
    List(RegistryDirectoryArgs),
    /// Write registry.json, as Smith has it, from the METADATA of the files
    ///
    /// Files with errors are not in it. One that is there and cannot be read stays as it is, since nobody knows what
    /// somebody wrote into it. The exit status is 1 if there are such files or such a registry, and with --check also if
    /// the registry differs from the files.
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
    /// Writes a [[python]] entry into haft.toml, and makes one where there is none; what stands in it stays as it is.
    /// Then the directory is checked as by haft registry check. A haft.toml that was trusted is so again once you confirm
    /// it, since what changed in it widens what is allowed.
    Add(RegistryAddArgs),
}

/// Which directories it is about.
#[derive(Args)]
struct RegistryDirectoryArgs {
    /// Directory of Python tools; all that are configured unless given
    dir: Option<PathBuf>,
}

/// Runs the command.
pub(crate) async fn run(
    args: RegistryArgs,
    setting_args: &SettingArgs,
    host: &AppHost,
) -> Result<CommandStatus, CommandError> {
    match args.command {
        RegistryCommand::Check(args) => check::run(args.dir.as_deref(), setting_args, host).await,
        RegistryCommand::List(args) => list::run(args.dir.as_deref(), setting_args, host).await,
        RegistryCommand::Sync { directory, check, force } => {
            let mode = match (check, force) {
                (true, _) => sync::SyncMode::Report,
                (false, false) => sync::SyncMode::Write,
                (false, true) => sync::SyncMode::WriteOver,
            };
            sync::run(directory.dir.as_deref(), mode, setting_args, host).await
        }
        RegistryCommand::Add(args) => add::run(args, setting_args, host).await,
    }
}
