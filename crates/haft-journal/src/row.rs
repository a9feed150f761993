//! The rows of a journal, as they are shown, exported and recalled. Rows are read back from a file that
//! others can change, so what they hold is not trusted to be well formed.

use std::collections::HashMap;

use haft_contract::{AttemptAddress, CallAddress, CallKey, Effect, Envelope, RunId};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::{CallStatus, LeaseHolder, SettledBy, Settlement, SettlementVerdict};

/// How far an attempt has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AttemptState {
    /// The greatest number that a call of the attempt has, 0 if there is none.
    pub last_seq: u32,
    /// The keys of the calls of the attempt, by the first key that they share, in hexadecimal. A call that was executed
    /// again by a resume has two rows and one key; one that was only [held back](CallRow::was_held_back) is not
    /// among them, because it is still the same call when it comes again.
    pub calls: HashMap<String, Vec<String>>,
    /// Whether a call of the attempt was held back.
    pub was_held_back: bool,
    /// The `once` calls whose driver never received how they ended, in the order of their numbers: those in doubt, and those
    /// that were settled since. One that was executed again is not among them, nor one whose driver was
    /// [told](crate::Journal::acknowledge).
    pub unacknowledged: Vec<UnacknowledgedCall>,
}

/// A call whose driver never received how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnacknowledgedCall {
    /// The key of the first such call of the attempt, in hexadecimal.
    pub first_key: String,
    /// The key of this call, in hexadecimal.
    pub call_key: String,
    /// The call's number inside the attempt.
    pub seq: u32,
}

/// One recorded call in short: what decides whether it is recalled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedCall {
    /// The call's number inside the attempt, from 1.
    pub seq: u32,
    /// The key of this call, in hexadecimal.
    pub call_key: String,
    /// The tool's effect.
    pub effect: Effect,
    /// How far the call has come.
    pub status: CallStatus,
    /// The verdict of a later settlement, if the call was in doubt.
    pub verdict: Option<SettlementVerdict>,
}

/// The effects of earlier attempts of a node and iteration that are not safe to repeat.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EarlierEffects {
    /// How many such calls there are.
    pub total: u64,
    /// The tools that they called, sorted.
    pub tools: Vec<String>,
    /// The first of them, in the order of their places.
    pub first: Vec<EarlierEffect>,
}

/// One call of an earlier attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EarlierEffect {
    /// The tool called.
    pub tool: String,
    /// The attempt that called it.
    pub attempt: u32,
    /// The call's number inside that attempt.
    pub seq: u32,
    /// How far the call has come.
    pub status: CallStatus,
    /// The key of the call, in hexadecimal.
    pub call_key: String,
    /// The verdict of a later settlement, if the call was in doubt.
    pub verdict: Option<SettlementVerdict>,
    /// The input as JSON, no more of it than its first [`EARLIER_INPUT_CHARS`](crate::limits::EARLIER_INPUT_CHARS)
    /// characters.
    pub input: String,
}

/// An outcome that came after another owner took the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LateOutcome {
    /// The call.
    pub call: CallAddress,
    /// The tool called.
    pub tool: String,
    /// The fencing token that the call was made under.
    #[serde(rename = "epoch")]
    pub fencing_token: u64,
    /// How it ended.
    pub status: CallStatus,
    /// The answer as JSON.
    #[serde(serialize_with = "as_json")]
    pub envelope: String,
    /// When it ended, in milliseconds since 1970.
    pub finished_at_ms: u64,
}

/// One recorded call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CallRow {
    /// Grows with every record and every settlement in the journal; no two rows share it.
    pub change: u64,
    /// Run, node, iteration and attempt.
    #[serde(flatten)]
    pub scope: AttemptAddress,
    /// The call's number inside the attempt, from 1.
    pub seq: u32,
    /// The tool called, by the name that it was called by.
    pub tool: String,
    /// The tool's effect.
    pub effect: Effect,
    /// How far the call has come.
    pub status: CallStatus,
    /// When the call arrived, in milliseconds since 1970.
    pub started_at_ms: u64,
    /// When the call ended, in milliseconds since 1970.
    pub finished_at_ms: Option<u64>,
    /// The key of the first such call of the attempt, in hexadecimal.
    pub first_key: String,
    /// The key of this call, in hexadecimal.
    pub call_key: String,
    /// The driver's own id of the call.
    pub driver_call_id: Option<String>,
    /// The input as JSON.
    #[serde(serialize_with = "as_json")]
    pub input: String,
    /// The accesses that the input implies, as JSON.
    #[serde(serialize_with = "as_json")]
    pub accesses: String,
    /// The fencing token of the lease that it was made under; 0 in journals of before there were any.
    #[serde(rename = "epoch")]
    pub fencing_token: u64,
    /// The change that the call was about to make, as JSON, where that is known.
    #[serde(serialize_with = "as_optional_json")]
    pub details: Option<String>,
    /// The answer as JSON, `None` while the call is open, and if its owner died.
    #[serde(serialize_with = "as_optional_json")]
    pub envelope: Option<String>,
    /// The verdict of a later settlement, if the call was in doubt.
    pub verdict: Option<SettlementVerdict>,
    /// Who settled the call.
    pub settled_by: Option<SettledBy>,
}

