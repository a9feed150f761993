//! Runs that processes hold which are gone. What they left open is in doubt only once somebody has taken the run from them.

use haft::{Clock as _, SystemClock};
use haft_journal::{Holder, Journal, JournalError};

use crate::owner;

/// Takes those of these runs whose holders are gone.
pub(super) async fn abandon(
    journal: &dyn Journal,
    is_meant: impl Fn(&Holder) -> bool,
) -> Result<(), JournalError> {
    let now_ms = SystemClock.now_ms();
    for holder in journal.holders().await?.into_iter().filter(is_meant) {
        // As at every start of haft: one that is seen to live keeps what it has.
        let known = owner::find_out(&holder.owner);
        if known.unwrap_or_else(|| holder.is_over(now_ms)) {
            journal.abandon(holder).await?;
        }
    }
    Ok(())
}
