//! `haft plan`: checks, draws and makes plans, and runs none. Each subcommand has a file below `plan/`. `haft run` runs a
//! plan.

mod check;
pub(crate) mod make;
mod show;

use clap::{Args, Subcommand};

use crate::arguments::setting_args::SettingArgs;
use crate::error::{CommandError, CommandStatus};
use crate::programs;
use haft_app::host::AppHost;

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
pub(crate) async fn run(
    args: PlanArgs,
    setting_args: &SettingArgs,
    host: &AppHost,
) -> Result<CommandStatus, CommandError> {
    match args.command {
        PlanCommand::Check(args) => check::run(&args, setting_args, host).await,
        PlanCommand::Show(args) => show::run(&args, setting_args),
        PlanCommand::Make(_) => programs::replace_with(programs::AGENT, host),
    }
}
