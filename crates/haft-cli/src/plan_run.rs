//! Driving plans from the command line: the tools of a checked plan, the rules that its run needs, the live view, questions
//! and signals. The plan crate defines the meaning and the order of a plan. The commands choose the plan.

mod allow_list;
pub(crate) mod dry_run;
mod end;
mod in_doubt;
mod plan_file;
pub(crate) mod settle_in_doubt;
mod stop_tokens;
mod waiting_asker;

use std::num::NonZeroUsize;
use std::sync::Arc;

use clap::Args;
use haft::{Asker, HeadlessAsker, Registry};
use haft_agent::ModelLookup;
use haft_app::manifest::AskPolicy;
use haft_contract::RunId;
use haft_journal::{Journal, JournalError};
use haft_plan::drive::limits::{PARALLEL_DEFAULT, PARALLEL_MAX};
use haft_plan::drive::{
    DangerousToolAsker, PlanBounds, PlanEvent, PlanRunError, PlanRunOptions, PlanRunResult,
    RunStartMode, run_plan as drive_plan,
};
use haft_plan::{CheckedPlan, Plan, PlanInput, PlanToolCatalogue, check};
use serde_json::Value;

use crate::arguments::setting_args::SettingArgs;
use crate::asking::{ScreenAsker, TerminalAsker, WaitingPerson};
use crate::error::CommandError;
use crate::model::ModelArgs;
use crate::views::output;
use crate::views::plan::PlanView;
use allow_list::{UnconfirmedListAction, allow_plan_tools, allowed_dangerous_tools};
use haft_app::ModelChoice;
use haft_app::compose;
use haft_app::compose::AvailableTools;
use haft_app::host::AppHost;
use haft_app::settings::EffectiveSettings;
use stop_tokens::PlanStopTokens;
use waiting_asker::PlanWaitingAsker;

pub(crate) use allow_list::{NODES_LISTED_MAX, dangerous, dangerous_ids, is_name_of};
pub(crate) use end::{plan_status, print_end, print_output};
pub(crate) use plan_file::{PlanText, invalid_plan_error, problem_line, unreadable_plan_error};

/// Asks the person at the terminal while the view of a plan is on it.
type PlanAsker = ScreenAsker<PlanEvent>;

/// The kind of front end that runs of plans are recorded with.
pub(crate) const FRONT_END: &str = haft::PLAN_FRONT_END;

/// How a plan is driven.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Plan")]
pub(crate) struct DriveArgs {
    /// Nodes that run at the same time; 16 unless given
    ///
    /// The results of the nodes do not depend on it. The manifest may name another number ([plan] parallel).
    #[arg(long, value_name = "N", value_parser = parallel)]
    pub(crate) parallel: Option<NonZeroUsize>,
    /// Allow every dangerous tool that the plan calls, as --allow does one by one
    #[arg(long)]
    pub(crate) allow_dangerous: bool,
    /// Ask no questions, not even on a terminal: refuse each call that would need an answer
    ///
    /// Without a terminal, calls are refused in any case, unless the settings let them wait for haft asks (asks = "wait").
    #[arg(long)]
    pub(crate) headless: bool,
    /// Go on although the processes that resumed the run before got no further
    ///
    /// haft stops resuming a run after ten processes in a row ended before any call of it was answered. This begins the count
    /// anew. Calls in doubt stay in doubt.
    #[arg(long)]
    pub(crate) anyway: bool,
}

fn parallel(text: &str) -> Result<NonZeroUsize, String> {
    let expected = || format!("expected 1 to {PARALLEL_MAX}");
    text.parse().ok().filter(|number| *number <= PARALLEL_MAX).ok_or_else(expected)
}