impl CallRow {
    /// Puts what was found out about a call in doubt into its row.
    pub(crate) fn resolve(&mut self, settlement: &Settlement, change: u64) {
        self.change = change;
        self.status = settlement.verdict.status();
        self.verdict = Some(settlement.verdict);
        self.settled_by = Some(settlement.by);
        self.finished_at_ms = Some(settlement.settled_at_ms);
        self.envelope = Some(envelope_json(&settlement.envelope));
    }

    /// Returns which call it is.
    pub fn id(&self) -> CallAddress {
        CallAddress { scope: self.scope.clone(), seq: self.seq }
    }

    /// Returns the key that the tool handed to services which deduplicate, `None` if the recorded key of the call is not one.
    pub fn idempotency_key(&self) -> Option<String> {
        CallKey::parse(&self.call_key).map(CallKey::idempotency_key)
    }

    /// Returns whether the call was refused because of what earlier calls did, and
    /// [counts as not made](haft_contract::EnvelopeMetadata::held_back).
    pub fn was_held_back(&self) -> bool {
        let is_held_back = |envelope: Envelope| envelope.metadata().held_back;
        self.status == CallStatus::Refused
            && self.parsed_envelope().ok().flatten().is_some_and(is_held_back)
    }

    /// Returns the answer, `None` while the call is open; an error if it is not an envelope that this haft reads.
    pub fn parsed_envelope(&self) -> Result<Option<Envelope>, serde_json::Error> {
        self.envelope.as_deref().map(serde_json::from_str).transpose()
    }
}

/// One recorded run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunRow {
    /// Names the run.
    pub id: RunId,
    /// The front end that began it.
    pub front_end: String,
    /// The workspace root.
    pub root: String,
    /// The version of haft that began it.
    pub version: String,
    /// When it began, in milliseconds since 1970.
    pub started_at_ms: u64,
    /// When its latest call arrived, in milliseconds since 1970.
    pub last_call_at_ms: Option<u64>,
    /// How many calls it has.
    pub calls: u64,
    /// How many of them failed.
    pub failed: u64,
    /// How many were refused.
    pub refused: u64,
    /// How many are open.
    pub intended: u64,
    /// How many may or may not have happened.
    pub unknown: u64,
    /// The settings that a reader of the run must know, as JSON.
    #[serde(serialize_with = "as_json")]
    pub settings: String,
    /// Until when its owner may have used it, in milliseconds since 1970: the end of its latest lease.
    #[serde(skip)]
    pub held_until_ms: u64,
    /// Who holds the run.
    pub holder: Option<LeaseHolder>,
}

/// Puts stored JSON into the output as it is, not as a string of JSON. A text that is not JSON stays a string.
pub(crate) fn as_json<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    match serde_json::from_str::<&RawValue>(text) {
        Ok(json) => json.serialize(serializer),
        Err(_) => text.serialize(serializer),
    }
}

#[expect(clippy::ref_option, reason = "the signature is serde's")]
pub(crate) fn as_optional_json<S: Serializer>(
    text: &Option<String>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match text {
        Some(text) => as_json(text, serializer),
        None => serializer.serialize_none(),
    }
}

/// Returns the text that a journal keeps of an envelope.
pub(crate) fn envelope_json(envelope: &Envelope) -> String {
    serde_json::to_string(envelope)
        .expect("an envelope is made of strings, numbers and JSON values, which always serialize")
}

/// Returns the effect that is called so in the database.
pub(crate) fn parse_effect(text: &str) -> Option<Effect> {
    [Effect::Read, Effect::Idempotent, Effect::Once]
        .into_iter()
        .find(|effect| effect.as_str() == text)
}
