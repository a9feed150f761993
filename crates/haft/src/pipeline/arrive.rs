//! A call arrives: it gets its place in the run, its keys and, unless it was made before, its number.

use std::sync::Arc;

use haft_contract::limits::TOOL_ID_CHARS_MAX;
use haft_contract::{CallId, CallKey, Effect, Scope, canonical_json, sha256_hex};
use haft_journal::PlannedCall;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::call::Call;
use crate::catalog::Offer;
use crate::registry::Registered;
use crate::run::{
    Attempt, DriverId, Numbered, Placed, Placing, RunError, RunState, Standing, Unheard,
};
use crate::suggestion::near_matches;

/// Input and accesses as the journal holds them, each, in bytes; longer ones are stored as size and SHA-256.
pub(crate) const RECORDED_BYTES_MAX: usize = 256 * 1024;

/// A call with its place and its keys, and the tool if there is one of that name.
pub(super) struct Arrived {
    call: Call,
    /// The tools there were when it came; it keeps them.
    offer: Arc<Offer>,
    found: Option<Arc<Registered>>,
    suggestions: Vec<String>,
    entry: Entry,
    standing: Standing,
}

/// What the journal and the envelope say of a call at any stage.
pub(super) struct Entry {
    id: CallId,
    tool: String,
    effect: Effect,
    first_key: CallKey,
    call_key: CallKey,
    occurrence: u32,
    /// How often a driver that starts over made the call before.
    counted: Option<u32>,
    recorded_input: String,
    driver_call_id: Option<String>,
    started_at_ms: u64,
    started: Instant,
    epoch: u64,
    attempt: Arc<Attempt>,
    /// The calls like it that nobody heard the end of, held until the call is done.
    unheard: Option<Unheard>,
    /// The call that may have happened and that this one repeats all the same, because whoever settled it said so.
    repeats: Option<CallId>,
    /// Held until the call is done.
    _driver_id: Option<DriverId>,
}

/// A call whose number is still to be given.
struct Named {
    call: Call,
    offer: Arc<Offer>,
    found: Option<Arc<Registered>>,
    tool: String,
    recorded_input: String,
    scope: Scope,
    first_key: CallKey,
    started: Instant,
}

/// Finds out whether the call was made before, and gives it the next number of its attempt if it was not.
pub(super) async fn arrive(call: Call, run: &RunState) -> Result<Arrived, RunError> {
    let named = named(call, run)?;
    let placing = Placing {
        scope: &named.scope,
        first_key: named.first_key,
        driver_call_id: named.call.driver_call_id.as_deref(),
        tool: &named.tool,
        input: &named.recorded_input,
    };
    let placed = run.place(&placing).await?;
    Ok(placed_as(named, placed, run))
}

/// Lets the call arrive as if it were the first of its attempt. The journal does not learn of it, so it must not go
/// further than to be judged.
pub(super) fn rehearse(call: Call, run: &RunState) -> Result<Arrived, RunError> {
    let standing = Standing::New(Numbered { seq: 1, occurrence: 0 });
    let placed = Placed {
        attempt: Arc::default(),
        epoch: 0,
        standing,
        unheard: None,
        counted: None,
        driver_id: None,
    };
    Ok(placed_as(named(call, run)?, placed, run))
}

fn named(mut call: Call, run: &RunState) -> Result<Named, RunError> {
    let started = Instant::now();
    let offer = run.session.shared.catalog.offer();
    let scope = run.scope(&call.place)?;
    // A name longer than any tool's is nobody's; its beginning is enough to say so.
    if let Some((end, _)) = call.tool.char_indices().nth(TOOL_ID_CHARS_MAX) {
        call.tool.truncate(end);
        call.tool.push('…');
    }
    let found = offer.registry.find(&call.tool).cloned();
    if let Some(Ok(schema)) = found.as_ref().map(|tool| tool.schema()) {
        schema.normalize(&mut call.input);
    }
    let tool =
        found.as_ref().map_or_else(|| call.tool.clone(), |tool| tool.contract().id.to_string());
    let canonical = canonical_json(&call.input);
    let first_key = CallKey::first(&scope, &tool, &canonical);
    let recorded_input = recorded_input(&call.input, canonical, found.as_deref());
    Ok(Named { call, offer, found, tool, recorded_input, scope, first_key, started })
}

fn placed_as(named: Named, placed: Placed, run: &RunState) -> Arrived {
    let Named { call, offer, found, tool, recorded_input, scope, first_key, started } = named;
    let Placed { attempt, epoch, standing, unheard, counted, driver_id } = placed;
    let parts = &run.session.shared.parts;
    let suggestions = match &found {
        Some(_) => Vec::new(),
        None => {
            let kept = offer.registry.contracts().filter(|it| run.session.keeps(it));
            let near = near_matches(&call.tool, kept.map(|contract| contract.id.as_str()));
            near.into_iter().map(str::to_owned).collect()
        }
    };
    let (seq, occurrence) = match &standing {
        Standing::New(numbered) => (numbered.seq, numbered.occurrence),
        Standing::Recorded { row, occurrence } => (row.seq, *occurrence),
        Standing::UnderWay => (0, 0),
    };
    let entry = Entry {
        id: CallId { scope, seq },
        effect: found.as_ref().map_or(Effect::Read, |tool| tool.contract().effect),
        first_key,
        call_key: first_key.occurrence(occurrence),
        occurrence,
        counted,
        recorded_input,
        driver_call_id: call.driver_call_id.clone(),
        started_at_ms: parts.clock.now_ms(),
        started,
        epoch,
        attempt,
        unheard,
        repeats: None,
        _driver_id: driver_id,
        tool,
    };
    Arrived { call, offer, found, suggestions, entry, standing }
}

