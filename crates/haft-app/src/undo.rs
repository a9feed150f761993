//! Taking back what calls changed. Command line and inspector make the same checks here, and word what they refuse.

mod headline;
mod perform;
mod report;
mod repositories;

use haft::{CallSelection, Clock as _, RootChanges, SnapshotHistory, SystemClock};
use haft_contract::RunId;
use haft_journal::{Journal, LeaseHolder, RunQuery};
use haft_snapshot::{
    OmittedPath, OverwritePolicy, RecordOptions, RestoreError, RestoreReport, quote_path,
};

use crate::process_identity;

pub use headline::{count_changed_lines, headline};
pub use perform::UndoRequest;
pub use report::{report_json, selection_words, skip_reason_text};
pub use repositories::{changed_repositories, repositories_json};

/// Why nothing is undone.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UndoRefusal {
    /// A living process works in the run.
    #[error(
        "nothing was undone, because {location} has run {run} and goes on changing files: wait for that process, or end it"
    )]
    Held {
        /// Where the process runs.
        location: String,
        /// The run.
        run: RunId,
    },
    /// The end of the last call was not recorded, so later changes of anything else would be undone too.
    #[error(
        "the end of the last of these calls was not recorded, so everything that changed since it began would be undone"
    )]
    EndUnknown,
    /// Paths changed later.
    #[error("nothing was undone, because of these paths:\n{}", .0.join("\n"))]
    Conflicts(Vec<String>),
    /// The present content of paths cannot be recorded, so the undo could not be undone.
    #[error(
        "nothing was undone, because what is at these paths now cannot be recorded, and would be lost for good; move it away, \
         or raise file_bytes in [snapshots] of a trusted manifest if it is too large:\n{}",
        .0.join("\n")
    )]
    WouldBeLost(Vec<String>),
    /// Journal, store or files could not be read.
    #[error("{0}")]
    Failed(String),
}

/// Who undoes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UndoCaller {
    /// Anyone who does not work in the run.
    Outsider,
    /// The process that works in the run, between two turns of its agent.
    Holder,
}

/// Checks that no living process works in the run of these calls. Its last call may still be changing files, and its next
/// calls build on those changes. A single call can be undone as soon as no call of its run is under way. The same holds for all
/// calls of a run if its own process undoes them.
///
/// # Errors
///
/// Fails with [`UndoRefusal::Held`], and if the journal cannot be read.
pub async fn check_idle(
    history: &SnapshotHistory,
    journal: &dyn Journal,
    of: &CallSelection,
    caller: UndoCaller,
) -> Result<(), UndoRefusal> {
    let failed = |err: &dyn std::fmt::Display| UndoRefusal::Failed(err.to_string());
    let runs = history.runs(of).await.map_err(|err| failed(&err))?;
    let lives = |holder: &LeaseHolder| {
        let is_gone = process_identity::check_gone(&holder.owner);
        !is_gone.unwrap_or_else(|| holder.is_expired(SystemClock.now_ms()))
    };
    let holders = journal.lease_holders().await.map_err(|err| failed(&err))?.into_iter();
    for holder in holders.filter(|holder| runs.contains(&holder.run)).filter(lives) {
        let LeaseHolder { run, owner, .. } = holder;
        let is_own = caller == UndoCaller::Holder && process_identity::is_this_process(&owner);
        let query = RunQuery { run: Some(run.clone()), ..RunQuery::default() };
        let is_idle = (is_own || matches!(of, CallSelection::Call(_)))
            && journal
                .runs(query)
                .await
                .map_err(|err| failed(&err))?
                .iter()
                .all(|row| row.intended == 0);
        if !is_idle {
            return Err(UndoRefusal::Held { location: owner.location, run });
        }
    }
    Ok(())
}

/// Predicts the undo of these changes in every root.
///
/// # Errors
///
/// Says why nothing may be undone.
pub fn preview_undo(
    roots: &[RootChanges],
    overwrite: OverwritePolicy,
) -> Result<Vec<RestoreReport>, UndoRefusal> {
    if overwrite == OverwritePolicy::Refuse && roots.iter().any(|root| root.ends_now) {
        return Err(UndoRefusal::EndUnknown);
    }
    let (mut rehearsed, mut conflicts) = (Vec::new(), Vec::new());
    for root in roots {
        match root.rehearse(overwrite) {
            Ok(restored) => rehearsed.push(restored),
            Err(RestoreError::Conflicts { conflicts: found }) => {
                let is_one = roots.len() == 1;
                conflicts.extend(found.iter().map(|conflict| match is_one {
                    true => format!("  {conflict}"),
                    false => format!("  in {}: {conflict}", quote_path(root.root())),
                }));
            }
            Err(err) => return Err(UndoRefusal::Failed(err.to_string())),
        }
    }
    if conflicts.is_empty() { Ok(rehearsed) } else { Err(UndoRefusal::Conflicts(conflicts)) }
}

/// Returns how to record the overwritten paths: by the settings, and in any case all that was recorded before.
///
/// # Errors
///
/// Fails with [`UndoRefusal::WouldBeLost`]: content that undoing the undo could not restore is not overwritten.
pub fn recording_options(
    roots: &[RootChanges],
    overwrite: OverwritePolicy,
    configured: Option<&RecordOptions>,
) -> Result<RecordOptions, UndoRefusal> {
    let options = configured.cloned().unwrap_or_default();
    let options = roots.iter().fold(options, |options, root| root.widen_options(&options));
    let mut lost = Vec::new();
    for root in roots {
        let found = root.unrecordable_paths(overwrite, &options);
        let found = found.map_err(|err| UndoRefusal::Failed(err.to_string()))?;
        let line =
            |lost: &OmittedPath| format!("  {}: {}", quote_path(&lost.path), lost.entry.reason);
        lost.extend(found.iter().map(line));
    }
    if lost.is_empty() { Ok(options) } else { Err(UndoRefusal::WouldBeLost(lost)) }
}
