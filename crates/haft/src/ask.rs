//! Asking a person, through whatever the front end has.

use haft_contract::{BoxFuture, ToolId};

/// What a person is asked about one call. All reasons to ask are in one question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// The tool.
    pub tool: ToolId,
    /// What the call would touch, one line each.
    pub accesses: Vec<String>,
    /// Why somebody is asked, one line each.
    pub reasons: Vec<String>,
}

/// What a person said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answer {
    /// Go on, this once.
    Once,
    /// Do not.
    Reject,
    /// Nobody is there who could answer.
    Nobody,
}

/// Asks a person. haft never invents an answer: a front end that cannot ask says [`Answer::Nobody`], which denies.
pub trait Asker: Send + Sync {
    /// Asks and waits for the answer.
    fn ask(&self, ask: Ask) -> BoxFuture<'_, Answer>;
}

/// A front end without a person behind it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Headless;

impl Asker for Headless {
    fn ask(&self, _: Ask) -> BoxFuture<'_, Answer> {
        Box::pin(async { Answer::Nobody })
    }
}
