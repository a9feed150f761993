//! The record of one call from its arrival on: the call, the tool that it names, its call address and its keys. The
//! record moves through the stages by value. Each stage returns its evidence separately.

use std::sync::Arc;
use std::time::Duration;

use haft_contract::limits::TOOL_ID_CHARS_MAX;
use haft_contract::{
    AttemptAddress, CallAddress, CallKey, ContentDigest, Effect, UsedAlias, canonical_json,
};
use haft_journal::{CallRow, PlannedCall};
use serde_json::Value;
use tokio::time::Instant;

use super::history::attempt::{AttemptTracker, DriverCallIdGuard, UnacknowledgedCalls};
use super::history::replay::ReplayCursors;
use crate::call::Call;
use crate::catalog::CatalogVersion;
use crate::registry::RegisteredTool;
use crate::wait_log::CallWaitLog;

/// Largest input that the journal stores, in bytes.
///
/// Limit (journal): the input is redacted: only its size and hash are stored.
pub(crate) const RECORDED_BYTES_MAX: usize = 256 * 1024;

/// A call that has arrived and has no number yet.
pub(crate) struct ArrivedCall {
    /// The call, with its input in normal form.
    call: Call,
    /// The tools at the time of arrival; the call keeps this version.
    catalog: Arc<CatalogVersion>,
    /// The tool that the call names, if it exists.
    registered: Option<Arc<RegisteredTool>>,
    /// The names in the input as called that are not the tool's own.
    used_aliases: Vec<UsedAlias>,
    /// The id of the registered tool, or the tool as called if no tool has that name.
    tool: String,
    /// The input as the journal stores it.
    recorded_input: String,
    /// The address of the call. Its number is 0 until the history of the attempt numbers the call.
    id: CallAddress,
    /// The key that the call has if it was never made before in this iteration of its node.
    first_key: CallKey,
    /// When the call arrived.
    started: Instant,
    /// The time that persons took to answer, which is no time of the call.
    asked_for: Duration,
    /// How long the call waited for something else than its tool. The stages and the surfaces of the tool write it.
    waits: Arc<CallWaitLog>,
    /// The tool and the input as called, if the connection adopts state from the answers of such calls.
    adoptable: Option<(String, Value)>,
}

/// The call's position in its run. Only [`history`](super::history) makes one.
pub(super) struct CallPlace {
    /// The number of the call in its attempt, from 1.
    pub(super) seq: u32,
    /// The number of earlier calls in the attempt with the same tool and input.
    pub(super) repeat_index: u32,
    /// The number of times that a driver that starts over made the call before.
    pub(super) replay_index: Option<u32>,
    /// The fencing token of the lease under which the call is made.
    pub(super) fencing_token: u64,
    /// When the call was numbered, by the clock of the runtime.
    pub(super) started_at_ms: u64,
    /// The attempt that the call belongs to.
    pub(super) attempt: Arc<AttemptTracker>,
    /// The positions of a driver that starts over.
    pub(super) cursors: Arc<ReplayCursors>,
    /// The unacknowledged calls like this one, locked until this call is done.
    pub(super) unacknowledged: Option<UnacknowledgedCalls>,
    /// The guard of the driver's call id, held until the call is done.
    pub(super) _driver_id: Option<DriverCallIdGuard>,
}

/// A call on its way through the stages.
pub(super) struct CallState {
    /// The call as it arrived, with its number.
    arrived: ArrivedCall,
    /// The effect of the tool. A tool that does not exist has none, so it counts as a read.
    effect: Effect,
    /// The key of the call: the first key with the repeat index.
    call_key: CallKey,
    /// The position of the call in its run.
    place: CallPlace,
    /// The call that may have happened and that this call repeats, because it was settled as retry.
    repeated_call: Option<CallAddress>,
    /// The recorded call that may have happened and that this call repeats. The tool's probe may find out whether it did.
    in_doubt: Option<Box<CallRow>>,
    /// Whether a person wrote the input and allowed it.
    is_input_approved: bool,
    /// The words and changes of a person who allowed the call, for the model.
    approval_note: Option<String>,
}

