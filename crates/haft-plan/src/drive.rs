//! Drives a checked plan through the pipeline. Every node of the plan is a call in a separate node of the run: `n0`, `n1` and
//! so on. Its retries are attempts of that node. Recorded answers are recalled, so a run that was killed at any moment can
//! be resumed by driving it again. The schedule decides when a node starts, and the pipeline decides whether a call may
//! execute. No model decides anything here.

mod attempt;
mod dangerous_tools;
mod error;
mod event;
mod event_reporter;
mod finished_plan;
mod node_scope;
mod options;
mod outcome;
mod past_attempts;
mod recorded_plan;
mod repetition;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use haft::{Call, Connection, ResumeMode, Run, RunError, TaskAttempt};
use haft_contract::{RunId, Tool};
use haft_journal::{Journal, RunQuery};
use serde::Serialize;
use serde_json::Value;
use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::checked::{CheckedNode, CheckedPlan};
use crate::node_id::NodeId;
use crate::node_tools::{agent_node_tool, person_node_tool};
use crate::reference::ReferenceSource;
use crate::schedule::{
    NodeAttemptEnding, NodeStartBlocker, PlanSchedule, ScheduleCommand, ScheduleEvent,
};
use crate::trace::{NodeStatus, NodeTiming, PlanTimings, PlanTrace, TracedNode, shown_inputs};
use attempt::{AttemptAnswer, FinishedAttempt, NodeAttempt};
use dangerous_tools::DangerousToolDecisions;
use event_reporter::PlanEventReporter;
use node_scope::scope_name;
use outcome::NodeOutcome;
use past_attempts::PastAttempts;
use repetition::add_iteration_note;

pub use crate::node_tools::{AGENT_NODE_TOOL, PERSON_NODE_TOOL};
pub use crate::schedule::{NodeRetryBackoff, PlanBounds, PlanEnding, PlanToolBounds};
pub use error::PlanRunError;
pub use event::{NodeWaitReason, PlanEvent, PlanEventSink};
pub use finished_plan::finished_plan;
pub use options::{AllowedDangerousTools, DangerousToolAsker, PlanRunOptions, RunStartMode};
pub use outcome::InDoubtNode;
pub use recorded_plan::{PLAN_TOOL, nodes_using_call, plan_tool, recorded_plan};

/// Returns the tools that a driver of plans calls for its own purposes: the one that keeps plans, and those behind agent nodes
/// and person nodes. A runtime that drives plans has them all, and offers none of them to models.
pub fn plan_tools() -> [Tool; 3] {
    [plan_tool(), agent_node_tool(), person_node_tool()]
}

/// The bounds of driving a plan.
pub mod limits {
    pub use crate::drive_limits::*;
}

/// The result of driving a plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlanRunResult {
    /// The run.
    pub run: RunId,
    /// The result of each node.
    pub trace: PlanTrace,
    /// The calls in doubt, in the order of their nodes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<InDoubtNode>,
    /// How long it took.
    pub timings: PlanTimings,
}

/// Drives a plan until nothing is left to do, or something stops it.
///
/// The runtime must have the [`plan_tools`] registered, and rules must allow them. Its journal is `journal`. The session's front end
/// should be [`haft::PLAN_FRONT_END`], so that no other caller makes calls in the run. Dropping the future cancels what runs.
pub async fn run_plan(
    session: &Connection,
    journal: &Arc<dyn Journal>,
    plan: &CheckedPlan,
    options: PlanRunOptions,
) -> Result<PlanRunResult, PlanRunError> {
    plan.check_input(options.input.as_ref()).map_err(PlanRunError::Input)?;
    let (input, start) = (options.input.as_ref(), options.start);
    if start == RunStartMode::New {
        let named = RunQuery { run: Some(options.run.clone()), ..RunQuery::default() };
        // A run that this origin began, and in which only this plan was recorded, is as good as a new one.
        if let Some(row) = journal.runs(named).await?.pop()
            && !(session.is_same_origin(&row)
                && recorded_plan::has_only_this_plan(&**journal, &options.run, plan, input).await?)
        {
            return Err(PlanRunError::RunExists(options.run));
        }
    }
    // A new run is driven like a resumed one: if another process drove it in between, its calls are recalled.
    let run = session.resume(options.run.clone(), ResumeMode::Rejudge);
    let lies_apart = match recorded_plan::record_plan((&run, &**journal), plan, input).await {
        Err(PlanRunError::Run(RunError::Diverged(_))) if start == RunStartMode::New => {
            return Err(PlanRunError::RunExists(options.run));
        }
        kept => kept?,
    };
    // This process owns the run by now, so no other process adds to its past.
    let past = match start {
        RunStartMode::New => PastAttempts::default(),
        RunStartMode::Resume | RunStartMode::RetryFailed => {
            PastAttempts::read(&**journal, &options.run, plan, start).await?
        }
    };
    if past.has_answers() {
        journal.count_progress(&options.run).await?;
    }
    let result = PlanDriver::new(plan, run.clone(), past, options).run_to_end().await?;
    // Nothing of the plan is called any more, also by a resume that retries failed nodes.
    if lies_apart && result.trace.is_success() {
        // The results stand. Contents that cannot be removed now go with the run.
        let _ = run.remove_contents().await;
    }
    Ok(result)
}

