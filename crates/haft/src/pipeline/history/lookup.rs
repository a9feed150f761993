//! Finds the recorded call that a call is, or gives it the next number of its attempt if it was not made before.

use std::sync::Arc;

use haft_contract::{AttemptAddress, CallAddress, Effect, Envelope, EnvelopeMetadata, ErrorCode};
use haft_journal::{CallQuery, CallRow, Journal, JournalError};

use super::attempt::{
    AttemptTracker, AttemptTrackers, CallNumbering, PriorCalls, UnacknowledgedCalls,
};
use super::replay::{ReplayCursor, ReplayCursors};
use crate::pipeline::call_state::{ArrivedCall, CallPlace};
use crate::pipeline::refusal::PipelineStop;
use crate::run_error::{Divergence, RunError};
use crate::shared::RuntimeShared;

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
    /// The attempts of the run, which all its handles share.
    pub(crate) attempts: Arc<AttemptTrackers>,
    /// The replay cursors of this handle of the run. Each handle that starts over has separate cursors.
    pub(crate) cursors: Arc<ReplayCursors>,
    /// The way in which the driver of this handle resumes attempts.
    pub(crate) resume_mode: ResumeMode,
}

/// The lease under which a call is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallLease {
    /// The fencing token of the lease.
    pub(crate) fencing_token: u64,
    /// Whether the run had calls before this process took the lease.
    pub(crate) prior_calls: PriorCalls,
}

/// The places in which recorded calls are looked up.
pub(super) struct HistoryReader<'a> {
    /// The attempts and cursors of the run.
    pub(super) history: &'a RunHistory,
    /// The runtime, with the journal that has the recorded calls.
    pub(super) shared: &'a RuntimeShared,
}

