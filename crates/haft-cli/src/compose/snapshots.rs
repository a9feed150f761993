//! Where it is kept what workspaces looked like, and who records it. Each journal has stores of its own: what it does not
//! know of is removed from them when they are pruned.

use std::path::PathBuf;
use std::sync::Arc;

use haft::{SnapshotHistory, Snapshots, SystemClock, WorkspaceSnapshots};
use haft_contract::sha256_hex;
use haft_journal::Journal;

use crate::error::CommandError;
use crate::journal_place::JournalPlace;
use crate::settings::Settings;
use crate::state::State;

/// Returns who records what calls change, if that is wanted.
pub(super) fn hook(
    journal: &Arc<dyn Journal>,
    settings: &Settings,
    state: &State,
) -> Result<Option<Arc<dyn Snapshots>>, CommandError> {
    let Some(options) = &settings.snapshots else { return Ok(None) };
    let directory = directory(&settings.durability.journal, state);
    let roots = super::roots(settings)?;
    let journal = Arc::clone(journal);
    let hook = WorkspaceSnapshots::new(&directory, &roots, journal, Arc::new(SystemClock), options)
        .hiding(&hidden(settings, state));
    Ok(Some(Arc::new(hook)))
}

/// Returns what was recorded for the calls in a journal.
pub(crate) fn history(
    journal: &Arc<dyn Journal>,
    place: &JournalPlace,
    options: Option<&haft_snapshot::Options>,
    state: &State,
) -> SnapshotHistory {
    let defaults = haft_snapshot::Options::default();
    let options = options.unwrap_or(&defaults);
    SnapshotHistory::new(&directory(place, state), Arc::clone(journal), options)
}

/// Returns the places of which nothing is recorded and nothing brought back: those that no call reads.
pub(crate) fn hidden(settings: &Settings, state: &State) -> Vec<PathBuf> {
    // Which roots there are matters to what can be read alone.
    super::places(settings, state, &[]).hidden
}

/// Returns the directory of a journal's stores.
pub(crate) fn directory(place: &JournalPlace, state: &State) -> PathBuf {
    state.snapshots().join(sha256_hex(place.identity().as_bytes()))
}
