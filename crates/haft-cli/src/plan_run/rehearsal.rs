//! What would become of a plan: what runs in which order, which calls have effects, and what rules say of them as far as
//! their inputs are known. Nothing is executed, asked or recorded.

use std::collections::BTreeSet;

use haft::Session;
use haft_contract::{Effect, ToolId};
use haft_plan::{CheckedNode, CheckedPlan, NodeId};
use haft_policy::Action;
use serde::Serialize;

use super::own_list::Unconfirmed;
use super::{DriveArgs, PlanRun};
use crate::cli::SettingArgs;
use crate::error::{CommandError, Status};
use crate::settings::Settings;
use crate::state::State;
use crate::table::table;
use crate::{compose, output};

/// One node as it would be called.
#[derive(Serialize)]
struct Rehearsed {
    node: NodeId,
    /// Nodes of one stage wait for nothing but earlier stages, so they can run at the same time.
    stage: usize,
    tool: ToolId,
    effect: Effect,
    dangerous: bool,
    depends_on: Vec<NodeId>,
    would: Would,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

/// What would become of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Would {
    /// It is executed.
    Run,
    /// Somebody is asked; where nobody is, it is refused.
    BeAsked,
    /// It is refused.
    BeRefused,
    /// Its input is made of outputs that are not known yet, so rules judge it when it comes.
    BeJudged,
}

#[derive(Serialize)]
struct Answer<'a> {
    dry_run: bool,
    nodes: &'a [Rehearsed],
}

/// Says what would become of a plan.
pub(crate) async fn tell(
    work: &PlanRun,
    args: &DriveArgs,
    setting_args: &SettingArgs,
    settings: Settings,
    state: &State,
) -> Result<Status, CommandError> {
    let nodes = rehearsed(work, args, settings, state).await?;
    if setting_args.json {
        output::json(&Answer { dry_run: true, nodes: &nodes })?;
    } else {
        output::data(&output::visible(&text(&nodes)))?;
        output::note(format_args!("dry run: {}; nothing was executed or recorded", counts(&nodes)));
    }
    Ok(Status::Done)
}

/// Returns the tools of a plan that are not dangerous, and of which somebody would be asked all the same.
pub(crate) async fn asked_about(
    work: &PlanRun,
    settings: Settings,
    state: &State,
) -> Result<BTreeSet<ToolId>, CommandError> {
    let args = DriveArgs { parallel: None, allow_dangerous: false, headless: true };
    let nodes = rehearsed(work, &args, settings, state).await?;
    let asked = nodes.into_iter().filter(|node| !node.dangerous && node.would == Would::BeAsked);
    Ok(asked.map(|node| node.tool).collect())
}

async fn rehearsed(
    work: &PlanRun,
    args: &DriveArgs,
    settings: Settings,
    state: &State,
) -> Result<Vec<Rehearsed>, CommandError> {
    let settings = super::with_tools_of(work, settings, args, Unconfirmed::Leave, state).await?;
    let runtime = compose::unrecorded_plan_runtime(&work.tools, &settings, state)?;
    super::warn_of_unknown(&settings, &runtime.registry());
    let session = compose::session(&runtime, &settings, super::FRONT_END)?;
    let allow = super::allowed(args, &settings, &runtime.registry());
    let stages = stages(&work.plan);
    let mut nodes = Vec::with_capacity(stages.len());
    for (node, stage) in work.plan.nodes().iter().zip(&stages) {
        let is_allowed = allow.allows(&node.contract().id);
        let (would, why) = judged(&session, node, work, is_allowed).await?;
        nodes.push(Rehearsed {
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

/// Returns what would become of a call, and why if it would not simply run.
async fn judged(
    session: &Session,
    node: &CheckedNode,
    work: &PlanRun,
    is_allowed: bool,
) -> Result<(Would, Option<String>), CommandError> {
    let tool = node.contract().id.as_str();
    let danger = (node.contract().dangerous && !is_allowed)
        .then(|| format!("{tool} is dangerous and --allow does not name it"));
    let Ok(input) = node.resolve(&|_| None, work.input.as_ref()) else {
        return Ok(match danger {
            Some(danger) => (Would::BeAsked, Some(danger)),
            None => (Would::BeJudged, Some("its input is made of outputs".to_owned())),
        });
    };
    let explanation = session.explain(tool, input).await?;
    let said = |wanted: Action| {
        let accesses = explanation.accesses.iter().filter(|access| access.action == wanted);
        let texts: Vec<&str> = accesses.map(|access| access.text.as_str()).collect();
        texts.join("; ")
    };
    Ok(match explanation.outcome {
        Action::Deny => match explanation.refusal {
            Some((_, text)) => (Would::BeRefused, Some(text)),
            None => (Would::BeRefused, Some(said(Action::Deny))),
        },
        Action::Ask => {
            (Would::BeAsked, Some(danger.unwrap_or_else(|| explanation.reasons.join("; "))))
        }
        Action::Allow => match danger {
            Some(danger) => (Would::BeAsked, Some(danger)),
            None => (Would::Run, None),
        },
    })
}

fn text(nodes: &[Rehearsed]) -> String {
    let headings = ["STAGE", "NODE", "TOOL", "EFFECT", "AFTER", "WOULD", "WHY"];
    let row = |node: &Rehearsed| {
        let danger = if node.dangerous { ", dangerous" } else { "" };
        let after: Vec<String> = node.depends_on.iter().map(ToString::to_string).collect();
        vec![
            node.stage.to_string(),
            node.node.to_string(),
            node.tool.to_string(),
            format!("{}{danger}", effect_name(node.effect)),
            if after.is_empty() { "-".to_owned() } else { after.join(",") },
            node.would.in_words().to_owned(),
            node.why.clone().unwrap_or_else(|| "-".to_owned()),
        ]
    };
    table(&headings, nodes.iter().map(row))
}

fn effect_name(effect: Effect) -> &'static str {
    match effect {
        Effect::Read => "read",
        Effect::Idempotent => "idempotent",
        Effect::Once => "once",
    }
}

fn counts(nodes: &[Rehearsed]) -> String {
    let all = match nodes.len() {
        1 => "1 node".to_owned(),
        count => format!("{count} nodes"),
    };
    let count = |would: Would| nodes.iter().filter(|node| node.would == would).count();
    let mut text = all;
    for (would, words) in [
        (Would::BeAsked, "would be asked about"),
        (Would::BeRefused, "would be refused"),
        (Would::BeJudged, "judged when the input is known"),
    ] {
        match count(would) {
            0 => {}
            count => text.push_str(&format!(", {count} {words}")),
        }
    }
    text
}

impl Would {
    fn in_words(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::BeAsked => "be asked",
            Self::BeRefused => "be refused",
            Self::BeJudged => "be judged",
        }
    }
}
