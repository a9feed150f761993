//! `haft plan`: checks, draws, makes and runs plans. Each subcommand has a file below `plan/`. `haft run` and `haft resume` are
//! other names of two of them.

/// A small plan, as the help shows it.
macro_rules! sample_plan {
    () => {
        "\
A plan:
  {
    \"nodes\": [
      {\"id\": 0, \"tool\": \"grep\", \"inputs\": {\"pattern\": \"TODO\"}, \"depends_on\": []},
      {\"id\": 1, \"tool\": \"write\", \"depends_on\": [0],
       \"inputs\": {\"path\": \"todo.txt\", \"content\": \"{{STEPS.0}}\"}}
    ],
    \"final_output_node\": 0
  }"
    };
}

mod check;
pub(crate) mod make;
mod show;

use clap::{Args, Subcommand};

use super::resume::{self, ResumeArgs};
use super::run::{self, RunArgs};
use crate::arguments::cli_context::CliContext;
use crate::error::CommandResult;
use crate::plan_run::ModelOpener;
use crate::programs;

/// Run, resume, check, draw and make plans
///
/// A plan is a JSON text: nodes that call tools, which of them wait for which, and whose output is the output of the
/// whole. docs/plans.md describes it.
#[derive(Args)]
#[command(after_long_help = concat!("\
Examples:
  haft plan run report.json
  haft plan resume last
  haft plan check report.json
  haft plan show report.json
  haft plan show report.json --format svg > report.svg

", sample_plan!()))]
pub(crate) struct PlanArgs {
    #[command(subcommand)]
    pub(crate) command: PlanCommand,
}

#[derive(Subcommand)]
pub(crate) enum PlanCommand {
    Run(RunArgs),
    Resume(ResumeArgs),
    Check(check::PlanCheckArgs),
    Show(show::PlanShowArgs),
    Make(make::PlanMakeArgs),
}

/// Runs the command. Without models, what needs one is handed to the program that has them.
pub(crate) async fn run_plan_command(
    args: PlanArgs,
    cx: &CliContext,
    models: Option<ModelOpener>,
) -> CommandResult {
    match args.command {
        PlanCommand::Run(args) => run::run(args, cx, models).await,
        PlanCommand::Resume(args) => resume::run(args, cx, models).await,
        PlanCommand::Check(args) => check::run(&args, cx).await,
        PlanCommand::Show(args) => show::run(&args, cx.setting_args.json),
        PlanCommand::Make(_) => programs::replace_with(programs::AGENT, &cx.host),
    }
}
