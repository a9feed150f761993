//! `haft policy`: shows, explains and checks the rules. Each subcommand has a file below `policy/`. None of them executes a
//! tool or writes the journal.

mod check;
mod examples;
mod explain;
mod findings;
mod held;
mod list;
mod preset;
mod remove;
mod test;

use clap::{Args, Subcommand};

use crate::arguments::cli_context::CliContext;
use crate::arguments::setting_args::preset_parser;
use crate::error::CommandResult;
use haft_app::Preset;

/// Show, explain and check the rules that decide what calls may do
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft policy list
  haft policy explain bash '{\"cmd\":\"git push\"}'
  haft policy check && haft policy test
  haft policy preset workspace > mine.toml
  haft policy remove 2")]
pub(crate) struct PolicyArgs {
    #[command(subcommand)]
    command: PolicyCommand,
}

#[derive(Subcommand)]
enum PolicyCommand {
    /// List all rules in force, with where they come from
    ///
    /// The numbers are those of the rules that you allowed for this project, which haft policy remove takes.
    List,
    /// Say what would become of a call, which rule decides, and what would change it
    ///
    /// The call is judged like any other, by capabilities, rules, the network guard and watchdogs; nothing is executed,
    /// asked or recorded. Programs that are watchdogs are run, since only they know what they say. The exit status is 0
    /// whatever would become of the call, and 2 if there is no such tool or the input does not fit it.
    Explain {
        /// The tool's id, as haft tools list shows it
        tool: String,
        /// The input as JSON, @FILE to read it from a file, or - for standard input
        #[arg(default_value = "{}")]
        input: String,
    },
    /// Check that all rules can be used, and find those that never decide
    ///
    /// Reported is only what is certain: rules that are written twice, rules that a stricter one always comes before, and
    /// patterns that match nothing. The exit status is 1 if something is reported, and 2 if rules cannot be used.
    Check,
    /// Check the examples of the rules, their match and not_match, and print each
    ///
    /// Also of a manifest that is not trusted. The exit status is 1 if an example does not hold.
    Test,
    /// Print a preset as the manifest that it is
    Preset {
        /// The preset's name
        #[arg(value_parser = preset_parser())]
        name: Preset,
    },
    /// Take out a rule that you allowed for this project
    ///
    /// The rules are in a file, which haft policy list names and which can be edited instead.
    Remove {
        /// The rule's number, as haft policy list shows it
        number: usize,
    },
}

/// Runs the command.
pub(crate) async fn run(args: PolicyArgs, cx: &CliContext) -> CommandResult {
    match args.command {
        PolicyCommand::List => list::run(cx).await,
        PolicyCommand::Explain { tool, input } => explain::run(&tool, &input, cx).await,
        PolicyCommand::Check => check::run(cx).await,
        PolicyCommand::Test => test::run(cx),
        PolicyCommand::Preset { name } => preset::run(name),
        PolicyCommand::Remove { number } => remove::run(number, cx),
    }
}
