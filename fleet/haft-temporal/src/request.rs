//! The data that a run on Temporal consists of: the input, the result, the state and the signals of its workflow. They lie in
//! Temporal's history, so their fields are only ever added to. This file contains no logic of workflows or activities.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Largest plan with its input that is started on Temporal, in bytes. Temporal refuses a payload of 2 MB.
///
/// Limit (fleet): the run does not start.
pub(crate) const REQUEST_BYTES_MAX: usize = 1_800_000;

/// Longest output that comes back through Temporal, in bytes.
///
/// Limit (fleet): the output is only in the journal.
pub(crate) const ANSWER_OUTPUT_BYTES_MAX: usize = 1_000_000;

/// Settlements of a run that wait for a worker, and that its state lists.
///
/// Limit (fleet): a further settlement is dropped, and the state lists the latest.
pub(crate) const SETTLEMENTS_MAX: usize = 100;

/// The input of a workflow: one run of haft.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunRequest {
    /// The run, which is also the id of the workflow.
    pub(crate) run: String,
    /// The plan, or only the run that the journal has.
    pub(crate) work: RunWork,
    /// The workspace, or the labels of a worker.
    pub(crate) placement: RunPlacement,
    /// The options that haft gets.
    #[serde(default)]
    pub(crate) options: RunOptions,
    /// Seconds without a heartbeat after which another worker takes over.
    pub(crate) heartbeat_seconds: u64,
}

/// The work of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RunWork {
    /// A plan, which is begun, or resumed if the journal has the run.
    Plan {
        /// The text of the plan.
        plan: String,
        /// The input of the plan, as JSON text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<String>,
    },
    /// A run that the journal has.
    Resume {
        /// Nodes that failed for good are tried again.
        #[serde(default)]
        retry_failed: bool,
        /// The count of processes that got no further begins again.
        #[serde(default)]
        anyway: bool,
    },
}

/// Where a run executes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RunPlacement {
    /// The workers that have this workspace.
    Workspace(String),
    /// The workspace of a worker that has all of these labels.
    Labels(Vec<String>),
}

/// The options of `haft run` and `haft resume` that the person who starts a run may set. All others belong to the worker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct RunOptions {
    /// Tools that the run may call.
    pub(crate) allow: Vec<String>,
    /// Whether the plan may call every dangerous tool that it names.
    pub(crate) allow_dangerous: bool,
    /// Nodes that run at the same time.
    pub(crate) parallel: Option<u32>,
    /// The model that agent nodes ask.
    pub(crate) model: Option<String>,
}

/// The result of a run that came to its output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunAnswer {
    /// The run.
    pub(crate) run: String,
    /// The output of the plan, unless it is too long for Temporal.
    pub(crate) output: Option<Value>,
    /// Whether the output is left out here. `haft resume RUN` prints it.
    #[serde(default)]
    pub(crate) output_omitted: bool,
    /// How many nodes of the plan succeeded.
    pub(crate) nodes_succeeded: u64,
    /// How many nodes the plan has.
    pub(crate) nodes: u64,
    /// The workspace in which the run ended.
    pub(crate) workspace: String,
    /// The worker on which the run ended.
    pub(crate) worker: String,
}

/// How a run failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RunFailure {
    /// A stable word, which is also the type of the failure in Temporal.
    pub(crate) kind: String,
    /// The exit status that haft ended with.
    pub(crate) status: i32,
    /// A description of the failure.
    pub(crate) message: String,
    /// The calls in doubt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) doubts: Vec<DoubtfulCall>,
}

/// A call of a run that may or may not have happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DoubtfulCall {
    /// The address of the call, if the journal has one.
    #[serde(default)]
    pub(crate) call: Option<String>,
    /// A description of the doubt.
    pub(crate) text: String,
}

/// The signal `settle`: a person's verdict about a call in doubt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Settlement {
    /// The address of the call.
    pub(crate) call: String,
    /// The verdict, as `haft runs settle` spells it.
    pub(crate) verdict: String,
    /// The answer of the call, as JSON text.
    #[serde(default)]
    pub(crate) result: Option<String>,
}

