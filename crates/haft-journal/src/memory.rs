//! The journal that forgets everything when it is dropped: for tests, and for runs that nobody will resume. It keeps
//! every promise of the trait but durability, which it cannot have.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};

use haft_contract::{BoxFuture, CallId, RunId, Scope};

use crate::entry::{Closing, Entry};
use crate::row::collect_rows;
use crate::{
    AttemptState, CallOrder, CallQuery, CallRow, Intent, Journal, JournalError, NewRun, Outcome,
    PlannedCall, RunQuery, RunRow, Status,
};

/// A journal in memory.
#[derive(Debug, Default)]
pub struct MemoryJournal {
    /// Written and read by whoever calls; held for the few lines that one entry takes, so that a thread of its own
    /// would only add a wait.
    records: Mutex<Records>,
}

impl MemoryJournal {
    /// Returns an empty journal.
    pub fn new() -> Self {
        Self::default()
    }

    fn records(&self) -> MutexGuard<'_, Records> {
        self.records.lock().expect("nothing panics while it holds the records")
    }
}

impl Journal for MemoryJournal {
    fn begin_run(&self, run: NewRun) -> BoxFuture<'_, Result<(), JournalError>> {
        Box::pin(async move { self.records().apply(Entry::Run(run)) })
    }

    fn attempt(&self, scope: &Scope) -> BoxFuture<'_, Result<AttemptState, JournalError>> {
        let scope = scope.clone();
        Box::pin(async move { Ok(self.records().attempt(&scope)) })
    }

    fn intend(&self, call: PlannedCall) -> BoxFuture<'_, Result<Intent, JournalError>> {
        Box::pin(async move {
            let call = Arc::new(call);
            if let Some(entry) = Entry::intend(&call) {
                self.records().apply(entry)?;
            }
            Ok(Intent::new(call))
        })
    }

    fn settle(&self, intent: Intent, outcome: Outcome) -> BoxFuture<'_, Result<(), JournalError>> {
        Box::pin(async move { self.records().apply(Entry::settle(intent, outcome)?) })
    }

    fn refuse(
        &self,
        call: PlannedCall,
        outcome: Outcome,
    ) -> BoxFuture<'_, Result<(), JournalError>> {
        Box::pin(async move { self.records().apply(Entry::refuse(call, outcome)?) })
    }

    fn calls(&self, query: CallQuery) -> BoxFuture<'_, Result<Vec<CallRow>, JournalError>> {
        Box::pin(async move { self.records().calls(&query) })
    }

    fn runs(&self, query: RunQuery) -> BoxFuture<'_, Result<Vec<RunRow>, JournalError>> {
        Box::pin(async move { Ok(self.records().runs(&query)) })
    }
}

/// Orders calls by run, node, iteration, attempt and seq.
type Place = (RunId, String, u32, u32, u32);

#[derive(Debug, Default)]
struct Records {
    /// In the order in which they began.
    runs: Vec<NewRun>,
    run_ids: HashSet<RunId>,
    calls: BTreeMap<Place, CallRow>,
    last_change: u64,
}

impl Records {
    fn apply(&mut self, entry: Entry) -> Result<(), JournalError> {
        match entry {
            Entry::Run(run) => {
                if self.run_ids.insert(run.id.clone()) {
                    self.runs.push(run);
                }
                Ok(())
            }
            Entry::Intended(call) => self.insert(&call, None),
            Entry::Complete(call, closing) => self.insert(&call, Some(closing)),
            Entry::Settled(call, closing) => self.settle(&call, closing),
        }
    }

    fn insert(&mut self, call: &PlannedCall, closing: Option<Closing>) -> Result<(), JournalError> {
        let place = place_of(&call.id);
        if self.calls.contains_key(&place) {
            return Err(JournalError::Conflict { call: call.id.clone() });
        }
        if !self.run_ids.contains(&call.id.scope.run) {
            return Err(JournalError::UnknownRun { run: call.id.scope.run.clone() });
        }
        let mut row = open_row(call, self.next_change());
        if let Some(closing) = closing {
            close(&mut row, closing);
        }
        self.calls.insert(place, row);
        Ok(())
    }

