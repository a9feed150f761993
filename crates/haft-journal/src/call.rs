//! The values that a caller gives to a journal: a new run, a planned call and its outcome. An intent permits one call to execute.
//! Nothing here knows how it is stored.

use std::sync::Arc;

use haft_contract::{CallAddress, CallKey, Effect, Envelope, RunId};

use crate::CallStatus;
use crate::store::RowPlace;

/// A run that begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRun {
    /// Names the run.
    pub id: RunId,
    /// The front end that begins it, such as `cli` or `mcp`.
    pub front_end: String,
    /// The workspace root.
    pub root: String,
    /// When it begins, in milliseconds since 1970.
    pub started_at_ms: u64,
    /// The version of haft.
    pub version: String,
    /// The settings that a reader of the run must know, as a JSON object: for example, protection that the operator gave up.
    pub settings: String,
}

/// A call that is about to be refused or executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedCall {
    /// Which call it is.
    pub id: CallAddress,
    /// The fencing token of the lease that it is made under: see [`Lease`](crate::Lease).
    pub fencing_token: u64,
    /// The tool called, by the name that it was called by: a tool that does not exist has its row too.
    pub tool: String,
    /// The tool's effect, which decides how firmly the call is recorded.
    pub effect: Effect,
    /// The key of the first such call of the attempt.
    pub first_key: CallKey,
    /// The key of this call.
    pub call_key: CallKey,
    /// The input as JSON, its bodies already replaced by digests.
    pub input: String,
    /// The accesses that the input implies, as JSON.
    pub accesses: String,
    /// The driver's own id of the call.
    pub driver_call_id: Option<String>,
    /// When the call arrived, in milliseconds since 1970.
    pub started_at_ms: u64,
    /// Whether the call [announces](crate::Journal::amend) each of its effects before it makes it. Then the intent need not
    /// survive the loss of power by itself: what announces the first effect takes it along to the disk.
    pub announces_effects: bool,
}

/// The leave to execute one call, given by a journal once the call is recorded as firmly as its effect needs.
///
/// Nothing executes without one. It is settled once; one that is dropped leaves the call open, which is what a
/// crash leaves too.
#[derive(Debug)]
#[must_use = "an intent that is not settled leaves its call open"]
pub struct Intent {
    call: Arc<PlannedCall>,
    /// Where the store keeps the call, if that helps it to find it again.
    place: Option<RowPlace>,
}

impl Intent {
    pub(crate) fn new(call: Arc<PlannedCall>) -> Self {
        Self { call, place: None }
    }

    pub(crate) fn at(self, place: Option<RowPlace>) -> Self {
        Self { place, ..self }
    }

    pub(crate) fn place(&self) -> Option<RowPlace> {
        self.place
    }

    pub(crate) fn shared_call(&self) -> Arc<PlannedCall> {
        Arc::clone(&self.call)
    }

    /// Returns the call that may execute.
    pub fn call(&self) -> &PlannedCall {
        &self.call
    }
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// How it ended, in a word; never [`CallStatus::Intended`].
    pub status: CallStatus,
    /// The answer as the caller gets it.
    pub envelope: Envelope,
    /// When it ended, in milliseconds since 1970.
    pub finished_at_ms: u64,
}