impl ArrivedCall {
    /// Takes in a call of the attempt `scope`, with the current version of the tools.
    pub(crate) fn new(mut call: Call, scope: AttemptAddress, catalog: Arc<CatalogVersion>) -> Self {
        let started = Instant::now();
        // No tool has a name this long; the beginning is enough for the error message.
        if let Some((end, _)) = call.tool.char_indices().nth(TOOL_ID_CHARS_MAX) {
            call.tool.truncate(end);
            call.tool.push('…');
        }
        let registered = catalog.registry.find(&call.tool).cloned();
        let keeps = registered.as_ref().is_some_and(|it| it.contract().connection_store.is_some());
        let adoptable = keeps.then(|| (call.tool.clone(), call.input.clone()));
        let mut used_aliases = Vec::new();
        if let Some(registered) = &registered {
            used_aliases = registered.tool().resolve_aliases(&mut call.input);
            if let Ok(schema) = registered.schema() {
                schema.normalize(&mut call.input);
            }
        }
        let tool = registered
            .as_ref()
            .map_or_else(|| call.tool.clone(), |tool| tool.contract().id.to_string());
        let canonical = canonical_json(&call.input);
        let first_key = CallKey::of_first_call(&scope, &tool, &canonical);
        let recorded_input = recorded_input(&call.input, canonical, registered.as_deref());
        Self {
            call,
            catalog,
            registered,
            used_aliases,
            tool,
            recorded_input,
            id: CallAddress { scope, seq: 0 },
            first_key,
            started,
            asked_for: Duration::ZERO,
            waits: Arc::default(),
            adoptable,
        }
    }

    /// Takes the tool and the input as called, if the connection adopts state from the answers of such calls.
    pub(super) fn take_adoptable(&mut self) -> Option<(String, Value)> {
        self.adoptable.take()
    }

    /// Returns the call.
    pub(super) fn call(&self) -> &Call {
        &self.call
    }

    /// Returns the attempt that the call belongs to.
    pub(super) fn scope(&self) -> &AttemptAddress {
        &self.id.scope
    }

    /// Returns the key that the call has if it was never made before in this iteration of its node.
    pub(super) fn first_key(&self) -> CallKey {
        self.first_key
    }

    /// Returns the id of the tool, or the name that the call used if no tool has it.
    pub(super) fn tool(&self) -> &str {
        &self.tool
    }

    /// Returns the input as the journal stores it.
    pub(super) fn recorded_input(&self) -> &str {
        &self.recorded_input
    }

    /// Returns the time since the call arrived, without the time that persons took, in milliseconds.
    pub(super) fn elapsed_ms(&self) -> u64 {
        let elapsed = self.started.elapsed().saturating_sub(self.asked_for);
        u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
    }
}

impl CallState {
    /// Returns the state of an arrived call at its position in the run.
    pub(super) fn new(mut arrived: ArrivedCall, place: CallPlace) -> Self {
        arrived.id.seq = place.seq;
        let registered = arrived.registered.as_ref();
        Self {
            effect: registered.map_or(Effect::Read, |tool| tool.contract().effect),
            call_key: arrived.first_key.with_repeat_index(place.repeat_index),
            arrived,
            place,
            repeated_call: None,
            in_doubt: None,
            is_input_approved: false,
            approval_note: None,
        }
    }

    /// Gives a recorded call that is to be executed again a new number. The call keeps its keys.
    pub(super) fn renumber(&mut self) {
        let (attempt, repeat_index) = (&self.place.attempt, self.place.repeat_index);
        self.arrived.id.seq = attempt.number_call_as(self.arrived.first_key, repeat_index).seq;
    }

    /// Marks the call as a repetition of `call`, which may have happened and was settled as retry.
    pub(super) fn set_repeated_call(&mut self, call: CallAddress) {
        self.repeated_call = Some(call);
    }

