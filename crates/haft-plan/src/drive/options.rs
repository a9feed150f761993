//! The options of driving a plan, which the front end sets.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use haft::Asker;
use haft_contract::{RunId, Subagents, ToolId};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::event::PlanEventSink;
use crate::schedule::PlanBounds;

/// The options of driving a plan.
#[derive(Clone)]
pub struct PlanRunOptions {
    /// The run.
    pub run: RunId,
    /// Whether the run is begun or resumed.
    pub start: RunStartMode,
    /// The input of the plan.
    pub input: Option<Value>,
    /// How much happens at the same time.
    pub bounds: PlanBounds,
    /// The dangerous tools that the user named.
    pub allow: AllowedDangerousTools,
    /// Asks about dangerous tools that the user did not name; without it they are refused.
    pub asking: Option<DangerousToolAsker>,
    /// Does the tasks of agent nodes. `()` has no agents.
    pub agents: Arc<dyn Subagents>,
    /// Takes what happens, as it happens.
    pub events: Arc<dyn PlanEventSink>,
    /// Cancelled to stop in an orderly way: nothing more starts, and what runs may end.
    pub stop: CancellationToken,
    /// Cancelled to stop at once: what runs is cancelled, and recorded as such.
    pub abort: CancellationToken,
}

/// Whether a run is begun or resumed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RunStartMode {
    /// It is a new one. There must be none of that name, but for one that came no further than to keep this very plan.
    #[default]
    New,
    /// Recorded answers are recalled, and the other nodes are executed.
    Resume,
    /// As with [`Resume`](Self::Resume), but nodes that failed for good are tried anew, with as many attempts as before and
    /// whatever their effect is. Succeeded nodes are not repeated, and nodes in doubt stay in doubt.
    RetryFailed,
}

/// Which dangerous tools a user allowed by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AllowedDangerousTools {
    /// These.
    Tools(BTreeSet<ToolId>),
    /// All of them.
    All,
}

/// The person behind a front end, and the origin that a question names.
#[derive(Clone)]
pub struct DangerousToolAsker {
    /// Asks. It is put in place of the session's own for the calls of the plan.
    pub asker: Arc<dyn Asker>,
    /// The session.
    pub session: String,
    /// The workspace root.
    pub root: PathBuf,
}

impl PlanRunOptions {
    /// Returns the options of a new run without input, in which no dangerous tool is allowed and no person is asked.
    pub fn new(run: RunId) -> Self {
        Self {
            run,
            start: RunStartMode::New,
            input: None,
            bounds: PlanBounds::default(),
            allow: AllowedDangerousTools::Tools(BTreeSet::new()),
            asking: None,
            agents: Arc::new(()),
            events: Arc::new(()),
            stop: CancellationToken::new(),
            abort: CancellationToken::new(),
        }
    }
}

impl AllowedDangerousTools {
    /// Returns whether a tool was allowed.
    pub fn allows(&self, tool: &ToolId) -> bool {
        match self {
            Self::Tools(tools) => tools.contains(tool),
            Self::All => true,
        }
    }
}