/// A plan that is being driven.
struct PlanDriver<'p> {
    plan: &'p CheckedPlan,
    run: Run,
    past_attempts: PastAttempts,
    schedule: PlanSchedule,
    dangerous_tools: Arc<DangerousToolDecisions>,
    reports: PlanEventReporter,
    options: PlanRunOptions,
    nodes: Vec<TracedNode>,
    timings: Vec<Option<NodeTiming>>,
    doubts: Vec<InDoubtNode>,
    /// The answer of the last iteration of each node that is repeated.
    iteration_answers: HashMap<NodeId, Value>,
    /// Attempts that are being made.
    attempts: JoinSet<FinishedAttempt>,
    stops: HashMap<NodeId, CancellationToken>,
    /// The events that time alone brings.
    timers: JoinSet<ScheduleEvent>,
    /// The events that were not handled yet.
    pending_events: VecDeque<ScheduleEvent>,
    started: Instant,
    /// Why haft cannot say what happened, if it cannot.
    failure: Option<RunError>,
    ending: Option<PlanEnding>,
}

impl<'p> PlanDriver<'p> {
    fn new(plan: &'p CheckedPlan, run: Run, past: PastAttempts, options: PlanRunOptions) -> Self {
        let recorded = past.attempts_recorded(plan);
        let traced = |node: &CheckedNode| TracedNode::new(node.id(), node.contract().id.clone());
        let permits =
            DangerousToolDecisions::new(plan, options.allow.clone(), options.asking.clone());
        Self {
            schedule: PlanSchedule::new(plan, &options.bounds, &recorded),
            nodes: plan.nodes().iter().map(traced).collect(),
            timings: vec![None; plan.nodes().len()],
            doubts: Vec::new(),
            iteration_answers: HashMap::new(),
            dangerous_tools: Arc::new(permits),
            reports: PlanEventReporter::new(Arc::clone(&options.events)),
            attempts: JoinSet::new(),
            stops: HashMap::new(),
            timers: JoinSet::new(),
            pending_events: VecDeque::from([ScheduleEvent::PlanStarted]),
            started: Instant::now(),
            failure: None,
            ending: None,
            plan,
            run,
            past_attempts: past,
            options,
        }
    }

    async fn run_to_end(mut self) -> Result<PlanRunResult, PlanRunError> {
        let nodes = self.plan.nodes().len();
        self.report(PlanEvent::PlanStarted { run: self.options.run.clone(), nodes });
        let (mut is_stopping, mut is_aborting) = (false, false);
        let ending = loop {
            while let Some(happening) = self.pending_events.pop_front() {
                self.handle_event(happening);
            }
            if let Some(ending) = self.ending.take() {
                break ending;
            }
            let (stop, abort) = (self.options.stop.clone(), self.options.abort.clone());
            tokio::select! {
                biased;
                () = abort.cancelled(), if !is_aborting => {
                    is_aborting = true;
                    self.pending_events.push_back(ScheduleEvent::AbortRequested);
                }
                () = stop.cancelled(), if !is_stopping => {
                    is_stopping = true;
                    self.pending_events.push_back(ScheduleEvent::StopRequested);
                }
                recorded = self.reports.report_next(), if self.reports.has_pending() => {
                    if let Err(failure) = recorded {
                        self.set_failure(failure);
                    }
                }
                Some(answered) = self.attempts.join_next() => self.finish_attempt(answered)?,
                Some(happening) = self.timers.join_next() => self.pending_events.extend(happening),
            }
        };
        if let Err(failure) = self.reports.finish().await {
            self.failure.get_or_insert(failure);
        }
        self.finish(ending)
    }

    fn report(&mut self, event: PlanEvent) {
        self.reports.report(event);
    }

