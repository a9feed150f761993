//! The list of dangerous tools that a plan itself asks to be allowed. The list counts only after a person at a terminal saw
//! the planned calls and confirmed that plan, with that input, in that workspace. haft keeps the confirmation in the user's
//! state, as it does for trusted manifests.

use std::io;
use std::path::{Path, PathBuf};

use haft::{Clock as _, SystemClock};
use haft_contract::{ToolId, canonical_json, sha256_hex};
use haft_plan::CheckedNode;
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

/// The content of a record, for people. Its existence is the confirmation.
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

/// Returns the dangerous tools that the plan asks for and the user confirmed, now or before. Tools that the command line
/// allows need no confirmation.
pub(super) async fn confirmed_tools(
    work: &PlanRun,
    settings: &EffectiveSettings,
    unconfirmed: UnconfirmedListAction,
    host: &AppHost,
) -> Result<Vec<ToolId>, CommandError> {
    let is_given = |id: &ToolId| {
        settings.allow.iter().any(|name| *name == id.as_str() || *name == id.wire_name())
    };
    let called = work.plan.dangerous_tools().into_iter().map(|contract| &contract.id);
    let wanted = called.filter(|id| work.plan.allow().contains(id) && !is_given(id));
    let wanted: Vec<ToolId> = wanted.cloned().collect();
    if wanted.is_empty() {
        return Ok(wanted);
    }
    let record = PlanConfirmation::of(work, &settings.root, host)?;
    // A record that cannot be read confirms nothing.
    if record.path.is_file() {
        return Ok(wanted);
    }
    match unconfirmed {
        UnconfirmedListAction::Ask => {
            // No answer counts as a no.
            if ask_confirmation(&question(work, &wanted)).await != Some(true) {
                let message = "the user did not allow what the plan asks for, so nothing was run";
                return Err(CommandError::refused(message));
            }
            record.write_record(&wanted)?;
            Ok(wanted)
        }
        UnconfirmedListAction::Warn => {
            let flags: Vec<String> = wanted.iter().map(|id| format!("--allow {id}")).collect();
            let message = format!(
                "the plan asks to be allowed {}, which you have not confirmed, so it is not: confirm it at a terminal, or \
                 start haft with {}",
                names(&wanted),
                flags.join(" ")
            );
            output::print_warning(&message, None);
            Ok(Vec::new())
        }
        UnconfirmedListAction::Ignore => Ok(Vec::new()),
    }
}

/// Returns what is asked: the nodes that call the tools, with their inputs.
fn question(work: &PlanRun, wanted: &[ToolId]) -> String {
    let call = |node: &&CheckedNode| {
        // An input that refers to outputs is shown as the plan has it: the outputs do not exist yet.
        let resolved = node.resolve(&|_| None, work.input.as_ref()).ok();
        let written = work.plan.plan().nodes.get(node.id().index());
        let input = resolved.or_else(|| written.map(|node| json!(node.inputs))).unwrap_or_default();
        let input = indent_untrusted(&[input.to_string()]);
        format!("node {}: {}\n{input}", node.id(), node.contract().id)
    };
    let nodes = work.plan.nodes().iter();
    let nodes: Vec<&CheckedNode> =
        nodes.filter(|node| wanted.contains(&node.contract().id)).collect();
    let mut lines: String = nodes.iter().take(NODES_LISTED_MAX).map(call).collect();
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

fn names(tools: &[ToolId]) -> String {
    tools.iter().map(ToolId::as_str).collect::<Vec<_>>().join(", ")
}

/// The record that the user confirmed the list of a plan.
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
