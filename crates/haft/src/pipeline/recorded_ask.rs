//! An ask as a row of the journal. The row is there before a person is asked. The front end of the call and every other one
//! on the same journal can answer it. The journal decides which answer is the first; this module decides nothing.

use std::future::pending;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use haft_contract::CallProgress;
use haft_journal::{
    AskEnd, AskQuery, AskRow, AskState, AskVerdict, JournalError, NewAsk, NewAskAnswer,
};
use serde_json::Value;
use tokio::time::{Instant, sleep_until};

use super::call_state::CallState;
use crate::ask::{Ask, AskAnswer, Asker, ShownAsk};
use crate::connection_state::ConnectionState;
use crate::limits::{ANSWER_PROGRESS_MS, ANSWER_WORDS_CHARS_MAX};
use crate::panic::PanicCatchingFuture;
use crate::shared::RuntimeParts;

/// The step of a report: the tool reports its own progress after that, and reports have to grow.
const REPORT_STEP: f64 = 1e-3;

/// The answer that won, as the process that asked received it.
pub(super) struct ReceivedVerdict {
    /// Its meaning for the call.
    pub(super) verdict: AskVerdict,
    /// Words for the model.
    pub(super) words: Option<String>,
    /// The new input, if the person edited it.
    pub(super) edited_input: Option<Value>,
}

/// How an ask ended.
pub(super) enum AskOutcome {
    /// A person answered.
    Answered(ReceivedVerdict),
    /// No person can answer.
    Unanswered,
    /// No answer came in time, in milliseconds.
    Expired(u64),
    /// The lease of the run ended while the call waited.
    Withdrawn,
    /// The call was cancelled.
    Cancelled,
    /// The front end panicked.
    Panicked(String),
}

/// The first event that ends the wait for an answer.
enum FirstEvent {
    /// The front end of the call answered, or panicked.
    Own(Result<AskAnswer, String>),
    /// The ask ended in the journal.
    Elsewhere(Box<AskRow>),
    /// The time is over.
    Expired,
    /// The call was cancelled.
    Cancelled,
}

/// Records an ask, asks, and returns how that ended. The error says that the journal failed.
pub(super) async fn ask(
    state: &CallState,
    connection: &ConnectionState,
    asker: &Arc<dyn Asker>,
    ask: Ask,
) -> Result<AskOutcome, JournalError> {
    let parts = &connection.shared.parts;
    let answer_ms = parts.limits.answer_ms;
    let lasts_ms = asker.has_deadline().then_some(answer_ms);
    let shown = ShownAsk::new(&ask, state.call().input.clone());
    // The recorded input is JSON, or the digest of a text that is too long.
    let recorded = serde_json::from_str(state.recorded_input()).unwrap_or_default();
    let summary = ShownAsk { input: recorded, ..shown.clone() };
    let asked = NewAsk {
        id: ask.id.clone(),
        call: state.id().clone(),
        fencing_token: state.fencing_token(),
        tool: ask.tool.to_string(),
        front_end: connection.front_end.clone(),
        summary: summary.to_json(),
        shown: shown.to_json(),
        now_ms: parts.clock.now_ms(),
        lasts_ms,
    };
    let row = parts.journal.open_ask(asked).await?;
    let waiting = AskWait { state, parts, asker, lasts_ms, id: &row.id };
    let ended = match waiting.first_event(ask).await {
        FirstEvent::Own(Ok(answer)) => match answer.into_verdict() {
            Some((verdict, words)) => {
                let answer = NewAskAnswer {
                    ask: row.id.clone(),
                    verdict,
                    by: parts.owner.location.clone(),
                    through: connection.front_end.clone(),
                    shown_sha256: row.shown.sha256.clone(),
                    words: words.map(|words| words.chars().take(ANSWER_WORDS_CHARS_MAX).collect()),
                    edited_input: None,
                    now_ms: parts.clock.now_ms(),
                };
                match parts.journal.answer_ask(answer).await {
                    // Another answer was first, or the time was over.
                    Err(JournalError::AskEnded { ask }) => *ask,
                    answered => answered?,
                }
            }
            None => match waiting.end(AskEnd::Withdrawn).await? {
                ended if ended.state == AskState::Withdrawn => return Ok(AskOutcome::Unanswered),
                ended => ended,
            },
        },
        FirstEvent::Own(Err(panic)) => {
            waiting.end(AskEnd::Withdrawn).await?;
            return Ok(AskOutcome::Panicked(panic));
        }
        FirstEvent::Elsewhere(row) => *row,
        FirstEvent::Expired => waiting.end(AskEnd::Expired).await?,
        FirstEvent::Cancelled => {
            waiting.end(AskEnd::Withdrawn).await?;
            return Ok(AskOutcome::Cancelled);
        }
    };
    match ended.state {
        AskState::Expired => return Ok(AskOutcome::Expired(answer_ms)),
        AskState::Withdrawn | AskState::Pending => return Ok(AskOutcome::Withdrawn),
        AskState::Answered => {}
    }
    // Only the owner of the run receives the answer, and it does so before the call goes on.
    let (row, edited) = parts.journal.receive_answer(&ended.id, parts.clock.now_ms()).await?;
    let Some(answer) = row.answer else { return Ok(AskOutcome::Withdrawn) };
    let edited_input = match edited.as_deref().map(serde_json::from_str) {
        Some(Ok(input)) => Some(input),
        // An allowed input that is lost is not the input that was asked about.
        Some(Err(_)) | None if answer.verdict == AskVerdict::Edited => {
            return Ok(AskOutcome::Withdrawn);
        }
        Some(Err(_)) | None => None,
    };
    let (verdict, words) = (answer.verdict, answer.words);
    Ok(AskOutcome::Answered(ReceivedVerdict { verdict, words, edited_input }))
}

