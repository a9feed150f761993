//! `haft tools`: which tools there are, for people and as APIs take them.

use clap::{Args, Subcommand};
use haft_contract::Contract;

use crate::cli::SettingArgs;
use crate::error::{CommandError, Status};
use crate::format::{Format, print_list, print_one};
use crate::state::State;
use crate::{compose, settings};

/// List the tools, or show one
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft tools list
  haft tools list --format openai > tools.json
  haft tools show grep
  haft tools list --profile smithers --json")]
pub(crate) struct ToolsArgs {
    #[command(subcommand)]
    command: ToolsCommand,
}

#[derive(Subcommand)]
enum ToolsCommand {
    /// List the tools on offer
    ///
    /// The formats other than table can be used as they are in requests to the API of their name. --json is short for
    /// --format json.
    List {
        /// Form of the list
        #[arg(long, value_enum, default_value_t = Format::Table)]
        format: Format,
    },
    /// Show one tool with its parameters
    Show {
        /// The tool's id
        tool: String,
        /// Form of the answer
        #[arg(long, value_enum, default_value_t = Format::Table)]
        format: Format,
    },
}

/// Runs the command.
pub(crate) async fn run(
    args: &ToolsArgs,
    setting_args: &SettingArgs,
    state: &State,
) -> Result<Status, CommandError> {
    let settings = settings::resolve(setting_args, state)?;
    let registry = compose::registry(&settings, state).await?;
    let of = |format: Format| match format {
        Format::Table if setting_args.json => Format::Json,
        format => format,
    };
    match &args.command {
        ToolsCommand::List { format } => {
            let contracts: Vec<&Contract> = registry.contracts().collect();
            print_list(of(*format), &contracts)?;
        }
        ToolsCommand::Show { tool, format } => {
            let contract = registry.contract(tool).ok_or_else(|| {
                CommandError::usage(compose::unknown_tool(&registry, tool)).hint("haft tools list")
            })?;
            print_one(of(*format), contract)?;
        }
    }
    Ok(Status::Done)
}
