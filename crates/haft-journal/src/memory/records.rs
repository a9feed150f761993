//! What the memory journal holds, and what each record does to it. Every method is one step that nobody sees half of;
//! the lock that makes it so is the journal's.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::RangeInclusive;

use haft_contract::{CallId, Effect, RunId, Scope};

use super::chats::ChatTables;
use crate::chat::Batch;
use crate::entry::{Closing, Entry};
use crate::inspection::Inspection;
use crate::lease::Standing;
use crate::limits::EARLIER_INPUT_CHARS;
use crate::limits::RESUMES_MAX;
use crate::row::collect_rows;
use crate::upkeep::RunAge;
use crate::{
    AttemptState, CallOrder, CallQuery, CallRow, ChatId, ChatStatus, Claim, Due, EarlierEffect,
    EarlierEffects, Finding, Holder, JournalError, LateOutcome, Lease, MessageId, NewRun,
    PlannedCall, Pruned, RecordedCall, Retention, RunQuery, RunRow, SettledBy, Settlement,
    SnapshotNote, Status, UnheardCall, Verdict,
};

/// Orders calls by run, node, iteration, attempt and seq.
type Place = (RunId, String, u32, u32, u32);

#[derive(Debug, Default)]
pub(super) struct Records {
    runs: HashMap<RunId, Run>,
    calls: BTreeMap<Place, CallRow>,
    /// The calls of which the driver was told what was found out.
    heard: BTreeSet<Place>,
    /// In the order in which they were noted.
    snapshots: Vec<SnapshotNote>,
    /// In the order in which they came.
    late_outcomes: Vec<LateOutcome>,
    chats: ChatTables,
    last_change: u64,
    last_run: u64,
    /// The greatest epoch of a run that was removed: one of the same name counts on from there.
    epoch_floor: u64,
}

#[derive(Debug)]
struct Run {
    /// In the order in which runs began.
    number: u64,
    run: NewRun,
    standing: Standing,
}

impl Records {
    pub(super) fn open(&mut self, run: NewRun, claim: &Claim) -> Result<Lease, JournalError> {
        let id = run.id.clone();
        let mut standing = self.begin(run).standing.clone();
        if let Some(holder) = standing.holder.clone() {
            if holder.owner.id == claim.owner.id {
                self.extend(&id, claim);
                return Ok(Lease { run: id, epoch: holder.epoch, owner: holder.owner });
            }
            if !holder.is_over(claim.now_ms) {
                return Err(JournalError::Held { holder: Box::new(holder) });
            }
            self.give_up(&id);
            standing = self.standing(&id).cloned().unwrap_or_default();
        }
        if standing.fruitless >= RESUMES_MAX {
            let last = self.last_open(&id, standing.fruitless_since);
            return Err(JournalError::Stuck { run: id, times: standing.fruitless, last });
        }
        let epoch = standing.epoch + 1;
        let holder = Holder {
            run: id.clone(),
            epoch,
            owner: claim.owner.clone(),
            since_ms: claim.now_ms,
            expires_at_ms: claim.expires_at_ms(),
        };
        self.set_standing(&id, Standing { epoch, holder: Some(holder), ..standing });
        Ok(Lease { run: id, epoch, owner: claim.owner.clone() })
    }

    pub(super) fn renew(&mut self, lease: &Lease, claim: &Claim) -> Result<(), JournalError> {
        self.admit_lease(lease)?;
        self.extend(&lease.run, claim);
        Ok(())
    }

    pub(super) fn close(&mut self, lease: &Lease) -> Result<(), JournalError> {
        self.admit_lease(lease)?;
        self.leave_open_calls(&lease.run);
        self.free(&lease.run);
        Ok(())
    }

    pub(super) fn holders(&self) -> Vec<Holder> {
        let mut runs: Vec<&Run> = self.runs.values().collect();
        runs.sort_by_key(|run| run.number);
        runs.into_iter().filter_map(|run| run.standing.holder.clone()).collect()
    }

