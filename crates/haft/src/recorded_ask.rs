//! An ask as a row of the journal. The row is there before a person is asked. The front end of the call and every other one
//! on the same journal can answer it. The journal decides which answer is the first; this module decides nothing.

use std::future::pending;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use haft_contract::{CallAddress, CallProgress, ProgressSink};
use haft_journal::{
    AskEnd, AskQuery, AskRow, AskState, AskVerdict, JournalError, NewAsk, NewAskAnswer,
};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::ask::{Ask, AskKind, Asker, ShownAsk};
use crate::limits::{ANSWER_PROGRESS_MS, ANSWER_WORDS_CHARS_MAX};
use crate::panic::PanicCatchingFuture;
use crate::runtime_event::{AskOpened, RuntimeEvent};
use crate::shared::RuntimeShared;

/// The step of a report: the tool reports its own progress after that, and reports have to grow.
const REPORT_STEP: f64 = 1e-3;

/// The call that asks, and the front end that made it.
#[derive(Clone)]
pub(crate) struct AskingCall {
    /// The state of the runtime.
    pub(crate) shared: Arc<RuntimeShared>,
    /// The address of the call.
    pub(crate) address: CallAddress,
    /// The fencing token of the lease under which the call is made.
    pub(crate) fencing_token: u64,
    /// The kind of front end that made the call.
    pub(crate) front_end: String,
    /// Asks the person behind the front end.
    pub(crate) asker: Arc<dyn Asker>,
    /// Cancelled when the call needs no answer any more.
    pub(crate) cancellation: CancellationToken,
    /// Takes reports that the call waits.
    pub(crate) progress: Arc<dyn ProgressSink>,
}

/// The content of an ask: all that a person is shown, and what the journal keeps of it.
pub(crate) struct AskContent {
    /// All that a person is shown.
    pub(crate) shown: ShownAsk,
    /// The same without contents.
    pub(crate) summary: ShownAsk,
}

/// The reply of the front end of the call.
pub(crate) enum OwnReply {
    /// The person answered.
    Answer(ReceivedVerdict),
    /// No person can answer here.
    NoPerson,
    /// The front end answered something that is no answer.
    Failed(String),
}

/// Asks the person behind the front end of the call. Dropping it withdraws the question there.
pub(crate) type OwnQuestion = Pin<Box<dyn Future<Output = OwnReply> + Send>>;

/// An answer, as the process that asked receives it.
pub(crate) struct ReceivedVerdict {
    /// Its meaning for the call.
    pub(crate) verdict: AskVerdict,
    /// Words for the model.
    pub(crate) words: Option<String>,
    /// The JSON that comes with it: the edited input of the call, or the answers to questions.
    pub(crate) content: Option<String>,
}

/// How an ask ended.
pub(crate) enum AskOutcome {
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
    /// The front end failed. Holds the reason.
    Failed(String),
}

impl AskingCall {
    /// Returns a name for the ask that no other ask has.
    pub(crate) fn new_ask_id(&self) -> String {
        self.shared.new_ask_id(&self.address, self.fencing_token)
    }

    /// Asks in a separate task, which withdraws the ask if the caller drops the future.
    pub(crate) async fn ask_in_task(
        mut self,
        content: AskContent,
        question: OwnQuestion,
    ) -> Result<AskOutcome, JournalError> {
        self.cancellation = self.cancellation.child_token();
        let cancelled_on_drop = self.cancellation.clone().drop_guard();
        let asking = tokio::spawn(async move { self.ask(content, question).await });
        let asked = asking.await;
        cancelled_on_drop.disarm();
        // A task that does not end by itself ends with its runtime.
        asked.unwrap_or_else(|err| match err.is_panic() {
            true => Ok(AskOutcome::Failed("haft failed while it asked".to_owned())),
            false => Ok(AskOutcome::Withdrawn),
        })
    }

