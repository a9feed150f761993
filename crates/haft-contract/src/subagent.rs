//! What `task` needs of the host: an agent loop that does a task in a conversation of its own. Which subagents there are, what
//! they may do and how they are run is decided by whoever implements it. `()` is a host without one.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{BoxFuture, Cx, ErrorCode, ToolError};

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

/// Has subagents do tasks.
pub trait Subagents: Send + Sync {
    /// Has a subagent do a task, and waits for it or only begins it. That the task names a subagent which the caller may
    /// delegate to was checked before. It stops with the call's cancellation.
    fn delegate<'a>(
        &'a self,
        task: SubagentTask,
        cx: &'a Cx,
    ) -> BoxFuture<'a, Result<SubagentAnswer, ToolError>>;

    /// Goes on with the child of this very call, if one was begun; `None` if none was, and then nothing has happened.
    fn resume<'a>(
        &'a self,
        task: SubagentTask,
        cx: &'a Cx,
    ) -> BoxFuture<'a, Result<Option<SubagentAnswer>, ToolError>>;
}

impl Subagents for () {
    fn delegate<'a>(
        &'a self,
        _: SubagentTask,
        _: &'a Cx,
    ) -> BoxFuture<'a, Result<SubagentAnswer, ToolError>> {
        Box::pin(async {
            Err(ToolError::new(ErrorCode::Unavailable, NO_SUBAGENTS_TEXT).not_begun())
        })
    }

    fn resume<'a>(
        &'a self,
        _: SubagentTask,
        _: &'a Cx,
    ) -> BoxFuture<'a, Result<Option<SubagentAnswer>, ToolError>> {
        Box::pin(async {
            Err(ToolError::new(ErrorCode::Unavailable, NO_SUBAGENTS_TEXT).not_begun())
        })
    }
}
