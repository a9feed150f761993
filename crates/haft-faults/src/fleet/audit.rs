//! The end of a simulated history: each run ended or waits, and each row of the journal is compared with what really happened.

use haft_contract::{Effect, RunId};
use haft_journal::{CallQuery, CallRow, CallStatus, Journal as _, LateOutcome, SettlementVerdict};

use super::history::{EngineState, FleetHistory};
use super::poll::answer_at_once;
use super::process::{effect_of, node_of};
use super::truth::NodeTruth;

/// The records of a run in the journal.
struct RecordedRun {
    rows: Vec<CallRow>,
    late: Vec<LateOutcome>,
}

impl FleetHistory {
    /// Compares all that is recorded with what really happened.
    pub(super) fn check_end(&self) -> Result<(), String> {
        for (run, of_run) in self.runs.iter().enumerate() {
            let doubts = match &of_run.state {
                EngineState::New | EngineState::Running => return Err(self.unfinished()),
                EngineState::InDoubt(doubts) => doubts.as_slice(),
                EngineState::Finished => &[],
            };
            let recorded = self.recorded(&of_run.id)?;
            for (node, truth) in self.truth.run(run).nodes.iter().enumerate() {
                let in_doubt = doubts.iter().find(|doubt| doubt.0 == node).map(|doubt| doubt.1);
                check_node(node, truth, &recorded, in_doubt)
                    .map_err(|wrong| format!("run r{run}, node n{node}: {wrong}"))?;
            }
        }
        let findings = answer_at_once(self.journal.verify()).map_err(|err| err.to_string())?;
        match findings.first() {
            None => Ok(()),
            Some(finding) => Err(format!("{}: {}", finding.rule, finding.detail)),
        }
    }

    fn recorded(&self, run: &RunId) -> Result<RecordedRun, String> {
        let rows = answer_at_once(self.journal.calls(CallQuery::of_run(run.clone())));
        let late = answer_at_once(self.journal.late_outcomes(run));
        let (rows, late) =
            (rows.map_err(|err| err.to_string())?, late.map_err(|err| err.to_string())?);
        Ok(RecordedRun { rows, late })
    }
}

/// Compares the rows of a node with what really happened. `in_doubt` is the number of a call that waits for a settlement.
fn check_node(
    node: usize,
    truth: &NodeTruth,
    recorded: &RecordedRun,
    in_doubt: Option<u32>,
) -> Result<(), String> {
    let effect = effect_of(node);
    let rows: Vec<&CallRow> =
        recorded.rows.iter().filter(|row| node_of(row) == Some(node)).collect();
    let Some(latest) = rows.iter().map(|row| row.seq).max() else {
        return Err("it has no row".to_owned());
    };
    for row in &rows {
        let expected = if row.seq == latest { in_doubt } else { None };
        check_row(row, truth, expected == Some(row.seq), row.seq == latest)?;
    }
    for (seq, intent) in &truth.intents {
        let is_recorded = rows.iter().any(|row| row.seq == *seq);
        if intent.acts > 0 && effect != Effect::Read && !is_recorded {
            return Err(format!("call {seq} was executed and has no row"));
        }
        let is_kept = recorded
            .late
            .iter()
            .any(|late| late.call.scope.node == format!("n{node}") && late.call.seq == *seq);
        if intent.was_refused && !is_kept {
            return Err(format!("the outcome of call {seq} was refused and not kept as late"));
        }
    }
    let (acts, repeats) = (truth.acts(), truth.repeats());
    if effect == Effect::Once && acts > 1 + repeats {
        return Err(format!(
            "it happened {acts} times, and persons had it repeated {repeats} times"
        ));
    }
    let was_refused = rows.iter().any(|row| row.status == CallStatus::Refused);
    if in_doubt.is_none() && acts == 0 && !was_refused {
        return Err("it was answered and never happened".to_owned());
    }
    Ok(())
}

fn check_row(
    row: &CallRow,
    truth: &NodeTruth,
    is_waiting: bool,
    is_latest: bool,
) -> Result<(), String> {
    let acts = truth.intents.get(&row.seq).map_or(0, |intent| intent.acts);
    let fits = match (row.status, row.verdict) {
        (CallStatus::Unknown, None) if is_waiting => row.effect == Effect::Once,
        (_, _) if is_waiting => false,
        // No person allowed it, so it was not executed under this number.
        (CallStatus::Refused, None) => acts == 0 && is_latest,
        (CallStatus::Succeeded, None) => acts == 1,
        (CallStatus::Succeeded, Some(_)) => truth.acts() > 0,
        (CallStatus::Failed, Some(SettlementVerdict::NotHappened))
        | (CallStatus::Unknown, Some(SettlementVerdict::Retry)) => !is_latest,
        // A call that is safe to repeat was repeated.
        (CallStatus::Unknown, None) => row.effect == Effect::Idempotent && !is_latest,
        (CallStatus::Intended | CallStatus::Failed, _)
        | (CallStatus::Unknown | CallStatus::Refused, Some(_)) => false,
    };
    match fits {
        true => Ok(()),
        false => Err(format!(
            "call {} is recorded as {} (verdict {:?}) and was executed {acts} times",
            row.seq, row.status, row.verdict
        )),
    }
}