    /// Records an ask, asks, and returns how that ended. The error says that the journal failed.
    pub(crate) async fn ask(
        &self,
        AskContent { shown, summary }: AskContent,
        question: OwnQuestion,
    ) -> Result<AskOutcome, JournalError> {
        let parts = &self.shared.parts;
        let answer_ms = parts.limits.answer_ms;
        let lasts_ms = self.asker.has_deadline().then_some(answer_ms);
        let asked = NewAsk {
            id: shown.ask.clone(),
            call: self.address.clone(),
            fencing_token: self.fencing_token,
            tool: shown.tool.clone(),
            front_end: self.front_end.clone(),
            summary: summary.to_json(),
            shown: shown.to_json(),
            now_ms: parts.clock.now_ms(),
            lasts_ms,
        };
        let row = parts.journal.open_ask(asked).await?;
        // A notification of an ask that has ended is of no use.
        let ended = CancellationToken::new();
        let _ended = ended.clone().drop_guard();
        let opened = AskOpened { row: row.clone(), summary, ended };
        parts.report_event(RuntimeEvent::Ask(Box::new(opened))).await;
        if !self.asker.can_ask() {
            self.asker.note_waiting(&row);
        }
        let waiting = AskWait { call: self, kind: shown.kind, lasts_ms, id: &row.id };
        let ended = match waiting.first_event(question).await {
            FirstEvent::Own(Ok(OwnReply::Answer(answer))) => {
                let ReceivedVerdict { verdict, words, content } = answer;
                let answer = NewAskAnswer {
                    ask: row.id.clone(),
                    verdict,
                    by: parts.owner.location.clone(),
                    through: self.front_end.clone(),
                    shown_sha256: row.shown.sha256.clone(),
                    words: words.map(|words| words.chars().take(ANSWER_WORDS_CHARS_MAX).collect()),
                    edited_input: content,
                    now_ms: parts.clock.now_ms(),
                };
                match parts.journal.answer_ask(answer).await {
                    // Another answer was first, or the time was over.
                    Err(JournalError::AskEnded { ask }) => *ask,
                    answered => answered?,
                }
            }
            FirstEvent::Own(Ok(OwnReply::NoPerson)) => {
                match waiting.end(AskEnd::Withdrawn).await? {
                    ended if ended.state == AskState::Withdrawn => {
                        return Ok(AskOutcome::Unanswered);
                    }
                    ended => ended,
                }
            }
            FirstEvent::Own(Ok(OwnReply::Failed(why)) | Err(why)) => {
                waiting.end(AskEnd::Withdrawn).await?;
                return Ok(AskOutcome::Failed(why));
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
        let (row, content) = parts.journal.receive_answer(&ended.id, parts.clock.now_ms()).await?;
        let Some(answer) = row.answer else { return Ok(AskOutcome::Withdrawn) };
        // Content that is lost is not the content that was allowed. An answer that does not fit the ask is no answer.
        if answer.edited.is_some() != content.is_some()
            || shown.check_answer(answer.verdict, content.as_deref()).is_err()
        {
            return Ok(AskOutcome::Withdrawn);
        }
        let (verdict, words) = (answer.verdict, answer.words);
        Ok(AskOutcome::Answered(ReceivedVerdict { verdict, words, content }))
    }
}

/// The first event that ends the wait for an answer.
enum FirstEvent {
    /// The front end of the call replied, or panicked.
    Own(Result<OwnReply, String>),
    /// The ask ended in the journal.
    Elsewhere(Box<AskRow>),
    /// The time is over.
    Expired,
    /// The call was cancelled.
    Cancelled,
}

/// A call that waits for an answer.
struct AskWait<'a> {
    call: &'a AskingCall,
    kind: AskKind,
    lasts_ms: Option<u64>,
    id: &'a str,
}

impl AskWait<'_> {
    /// Waits for what comes first.
    async fn first_event(&self, question: OwnQuestion) -> FirstEvent {
        let begun = Instant::now();
        let asker = &self.call.asker;
        let waits_for_others = asker.waits_for_others();
        // The front end asks in its own time; dropping this withdraws its question.
        let mut own: Pin<Box<dyn Future<Output = Result<OwnReply, String>> + Send>> =
            if asker.can_ask() {
                Box::pin(PanicCatchingFuture(question))
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
        let mut report_at = if asker.can_ask() { begun + pause } else { begun };
        let mut reports = 0.0;
        loop {
            let report = async move {
                // A person who sits before the question needs no report.
                match asker.has_deadline() {
                    true => sleep_until(report_at).await,
                    false => pending().await,
                }
            };
            tokio::select! {
                biased;
                () = self.call.cancellation.cancelled() => return FirstEvent::Cancelled,
                answer = &mut own => match answer {
                    // Another front end can still answer.
                    Ok(OwnReply::NoPerson) if waits_for_others => own = Box::pin(pending()),
                    answer => return FirstEvent::Own(answer),
                },
                row = &mut elsewhere => {
                    asker.note_end(self.id, &end_in_words(self.kind, &row));
                    return FirstEvent::Elsewhere(Box::new(row));
                }
                () = &mut expiry => {
                    asker.note_end(self.id, match self.kind {
                        AskKind::Call | AskKind::Tool => {
                            "no answer came in time, so the call is denied"
                        }
                        AskKind::Question => "no answer came in time",
                    });
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
        let mut changes = self.call.shared.parts.journal.ask_changes();
        loop {
            changes.changed().await;
            match self.call.shared.parts.journal.asks(AskQuery::of_id(self.id)).await {
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
        self.call.progress.report(CallProgress { done, total: None, message });
    }

    async fn end(&self, end: AskEnd) -> Result<AskRow, JournalError> {
        self.call
            .shared
            .parts
            .journal
            .end_ask(self.id, end, self.call.shared.parts.clock.now_ms())
            .await
    }
}

/// Says how an ask ended, for the person whose question is withdrawn.
fn end_in_words(kind: AskKind, row: &AskRow) -> String {
    match &row.answer {
        Some(answer) => {
            let what = match answer.verdict {
                AskVerdict::Once if kind == AskKind::Question => "answered it",
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

/// Returns the question of the front end about a call or a tool.
pub(crate) fn permission_question(asker: &Arc<dyn Asker>, ask: Ask) -> OwnQuestion {
    let asker = Arc::clone(asker);
    Box::pin(async move {
        match asker.ask(ask).await.into_verdict() {
            Some((verdict, words)) => {
                OwnReply::Answer(ReceivedVerdict { verdict, words, content: None })
            }
            None => OwnReply::NoPerson,
        }
    })
}
