//! The stores that hold earlier states of workspaces, and the hook that records them. Each journal has its own stores:
//! pruning removes the states that the journal does not name.

use std::path::PathBuf;
use std::sync::Arc;

use haft::{ConfineMode, RuntimeParts, SnapshotHistory, Snapshots, WorkspaceSnapshots};
use haft_contract::sha256_hex;
use haft_journal::Journal;

use crate::app_error::AppError;
use crate::host::AppHost;
use crate::journal_location::JournalLocation;
use crate::settings::EffectiveSettings;

/// Returns the hook that records what calls change, if the settings want it.
pub(super) fn hook(
    journal: &Arc<dyn Journal>,
    settings: &EffectiveSettings,
    host: &AppHost,
    parts: &RuntimeParts,
) -> Result<Option<Arc<dyn Snapshots>>, AppError> {
    let Some(options) = &settings.snapshots else { return Ok(None) };
    let directory = directory(&settings.durability.journal, host);
    let roots = super::roots(settings)?;
    let journal = Arc::clone(journal);
    let mut hook = WorkspaceSnapshots::new(&directory, &roots, journal, host.clock(), options);
    if settings.records_repositories {
        let directories: Vec<PathBuf> =
            roots.paths().into_iter().map(|root| root.join(".git")).collect();
        hook = hook.recording_repositories(&directory, &directories, options);
    }
    hook = hook.hiding(&hidden(settings, host));
    if parts.sandbox.confine == ConfineMode::Always {
        hook = hook.following(parts.launcher.clone(), parts.sandbox.mechanisms);
    }
    Ok(Some(Arc::new(hook)))
}

/// Returns the states that were recorded for the calls in a journal.
pub fn history(
    journal: &Arc<dyn Journal>,
    place: &JournalLocation,
    options: Option<&haft_snapshot::RecordOptions>,
    host: &AppHost,
) -> SnapshotHistory {
    let defaults = haft_snapshot::RecordOptions::default();
    let options = options.unwrap_or(&defaults);
    SnapshotHistory::new(&directory(place, host), Arc::clone(journal), options)
}

/// Returns the places that snapshots neither record nor restore: those that no call reads.
pub fn hidden(settings: &EffectiveSettings, host: &AppHost) -> Vec<PathBuf> {
    // Which roots there are matters to what can be read alone.
    super::host_paths(settings, host, &[]).hidden
}

/// Returns the directory of a journal's stores.
pub fn directory(place: &JournalLocation, host: &AppHost) -> PathBuf {
    host.state().snapshots().join(sha256_hex(place.identity().as_bytes()))
}