/// A plan to drive.
#[derive(Clone)]
pub(crate) struct PlanRun {
    pub(crate) plan: CheckedPlan,
    /// The tools that the plan was checked against.
    pub(crate) tools: AvailableTools,
    pub(crate) run: RunId,
    pub(crate) start: RunStartMode,
    pub(crate) input: Option<Value>,
    /// The models that agent nodes ask. Only `haft-agent` has models.
    pub(crate) models: Option<Arc<dyn ModelLookup>>,
}

/// Opens the models of the settings by their names. Only `haft-agent` can.
pub(crate) type ModelOpener = fn(ModelChoice, &EffectiveSettings, &AppHost) -> Arc<dyn ModelLookup>;

/// Returns the tools of a registry and the agents of the workspace as plans are checked against them.
pub(crate) fn catalogue(
    registry: &Registry,
    settings: &EffectiveSettings,
    host: &AppHost,
) -> PlanToolCatalogue {
    PlanToolCatalogue::new(registry.contracts().cloned())
        .with_agents(compose::agent::plan_agents(settings, host))
}

/// Checks that the agents of a plan have a model, before any node of the plan runs.
pub(crate) fn check_model_named(
    plan: &CheckedPlan,
    model: &ModelArgs,
    settings: &EffectiveSettings,
    host: &AppHost,
) -> Result<(), CommandError> {
    match compose::agent::all_name_models(plan.plan().agents(), settings, host) {
        true => Ok(()),
        false => model.check_named(settings),
    }
}

/// Drives a plan to its end, shows its progress, and returns its result. Questions go to the person at the terminal, who
/// can stop the plan with an interrupt.
pub(crate) async fn drive(
    work: PlanRun,
    args: &DriveArgs,
    setting_args: &SettingArgs,
    settings: EffectiveSettings,
    host: &AppHost,
) -> Result<PlanRunResult, CommandError> {
    let person = (!args.headless).then(|| TerminalAsker::new(&settings.project)).flatten();
    let person = person.map(TerminalAsker::for_many_calls);
    let unconfirmed =
        if person.is_some() { UnconfirmedListAction::Ask } else { UnconfirmedListAction::Warn };
    // A tool that the plan may call is not one that its agents may call.
    let agent_settings = settings.clone();
    let (settings, readers) = allow_plan_tools(&work, settings, args, unconfirmed, host).await?;
    let runtime = compose::plan_runtime(&work.tools, &settings, host).await?;
    compose::recover(&runtime, host).await?;
    let agents = compose::agent::plan_agents(&settings, host);
    let session = compose::open_plan_connection(&runtime, &settings, host, agents, readers)?;
    // Long outputs exist only in the sidecars. Later commands remove old ones.
    session.keep_outputs();
    warn_unknown_tools(&settings, &runtime.registry());
    if args.anyway {
        allow_resume(&**runtime.journal(), &work.run).await?;
    }
    let view = PlanView::begin(&work.plan, setting_args.json)?;
    let asker = person.map(|person| Arc::new(PlanAsker::new(person, view.screen())));
    let stops = PlanStopTokens::listen(&work.run, view.screen(), asker.clone())?;
    let asker: Arc<dyn Asker> = match asker {
        Some(asker) => asker,
        None if settings.asks == AskPolicy::Wait && !args.headless => Arc::new(PlanWaitingAsker {
            person: WaitingPerson::new(view.screen()),
            events: view.event_sink(),
        }),
        None => Arc::new(HeadlessAsker),
    };
    let agent_host = match work.models.clone().filter(|_| work.plan.plan().has_agent_nodes()) {
        Some(models) => {
            let asker = Arc::clone(&asker);
            let settings = &agent_settings;
            Some(compose::agent::plan_agent_host(models, asker, &runtime, settings, host).await?)
        }
        None => None,
    };
    let asking = Some(DangerousToolAsker {
        asker,
        session: work.run.to_string(),
        root: runtime.roots().workspace().to_owned(),
    });
    let options = PlanRunOptions {
        start: work.start,
        input: work.input,
        bounds: bounds(args, &settings, &work.plan),
        allow: allowed_dangerous_tools(args, &settings, &runtime.registry()),
        asking,
        agents: match &agent_host {
            Some(host) => host.plan_subagents(),
            None => Arc::new(()),
        },
        events: view.event_sink(),
        stop: stops.stop.clone(),
        abort: stops.abort.clone(),
        ..PlanRunOptions::new(work.run.clone())
    };
    let driven = drive_plan(&session, runtime.journal(), &work.plan, options).await;
    view.finish().await;
    let driven = match driven {
        Ok(driven) => {
            in_doubt::add_interrupted_calls(driven, &**runtime.journal(), &work.plan).await
        }
        Err(err) => Err(match err {
            PlanRunError::Run(err) => CommandError::from(err),
            PlanRunError::Journal(err) => CommandError::from(err),
            PlanRunError::RunExists(_) => {
                CommandError::usage(err).hint(format!("haft resume {}", work.run))
            }
            PlanRunError::Input(_) | PlanRunError::TooLarge { .. } => CommandError::usage(err),
            err => CommandError::failed(err).hint(format!("haft runs show {}", work.run)),
        }),
    };
    if let Some(agent_host) = agent_host {
        agent_host.close().await;
    }
    runtime.shut_down().await;
    driven
}

