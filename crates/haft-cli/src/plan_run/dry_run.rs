//! Predicts a plan: the order of its calls, the calls with effects, and the answer of the rules to each known input. Nothing
//! is executed, asked or recorded.

use std::collections::BTreeSet;

use haft::Connection;
use haft_contract::{Effect, ToolId};
use haft_plan::{CheckedNode, CheckedPlan, NodeId};
use haft_policy::RuleAction;
use serde::Serialize;

use super::allow_list::UnconfirmedListAction;
use super::{DriveArgs, PlanRun};
use crate::arguments::setting_args::SettingArgs;
use crate::error::{CommandError, CommandStatus};
use crate::views::output;
use crate::views::table::table;
use haft_app::compose;
use haft_app::host::AppHost;
use haft_app::settings::EffectiveSettings;

/// One node as it would be called.
#[derive(Serialize)]
struct DryRunNode {
    node: NodeId,
    /// Nodes of one stage wait for nothing but earlier stages, so they can run at the same time.
    stage: usize,
    tool: ToolId,
    effect: Effect,
    dangerous: bool,
    depends_on: Vec<NodeId>,
    would: PredictedOutcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

/// The predicted outcome of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum PredictedOutcome {
    /// It is executed.
    Run,
    /// The person is asked; without a terminal, the call is refused.
    BeAsked,
    /// It is refused.
    BeRefused,
    /// Its input is made of outputs that are not known yet, so rules judge it when it comes.
    BeJudged,
}

#[derive(Serialize)]
struct DryRunReport<'a> {
    dry_run: bool,
    nodes: &'a [DryRunNode],
}

/// Prints the predicted outcome of a plan.
pub(crate) async fn print_dry_run(
    work: &PlanRun,
    args: &DriveArgs,
    setting_args: &SettingArgs,
    settings: EffectiveSettings,
    host: &AppHost,
) -> Result<CommandStatus, CommandError> {
    let nodes = predict_nodes(work, args, settings, host).await?;
    if setting_args.json {
        output::write_json(&DryRunReport { dry_run: true, nodes: &nodes })?;
    } else {
        output::write_data(&output::escape_controls(&text(&nodes)))?;
        let count = nodes.len();
        let mut counts = if count == 1 { "1 node".to_owned() } else { format!("{count} nodes") };
        for (would, words) in [
            (PredictedOutcome::BeAsked, "would be asked about"),
            (PredictedOutcome::BeRefused, "would be refused"),
            (PredictedOutcome::BeJudged, "judged when the input is known"),
        ] {
            match nodes.iter().filter(|node| node.would == would).count() {
                0 => {}
                count => counts.push_str(&format!(", {count} {words}")),
            }
        }
        output::print_note(format_args!("dry run: {counts}; nothing was executed or recorded"));
    }
    Ok(CommandStatus::Done)
}

/// Returns the tools of a plan that are not dangerous, but need an answer of the person.
pub(crate) async fn tools_that_ask(
    work: &PlanRun,
    settings: EffectiveSettings,
    host: &AppHost,
) -> Result<BTreeSet<ToolId>, CommandError> {
    let args = DriveArgs { parallel: None, allow_dangerous: false, headless: true };
    let nodes = predict_nodes(work, &args, settings, host).await?;
    let asked =
        nodes.into_iter().filter(|node| !node.dangerous && node.would == PredictedOutcome::BeAsked);
    Ok(asked.map(|node| node.tool).collect())
}

