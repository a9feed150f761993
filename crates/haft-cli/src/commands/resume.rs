//! `haft resume`: goes on with the run of a plan from its record alone. What was done is recalled; what may have happened
//! is not repeated.

use clap::Args;
use haft_contract::RunId;
use haft_journal::{Journal, RunQuery, RunRow};
use haft_plan::drive::{PlanRunError, RunStartMode, recorded_plan};
use haft_plan::{Plan, PlanInput, check};
use serde_json::Value;

use crate::arguments::setting_args::SettingArgs;
use crate::error::{CommandError, CommandErrorKind, CommandStatus};
use crate::plan_run::{self, DriveArgs, PlanRun, doubt_settlement};
use haft_app::compose::AvailableTools;
use haft_app::host::AppHost;
use haft_app::settings::EffectiveSettings;
use haft_app::{quote, settings};

/// Go on with the run of a plan that was stopped or killed
///
/// The plan and its input are those that the run was begun with. Nodes that have ended are recalled and not repeated, and
/// their outputs are there as they were; the rest runs as with haft run, by the rules and with the tools of now. A call that
/// was begun and whose end nobody recorded is repeated if it is safe to repeat. If it is not, and nothing tells whether it
/// happened, somebody has to say so: at a terminal it is asked, elsewhere the run stops there and haft runs show tells what
/// to type.
///
/// A run that is finished is only recalled: its output is printed again, and nothing is executed. So is one that failed or
/// was halted, unless --retry-failed says otherwise.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft resume nightly
  haft resume nightly --allow bash
  haft resume nightly --retry-failed
  haft runs settle nightly/n3/0/1/1 happened && haft resume nightly

What was allowed by --allow is not kept with the run: name it again.")]
pub(crate) struct ResumeArgs {
    /// The run, as haft runs list shows it
    run: String,
    /// Try nodes anew that failed for good, whatever their effect
    ///
    /// For a run that was halted, once what made its node fail is mended. A node that failed gets as many attempts as it had,
    /// and what was skipped or cancelled because of it is called. What succeeded is not repeated. A node that is not safe to
    /// repeat and failed is repeated all the same; one that is in doubt is not.
    #[arg(long)]
    retry_failed: bool,
    #[command(flatten)]
    drive: DriveArgs,
}

/// Runs the command.
pub(crate) async fn run(
    args: ResumeArgs,
    setting_args: &SettingArgs,
    host: &AppHost,
) -> Result<CommandStatus, CommandError> {
    let run = RunId::parse(&args.run).map_err(CommandError::usage)?;
    let settings = settings::resolve(&setting_args.overrides(), host)?;
    let (plan, input) = open_recorded_plan(&run, &settings).await?;
    let tools = AvailableTools::find(&settings, host).await?;
    let given = input.as_ref().map_or(PlanInput::Absent, PlanInput::Given);
    let plan = check(&plan, &plan_run::catalogue(tools.offered()), given)
        .map_err(|problems| plan_run::invalid_plan_error(&format!("of run {run}"), &problems))?;
    let start = if args.retry_failed { RunStartMode::RetryFailed } else { RunStartMode::Resume };
    let mut work = PlanRun { plan, tools, run, start, input };
    let may_ask = !args.drive.headless && !setting_args.json;
    let driven = loop {
        let (again, settings) = (work.clone(), settings.clone());
        let journal = settings.durability.journal.clone();
        let driven = plan_run::drive(again, &args.drive, setting_args, settings, host).await?;
        // What was said of a call stays said, so each time round fewer are in doubt.
        if !(may_ask && doubt_settlement::settle_doubts(&driven, &journal).await?) {
            break driven;
        }
        // What failed was tried anew, once.
        work.start = RunStartMode::Resume;
    };
    plan_run::print_output(&driven, setting_args)?;
    plan_run::print_end(&driven, &args.drive, setting_args);
    Ok(plan_run::plan_status(&driven))
}

/// Returns the plan that a run keeps, and its input.
async fn open_recorded_plan(
    run: &RunId,
    settings: &EffectiveSettings,
) -> Result<(Plan, Option<Value>), CommandError> {
    let unknown = || {
        CommandError::usage(format!("there is no run {run} in the journal"))
            .kind(CommandErrorKind::UnknownRun)
            .hint("haft runs list")
    };
    let journal = settings.durability.journal.open_to_read().await?.ok_or_else(unknown)?;
    let query = RunQuery { run: Some(run.clone()), ..RunQuery::default() };
    let row = journal.runs(query).await?.into_iter().next().ok_or_else(unknown)?;
    let kept = plan_from_journal(&*journal, run).await?.ok_or_else(|| no_plan_error(&row))?;
    check_root(&row, settings)?;
    Ok(kept)
}

async fn plan_from_journal(
    journal: &dyn Journal,
    run: &RunId,
) -> Result<Option<(Plan, Option<Value>)>, CommandError> {
    recorded_plan(journal, run).await.map_err(|err| match err {
        PlanRunError::Journal(err) => CommandError::from(err),
        err @ PlanRunError::Incomplete { .. } => {
            CommandError::usage(err).hint(format!("haft run PLAN --run {run}"))
        }
        err => CommandError::failed(err).hint(format!("haft runs show {run}")),
    })
}

/// Returns the error of a run that is not of a plan, with what goes on with it.
fn no_plan_error(row: &RunRow) -> CommandError {
    let RunRow { id, front_end, .. } = row;
    if front_end == plan_run::FRONT_END {
        let message = format!(
            "run {id} ended before its plan was kept, so no node was started: begin it again with the same name"
        );
        return CommandError::usage(message).hint(format!("haft run PLAN --run {id}"));
    }
    let hint = match front_end.as_str() {
        "mcp" => format!("haft mcp --run {id}"),
        "cli" => format!("haft call --run {id} --resume replay TOOL INPUT"),
        _ => format!("haft runs show {id}"),
    };
    let message = format!(
        "run {id} was begun by {front_end} and keeps no plan: whoever made its calls goes on with it"
    );
    CommandError::usage(message).hint(hint)
}

/// A plan goes on where it was begun: in another workspace its paths would mean something else.
fn check_root(row: &RunRow, settings: &EffectiveSettings) -> Result<(), CommandError> {
    let root = settings.root.canonicalize().map_err(|err| {
        CommandError::usage(format!("root {} cannot be used: {err}", settings.root.display()))
    })?;
    if root.to_string_lossy() == row.root {
        return Ok(());
    }
    let (run, begun, here) = (&row.id, &row.root, root.display());
    let message =
        format!("run {run} was begun in {begun}, and this is {here}: go on with it there");
    Err(CommandError::usage(message)
        .hint(format!("cd {} && haft resume {run}", quote::shell(begun))))
}