/// Shows the nodes of a plan that has ended, as a resume that recalls them would. A plan that does not fit the present tools is
/// not shown node by node.
pub(crate) async fn show_finished(
    plan: &Plan,
    catalogue: &PlanToolCatalogue,
    finished: &PlanRunResult,
    setting_args: &SettingArgs,
) -> Result<(), CommandError> {
    let Ok(checked) = check(plan, catalogue, PlanInput::Unknown) else { return Ok(()) };
    let view = PlanView::begin(&checked, setting_args.json)?;
    let events = view.event_sink();
    let nodes = &finished.trace.nodes;
    events.report(&PlanEvent::PlanStarted { run: finished.run.clone(), nodes: nodes.len() });
    for node in nodes {
        events.report(&PlanEvent::NodeFinished {
            node: node.id,
            status: node.status,
            duration_ms: 0,
            replayed: true,
            error: None,
            log: None,
        });
    }
    events.report(&PlanEvent::PlanFinished { ending: finished.trace.ending.clone() });
    drop(events);
    view.finish().await;
    Ok(())
}

/// Records that a person wants a run resumed, although the processes that resumed it before got no further.
pub(crate) async fn allow_resume(journal: &dyn Journal, run: &RunId) -> Result<(), JournalError> {
    match journal.count_progress(run).await {
        Err(JournalError::UnknownRun { .. }) => Ok(()),
        counted => counted,
    }
}

/// Returns how many nodes and calls run at the same time. A call that waits inside its tool uses up the time of its node, so
/// haft begins no more calls of a tool than the tool handles at once.
fn bounds(args: &DriveArgs, settings: &EffectiveSettings, plan: &CheckedPlan) -> PlanBounds {
    let mut tools = settings.plan.tool_bounds();
    for contract in plan.nodes().iter().map(|node| node.contract()) {
        if let Some(calls) = contract.calls_at_once_max {
            tools.entry(contract.id.clone()).or_default().at_once.get_or_insert(calls);
        }
    }
    let parallel = args.parallel.or(settings.plan.parallel()).unwrap_or(PARALLEL_DEFAULT);
    PlanBounds { parallel, tools, ..PlanBounds::default() }
}

/// Warns about bounds for tools that do not exist, such as misspelt names.
pub(crate) fn warn_unknown_tools(settings: &EffectiveSettings, registry: &Registry) {
    let bounds = settings.plan.tool_bounds();
    for id in bounds.keys().filter(|id| registry.contract(id.as_str()).is_none()) {
        let message = format!(
            "[plan.tools.{id}] bounds nothing: {}",
            compose::unknown_tool(registry, id.as_str())
        );
        output::print_warning(&message, None);
    }
}
