//! The data of the tool `task`: the subagents that exist, a task for one of them, and its answer. The trait `Subagents` in
//! `context` runs the tasks.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The answer of `task` if no agent loop can run a subagent.
pub const NO_SUBAGENTS_TEXT: &str = "no agent loop is behind this front end, so no subagent can take over a task: do it \
                                     with the other tools";

/// A subagent as it is advertised.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubagentSummary {
    /// Its name, by which `task` is told which one is meant.
    pub name: String,
    /// Its purpose, in a line or two.
    pub description: String,
}

/// A task that a subagent is to do.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SubagentTask {
    /// The name of the subagent.
    pub subagent_type: String,
    /// The task, with everything that the subagent has to know for it.
    pub prompt: String,
    /// Whether the task runs in the background: the call does not wait for its end.
    pub background: bool,
    /// Data of the caller that haft keeps with the task.
    pub metadata: Option<Map<String, Value>>,
    /// The only tools that the subagent may use, by id; `None` for all that it has.
    pub tools: Option<Vec<String>>,
    /// The JSON Schema of the answer. With one, the answer is JSON that satisfies it.
    pub output: Option<Value>,
    /// The maximum of answers of the model in one turn, below that of the subagent.
    pub max_steps: Option<u32>,
}

/// The result of a task.
#[derive(Clone, Debug, PartialEq)]
pub enum SubagentAnswer {
    /// The subagent has done it, or has said why it has not.
    Done {
        /// The last thing that it said.
        output: String,
        /// The conversation in which it did it, where that can be looked at.
        session_id: Option<String>,
        /// Its calls, if its conversation is not available.
        calls: Vec<SubagentCall>,
    },
    /// It has begun, and says later what came of it.
    Begun {
        /// The conversation in which it does it.
        session_id: String,
    },
}

/// One call of a subagent, for callers that do not see its conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SubagentCall {
    /// The tool.
    pub tool: String,
    /// How it ended, as the journal has it.
    pub status: String,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
}
