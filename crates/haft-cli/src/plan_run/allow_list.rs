//! The list of dangerous tools that a plan itself asks to be allowed. It counts once somebody at a terminal saw what they
//! would be called with and said yes to that very plan with that very input in that very workspace; what was confirmed is
//! kept in the user's state, as trusted manifests are.

use std::io;
use std::path::{Path, PathBuf};

use haft::{Clock as _, SystemClock};
use haft_contract::{ToolId, canonical_json, sha256_hex};
use haft_plan::{CheckedNode, CheckedPlan};
use serde::Serialize;
use serde_json::{Value, json};

use super::PlanRun;
use crate::asking::ask_confirmation;
use crate::asking::indent_untrusted;
use crate::error::CommandError;
use crate::model::planning::NODES_LISTED_MAX;
use crate::views::output;
use haft_app::host::AppHost;
use haft_app::settings::EffectiveSettings;
use haft_app::state_file;

/// What a record says, for people; that it exists is what counts.
#[derive(Serialize)]
struct ConfirmationRecord<'a> {
    root: &'a Path,
    plan_sha256: &'a str,
    input_sha256: Option<&'a str>,
    tools: &'a [ToolId],
    confirmed_at_ms: u64,
}

/// What is done about a list that nobody confirmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnconfirmedListAction {
    /// Somebody is at the terminal, and is asked.
    Ask,
    /// It is said that the list does not hold.
    Warn,
    /// Nothing.
    Ignore,
}

/// Returns the dangerous tools that the plan asks for and somebody confirmed, now or before. Those that were named on the
/// command line are not asked about again.
pub(super) async fn confirmed_tools(
    work: &PlanRun,
    settings: &EffectiveSettings,
    unconfirmed: UnconfirmedListAction,
    host: &AppHost,
) -> Result<Vec<ToolId>, CommandError> {
    let wanted = unconfirmed_tools(&work.plan, &settings.allow);
    if wanted.is_empty() {
        return Ok(wanted);
    }
    let record = PlanConfirmation::of(work, &settings.root, host)?;
    if record.is_recorded() {
        return Ok(wanted);
    }
    match unconfirmed {
        UnconfirmedListAction::Ask => {
            // Without an answer it is as if there had been a no.
            if ask_confirmation(&question(work, &wanted)).await != Some(true) {
                let message = "the user did not allow what the plan asks for, so nothing was run";
                return Err(CommandError::refused(message));
            }
            record.write_record(&wanted)?;
            Ok(wanted)
        }
        UnconfirmedListAction::Warn => {
            let (names, flags) = (names(&wanted), allow_flags(&wanted));
            let message = format!(
                "the plan asks to be allowed {names}, which nobody confirmed, so it is not: confirm it at a terminal, or \
                 start haft with {flags}"
            );
            output::print_warning(&message, None);
            Ok(Vec::new())
        }
        UnconfirmedListAction::Ignore => Ok(Vec::new()),
    }
}

/// Returns the dangerous tools that the plan calls, asks for and was not given.
fn unconfirmed_tools(plan: &CheckedPlan, given: &[String]) -> Vec<ToolId> {
    let is_given =
        |id: &ToolId| given.iter().any(|name| *name == id.as_str() || *name == id.wire_name());
    let called = plan.dangerous_tools().into_iter().map(|contract| &contract.id);
    called.filter(|id| plan.allow().contains(id) && !is_given(id)).cloned().collect()
}

/// Returns what is asked: the nodes that call the tools, with their inputs.
fn question(work: &PlanRun, wanted: &[ToolId]) -> String {
    let nodes = work.plan.nodes().iter();
    let nodes: Vec<&CheckedNode> =
        nodes.filter(|node| wanted.contains(&node.contract().id)).collect();
    let mut lines: String =
        nodes.iter().take(NODES_LISTED_MAX).map(|node| call(work, node)).collect();
    if nodes.len() > NODES_LISTED_MAX {
        lines.push_str(&format!("and {} more nodes\n", nodes.len() - NODES_LISTED_MAX));
    }
    let names = names(wanted);
    let kept = match work.input {
        Some(_) => "this very plan with this very input",
        None => "this very plan",
    };
    format!(
        "\nThe plan asks to be allowed tools that are dangerous ({names}). It would call:\n\n{lines}\n\
         Your answer is kept for {kept} in this workspace.\nAllow them?"
    )
}

/// Returns a node with the input of its call, as far as that is known: outputs are not there yet.
fn call(work: &PlanRun, node: &CheckedNode) -> String {
    let resolved = node.resolve(&|_| None, work.input.as_ref()).ok();
    let written = work.plan.plan().nodes.get(node.id().index());
    let input = resolved.or_else(|| written.map(|node| json!(node.inputs))).unwrap_or_default();
    format!(
        "node {}: {}\n{}",
        node.id(),
        node.contract().id,
        indent_untrusted(&[input.to_string()])
    )
}

fn names(tools: &[ToolId]) -> String {
    tools.iter().map(ToolId::as_str).collect::<Vec<_>>().join(", ")
}

fn allow_flags(tools: &[ToolId]) -> String {
    let flags: Vec<String> = tools.iter().map(|id| format!("--allow {id}")).collect();
    flags.join(" ")
}

/// Where it is kept that somebody confirmed the list of a plan.
struct PlanConfirmation {
    path: PathBuf,
    root: PathBuf,
    plan_sha256: String,
    input_sha256: Option<String>,
}

impl PlanConfirmation {
    fn of(work: &PlanRun, root: &Path, host: &AppHost) -> Result<Self, CommandError> {
        let root = root.canonicalize().map_err(|err| {
            CommandError::usage(format!("root {} cannot be used: {err}", root.display()))
        })?;
        let hash = |value: &Value| sha256_hex(canonical_json(value).as_bytes());
        let plan_sha256 = hash(&json!(work.plan.plan()));
        let input_sha256 = work.input.as_ref().map(hash);
        // No path contains NUL, and hashes are of one length, so that no two plans share a record.
        let hashes = [&*plan_sha256, input_sha256.as_deref().unwrap_or_default()].concat();
        let identity = [root.as_os_str().as_encoded_bytes(), b"\0", hashes.as_bytes()].concat();
        let path = host.state().confirmed_plans().join(format!("{}.json", sha256_hex(&identity)));
        Ok(Self { path, root, plan_sha256, input_sha256 })
    }

    /// A record that cannot be read confirms nothing.
    fn is_recorded(&self) -> bool {
        self.path.is_file()
    }

    fn write_record(&self, tools: &[ToolId]) -> Result<(), CommandError> {
        let Self { path, root, plan_sha256, input_sha256 } = self;
        let record = ConfirmationRecord {
            root,
            plan_sha256,
            input_sha256: input_sha256.as_deref(),
            tools,
            confirmed_at_ms: SystemClock.now_ms(),
        };
        serde_json::to_vec(&record)
            .map_err(io::Error::other)
            .and_then(|contents| state_file::write(path, &contents))
            .map_err(|err| {
                let path = path.display();
                CommandError::usage(format!("what you confirmed cannot be kept in {path}: {err}"))
                    .hint("export HAFT_STATE_DIR=/path/to/a/writable/directory")
            })
    }
}
