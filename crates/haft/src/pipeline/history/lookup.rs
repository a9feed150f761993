//! Finds the recorded call that a call is, or gives it the next number of its attempt if it was not made before.

use std::sync::Arc;

use haft_contract::{AttemptAddress, CallAddress, Effect};
use haft_journal::{CallQuery, CallRow, Journal, JournalError};

use super::attempt::{
    AttemptTracker, AttemptTrackers, CallNumbering, DriverCallIdGuard, PriorCalls,
    UnacknowledgedCalls,
};
use super::replay::{ReplayCursor, ReplayCursors};
use crate::pipeline::call_state::ArrivedCall;
use crate::run_error::{Divergence, RunError};

/// The way in which a driver resumes an attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ResumeMode {
    /// The driver kept a transcript and continues after it: its calls are new.
    #[default]
    Continue,
    /// The driver starts over: recorded calls are recalled in any order, and so are refusals.
    Replay,
    /// The driver starts over, and each node makes one call. Refusals are judged again. A call that differs from the
    /// recorded one is a divergence.
    Rejudge,
}

/// The state from which the calls of one run are numbered and recalled. Cloning is cheap.
#[derive(Clone)]
pub(crate) struct RunHistory {
    pub(crate) attempts: Arc<AttemptTrackers>,
    /// The replay cursors of this handle of the run. Each handle that starts over has separate cursors.
    pub(crate) cursors: Arc<ReplayCursors>,
    pub(crate) resume_mode: ResumeMode,
}

/// The lease under which a call is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallLease {
    pub(crate) fencing_token: u64,
    pub(crate) prior_calls: PriorCalls,
}

/// The position of a call in its run.
pub(super) struct LocatedCall {
    pub(super) attempt: Arc<AttemptTracker>,
    pub(super) status: RecordedStatus,
    /// The unacknowledged calls like this one, locked while this call is one of them.
    pub(super) unacknowledged: Option<UnacknowledgedCalls>,
    /// The number of times that a driver that starts over made the call before.
    pub(super) replay_index: Option<u32>,
    /// Reserves the driver's call id until this call is done.
    pub(super) driver_id: Option<DriverCallIdGuard>,
}

/// The status of a call in the journal.
pub(super) enum RecordedStatus {
    New(CallNumbering),
    Recorded {
        row: Box<CallRow>,
        repeat_index: u32,
    },
    /// A call with the same driver call id is executing.
    InProgress,
}

/// The places in which recorded calls are looked up.
pub(super) struct HistoryReader<'a> {
    pub(super) history: &'a RunHistory,
    pub(super) journal: &'a dyn Journal,
}

