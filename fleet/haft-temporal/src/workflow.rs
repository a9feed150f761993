//! The workflow: one run of haft, from its placement to its result. It decides when the run is driven again and waits for
//! settlements. All effects are in activities.

use std::collections::VecDeque;
use std::pin::pin;
use std::time::Duration;

use temporalio_common::RetryPolicy;
use temporalio_common::error::IncomingError;
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::workflows::select;
use temporalio_sdk::{
    ActivityCancellationType, ActivityExecutionError, ActivityOptions, ApplicationFailure,
    MemoValue, SyncWorkflowContext, WorkflowContext, WorkflowContextView, WorkflowResult,
    WorkflowTermination,
};

use crate::activities::{PlacementActivities, RunActivities};
use crate::asks::AnswerActivities;
use crate::ending::IN_DOUBT;
use crate::placement::{answers_queue, labels_queue, workspace_queue};
use crate::request::{
    ASKS_MAX, AskReply, AskReport, PendingAsk, RunAnswer, RunFailure, RunPhase, RunPlacement,
    RunRequest, RunStatus, SETTLEMENTS_MAX, Settlement, SettlementReport,
};

/// The memo that has the state of a run. It can be read while no worker runs.
pub(crate) const STATUS_MEMO: &str = "haft_status";

/// The longest time of one execution of the activity. Temporal then resumes the run.
const RUN_TIMEOUT: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The longest time that a worker takes to answer a placement or a settlement.
const SHORT_TIMEOUT: Duration = Duration::from_secs(60);

/// The longest time until a worker took an answer. The ask may have ended meanwhile.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// Time between two tries of an activity whose worker died.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
const RETRY_INTERVAL_MAX: Duration = Duration::from_secs(30);

/// One run of haft.
#[workflow]
pub(crate) struct HaftRun {
    request: RunRequest,
    status: RunStatus,
    is_resume_asked: bool,
    settlements: VecDeque<Settlement>,
    replies: VecDeque<AskReply>,
    are_asks_noted: bool,
}

#[workflow_methods]
impl HaftRun {
    #[init]
    fn new(_cx: &WorkflowContextView, request: RunRequest) -> Self {
        Self {
            request,
            status: RunStatus::default(),
            is_resume_asked: false,
            settlements: VecDeque::new(),
            replies: VecDeque::new(),
            are_asks_noted: false,
        }
    }

    /// Drives the run to its result.
    #[run]
    pub(crate) async fn run(cx: &mut WorkflowContext<Self>) -> WorkflowResult<RunAnswer> {
        let workspace = match place(cx).await {
            Ok(workspace) => workspace,
            Err(err) => return Err(end(cx, err)),
        };
        let queue = workspace_queue(cx.task_queue(), &workspace);
        let answers = answers_queue(cx.task_queue(), &workspace);
        cx.state_mut(|run| run.status.workspace = Some(workspace));
        loop {
            cx.state_mut(|run| {
                run.is_resume_asked = false;
                run.status.doubts.clear();
            });
            show_phase(cx, RunPhase::Running)?;
            let ended = drive(cx, &queue, &answers).await?;
            cx.state_mut(|run| run.status.asks.clear());
            let err = match ended {
                Ok(answer) => {
                    show_phase(cx, RunPhase::Finished)?;
                    return Ok(answer);
                }
                Err(err) => err,
            };
            let Some(failure) = failure_of(&err).filter(|failure| failure.kind == IN_DOUBT) else {
                return Err(end(cx, err));
            };
            cx.state_mut(|run| run.status.doubts = failure.doubts);
            show_phase(cx, RunPhase::InDoubt)?;
            wait_for_settlement(cx, &queue).await?;
        }
    }

    /// Settles a call in doubt. The run is then resumed.
    #[signal]
    pub(crate) fn settle(&mut self, _cx: &mut SyncWorkflowContext<Self>, settlement: Settlement) {
        if self.settlements.len() < SETTLEMENTS_MAX {
            self.settlements.push_back(settlement);
        }
    }

    /// Resumes a run that waits for a settlement, because a call was settled in the journal.
    #[signal]
    pub(crate) fn resume(&mut self, _cx: &mut SyncWorkflowContext<Self>, _reason: String) {
        self.is_resume_asked = true;
    }

    /// Answers a call that waits for a person.
    #[signal]
    pub(crate) fn answer(&mut self, _cx: &mut SyncWorkflowContext<Self>, reply: AskReply) {
        if self.replies.len() < ASKS_MAX {
            self.replies.push_back(reply);
        }
    }

    /// Notes which calls wait for a person. The worker that drives the run says so.
    #[signal]
    pub(crate) fn note_asks(&mut self, _cx: &mut SyncWorkflowContext<Self>, asks: Vec<PendingAsk>) {
        self.status.asks = asks;
        self.status.asks.truncate(ASKS_MAX);
        self.are_asks_noted = true;
    }

    /// Returns the calls that wait for the answer of a person.
    #[query]
    pub(crate) fn asks(&self, _cx: &WorkflowContextView) -> Vec<PendingAsk> {
        self.status.asks.clone()
    }

    /// Returns how far the run has come.
    #[query]
    pub(crate) fn status(&self, _cx: &WorkflowContextView) -> RunStatus {
        self.status.clone()
    }
}

/// Returns the workspace of the run.
async fn place(cx: &mut WorkflowContext<HaftRun>) -> Result<String, ActivityExecutionError> {
    let (placement, run) = cx.state(|it| (it.request.placement.clone(), it.request.run.clone()));
    match placement {
        RunPlacement::Workspace(workspace) => Ok(workspace),
        RunPlacement::Labels(labels) => {
            let queue = labels_queue(cx.task_queue(), &labels);
            cx.execute_activity(PlacementActivities::place, run, short_options(queue)).await
        }
    }
}

