//! Drives a checked plan through the pipeline. Every node is a call of its run, in a node of its own: `n0`, `n1` and so on;
//! its retries are attempts of it. What was recorded is recalled, so a run that was killed at any moment is gone on with
//! by driving it again. What is started when is the schedule's business, and whether a call may execute is the
//! pipeline's; here is only what stands between them. No model has a say in any of it.

mod attempt;
mod danger;
mod error;
mod event;
mod kept;
pub mod limits;
mod options;
mod outcome;
mod past;
mod reports;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use haft::{Call, Place, Resume, Run, RunError, Session};
use haft_contract::RunId;
use haft_journal::{Journal, RunQuery};
use serde::Serialize;
use serde_json::Value;
use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::checked::{CheckedNode, CheckedPlan};
use crate::plan::{NodeId, Plan};
use crate::reference::Source;
use crate::schedule::{Command, Ended, Happening, Hindrance, Schedule};
use crate::trace::{NodeStatus, NodeTiming, Timings, Trace, TracedNode, shown_inputs};
use attempt::{Answered, Attempt, How};
use danger::Permits;
use outcome::Outcome;
use past::{Past, scope_name};
use reports::Reports;

pub use crate::schedule::{Backoff, Bounds, Ending, ToolBounds};
pub use error::DriveError;
pub use event::{Event, EventSink, WaitsFor};
pub use kept::{PLAN_TOOL, plan_tool, recorded, users_of_answer};
pub use options::{Allow, Asking, Options, Start};

/// What became of a plan that was driven.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Driven {
    /// The run.
    pub run: RunId,
    /// What became of each node.
    pub trace: Trace,
    /// The calls that nobody knows the end of, in the order of their nodes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<Doubt>,
    /// How long it took.
    pub timings: Timings,
}

/// A call that may or may not have happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Doubt {
    /// The node that made it.
    pub node: NodeId,
    /// The journal's name of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// What is known, and how to settle it. After that the run can be gone on with.
    pub text: String,
}

/// Drives a plan until nothing is left to do, or something stops it.
///
/// The runtime must have [`plan_tool`] registered, and rules must allow it. Its journal is `journal`. The session's front end
/// should be [`haft::PLAN_FRONT_END`], so that nobody else makes calls in the run. Dropping the future cancels what runs.
pub async fn drive(
    session: &Session,
    journal: &Arc<dyn Journal>,
    plan: &CheckedPlan,
    options: Options,
) -> Result<Driven, DriveError> {
    plan.check_input(options.input.as_ref()).map_err(DriveError::Input)?;
    let (plan_text, input, start) = (plan.plan(), options.input.as_ref(), options.start);
    if start == Start::New && !is_free(session, &**journal, plan_text, &options).await? {
        return Err(DriveError::RunExists(options.run));
    }
    // Also a new run is driven like one that is gone on with: whoever comes in between begins nothing anew.
    let run = session.resume(options.run.clone(), Resume::Rejudge);
    match kept::keep(&run, plan_text, input).await {
        Err(DriveError::Run(RunError::Diverged(_))) if start == Start::New => {
            return Err(DriveError::RunExists(options.run));
        }
        kept => kept?,
    }
    // The run is this process's by now, so nobody else adds to its past.
    let past = match start {
        Start::New => Past::default(),
        Start::Resume | Start::RetryFailed => {
            Past::read(&**journal, &options.run, plan, start).await?
        }
    };
    Driver::new(plan, run, past, options).drive().await
}

/// Returns whether a run of that name can be begun: there is none, or it was begun in the same way and came no further than
/// to keep this very plan.
async fn is_free(
    session: &Session,
    journal: &dyn Journal,
    plan: &Plan,
    options: &Options,
) -> Result<bool, DriveError> {
    let named = RunQuery { run: Some(options.run.clone()), ..RunQuery::default() };
    let Some(row) = journal.runs(named).await?.pop() else { return Ok(true) };
    let is_alike = session.begins_like(&row);
    Ok(is_alike
        && kept::is_all_there_is(journal, &options.run, plan, options.input.as_ref()).await?)
}

/// A plan that is being driven.
struct Driver<'p> {
    plan: &'p CheckedPlan,
    run: Run,
    past: Past,
    schedule: Schedule,
    permits: Arc<Permits>,
    reports: Reports,
    options: Options,
    nodes: Vec<TracedNode>,
    timings: Vec<Option<NodeTiming>>,
    doubts: Vec<Doubt>,
    /// Attempts that are being made.
    attempts: JoinSet<Answered>,
    stops: HashMap<NodeId, CancellationToken>,
    /// What will happen because of time alone.
    timers: JoinSet<Happening>,
    /// What has happened and was not looked at yet.
    happened: VecDeque<Happening>,
    started: Instant,
    /// Why haft cannot say what happened, if it cannot.
    failure: Option<RunError>,
    ending: Option<Ending>,
}

