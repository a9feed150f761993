//! The steps of the processes of a simulated history. A process takes the lease of its run, recalls what is recorded, records each
//! intent before its effect and each outcome after it, and renews the lease meanwhile. Each answer of the journal is compared with what really happened.

use std::sync::Arc;

use haft_contract::{Effect, Envelope, EnvelopeMetadata};
use haft_journal::{
    CallQuery, CallRow, CallStatus, Intent, Journal, JournalError, JournalMachine, Lease,
    LeaseOwner, LeaseRequest, NewRun, Outcome,
};

use super::history::{FleetEvent, FleetHistory};
use super::poll::poll_once;
use super::process::{
    ActivityEnding, AskStepAnswer, CutOperation, JournalAnswer, JournalOperation, NodeStanding,
    ProcessId, ProcessStep, RunProcess, effect_of, is_asked,
};
use super::report::BrokenRule;
use super::shaky_store::ShakyStore;

/// Time that a lease lasts, and time between two renewals, in milliseconds: those of haft.
const LEASE_MS: u64 = 30_000;
const LEASE_RENEW_MS: u64 = 8_000;

/// The longest time that a process waits for the journal, in milliseconds.
const OUTAGE_MS_MAX: u64 = 20_000;

/// One write out of so many loses its connection during the commit.
const CUT_ONE_IN: u64 = 200;

/// The longest time until the effect of a call, and from there to the end of its tool, in milliseconds.
const ACT_MS_MAX: u64 = 8_000;

impl FleetHistory {
    /// Lets a process take a step. The step of a process that is dead is lost, and that of a machine that stands still comes later.
    pub(super) fn step(&mut self, id: ProcessId, step: ProcessStep) -> Result<(), String> {
        let Some(mut process) = self.processes.remove(&id) else {
            if let ProcessStep::Reconnect(CutOperation { cut, .. }) = step {
                self.store.forget(cut);
            }
            return Ok(());
        };
        let paused_until_ms = self.machines[process.machine].paused_until_ms;
        if paused_until_ms > self.agenda.now_ms() {
            self.processes.insert(id, process);
            self.agenda.add_at(paused_until_ms, FleetEvent::Step { process: id, step });
            return Ok(());
        }
        match self.take_step(&mut process, step)? {
            Some(ending) => self.report(&process, ending),
            None => {
                self.processes.insert(id, process);
            }
        }
        Ok(())
    }

