//! `haft resume`: resumes the run of a plan from its record alone. Finished calls are recalled. A call in doubt is not
//! repeated.

use clap::Args;
use haft_journal::RunQuery;
use haft_plan::drive::{PlanRunError, PlanRunResult, RunStartMode, finished_plan, recorded_plan};
use haft_plan::{Plan, PlanInput, PlanToolCatalogue, check};

use crate::arguments::candidates;
use crate::arguments::cli_context::CliContext;
use crate::arguments::latest::{self, check_run_name};
use crate::engine::{Engine, EngineArgs, EngineCommand};
use crate::error::{CommandError, CommandErrorKind, CommandResult, CommandStatus};
use crate::model::ModelArgs;
use crate::plan_run::{self, DriveArgs, ModelOpener, PlanRun, settle_in_doubt};
use crate::programs;
use crate::views::output;
use haft_app::compose::AvailableTools;
use haft_app::{quote, records};

/// Go on with the run of a plan that was stopped or killed
///
/// The plan and its input are those of the record. Nodes that have ended are recalled with their outputs and not repeated;
/// the rest runs as with haft plan run, by the present rules and tools. If the end of a call was not recorded, haft repeats it
/// only if that is safe. If it is not, you have to say whether the call happened: haft asks at a terminal, and elsewhere the
/// run stops there and haft runs show prints the command to type.
///
/// haft stops resuming a run after ten processes in a row ended before any call of it was answered. With --anyway, it goes
/// on. This holds for every run, also for one of haft call, haft mcp or haft agent.
///
/// A run that is finished is only recalled: its output is printed again, and nothing is executed. So is one that failed or
/// was halted, unless --retry-failed says otherwise.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft plan resume nightly
  haft plan resume nightly --allow bash
  haft plan resume nightly --retry-failed
  haft plan resume nightly --anyway
  haft plan resume nightly --on temporal
  haft runs settle nightly/n3/0/1/1 happened && haft plan resume nightly

What was allowed by --allow is not kept with the run: name it again.")]
pub(crate) struct ResumeArgs {
    /// The run: its id, its short id as haft log shows it, or last for the one that was used last in this workspace
    #[arg(add = candidates::runs())]
    run: String,
    /// Retry nodes that failed for good, whatever their effect
    ///
    /// For a run that was halted, once you mended the cause. A failed node gets as many attempts as before, and nodes that
    /// were skipped or cancelled because of it are called. Nodes that succeeded are not repeated. A failed node is repeated
    /// even if that is not safe; a node in doubt is not.
    #[arg(long)]
    retry_failed: bool,
    #[command(flatten)]
    drive: DriveArgs,
    #[command(flatten)]
    engine: EngineArgs,
    #[command(flatten)]
    model: ModelArgs,
}

/// Resumes the run on an engine, in the workspace that it had there.
fn resume_on_engine(args: ResumeArgs, cx: &CliContext) -> CommandResult {
    let mut command = EngineCommand::new("resume", cx)?;
    command.root(cx.setting_args.root.as_ref());
    command.drive(&args.drive);
    command.flag("--retry-failed", args.retry_failed);
    command.flag("--anyway", args.drive.anyway);
    command.value("--model", args.model.named_in_command().as_ref());
    command.start(args.run.into(), cx)
}

