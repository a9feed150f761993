//! `haft run`: runs a plan and prints its output.

use std::path::PathBuf;

use clap::Args;
use haft_contract::RunId;
use haft_plan::PlanInput;
use haft_plan::drive::RunStartMode;

use crate::arguments::cli_context::CliContext;
use crate::arguments::input;
use crate::engine::{Engine, EngineArgs, EngineCommand};
use crate::error::{CommandError, CommandResult};
use crate::model::ModelArgs;
use crate::plan_run::{self, DriveArgs, ModelOpener, PlanRun, PlanText, dry_run};
use crate::programs;
use haft_app::compose;
use haft_app::compose::AvailableTools;

/// Run a plan and print its output
///
/// The plan is checked as a whole before anything runs. Its nodes then run in parallel as far as their dependencies let
/// them; each is a call like any other, checked, confined and recorded. Tools that only read files inside the roots need no
/// further permission, unless a rule of yours says otherwise. Other calls are judged as with haft call: haft asks at a
/// terminal, and elsewhere refuses, unless --allow names the tool. Dangerous tools are called only if --allow names them, if
/// you allow them at the terminal, or if you did so before for the list `allow` of this very plan. A manifest's deny rules
/// always hold.
///
/// A node of a plan may also be a task for an agent, which asks a model (--model), or a question to a person, who answers at
/// the terminal. Each call of such an agent is judged, confined and recorded like the calls of the plan.
///
/// After an interrupt, running calls end and no new ones begin; a second one cancels the running calls. haft plan resume
/// continues a run that was stopped or killed at any moment: finished calls are recalled and not repeated.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft plan run report.json
  haft plan run report.json --input '{\"path\":\"src\"}'
  haft plan run report.json --input @input.json --parallel 4
  haft plan run release.json --allow bash --allow write
  haft plan run release.json --dry-run
  haft plan run release.json --on temporal
  haft plan run report.json --json | jq 'select(.event == \"result\") | .trace'

The exit status is 0 if the plan came to its output, 3 if a node that stops the
plan was refused, 4 if a call of it may or may not have happened, and else 1. A
plan that is not valid is status 2, and nothing was run.")]
pub(crate) struct RunArgs {
    /// The plan, or - for standard input
    file: PathBuf,
    /// Input of the plan, which its nodes refer to: JSON, or @FILE to read it from a file
    #[arg(long, value_name = "JSON")]
    input: Option<String>,
    /// Name of the run; a new one unless given
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    /// Only say what would run, in which order, and what would be asked about; nothing is executed or recorded
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    drive: DriveArgs,
    #[command(flatten)]
    engine: EngineArgs,
    #[command(flatten)]
    model: ModelArgs,
}

/// Starts the run on an engine.
fn run_on_engine(args: RunArgs, cx: &CliContext) -> CommandResult {
    let mut command = EngineCommand::new("run", cx)?;
    command.root(Some(&cx.resolve_settings()?.root));
    command.drive(&args.drive);
    command.value("--input", args.input.as_ref());
    command.value("--run", args.run.as_ref());
    command.value("--model", args.model.named_in_command().as_ref());
    command.start(args.file.into(), cx)
}

/// Runs the command. Without models, a plan that needs one is handed to the program that has them.
pub(crate) async fn run(
    args: RunArgs,
    cx: &CliContext,
    models: Option<ModelOpener>,
) -> CommandResult {
    if args.engine.engine == Some(Engine::Temporal) {
        return run_on_engine(args, cx);
    }
    let text = PlanText::read(&args.file)?;
    if models.is_none() && !args.dry_run && text.needs_model() {
        return programs::replace_with_input(programs::AGENT, &cx.host, text.standard_input());
    }
    let input = args.input.as_deref().map(input::read_plan_input).transpose()?;
    let run = match &args.run {
        Some(name) => RunId::parse(name).map_err(CommandError::usage)?,
        None => compose::new_run(cx.host.now_ms())?,
    };
    let settings = cx.resolve_settings()?;
    let tools = AvailableTools::find(&settings, &cx.host).await?;
    let given = input.as_ref().map_or(PlanInput::Absent, PlanInput::Given);
    let catalogue = plan_run::catalogue(tools.offered(), &settings, &cx.host);
    let plan = text.check(&catalogue, given)?;
    let models = models.map(|open| open(args.model.choice(), &settings, &cx.host));
    let work = PlanRun { plan, tools, run, start: RunStartMode::New, input, models };
    if args.dry_run {
        return dry_run::print_dry_run(&work, &args.drive, &cx.setting_args, settings, &cx.host)
            .await;
    }
    plan_run::check_model_named(&work.plan, &args.model, &settings, &cx.host)?;
    let dangerous = plan_run::dangerous_ids(&work.plan);
    let driven = plan_run::drive(work, &args.drive, &cx.setting_args, settings, &cx.host).await?;
    plan_run::print_output(&driven, &cx.setting_args)?;
    plan_run::print_end(&driven, &dangerous, &args.drive, &args.model, &cx.setting_args);
    Ok(plan_run::plan_status(&driven))
}