/// A call that waits for an answer.
struct AskWait<'a> {
    state: &'a CallState,
    parts: &'a RuntimeParts,
    asker: &'a Arc<dyn Asker>,
    lasts_ms: Option<u64>,
    id: &'a str,
}

impl AskWait<'_> {
    /// Waits for what comes first.
    async fn first_event(&self, ask: Ask) -> FirstEvent {
        let begun = Instant::now();
        let waits_for_others = self.asker.waits_for_others();
        let asker = Arc::clone(self.asker);
        // The front end asks in its own time; dropping this withdraws its question.
        let mut own: Pin<Box<dyn Future<Output = Result<AskAnswer, String>> + Send>> =
            if self.asker.can_ask() {
                Box::pin(PanicCatchingFuture(Box::pin(async move { asker.ask(ask).await })))
            } else {
                Box::pin(pending())
            };
        let end = self.lasts_ms.map(|lasts_ms| begun + Duration::from_millis(lasts_ms));
        let expiry = async {
            match end {
                Some(end) => sleep_until(end).await,
                None => pending().await,
            }
        };
        let mut expiry = std::pin::pin!(expiry);
        let mut elsewhere = std::pin::pin!(self.end_elsewhere());
        let pause = Duration::from_millis(ANSWER_PROGRESS_MS);
        // A front end that cannot ask has nothing else to show.
        let mut report_at = if self.asker.can_ask() { begun + pause } else { begun };
        let mut reports = 0.0;
        loop {
            let report = async move {
                // A person who sits before the question needs no report.
                match self.asker.has_deadline() {
                    true => sleep_until(report_at).await,
                    false => pending().await,
                }
            };
            tokio::select! {
                biased;
                () = self.state.call().cancellation.cancelled() => return FirstEvent::Cancelled,
                answer = &mut own => match answer {
                    // Another front end can still answer.
                    Ok(AskAnswer::Unanswered) if waits_for_others => own = Box::pin(pending()),
                    answer => return FirstEvent::Own(answer),
                },
                row = &mut elsewhere => {
                    self.asker.note_end(&end_in_words(&row));
                    return FirstEvent::Elsewhere(Box::new(row));
                }
                () = &mut expiry => {
                    self.asker.note_end("no answer came in time, so the call is denied");
                    return FirstEvent::Expired;
                }
                () = report => {
                    reports += REPORT_STEP;
                    self.report(reports, end);
                    report_at = Instant::now() + pause;
                }
            }
        }
    }

    /// Returns the ask once it has ended in the journal.
    async fn end_elsewhere(&self) -> AskRow {
        let mut changes = self.parts.journal.ask_changes();
        loop {
            changes.changed().await;
            match self.parts.journal.asks(AskQuery::of_id(self.id)).await {
                Ok(mut asks) => {
                    if let Some(row) = asks.pop().filter(|row| row.state != AskState::Pending) {
                        return row;
                    }
                }
                // The journal may be back before the time is over.
                Err(err) => {
                    tracing::warn!(ask = self.id, %err, "the journal cannot be asked for an answer")
                }
            }
        }
    }

    /// Reports that the call waits, so that a client does not take it for dead.
    fn report(&self, done: f64, end: Option<Instant>) {
        let left = end.map(|end| end.saturating_duration_since(Instant::now()).as_secs());
        let left = left.map(|secs| format!(", for {}:{:02} at most", secs / 60, secs % 60));
        let message =
            format!("waits for a person to answer {}{}", self.id, left.unwrap_or_default());
        self.state.call().progress.report(CallProgress { done, total: None, message });
    }

    async fn end(&self, end: AskEnd) -> Result<AskRow, JournalError> {
        self.parts.journal.end_ask(self.id, end, self.parts.clock.now_ms()).await
    }
}

/// Says how an ask ended, for the person whose question is withdrawn.
fn end_in_words(row: &AskRow) -> String {
    match &row.answer {
        Some(answer) => {
            let what = match answer.verdict {
                AskVerdict::Once => "allowed it once",
                AskVerdict::Session | AskVerdict::SessionExact => "allowed it for this session",
                AskVerdict::Always | AskVerdict::AlwaysExact => "allowed it for this project",
                AskVerdict::Edited => "changed the input and allowed it",
                AskVerdict::Reject => "rejected it",
                AskVerdict::RejectSession => "denied it for this session",
            };
            format!("{} {what} through {}", answer.by, answer.through)
        }
        None => format!("the question is {}", row.state),
    }
}
