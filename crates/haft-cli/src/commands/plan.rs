//! `haft plan`: checks, draws and makes plans, and runs none. Each subcommand has a file below `plan/`. `haft run` runs a
//! plan.

mod check;
pub(crate) mod make;
mod show;

use clap::{Args, Subcommand};

use crate::arguments::cli_context::CliContext;
use crate::error::CommandResult;
use crate::programs;

/// Check, draw and make plans
///
/// A plan is a JSON text: nodes that call tools, which of them wait for which, and whose output is the output of the
/// whole. docs/plans.md describes it. haft run executes one.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft plan check report.json
  haft plan show report.json
  haft plan show report.json --format svg > report.svg")]
pub(crate) struct PlanArgs {
    #[command(subcommand)]
    pub(crate) command: PlanCommand,
}

#[derive(Subcommand)]
pub(crate) enum PlanCommand {
    Check(check::PlanCheckArgs),
    Show(show::PlanShowArgs),
    Make(make::PlanMakeArgs),
}

/// Runs the command.
pub(crate) async fn run(args: PlanArgs, cx: &CliContext) -> CommandResult {
    match args.command {
        PlanCommand::Check(args) => check::run(&args, cx).await,
        PlanCommand::Show(args) => show::run(&args, cx.setting_args.json),
        PlanCommand::Make(_) => programs::replace_with(programs::AGENT, &cx.host),
    }
}