impl Arrived {
    /// Returns the tools there were when the call came.
    pub(super) fn offer(&self) -> &Arc<Offer> {
        &self.offer
    }

    pub(super) fn into_parts(self) -> (Call, Option<Arc<Registered>>, Vec<String>, Entry) {
        (self.call, self.found, self.suggestions, self.entry)
    }

    pub(super) fn entry(&self) -> &Entry {
        &self.entry
    }

    pub(super) fn standing(&self) -> &Standing {
        &self.standing
    }

    /// Returns whether the tool can find out if a call happened.
    pub(super) fn has_probe(&self) -> bool {
        self.found.as_ref().is_some_and(|found| found.tool().has_probe())
    }

    /// Says that the driver hears how a recorded call ended, or that it is executed again.
    pub(super) fn heard(&mut self, seq: u32) {
        self.entry.heard(seq);
    }

    /// Returns whether the call is one that nobody heard the end of.
    pub(super) fn is_unheard(&self) -> bool {
        self.entry.unheard.is_some()
    }

    /// Numbers a call that was made before and is to be executed: it keeps its keys.
    pub(super) fn again(mut self, occurrence: u32) -> Self {
        let numbered = self.entry.attempt.number_as(self.entry.first_key, occurrence);
        self.entry.id.seq = numbered.seq;
        self.standing = Standing::New(numbered);
        self
    }

    /// Says that a call which may have happened is repeated all the same, because whoever settled it said so.
    pub(super) fn repeating(mut self, call: CallId) -> Self {
        self.entry.repeats = Some(call);
        self
    }
}

impl Entry {
    pub(super) fn id(&self) -> &CallId {
        &self.id
    }

    pub(super) fn call_key(&self) -> CallKey {
        self.call_key
    }

    /// Has the driver of the run count the call as not made, because it was answered that this has to wait.
    pub(super) fn uncount(&self, run: &RunState) {
        if let Some(counted) = self.counted {
            run.uncount(&self.id.scope, self.first_key, counted);
        }
    }

    /// Counts the call as not made, and its key as not given.
    pub(super) fn take_back(&self, run: &RunState) {
        self.attempt.take_back(self.first_key, self.occurrence);
        self.uncount(run);
    }

    /// Returns when the call arrived.
    pub(super) fn arrived(&self) -> Instant {
        self.started
    }

    /// Says that the driver hears how a recorded call ended, or that it is executed again.
    pub(super) fn heard(&mut self, seq: u32) {
        if let Some(unheard) = &mut self.unheard {
            unheard.heard(seq);
        }
    }

    pub(super) fn attempt(&self) -> &Arc<Attempt> {
        &self.attempt
    }

    pub(super) fn tool(&self) -> &str {
        &self.tool
    }

    pub(super) fn effect(&self) -> Effect {
        self.effect
    }

    /// Returns what whoever reads the answer has to know of the call that this one repeats.
    pub(super) fn repeat_warning(&self) -> Option<String> {
        self.repeats.as_ref().map(|call| {
            format!(
                "this call was begun before as call {call} and may have happened then; it was made again because somebody \
                 settled that as retry"
            )
        })
    }

    /// Says that nobody hears how the call ended, because that could not be recorded.
    pub(super) async fn leave_unheard(&mut self) {
        match &mut self.unheard {
            Some(unheard) => unheard.leave(self.id.seq),
            None => self.attempt.leave_unheard(self.first_key, self.id.seq).await,
        }
    }

    /// Returns the time since the call arrived, in milliseconds.
    pub(super) fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Returns the row that is planned for the call, with what it would touch.
    pub(super) fn planned(&self, accesses: String) -> PlannedCall {
        PlannedCall {
            id: self.id.clone(),
            epoch: self.epoch,
            tool: self.tool.clone(),
            effect: self.effect,
            first_key: self.first_key,
            call_key: self.call_key,
            input: self.recorded_input.clone(),
            accesses,
            driver_call_id: self.driver_call_id.clone(),
            started_at_ms: self.started_at_ms,
        }
    }
}

/// Returns the input as the journal may hold it: bodies as size and SHA-256, and so whatever is too long to store. What is
/// in the input of a tool that does not exist, or in a parameter that the tool does not have, nobody knows; where
/// bodies may be among it, none of it is stored.
fn recorded_input(input: &Value, canonical: String, found: Option<&Registered>) -> String {
    let Some(contract) = found.map(Registered::contract) else {
        return digest_of_text(&canonical).to_string();
    };
    if contract.digested.is_empty() {
        return bounded(canonical);
    }
    let Value::Object(fields) = input else { return digest_of_text(&canonical).to_string() };
    let is_plain = |name: &String| {
        let properties = contract.parameters.get("properties");
        !contract.digested.contains(name) && properties.and_then(|all| all.get(name)).is_some()
    };
    let mut fields = fields.clone();
    for (name, value) in &mut fields {
        if !is_plain(name) {
            *value = match &*value {
                Value::String(text) => digest_of_text(text),
                other => digest_of_text(&canonical_json(other)),
            };
        }
    }
    bounded(canonical_json(&Value::Object(fields)))
}

/// Returns JSON as it is, or its size and SHA-256 if it is too long to store.
pub(super) fn bounded(json: String) -> String {
    if json.len() <= RECORDED_BYTES_MAX { json } else { digest_of_text(&json).to_string() }
}

fn digest_of_text(text: &str) -> Value {
    json!({"bytes": text.len(), "sha256": sha256_hex(text.as_bytes())})
}
