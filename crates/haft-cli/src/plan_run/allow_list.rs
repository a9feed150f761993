//! The tools that a plan may call without a further question. A plan itself can ask for dangerous tools. Such a list counts
//! only after a person at a terminal saw the planned calls and confirmed that plan, with that input, in that workspace. haft
//! keeps the confirmation in the user's state, as it does for trusted manifests.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use haft::{Clock as _, Registry, SystemClock};
use haft_contract::{Effect, RequirementSet, ToolId, canonical_json, sha256_hex};
use haft_plan::drive::AllowedDangerousTools;
use haft_plan::{CheckedNode, CheckedPlan};
use haft_policy::{Rule, RuleAction};
use serde::Serialize;
use serde_json::{Value, json};

use super::{DriveArgs, PlanRun};
use crate::asking::{ask_confirmation, indent_untrusted};
use crate::error::CommandError;
use crate::views::output;
use haft_app::host::AppHost;
use haft_app::settings::EffectiveSettings;
use haft_app::state_file;

/// Nodes of a plan that are listed before it is agreed to.
pub(crate) const NODES_LISTED_MAX: usize = 100;

/// The record of a confirmation. Its existence is the confirmation; its content is for people.
#[derive(Serialize)]
struct ConfirmationRecord<'a> {
    root: &'a Path,
    plan_sha256: &'a str,
    input_sha256: Option<&'a str>,
    tools: &'a [ToolId],
    confirmed_at_ms: u64,
}

/// How to handle a list that the user has not confirmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnconfirmedListAction {
    /// A person is at the terminal: ask.
    Ask,
    /// Print a warning that the list does not hold.
    Warn,
    /// Do nothing.
    Ignore,
}

/// Returns the settings in which the plan may call its tools, and the rules of its connection for what no other rule matches.
/// Two groups of tools need no further question: dangerous tools that the user allowed, and tools that only read files inside
/// the roots, unless a rule of the user says otherwise. All other tools follow the usual rules.
pub(super) async fn allow_plan_tools(
    work: &PlanRun,
    mut settings: EffectiveSettings,
    args: &DriveArgs,
    unconfirmed: UnconfirmedListAction,
    host: &AppHost,
) -> Result<(EffectiveSettings, Vec<Rule>), CommandError> {
    let named = if args.allow_dangerous {
        work.plan.dangerous_tools().into_iter().map(|contract| contract.id.clone()).collect()
    } else {
        confirmed_tools(work, &settings, unconfirmed, host).await?
    };
    settings.allow.extend(named.iter().map(ToString::to_string));
    let mut readers: BTreeSet<&ToolId> = BTreeSet::new();
    for contract in work.plan.nodes().iter().map(|node| node.contract()) {
        // The declared effect alone does not show what a tool can reach.
        let RequirementSet { fs, net, shell, capabilities } = &contract.requires;
        let reaches_beyond = !net.is_empty() || !shell.is_empty() || !capabilities.is_empty();
        let has_effect = contract.effect != Effect::Read || !fs.write.is_empty();
        let is_inside_roots = fs.read.iter().all(|pattern| {
            let below = pattern.strip_prefix("{workspace}").unwrap_or(pattern);
            let is_absolute = below.len() == pattern.len() && pattern.starts_with(['/', '{', '~']);
            !is_absolute && !below.split('/').any(|part| part == "..")
        });
        if !contract.dangerous && !has_effect && !reaches_beyond && is_inside_roots {
            readers.insert(&contract.id);
        }
    }
    let rule = |id: &ToolId| Rule::new(id.as_str(), "*", RuleAction::Allow);
    Ok((settings, readers.into_iter().map(rule).collect()))
}

