//! Runs that processes hold which are gone. What they left open is in doubt only once somebody has taken the run from them.

use haft::{Clock as _, SystemClock};
use haft_journal::{Journal, JournalError, LeaseHolder};

use haft_app::owner;

/// Takes those of these runs whose holders are gone.
pub(super) async fn abandon_dead_runs(
    journal: &dyn Journal,
    is_meant: impl Fn(&LeaseHolder) -> bool,
) -> Result<(), JournalError> {
    let now_ms = SystemClock.now_ms();
    for holder in journal.lease_holders().await?.into_iter().filter(is_meant) {
        // As at every start of haft: one that is seen to live keeps what it has.
        let known = owner::check_gone(&holder.owner);
        if known.unwrap_or_else(|| holder.is_expired(now_ms)) {
            journal.abandon_run(holder).await?;
        }
    }
    Ok(())
}
