//! The attempts that earlier processes made for a run. The pipeline recalls their answers, call by call. This module only
//! decides the order, which attempts do not count, and which are certainly answered from the record.

use std::collections::{BTreeMap, HashMap};

use haft_contract::{CallAddress, Effect, Envelope, ErrorCode, RunId};
use haft_journal::{CallQuery, CallRow, CallStatus, Journal, JournalError, SettlementVerdict};

use super::node_scope::node_of;
use super::options::RunStartMode;
use super::outcome::is_final;
use super::recorded_plan::all_calls;
use super::repetition::is_never_done;
use crate::checked::{CheckedNode, CheckedPlan};
use crate::node_id::NodeId;
use crate::plan::OnFail;

/// The attempts that earlier processes made for a run.
#[derive(Default)]
pub(super) struct PastAttempts {
    nodes: HashMap<(NodeId, u32), BTreeMap<u32, PastAttempt>>,
    /// The answers of attempts after which the plan went on, although their effect is unknown.
    unclear_answers: HashMap<AttemptNumber, Envelope>,
}

/// Which attempt of a node: the node, the iteration, and the attempt's number in the run.
pub(super) type AttemptNumber = (NodeId, u32, u32);

/// A recorded attempt.
#[derive(Clone)]
struct PastAttempt {
    state: PastAttemptState,
    /// The latest call of the attempt.
    call: CallAddress,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PastAttemptState {
    /// It succeeded, and the pipeline answers so.
    Succeeded,
    /// It failed, and the pipeline answers so. A call that succeeded is a failure if it left a repeated node undone.
    Failed {
        /// Whether no further attempt was to be made, however many the node may have.
        is_final: bool,
    },
    /// Its end is unknown. The pipeline answers it, or executes it if a probe shows that it did not happen.
    InDoubt,
    /// It says nothing about the node: the driver cancelled it before it ended, or the user had the node tried anew.
    Uncounted,
    /// It is to be executed.
    Open,
}

impl PastAttempts {
    /// Reads what the journal has of a run.
    pub(super) async fn read(
        journal: &dyn Journal,
        run: &RunId,
        plan: &CheckedPlan,
        start: RunStartMode,
    ) -> Result<Self, JournalError> {
        let mut past = Self::default();
        let mut rows = all_calls(journal, CallQuery::of_run(run.clone())).await?;
        // Of two rows of one call the later one counts.
        rows.sort_by_key(|row| row.seq);
        for row in rows {
            let node = node_of(&row.scope.node).and_then(|id| plan.node(id));
            let is_its_call = |node: &&CheckedNode| {
                row.scope.iteration < node.iterations_max()
                    && row.tool == node.contract().id.as_str()
            };
            if let Some(node) = node.filter(is_its_call) {
                let (id, iteration, attempt) = (node.id(), row.scope.iteration, row.scope.attempt);
                let state = match (row.status, row.verdict) {
                    (CallStatus::Succeeded, _) => match row.parsed_envelope().ok().flatten() {
                        Some(Envelope::Output { data, .. })
                            if is_never_done(node, iteration, &data) =>
                        {
                            PastAttemptState::Failed { is_final: true }
                        }
                        _ => PastAttemptState::Succeeded,
                    },
                    (CallStatus::Failed, Some(SettlementVerdict::NotHappened)) => {
                        PastAttemptState::Open
                    }
                    (CallStatus::Failed, _) => {
                        let envelope = row.parsed_envelope().ok().flatten();
                        // A call that a stopped or halted driver cancelled says nothing about its node. If such
                        // a call may have had an effect, its record says «unknown», not «failed».
                        match envelope.and_then(|envelope| envelope.code()) {
                            Some(ErrorCode::ProcessAborted) => PastAttemptState::Uncounted,
                            code => {
                                PastAttemptState::Failed { is_final: code.is_some_and(is_final) }
                            }
                        }
                    }
                    (CallStatus::Unknown, Some(SettlementVerdict::Retry)) => PastAttemptState::Open,
                    (CallStatus::Unknown, _) if row.effect == Effect::Once => {
                        PastAttemptState::InDoubt
                    }
                    (CallStatus::Unknown | CallStatus::Intended | CallStatus::Refused, _) => {
                        PastAttemptState::Open
                    }
                };
                let known = PastAttempt { state, call: row.id() };
                past.nodes.entry((id, iteration)).or_default().insert(attempt, known);
                let number = (id, iteration, attempt);
                match unclear_envelope(&row) {
                    Some(envelope) => past.unclear_answers.insert(number, envelope),
                    None => past.unclear_answers.remove(&number),
                };
            }
        }
        // The answers that ended the plan do not count: those calls are settled before the run is resumed.
        let nodes = &past.nodes;
        let has_later = |id: NodeId, iteration: u32, attempt: u32| {
            let attempts = nodes.get(&(id, iteration));
            attempts.is_some_and(|known| known.range(attempt.saturating_add(1)..).next().is_some())
        };
        past.unclear_answers.retain(|(id, iteration, attempt), _| {
            let is_tolerated =
                plan.node(*id).is_some_and(|node| node.on_fail() == OnFail::Continue);
            is_tolerated || has_later(*id, *iteration, *attempt)
        });
        for ((id, _), attempts) in &mut past.nodes {
            if let Some(node) = plan.node(*id) {
                mark_uncounted_attempts(attempts, node.attempts_max(), start);
            }
        }
        Ok(past)
    }