    /// Takes a step. Returns how the process ends, if it does.
    fn take_step(
        &mut self,
        process: &mut RunProcess,
        step: ProcessStep,
    ) -> Result<Option<ActivityEnding>, String> {
        let (id, now_ms) = (process.id, self.agenda.now_ms());
        let machine = &self.machines[process.machine];
        let (clock_ms, journal_back_ms) = (machine.clock_ms(now_ms), machine.journal_back_ms);
        if step.asks_journal() && journal_back_ms > now_ms {
            let is_too_long = journal_back_ms - now_ms > OUTAGE_MS_MAX;
            let (at_ms, step) = match step {
                // The lease has not ended yet, and the next renewal may succeed.
                ProcessStep::Renew => (journal_back_ms, step),
                _ if is_too_long => (now_ms + OUTAGE_MS_MAX, ProcessStep::GiveUp),
                _ => (journal_back_ms, step),
            };
            self.agenda.add_at(at_ms, FleetEvent::Step { process: id, step });
            return Ok(None);
        }
        let journal = Arc::clone(&self.journal);
        let operation: JournalOperation = match step {
            ProcessStep::Open => {
                let (run, request) = (new_run(process, clock_ms), lease_request(process, clock_ms));
                Box::pin(async move {
                    JournalAnswer::Opened(open_and_read(&journal, run, request).await)
                })
            }
            ProcessStep::Intend(node) => {
                let call = process.planned_call(node, clock_ms);
                let call = call.ok_or_else(|| format!("process {id} has no call n{node}"))?;
                Box::pin(async move { JournalAnswer::Intended(node, journal.intend(call).await) })
            }
            ProcessStep::OpenAsk(node) => self.open_ask(process, node, clock_ms)?,
            ProcessStep::LookAtAsk(node) => self.look_at_ask(process, node, clock_ms)?,
            ProcessStep::ReceiveReply(node) => self.receive_reply(process, node, clock_ms)?,
            ProcessStep::Refuse(node) => self.refuse_call(process, node, clock_ms)?,
            ProcessStep::Act(node) => {
                let seq = process.seq_under_way(node);
                self.truth.act((process.run, node, seq))?;
                let delay_ms = 10 + self.random.below(ACT_MS_MAX);
                let step = ProcessStep::Settle(node);
                self.agenda.add_in(delay_ms, FleetEvent::Step { process: id, step });
                return Ok(None);
            }
            ProcessStep::Settle(node) => {
                let intent = process.intents.remove(&node);
                let intent = intent.ok_or_else(|| format!("process {id} has no intent n{node}"))?;
                let outcome = outcome(clock_ms);
                Box::pin(async move {
                    JournalAnswer::Settled(node, journal.settle(intent, outcome).await)
                })
            }
            ProcessStep::Renew => {
                let Some(lease) = process.lease.clone() else { return Ok(None) };
                let request = lease_request(process, clock_ms);
                Box::pin(async move {
                    JournalAnswer::Renewed(journal.renew_lease(lease, request).await)
                })
            }
            ProcessStep::Close(ending) => {
                let Some(lease) = process.lease.clone() else { return Ok(Some(ending)) };
                Box::pin(
                    async move { JournalAnswer::Closed(ending, journal.close_run(lease).await) },
                )
            }
            ProcessStep::Receive(answer) => return self.receive(process, answer),
            ProcessStep::Reconnect(cut) => return self.reconnect(process, cut).map(|()| None),
            ProcessStep::GiveUp => return Ok(Some(ActivityEnding::TryAgain)),
        };
        self.ask_journal(process, operation).map(|()| None)
    }

    /// Brings the journal an operation, whose answer comes a little later, or much later if the connection breaks.
    fn ask_journal(
        &mut self,
        process: &RunProcess,
        mut operation: JournalOperation,
    ) -> Result<(), String> {
        self.store.set_writer(process.lease.as_ref().map(|lease| lease.fencing_token));
        let was_owner = self.truth.is_owner(process.run, process.id);
        let takes_place = self.random.one_in(2);
        let is_cut = self.random.one_in(CUT_ONE_IN);
        let cut = is_cut.then(|| self.store.cut_next_write(takes_place));
        let answer = poll_once(&mut operation);
        self.store.keep_connection();
        let (delay_ms, step) = match (answer, cut) {
            (Some(answer), _) => {
                self.check_answer(process, &answer, was_owner)?;
                (1 + self.random.below(50), ProcessStep::Receive(answer))
            }
            (None, Some(cut)) => {
                self.counts.cuts += 1;
                let back_ms = 500 + self.random.below(OUTAGE_MS_MAX * 3 / 2);
                let is_back = back_ms <= OUTAGE_MS_MAX;
                let was_owner = takes_place.then_some(was_owner);
                let cut = CutOperation { operation, cut, is_back, was_owner };
                (back_ms.min(OUTAGE_MS_MAX), ProcessStep::Reconnect(cut))
            }
            (None, None) => return Err("the journal gave no answer".to_owned()),
        };
        self.agenda.add_in(delay_ms, FleetEvent::Step { process: process.id, step });
        Ok(())
    }

    /// Gets the answer of an operation whose connection broke.
    fn reconnect(&mut self, process: &RunProcess, cut: CutOperation) -> Result<(), String> {
        let CutOperation { mut operation, cut, is_back, was_owner } = cut;
        let is_owner = self.truth.is_owner(process.run, process.id);
        self.store.reconnect(cut, is_back);
        let answer = poll_once(&mut operation);
        let answer = answer.ok_or("the journal gave no answer after a new connection")?;
        self.check_answer(process, &answer, was_owner.unwrap_or(is_owner))?;
        let step = ProcessStep::Receive(answer);
        self.agenda.add_in(1, FleetEvent::Step { process: process.id, step });
        Ok(())
    }

