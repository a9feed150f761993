//! The runs that one connection works in: its own, and those that its calls name.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use haft::{Run, RunError, Session};
use haft_contract::RunId;
use rmcp::ErrorData;
use tokio::sync::OnceCell;

use crate::limits::RUNS_MAX;

/// The runs of a connection. None is closed before the connection, because a run that is opened twice would number
/// its calls twice.
pub(crate) struct Runs {
    session: Session,
    own: Run,
    // Written by the first call that names a run, read by every call that names one; the lock is held for a look-up
    // only, while opening, which waits for the journal, happens in the cell.
    named: Mutex<HashMap<RunId, Arc<OnceCell<Run>>>>,
}

impl Runs {
    pub(crate) fn new(session: Session, own: Run) -> Self {
        Self { session, own, named: Mutex::default() }
    }

    /// Returns the run of that name, or the connection's own.
    pub(crate) async fn open(&self, id: Option<RunId>) -> Result<Run, ErrorData> {
        let Some(id) = id.filter(|id| id != self.own.id()) else { return Ok(self.own.clone()) };
        let cell = self.cell(&id)?;
        let opened = cell.get_or_try_init(|| self.session.run(id)).await;
        opened.cloned().map_err(|err| run_error(&err))
    }

    fn cell(&self, id: &RunId) -> Result<Arc<OnceCell<Run>>, ErrorData> {
        let mut named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cell) = named.get(id) {
            return Ok(Arc::clone(cell));
        }
        if named.len() >= RUNS_MAX {
            let message = format!(
                "this connection has named {RUNS_MAX} runs, which is the limit: use one of them or \
                 open another connection"
            );
            return Err(ErrorData::invalid_params(message, None));
        }
        Ok(Arc::clone(named.entry(id.clone()).or_default()))
    }
}

/// Says that haft cannot tell what happened.
pub(crate) fn run_error(err: &RunError) -> ErrorData {
    match err {
        RunError::Scope(err) => ErrorData::invalid_params(err.to_string(), None),
        err => ErrorData::internal_error(err.to_string(), None),
    }
}