    pub(super) fn abandon(&mut self, holder: &Holder) -> Vec<CallId> {
        let found = self.standing(&holder.run).and_then(|standing| standing.holder.as_ref());
        if found == Some(holder) { self.give_up(&holder.run) } else { Vec::new() }
    }

    pub(super) fn attempt(&self, scope: &Scope) -> AttemptState {
        let mut state = AttemptState::default();
        let mut keys: HashMap<&str, Vec<&str>> = HashMap::new();
        let mut latest: HashMap<&str, &CallRow> = HashMap::new();
        for (_, row) in self.calls.range(attempts(scope, scope.attempt..=scope.attempt)) {
            state.last_seq = state.last_seq.max(row.seq);
            let keys = keys.entry(&row.first_key).or_default();
            if row.was_held_back() {
                state.was_held_back = true;
                continue;
            }
            keys.push(&row.call_key);
            latest.insert(&row.call_key, row);
        }
        let is_unheard =
            |row: &CallRow| row.is_unheard() && !self.heard.contains(&place_of(&row.id()));
        let mut unheard: Vec<_> = latest.into_values().filter(|row| is_unheard(row)).collect();
        unheard.sort_unstable_by_key(|row| row.seq);
        let short = |row: &CallRow| UnheardCall {
            first_key: row.first_key.clone(),
            call_key: row.call_key.clone(),
            seq: row.seq,
        };
        state.unheard = unheard.into_iter().map(short).collect();
        for (first_key, mut call_keys) in keys {
            call_keys.sort_unstable();
            call_keys.dedup();
            let call_keys = call_keys.into_iter().map(str::to_owned).collect();
            state.calls.insert(first_key.to_owned(), call_keys);
        }
        state
    }

    pub(super) fn recorded(&self, scope: &Scope) -> Vec<RecordedCall> {
        let rows = self.calls.range(attempts(scope, scope.attempt..=scope.attempt));
        let short = |(_, row): (_, &CallRow)| RecordedCall {
            seq: row.seq,
            call_key: row.call_key.clone(),
            effect: row.effect,
            status: row.status,
            verdict: row.verdict,
        };
        rows.filter(|(_, row)| !row.was_held_back()).map(short).collect()
    }

    pub(super) fn by_driver_id(&self, scope: &Scope, driver_call_id: &str) -> Option<CallRow> {
        let mut rows = self.calls.range(attempts(scope, scope.attempt..=scope.attempt)).rev();
        let found = rows.find(|(_, row)| row.driver_call_id.as_deref() == Some(driver_call_id));
        found.map(|(_, row)| row.clone())
    }

    pub(super) fn earlier_effects(
        &self,
        scope: &Scope,
        calls_max: u32,
    ) -> Result<EarlierEffects, JournalError> {
        let Some(last) = scope.attempt.checked_sub(1) else { return Ok(EarlierEffects::default()) };
        let rows = self.calls.range(attempts(scope, 0..=last)).map(|(_, row)| row);
        let effects = rows
            .filter(|row| row.effect == Effect::Once && row.status != Status::Refused)
            .filter(|row| row.verdict != Some(Verdict::NotHappened))
            .map(|row| EarlierEffect {
                tool: row.tool.clone(),
                attempt: row.scope.attempt,
                seq: row.seq,
                status: row.status,
                call_key: row.call_key.clone(),
                verdict: row.verdict,
                input: row.input.chars().take(EARLIER_INPUT_CHARS).collect(),
            });
        EarlierEffects::collect(effects.map(Ok), calls_max)
    }

    pub(super) fn record(&mut self, entry: &Entry) -> Result<(), JournalError> {
        let call = entry.call();
        if let Err(refusal) = self.admit(&call.id.scope.run, call.epoch) {
            if let (JournalError::Fenced { .. }, Some(closing)) = (&refusal, entry.late()) {
                self.late_outcomes.push(late_outcome(call, closing));
            }
            return Err(refusal);
        }
        match entry {
            Entry::Intended(_) => self.insert(call, None),
            Entry::Complete(_, closing) => self.insert(call, Some(closing)),
            Entry::Settled(_, closing) => {
                let change = self.last_change + 1;
                let row = self.open_call(call)?;
                row.change = change;
                close(row, closing);
                self.last_change = change;
                Ok(())
            }
            Entry::Amended(_, details) => {
                self.open_call(call)?.details = Some(details.clone());
                Ok(())
            }
        }
    }

