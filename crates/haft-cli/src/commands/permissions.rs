//! `haft permissions`: shows, explains, checks and changes the rules. Each subcommand has a file below `permissions/`. None of
//! them executes a tool or writes the journal.

mod add;
mod check;
mod examples;
mod explain;
mod export;
mod findings;
mod held;
mod holders;
mod list;
mod preset;
mod remove;
mod test;

use clap::{Args, Subcommand};
use haft_policy::RuleAction;

use self::add::AddRuleArgs;
use crate::arguments::cli_context::CliContext;
use crate::arguments::setting_args::preset_parser;
use crate::error::CommandResult;
use haft_app::Preset;

/// Show, explain, check and change the rules that decide what calls may do
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft permissions list --source
  haft permissions explain bash '{\"cmd\":\"git push\"}'
  haft permissions check && haft permissions test
  haft permissions allow bash 'cargo test *'
  haft permissions deny --user fs.read .env
  haft permissions export >> haft.toml
  haft permissions preset workspace > mine.toml
  haft permissions remove 2")]
pub(crate) struct PermissionsArgs {
    #[command(subcommand)]
    command: PermissionsCommand,
}

#[derive(Subcommand)]
enum PermissionsCommand {
    /// List all rules in force, with where they come from
    ///
    /// The numbers are those of the rules that you allowed for this project, which haft permissions remove takes.
    List {
        /// Show the file and the line of each rule
        #[arg(long)]
        source: bool,
    },
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
    /// Check that all rules can be used, find those that never decide, and say what holds each deny
    ///
    /// The kernel holds a deny on files or hosts for every program. Words hold a deny on commands: haft reads the command
    /// line, and does not see what a program starts by itself. For such a rule, the command names the hosts and credentials
    /// that are in reach, and what would hold.
    ///
    /// Reported as mistakes is only what is certain: rules that are written twice, rules that a stricter one always comes
    /// before, and patterns that match nothing. The exit status is 1 if a mistake is reported, and 2 if rules cannot be used.
    Check,
    /// Allow something for this project, or for all of your projects
    ///
    /// A rule for this project is written to the file that haft permissions list names, and with --user to your own
    /// configuration. The command shows the rule and its file.
    Allow(AddRuleArgs),
    /// Deny something for this project, or for all of your projects
    ///
    /// The rule is written as by haft permissions allow. haft permissions check says what holds it. A command that you start
    /// with --allow TOOL may do all that TOOL does, also what a deny on a capability such as fs.read says. A deny in haft.toml
    /// holds in any case.
    Deny(AddRuleArgs),
    /// Have haft ask about something for this project, or for all of your projects
    ///
    /// The rule is written as by haft permissions allow.
    Ask(AddRuleArgs),
    /// Print the rules that you allowed for this project as TOML, to paste into haft.toml
    Export,
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
    /// The rules are in a file, which haft permissions list names and which can be edited instead.
    Remove {
        /// The rule's number, as haft permissions list shows it
        number: usize,
    },
}

/// Lists the rules in force, as `haft permissions list` does.
pub(crate) async fn list_rules(cx: &CliContext) -> CommandResult {
    list::run(false, cx).await
}

/// Runs the command.
pub(crate) async fn run(args: PermissionsArgs, cx: &CliContext) -> CommandResult {
    match args.command {
        PermissionsCommand::List { source } => list::run(source, cx).await,
        PermissionsCommand::Explain { tool, input } => explain::run(&tool, &input, cx).await,
        PermissionsCommand::Check => check::run(cx).await,
        PermissionsCommand::Allow(rule) => add::run(RuleAction::Allow, &rule, cx).await,
        PermissionsCommand::Deny(rule) => add::run(RuleAction::Deny, &rule, cx).await,
        PermissionsCommand::Ask(rule) => add::run(RuleAction::Ask, &rule, cx).await,
        PermissionsCommand::Export => export::run(cx),
        PermissionsCommand::Test => test::run(cx),
        PermissionsCommand::Preset { name } => preset::run(name),
        PermissionsCommand::Remove { number } => remove::run(number, cx),
    }
}
