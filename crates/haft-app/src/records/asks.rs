//! Asks as people list and answer them: those of processes that live, and answers that are bound to what was shown.

use std::time::Duration;

use haft::{AskMismatch, ShownAsk};
use haft_journal::{AskQuery, AskRow, AskState, Journal, JournalError, NewAskAnswer};

use super::dead_holders::abandon_dead_runs;
use crate::process_identity;

/// Longest wait for the process that asked to receive an answer, in milliseconds.
const RECEIPT_MS_MAX: u64 = 3_000;

/// Says why an answer does not count.
#[derive(Debug, thiserror::Error)]
pub enum AnswerAskError {
    /// The journal failed, or does not accept the answer.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The answer is about something else than the ask.
    #[error("ask {ask} cannot be answered like this: {mismatch}")]
    Mismatch {
        /// The ask.
        ask: String,
        /// The reason, with the expected answer.
        mismatch: AskMismatch,
    },
}

/// Says why no ask has the name that a person gave.
#[derive(Debug, thiserror::Error)]
pub enum FindAskError {
    /// The journal failed.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// No ask has this name.
    #[error("no ask is called {0:?}")]
    Unknown(String),
    /// Several asks begin so.
    #[error("several asks begin with {0:?}: {1}")]
    Ambiguous(String, String),
}

/// Returns the asks that wait for an answer, the oldest first. Asks of processes that are known to be gone are left out, also
/// where the journal is only read and does not know of that yet.
///
/// # Errors
///
/// Fails if the journal does.
pub async fn find_pending_asks(journal: &dyn Journal) -> Result<Vec<AskRow>, JournalError> {
    let asks = journal.asks(AskQuery::pending()).await?;
    if asks.is_empty() {
        return Ok(asks);
    }
    let holders = journal.lease_holders().await?;
    let is_alive = |ask: &AskRow| {
        let mut holders = holders.iter().filter(|holder| holder.run == ask.call.scope.run);
        holders.any(|holder| {
            holder.fencing_token == ask.fencing_token && !process_identity::is_gone(&holder.owner)
        })
    };
    Ok(asks.into_iter().filter(is_alive).collect())
}

/// Returns the ask of a name, or of the beginning of one.
///
/// # Errors
///
/// Fails if the journal does, or if not exactly one ask fits.
pub async fn find_ask(journal: &dyn Journal, name: &str) -> Result<AskRow, FindAskError> {
    if let Some(ask) = journal.asks(AskQuery::of_id(name)).await?.pop() {
        return Ok(ask);
    }
    let latest = AskQuery { latest_first: true, ..AskQuery::default() };
    let mut asks = journal.asks(latest).await?;
    asks.retain(|ask| {
        let digits = ask.id.trim_start_matches("ask_");
        !name.is_empty() && (ask.id.starts_with(name) || digits.starts_with(name))
    });
    match asks.len() {
        0 => Err(FindAskError::Unknown(name.to_owned())),
        1 => Ok(asks.remove(0)),
        _ => {
            let names: Vec<String> = asks.into_iter().map(|ask| ask.id).collect();
            Err(FindAskError::Ambiguous(name.to_owned(), names.join(", ")))
        }
    }
}

/// Returns all that a person is shown of an ask, or what its row keeps of that if the ask has ended.
///
/// # Errors
///
/// Fails if the journal does.
pub async fn shown_or_summary(
    journal: &dyn Journal,
    ask: &AskRow,
) -> Result<Option<ShownAsk>, JournalError> {
    let shown = journal.shown_of_ask(ask).await?;
    Ok(shown.as_deref().and_then(ShownAsk::parse).or_else(|| ShownAsk::parse(&ask.summary)))
}

/// Answers an ask. Returns it as it is then, after a short wait for the process that asked: an answer without
/// [`received_at_ms`](haft_journal::AskAnswerRow::received_at_ms) has not arrived yet.
///
/// # Errors
///
/// Fails if the journal does, or says why the answer does not count: it does not fit what is asked, or see
/// [`AskJournal::answer_ask`](haft_journal::AskJournal::answer_ask).
pub async fn answer_ask(
    journal: &dyn Journal,
    ask: &AskRow,
    answer: NewAskAnswer,
) -> Result<AskRow, AnswerAskError> {
    if ask.state == AskState::Pending
        && let Some(shown) = shown_or_summary(journal, ask).await?
        && let Err(mismatch) = shown.check_answer(answer.verdict, answer.edited_input.as_deref())
    {
        return Err(AnswerAskError::Mismatch { ask: ask.id.clone(), mismatch });
    }
    // The ask of a process that died is withdrawn, and not answered into the void.
    let run = &ask.call.scope.run;
    abandon_dead_runs(journal, |holder| holder.run == *run).await?;
    let mut changes = journal.ask_changes();
    let mut answered = journal.answer_ask(answer).await?;
    let received = async {
        while is_on_its_way(&answered) {
            changes.changed().await;
            match journal.asks(AskQuery::of_id(&answered.id)).await?.pop() {
                Some(row) => answered = row,
                None => break,
            }
        }
        Ok::<(), JournalError>(())
    };
    match tokio::time::timeout(Duration::from_millis(RECEIPT_MS_MAX), received).await {
        Ok(looked) => Ok(looked.map(|()| answered)?),
        Err(_) => Ok(answered),
    }
}

fn is_on_its_way(ask: &AskRow) -> bool {
    ask.state == AskState::Answered
        && ask.answer.as_ref().is_some_and(|answer| answer.received_at_ms.is_none())
}