impl<'p> Driver<'p> {
    fn new(plan: &'p CheckedPlan, run: Run, past: Past, options: Options) -> Self {
        let recorded = past.attempts_recorded(plan);
        let traced = |node: &CheckedNode| TracedNode::new(node.id(), node.contract().id.clone());
        let permits = Permits::new(plan, options.allow.clone(), options.asking.clone());
        Self {
            schedule: Schedule::new(plan, &options.bounds, &recorded),
            nodes: plan.nodes().iter().map(traced).collect(),
            timings: vec![None; plan.nodes().len()],
            doubts: Vec::new(),
            permits: Arc::new(permits),
            reports: Reports::to(Arc::clone(&options.events)),
            attempts: JoinSet::new(),
            stops: HashMap::new(),
            timers: JoinSet::new(),
            happened: VecDeque::from([Happening::Begun]),
            started: Instant::now(),
            failure: None,
            ending: None,
            plan,
            run,
            past,
            options,
        }
    }

    async fn drive(mut self) -> Result<Driven, DriveError> {
        let nodes = self.plan.nodes().len();
        self.report(Event::PlanStarted { run: self.options.run.clone(), nodes });
        let (mut is_stopping, mut is_aborting) = (false, false);
        let ending = loop {
            while let Some(happening) = self.happened.pop_front() {
                self.advance(happening);
            }
            if let Some(ending) = self.ending.take() {
                break ending;
            }
            let (stop, abort) = (self.options.stop.clone(), self.options.abort.clone());
            tokio::select! {
                biased;
                () = abort.cancelled(), if !is_aborting => {
                    is_aborting = true;
                    self.happened.push_back(Happening::ToldToAbort);
                }
                () = stop.cancelled(), if !is_stopping => {
                    is_stopping = true;
                    self.happened.push_back(Happening::ToldToStop);
                }
                recorded = self.reports.next(), if self.reports.are_waiting() => {
                    if let Err(failure) = recorded {
                        self.fail(failure);
                    }
                }
                Some(answered) = self.attempts.join_next() => self.answered(answered)?,
                Some(happening) = self.timers.join_next() => self.happened.extend(happening),
            }
        };
        if let Err(failure) = self.reports.finish().await {
            self.failure.get_or_insert(failure);
        }
        self.finish(ending)
    }

    fn report(&mut self, event: Event) {
        self.reports.report(event);
    }

