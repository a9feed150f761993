//! Asking a person, through whatever the front end has. Who is asked what, and what an answer changes, is decided by the
//! pipeline; how the question looks is the front end's business.

use std::path::PathBuf;

use haft_contract::{BoxFuture, ToolId};
use haft_policy::Rule;

/// What is shown of an input, in bytes.
pub(crate) const ASK_INPUT_BYTES_MAX: usize = 4_096;
/// Accesses that are shown, and reasons of rules, each.
pub(crate) const ASK_LINES_MAX: usize = 20;

/// What a person is asked about one call. All reasons to ask are in one question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// The call, as its row in the journal names it.
    pub call_id: String,
    /// The tool.
    pub tool: ToolId,
    /// The input as the journal holds it (JSON; bodies as size and SHA-256), cut at 4,096 bytes.
    pub input: String,
    /// What the call would touch, one line each.
    pub accesses: Vec<String>,
    /// Why somebody is asked, one line each.
    pub reasons: Vec<String>,
    /// The rules that «always» would add. Where there are none, only «once» and «reject» can be offered: a watchdog
    /// asks, or no rule that could be added would help.
    pub always: Vec<Rule>,
    /// The session.
    pub session: String,
    /// The workspace root.
    pub root: PathBuf,
}

/// What a person said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answer {
    /// Go on, this once.
    Once,
    /// Go on, and add the offered rules for this session. Where none were offered, it is [`Answer::Once`].
    AlwaysSession,
    /// Go on, and add the offered rules for this project. Where none were offered, it is [`Answer::Once`].
    AlwaysProject,
    /// Do not.
    Reject,
    /// Nobody is there who could answer.
    Nobody,
}

/// Asks a person. haft never invents an answer: a front end that cannot ask says [`Answer::Nobody`], which denies.
pub trait Asker: Send + Sync {
    /// Asks and waits for the answer. Dropping the future withdraws the question.
    fn ask(&self, ask: Ask) -> BoxFuture<'_, Answer>;

    /// Returns whether there is anybody to ask; where not, the answer to everything is [`Answer::Nobody`].
    fn can_ask(&self) -> bool {
        true
    }

    /// Returns whether a session's questions are put one after the other, so that an «always» can answer those that
    /// wait. A front end that hands a question out and is told the answer by a later request says no: the request
    /// that would answer the first question may wait for the second.
    fn asks_in_turn(&self) -> bool {
        true
    }
}

/// A front end without a person behind it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Headless;

impl Asker for Headless {
    fn ask(&self, _: Ask) -> BoxFuture<'_, Answer> {
        Box::pin(async { Answer::Nobody })
    }

    fn can_ask(&self) -> bool {
        false
    }
}
