//! Driving plans from the command line: the composition of a checked plan, the tools, the rules that its run needs, the
//! live view, questions and signals. What a plan means and what happens in which order is the plan crate's business;
//! which command drives which plan is the commands'.

mod asker;
mod doubt;
mod end;
mod own_list;
mod plan_file;
pub(crate) mod rehearsal;
pub(crate) mod settling;
mod stops;
mod view;

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::Arc;

use clap::Args;
use haft::Registry;
use haft_contract::{Contract, Effect, RequirementSet, RunId, ToolId};
use haft_plan::drive::limits::{PARALLEL_DEFAULT, PARALLEL_MAX};
use haft_plan::drive::{
    Allow, Asking, Bounds, DriveError, Driven, Options, Start, drive as drive_plan,
};
use haft_plan::{Catalogue, CheckedPlan};
use haft_policy::{Action, Rule, RuleScope};
use serde_json::Value;

use crate::ask::TerminalAsker;
use crate::cli::SettingArgs;
use crate::compose::Tools;
use crate::error::CommandError;
use crate::settings::Settings;
use crate::state::State;
use crate::{compose, output};
use asker::PlanAsker;
use own_list::Unconfirmed;
use stops::Stops;
use view::View;

pub(crate) use end::{status, tell_end, tell_output};
pub(crate) use plan_file::{PlanText, invalid, line, unreadable};
pub(crate) use view::{LOG_LINE_CHARS_MAX, LOG_LINES_SHOWN_MAX};
pub(crate) use view::{PURPOSE_CHARS_MAX, RUNNING_LINES_MAX, TOLD_FAILURES_MAX, TOLD_NODES_MAX};

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
    pub(crate) tools: Tools,
    /// Its run.
    pub(crate) run: RunId,
    /// Whether the run is begun or gone on with.
    pub(crate) start: Start,
    /// The input of the plan.
    pub(crate) input: Option<Value>,
}

/// Returns the tools of a registry as plans are checked against them.
pub(crate) fn catalogue(registry: &Registry) -> Catalogue {
    Catalogue::new(registry.contracts().cloned())
}

/// Drives a plan to its end, shows what happens meanwhile, and returns what became of it. Whoever is at the terminal is
/// asked what is to be asked, and stops it with an interrupt.
pub(crate) async fn drive(
    work: PlanRun,
    args: &DriveArgs,
    setting_args: &SettingArgs,
    settings: Settings,
    state: &State,
) -> Result<Driven, CommandError> {
    let person = (!args.headless).then(|| TerminalAsker::new(&settings.project)).flatten();
    let person = person.map(TerminalAsker::of_many_calls);
    let unconfirmed = if person.is_some() { Unconfirmed::Ask } else { Unconfirmed::Warn };
    let settings = with_tools_of(&work, settings, args, unconfirmed, state).await?;
    let runtime = compose::plan_runtime(&work.tools, &settings, state).await?;
    compose::recover(&runtime).await?;
    let session = compose::session(&runtime, &settings, FRONT_END)?;
    // The sidecars are all that is left of long outputs; old ones are swept away by later commands.
    session.keep_outputs();
    warn_of_unknown(&settings, &runtime.registry());
    let view = View::begin(&work.plan, setting_args.json)?;
    let asker = person.map(|person| Arc::new(PlanAsker::new(person, view.screen())));
    let stops = Stops::listen(&work.run, view.screen(), asker.clone())?;
    let asking = asker.map(|asker| Asking {
        asker,
        session: work.run.to_string(),
        root: runtime.roots().workspace().to_owned(),
    });
    let options = Options {
        start: work.start,
        input: work.input,
        bounds: bounds(args, &settings, &work.plan),
        allow: allowed(args, &settings, &runtime.registry()),
        asking,
        events: view.events(),
        stop: stops.stop.clone(),
        abort: stops.abort.clone(),
        ..Options::new(work.run.clone())
    };
    let driven = drive_plan(&session, runtime.journal(), &work.plan, options).await;
    view.end().await;
    let driven = match driven {
        Ok(driven) => doubt::of_unfinished(driven, &**runtime.journal(), &work.plan).await,
        Err(err) => Err(undriven(err, &work.run)),
    };
    runtime.shut_down().await;
    driven
}

/// Returns the settings in which the plan may call its tools: those that only look at files inside the roots where no rule
/// of the user's says otherwise, since whoever runs a plan wants them called, and dangerous ones as if the user had named
/// them, if somebody allowed them. All others are judged as in any call.
async fn with_tools_of(
    work: &PlanRun,
    mut settings: Settings,
    args: &DriveArgs,
    unconfirmed: Unconfirmed,
    state: &State,
) -> Result<Settings, CommandError> {
    let PlanRun { plan, .. } = work;
    let named = if args.allow_dangerous {
        plan.dangerous_tools().into_iter().map(|contract| contract.id.clone()).collect()
    } else {
        own_list::confirmed(work, &settings, unconfirmed, state).await?
    };
    settings.allow.extend(named.iter().map(ToString::to_string));
    let contracts = plan.nodes().iter().map(|node| node.contract());
    let looking = contracts.filter(|contract| only_looks_at_roots(contract));
    let ids: BTreeSet<&ToolId> = looking.map(|contract| &contract.id).collect();
    let rule = |id: &ToolId| (RuleScope::Preset, Rule::new(id.as_str(), "*", Action::Allow));
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
fn bounds(args: &DriveArgs, settings: &Settings, plan: &CheckedPlan) -> Bounds {
    let mut tools = settings.plan.tool_bounds();
    for contract in plan.nodes().iter().map(|node| node.contract()) {
        if let Some(calls) = contract.calls_at_once_max {
            tools.entry(contract.id.clone()).or_default().at_once.get_or_insert(calls);
        }
    }
    let parallel = args.parallel.or(settings.plan.parallel()).unwrap_or(PARALLEL_DEFAULT);
    Bounds { parallel, tools, ..Bounds::default() }
}

/// Bounds of a tool that is not there bound nothing, which whoever misspelt one does not expect.
pub(crate) fn warn_of_unknown(settings: &Settings, registry: &Registry) {
    let bounds = settings.plan.tool_bounds();
    for id in bounds.keys().filter(|id| registry.contract(id.as_str()).is_none()) {
        let message = format!(
            "[plan.tools.{id}] bounds nothing: {}",
            compose::unknown_tool(registry, id.as_str())
        );
        output::warning(&message, None);
    }
}

fn allowed(args: &DriveArgs, settings: &Settings, registry: &Registry) -> Allow {
    if args.allow_dangerous {
        return Allow::All;
    }
    let contracts = settings.allow.iter().filter_map(|name| registry.contract(name));
    Allow::Tools(contracts.map(|contract| contract.id.clone()).collect())
}

fn undriven(err: DriveError, run: &RunId) -> CommandError {
    match err {
        DriveError::Run(err) => CommandError::from(err),
        DriveError::Journal(err) => CommandError::from(err),
        DriveError::RunExists(_) => CommandError::usage(err).hint(format!("haft resume {run}")),
        DriveError::Input(_) | DriveError::TooLarge { .. } => CommandError::usage(err),
        err => CommandError::failed(err).hint(format!("haft runs show {run}")),
    }
}
