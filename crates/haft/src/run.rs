//! One piece of durable work: the calls that belong together, numbered.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use haft_contract::{CallKey, Envelope, RunId, Scope, ScopeError};
use haft_journal::{AttemptState, JournalError, NewRun};
use tokio::sync::OnceCell;

use crate::call::{Call, Place};
use crate::explain::Explanation;
use crate::pipeline;
use crate::session::SessionState;

/// haft cannot say what happened. What a tool did, or was not allowed to do, is never this but an [`Envelope`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The journal failed. If the call's effect was begun, its intent is in the journal.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The call's place in the run is not valid.
    #[error(transparent)]
    Scope(#[from] ScopeError),
    /// haft itself panicked over the call, which is a bug. If the call's effect was begun, its intent is in the journal.
    #[error("haft panicked over this call, which is a bug; see its row in the journal")]
    Panicked,
    /// The process is shutting down.
    #[error("the runtime was shut down before the call ended; see its row in the journal")]
    ShutDown,
}

/// A run that calls are made in. Cloning is cheap.
#[derive(Clone)]
pub struct Run {
    state: Arc<RunState>,
}

pub(crate) struct RunState {
    pub(crate) session: Arc<SessionState>,
    id: RunId,
    attempts: Arc<Attempts>,
}

/// The attempts of one run, shared by all who make calls in it.
#[derive(Default)]
pub(crate) struct Attempts {
    // Each attempt's counters, loaded from the journal at its first call. Whoever makes a call takes the lock to find
    // its attempt; counting happens under the attempt's own lock. A channel to one counting task would cost every call
    // a switch between tasks.
    by_scope: Mutex<HashMap<Scope, Arc<Attempt>>>,
    /// Set once the journal knows of the run.
    begun: OnceCell<()>,
}

#[derive(Default)]
struct Attempt {
    counters: OnceCell<Mutex<AttemptState>>,
}

/// What the attempt says of one call: its number, and how often this very call was made before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Numbered {
    pub(crate) seq: u32,
    pub(crate) occurrence: u32,
}

impl Run {
    pub(crate) fn new(session: Arc<SessionState>, id: RunId) -> Self {
        let attempts = session.shared.attempts_of(&id);
        Self { state: Arc::new(RunState { session, id, attempts }) }
    }

    /// Returns the run's id.
    pub fn id(&self) -> &RunId {
        &self.state.id
    }

    /// Passes a call through the pipeline.
    ///
    /// Dropping the future cancels the call; what it did until then is recorded all the same.
    pub async fn call(&self, mut call: Call) -> Result<Envelope, RunError> {
        call.cancellation = call.cancellation.child_token();
        let cancelled_on_drop = call.cancellation.clone().drop_guard();
        let state = Arc::clone(&self.state);
        let passed = tokio::spawn(async move { pipeline::pass(call, &state).await }).await;
        cancelled_on_drop.disarm();
        passed.unwrap_or_else(|err| {
            Err(if err.is_panic() { RunError::Panicked } else { RunError::ShutDown })
        })
    }
}

impl Run {
    /// Says what would become of a call, without executing or recording it.
    pub(crate) async fn rehearse(&self, call: Call) -> Result<Explanation, RunError> {
        pipeline::rehearse(call, &self.state).await
    }
}

impl RunState {
    /// Returns the scope that a place names in this run.
    pub(crate) fn scope(&self, place: &Place) -> Result<Scope, ScopeError> {
        Scope {
            run: self.id.clone(),
            node: place.node.clone(),
            iteration: place.iteration,
            attempt: place.attempt,
        }
        .checked()
    }

    async fn begin(&self) -> Result<(), JournalError> {
        let parts = &self.session.shared.parts;
        let run = NewRun {
            id: self.id.clone(),
            front_end: self.session.front_end.clone(),
            root: parts.roots.workspace().to_string_lossy().into_owned(),
            started_at_ms: parts.clock.now_ms(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        };
        parts.journal.begin_run(run).await
    }

    /// Numbers a call of `scope` whose first key is `key`.
    pub(crate) async fn number(&self, scope: &Scope, key: CallKey) -> Result<Numbered, RunError> {
        self.attempts.begun.get_or_try_init(|| self.begin()).await?;
        let attempt = {
            let mut attempts =
                self.attempts.by_scope.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(attempts.entry(scope.clone()).or_default())
        };
        let journal = &self.session.shared.parts.journal;
        let load = || async { journal.attempt(scope).await.map(Mutex::new) };
        let counters = attempt.counters.get_or_try_init(load).await?;
        let mut counters = counters.lock().unwrap_or_else(PoisonError::into_inner);
        counters.last_seq += 1;
        let seq = counters.last_seq;
        let made = counters.occurrences.entry(key.to_string()).or_default();
        let occurrence = *made;
        *made += 1;
        Ok(Numbered { seq, occurrence })
    }
}