impl HistoryReader<'_> {
    /// Finds the recorded call, or numbers the call as a new one.
    pub(super) async fn locate_call(
        &self,
        arrived: &ArrivedCall,
        lease: CallLease,
    ) -> Result<LocatedCall, RunError> {
        let CallLease { fencing_token: epoch, prior_calls } = lease;
        let attempt =
            self.history.attempts.attempt(self.journal, arrived.scope(), prior_calls).await?;
        let driver_id = match arrived.call().driver_call_id.as_deref() {
            None => None,
            Some(id) => match attempt.claim_driver_call_id(id) {
                Some(claimed) => Some(claimed),
                None => {
                    return Ok(LocatedCall {
                        attempt,
                        status: RecordedStatus::InProgress,
                        unacknowledged: None,
                        replay_index: None,
                        driver_id: None,
                    });
                }
            },
        };
        let cursor = match self.history.resume_mode {
            ResumeMode::Continue => None,
            ResumeMode::Replay | ResumeMode::Rejudge => {
                let cursors = &self.history.cursors;
                Some(cursors.cursor(self.journal, arrived.scope(), epoch, &attempt).await?)
            }
        };
        let counted = cursor.as_ref().map(|cursor| cursor.next_repeat_index(arrived.first_key()));
        let counted_in = cursor.as_deref().zip(counted);
        let (standing, unheard) = self.find_recorded_call(arrived, &attempt, counted_in).await?;
        Ok(LocatedCall {
            attempt,
            status: standing,
            unacknowledged: unheard,
            replay_index: counted,
            driver_id,
        })
    }

    /// Finds the recorded call that this call repeats. An unacknowledged call is found in every resume mode. Otherwise
    /// a driver that lost an answer would repeat the effect.
    async fn find_recorded_call(
        &self,
        arrived: &ArrivedCall,
        attempt: &AttemptTracker,
        counted: Option<(&ReplayCursor, u32)>,
    ) -> Result<(RecordedStatus, Option<UnacknowledgedCalls>), RunError> {
        let recorded = match (self.find_by_driver_call_id(arrived).await?, counted) {
            (Some(row), _) => {
                let guess = counted.map_or(0, |(_, counted)| counted);
                Some((attempt.repeat_index_of(&row, arrived.first_key(), guess), row))
            }
            (None, Some((cursor, counted))) => {
                self.recorded_call_at(arrived, cursor, counted).await?
            }
            (None, None) => None,
        };
        let unheard = match &recorded {
            Some((_, row)) if row.effect != Effect::Once => None,
            _ => attempt.lock_unacknowledged(arrived.first_key()).await,
        };
        match (recorded, unheard) {
            (Some((occurrence, row)), None) => Ok((
                RecordedStatus::Recorded { row: Box::new(row), repeat_index: occurrence },
                None,
            )),
            (Some((occurrence, row)), Some(unheard)) => {
                // Another call with this first key may have been made during the wait.
                let row = Box::new(self.load_row(arrived.scope(), row.seq).await?);
                Ok((RecordedStatus::Recorded { row, repeat_index: occurrence }, Some(unheard)))
            }
            (None, unheard) => {
                self.next_unacknowledged_or_new(arrived, attempt, counted, unheard).await
            }
        }
    }

    /// Returns the recorded call with this repeat index, for a driver that starts over.
    async fn recorded_call_at(
        &self,
        arrived: &ArrivedCall,
        cursor: &ReplayCursor,
        counted: u32,
    ) -> Result<Option<(u32, CallRow)>, RunError> {
        if let Some(seq) = cursor.recorded_seq(arrived.first_key().with_repeat_index(counted)) {
            let row = self.load_row(arrived.scope(), seq).await?;
            // A call with a different driver call id is a different call, even if the input is the same.
            let is_other =
                |name: &str| arrived.call().driver_call_id.as_deref().is_some_and(|id| id != name);
            if !row.driver_call_id.as_deref().is_some_and(is_other) {
                return Ok(Some((counted, row)));
            }
        }
        if self.history.resume_mode == ResumeMode::Rejudge && cursor.last_seq() > 0 {
            let row = self.load_row(arrived.scope(), cursor.last_seq()).await?;
            return Err(divergence(row, arrived).into());
        }
        Ok(None)
    }

    /// Returns the first unacknowledged call like this one, or numbers this call as a new one.
    async fn next_unacknowledged_or_new(
        &self,
        arrived: &ArrivedCall,
        attempt: &AttemptTracker,
        counted: Option<(&ReplayCursor, u32)>,
        unheard: Option<UnacknowledgedCalls>,
    ) -> Result<(RecordedStatus, Option<UnacknowledgedCalls>), RunError> {
        if let Some(seq) = unheard.as_ref().and_then(UnacknowledgedCalls::first) {
            let row = Box::new(self.load_row(arrived.scope(), seq).await?);
            let occurrence = attempt.repeat_index_of(&row, arrived.first_key(), 0);
            if let Some((cursor, counted)) = counted {
                cursor.give_back(arrived.first_key(), counted);
            }
            return Ok((RecordedStatus::Recorded { row, repeat_index: occurrence }, unheard));
        }
        let numbered = match counted {
            Some((cursor, occurrence)) if cursor.is_free(arrived.first_key(), occurrence) => {
                attempt.number_call_as(arrived.first_key(), occurrence)
            }
            Some(_) | None => attempt.number_call(arrived.first_key()),
        };
        Ok((RecordedStatus::New(numbered), None))
    }

    /// Returns the call of the attempt that has the driver's call id.
    async fn find_by_driver_call_id(
        &self,
        arrived: &ArrivedCall,
    ) -> Result<Option<CallRow>, RunError> {
        let Some(id) = arrived.call().driver_call_id.as_deref() else { return Ok(None) };
        match self.journal.by_driver_id(arrived.scope(), id).await? {
            Some(row) if row.first_key != arrived.first_key().to_string() => {
                Err(divergence(row, arrived).into())
            }
            row => Ok(row),
        }
    }

    async fn load_row(&self, scope: &AttemptAddress, seq: u32) -> Result<CallRow, RunError> {
        let call = CallAddress { scope: scope.clone(), seq };
        let mut rows = self.journal.calls(CallQuery::of_call(call.clone())).await?;
        rows.pop().ok_or_else(|| JournalError::UnknownCall { call }.into())
    }
}

fn divergence(row: CallRow, arrived: &ArrivedCall) -> Box<Divergence> {
    Box::new(Divergence {
        call: row.id(),
        recorded_tool: row.tool,
        recorded_input: shortened(&row.input),
        tool: arrived.tool().to_owned(),
        input: shortened(arrived.recorded_input()),
    })
}

/// Characters of an input that a message shows.
const SHOWN_INPUT_CHARS: usize = 500;

fn shortened(input: &str) -> String {
    match input.char_indices().nth(SHOWN_INPUT_CHARS) {
        Some((end, _)) => format!("{}…", &input[..end]),
        None => input.to_owned(),
    }
}
