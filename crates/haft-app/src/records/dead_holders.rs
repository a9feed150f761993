//! Runs that dead processes hold. Their open calls are in doubt only once another process has taken over the run.

use haft::{Clock as _, SystemClock};
use haft_journal::{Journal, JournalError, LeaseHolder};

use crate::process_identity;

/// Takes over those of these runs whose holders are dead.
///
/// # Errors
///
/// Fails if the journal does.
pub async fn abandon_dead_runs(
    journal: &dyn Journal,
    is_meant: impl Fn(&LeaseHolder) -> bool,
) -> Result<(), JournalError> {
    let now_ms = SystemClock.now_ms();
    for holder in journal.lease_holders().await?.into_iter().filter(is_meant) {
        // As at every start of haft, a holder that may still live keeps its run.
        let known = process_identity::check_gone(&holder.owner);
        if known.unwrap_or_else(|| holder.is_expired(now_ms)) {
            journal.abandon_run(holder).await?;
        }
    }
    Ok(())
}