/// The result of a settlement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SettlementReport {
    /// The settlement.
    pub(crate) settlement: Settlement,
    /// The reason why the journal did not take it.
    pub(crate) error: Option<String>,
}

/// Asks of a run that its state lists, and answers that wait for a worker.
///
/// Limit (fleet): further asks are only in the journal, and a further answer is dropped.
pub(crate) const ASKS_MAX: usize = 20;

/// Longest text about an ask in the state of a run, in bytes.
pub(crate) const ASK_TEXT_BYTES_MAX: usize = 4_000;

/// A call that waits for the answer of a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PendingAsk {
    /// The name of the ask.
    pub(crate) ask: String,
    /// The address of the call.
    pub(crate) call: String,
    /// The tool.
    pub(crate) tool: String,
    /// The input, the accesses and the reasons, without contents of files, as JSON text. It may be cut.
    pub(crate) summary: String,
    /// The SHA-256 of all that the ask shows. An answer is bound to it.
    pub(crate) shown_sha256: String,
    /// When the call is denied, in milliseconds since 1970, if it is.
    #[serde(default)]
    pub(crate) deadline_ms: Option<u64>,
}

/// The signal `answer`: a person's answer to an ask.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AskReply {
    /// The name of the ask.
    pub(crate) ask: String,
    /// Whether the call may execute.
    pub(crate) verdict: AskVerdict,
    /// The SHA-256 of what the person was shown.
    pub(crate) shown_sha256: String,
    /// Words of the person for the model.
    #[serde(default)]
    pub(crate) words: Option<String>,
    /// The person who answers, by their own account: Temporal does not vouch for it.
    #[serde(default)]
    pub(crate) by: Option<String>,
}

/// Whether a call may execute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AskVerdict {
    /// This call may execute.
    Allow,
    /// This call may not execute.
    Reject,
}

/// The result of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AskReport {
    /// The answer.
    pub(crate) reply: AskReply,
    /// The reason why the journal did not take it. Another answer may have been first.
    pub(crate) error: Option<String>,
}

/// How far a run has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RunPhase {
    /// It waits for a worker with the labels.
    #[default]
    Placing,
    /// It runs, or waits for a worker with the workspace.
    Running,
    /// It waits for the settlement of a call in doubt.
    InDoubt,
    /// It came to its output.
    Finished,
    /// It failed.
    Failed,
    /// It was cancelled.
    Cancelled,
}

/// The answer of the query `status`, and the memo `haft_status` of a workflow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunStatus {
    /// How far the run has come.
    pub(crate) phase: RunPhase,
    /// The workspace, once it is chosen.
    pub(crate) workspace: Option<String>,
    /// The calls that wait for a settlement.
    pub(crate) doubts: Vec<DoubtfulCall>,
    /// The latest settlements.
    pub(crate) settlements: Vec<SettlementReport>,
    /// How many settlements there were.
    pub(crate) settlements_made: u64,
    /// The calls that wait for the answer of a person.
    #[serde(default)]
    pub(crate) asks: Vec<PendingAsk>,
    /// The latest answers.
    #[serde(default)]
    pub(crate) replies: Vec<AskReport>,
    /// How many answers there were.
    #[serde(default)]
    pub(crate) replies_made: u64,
}

impl RunStatus {
    /// Notes the result of an answer. An ask that it ended does not wait any more.
    pub(crate) fn note_reply(&mut self, report: AskReport) {
        if report.error.is_none() {
            self.asks.retain(|ask| ask.ask != report.reply.ask);
        }
        self.replies_made += 1;
        self.replies.push(report);
        let surplus = self.replies.len().saturating_sub(ASKS_MAX);
        self.replies.drain(..surplus);
    }
}

/// The details of a heartbeat: the progress of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct RunProgress {
    /// The worker.
    pub(crate) worker: String,
    /// How many nodes have ended.
    pub(crate) nodes_ended: u64,
    /// How many nodes the plan has, once it is known.
    pub(crate) nodes: Option<u64>,
}
