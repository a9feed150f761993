//! The runs that one connection works in: its own, and those that its calls name.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use haft::{Resume, Run, RunError, Session};
use haft_contract::RunId;
use rmcp::ErrorData;

use crate::connection::Explain;
use crate::limits::RUNS_MAX;

/// The runs of a connection. None is closed before the connection: what a run has counted is loaded once.
pub(crate) struct Runs {
    session: Session,
    own: Run,
    own_resume: Resume,
    // Written by the first call that names a run, read by every call that names one; the lock is held for a look-up.
    named: Mutex<HashMap<(RunId, Resume), Run>>,
}

impl Runs {
    /// `own_resume` is how the connection goes on with its own run.
    pub(crate) fn new(session: Session, own: Run, own_resume: Resume) -> Self {
        Self { session, own, own_resume, named: Mutex::default() }
    }

    /// Returns the run of that name, or the connection's own. A connection that starts a run over does so once: all its
    /// calls that say so are of one pass.
    pub(crate) fn open(&self, id: Option<RunId>, resume: Resume) -> Result<Run, ErrorData> {
        let id = id.unwrap_or_else(|| self.own.id().clone());
        if id == *self.own.id() && resume == self.own_resume {
            return Ok(self.own.clone());
        }
        let key = (id, resume);
        let mut named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        if named.len() >= RUNS_MAX && !named.contains_key(&key) {
            let message = format!(
                "this connection has named {RUNS_MAX} runs, which is the limit: use one of them or \
                 open another connection"
            );
            return Err(ErrorData::invalid_params(message, None));
        }
        let open = || self.session.resume(key.0.clone(), resume);
        Ok(named.entry(key.clone()).or_insert_with(open).clone())
    }
}

/// Says that haft cannot tell what happened, in the words of whoever put the server together.
pub(crate) fn run_error(err: RunError, explain: Explain) -> ErrorData {
    let is_of_request =
        matches!(err, RunError::Scope(_) | RunError::Diverged(_) | RunError::OfPlan { .. });
    let message = explain(err);
    if is_of_request {
        ErrorData::invalid_params(message, None)
    } else {
        ErrorData::internal_error(message, None)
    }
}