    pub(super) fn resolve(&mut self, settlement: &Settlement) -> Result<CallRow, JournalError> {
        let call = &settlement.call;
        let change = self.last_change + 1;
        let Some(row) = self.calls.get_mut(&place_of(call)) else {
            return Err(JournalError::UnknownCall { call: call.clone() });
        };
        if row.status != Status::Unknown {
            return Err(JournalError::NotInDoubt { call: call.clone(), status: row.status });
        }
        row.resolve(settlement, change);
        let row = row.clone();
        self.last_change = change;
        if settlement.by == SettledBy::Operator
            && let Some(run) = self.runs.get_mut(&call.scope.run)
        {
            run.standing.fruitless = 0;
        }
        Ok(row)
    }

    pub(super) fn hear(&mut self, call: &CallId) -> Result<(), JournalError> {
        let place = place_of(call);
        if !self.calls.contains_key(&place) {
            return Err(JournalError::UnknownCall { call: call.clone() });
        }
        self.heard.insert(place);
        Ok(())
    }

    pub(super) fn note_snapshot(&mut self, note: SnapshotNote) -> Result<(), JournalError> {
        let run = &note.call.scope.run;
        if !self.runs.contains_key(run) {
            return Err(JournalError::UnknownRun { run: run.clone() });
        }
        let is_same =
            |other: &&mut SnapshotNote| other.call == note.call && other.root == note.root;
        match self.snapshots.iter_mut().find(is_same) {
            Some(other) => *other = note,
            None => self.snapshots.push(note),
        }
        Ok(())
    }

    pub(super) fn snapshots(&self, run: &RunId, call: Option<&CallId>) -> Vec<SnapshotNote> {
        let is_asked_for = |note: &&SnapshotNote| match call {
            Some(call) => note.call == *call,
            None => note.call.scope.run == *run,
        };
        self.snapshots.iter().filter(is_asked_for).cloned().collect()
    }

    pub(super) fn late_outcomes(&self, run: &RunId) -> Vec<LateOutcome> {
        let late = self.late_outcomes.iter().filter(|late| late.call.scope.run == *run);
        late.cloned().collect()
    }

    pub(super) fn record_chat(&mut self, lease: &Lease, batch: &Batch) -> Result<(), JournalError> {
        self.admit_lease(lease)?;
        let runs = &self.runs;
        self.chats.record(&lease.run, batch, |run| runs.contains_key(run))?;
        if batch.is_step_ahead()
            && let Some(run) = self.runs.get_mut(&lease.run)
        {
            run.standing.fruitless = 0;
        }
        Ok(())
    }

    pub(super) fn rewind_chat(
        &mut self,
        lease: &Lease,
        from: &MessageId,
        at_ms: u64,
    ) -> Result<u64, JournalError> {
        self.admit_lease(lease)?;
        self.chats.rewind(&lease.run, from, at_ms)
    }

    pub(super) fn chats(&self) -> &ChatTables {
        &self.chats
    }

    pub(super) fn calls(&self, query: &CallQuery) -> Result<Vec<CallRow>, JournalError> {
        let rows = match lowest_place(query) {
            Some(lowest) => self.calls.range(lowest..),
            None => self.calls.range::<Place, _>(..),
        };
        let is_near = |row: &&CallRow| {
            let Some(run) = &query.run else { return true };
            *run == row.scope.run && query.node.as_ref().is_none_or(|node| *node == row.scope.node)
        };
        let near = rows.map(|(_, row)| row).take_while(is_near);
        let mut found: Vec<&CallRow> = near.filter(|row| fits(query, row)).collect();
        match query.order {
            CallOrder::Place => {}
            CallOrder::Change => found.sort_unstable_by_key(|row| row.change),
            CallOrder::Latest => found.sort_unstable_by_key(|row| std::cmp::Reverse(row.change)),
        }
        collect_rows(found.into_iter().map(|row| Ok(row.clone())), query.rows_max())
    }

