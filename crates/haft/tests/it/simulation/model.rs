//! The state and the expectations of a driver in a simulated history.

use std::collections::BTreeMap;

use haft_contract::{Effect, Envelope};
use haft_journal::{CallRow, CallStatus, SettlementVerdict};

/// The answers and counts so far.
#[derive(Default)]
pub(super) struct Model {
    /// The answer of each call, by run, attempt and number.
    answers: BTreeMap<(u64, u32, usize), String>,
    /// Calls that were settled as retry, by key and attempt.
    allowed: BTreeMap<(String, u32), u64>,
    pub(super) in_doubt: u64,
    pub(super) deaths: u64,
    pub(super) fenced: u64,
}

impl Model {
    /// Takes note of an answer, which is the one that was heard before, if any was.
    pub(super) fn answered(
        &mut self,
        place: (u64, u32, usize),
        envelope: &Envelope,
    ) -> Result<(), String> {
        let text = envelope.text();
        match self.answers.insert(place, text.clone()) {
            Some(before) if before != text => {
                Err(format!("{place:?} answered {before:?} and now {text:?}"))
            }
            Some(_) if !envelope.metadata().replayed => {
                Err(format!("{place:?} was answered and is executed again"))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn allow(&mut self, row: &CallRow) {
        *self.allowed.entry((row.call_key.clone(), row.scope.attempt)).or_default() += 1;
    }

    /// Compares a row with how often its call really happened.
    pub(super) fn check(&self, row: &CallRow, times: u64, rows: &[CallRow]) -> Result<(), String> {
        if row.effect == Effect::Read {
            return Ok(());
        }
        let key = (row.call_key.clone(), row.scope.attempt);
        let retries = self.allowed.get(&key).copied().unwrap_or_default();
        if row.effect == Effect::Once && times > 1 + retries {
            return Err(format!("happened {times} times, {retries} repeats were allowed: {row:?}"));
        }
        let is_latest =
            rows.iter().filter(|other| is_same_call(other, row)).all(|other| other.seq <= row.seq);
        let fits = match (row.status, row.verdict) {
            (CallStatus::Succeeded, _) => times > 0,
            (CallStatus::Failed, Some(SettlementVerdict::NotHappened)) => {
                !is_latest || times == 0 || retries > 0
            }
            (CallStatus::Unknown, _) => true,
            (CallStatus::Failed | CallStatus::Refused | CallStatus::Intended, _) => false,
        };
        if fits {
            Ok(())
        } else {
            Err(format!("happened {times} times and is recorded as {row:?}"))
        }
    }
}

/// Returns whether two rows are of one call, which was executed again.
pub(super) fn is_same_call(one: &CallRow, other: &CallRow) -> bool {
    one.call_key == other.call_key && one.scope == other.scope
}