    /// Returns whether any node has an answer that is recalled.
    pub(super) fn has_answers(&self) -> bool {
        let attempts = self.nodes.iter().flat_map(|((node, iteration), attempts)| {
            attempts.keys().map(|attempt| (*node, *iteration, *attempt))
        });
        attempts.into_iter().any(|number| self.is_answer_recorded(number))
    }

    /// Returns what an attempt was answered with, where the pipeline would say that it is in doubt and the plan went on.
    pub(super) fn unclear_answer(&self, number: AttemptNumber) -> Option<Envelope> {
        self.unclear_answers.get(&number).cloned()
    }

    /// Returns for each node, for each iteration, how many attempts need only be recalled, or looked at.
    pub(super) fn attempts_recorded(&self, plan: &CheckedPlan) -> Vec<Vec<u32>> {
        let is_recorded = |mark: &PastAttemptState| match mark {
            PastAttemptState::Succeeded
            | PastAttemptState::Failed { .. }
            | PastAttemptState::InDoubt => true,
            PastAttemptState::Uncounted | PastAttemptState::Open => false,
        };
        let count = |id: NodeId, iteration: u32| {
            let attempts = self.nodes.get(&(id, iteration))?;
            let marks = attempts.values().map(|known| known.state);
            let counted = marks.filter(|mark| *mark != PastAttemptState::Uncounted);
            Some(u32::try_from(counted.take_while(is_recorded).count()).unwrap_or(u32::MAX))
        };
        let of_node = |node: &CheckedNode| (0..).map_while(|it| count(node.id(), it)).collect();
        plan.nodes().iter().map(of_node).collect()
    }

    /// Returns the number that an attempt has in the run, where those that do not count have numbers too.
    pub(super) fn number_in_run(&self, (node, iteration, attempt): AttemptNumber) -> AttemptNumber {
        let is_uncounted = |number: &u32| {
            self.attempt((node, iteration, *number)).map(|known| known.state)
                == Some(PastAttemptState::Uncounted)
        };
        let mut counted = (1..).filter(|number| !is_uncounted(number));
        let place = usize::try_from(attempt.saturating_sub(1)).unwrap_or(usize::MAX);
        (node, iteration, counted.nth(place).unwrap_or(attempt))
    }

    /// Returns whether the pipeline answers an attempt from the record for certain, so that nothing can come to execute.
    pub(super) fn is_answer_recorded(&self, number: AttemptNumber) -> bool {
        self.attempt(number).is_some_and(|known| match known.state {
            PastAttemptState::Succeeded | PastAttemptState::Failed { .. } => true,
            PastAttemptState::InDoubt | PastAttemptState::Uncounted | PastAttemptState::Open => {
                false
            }
        })
    }

    /// Returns the call of an attempt that may or may not have happened.
    pub(super) fn call_in_doubt(&self, number: AttemptNumber) -> Option<&CallAddress> {
        let known = self.attempt(number)?;
        (known.state == PastAttemptState::InDoubt).then_some(&known.call)
    }

    /// Returns the number that the next call of an attempt has in it.
    pub(super) fn next_seq(&self, number: AttemptNumber) -> u32 {
        self.attempt(number).map_or(1, |known| known.call.seq.saturating_add(1))
    }

    fn attempt(&self, (node, iteration, attempt): AttemptNumber) -> Option<&PastAttempt> {
        self.nodes.get(&(node, iteration))?.get(&attempt)
    }
}

/// Finds the attempts of a node that do not count, although they ended.
///
/// Those of a node that failed for good do not if the node is to be tried anew; and if it was tried anew before, which
/// is to be seen by the attempts that follow when there were none left. One that is to be executed does not count
/// either where others follow: the node went on without it.
fn mark_uncounted_attempts(
    attempts: &mut BTreeMap<u32, PastAttempt>,
    attempts_max: u32,
    start: RunStartMode,
) {
    let last = attempts.keys().next_back().copied();
    let mut spent: Vec<u32> = Vec::new();
    let mut uncounted: Vec<u32> = Vec::new();
    let mut failures = 0;
    for (number, known) in &*attempts {
        let is_followed = Some(*number) != last;
        let is_final = match known.state {
            PastAttemptState::Failed { is_final } => {
                spent.push(*number);
                is_final
            }
            PastAttemptState::InDoubt => false,
            PastAttemptState::Open if is_followed => {
                uncounted.push(*number);
                continue;
            }
            PastAttemptState::Succeeded | PastAttemptState::Uncounted | PastAttemptState::Open => {
                continue;
            }
        };
        failures += 1;
        if (is_final || failures >= attempts_max)
            && (is_followed || start == RunStartMode::RetryFailed)
        {
            // An attempt in doubt stays in doubt until a person settles it.
            failures -= u32::try_from(spent.len()).unwrap_or(u32::MAX).min(failures);
            uncounted.append(&mut spent);
        }
    }
    for number in uncounted {
        if let Some(known) = attempts.get_mut(&number) {
            known.state = PastAttemptState::Uncounted;
        }
    }
}

/// Returns what a call was answered with that was stopped before its effect was known: because its time was over, or
/// because the tool broke down in the middle. One that the driver cancelled was not gone on from.
fn unclear_envelope(row: &CallRow) -> Option<Envelope> {
    if row.status != CallStatus::Unknown || row.verdict.is_some() || row.effect != Effect::Once {
        return None;
    }
    let mut envelope = row.parsed_envelope().ok().flatten()?;
    envelope.code().filter(|code| *code != ErrorCode::ProcessAborted)?;
    let (Envelope::Output { metadata, .. } | Envelope::Error { metadata, .. }) = &mut envelope;
    metadata.replayed = true;
    Some(envelope)
}