    /// Marks the call as in doubt: it was begun before and may have happened.
    pub(super) fn set_in_doubt(&mut self, row: Box<CallRow>) {
        self.in_doubt = Some(row);
    }

    /// Returns the recorded call that this call repeats, if the recorded call is in doubt.
    pub(super) fn in_doubt(&self) -> Option<&CallRow> {
        self.in_doubt.as_deref()
    }

    /// Returns the call.
    pub(super) fn call(&self) -> &Call {
        &self.arrived.call
    }

    /// Waits for a future, or returns `None` once the call is cancelled.
    pub(super) async fn unless_cancelled<T>(&self, others: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            () = self.arrived.call.cancellation.cancelled() => None,
            answer = others => Some(answer),
        }
    }

    /// Returns the tools at the time of the call's arrival.
    pub(super) fn catalog(&self) -> &CatalogVersion {
        &self.arrived.catalog
    }

    /// Returns the tool that the call names, if there is one.
    pub(super) fn registered(&self) -> Option<&Arc<RegisteredTool>> {
        self.arrived.registered.as_ref()
    }

    /// Returns the names in the input as called that are not the tool's own.
    pub(super) fn used_aliases(&self) -> &[UsedAlias] {
        &self.arrived.used_aliases
    }

    /// Returns whether the tool can find out if a call happened.
    pub(super) fn has_probe(&self) -> bool {
        self.registered().is_some_and(|found| found.tool().has_probe())
    }

    /// Returns the address of the call.
    pub(super) fn id(&self) -> &CallAddress {
        &self.arrived.id
    }

    /// Returns the key of the call, which also depends on its repeat index.
    pub(super) fn call_key(&self) -> CallKey {
        self.call_key
    }

    /// Returns the id of the tool, or the name that the call used if no tool has it.
    pub(super) fn tool(&self) -> &str {
        &self.arrived.tool
    }

    /// Returns the effect of the tool, or `Read` for a tool that does not exist.
    pub(super) fn effect(&self) -> Effect {
        self.effect
    }

    /// Returns the attempt that the call belongs to.
    pub(super) fn attempt(&self) -> &Arc<AttemptTracker> {
        &self.place.attempt
    }

    /// Returns when the call arrived.
    pub(super) fn arrived_at(&self) -> Instant {
        self.arrived.started
    }

    /// Returns the time since the call arrived, without the time that persons took, in milliseconds.
    pub(super) fn elapsed_ms(&self) -> u64 {
        self.arrived.elapsed_ms()
    }

    /// Takes the time that a person took to answer out of the time of the call.
    pub(super) fn subtract_asked_time(&mut self, asked_for: Duration) {
        self.arrived.asked_for += asked_for;
    }

    /// Returns the fencing token of the lease under which the call is made.
    pub(super) fn fencing_token(&self) -> u64 {
        self.place.fencing_token
    }

    /// Returns the input as the journal stores it.
    pub(super) fn recorded_input(&self) -> &str {
        self.arrived.recorded_input()
    }

    /// Replaces the input by the one that a person allowed. The call keeps its keys: it is still the answer to what its driver
    /// called.
    pub(super) fn replace_input(&mut self, mut input: Value) {
        let arrived = &mut self.arrived;
        if let Some(registered) = &arrived.registered {
            arrived.used_aliases = registered.tool().resolve_aliases(&mut input);
            if let Ok(schema) = registered.schema() {
                schema.normalize(&mut input);
            }
        }
        let canonical = canonical_json(&input);
        arrived.recorded_input = recorded_input(&input, canonical, arrived.registered.as_deref());
        arrived.call.input = input;
        self.is_input_approved = true;
    }

    /// Returns whether a person wrote the input and allowed it.
    pub(super) fn is_input_approved(&self) -> bool {
        self.is_input_approved
    }

    /// Notes for the model what a person said or changed with the permission.
    pub(super) fn set_approval_note(&mut self, note: String) {
        self.approval_note = Some(note);
    }

    /// Returns what a person said or changed with the permission.
    pub(super) fn approval_note(&self) -> Option<&str> {
        self.approval_note.as_deref()
    }

    /// Returns the log of the call's waits.
    pub(super) fn waits(&self) -> &Arc<CallWaitLog> {
        &self.arrived.waits
    }

    /// Makes the replay cursor count the call as not made, because the answer told the driver to wait.
    pub(super) fn roll_back_replay(&self) {
        if let Some(counted) = self.place.replay_index {
            self.place.cursors.roll_back(self.arrived.scope(), self.arrived.first_key, counted);
        }
    }

    /// Counts the call as not made, and frees its key.
    pub(super) fn roll_back_numbering(&self) {
        self.place.attempt.roll_back_repeat_index(self.arrived.first_key, self.place.repeat_index);
        self.roll_back_replay();
    }

    /// Returns whether the call repeats one whose outcome was not acknowledged.
    pub(super) fn is_unacknowledged(&self) -> bool {
        self.place.unacknowledged.is_some()
    }

    /// Marks a recorded call as acknowledged: the driver receives its outcome, or the call is executed again.
    pub(super) fn acknowledge(&mut self, seq: u32) {
        if let Some(unacknowledged) = &mut self.place.unacknowledged {
            unacknowledged.acknowledge(seq);
        }
    }

    /// Marks the call as unacknowledged, because its outcome could not be recorded.
    pub(super) async fn mark_unacknowledged(&mut self) {
        match &mut self.place.unacknowledged {
            Some(unacknowledged) => unacknowledged.add_call(self.arrived.id.seq),
            None => {
                self.place
                    .attempt
                    .mark_unacknowledged(self.arrived.first_key, self.arrived.id.seq)
                    .await
            }
        }
    }

    /// Returns the warning for the answer about the call that this call repeats.
    pub(super) fn repeat_warning(&self) -> Option<String> {
        self.repeated_call.as_ref().map(|call| {
            format!(
                "this call was begun before as call {call} and may have happened then; it was made again because that call \
                 was settled as retry"
            )
        })
    }

    /// Returns the journal row that is planned for the call, with its accesses.
    pub(super) fn planned_call(&self, accesses: String) -> PlannedCall {
        let arrived = &self.arrived;
        PlannedCall {
            id: arrived.id.clone(),
            fencing_token: self.place.fencing_token,
            tool: arrived.tool.clone(),
            effect: self.effect,
            first_key: arrived.first_key,
            call_key: self.call_key,
            input: arrived.recorded_input.clone(),
            accesses,
            driver_call_id: arrived.call.driver_call_id.clone(),
            started_at_ms: self.place.started_at_ms,
            announces_effects: false,
        }
    }
}