    pub(super) fn runs(&self, query: &RunQuery) -> Vec<RunRow> {
        let rows_max = usize::try_from(query.rows_max()).unwrap_or(usize::MAX);
        let before = query.before.as_ref().map(|id| self.runs.get(id).map(|run| run.number));
        let is_asked_for = |run: &&Run| {
            query.run.as_ref().is_none_or(|id| *id == run.run.id)
                && before.is_none_or(|before| before.is_some_and(|number| run.number < number))
        };
        let mut runs: Vec<&Run> = self.runs.values().filter(is_asked_for).collect();
        runs.sort_by_key(|run| std::cmp::Reverse(run.number));
        runs.into_iter().take(rows_max).map(|run| self.run_row(run)).collect()
    }

    pub(super) fn due(&self, retention: Retention) -> Due {
        let mut runs: Vec<&Run> = self.runs.values().collect();
        runs.sort_by_key(|run| run.number);
        retention.chosen(runs.into_iter().map(|run| self.age(run)).collect())
    }

    pub(super) fn prune(&mut self, retention: Retention) -> Pruned {
        let Due { runs, kept_in_doubt } = self.due(retention);
        let calls_before = self.calls.len();
        for run in &runs {
            self.remove(run);
        }
        let calls = u64::try_from(calls_before - self.calls.len()).unwrap_or(u64::MAX);
        Pruned { runs, calls, kept_in_doubt }
    }

    pub(super) fn verify(&self) -> Vec<Finding> {
        let mut inspection = Inspection::default();
        let mut runs: Vec<&Run> = self.runs.values().collect();
        runs.sort_by_key(|run| run.number);
        for Run { run, standing, .. } in runs {
            inspection.run(&run.id, standing.clone(), &run.settings);
        }
        self.calls.values().for_each(|row| inspection.call(row));
        self.late_outcomes.iter().for_each(|late| inspection.late_outcome(late));
        self.chats.sessions().for_each(|chat| inspection.chat(chat));
        self.chats.every_message().for_each(|message| inspection.message(message));
        self.chats.every_part().for_each(|part| inspection.part(part));
        inspection.into_findings()
    }

    fn begin(&mut self, run: NewRun) -> &Run {
        let standing = Standing { epoch: self.epoch_floor, ..Standing::default() };
        let (id, last_run) = (run.id.clone(), &mut self.last_run);
        self.runs.entry(id).or_insert_with(|| {
            *last_run += 1;
            Run { number: *last_run, run, standing }
        })
    }

    fn standing(&self, run: &RunId) -> Option<&Standing> {
        self.runs.get(run).map(|run| &run.standing)
    }

    fn set_standing(&mut self, run: &RunId, standing: Standing) {
        if let Some(run) = self.runs.get_mut(run) {
            run.standing = standing;
        }
    }

    fn admit(&self, run: &RunId, epoch: u64) -> Result<(), JournalError> {
        let unknown = || JournalError::UnknownRun { run: run.clone() };
        self.standing(run).ok_or_else(unknown)?.admit(run, epoch)
    }

    fn admit_lease(&self, lease: &Lease) -> Result<(), JournalError> {
        let unknown = || JournalError::UnknownRun { run: lease.run.clone() };
        self.standing(&lease.run).ok_or_else(unknown)?.admit_lease(lease)
    }

    fn extend(&mut self, run: &RunId, claim: &Claim) {
        let holder = self.runs.get_mut(run).and_then(|run| run.standing.holder.as_mut());
        if let Some(holder) = holder {
            holder.expires_at_ms = claim.expires_at_ms();
        }
    }

    fn free(&mut self, run: &RunId) {
        if let Some(run) = self.runs.get_mut(run) {
            run.standing.holder = None;
        }
    }

