//! Driving plans from the command line: the composition of a checked plan, the tools, the rules that its run needs, the
//! live view, questions and signals. What a plan means and what happens in which order is the plan crate's business;
//! which command drives which plan is the commands'.

mod allow_list;
mod asker;
pub(crate) mod doubt_settlement;
mod doubts;
pub(crate) mod dry_run;
mod end;
mod plan_file;
mod stop_tokens;

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::Arc;

use clap::Args;
use haft::Registry;
use haft_contract::{Contract, Effect, RequirementSet, RunId, ToolId};
use haft_plan::drive::limits::{PARALLEL_DEFAULT, PARALLEL_MAX};
use haft_plan::drive::{
    AllowedDangerousTools, DangerousToolAsker, PlanBounds, PlanRunError, PlanRunOptions,
    PlanRunResult, RunStartMode, run_plan as drive_plan,
};
use haft_plan::{CheckedPlan, PlanToolCatalogue};
use haft_policy::{Rule, RuleAction, RuleScope};
use serde_json::Value;

use crate::arguments::setting_args::SettingArgs;
use crate::asking::TerminalAsker;
use crate::error::CommandError;
use crate::views::output;
use crate::views::plan::PlanView;
use allow_list::UnconfirmedListAction;
use asker::PlanAsker;
use haft_app::compose;
use haft_app::compose::AvailableTools;
use haft_app::host::AppHost;
use haft_app::settings::EffectiveSettings;
use stop_tokens::PlanStopTokens;

pub(crate) use end::{plan_status, print_end, print_output};
pub(crate) use plan_file::{PlanText, invalid_plan_error, problem_line, unreadable_plan_error};

/// The kind of front end that runs of plans are recorded with.
pub(crate) const FRONT_END: &str = haft::PLAN_FRONT_END;

/// How a plan is driven.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Plan")]
pub(crate) struct DriveArgs {
    /// Nodes that run at the same time; 16 unless given
    ///
    /// What becomes of the nodes does not depend on it. The manifest may name another number ([plan] parallel).
    #[arg(long, value_name = "N", value_parser = parallel)]
    pub(crate) parallel: Option<NonZeroUsize>,
    /// Allow every dangerous tool that the plan calls, as --allow does one by one
    #[arg(long)]
    pub(crate) allow_dangerous: bool,
    /// Ask nobody, also on a terminal: what would be asked is refused
    #[arg(long)]
    pub(crate) headless: bool,
}

fn parallel(text: &str) -> Result<NonZeroUsize, String> {
    let expected = || format!("expected 1 to {PARALLEL_MAX}");
    text.parse().ok().filter(|number| *number <= PARALLEL_MAX).ok_or_else(expected)
}

/// A plan that is to be driven.
#[derive(Clone)]
pub(crate) struct PlanRun {
    /// The plan.
    pub(crate) plan: CheckedPlan,
    /// The tools that it was checked against.
    pub(crate) tools: AvailableTools,
    /// Its run.
    pub(crate) run: RunId,
    /// Whether the run is begun or gone on with.
    pub(crate) start: RunStartMode,
    /// The input of the plan.
    pub(crate) input: Option<Value>,
}

/// Returns the tools of a registry as plans are checked against them.
pub(crate) fn catalogue(registry: &Registry) -> PlanToolCatalogue {
    PlanToolCatalogue::new(registry.contracts().cloned())
}

/// Drives a plan to its end, shows what happens meanwhile, and returns what became of it. Whoever is at the terminal is
/// asked what is to be asked, and stops it with an interrupt.
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
    let settings = allow_plan_tools(&work, settings, args, unconfirmed, host).await?;
    let runtime = compose::plan_runtime(&work.tools, &settings, host).await?;
    compose::recover(&runtime, host).await?;
    let session = compose::open_connection(&runtime, &settings, host, FRONT_END)?;
    // The sidecars are all that is left of long outputs; old ones are swept away by later commands.
    session.keep_outputs();
    warn_unknown_tools(&settings, &runtime.registry());
    let view = PlanView::begin(&work.plan, setting_args.json)?;
    let asker = person.map(|person| Arc::new(PlanAsker::new(person, view.screen())));
    let stops = PlanStopTokens::listen(&work.run, view.screen(), asker.clone())?;
    let asking = asker.map(|asker| DangerousToolAsker {
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
        events: view.event_sink(),
        stop: stops.stop.clone(),
        abort: stops.abort.clone(),
        ..PlanRunOptions::new(work.run.clone())
    };
    let driven = drive_plan(&session, runtime.journal(), &work.plan, options).await;
    view.finish().await;
    let driven = match driven {
        Ok(driven) => doubts::add_interrupted_calls(driven, &**runtime.journal(), &work.plan).await,
        Err(err) => Err(drive_command_error(err, &work.run)),
    };
    runtime.shut_down().await;
    driven
}