/// Drives the run until its activity ends, and passes on the answers that come meanwhile.
async fn drive(
    cx: &WorkflowContext<HaftRun>,
    queue: &str,
    answers: &str,
) -> WorkflowResult<Result<RunAnswer, ActivityExecutionError>> {
    let request = cx.state(|run| run.request.clone());
    let options = run_options(queue, request.heartbeat_seconds);
    let mut driving = pin!(cx.execute_activity(RunActivities::run_or_resume, request, options));
    loop {
        let waited = select! {
            ended = driving => return Ok(ended),
            waited = cx.wait_condition(|run: &HaftRun| run.are_asks_noted || !run.replies.is_empty()) => waited,
        };
        if waited.is_err() {
            // The run is cancelled, and so is its activity.
            return Ok(driving.await);
        }
        while let Some(reply) = cx.state_mut(|run| run.replies.pop_front()) {
            let options = ActivityOptions::with_schedule_to_close_timeout(ANSWER_TIMEOUT)
                .task_queue(answers.to_owned())
                .retry_policy(retries())
                .build();
            let answered =
                cx.execute_activity(AnswerActivities::answer, reply.clone(), options).await;
            let report = answered.unwrap_or_else(|err| AskReport {
                reply,
                error: Some(format!("no worker passed the answer on: {err}")),
            });
            cx.state_mut(|run| run.status.note_reply(report));
        }
        cx.state_mut(|run| run.are_asks_noted = false);
        show_phase(cx, RunPhase::Running)?;
    }
}

/// Waits until a call of the run was settled, here or in the journal.
async fn wait_for_settlement(cx: &mut WorkflowContext<HaftRun>, queue: &str) -> WorkflowResult<()> {
    loop {
        let waited =
            cx.wait_condition(|run| run.is_resume_asked || !run.settlements.is_empty()).await;
        if waited.is_err() {
            show_phase(cx, RunPhase::Cancelled)?;
            return Err(WorkflowTermination::cancelled());
        }
        let mut is_settled = false;
        while let Some(settlement) = cx.state_mut(|run| run.settlements.pop_front()) {
            let options = short_options(queue.to_owned());
            let settled =
                cx.execute_activity(RunActivities::settle, settlement.clone(), options).await;
            let report = match settled {
                Ok(report) => report,
                Err(err) if err.as_cancelled().is_some() => return Err(end(cx, err)),
                Err(err) => SettlementReport { settlement, error: Some(err.to_string()) },
            };
            is_settled |= report.error.is_none();
            cx.state_mut(|run| {
                run.status.settlements_made += 1;
                run.status.settlements.push(report);
                if run.status.settlements.len() > SETTLEMENTS_MAX {
                    run.status.settlements.remove(0);
                }
            });
        }
        if is_settled || cx.state(|run| run.is_resume_asked) {
            return Ok(());
        }
        show_phase(cx, RunPhase::InDoubt)?;
    }
}

/// Notes how far the run has come, also where people see it without a worker.
fn show_phase(cx: &WorkflowContext<HaftRun>, phase: RunPhase) -> WorkflowResult<()> {
    let status = cx.state_mut(|run| {
        run.status.phase = phase;
        run.status.clone()
    });
    cx.upsert_memo([(STATUS_MEMO, Some(MemoValue::new(status)))])?;
    Ok(())
}

/// Returns the end of a workflow whose activity failed or was cancelled.
fn end(cx: &WorkflowContext<HaftRun>, err: ActivityExecutionError) -> WorkflowTermination {
    let is_cancelled = err.as_cancelled().is_some();
    let phase = if is_cancelled { RunPhase::Cancelled } else { RunPhase::Failed };
    if let Err(termination) = show_phase(cx, phase) {
        return termination;
    }
    if is_cancelled {
        return WorkflowTermination::cancelled();
    }
    let Some(failure) = failure_of(&err) else {
        return err.into();
    };
    ApplicationFailure::builder(anyhow::anyhow!("{}", failure.message))
        .type_name(failure.kind.clone())
        .non_retryable(true)
        .details(failure)
        .build()
        .into()
}

/// Returns what haft said about a failure, if haft ended with one.
fn failure_of(err: &ActivityExecutionError) -> Option<RunFailure> {
    match err.reason()? {
        IncomingError::Application(failure) => failure.details().ok().flatten(),
        _ => None,
    }
}

fn run_options(queue: &str, heartbeat_seconds: u64) -> ActivityOptions {
    ActivityOptions::with_start_to_close_timeout(RUN_TIMEOUT)
        .task_queue(queue)
        .heartbeat_timeout(Duration::from_secs(heartbeat_seconds))
        .retry_policy(retries())
        // A cancelled run has ended when its workflow has.
        .cancellation_type(ActivityCancellationType::WaitCancellationCompleted)
        .build()
}

fn short_options(queue: String) -> ActivityOptions {
    ActivityOptions::with_start_to_close_timeout(SHORT_TIMEOUT)
        .task_queue(queue)
        .retry_policy(retries())
        .build()
}

/// Retries without an end: they are safe, because haft recalls finished work. haft itself stops resuming a run that gets nowhere.
fn retries() -> RetryPolicy {
    RetryPolicy::builder()
        .initial_interval(RETRY_INTERVAL)
        .maximum_interval(RETRY_INTERVAL_MAX)
        .build()
}
