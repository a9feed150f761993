//! One piece of durable work: its numbered calls, and the lease to make them.

mod lease;
mod outage_report;
mod registry;
mod tool_ask;
mod tracker;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use haft_contract::{AttemptAddress, CallAddressError, ContentDigest, Envelope, RunId};
use haft_journal::{JournalError, Lease, MessageId, NewRun, SessionDurability, SessionRecord};

use crate::call::{Call, TaskAttempt};
use crate::connection_state::ConnectionState;
use crate::explain::CallExplanation;
use crate::pipeline::{
    self, ArrivedCall, CallLease, EnvelopeTiming, PendingRecord, ResumeMode, RetryWarning,
    RunHistory, load_retry_warning,
};
use crate::run_error::RunError;
use lease::LeaseView;
use outage_report::{HighestProgress, report_outages};
pub(crate) use registry::RunRegistry;
pub use tool_ask::{ToolAsk, ToolAskEnd};
use tracker::RunTracker;

/// A run in which calls are made. Cloning is cheap.
#[derive(Clone)]
pub struct Run {
    /// The state that clones of the handle share.
    state: Arc<RunState>,
}

/// The state of one handle of a run.
struct RunState {
    /// The connection that makes the calls.
    connection: Arc<ConnectionState>,
    /// The id of the run.
    id: RunId,
    /// The runs of the runtime, which take and release leases.
    runs: Arc<RunRegistry>,
    /// The attempts and the lease of the run, which all handles share.
    tracker: Arc<RunTracker>,
    /// The attempts of the run, with the cursors of this handle.
    history: RunHistory,
    /// Set when the run is opened. From then on, a call no longer takes the lease by itself.
    is_opened: AtomicBool,
}

impl Run {
    /// Returns a handle of the run. It takes no lease yet.
    pub(crate) fn new(
        runs: &Arc<RunRegistry>,
        connection: Arc<ConnectionState>,
        id: RunId,
        resume_mode: ResumeMode,
    ) -> Self {
        let tracker = runs.run_tracker(&id);
        let attempts = Arc::clone(&tracker.attempts);
        let history = RunHistory { attempts, cursors: Arc::default(), resume_mode };
        let (runs, is_opened) = (Arc::clone(runs), AtomicBool::new(false));
        Self { state: Arc::new(RunState { connection, id, runs, tracker, history, is_opened }) }
    }

    /// Returns the run's id.
    pub fn id(&self) -> &RunId {
        &self.state.id
    }

    /// Returns whether the questions of calls that bring no asker can be answered, here or through another front end.
    pub fn can_ask(&self) -> bool {
        self.state.connection.asker.is_answerable()
    }

    /// Passes a call through the pipeline.
    ///
    /// Dropping the future cancels the call; its effect until then is still recorded.
    ///
    /// # Errors
    ///
    /// Fails if the journal fails, if another process owns the run, or if the call cannot stand at its place of the
    /// run. A refusal or a failure of the tool is an envelope, not an error. See [`RunError`] for what is recorded.
    pub async fn call(&self, call: Call) -> Result<Envelope, RunError> {
        self.call_with_timing(call, EnvelopeTiming::AfterRecord).await.map(|(envelope, _)| envelope)
    }

    /// Passes a call through the pipeline like [`Run::call`], and returns the answer before its outcome is in the
    /// journal.
    ///
    /// This is for drivers whose further calls depend on the answer. The journal keeps records of those calls only
    /// together with this outcome, so a resumed run has both or neither. The driver must not show the answer to
    /// others until the [`PendingRecord`] succeeds. Failures and refusals are recorded first.
    ///
    /// # Errors
    ///
    /// As those of [`Run::call`].
    pub async fn call_before_record(
        &self,
        call: Call,
    ) -> Result<(Envelope, PendingRecord), RunError> {
        self.call_with_timing(call, EnvelopeTiming::BeforeRecord).await
    }

