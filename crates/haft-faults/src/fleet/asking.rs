//! Asks in a simulated history. Some calls wait for a person before they execute. Two persons answer each ask, at any time, and now and
//! then for something else than the ask shows. The first valid answer counts, and only the owner of the run receives it.

use std::sync::Arc;

use haft_contract::{Envelope, EnvelopeMetadata};
use haft_journal::{
    AskEnd, AskJournal as _, AskQuery, AskRow, AskState, AskVerdict, CallStatus, Journal as _,
    JournalError, NewAsk, NewAskAnswer, Outcome,
};

use super::history::{FleetEvent, FleetHistory};
use super::poll::answer_at_once;
use super::process::{
    ActivityEnding, AskStepAnswer, JournalAnswer, JournalOperation, NodeStanding, ProcessStep,
    RunProcess, WaitingAsk,
};
use super::reply::PlannedReply;

/// Time for a person to answer, in milliseconds.
const ANSWER_MS: u64 = 60_000;

/// Time between two looks at an ask, in milliseconds.
const LOOK_MS: u64 = 2_000;

/// Persons who answer an ask.
const PERSONS: usize = 2;

/// One answer out of so many is about something else than the ask shows.
const MISTAKEN_ONE_IN: u64 = 10;

/// One answer out of so many rejects the call.
const REJECT_ONE_IN: u64 = 4;

impl FleetHistory {
    /// Records that a call waits for a person.
    pub(super) fn open_ask(
        &mut self,
        process: &mut RunProcess,
        node: usize,
        clock_ms: u64,
    ) -> Result<JournalOperation, String> {
        let call = process.planned_call(node, clock_ms);
        let call = call.ok_or_else(|| format!("process {} has no call n{node}", process.id))?;
        let id = format!("ask-{}-{node}-{}", process.id, call.id.seq);
        let waiting = WaitingAsk { id: id.clone(), since_ms: self.agenda.now_ms() };
        process.asks.insert(node, waiting);
        let ask = NewAsk {
            id,
            call: call.id,
            fencing_token: call.fencing_token,
            tool: call.tool,
            front_end: "plan".to_owned(),
            summary: "{}".to_owned(),
            shown: format!("{{\"process\":{},\"node\":{node}}}", process.id),
            now_ms: clock_ms,
            lasts_ms: Some(ANSWER_MS),
        };
        let journal = Arc::clone(&self.journal);
        Ok(Box::pin(async move {
            JournalAnswer::Ask(
                node,
                AskStepAnswer::Opened(journal.open_ask(ask).await.map(Box::new)),
            )
        }))
    }

    /// Looks how an ask stands. One whose time is over ends.
    pub(super) fn look_at_ask(
        &self,
        process: &RunProcess,
        node: usize,
        clock_ms: u64,
    ) -> Result<JournalOperation, String> {
        let WaitingAsk { id, since_ms } = process.waiting_ask(node)?;
        let is_over = self.agenda.now_ms() > since_ms + ANSWER_MS;
        let journal = Arc::clone(&self.journal);
        Ok(Box::pin(async move {
            let seen = match is_over {
                true => journal
                    .end_ask(&id, AskEnd::Expired, clock_ms)
                    .await
                    .map(|row| Some(Box::new(row))),
                false => journal
                    .asks(AskQuery::of_id(&id))
                    .await
                    .map(|mut asks| asks.pop().map(Box::new)),
            };
            JournalAnswer::Ask(node, AskStepAnswer::Seen(seen))
        }))
    }

    /// Receives the answer of a person.
    pub(super) fn receive_reply(
        &self,
        process: &RunProcess,
        node: usize,
        clock_ms: u64,
    ) -> Result<JournalOperation, String> {
        let WaitingAsk { id, .. } = process.waiting_ask(node)?;
        let journal = Arc::clone(&self.journal);
        Ok(Box::pin(async move {
            let received =
                journal.receive_answer(&id, clock_ms).await.map(|(row, _)| Box::new(row));
            JournalAnswer::Ask(node, AskStepAnswer::Received(received))
        }))
    }

    /// Records that a call was refused.
    pub(super) fn refuse_call(
        &self,
        process: &RunProcess,
        node: usize,
        clock_ms: u64,
    ) -> Result<JournalOperation, String> {
        let call = process.planned_call(node, clock_ms);
        let call = call.ok_or_else(|| format!("process {} has no call n{node}", process.id))?;
        let outcome = Outcome {
            status: CallStatus::Refused,
            envelope: Envelope::Error {
                error_text: "no person allowed it".to_owned(),
                metadata: EnvelopeMetadata::default(),
            },
            finished_at_ms: clock_ms,
        };
        let journal = Arc::clone(&self.journal);
        Ok(Box::pin(async move {
            JournalAnswer::Ask(node, AskStepAnswer::Refused(journal.refuse(call, outcome).await))
        }))
    }