/// Returns the input as the journal stores it. Redacted parameters and inputs that are too long become size and
/// SHA-256. An unknown tool, or an unknown parameter of a tool with redacted ones, may contain secrets. Its input is
/// redacted as well.
fn recorded_input(input: &Value, canonical: String, found: Option<&RegisteredTool>) -> String {
    let Some(contract) = found.map(RegisteredTool::contract) else {
        return ContentDigest::of(&canonical).to_json();
    };
    if contract.redacted.is_empty() {
        return json_or_digest(canonical);
    }
    let Value::Object(fields) = input else { return ContentDigest::of(&canonical).to_json() };
    let is_plain = |name: &String| {
        let properties = contract.parameters.get("properties");
        !contract.redacted.contains(name) && properties.and_then(|all| all.get(name)).is_some()
    };
    let mut fields = fields.clone();
    for (name, value) in &mut fields {
        if !is_plain(name) {
            *value = ContentDigest::of_value(value).to_value();
        }
    }
    json_or_digest(canonical_json(&Value::Object(fields)))
}

/// Returns JSON as it is, or its size and SHA-256 if it is too long to store.
pub(super) fn json_or_digest(json: String) -> String {
    if json.len() <= RECORDED_BYTES_MAX { json } else { ContentDigest::of(&json).to_json() }
}