    /// Lets what runs come to its end, and nothing more start: haft cannot say what happened.
    fn set_failure(&mut self, failure: RunError) {
        self.failure.get_or_insert(failure);
        self.pending_events.push_back(ScheduleEvent::AbortRequested);
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn handle_event(&mut self, happening: ScheduleEvent) {
        let now_ms = self.now_ms();
        for command in self.schedule.handle(happening, now_ms) {
            match command {
                ScheduleCommand::Start { node, iteration, attempt } => {
                    self.start_attempt(node, iteration, attempt);
                }
                ScheduleCommand::RetryIn { node, delay_ms } => {
                    if let Some(traced) = self.nodes.get(node.index())
                        && let Some(error) = traced.error.clone()
                    {
                        let attempt = traced.attempts;
                        self.report(PlanEvent::NodeRetrying { node, attempt, delay_ms, error });
                    }
                    self.send_after(delay_ms, ScheduleEvent::RetryDue { node });
                }
                ScheduleCommand::WakeAt { at_ms } => {
                    self.send_after(at_ms.saturating_sub(now_ms), ScheduleEvent::WakeDue);
                }
                ScheduleCommand::Skip { node, because_of } => {
                    self.report(PlanEvent::NodeSkipped { node, because_of });
                }
                ScheduleCommand::Cancel { node } => {
                    if let Some(stop) = self.stops.get(&node) {
                        stop.cancel();
                    }
                }
                ScheduleCommand::Wait { node, hindrance } => {
                    let resources =
                        self.plan.node(node).map_or(&[][..], |node| node.resources.as_slice());
                    let waits_for = match hindrance {
                        NodeStartBlocker::Resource { place, user } => NodeWaitReason::Resource {
                            resource: resources.get(place).cloned().unwrap_or_default(),
                            used_by: user,
                        },
                        NodeStartBlocker::AtOnce(most) => {
                            NodeWaitReason::Concurrency { at_once: most.get() }
                        }
                        NodeStartBlocker::PerMinute { most, opens_at_ms } => NodeWaitReason::Rate {
                            per_minute: most.get(),
                            wait_ms: opens_at_ms.saturating_sub(now_ms),
                        },
                    };
                    self.report(PlanEvent::NodeWaiting { node, waits_for });
                }
                ScheduleCommand::Done(ending) => self.ending = Some(ending),
            }
        }
    }

    fn send_after(&mut self, delay_ms: u64, happening: ScheduleEvent) {
        self.timers.spawn(async move {
            tokio::time::sleep(Duration::from_millis(delay_ms)).await;
            happening
        });
    }

    /// Begins an attempt; one whose references name nothing has failed before it began.
    fn start_attempt(&mut self, id: NodeId, iteration: u32, attempt: u32) {
        let plan = self.plan;
        let Some(node) = plan.node(id) else { return };
        let tool = node.contract().id.clone();
        self.report(PlanEvent::NodeStarted { node: id, tool, iteration, attempt });
        let nodes = &self.nodes;
        let outputs = |id: NodeId| nodes.get(id.index())?.output.as_ref();
        let mut inputs = match node.resolve(&outputs, self.options.input.as_ref()) {
            Ok(inputs) => inputs,
            Err(err) => {
                let is_cut = match err.reference.source {
                    ReferenceSource::Step(id) => {
                        nodes.get(id.index()).is_some_and(|node| node.truncated)
                    }
                    ReferenceSource::Input => false,
                };
                let outcome = NodeOutcome::from_reference_error(&err, is_cut);
                return self.record_outcome(id, outcome);
            }
        };
        if let Some(answer) = self.iteration_answers.get(&id).filter(|_| node.is_own_work()) {
            add_iteration_note(&mut inputs, iteration, node.iterations_max(), answer);
        }
        if let Some(traced) = self.nodes.get_mut(id.index()) {
            traced.begin_attempt(iteration, attempt, shown_inputs(&inputs, node.contract()));
        }
        let number = self.past_attempts.number_in_run((id, iteration, attempt));
        if let Some(answer) = self.past_attempts.unclear_answer(number) {
            let how = AttemptAnswer::Recalled(Box::new(answer));
            self.attempts.spawn(std::future::ready(FinishedAttempt { node: id, answer: how }));
            return;
        }
        let (_, _, number_in_run) = number;
        let place = TaskAttempt { node: scope_name(id), iteration, attempt: number_in_run };
        let is_answered = self.past_attempts.is_answer_recorded(number);
        let stop = CancellationToken::new();
        self.stops.insert(id, stop.clone());
        let attempt = NodeAttempt {
            node: id,
            run: self.run.clone(),
            call: Call {
                task_attempt: place,
                timeout_ms: Some(node.timeout_ms),
                subagents: Arc::clone(&self.options.agents),
                ..Call::new(node.contract().id.as_str(), inputs)
            },
            contract: Arc::clone(node.contract()),
            asker: self.options.asking.as_ref().map(|asking| Arc::clone(&asking.asker)),
            is_answered,
            dangerous_tools: (node.contract().dangerous && !is_answered)
                .then(|| Arc::clone(&self.dangerous_tools)),
            call_in_doubt: self.past_attempts.call_in_doubt(number).cloned(),
            seq: self.past_attempts.next_seq(number),
            cancellation: stop,
        };
        self.attempts.spawn(attempt.run());
    }

    fn finish_attempt(
        &mut self,
        answered: Result<FinishedAttempt, JoinError>,
    ) -> Result<(), PlanRunError> {
        // An attempt contains the panics of its call, so this would be a panic of the attempt itself.
        let FinishedAttempt { node: id, answer: how } = answered.map_err(|_| RunError::Panicked)?;
        self.stops.remove(&id);
        let Some(node) = self.plan.node(id) else { return Ok(()) };
        match NodeOutcome::from_answer(how, node) {
            Ok((outcome, recording)) => {
                recording.into_iter().for_each(|recording| self.reports.wait_for(recording));
                let iterations = self.nodes.get(id.index()).map_or(1, |node| node.iterations);
                let outcome = outcome.checked_for_repetition(node, iterations);
                self.record_outcome(id, outcome);
            }
            Err(failure) => {
                self.pending_events.push_back(ScheduleEvent::AttemptEnded {
                    node: id,
                    how: NodeAttemptEnding::Cancelled,
                });
                self.set_failure(failure);
            }
        }
        Ok(())
    }

    /// Takes down how an attempt ended, and lets the schedule know.
    fn record_outcome(&mut self, id: NodeId, outcome: NodeOutcome) {
        let how = outcome.ending();
        let (Some(traced), Some(node)) = (self.nodes.get_mut(id.index()), self.plan.node(id))
        else {
            return;
        };
        let timing = outcome.timing(id);
        if let Some(doubt) = outcome.in_doubt_node(id) {
            self.doubts.push(doubt);
        }
        let log = outcome.log();
        outcome.write_to_trace(traced);
        let (error, attempts) = (traced.error.clone(), traced.attempts);
        if how == NodeAttemptEnding::Repeats
            && let Some(answer) = traced.output.take()
        {
            // Only the answer of the last iteration is the output of the node.
            traced.truncated = false;
            self.iteration_answers.insert(id, answer);
        }
        let status = match how {
            NodeAttemptEnding::Succeeded | NodeAttemptEnding::Repeats => NodeStatus::Succeeded,
            NodeAttemptEnding::Failed | NodeAttemptEnding::Refused => NodeStatus::Failed,
            NodeAttemptEnding::InDoubt => NodeStatus::InDoubt,
            NodeAttemptEnding::Cancelled => NodeStatus::Cancelled,
        };
        let is_last = match how {
            NodeAttemptEnding::Repeats => false,
            NodeAttemptEnding::Failed => attempts >= node.attempts_max(),
            NodeAttemptEnding::Succeeded
            | NodeAttemptEnding::Refused
            | NodeAttemptEnding::InDoubt
            | NodeAttemptEnding::Cancelled => true,
        };
        let iteration = traced.iterations.saturating_sub(1);
        let (duration_ms, replayed) = (timing.duration_ms, timing.replayed);
        if let Some(place) = self.timings.get_mut(id.index()) {
            *place = Some(timing);
        }
        if how == NodeAttemptEnding::Repeats {
            self.report(PlanEvent::NodeRepeating { node: id, iteration, duration_ms, replayed });
        }
        if is_last {
            let node = id;
            self.report(PlanEvent::NodeFinished {
                node,
                status,
                duration_ms,
                replayed,
                error,
                log,
            });
        }
        self.pending_events.push_back(ScheduleEvent::AttemptEnded { node: id, how });
    }

    fn finish(mut self, ending: PlanEnding) -> Result<PlanRunResult, PlanRunError> {
        if let Some(failure) = self.failure {
            return Err(failure.into());
        }
        self.reports.report(PlanEvent::PlanFinished { ending: ending.clone() });
        let causes = self.schedule.causes(&ending);
        let states = self.schedule.states();
        for ((traced, state), cause) in self.nodes.iter_mut().zip(states).zip(causes) {
            traced.status = NodeStatus::of(state);
            traced.because_of = cause;
        }
        self.doubts.sort_by_key(|doubt| doubt.node);
        let duration_ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(PlanRunResult {
            run: self.options.run,
            trace: PlanTrace {
                ending,
                final_output_node: self.plan.plan.final_output_node,
                nodes: self.nodes,
            },
            doubts: self.doubts,
            timings: PlanTimings {
                duration_ms,
                nodes: self.timings.into_iter().flatten().collect(),
            },
        })
    }
}