/// Runs the command. Without models, a plan that needs one is handed to the program that has them.
pub(crate) async fn run(
    args: ResumeArgs,
    cx: &CliContext,
    models: Option<ModelOpener>,
) -> CommandResult {
    check_run_name(&args.run)?;
    if args.engine.engine == Some(Engine::Temporal) {
        return resume_on_engine(args, cx);
    }
    let settings = cx.resolve_settings()?;
    let unknown = || {
        CommandError::usage(format!("there is no run {} in the journal", args.run))
            .kind(CommandErrorKind::UnknownRun)
            .hint("haft log")
    };
    let journal = settings.durability.journal.open_to_read().await?.ok_or_else(unknown)?;
    let named = latest::find_run(&args.run, &*journal, || latest::workspace(&settings)).await?;
    if let Some(told) = named.latest_note() {
        output::print_note(told);
    }
    let run = named.id();
    let query = RunQuery::of_run(run.clone());
    let row = journal.runs(query).await?.into_iter().next().ok_or_else(unknown)?;
    let kept = recorded_plan(&*journal, &run).await.map_err(|err| match err {
        PlanRunError::Journal(err) => CommandError::from(err),
        err @ PlanRunError::Incomplete { .. } => {
            CommandError::usage(err).hint(format!("haft run PLAN --run {run}"))
        }
        err => CommandError::failed(err).hint(format!("haft runs show {run}")),
    });
    let Some((plan, input)) = kept? else {
        let (by, hint) = (row.front_end.as_str(), format!("haft run PLAN --run {run}"));
        if by == plan_run::FRONT_END && !records::is_session_run(&run) {
            let message = format!(
                "run {run} ended before its plan was kept, so no node was started: begin it again with the same name"
            );
            return Err(CommandError::usage(message).hint(hint));
        }
        let hint = match by {
            _ if records::is_session_run(&run) => format!("haft agent --resume {run}"),
            "mcp" => format!("haft mcp --run {run}"),
            "cli" => format!("haft call --run {run} --resume replay TOOL INPUT"),
            _ => format!("haft runs show {run}"),
        };
        if args.drive.anyway {
            plan_run::allow_resume(&*settings.durability.journal.open().await?, &run).await?;
            output::print_note(format_args!("run {run} can be resumed again: {hint}"));
            return Ok(CommandStatus::Done);
        }
        let message = format!(
            "run {run} was begun by {by} and keeps no plan: only the client that made its calls can resume it"
        );
        return Err(CommandError::usage(message).hint(hint));
    };
    if models.is_none() && plan.has_agent_nodes() {
        return programs::replace_with(programs::AGENT, &cx.host);
    }
    // In another workspace, the paths of the plan would mean other files.
    let root = settings.root.canonicalize().map_err(|err| {
        CommandError::usage(format!("root {} cannot be used: {err}", settings.root.display()))
    })?;
    if root.to_string_lossy() != row.root {
        let (begun, here) = (&row.root, root.display());
        let message =
            format!("run {run} was begun in {begun}, and this is {here}: go on with it there");
        return Err(CommandError::usage(message)
            .hint(format!("cd {} && haft resume {run}", quote::shell(begun))));
    }
    let finished = finished_plan(&*journal, &run).await.map_err(|err| match err {
        PlanRunError::Journal(err) => CommandError::from(err),
        err => CommandError::failed(err).hint(format!("haft runs show {run}")),
    })?;
    let tools = AvailableTools::find(&settings, &cx.host).await?;
    let catalogue = plan_run::catalogue(tools.offered(), &settings, &cx.host);
    if let Some(finished) = finished {
        return print_finished(&finished, (&plan, &catalogue), &args, cx).await;
    }
    let given = input.as_ref().map_or(PlanInput::Absent, PlanInput::Given);
    let plan = check(&plan, &catalogue, given)
        .map_err(|problems| plan_run::invalid_plan_error(&format!("of run {run}"), &problems))?;
    plan_run::check_model_named(&plan, &args.model, &settings, &cx.host)?;
    let start = if args.retry_failed { RunStartMode::RetryFailed } else { RunStartMode::Resume };
    let models = models.map(|open| open(args.model.choice(), &settings, &cx.host));
    let dangerous = plan_run::dangerous_ids(&plan);
    let mut work = PlanRun { plan, tools, run, start, input, models };
    let may_ask = !args.drive.headless && !cx.setting_args.json;
    let driven = loop {
        let (again, settings) = (work.clone(), settings.clone());
        let journal = settings.durability.journal.clone();
        let driven =
            plan_run::drive(again, &args.drive, &cx.setting_args, settings, &cx.host).await?;
        // A verdict stays recorded, so each round leaves fewer calls in doubt.
        if !(may_ask && settle_in_doubt::settle_doubts(&driven, &journal).await?) {
            break driven;
        }
        // The failed nodes had their retry.
        work.start = RunStartMode::Resume;
    };
    plan_run::print_output(&driven, &cx.setting_args)?;
    plan_run::print_end(&driven, &dangerous, &args.drive, &args.model, &cx.setting_args);
    Ok(plan_run::plan_status(&driven))
}

/// Prints the end of a run that is finished, as it was recorded. Nothing is executed.
async fn print_finished(
    finished: &PlanRunResult,
    (plan, catalogue): (&Plan, &PlanToolCatalogue),
    args: &ResumeArgs,
    cx: &CliContext,
) -> CommandResult {
    plan_run::show_finished(plan, catalogue, finished, &cx.setting_args).await?;
    plan_run::print_output(finished, &cx.setting_args)?;
    // A plan that does not fit the present tools is not run again as it is.
    let checked = check(plan, catalogue, PlanInput::Unknown).ok();
    let dangerous = checked.map(|plan| plan_run::dangerous_ids(&plan)).unwrap_or_default();
    plan_run::print_end(finished, &dangerous, &args.drive, &args.model, &cx.setting_args);
    Ok(plan_run::plan_status(finished))
}