    fn settle(&mut self, call: &PlannedCall, closing: Closing) -> Result<(), JournalError> {
        let change = self.last_change + 1;
        let row = self.calls.get_mut(&place_of(&call.id));
        let Some(row) = row.filter(|row| row.status == Status::Intended) else {
            return Err(JournalError::NoOpenIntent { call: call.id.clone() });
        };
        row.change = change;
        close(row, closing);
        self.last_change = change;
        Ok(())
    }

    fn attempt(&self, scope: &Scope) -> AttemptState {
        let first = place_of(&CallId { scope: scope.clone(), seq: 0 });
        let last = place_of(&CallId { scope: scope.clone(), seq: u32::MAX });
        let mut state = AttemptState::default();
        for (_, row) in self.calls.range(first..=last) {
            state.last_seq = state.last_seq.max(row.seq);
            *state.occurrences.entry(row.first_key.clone()).or_default() += 1;
        }
        state
    }

    fn calls(&self, query: &CallQuery) -> Result<Vec<CallRow>, JournalError> {
        let mut found: Vec<&CallRow> = self.calls.values().filter(|row| fits(query, row)).collect();
        match query.order {
            CallOrder::Place => {}
            CallOrder::Change => found.sort_unstable_by_key(|row| row.change),
            CallOrder::Latest => found.sort_unstable_by_key(|row| std::cmp::Reverse(row.change)),
        }
        collect_rows(found.into_iter().map(|row| Ok(row.clone())), query.rows_max())
    }

    fn runs(&self, query: &RunQuery) -> Vec<RunRow> {
        let rows_max = usize::try_from(query.rows_max()).unwrap_or(usize::MAX);
        let is_asked_for = |run: &&NewRun| query.run.as_ref().is_none_or(|id| *id == run.id);
        let latest = self.runs.iter().rev().filter(is_asked_for).take(rows_max);
        latest.map(|run| self.run_row(run)).collect()
    }

    fn run_row(&self, run: &NewRun) -> RunRow {
        let calls: Vec<&CallRow> =
            self.calls.values().filter(|row| row.scope.run == run.id).collect();
        let count = |status| calls.iter().map(|row| u64::from(row.status == status)).sum();
        RunRow {
            id: run.id.clone(),
            front_end: run.front_end.clone(),
            root: run.root.clone(),
            version: run.version.clone(),
            started_at_ms: run.started_at_ms,
            last_call_at_ms: calls.iter().map(|row| row.started_at_ms).max(),
            calls: calls.iter().map(|_| 1).sum(),
            failed: count(Status::Failed),
            refused: count(Status::Refused),
            intended: count(Status::Intended),
            unknown: count(Status::Unknown),
        }
    }

    fn next_change(&mut self) -> u64 {
        self.last_change += 1;
        self.last_change
    }
}

fn place_of(call: &CallId) -> Place {
    let Scope { run, node, iteration, attempt } = call.scope.clone();
    (run, node, iteration, attempt, call.seq)
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
        envelope: None,
    }
}

fn close(row: &mut CallRow, closing: Closing) {
    row.status = closing.status;
    row.finished_at_ms = Some(closing.finished_at_ms);
    row.envelope = Some(closing.envelope);
}

fn fits(query: &CallQuery, row: &CallRow) -> bool {
    query.run.as_ref().is_none_or(|run| *run == row.scope.run)
        && query.node.as_ref().is_none_or(|node| *node == row.scope.node)
        && query.iteration.is_none_or(|iteration| iteration == row.scope.iteration)
        && query.attempt.is_none_or(|attempt| attempt == row.scope.attempt)
        && query.seq.is_none_or(|seq| seq == row.seq)
        && query.after_change.is_none_or(|change| row.change > change)
}
