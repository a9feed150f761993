//! A call as a front end makes it.

use std::sync::Arc;

use haft_contract::{AttemptAddress, CallTime, ClientRequester, ProgressSink, Subagents};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::ask::Asker;

/// One invocation of a tool with an input, not yet checked in any way.
#[derive(Clone)]
pub struct Call {
    /// The tool's id, or its wire name.
    pub tool: String,
    /// The input.
    pub input: Value,
    /// Where inside the run the call belongs.
    pub task_attempt: TaskAttempt,
    /// The driver's own name of the call.
    pub driver_call_id: Option<String>,
    /// Whether the driver made sure that the user named the tool, as a plan does: then a dangerous tool is not asked about again.
    pub is_tool_named: bool,
    /// The time limit of the tool in milliseconds, in place of the configured one. If the input asks for less time, the
    /// tool has less. The stages before the tool begins do not count. The time that a person takes to answer does not
    /// count either, before or while the tool runs.
    pub timeout_ms: Option<u64>,
    /// The time of the parent call that makes this call, for example of a plan. The parent's time pauses while a person
    /// is asked about this call, or by it.
    pub parent_time: Arc<dyn CallTime>,
    /// Cancelled when the caller gives up.
    pub cancellation: CancellationToken,
    /// Takes reports of progress.
    pub progress: Arc<dyn ProgressSink>,
    /// The asker for this call, instead of the connection's asker.
    pub asker: Option<Arc<dyn Asker>>,
    /// The client that makes the call, if it accepts requests from tools.
    pub client: Arc<dyn ClientRequester>,
    /// Starts subagents for the tool `task`, if an agent makes the call.
    pub subagents: Arc<dyn Subagents>,
}

/// A place inside a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskAttempt {
    /// The task inside the run.
    pub node: String,
    /// The loop index of the node, from 0.
    pub iteration: u32,
    /// The retry number, from 1.
    pub attempt: u32,
}

impl Default for TaskAttempt {
    fn default() -> Self {
        Self { node: AttemptAddress::NODE_DEFAULT.to_owned(), iteration: 0, attempt: 1 }
    }
}

impl Call {
    /// Returns a call of `tool` in the default attempt, without cancellation or progress reports.
    pub fn new(tool: impl Into<String>, input: Value) -> Self {
        Self {
            tool: tool.into(),
            input,
            task_attempt: TaskAttempt::default(),
            driver_call_id: None,
            is_tool_named: false,
            timeout_ms: None,
            parent_time: Arc::new(()),
            cancellation: CancellationToken::new(),
            progress: Arc::new(()),
            asker: None,
            client: Arc::new(()),
            subagents: Arc::new(()),
        }
    }
}