    /// Compares an answer of the journal with what really happened. `was_owner` says whether the process had the run when the journal
    /// decided.
    fn check_answer(
        &mut self,
        process: &RunProcess,
        answer: &JournalAnswer,
        was_owner: bool,
    ) -> Result<(), String> {
        let (id, run) = (process.id, process.run);
        let was_taken = match answer {
            JournalAnswer::Intended(node, answer) => {
                answer.is_ok() && effect_of(*node) != Effect::Read
            }
            JournalAnswer::Settled(_, answer)
            | JournalAnswer::Renewed(answer)
            | JournalAnswer::Closed(_, answer)
            | JournalAnswer::Ask(_, AskStepAnswer::Refused(answer)) => answer.is_ok(),
            JournalAnswer::Ask(
                _,
                AskStepAnswer::Opened(answer) | AskStepAnswer::Received(answer),
            ) => answer.is_ok(),
            // Taking a run is no record, and neither is a look.
            JournalAnswer::Opened(_) | JournalAnswer::Ask(_, AskStepAnswer::Seen(_)) => false,
        };
        if was_taken && !was_owner {
            let token = process.lease.as_ref().map(|lease| lease.fencing_token);
            return Err(format!(
                "run r{run}: the journal took a record of process {id}, which is a former owner (fencing token {token:?})"
            ));
        }
        match answer {
            JournalAnswer::Opened(Ok((lease, rows))) => {
                let takeover = self.truth.open(run, id, lease.fencing_token)?;
                self.counts.takeovers += u64::from(takeover.was_held);
                let is_open = |row: &&CallRow| row.status == CallStatus::Intended;
                if let Some(open) = rows.iter().find(is_open).filter(|_| takeover.is_latest) {
                    return Err(format!(
                        "call {} of an owner that is gone is neither in doubt nor answered",
                        open.id()
                    ));
                }
            }
            JournalAnswer::Settled(node, Err(JournalError::Fenced { .. })) => {
                self.counts.refused += 1;
                self.truth.refuse((run, *node, process.seq_under_way(*node)));
            }
            JournalAnswer::Intended(_, Err(JournalError::Fenced { .. }))
            | JournalAnswer::Renewed(Err(JournalError::Fenced { .. }))
            | JournalAnswer::Closed(_, Err(JournalError::Fenced { .. })) => {
                self.counts.refused += 1;
            }
            JournalAnswer::Closed(_, Ok(())) => self.truth.close(run, id),
            JournalAnswer::Opened(Err(_))
            | JournalAnswer::Intended(..)
            | JournalAnswer::Settled(..)
            | JournalAnswer::Renewed(_)
            | JournalAnswer::Closed(..)
            | JournalAnswer::Ask(..) => {}
        }
        Ok(())
    }

    /// Receives an answer of the journal. Returns how the process ends, if it does.
    fn receive(
        &mut self,
        process: &mut RunProcess,
        answer: JournalAnswer,
    ) -> Result<Option<ActivityEnding>, String> {
        match answer {
            JournalAnswer::Opened(Ok((lease, rows))) => {
                process.lease = Some(lease);
                let repeats_doubts = self.options.broken_rule == Some(BrokenRule::Doubt);
                self.counts.recalled += process.recall(rows, repeats_doubts);
                self.plan_renewal(process);
            }
            JournalAnswer::Opened(Err(JournalError::Stuck { .. })) => {
                return Ok(Some(ActivityEnding::Stuck));
            }
            JournalAnswer::Opened(Err(_)) => return Ok(Some(ActivityEnding::TryAgain)),
            JournalAnswer::Intended(node, Ok(intent)) => {
                self.hold(process, node, intent)?;
                return Ok(None);
            }
            JournalAnswer::Settled(node, Ok(())) => {
                self.counts.calls += 1;
                process.end_node(node, NodeStanding::Done);
            }
            JournalAnswer::Intended(node, Err(err)) | JournalAnswer::Settled(node, Err(err)) => {
                match err {
                    JournalError::Fenced { .. } => return Ok(self.lose_run(process, node)),
                    // The process cannot know whether its record was kept.
                    JournalError::Failed { .. } => return Ok(Some(ActivityEnding::TryAgain)),
                    err => {
                        return Err(format!(
                            "run r{}, node n{node}: a record was not refused as that of a former owner, and not taken: {err}",
                            process.run
                        ));
                    }
                }
            }
            JournalAnswer::Renewed(Err(JournalError::Fenced { .. })) => process.is_replaced = true,
            JournalAnswer::Renewed(_) => {
                let is_heard = !self.machines[process.machine].is_silent(self.agenda.now_ms());
                // The engine tells a process that it gave up to stop.
                process.is_stopping |=
                    is_heard && self.runs[process.run].current != Some(process.id);
                self.plan_renewal(process);
            }
            JournalAnswer::Closed(ending, _) => return Ok(Some(ending)),
            JournalAnswer::Ask(node, answer) => return self.go_on_asking(process, node, answer),
        }
        Ok(self.go_on(process))
    }