    /// Receives an answer of the journal about an ask. Returns how the process ends, if it does.
    pub(super) fn go_on_asking(
        &mut self,
        process: &mut RunProcess,
        node: usize,
        answer: AskStepAnswer,
    ) -> Result<Option<ActivityEnding>, String> {
        let (delay_ms, step) = match answer {
            AskStepAnswer::Opened(Ok(row)) => {
                self.plan_replies(&row);
                (LOOK_MS, ProcessStep::LookAtAsk(node))
            }
            AskStepAnswer::Seen(Ok(None)) => return Err("an ask is not there any more".to_owned()),
            AskStepAnswer::Seen(Ok(Some(row))) => match row.state {
                AskState::Pending => (LOOK_MS, ProcessStep::LookAtAsk(node)),
                AskState::Answered => (1, ProcessStep::ReceiveReply(node)),
                AskState::Expired => (1, ProcessStep::Refuse(node)),
                AskState::Withdrawn => return Ok(self.lose_run(process, node)),
            },
            AskStepAnswer::Received(Ok(row)) => {
                self.counts.answers += 1;
                let verdict = row.answer.map(|answer| answer.verdict);
                if verdict != self.truth.reply(&row.id) {
                    return Err(format!("ask {} was received with another answer", row.id));
                }
                match verdict {
                    Some(AskVerdict::Once) => (1, ProcessStep::Intend(node)),
                    _ => (1, ProcessStep::Refuse(node)),
                }
            }
            AskStepAnswer::Refused(Ok(())) => {
                process.end_node(node, NodeStanding::Done);
                return Ok(self.go_on(process));
            }
            AskStepAnswer::Opened(Err(err))
            | AskStepAnswer::Seen(Err(err))
            | AskStepAnswer::Received(Err(err))
            | AskStepAnswer::Refused(Err(err)) => match err {
                JournalError::Fenced { .. } => return Ok(self.lose_run(process, node)),
                JournalError::Failed { .. } => return Ok(Some(ActivityEnding::TryAgain)),
                err => return Err(format!("run r{}, node n{node}: {err}", process.run)),
            },
        };
        self.agenda.add_in(delay_ms, FleetEvent::Step { process: process.id, step });
        Ok(None)
    }

    /// Ends a node because another process has the run. Returns how the process ends, if it does.
    pub(super) fn lose_run(
        &mut self,
        process: &mut RunProcess,
        node: usize,
    ) -> Option<ActivityEnding> {
        process.is_replaced = true;
        process.end_node(node, NodeStanding::Open(0));
        self.go_on(process)
    }

    /// Lets persons answer an ask, each in time or too late.
    fn plan_replies(&mut self, ask: &AskRow) {
        for _ in 0..PERSONS {
            let is_mistaken = self.random.one_in(MISTAKEN_ONE_IN);
            let shown_sha256 = if is_mistaken { "0".repeat(64) } else { ask.shown.sha256.clone() };
            let reply = PlannedReply { ask: ask.id.clone(), shown_sha256, is_mistaken };
            let delay_ms = self.random.below(2 * ANSWER_MS);
            self.agenda.add_in(delay_ms, FleetEvent::Reply(reply));
        }
    }

    /// A person answers an ask.
    pub(super) fn reply(&mut self, reply: PlannedReply) -> Result<(), String> {
        let PlannedReply { ask, shown_sha256, is_mistaken } = reply;
        let verdict = match self.random.one_in(REJECT_ONE_IN) {
            true => AskVerdict::Reject,
            false => AskVerdict::Once,
        };
        let answer = NewAskAnswer {
            ask: ask.clone(),
            verdict,
            by: "a person".to_owned(),
            through: "asks".to_owned(),
            shown_sha256,
            words: None,
            edited_input: None,
            now_ms: self.machines[0].clock_ms(self.agenda.now_ms()),
        };
        self.store.set_writer(None);
        match answer_at_once(self.journal.answer_ask(answer)) {
            Ok(_) if is_mistaken => Err(format!("ask {ask}: an answer to something else counted")),
            Ok(_) if self.truth.reply(&ask).is_some() => {
                Err(format!("ask {ask}: a second answer counted"))
            }
            Ok(_) => {
                self.truth.note_reply(ask, verdict);
                Ok(())
            }
            Err(JournalError::AskEnded { .. }) => Ok(()),
            Err(JournalError::AskDiffers { .. }) if is_mistaken => Ok(()),
            Err(err) => Err(format!("ask {ask}: {err}")),
        }
    }
}