/// Returns the dangerous tools that the command line allows.
pub(super) fn allowed_dangerous_tools(
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

/// Returns the dangerous tools that the plan asks for and the user confirmed, now or before. Tools that the command line
/// allows need no confirmation.
async fn confirmed_tools(
    work: &PlanRun,
    settings: &EffectiveSettings,
    unconfirmed: UnconfirmedListAction,
    host: &AppHost,
) -> Result<Vec<ToolId>, CommandError> {
    let is_given = |id: &ToolId| settings.allow.iter().any(|name| is_name_of(name, id));
    let called = work.plan.dangerous_tools().into_iter().map(|contract| &contract.id);
    let wanted = called.filter(|id| work.plan.allow().contains(id) && !is_given(id));
    let wanted: Vec<ToolId> = wanted.cloned().collect();
    if wanted.is_empty() {
        return Ok(wanted);
    }
    let root = settings.root.canonicalize().map_err(|err| {
        CommandError::usage(format!("root {} cannot be used: {err}", settings.root.display()))
    })?;
    let hash = |value: &Value| sha256_hex(canonical_json(value).as_bytes());
    let plan_sha256 = hash(&json!(work.plan.plan()));
    let input_sha256 = work.input.as_ref().map(hash);
    // No path contains NUL, and hashes are of one length, so that no two plans share a record.
    let hashes = [&*plan_sha256, input_sha256.as_deref().unwrap_or_default()].concat();
    let identity = [root.as_os_str().as_encoded_bytes(), b"\0", hashes.as_bytes()].concat();
    let path = host.state().confirmed_plans().join(format!("{}.json", sha256_hex(&identity)));
    // A record that cannot be read confirms nothing.
    if path.is_file() {
        return Ok(wanted);
    }
    let names = wanted.iter().map(ToolId::as_str).collect::<Vec<_>>().join(", ");
    match unconfirmed {
        UnconfirmedListAction::Ask => {}
        UnconfirmedListAction::Warn => {
            let flags: Vec<String> = wanted.iter().map(|id| format!("--allow {id}")).collect();
            let message = format!(
                "the plan asks to be allowed {names}, which you have not confirmed, so it is not: confirm it at a terminal, \
                 or start haft with {}",
                flags.join(" ")
            );
            output::print_warning(&message, None);
            return Ok(Vec::new());
        }
        UnconfirmedListAction::Ignore => return Ok(Vec::new()),
    }
    let nodes = work.plan.nodes().iter();
    let nodes: Vec<&CheckedNode> =
        nodes.filter(|node| wanted.contains(&node.contract().id)).collect();
    let mut calls = String::new();
    for node in nodes.iter().take(NODES_LISTED_MAX) {
        // An input that refers to outputs is shown as the plan has it: the outputs do not exist yet.
        let resolved = node.resolve(&|_| None, work.input.as_ref()).ok();
        let written = work.plan.plan().nodes.get(node.id().index());
        let input = resolved
            .or_else(|| written.map(|node| node.work.input().into_owned()))
            .unwrap_or_default();
        let input = indent_untrusted(&[input.to_string()]);
        calls.push_str(&format!("node {}: {}\n{input}", node.id(), node.contract().id));
    }
    if nodes.len() > NODES_LISTED_MAX {
        calls.push_str(&format!("and {} more nodes\n", nodes.len() - NODES_LISTED_MAX));
    }
    let kept = match work.input {
        Some(_) => "this very plan with this very input",
        None => "this very plan",
    };
    let question = format!(
        "\nThe plan asks to be allowed tools that are dangerous ({names}). It would call:\n\n{calls}\n\
         Your answer is kept for {kept} in this workspace.\nAllow them?"
    );
    // No answer counts as a no.
    if ask_confirmation(&question).await != Some(true) {
        let message = "the user did not allow what the plan asks for, so nothing was run";
        return Err(CommandError::refused(message));
    }
    let record = ConfirmationRecord {
        root: &root,
        plan_sha256: &plan_sha256,
        input_sha256: input_sha256.as_deref(),
        tools: &wanted,
        confirmed_at_ms: SystemClock.now_ms(),
    };
    serde_json::to_vec(&record)
        .map_err(io::Error::other)
        .and_then(|contents| state_file::write(&path, &contents))
        .map_err(|err| {
            let path = path.display();
            CommandError::usage(format!("what you confirmed cannot be kept in {path}: {err}"))
                .hint("export HAFT_STATE_DIR=/path/to/a/writable/directory")
        })?;
    Ok(wanted)
}

/// Returns the dangerous tools that a plan calls, each once.
pub(crate) fn dangerous(plan: &CheckedPlan) -> Vec<&str> {
    plan.dangerous_tools().into_iter().map(|contract| contract.id.as_str()).collect()
}

/// Returns the ids of the dangerous tools that a plan calls, each once.
pub(crate) fn dangerous_ids(plan: &CheckedPlan) -> Vec<ToolId> {
    plan.dangerous_tools().into_iter().map(|contract| contract.id.clone()).collect()
}

/// Returns whether this is the tool's id, or its wire name.
pub(crate) fn is_name_of(name: &str, id: &ToolId) -> bool {
    name == id.as_str() || name == id.wire_name()
}
