//! One piece of durable work: the calls that belong together, numbered, and the right to make them.

mod attempts;
mod chat;
mod earlier;
mod lease;
mod occurrences;
mod replay;
mod warning;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use haft_contract::{CallId, CallKey, Effect, Envelope, RunId, Scope, ScopeError};
use haft_journal::{CallQuery, CallRow, JournalError, NewRun};

use crate::call::{Call, Place};
use crate::explain::Explanation;
use crate::pipeline::{self, Leaves, Recording};
use crate::session::SessionState;
pub(crate) use attempts::{Attempt, Attempts, DriverId, Numbered, Unheard};
pub(crate) use earlier::Earlier;
use lease::Tenure;
use replay::Cursor;
pub use warning::RetryWarning;

/// haft cannot say what happened. What a tool did, or was not allowed to do, is never this but an [`Envelope`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The journal failed, or somebody else has the run. If the call's effect was begun, its intent is in the journal.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The call was executed, and how it ended could not be recorded.
    #[error("call {call} was begun and its end could not be recorded, so it is in doubt: {source}")]
    Unrecorded {
        /// The call, whose intent is in the journal.
        call: CallId,
        /// What the journal says.
        source: Box<JournalError>,
    },
    /// The call's place in the run is not valid.
    #[error(transparent)]
    Scope(#[from] ScopeError),
    /// The driver calls something else than it did before.
    #[error(transparent)]
    Diverged(#[from] Box<Divergence>),
    /// The run is of a plan, and the call is none of its nodes.
    #[error(
        "the calls of run {run} are the nodes of a plan, so nobody else makes calls in it: nothing was executed; make this call \
         in another run"
    )]
    OfPlan {
        /// The run.
        run: RunId,
    },
    /// The run was never taken, or was taken away.
    #[error(
        "this process does not have run {run}, or no longer: others may have gone on with it since, so this was not done, and what \
         was done before is in the journal; open it again and look at what is there"
    )]
    NotOpen {
        /// The run.
        run: RunId,
    },
    /// The run was begun in another workspace, where paths mean other files.
    #[error(
        "run {run} was begun in {root}, and this is {here}, where its paths mean other files: nothing was executed or recalled; \
         make this call there, or in another run"
    )]
    OfOtherRoot {
        /// The run.
        run: RunId,
        /// The workspace root that it was begun in.
        root: String,
        /// That of the session.
        here: String,
    },
    /// haft itself panicked over the call, which is a bug. If the call's effect was begun, its intent is in the journal.
    #[error("haft panicked over this call, which is a bug; see its row in the journal")]
    Panicked,
    /// The process is shutting down.
    #[error("the runtime was shut down before the call ended; see its row in the journal")]
    ShutDown,
}

/// A call came again under its old name, or in its old place, and is another one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the run has diverged: call {call} was recorded as {recorded_tool} {recorded_input} and came again as {tool} {input}; \
     nothing was executed: make the call that was recorded, or begin another attempt"
)]
pub struct Divergence {
    /// The recorded call.
    pub call: CallId,
    /// The tool that was recorded.
    pub recorded_tool: String,
    /// The input that was recorded, its bodies as digests.
    pub recorded_input: String,
    /// The tool that was called now.
    pub tool: String,
    /// The input that came now, in the same form.
    pub input: String,
}

/// How a driver goes on with an attempt that was begun before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Resume {
    /// It kept a transcript and goes on after it: its calls are new ones.
    #[default]
    Continue,
    /// It starts over: calls that were made before are recalled in whatever order they come, refusals too.
    Replay,
    /// It starts over, and each node makes one call: what was refused is judged anew, and another call than the
    /// recorded one is a divergence.
    Rejudge,
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
    pub(crate) resume: Resume,
    // Set by whoever opens the run; read by each call, which then takes it no more by itself.
    is_opened: AtomicBool,
    // Where a driver that starts over has got to, for each attempt, and the epoch under which that was loaded; whoever
    // makes a call takes the lock to find it.
    cursors: Mutex<HashMap<Scope, (u64, Arc<Cursor>)>>,
}

/// A call that is about to be placed.
pub(crate) struct Placing<'a> {
    pub(crate) scope: &'a Scope,
    pub(crate) first_key: CallKey,
    pub(crate) driver_call_id: Option<&'a str>,
    pub(crate) tool: &'a str,
    pub(crate) input: &'a str,
}

