//! The warning for a retry about earlier attempts that called tools whose effects are not safe to repeat. A read or an
//! idempotent call never warns.

use std::fmt;

use haft_contract::AttemptAddress;
use haft_journal::limits::EARLIER_INPUT_CHARS;
use haft_journal::{CallStatus, EarlierEffect, EarlierEffects, Journal, JournalError};

use crate::limits::WARNED_CALLS_MAX;

/// Says which effects of earlier attempts may already have happened. Its text is for a model to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryWarning {
    /// The number of the attempt that gets the warning.
    pub attempt: u32,
    /// The number of calls that are not safe to repeat.
    pub total: u64,
    /// The first of these calls.
    pub first: Vec<EarlierEffect>,
}

/// Returns the warning for an attempt, if earlier attempts made calls that are not safe to repeat.
pub(crate) async fn load_retry_warning(
    journal: &dyn Journal,
    scope: &AttemptAddress,
) -> Result<Option<RetryWarning>, JournalError> {
    if scope.attempt <= 1 {
        return Ok(None);
    }
    let earlier = journal.earlier_effects(scope, WARNED_CALLS_MAX).await?;
    Ok(RetryWarning::from_effects(scope, &earlier))
}

impl RetryWarning {
    /// Returns the warning about these effects, if there are any.
    pub(crate) fn from_effects(scope: &AttemptAddress, earlier: &EarlierEffects) -> Option<Self> {
        let shown = usize::try_from(WARNED_CALLS_MAX).unwrap_or(usize::MAX);
        (earlier.total > 0).then(|| Self {
            attempt: scope.attempt,
            total: earlier.total,
            first: earlier.first.iter().take(shown).cloned().collect(),
        })
    }
}

impl fmt::Display for RetryWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let calls = if self.total == 1 { "call" } else { "calls" };
        writeln!(
            f,
            "This is attempt {} of this task. Earlier attempts made {} {calls} whose effect is not safe to repeat and may \
             already have happened:",
            self.attempt, self.total
        )?;
        for call in &self.first {
            let EarlierEffect { tool, attempt, seq, input, .. } = call;
            let cut = if input.chars().count() < EARLIER_INPUT_CHARS { "" } else { "…" };
            let happened = match call.status {
                CallStatus::Succeeded => "succeeded",
                CallStatus::Failed => "failed, perhaps after a part of it",
                CallStatus::Unknown | CallStatus::Intended => "unknown, it may have happened",
                CallStatus::Refused => "refused",
            };
            writeln!(f, "- {tool}, attempt {attempt}, call {seq}: {happened}: {input}{cut}")?;
        }
        let shown = u64::try_from(self.first.len()).unwrap_or(u64::MAX);
        if let Some(more) = self.total.checked_sub(shown).filter(|more| *more > 0) {
            writeln!(f, "- and {more} more")?;
        }
        f.write_str(
            "Look whether they happened before you repeat one. A repeated call has the same idempotency key as before.",
        )
    }
}