    /// Frees a run whose owner died, and counts whether that owner got any further than the ones before, if it did anything.
    fn give_up(&mut self, run: &RunId) -> Vec<CallId> {
        let since = self.standing(run).map_or(0, |standing| standing.fruitless_since);
        let is_settled = |row: &CallRow| {
            !matches!(row.status, Status::Intended | Status::Unknown) && row.settled_by.is_none()
        };
        let got_further = self.rows_of(run).any(|row| row.change > since && is_settled(row));
        let last_change = self.last_change;
        let rests = self.rests(run);
        if let Some(run) = self.runs.get_mut(run).filter(|_| !rests) {
            run.standing.count_death(got_further, last_change);
        }
        let calls = self.leave_open_calls(run);
        self.free(run);
        calls
    }

    /// Returns whether the run is of a chat in which no turn is under way: whoever had it open died of nothing that it did.
    fn rests(&self, run: &RunId) -> bool {
        let id = ChatId::parse(run.as_str()).ok();
        let chat = id.and_then(|id| self.chats.chat(&id));
        chat.is_some_and(|chat| chat.status != ChatStatus::Running)
    }

    fn leave_open_calls(&mut self, run: &RunId) -> Vec<CallId> {
        let is_open = |row: &&mut CallRow| row.scope.run == *run && row.status == Status::Intended;
        let mut calls = Vec::new();
        for row in self.calls.values_mut().filter(is_open) {
            self.last_change += 1;
            row.change = self.last_change;
            row.status = Status::Unknown;
            calls.push(row.id());
        }
        calls
    }

    fn last_open(&self, run: &RunId, since: u64) -> Option<CallId> {
        let unknown =
            self.rows_of(run).filter(|row| row.change > since && row.status == Status::Unknown);
        unknown.max_by_key(|row| row.change).map(CallRow::id)
    }

    fn rows_of<'a>(&'a self, run: &'a RunId) -> impl Iterator<Item = &'a CallRow> {
        let rows = self.calls.range((run.clone(), String::new(), 0, 0, 0)..);
        rows.map(|(_, row)| row).take_while(move |row| row.scope.run == *run)
    }

    fn insert(
        &mut self,
        call: &PlannedCall,
        closing: Option<&Closing>,
    ) -> Result<(), JournalError> {
        let place = place_of(&call.id);
        if self.calls.contains_key(&place) {
            return Err(JournalError::Conflict { call: call.id.clone() });
        }
        self.last_change += 1;
        let mut row = open_row(call, self.last_change);
        if let Some(closing) = closing {
            close(&mut row, closing);
        }
        self.calls.insert(place, row);
        Ok(())
    }

    fn open_call(&mut self, call: &PlannedCall) -> Result<&mut CallRow, JournalError> {
        let row = self.calls.get_mut(&place_of(&call.id));
        row.filter(|row| row.status == Status::Intended)
            .ok_or_else(|| JournalError::NoOpenIntent { call: call.id.clone() })
    }

    fn age(&self, run: &Run) -> RunAge {
        let rows = || self.rows_of(&run.run.id);
        let times = rows().map(|row| row.started_at_ms.max(row.finished_at_ms.unwrap_or_default()));
        let (chat, said_bytes) = self.chats.of_run(&run.run.id).unzip();
        let heard_at_ms = chat.map_or(0, |chat| chat.updated_at_ms);
        let bytes: u64 =
            rows().map(|row| u64::try_from(row.text_bytes()).unwrap_or(u64::MAX)).sum();
        RunAge {
            run: run.run.id.clone(),
            parent: chat.and_then(|chat| chat.parent_id.as_ref()).map(ChatId::run),
            latest_ms: times.fold(run.run.started_at_ms.max(heard_at_ms), u64::max),
            bytes: bytes + said_bytes.unwrap_or_default(),
            is_held: run.standing.holder.is_some(),
            is_in_doubt: rows().any(|row| {
                row.effect == Effect::Once && row.status == Status::Unknown && row.verdict.is_none()
            }),
        }
    }