/// Where a call stands.
pub(crate) struct Placed {
    pub(crate) attempt: Arc<Attempt>,
    pub(crate) epoch: u64,
    pub(crate) standing: Standing,
    /// The calls like it that nobody heard the end of, while it is one of them.
    pub(crate) unheard: Option<Unheard>,
    /// How often a driver that starts over made it before.
    pub(crate) counted: Option<u32>,
    /// Keeps a second call of the same name waiting outside until this one is done.
    pub(crate) driver_id: Option<DriverId>,
}

/// Whether a call was made before.
pub(crate) enum Standing {
    New(Numbered),
    Recorded {
        row: Box<CallRow>,
        occurrence: u32,
    },
    /// A call of the same name is on its way.
    UnderWay,
}

impl Run {
    pub(crate) fn new(session: Arc<SessionState>, id: RunId, resume: Resume) -> Self {
        let attempts = session.shared.attempts_of(&id);
        let (is_opened, cursors) = (AtomicBool::new(false), Mutex::default());
        Self { state: Arc::new(RunState { session, id, attempts, resume, is_opened, cursors }) }
    }

    /// Returns the run's id.
    pub fn id(&self) -> &RunId {
        &self.state.id
    }

    /// Passes a call through the pipeline.
    ///
    /// Dropping the future cancels the call; what it did until then is recorded all the same.
    pub async fn call(&self, call: Call) -> Result<Envelope, RunError> {
        self.pass(call, Leaves::Recorded).await.map(|(envelope, _)| envelope)
    }

    /// Passes a call through the pipeline like [`Run::call`], and hands out what a tool answered while its outcome is on the way
    /// to the journal.
    ///
    /// This is for drivers that make further calls of an answer: what those leave in the journal is there only together with
    /// this outcome, so that whoever goes on with the run finds one whenever it finds the other. Nobody else may hear of the
    /// answer before the [`Recording`] has come to a good end. Failures and refusals are recorded first.
    pub async fn call_ahead(&self, call: Call) -> Result<(Envelope, Recording), RunError> {
        self.pass(call, Leaves::Ahead).await
    }

    async fn pass(
        &self,
        mut call: Call,
        leaves: Leaves,
    ) -> Result<(Envelope, Recording), RunError> {
        call.cancellation = call.cancellation.child_token();
        let cancelled_on_drop = call.cancellation.clone().drop_guard();
        let state = Arc::clone(&self.state);
        let passed = tokio::spawn(async move { pipeline::pass(call, leaves, &state).await }).await;
        cancelled_on_drop.disarm();
        passed.unwrap_or_else(|err| {
            Err(if err.is_panic() { RunError::Panicked } else { RunError::ShutDown })
        })
    }

    /// Returns what whoever makes the calls of this attempt has to know first: which effects of earlier attempts may
    /// already have happened. `None` if there are none, which is always so in a first attempt.
    pub async fn retry_warning(&self, place: &Place) -> Result<Option<RetryWarning>, RunError> {
        let scope = self.state.scope(place)?;
        let journal = &self.state.session.shared.parts.journal;
        Ok(warning::of_attempt(&**journal, &scope).await?)
    }

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