    /// Passes a call through the pipeline in a separate task, which ends even if the caller does not wait.
    async fn call_with_timing(
        &self,
        mut call: Call,
        leaves: EnvelopeTiming,
    ) -> Result<(Envelope, PendingRecord), RunError> {
        call.cancellation = call.cancellation.child_token();
        let progress = Arc::new(HighestProgress::new(Arc::clone(&call.progress)));
        call.progress = Arc::clone(&progress) as _;
        let cancelled_on_drop = call.cancellation.clone().drop_guard();
        let state = Arc::clone(&self.state);
        let passing = async move {
            let arrived = state.arrived_call(call)?;
            let passed = async {
                // If the run was opened and its lease lost since, the lease is not taken again. Otherwise the driver
                // would continue after calls of another process that it does not know.
                let view = if state.is_opened.load(Ordering::Relaxed) {
                    let held = state.tracker.held_lease_view();
                    held.ok_or_else(|| RunError::NotOpen { run: state.id.clone() })?
                } else {
                    state.lease().await?
                };
                let LeaseView { fencing_token, prior_calls, .. } = view;
                let lease = CallLease { fencing_token, prior_calls };
                let place = (&state.history, &state.connection);
                pipeline::run_pipeline(arrived, lease, leaves, place).await
            };
            let journal = &*state.connection.shared.parts.journal;
            let passed = report_outages(passed, journal, &progress);
            let (envelope, recording) =
                passed.await.inspect_err(|err| state.note_lost_lease(err))?;
            Ok((envelope, recording.inspect_err(move |err| state.note_lost_lease(err))))
        };
        let passed = tokio::spawn(passing).await;
        cancelled_on_drop.disarm();
        passed.unwrap_or_else(|err| {
            Err(if err.is_panic() { RunError::Panicked } else { RunError::ShutDown })
        })
    }

    /// Returns the warning that a driver of this attempt needs first: which effects of earlier attempts may already
    /// have happened. Returns `None` if there are no such effects, as in every first attempt.
    ///
    /// # Errors
    ///
    /// Fails if the address of the attempt is not valid or the journal cannot be read.
    pub async fn retry_warning(
        &self,
        place: &TaskAttempt,
    ) -> Result<Option<RetryWarning>, RunError> {
        let scope = self.state.attempt_address(place)?;
        let journal = &self.state.connection.shared.parts.journal;
        Ok(load_retry_warning(&**journal, &scope).await?)
    }

    /// Explains the decision about a call, without executing or recording it.
    pub(crate) async fn rehearse(&self, call: Call) -> Result<CallExplanation, RunError> {
        let arrived = self.state.arrived_call(call)?;
        pipeline::rehearse(arrived, &self.state.history, &self.state.connection).await
    }