    fn remove(&mut self, run: &RunId) {
        let epoch = self.runs.remove(run).map_or(0, |run| run.standing.epoch);
        self.epoch_floor = self.epoch_floor.max(epoch);
        self.calls.retain(|(of, ..), _| of != run);
        self.heard.retain(|(of, ..)| of != run);
        self.snapshots.retain(|note| note.call.scope.run != *run);
        self.late_outcomes.retain(|late| late.call.scope.run != *run);
        self.chats.remove(run);
    }

    fn run_row(&self, run: &Run) -> RunRow {
        let calls: Vec<&CallRow> = self.rows_of(&run.run.id).collect();
        let count = |status| calls.iter().map(|row| u64::from(row.status == status)).sum();
        let NewRun { id, front_end, root, started_at_ms, version, settings } = run.run.clone();
        RunRow {
            id,
            front_end,
            root,
            version,
            started_at_ms,
            last_call_at_ms: calls.iter().map(|row| row.started_at_ms).max(),
            calls: calls.iter().map(|_| 1).sum(),
            failed: count(Status::Failed),
            refused: count(Status::Refused),
            intended: count(Status::Intended),
            unknown: count(Status::Unknown),
            settings,
            holder: run.standing.holder.clone(),
        }
    }
}

fn place_of(call: &CallId) -> Place {
    let Scope { run, node, iteration, attempt } = call.scope.clone();
    (run, node, iteration, attempt, call.seq)
}

/// Returns where the calls of these attempts of the scope's node and iteration are.
fn attempts(scope: &Scope, attempts: RangeInclusive<u32>) -> RangeInclusive<Place> {
    let place = |attempt, seq| place_of(&CallId { scope: Scope { attempt, ..scope.clone() }, seq });
    place(*attempts.start(), 0)..=place(*attempts.end(), u32::MAX)
}

fn open_row(call: &PlannedCall, change: u64) -> CallRow {
    CallRow {
        change,
        scope: call.id.scope.clone(),
        seq: call.id.seq,
        tool: call.tool.clone(),
        effect: call.effect,
        status: Status::Intended,
        started_at_ms: call.started_at_ms,
        finished_at_ms: None,
        first_key: call.first_key.to_string(),
        call_key: call.call_key.to_string(),
        driver_call_id: call.driver_call_id.clone(),
        input: call.input.clone(),
        accesses: call.accesses.clone(),
        epoch: call.epoch,
        details: None,
        envelope: None,
        verdict: None,
        settled_by: None,
    }
}

fn close(row: &mut CallRow, closing: &Closing) {
    row.status = closing.status;
    row.finished_at_ms = Some(closing.finished_at_ms);
    row.envelope = Some(closing.envelope.clone());
}

fn late_outcome(call: &PlannedCall, closing: &Closing) -> LateOutcome {
    LateOutcome {
        call: call.id.clone(),
        tool: call.tool.clone(),
        epoch: call.epoch,
        status: closing.status,
        envelope: closing.envelope.clone(),
        finished_at_ms: closing.finished_at_ms,
    }
}

/// Returns a place that no call which fits the query comes before; nothing if calls of all runs may fit.
fn lowest_place(query: &CallQuery) -> Option<Place> {
    let run = query.run.clone()?;
    let node = query.node.clone().unwrap_or_default();
    let [iteration, attempt, seq] =
        [query.iteration, query.attempt, query.seq].map(Option::unwrap_or_default);
    Some((run, node, iteration, attempt, seq))
}

fn fits(query: &CallQuery, row: &CallRow) -> bool {
    query.run.as_ref().is_none_or(|run| *run == row.scope.run)
        && query.node.as_ref().is_none_or(|node| *node == row.scope.node)
        && query.iteration.is_none_or(|iteration| iteration == row.scope.iteration)
        && query.attempt.is_none_or(|attempt| attempt == row.scope.attempt)
        && query.seq.is_none_or(|seq| seq == row.seq)
        && query.after_change.is_none_or(|change| row.change > change)
}