async fn predict_nodes(
    work: &PlanRun,
    args: &DriveArgs,
    settings: EffectiveSettings,
    host: &AppHost,
) -> Result<Vec<DryRunNode>, CommandError> {
    let settings =
        super::allow_plan_tools(work, settings, args, UnconfirmedListAction::Ignore, host).await?;
    let runtime = compose::unrecorded_plan_runtime(&work.tools, &settings, host)?;
    super::warn_unknown_tools(&settings, &runtime.registry());
    let session = compose::open_connection(&runtime, &settings, host, super::FRONT_END)?;
    let allow = super::allowed_dangerous_tools(args, &settings, &runtime.registry());
    let stages = stages(&work.plan);
    let mut nodes = Vec::with_capacity(stages.len());
    for (node, stage) in work.plan.nodes().iter().zip(&stages) {
        let is_allowed = allow.allows(&node.contract().id);
        let (would, why) = predict_outcome(&session, node, work, is_allowed).await?;
        nodes.push(DryRunNode {
            node: node.id(),
            stage: *stage,
            tool: node.contract().id.clone(),
            effect: node.contract().effect,
            dangerous: node.contract().dangerous,
            depends_on: node.depends_on().to_vec(),
            would,
            why,
        });
    }
    nodes.sort_by_key(|node| (node.stage, node.node));
    Ok(nodes)
}

/// Returns the stage of each node, from 1: one more than the latest of those that it waits for.
fn stages(plan: &CheckedPlan) -> Vec<usize> {
    let mut stages: Vec<usize> = Vec::with_capacity(plan.nodes().len());
    for node in plan.nodes() {
        let before = node.depends_on().iter().filter_map(|id| stages.get(id.index()));
        stages.push(before.max().copied().unwrap_or_default() + 1);
    }
    stages
}

/// Returns the predicted outcome of a call, and the reason unless the call simply runs.
async fn predict_outcome(
    session: &Connection,
    node: &CheckedNode,
    work: &PlanRun,
    is_allowed: bool,
) -> Result<(PredictedOutcome, Option<String>), CommandError> {
    let tool = node.contract().id.as_str();
    let danger = (node.contract().dangerous && !is_allowed)
        .then(|| format!("{tool} is dangerous and --allow does not name it"));
    let Ok(input) = node.resolve(&|_| None, work.input.as_ref()) else {
        return Ok(match danger {
            Some(danger) => (PredictedOutcome::BeAsked, Some(danger)),
            None => (PredictedOutcome::BeJudged, Some("its input is made of outputs".to_owned())),
        });
    };
    let explanation = session.explain(tool, input).await?;
    let said = |wanted: RuleAction| {
        let accesses = explanation.accesses.iter().filter(|access| access.action == wanted);
        let texts: Vec<&str> = accesses.map(|access| access.text.as_str()).collect();
        texts.join("; ")
    };
    Ok(match explanation.outcome {
        RuleAction::Deny => match explanation.refusal {
            Some(refusal) => (PredictedOutcome::BeRefused, Some(refusal.because)),
            None => (PredictedOutcome::BeRefused, Some(said(RuleAction::Deny))),
        },
        RuleAction::Ask => (
            PredictedOutcome::BeAsked,
            Some(danger.unwrap_or_else(|| explanation.reasons.join("; "))),
        ),
        RuleAction::Allow => match danger {
            Some(danger) => (PredictedOutcome::BeAsked, Some(danger)),
            None => (PredictedOutcome::Run, None),
        },
    })
}

fn text(nodes: &[DryRunNode]) -> String {
    let headings = ["STAGE", "NODE", "TOOL", "EFFECT", "AFTER", "WOULD", "WHY"];
    let row = |node: &DryRunNode| {
        let danger = if node.dangerous { ", dangerous" } else { "" };
        let after: Vec<String> = node.depends_on.iter().map(ToString::to_string).collect();
        let effect = match node.effect {
            Effect::Read => "read",
            Effect::Idempotent => "idempotent",
            Effect::Once => "once",
        };
        let would = match node.would {
            PredictedOutcome::Run => "run",
            PredictedOutcome::BeAsked => "be asked",
            PredictedOutcome::BeRefused => "be refused",
            PredictedOutcome::BeJudged => "be judged",
        };
        vec![
            node.stage.to_string(),
            node.node.to_string(),
            node.tool.to_string(),
            format!("{effect}{danger}"),
            if after.is_empty() { "-".to_owned() } else { after.join(",") },
            would.to_owned(),
            node.why.clone().unwrap_or_else(|| "-".to_owned()),
        ]
    };
    table(&headings, nodes.iter().map(row))
}