    /// Takes the lease of the run now instead of with its first call.
    ///
    /// This process keeps the lease while this handle or a clone of it exists. A process can still lose the lease,
    /// for example if its machine slept. Calls and all other writes then fail until the run is opened again.
    ///
    /// # Errors
    ///
    /// Names the process that owns the run, if it is another one.
    pub async fn take_lease(&self) -> Result<(), RunError> {
        self.state.lease().await?;
        self.state.is_opened.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Records messages of the session that the run holds, all or none: see
    /// [`SessionJournal::record_session`](haft_journal::SessionJournal::record_session).
    ///
    /// If this process lost the lease, this call does not take it again. Others may have written since, and these
    /// messages would not answer theirs.
    ///
    /// # Errors
    ///
    /// Fails if this process does not have the lease, or if the journal fails. No message is then recorded.
    pub async fn record_session(
        &self,
        records: Vec<SessionRecord>,
        durability: SessionDurability,
    ) -> Result<(), RunError> {
        let lease = self.held_lease()?;
        let journal = &self.state.connection.shared.parts.journal;
        self.note_lost_lease(journal.record_session(&lease, records, durability).await)
    }

    /// Keeps a text in the content store, apart from the rows of the journal. This takes the lease of the run.
    ///
    /// # Errors
    ///
    /// Fails if another process owns the run, or if the content store cannot be written.
    pub async fn keep_content(&self, text: String) -> Result<ContentDigest, RunError> {
        self.state.lease().await?;
        let lease = self.held_lease()?;
        let journal = &self.state.connection.shared.parts.journal;
        self.note_lost_lease(journal.keep_content(&lease, text).await)
    }

    /// Removes all texts of the run from the content store. This does not take a lost lease again.
    ///
    /// # Errors
    ///
    /// Fails if this process does not have the lease, or if the content store cannot be written.
    pub async fn remove_contents(&self) -> Result<(), RunError> {
        let lease = self.held_lease()?;
        let journal = &self.state.connection.shared.parts.journal;
        self.note_lost_lease(journal.remove_contents(&lease).await)
    }

    /// Sets a message of the session and all later ones aside, and returns their number. This does not take a lost
    /// lease again.
    ///
    /// # Errors
    ///
    /// Fails if this process does not have the lease, if the session has no such message, or if the journal fails.
    pub async fn rewind_session(&self, from: &MessageId, at_ms: u64) -> Result<u64, RunError> {
        let lease = self.held_lease()?;
        let journal = &self.state.connection.shared.parts.journal;
        self.note_lost_lease(journal.rewind_session(&lease, from, at_ms).await)
    }

    /// Returns the lease, or an error if this process does not have it.
    fn held_lease(&self) -> Result<Lease, RunError> {
        let lease = self.state.tracker.held_lease();
        lease.ok_or_else(|| RunError::NotOpen { run: self.state.id.clone() })
    }

    /// Drops the lease if the journal says that another process took it.
    fn note_lost_lease<T>(&self, result: Result<T, JournalError>) -> Result<T, RunError> {
        result.map_err(|err| {
            let err = RunError::from(err);
            self.state.note_lost_lease(&err);
            err
        })
    }
}

impl RunState {
    /// Takes in a call with the current tools. Fails if its address is not valid.
    fn arrived_call(&self, call: Call) -> Result<ArrivedCall, RunError> {
        let scope = self.attempt_address(&call.task_attempt)?;
        Ok(ArrivedCall::new(call, scope, self.connection.shared.catalog.current_version()))
    }

    /// Returns the address of an attempt in this run.
    fn attempt_address(&self, place: &TaskAttempt) -> Result<AttemptAddress, CallAddressError> {
        AttemptAddress {
            run: self.id.clone(),
            node: place.node.clone(),
            iteration: place.iteration,
            attempt: place.attempt,
        }
        .validated()
    }

    /// Returns the lease, and takes it if this process does not have it yet. Fails if the run is the run of a plan.
    async fn lease(&self) -> Result<LeaseView, RunError> {
        let parts = &self.connection.shared.parts;
        let new_run = || NewRun {
            id: self.id.clone(),
            front_end: self.connection.front_end.clone(),
            root: parts.roots.workspace().to_string_lossy().into_owned(),
            started_at_ms: parts.clock.now_ms(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            settings: self.connection.recorded_settings(),
        };
        let tenure = self.runs.acquire_lease(&self.tracker, new_run).await?;
        if tenure.driver.admits(&self.connection.front_end) {
            Ok(tenure)
        } else {
            Err(RunError::PlanRun { run: self.id.clone() })
        }
    }

    /// Drops the lease if the error says that another process took it.
    fn note_lost_lease(&self, err: &RunError) {
        let journal_error = match err {
            RunError::Journal(err) => err,
            RunError::Unrecorded { source, .. } => source,
            RunError::Scope(_)
            | RunError::Diverged(_)
            | RunError::PlanRun { .. }
            | RunError::NotOpen { .. }
            | RunError::OtherWorkspace { .. }
            | RunError::Panicked
            | RunError::ShutDown => return,
        };
        if let JournalError::Fenced { fencing_token, .. } = journal_error {
            self.tracker.drop_lease(*fencing_token);
        }
    }
}
