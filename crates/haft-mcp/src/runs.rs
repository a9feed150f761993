//! The runs that one connection works in: its own, and those that its calls name.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use haft::{Run, RunError, Session};
use haft_contract::RunId;
use rmcp::ErrorData;

use crate::limits::RUNS_MAX;

/// The runs of a connection. None is closed before the connection: what a run has counted is loaded once.
pub(crate) struct Runs {
    session: Session,
    own: Run,
    // Written by the first call that names a run, read by every call that names one; the lock is held for a look-up.
    named: Mutex<HashMap<RunId, Run>>,
}

impl Runs {
    pub(crate) fn new(session: Session, own: Run) -> Self {
        Self { session, own, named: Mutex::default() }
    }

    /// Returns the run of that name, or the connection's own.
    pub(crate) fn open(&self, id: Option<RunId>) -> Result<Run, ErrorData> {
        let Some(id) = id.filter(|id| id != self.own.id()) else { return Ok(self.own.clone()) };
        let mut named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        if named.len() >= RUNS_MAX && !named.contains_key(&id) {
            let message = format!(
                "this connection has named {RUNS_MAX} runs, which is the limit: use one of them or \
                 open another connection"
            );
            return Err(ErrorData::invalid_params(message, None));
        }
        Ok(named.entry(id.clone()).or_insert_with(|| self.session.run(id)).clone())
    }
}

/// Says that haft cannot tell what happened.
pub(crate) fn run_error(err: &RunError) -> ErrorData {
    match err {
        RunError::Scope(err) => ErrorData::invalid_params(err.to_string(), None),
        err => ErrorData::internal_error(err.to_string(), None),
    }
}
