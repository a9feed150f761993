//! `haft tools`: which tools there are, for people and as APIs take them, and which of them fit a few words.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use haft_contract::Contract;
use haft_contract::limits::TOOL_MATCHES_MAX;

use super::registry::add_path;
use crate::arguments::candidates;
use crate::arguments::cli_context::CliContext;
use crate::error::{CommandError, CommandResult, CommandStatus};
use crate::next_step::command_of;
use crate::views::format::{ToolListArgs, print_list, print_one};
use haft_app::{NextStep, compose, skills};

/// List the tools, find some, show one, or add one
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft tools list
  haft tools list --format openai > tools.json
  haft tools list --format openai --strict > tools.json
  haft tools show grep
  haft tools add ./price.py
  haft tools search send a message
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
        #[command(flatten)]
        form: ToolListArgs,
    },
    /// Find tools by what they do
    ///
    /// Ranks all tools on offer as tool_search does, best first, at most ten. A model is shown the same where there are so many
    /// that most are not listed.
    Search {
        /// The wanted tool in a few words, or its id
        #[arg(required = true)]
        words: Vec<String>,
        #[command(flatten)]
        form: ToolListArgs,
    },
    /// Offer a Python tool from now on
    ///
    /// Registers the directory of the file in haft.toml, as haft registry add does. A file beside haft.toml, or outside of its
    /// directory, is first copied into the directory tools there. If the tool of the file cannot be used, haft says why and
    /// changes nothing.
    Add {
        /// The file of a Python tool, or a directory of such files
        path: PathBuf,
    },
    /// Show one tool with its parameters
    Show {
        /// The tool's id
        #[arg(add = candidates::tools())]
        tool: String,
        #[command(flatten)]
        form: ToolListArgs,
    },
}

/// Runs the command.
pub(crate) async fn run(args: &ToolsArgs, cx: &CliContext) -> CommandResult {
    let settings = cx.resolve_settings()?;
    let registry = compose::registry(&settings, &cx.host).await?;
    let places = skills::skill_paths(&settings, &cx.host);
    let published = |contract: &Contract| places.describe_with_skills(contract);
    let checked = |form: &ToolListArgs| form.checked(cx.setting_args.json);
    match &args.command {
        ToolsCommand::List { form } => {
            let form = checked(form)?;
            // No agent loop of haft stands behind the model that gets the list, and sessions without one do not list it either.
            let is_listed = |it: &&Contract| !form.is_for_model() || !it.delegates;
            let contracts: Vec<Contract> =
                registry.contracts().filter(is_listed).map(published).collect();
            print_list(form, &contracts.iter().collect::<Vec<_>>())?;
        }
        ToolsCommand::Search { words, form } => {
            let form = checked(form)?;
            let query = words.join(" ");
            let found = registry.search(&query, TOOL_MATCHES_MAX);
            if found.is_empty() {
                let message = format!("no tool fits {query:?}: try other words");
                return Err(CommandError::failed(message).hint("haft tools list"));
            }
            let contracts: Vec<&Contract> = found.iter().map(|contract| &**contract).collect();
            print_list(form, &contracts)?;
        }
        ToolsCommand::Show { tool, form } => {
            let form = checked(form)?;
            let contract = registry.contract(tool).ok_or_else(|| {
                let step = match settings.untrusted.first() {
                    Some(untrusted) if registry.is_untrusted(tool) => untrusted.next(),
                    Some(_) | None => NextStep::ListTools,
                };
                CommandError::usage(compose::unknown_tool(&registry, tool)).hint(command_of(&step))
            })?;
            print_one(form, &published(contract))?;
        }
        ToolsCommand::Add { path } => return add_path(path, &settings, cx).await,
    }
    Ok(CommandStatus::Done)
}
