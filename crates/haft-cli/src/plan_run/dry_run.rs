//! Predicts a plan: the order of its calls, the calls with effects, and the answer of the rules to each known input. Nothing
//! is executed, asked or recorded.

use std::collections::BTreeSet;

use haft_contract::{Effect, ToolId};
use haft_plan::NodeId;
use haft_plan::drive::PERSON_NODE_TOOL;
use haft_policy::RuleAction;
use serde::Serialize;
use serde_json::json;

use super::allow_list::{UnconfirmedListAction, allow_plan_tools, allowed_dangerous_tools};
use super::{DriveArgs, PlanRun};
use crate::arguments::setting_args::SettingArgs;
use crate::error::{CommandError, CommandStatus};
use crate::views::output;
use crate::views::path_text::counted;
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
        output::write_json(&json!({ "dry_run": true, "nodes": nodes }))?;
    } else {
        let headings = ["STAGE", "NODE", "TOOL", "EFFECT", "AFTER", "WOULD", "WHY"];
        let rows = nodes.iter().map(|node| {
            let danger = if node.dangerous { ", dangerous" } else { "" };
            let after: Vec<String> = node.depends_on.iter().map(ToString::to_string).collect();
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
                format!("{}{danger}", node.effect.as_str()),
                if after.is_empty() { "-".to_owned() } else { after.join(",") },
                would.to_owned(),
                node.why.clone().unwrap_or_else(|| "-".to_owned()),
            ]
        });
        output::write_data(&haft_contract::escape_controls(&table(&headings, rows)))?;
        let mut counts = counted(nodes.len(), "node");
        for (would, words) in [
            (PredictedOutcome::BeAsked, "would be asked about"),
            (PredictedOutcome::BeRefused, "would be refused"),
            (PredictedOutcome::BeJudged, "judged when the input is known"),
        ] {
            let count = nodes.iter().filter(|node| node.would == would).count();
            if count > 0 {
                counts.push_str(&format!(", {count} {words}"));
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
    let args = DriveArgs { parallel: None, allow_dangerous: false, headless: true, anyway: false };
    let nodes = predict_nodes(work, &args, settings, host).await?;
    let asked = nodes.into_iter().filter(|node| {
        let asks = node.tool.as_str() == PERSON_NODE_TOOL;
        !asks && !node.dangerous && node.would == PredictedOutcome::BeAsked
    });
    Ok(asked.map(|node| node.tool).collect())
}

async fn predict_nodes(
    work: &PlanRun,
    args: &DriveArgs,
    settings: EffectiveSettings,
    host: &AppHost,
) -> Result<Vec<DryRunNode>, CommandError> {
    let (settings, readers) =
        allow_plan_tools(work, settings, args, UnconfirmedListAction::Ignore, host).await?;
    let runtime = compose::unrecorded_plan_runtime(&work.tools, &settings, host)?;
    super::warn_unknown_tools(&settings, &runtime.registry());
    let session = compose::open_plan_connection(&runtime, &settings, host, Vec::new(), readers)?;
    let allow = allowed_dangerous_tools(args, &settings, &runtime.registry());
    // The stage of each node, from 1: one more than the latest stage that the node waits for.
    let mut stages: Vec<usize> = Vec::with_capacity(work.plan.nodes().len());
    let mut nodes = Vec::with_capacity(work.plan.nodes().len());
    for node in work.plan.nodes() {
        let before = node.depends_on().iter().filter_map(|id| stages.get(id.index()));
        let stage = before.max().copied().unwrap_or_default() + 1;
        stages.push(stage);
        let tool = node.contract().id.as_str();
        let is_refused = node.contract().dangerous && !allow.allows(&node.contract().id);
        let danger =
            is_refused.then(|| format!("{tool} is dangerous and --allow does not name it"));
        let asks = tool == PERSON_NODE_TOOL;
        let (would, why) = match node.resolve(&|_| None, work.input.as_ref()) {
            _ if asks => (PredictedOutcome::BeAsked, Some("it asks a person".to_owned())),
            Err(_) if danger.is_some() => (PredictedOutcome::BeAsked, danger),
            Err(_) => (PredictedOutcome::BeJudged, Some("its input is made of outputs".to_owned())),
            Ok(input) => {
                let explanation = session.explain(tool, input).await?;
                match explanation.outcome {
                    RuleAction::Deny => {
                        let accesses = explanation.accesses.iter();
                        let denied = accesses.filter(|it| it.action == RuleAction::Deny);
                        let texts: Vec<&str> = denied.map(|access| access.text.as_str()).collect();
                        let because = explanation.refusal.map(|refusal| refusal.because);
                        let why = because.unwrap_or_else(|| texts.join("; "));
                        (PredictedOutcome::BeRefused, Some(why))
                    }
                    RuleAction::Ask => {
                        let why = danger.unwrap_or_else(|| explanation.reasons.join("; "));
                        (PredictedOutcome::BeAsked, Some(why))
                    }
                    RuleAction::Allow if danger.is_some() => (PredictedOutcome::BeAsked, danger),
                    RuleAction::Allow => (PredictedOutcome::Run, None),
                }
            }
        };
        nodes.push(DryRunNode {
            node: node.id(),
            stage,
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
