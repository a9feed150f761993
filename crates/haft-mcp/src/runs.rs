//! The runs that one connection works in: its own, and those that its calls name.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use haft::{Connection, ResumeMode, Run, RunError};
use haft_contract::RunId;
use rmcp::ErrorData;

use crate::limits::RUNS_MAX;
use crate::server_parts::RunErrorExplainer;

/// The runs of a connection. The counters of a run are kept while the run is here or has a call under way. Of a run
/// that is named again later, they are read from the journal.
pub(crate) struct ConnectionRuns {
    connection: Connection,
    own_run: Run,
    own_resume: ResumeMode,
    // Written by every call that names a run, for a look-up.
    named: Mutex<NamedRuns>,
}

#[derive(Default)]
struct NamedRuns {
    runs: HashMap<(RunId, ResumeMode), RecentRun>,
    calls: u64,
}

/// A run, and which call named it last.
struct RecentRun {
    run: Run,
    call: u64,
}

impl ConnectionRuns {
    /// `own_resume` is how the connection goes on with its own run.
    pub(crate) fn new(session: Connection, own: Run, own_resume: ResumeMode) -> Self {
        Self { connection: session, own_run: own, own_resume, named: Mutex::default() }
    }

    /// Returns the run of that name, or the connection's own. A connection that starts a run over does so once: all its
    /// calls that say so are of one pass.
    pub(crate) fn open(&self, id: Option<RunId>, resume: ResumeMode) -> Result<Run, ErrorData> {
        let id = id.unwrap_or_else(|| self.own_run.id().clone());
        if id == *self.own_run.id() && resume == self.own_resume {
            return Ok(self.own_run.clone());
        }
        let key = (id, resume);
        let mut named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        if named.runs.len() >= RUNS_MAX && !named.runs.contains_key(&key) {
            // The run that was named longest ago makes room. A run that is started over would begin
            // again, so it stays.
            let may_go = named.runs.iter().filter(|((_, mode), _)| *mode == ResumeMode::Continue);
            let oldest = may_go.min_by_key(|(_, latest)| latest.call).map(|(key, _)| key.clone());
            let oldest = oldest.ok_or_else(|| {
                let message = format!(
                    "{RUNS_MAX} runs are started over here, which is the limit: use one of them or open \
                     another connection"
                );
                ErrorData::invalid_params(message, None)
            })?;
            named.runs.remove(&oldest);
        }
        named.calls += 1;
        let call = named.calls;
        let open = || RecentRun { run: self.connection.resume(key.0.clone(), resume), call };
        let latest = named.runs.entry(key.clone()).or_insert_with(open);
        latest.call = call;
        Ok(latest.run.clone())
    }
}

/// Returns the error for an unknown outcome of a call, in the words of the embedding program.
pub(crate) fn run_error(err: RunError, explain: RunErrorExplainer) -> ErrorData {
    let is_of_request = matches!(
        err,
        RunError::Scope(_)
            | RunError::Diverged(_)
            | RunError::PlanRun { .. }
            | RunError::OtherWorkspace { .. }
    );
    let message = explain(err);
    if is_of_request {
        ErrorData::invalid_params(message, None)
    } else {
        ErrorData::internal_error(message, None)
    }
}