    /// Keeps the permission to execute a call, which is used a little later.
    fn hold(
        &mut self,
        process: &mut RunProcess,
        node: usize,
        intent: Intent,
    ) -> Result<(), String> {
        self.truth.intend((process.run, node, intent.call().id.seq))?;
        process.intents.insert(node, intent);
        let (delay_ms, step) = (10 + self.random.below(ACT_MS_MAX), ProcessStep::Act(node));
        self.agenda.add_in(delay_ms, FleetEvent::Step { process: process.id, step });
        Ok(())
    }

    fn plan_renewal(&mut self, process: &RunProcess) {
        let step = ProcessStep::Renew;
        self.agenda.add_in(LEASE_RENEW_MS, FleetEvent::Step { process: process.id, step });
    }

    /// Begins the nodes that can begin, or gives the run back if nothing is left to do. Returns how the process ends, if it does.
    pub(super) fn go_on(&mut self, process: &mut RunProcess) -> Option<ActivityEnding> {
        while let Some((node, seq)) = process.next_node() {
            process.begin_node(node, seq);
            let step = match is_asked(node) {
                true => ProcessStep::OpenAsk(node),
                false => ProcessStep::Intend(node),
            };
            let delay_ms = 1 + self.random.below(100);
            self.agenda.add_in(delay_ms, FleetEvent::Step { process: process.id, step });
        }
        if process.under_way > 0 || process.is_closing {
            return None;
        }
        let ending = process.ending();
        if process.is_replaced {
            return Some(ending);
        }
        process.is_closing = true;
        let step = ProcessStep::Close(ending);
        self.agenda.add_in(1, FleetEvent::Step { process: process.id, step });
        None
    }
}

/// Takes a run, and reads what is recorded of it.
async fn open_and_read(
    journal: &JournalMachine<ShakyStore>,
    run: NewRun,
    request: LeaseRequest,
) -> Result<(Lease, Vec<CallRow>), JournalError> {
    let lease = journal.open_run(run, request).await?;
    let rows = journal.calls(CallQuery::of_run(lease.run.clone())).await?;
    Ok((lease, rows))
}

fn new_run(process: &RunProcess, clock_ms: u64) -> NewRun {
    NewRun {
        id: process.run_id.clone(),
        front_end: "plan".to_owned(),
        root: "/workspace".to_owned(),
        started_at_ms: clock_ms,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        settings: "{}".to_owned(),
    }
}

fn lease_request(process: &RunProcess, clock_ms: u64) -> LeaseRequest {
    let (id, location) =
        (format!("process {}", process.id), format!("machine {}", process.machine));
    let owner = LeaseOwner { id, location };
    LeaseRequest { owner, now_ms: clock_ms, lasts_ms: LEASE_MS }
}

fn outcome(clock_ms: u64) -> Outcome {
    Outcome {
        status: CallStatus::Succeeded,
        envelope: Envelope::Output { data: "done".into(), metadata: EnvelopeMetadata::default() },
        finished_at_ms: clock_ms,
    }
}