    fn new_run(&self) -> NewRun {
        let parts = &self.session.shared.parts;
        NewRun {
            id: self.id.clone(),
            front_end: self.session.front_end.clone(),
            root: parts.roots.workspace().to_string_lossy().into_owned(),
            started_at_ms: parts.clock.now_ms(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            settings: parts.settings.clone(),
        }
    }

    async fn tenure(&self) -> Result<Tenure, RunError> {
        let tenure = self.attempts.tenure(&self.session.shared, || self.new_run()).await?;
        if tenure.plan.admits(&self.session.front_end) {
            Ok(tenure)
        } else {
            Err(RunError::OfPlan { run: self.id.clone() })
        }
    }

    /// Returns what a call has to know of the lease. A run that was opened and taken away since is not taken anew: its driver goes
    /// on after what others may have gone on with.
    async fn tenure_of_call(&self) -> Result<Tenure, RunError> {
        if self.is_opened.load(Ordering::Relaxed) {
            let held = self.attempts.tenure_held();
            return held.ok_or_else(|| RunError::NotOpen { run: self.id.clone() });
        }
        self.tenure().await
    }

    /// Finds out whether a call was made before, and numbers it if it was not.
    pub(crate) async fn place(&self, placing: &Placing<'_>) -> Result<Placed, RunError> {
        let Tenure { epoch, history, .. } = self.tenure_of_call().await?;
        let journal = &self.session.shared.parts.journal;
        let attempt = self.attempts.attempt(&**journal, placing.scope, history).await?;
        let driver_id = match placing.driver_call_id {
            None => None,
            Some(id) => match attempt.claim(id) {
                Some(claimed) => Some(claimed),
                None => {
                    let standing = Standing::UnderWay;
                    let (unheard, counted, driver_id) = (None, None, None);
                    return Ok(Placed { attempt, epoch, standing, unheard, counted, driver_id });
                }
            },
        };
        let cursor = match self.resume {
            Resume::Continue => None,
            Resume::Replay | Resume::Rejudge => {
                Some(self.cursor(placing.scope, epoch, &attempt).await?)
            }
        };
        let counted = cursor.as_ref().map(|cursor| cursor.next(placing.first_key));
        let counted_in = cursor.as_deref().zip(counted);
        let (standing, unheard) = self.standing(placing, &attempt, counted_in).await?;
        Ok(Placed { attempt, epoch, standing, unheard, counted, driver_id })
    }

    /// Finds the recorded call that a call is. One that nobody heard the end of is that call, however the driver goes on:
    /// else a driver that lost an answer would repeat the effect.
    async fn standing(
        &self,
        placing: &Placing<'_>,
        attempt: &Attempt,
        counted: Option<(&Cursor, u32)>,
    ) -> Result<(Standing, Option<Unheard>), RunError> {
        let recorded = match (self.named(placing).await?, counted) {
            (Some(row), _) => {
                let guess = counted.map_or(0, |(_, counted)| counted);
                Some((attempt.occurrence_of(&row, placing.first_key, guess), row))
            }
            (None, Some((cursor, counted))) => self.counted(placing, cursor, counted).await?,
            (None, None) => None,
        };
        let unheard = match &recorded {
            Some((_, row)) if row.effect != Effect::Once => None,
            _ => attempt.unheard(placing.first_key).await,
        };
        match (recorded, unheard) {
            (Some((occurrence, row)), None) => {
                Ok((Standing::Recorded { row: Box::new(row), occurrence }, None))
            }
            (Some((occurrence, row)), Some(unheard)) => {
                // Another call like it may have been made while this one waited for its end.
                let row = Box::new(self.row(placing.scope, row.seq).await?);
                Ok((Standing::Recorded { row, occurrence }, Some(unheard)))
            }
            (None, unheard) => self.unrecorded(placing, attempt, counted, unheard).await,
        }
    }

    /// Returns the recorded call that a driver which starts over has got to.
    async fn counted(
        &self,
        placing: &Placing<'_>,
        cursor: &Cursor,
        counted: u32,
    ) -> Result<Option<(u32, CallRow)>, RunError> {
        if let Some(seq) = cursor.recorded(placing.first_key.occurrence(counted)) {
            let row = self.row(placing.scope, seq).await?;
            // One that its driver named otherwise is another one, however alike they are.
            let is_other = |name: &str| placing.driver_call_id.is_some_and(|id| id != name);
            if !row.driver_call_id.as_deref().is_some_and(is_other) {
                return Ok(Some((counted, row)));
            }
        }
        if self.resume == Resume::Rejudge && cursor.last_seq() > 0 {
            let row = self.row(placing.scope, cursor.last_seq()).await?;
            return Err(divergence(row, placing).into());
        }
        Ok(None)
    }

    /// Returns the first call like this one that nobody heard the end of, or numbers it as a new one.
    async fn unrecorded(
        &self,
        placing: &Placing<'_>,
        attempt: &Attempt,
        counted: Option<(&Cursor, u32)>,
        unheard: Option<Unheard>,
    ) -> Result<(Standing, Option<Unheard>), RunError> {
        if let Some(seq) = unheard.as_ref().and_then(Unheard::first) {
            let row = Box::new(self.row(placing.scope, seq).await?);
            let occurrence = attempt.occurrence_of(&row, placing.first_key, 0);
            if let Some((cursor, counted)) = counted {
                cursor.give_back(placing.first_key, counted);
            }
            return Ok((Standing::Recorded { row, occurrence }, unheard));
        }
        let numbered = match counted {
            Some((cursor, occurrence)) if cursor.is_free(placing.first_key, occurrence) => {
                attempt.number_as(placing.first_key, occurrence)
            }
            Some(_) | None => attempt.number(placing.first_key),
        };
        Ok((Standing::New(numbered), None))
    }

    /// Has a driver that starts over count a call as not made: when it comes again, it is still the same one.
    pub(crate) fn uncount(&self, scope: &Scope, first_key: CallKey, counted: u32) {
        let cursors = self.cursors.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, cursor)) = cursors.get(scope) {
            cursor.give_back(first_key, counted);
        }
    }

    /// Says that the run was taken away, if that is what an error says.
    pub(crate) fn heed(&self, err: &RunError) {
        let journal_error = match err {
            RunError::Journal(err) => err,
            RunError::Unrecorded { source, .. } => source,
            RunError::Scope(_)
            | RunError::Diverged(_)
            | RunError::OfPlan { .. }
            | RunError::NotOpen { .. }
            | RunError::OfOtherRoot { .. }
            | RunError::Panicked
            | RunError::ShutDown => return,
        };
        if let JournalError::Fenced { epoch, .. } = journal_error {
            self.attempts.lose(*epoch);
        }
    }

    /// Returns the call of the attempt that has the name which the driver gave.
    async fn named(&self, placing: &Placing<'_>) -> Result<Option<CallRow>, RunError> {
        let Some(id) = placing.driver_call_id else { return Ok(None) };
        let journal = &self.session.shared.parts.journal;
        match journal.by_driver_id(placing.scope, id).await? {
            Some(row) if row.first_key != placing.first_key.to_string() => {
                Err(divergence(row, placing).into())
            }
            row => Ok(row),
        }
    }

    async fn row(&self, scope: &Scope, seq: u32) -> Result<CallRow, RunError> {
        let call = CallId { scope: scope.clone(), seq };
        let journal = &self.session.shared.parts.journal;
        let mut rows = journal.calls(CallQuery::of_call(call.clone())).await?;
        rows.pop().ok_or_else(|| JournalError::UnknownCall { call }.into())
    }

    /// Returns where the driver has got to. What was recorded before is loaded under each epoch anew: in between, others
    /// may have made calls.
    async fn cursor(
        &self,
        scope: &Scope,
        epoch: u64,
        attempt: &Attempt,
    ) -> Result<Arc<Cursor>, JournalError> {
        let known = |cursors: &HashMap<Scope, (u64, Arc<Cursor>)>| match cursors.get(scope) {
            Some((of_epoch, cursor)) if *of_epoch >= epoch => Some(Arc::clone(cursor)),
            _ => None,
        };
        if let Some(cursor) = known(&self.cursors.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(cursor);
        }
        let recorded = if attempt.is_begun() {
            self.session.shared.parts.journal.recorded(scope).await?
        } else {
            Vec::new()
        };
        let mut cursors = self.cursors.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever came first while this was loading has begun to count.
        if let Some(cursor) = known(&cursors) {
            return Ok(cursor);
        }
        let earlier = cursors.get(scope).map(|(_, cursor)| cursor);
        let cursor = Arc::new(Cursor::new(recorded, earlier.map(Arc::as_ref)));
        cursors.insert(scope.clone(), (epoch, Arc::clone(&cursor)));
        Ok(cursor)
    }
}

fn divergence(row: CallRow, placing: &Placing<'_>) -> Box<Divergence> {
    Box::new(Divergence {
        call: row.id(),
        recorded_tool: row.tool,
        recorded_input: shortened(&row.input),
        tool: placing.tool.to_owned(),
        input: shortened(placing.input),
    })
}

/// Characters of an input that a message shows.
const SHOWN_INPUT_CHARS: usize = 500;

fn shortened(input: &str) -> String {
    match input.char_indices().nth(SHOWN_INPUT_CHARS) {
        Some((end, _)) => format!("{}…", &input[..end]),
        None => input.to_owned(),
    }
}