/// Returns the settings in which the plan may call its tools: those that only look at files inside the roots where no rule
/// of the user's says otherwise, since whoever runs a plan wants them called, and dangerous ones as if the user had named
/// them, if somebody allowed them. All others are judged as in any call.
async fn allow_plan_tools(
    work: &PlanRun,
    mut settings: EffectiveSettings,
    args: &DriveArgs,
    unconfirmed: UnconfirmedListAction,
    host: &AppHost,
) -> Result<EffectiveSettings, CommandError> {
    let PlanRun { plan, .. } = work;
    let named = if args.allow_dangerous {
        plan.dangerous_tools().into_iter().map(|contract| contract.id.clone()).collect()
    } else {
        allow_list::confirmed_tools(work, &settings, unconfirmed, host).await?
    };
    settings.allow.extend(named.iter().map(ToString::to_string));
    let contracts = plan.nodes().iter().map(|node| node.contract());
    let looking = contracts.filter(|contract| only_looks_at_roots(contract));
    let ids: BTreeSet<&ToolId> = looking.map(|contract| &contract.id).collect();
    let rule = |id: &ToolId| (RuleScope::Preset, Rule::new(id.as_str(), "*", RuleAction::Allow));
    settings.rules.extend(ids.into_iter().map(rule));
    Ok(settings)
}

/// Returns whether all that a tool can do is to look at files inside the roots: an effect that it declares says nothing of
/// what it could reach.
fn only_looks_at_roots(contract: &Contract) -> bool {
    let RequirementSet { fs, net, shell, capabilities } = &contract.requires;
    let reaches_beyond = !net.is_empty() || !shell.is_empty() || !capabilities.is_empty();
    let has_effect = contract.effect != Effect::Read || !fs.write.is_empty();
    let is_inside = |pattern: &String| is_inside_roots(pattern);
    !contract.dangerous && !has_effect && !reaches_beyond && fs.read.iter().all(is_inside)
}

fn is_inside_roots(pattern: &str) -> bool {
    let below = pattern.strip_prefix("{workspace}").unwrap_or(pattern);
    let is_absolute = below.len() == pattern.len() && pattern.starts_with(['/', '{', '~']);
    !is_absolute && !below.split('/').any(|part| part == "..")
}

/// Returns how much happens at the same time. What waits inside a tool waits in its node's time, so no more calls of it
/// begin than it works on.
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

/// Bounds of a tool that is not there bound nothing, which whoever misspelt one does not expect.
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

fn allowed_dangerous_tools(
    args: &DriveArgs,
    settings: &EffectiveSettings,
    registry: &Registry,
) -> AllowedDangerousTools {
    if args.allow_dangerous {
        return AllowedDangerousTools::All;
    }
    let contracts = settings.allow.iter().filter_map(|name| registry.contract(name));
    AllowedDangerousTools::Tools(contracts.map(|contract| contract.id.clone()).collect())
}

fn drive_command_error(err: PlanRunError, run: &RunId) -> CommandError {
    match err {
        PlanRunError::Run(err) => CommandError::from(err),
        PlanRunError::Journal(err) => CommandError::from(err),
        PlanRunError::RunExists(_) => CommandError::usage(err).hint(format!("haft resume {run}")),
        PlanRunError::Input(_) | PlanRunError::TooLarge { .. } => CommandError::usage(err),
        err => CommandError::failed(err).hint(format!("haft runs show {run}")),
    }
}