    /// Lets what runs come to its end, and nothing more start: haft cannot say what happened.
    fn fail(&mut self, failure: RunError) {
        self.failure.get_or_insert(failure);
        self.happened.push_back(Happening::ToldToAbort);
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn advance(&mut self, happening: Happening) {
        let now_ms = self.now_ms();
        for command in self.schedule.handle(happening, now_ms) {
            match command {
                Command::Start { node, attempt } => self.start(node, attempt),
                Command::RetryIn { node, delay_ms } => {
                    self.retrying(node, delay_ms);
                    self.in_ms(delay_ms, Happening::RetryDue { node });
                }
                Command::WakeAt { at_ms } => {
                    self.in_ms(at_ms.saturating_sub(now_ms), Happening::TimeCame);
                }
                Command::Skip { node, because_of } => {
                    self.report(Event::NodeSkipped { node, because_of });
                }
                Command::Cancel { node } => {
                    if let Some(stop) = self.stops.get(&node) {
                        stop.cancel();
                    }
                }
                Command::Wait { node, hindrance } => self.waits(node, hindrance, now_ms),
                Command::Done(ending) => self.ending = Some(ending),
            }
        }
    }

    fn waits(&mut self, id: NodeId, hindrance: Hindrance, now_ms: u64) {
        let resources = self.plan.node(id).map_or(&[][..], CheckedNode::resources);
        let waits_for = match hindrance {
            Hindrance::Resource { place, user } => WaitsFor::Resource {
                resource: resources.get(place).cloned().unwrap_or_default(),
                used_by: user,
            },
            Hindrance::AtOnce(most) => WaitsFor::Concurrency { at_once: most.get() },
            Hindrance::PerMinute { most, opens_at_ms } => WaitsFor::Rate {
                per_minute: most.get(),
                wait_ms: opens_at_ms.saturating_sub(now_ms),
            },
        };
        self.report(Event::NodeWaiting { node: id, waits_for });
    }

    fn in_ms(&mut self, delay_ms: u64, happening: Happening) {
        self.timers.spawn(async move {
            tokio::time::sleep(Duration::from_millis(delay_ms)).await;
            happening
        });
    }

    /// Begins an attempt; one whose references name nothing has failed before it began.
    fn start(&mut self, id: NodeId, attempt: u32) {
        let plan = self.plan;
        let Some(node) = plan.node(id) else { return };
        let tool = node.contract().id.clone();
        self.report(Event::NodeStarted { node: id, tool, attempt });
        let nodes = &self.nodes;
        let outputs = |id: NodeId| nodes.get(id.index())?.output.as_ref();
        match node.resolve(&outputs, self.options.input.as_ref()) {
            Ok(inputs) => self.call(node, attempt, inputs),
            Err(err) => {
                let is_cut = match err.reference.source {
                    Source::Step(id) => nodes.get(id.index()).is_some_and(|node| node.truncated),
                    Source::Input => false,
                };
                let outcome = Outcome::of_reference(&err, is_cut);
                self.conclude(id, outcome);
            }
        }
    }

    fn call(&mut self, node: &CheckedNode, attempt: u32, inputs: Value) {
        let id = node.id();
        if let Some(traced) = self.nodes.get_mut(id.index()) {
            traced.inputs = Some(shown_inputs(&inputs, node.contract()));
        }
        let number = self.past.number_in_run(id, attempt);
        if let Some(answer) = self.past.answer(id, number) {
            let how = How::Remembered(Box::new(answer));
            self.attempts.spawn(std::future::ready(Answered { node: id, how }));
            return;
        }
        let place = Place { node: scope_name(id), iteration: 0, attempt: number };
        let is_answered = self.past.is_answered(id, number);
        let stop = CancellationToken::new();
        self.stops.insert(id, stop.clone());
        let attempt = Attempt {
            node: id,
            run: self.run.clone(),
            call: Call {
                place,
                timeout_ms: Some(node.timeout_ms()),
                ..Call::new(node.contract().id.as_str(), inputs)
            },
            contract: Arc::clone(node.contract()),
            asker: self.options.asking.as_ref().map(|asking| Arc::clone(&asking.asker)),
            permits: (node.contract().dangerous && !is_answered).then(|| Arc::clone(&self.permits)),
            doubtful: self.past.doubtful(id, number).cloned(),
            seq: self.past.next_seq(id, number),
            cancellation: stop,
        };
        self.attempts.spawn(attempt.make());
    }

    fn answered(&mut self, answered: Result<Answered, JoinError>) -> Result<(), DriveError> {
        // An attempt contains the panics of its call, so this would be one of its own.
        let Answered { node: id, how } = answered.map_err(|_| RunError::Panicked)?;
        self.stops.remove(&id);
        let Some(node) = self.plan.node(id) else { return Ok(()) };
        match Outcome::of(how, node) {
            Ok((outcome, recording)) => {
                recording.into_iter().for_each(|recording| self.reports.wait_for(recording));
                self.conclude(id, outcome);
            }
            Err(failure) => {
                self.happened.push_back(Happening::Ended { node: id, how: Ended::Cancelled });
                self.fail(failure);
            }
        }
        Ok(())
    }

    /// Takes down how an attempt ended, and lets the schedule know.
    fn conclude(&mut self, id: NodeId, outcome: Outcome) {
        let how = outcome.how();
        let (Some(traced), Some(node)) = (self.nodes.get_mut(id.index()), self.plan.node(id))
        else {
            return;
        };
        let timing = outcome.timing(id);
        if let Some(doubt) = outcome.doubt(id) {
            self.doubts.push(doubt);
        }
        let log = outcome.log();
        outcome.note(traced);
        let (error, attempts) = (traced.error.clone(), traced.attempts);
        let status = match how {
            Ended::Succeeded => NodeStatus::Succeeded,
            Ended::Failed | Ended::Refused => NodeStatus::Failed,
            Ended::InDoubt => NodeStatus::InDoubt,
            Ended::Cancelled => NodeStatus::Cancelled,
        };
        let is_last = how != Ended::Failed || attempts >= node.attempts_max();
        let (duration_ms, replayed) = (timing.duration_ms, timing.replayed);
        if let Some(place) = self.timings.get_mut(id.index()) {
            *place = Some(timing);
        }
        if is_last {
            let node = id;
            self.report(Event::NodeFinished { node, status, duration_ms, replayed, error, log });
        }
        self.happened.push_back(Happening::Ended { node: id, how });
    }

    fn retrying(&mut self, id: NodeId, delay_ms: u64) {
        if let Some(traced) = self.nodes.get(id.index())
            && let Some(error) = traced.error.clone()
        {
            let attempt = traced.attempts;
            self.report(Event::NodeRetrying { node: id, attempt, delay_ms, error });
        }
    }

    fn finish(mut self, ending: Ending) -> Result<Driven, DriveError> {
        if let Some(failure) = self.failure {
            return Err(failure.into());
        }
        self.reports.report(Event::PlanFinished { ending: ending.clone() });
        let causes = self.schedule.causes(&ending);
        let states = self.schedule.states();
        for ((traced, state), cause) in self.nodes.iter_mut().zip(states).zip(causes) {
            traced.status = NodeStatus::of(state);
            traced.because_of = cause;
        }
        self.doubts.sort_by_key(|doubt| doubt.node);
        let duration_ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(Driven {
            run: self.options.run,
            trace: Trace {
                ending,
                final_output_node: self.plan.final_output_node(),
                nodes: self.nodes,
            },
            doubts: self.doubts,
            timings: Timings { duration_ms, nodes: self.timings.into_iter().flatten().collect() },
        })
    }
}
