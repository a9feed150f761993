//! The data of the tool `task`: the subagents that exist, a task for one of them, and its answer. The trait `Subagents` in
//! `context` runs the tasks.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What `task` answers where nothing can run a subagent.
pub const NO_SUBAGENTS_TEXT: &str = "no agent loop is behind this front end, so nobody can take over a task: do it with \
                                     the other tools";

/// A subagent as it is advertised.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubagentSummary {
    /// Its name, by which `task` is told which one is meant.
    pub name: String,
    /// What it is good for, in a line or two.
    pub description: String,
}

/// A task that a subagent is to do.
#[derive(Clone, Debug, PartialEq)]
pub struct SubagentTask {
    /// The name of the subagent.
    pub subagent_type: String,
    /// What it is to do, and what it has to know for that.
    pub prompt: String,
    /// Whether it only begins, and nobody waits for its end.
    pub background: bool,
    /// What the caller wants kept with it.
    pub metadata: Option<Map<String, Value>>,
}

/// What became of a task.
#[derive(Clone, Debug, PartialEq)]
pub enum SubagentAnswer {
    /// The subagent has done it, or has said why it has not.
    Done {
        /// The last thing that it said.
        output: String,
        /// The conversation in which it did it, where that can be looked at.
        session_id: Option<String>,
        /// What it did, where its conversation cannot be looked at.
        calls: Vec<SubagentCall>,
    },
    /// It has begun, and says later what came of it.
    Begun {
        /// The conversation in which it does it.
        session_id: String,
    },
}

/// One call of a subagent, for whoever does not see its conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SubagentCall {
    /// The tool.
    pub tool: String,
    /// How it ended, as the journal has it.
    pub status: String,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
}
