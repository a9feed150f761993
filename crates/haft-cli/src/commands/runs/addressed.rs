//! The JSON form of records: each with the name of its call in one word, as all commands take it.

use haft_contract::{AttemptAddress, CallAddress};
use haft_journal::{CallRow, EarlierEffect, LateOutcome, SnapshotNote};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::error::CommandError;

/// A call with its name.
#[derive(Serialize)]
pub(super) struct AddressedCall<'a> {
    call: String,
    /// The key that the tool handed to services which deduplicate.
    idempotency_key: Option<String>,
    #[serde(flatten)]
    row: &'a CallRow,
}

impl<'a> From<&'a CallRow> for AddressedCall<'a> {
    fn from(row: &'a CallRow) -> Self {
        Self { call: row.id().to_string(), idempotency_key: row.idempotency_key(), row }
    }
}

/// A call that a retry warns about, with its name.
#[derive(Serialize)]
pub(super) struct AddressedEffect {
    call: String,
    #[serde(flatten)]
    effect: EarlierEffect,
}

impl AddressedEffect {
    /// Returns the effect of an earlier attempt of the task that `scope` is an attempt of.
    pub(super) fn new(scope: &AttemptAddress, effect: EarlierEffect) -> Self {
        let scope = AttemptAddress { attempt: effect.attempt, ..scope.clone() };
        Self { call: CallAddress { scope, seq: effect.seq }.to_string(), effect }
    }
}

/// An outcome that came too late, with the name of its call.
#[derive(Serialize)]
pub(super) struct AddressedLateOutcome<'a> {
    call: String,
    tool: &'a str,
    epoch: u64,
    status: haft_journal::CallStatus,
    envelope: Box<RawValue>,
    finished_at_ms: u64,
}

impl<'a> TryFrom<&'a LateOutcome> for AddressedLateOutcome<'a> {
    type Error = CommandError;

    fn try_from(late: &'a LateOutcome) -> Result<Self, CommandError> {
        let LateOutcome { call, tool, fencing_token: epoch, status, envelope, finished_at_ms } =
            late;
        // An envelope that is not JSON is shown as a text.
        let envelope = RawValue::from_string(envelope.clone())
            .or_else(|_| serde_json::value::to_raw_value(envelope))
            .map_err(|err| CommandError::failed(format!("the answer is not JSON: {err}")))?;
        let (epoch, status, finished_at_ms) = (*epoch, *status, *finished_at_ms);
        Ok(Self { call: call.to_string(), tool, epoch, status, envelope, finished_at_ms })
    }
}

/// The snapshots of a call, with the name of the call.
#[derive(Serialize)]
pub(super) struct AddressedSnapshot<'a> {
    call: String,
    root: &'a str,
    before: Option<&'a str>,
    after: Option<&'a str>,
    note: Option<&'a str>,
    taken_at_ms: u64,
}

impl<'a> From<&'a SnapshotNote> for AddressedSnapshot<'a> {
    fn from(noted: &'a SnapshotNote) -> Self {
        Self {
            call: noted.call.to_string(),
            root: &noted.root,
            before: noted.before.as_deref(),
            after: noted.after.as_deref(),
            note: noted.note.as_deref(),
            taken_at_ms: noted.taken_at_ms,
        }
    }
}