impl HistoryReader<'_> {
    fn journal(&self) -> &dyn Journal {
        &*self.shared.parts.journal
    }

    /// Finds the recorded call, or numbers the call as a new one. Returns the place of the call in its run, and the row
    /// of the recorded call.
    ///
    /// Stops if a call with the same driver call id is executing.
    pub(super) async fn locate_call(
        &self,
        arrived: &ArrivedCall,
        lease: CallLease,
    ) -> Result<(CallPlace, Option<Box<CallRow>>), PipelineStop> {
        let CallLease { fencing_token, prior_calls } = lease;
        let attempt =
            self.history.attempts.attempt(self.journal(), arrived.scope(), prior_calls).await?;
        let driver_id = match arrived.call().driver_call_id.as_deref() {
            None => None,
            Some(id) => match attempt.claim_driver_call_id(id) {
                Some(claimed) => Some(claimed),
                None => return Err(stop_in_progress(arrived.tool(), arrived.elapsed_ms())),
            },
        };
        let cursor = match self.history.resume_mode {
            ResumeMode::Continue => None,
            ResumeMode::Replay | ResumeMode::Rejudge => {
                let cursors = &self.history.cursors;
                Some(
                    cursors
                        .cursor(self.journal(), arrived.scope(), fencing_token, &attempt)
                        .await?,
                )
            }
        };
        let counted = cursor.as_ref().map(|cursor| cursor.next_repeat_index(arrived.first_key()));
        let cursor = cursor.as_deref().zip(counted);
        let recorded = self.find_recorded_call(arrived, &attempt, cursor).await?;
        // An unacknowledged call is found in every resume mode. Otherwise a driver that lost an answer would repeat the
        // effect.
        let unacknowledged = match &recorded {
            Some((_, row)) if row.effect != Effect::Once => None,
            _ => attempt.lock_unacknowledged(arrived.first_key()).await,
        };
        let first = unacknowledged.as_ref().and_then(UnacknowledgedCalls::first);
        let (seq, repeat_index, row) = match (recorded, first) {
            (Some((repeat_index, row)), _) => {
                // Another call with this first key may have been made during the wait.
                let row = match &unacknowledged {
                    Some(_) => self.load_row(arrived.scope(), row.seq).await?,
                    None => row,
                };
                (row.seq, repeat_index, Some(Box::new(row)))
            }
            (None, Some(seq)) => {
                let row = self.load_row(arrived.scope(), seq).await?;
                let repeat_index = attempt.repeat_index_of(&row, arrived.first_key(), 0);
                if let Some((cursor, counted)) = cursor {
                    cursor.give_back(arrived.first_key(), counted);
                }
                (row.seq, repeat_index, Some(Box::new(row)))
            }
            (None, None) => {
                let CallNumbering { seq, repeat_index } = match cursor {
                    Some((cursor, repeat_index))
                        if cursor.is_free(arrived.first_key(), repeat_index) =>
                    {
                        attempt.number_call_as(arrived.first_key(), repeat_index)
                    }
                    Some(_) | None => attempt.number_call(arrived.first_key()),
                };
                (seq, repeat_index, None)
            }
        };
        let place = CallPlace {
            seq,
            repeat_index,
            replay_index: counted,
            fencing_token,
            started_at_ms: self.shared.parts.clock.now_ms(),
            attempt,
            cursors: Arc::clone(&self.history.cursors),
            unacknowledged,
            _driver_id: driver_id,
        };
        Ok((place, row))
    }

    /// Finds the recorded call that this call repeats, with its repeat index: by the driver's call id, or by the place
    /// of a driver that starts over.
    async fn find_recorded_call(
        &self,
        arrived: &ArrivedCall,
        attempt: &AttemptTracker,
        cursor: Option<(&ReplayCursor, u32)>,
    ) -> Result<Option<(u32, CallRow)>, RunError> {
        let (scope, first_key) = (arrived.scope(), arrived.first_key());
        let driver_id = arrived.call().driver_call_id.as_deref();
        if let Some(id) = driver_id
            && let Some(row) = self.journal().by_driver_id(scope, id).await?
        {
            if row.first_key != first_key.to_string() {
                return Err(divergence(row, arrived).into());
            }
            let guess = cursor.map_or(0, |(_, counted)| counted);
            return Ok(Some((attempt.repeat_index_of(&row, first_key, guess), row)));
        }
        let Some((cursor, counted)) = cursor else { return Ok(None) };
        if let Some(seq) = cursor.recorded_seq(first_key.with_repeat_index(counted)) {
            let row = self.load_row(scope, seq).await?;
            // A call with a different driver call id is a different call, even if the input is the same.
            let is_other = |name: &str| driver_id.is_some_and(|id| id != name);
            if !row.driver_call_id.as_deref().is_some_and(is_other) {
                return Ok(Some((counted, row)));
            }
        }
        if self.history.resume_mode == ResumeMode::Rejudge && cursor.last_seq() > 0 {
            let row = self.load_row(scope, cursor.last_seq()).await?;
            return Err(divergence(row, arrived).into());
        }
        Ok(None)
    }

    /// Returns the row of a call that the journal must have.
    async fn load_row(&self, scope: &AttemptAddress, seq: u32) -> Result<CallRow, RunError> {
        let call = CallAddress { scope: scope.clone(), seq };
        let mut rows = self.journal().calls(CallQuery::of_call(call.clone())).await?;
        rows.pop().ok_or_else(|| JournalError::UnknownCall { call }.into())
    }
}

/// Describes how a call differs from the recorded call in its place.
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

/// Returns the beginning of an input for a message.
fn shortened(input: &str) -> String {
    match input.char_indices().nth(SHOWN_INPUT_CHARS) {
        Some((end, _)) => format!("{}…", &input[..end]),
        None => input.to_owned(),
    }
}

/// Stops a call that is executing already.
pub(super) fn stop_in_progress(tool: &str, elapsed_ms: u64) -> PipelineStop {
    let metadata = EnvelopeMetadata {
        duration_ms: elapsed_ms,
        code: Some(ErrorCode::Unavailable),
        ..EnvelopeMetadata::default()
    };
    let error_text = format!(
        "this call of {tool} is being executed already under the same name: wait for its answer, or give a new call \
         another name"
    );
    PipelineStop::Answered(Box::new(Envelope::Error { error_text, metadata }))
}
