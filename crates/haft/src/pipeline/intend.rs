//! The journal knows of the call before anything happens.

use haft_journal::{Intent, JournalError};

use super::refusal::Stop;
use super::watch::Watched;
use crate::run::{RunError, RunState};

/// A call whose intent is recorded: on disk when its effect is more than a read.
pub(super) struct Intended {
    watched: Watched,
    intent: Intent,
}

pub(super) async fn intend(watched: Watched, run: &RunState) -> Result<Intended, Stop> {
    let capable = watched.capable();
    let planned = capable.valid().entry().planned(capable.recorded_accesses().to_owned());
    let journal = &run.session.shared.parts.journal;
    match journal.intend(planned).await {
        Ok(intent) => Ok(Intended { watched, intent }),
        Err(err) => {
            if let JournalError::Fenced { .. } = err {
                // Nothing of it is recorded, so it is still the same call when it comes again.
                capable.valid().entry().take_back(run);
            }
            Err(RunError::from(err).into())
        }
    }
}

impl Intended {
    pub(super) fn into_parts(self) -> (Watched, Intent) {
        (self.watched, self.intent)
    }
}
