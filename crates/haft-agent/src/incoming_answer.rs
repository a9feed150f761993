//! One answer of a model, from its first piece to its last: told as it comes, kept as it comes, and complete in the journal
//! before any call that it asks for is made. Making the calls is not here.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use haft_contract::cut;
use haft_journal::{
    MessageFinish, MessageKind, MessagePart, MessageRole, PartKind, PartState, SessionDurability,
    SessionMessage, SessionRecord,
};
use haft_model::limits::{ANSWER_BYTES_MAX, TOOL_CALLS_MAX};
use haft_model::{
    ModelAnswerEnd, ModelAnswerStream, ModelError, ModelEvent, ModelRequest, ModelStopReason,
    ModelUsage, ToolCall,
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::call_answer::set_call_unmade;
use crate::error::AgentError;
use crate::event::AgentEventKind;
use crate::limits::{
    ANSWER_PARTS_MAX, TOOL_NAME_CHARS_MAX, UNWRITTEN_BYTES_MAX, UNWRITTEN_MS_MAX, WRITTEN_TIMES_MAX,
};
use crate::session_log::{SessionLog, tokens_of};
use crate::transcript::{TranscriptEntry, input_json, is_open_call};

/// How an answer ended.
#[derive(Debug)]
pub(crate) enum ReceivedAnswer {
    /// It is whole, and is the last message of the chat.
    Whole { finish: MessageFinish, usage: ModelUsage },
    /// The turn was told to stop.
    Stopped,
    /// It failed. What was said until then is kept; where nothing was, there is the message that would only say why, and it is
    /// not kept yet.
    Failed { error: ModelError, failed_message: Option<Box<SessionMessage>> },
}

impl ReceivedAnswer {
    /// Returns how an answer ended that is not whole.
    pub(crate) fn finish_if_incomplete(&self) -> Option<MessageFinish> {
        match self {
            Self::Whole { .. } => None,
            Self::Stopped => Some(MessageFinish::Aborted),
            Self::Failed { .. } => Some(MessageFinish::Error),
        }
    }
}

/// An answer on its way into the chat.
pub(crate) struct IncomingAnswer<'l> {
    log: &'l mut SessionLog,
    entry: TranscriptEntry,
    is_message_written: bool,
    /// The parts that are not written as they are now.
    unwritten: BTreeSet<usize>,
    /// What has come of the answer since it was written last.
    unwritten_bytes: usize,
    unwritten_since: Option<Instant>,
    /// The calls whose arguments are being written, by the provider's name.
    drafts: HashMap<String, usize>,
    bytes: usize,
    calls: usize,
}

/// How an answer came to its end.
enum AnswerStreamEnd {
    Whole(ModelAnswerEnd),
    Stopped,
    Failed(ModelError),
}

impl<'l> IncomingAnswer<'l> {
    /// Begins an answer, which has a name from now on.
    pub(crate) fn new(ledger: &'l mut SessionLog) -> Self {
        let message = ledger.new_message(MessageRole::Assistant, MessageKind::Said);
        Self {
            log: ledger,
            entry: TranscriptEntry { message, parts: Vec::new() },
            is_message_written: false,
            unwritten: BTreeSet::new(),
            unwritten_bytes: 0,
            unwritten_since: None,
            drafts: HashMap::new(),
            bytes: 0,
            calls: 0,
        }
    }

    pub(crate) fn message(&self) -> &SessionMessage {
        &self.entry.message
    }

    /// Asks the model and takes its answer.
    pub(crate) async fn receive(
        mut self,
        request: ModelRequest,
        stop: &CancellationToken,
    ) -> Result<ReceivedAnswer, AgentError> {
        let model = std::sync::Arc::clone(&self.log.context.model);
        let responding = tokio::select! {
            biased;
            () = stop.cancelled() => return self.record_end(AnswerStreamEnd::Stopped).await,
            responding = model.respond(request) => responding,
        };
        let ended = match responding {
            Ok(responding) => self.receive_events(responding, stop).await?,
            Err(error) => AnswerStreamEnd::Failed(error),
        };
        self.record_end(ended).await
    }

    async fn receive_events(
        &mut self,
        mut responding: ModelAnswerStream,
        stop: &CancellationToken,
    ) -> Result<AnswerStreamEnd, AgentError> {
        loop {
            let flush_at = self.unwritten_since.filter(|_| self.is_worth_writing());
            let flush_at = flush_at.map(|since| since + UNWRITTEN_AGE_MAX);
            let event = tokio::select! {
                biased;
                () = stop.cancelled() => return Ok(AnswerStreamEnd::Stopped),
                () = sleep_until(flush_at) => {
                    self.record_unwritten().await?;
                    continue;
                }
                event = responding.next() => event,
            };
            match event {
                Some(Ok(ModelEvent::End(end))) => return Ok(AnswerStreamEnd::Whole(end)),
                Some(Ok(event)) => {
                    if let Err(error) = self.add_event(event) {
                        return Ok(AnswerStreamEnd::Failed(error));
                    }
                }
                Some(Err(ModelError::Cancelled)) if stop.is_cancelled() => {
                    return Ok(AnswerStreamEnd::Stopped);
                }
                Some(Err(error)) => return Ok(AnswerStreamEnd::Failed(error)),
                None => return Ok(AnswerStreamEnd::Failed(ModelError::CutOff)),
            }
            // Parts are written whole, so that a long one is written less often.
            if self.unwritten_bytes >= UNWRITTEN_BYTES_MAX.max(self.bytes / UNWRITTEN_SHARE) {
                self.record_unwritten().await?;
            }
        }
    }

    /// Returns whether enough has come for what would have to be written again with it. Of a long part that comes slowly, little
    /// comes at a time.
    fn is_worth_writing(&self) -> bool {
        let parts = self.unwritten.iter().filter_map(|place| self.entry.parts.get(*place));
        let bytes: usize = parts.map(part_bytes).sum();
        bytes <= self.unwritten_bytes.saturating_mul(WRITTEN_TIMES_MAX)
    }

    fn add_event(&mut self, event: ModelEvent) -> Result<(), ModelError> {
        match event {
            ModelEvent::Retry(retry) => {
                self.log.context.notify_observer(AgentEventKind::retry(&retry))
            }
            ModelEvent::Text(delta) => {
                self.add_text(PartKind::Text, &delta)?;
                self.log.context.notify_observer(AgentEventKind::Text { delta });
            }
            ModelEvent::Reasoning(delta) => {
                self.add_text(PartKind::Reasoning, &delta)?;
                self.log.context.notify_observer(AgentEventKind::Reasoning { delta });
            }
            ModelEvent::ToolInput { id, name, text } => self.add_draft(&id, &name, text)?,
            ModelEvent::ToolCall(call) => self.add_call(call)?,
            // Whoever takes events looks for the end first.
            ModelEvent::End(_) => {}
        }
        Ok(())
    }

    /// Measures what is kept. What comes is bounded by the answer itself, but arguments that are no JSON take more as they are
    /// kept.
    fn check_size(&mut self, bytes: usize) -> Result<(), ModelError> {
        self.bytes = self.bytes.saturating_add(bytes);
        self.unwritten_bytes = self.unwritten_bytes.saturating_add(bytes);
        if self.bytes <= ANSWER_BYTES_MAX { Ok(()) } else { Err(ModelError::TooLong) }
    }

    fn add_text(&mut self, kind: PartKind, delta: &str) -> Result<(), ModelError> {
        self.check_size(delta.len())?;
        if delta.is_empty() {
            return Ok(());
        }
        let parts = &self.entry.parts;
        let is_last = parts.last().is_some_and(|last| last.kind == kind);
        let of_kind = parts.iter().rposition(|part| part.kind == kind);
        let place = match of_kind {
            Some(place) if is_last || parts.len() >= ANSWER_PARTS_MAX => place,
            Some(_) | None => self.add_part(kind),
        };
        if let Some(part) = self.entry.parts.get_mut(place) {
            part.text.get_or_insert_default().push_str(delta);
        }
        self.mark_unwritten(place);
        Ok(())
    }

    fn add_part(&mut self, kind: PartKind) -> usize {
        let part = self.log.new_part(&self.entry.message.id, kind);
        self.entry.parts.push(part);
        self.entry.parts.len() - 1
    }

    /// Returns the place of a new call. Also those that never get whole are counted.
    fn add_tool(&mut self, id: &str, tool: &str) -> Result<usize, ModelError> {
        self.calls += 1;
        if self.calls > TOOL_CALLS_MAX {
            return Err(ModelError::TooLong);
        }
        let place = self.add_part(PartKind::Tool);
        let name = self.log.unique_call_name(id);
        if let Some(part) = self.entry.parts.get_mut(place) {
            part.tool_call_id = Some(name);
            part.tool = Some(cut(tool, TOOL_NAME_CHARS_MAX));
            part.state = Some(PartState::InputStreaming);
        }
        self.mark_unwritten(place);
        Ok(place)
    }

    fn add_draft(&mut self, id: &str, tool: &str, delta: String) -> Result<(), ModelError> {
        // The arguments come once more, whole, and are measured then.
        let place = match self.drafts.get(id) {
            Some(place) => *place,
            None => {
                let place = self.add_tool(id, tool)?;
                self.drafts.insert(id.to_owned(), place);
                place
            }
        };
        if let Some((id, tool)) = self.call_id_and_tool(place) {
            self.log.context.notify_observer(AgentEventKind::ToolInput { id, tool, delta });
        }
        Ok(())
    }

    fn add_call(&mut self, call: ToolCall) -> Result<(), ModelError> {
        let ToolCall { id, name, arguments, signatures } = call;
        let input = input_json(&arguments);
        self.check_size(name.len() + input.len())?;
        let place = match self.drafts.remove(&id) {
            Some(place) => place,
            None => self.add_tool(&id, &name)?,
        };
        if let Some(part) = self.entry.parts.get_mut(place) {
            part.tool = Some(cut(&name, TOOL_NAME_CHARS_MAX));
            part.state = Some(PartState::InputAvailable);
            part.input_json = Some(input);
            part.signatures_json =
                (!signatures.is_empty()).then(|| serde_json::Value::from(signatures).to_string());
        }
        self.mark_unwritten(place);
        Ok(())
    }

    fn call_id_and_tool(&self, place: usize) -> Option<(String, String)> {
        let part = self.entry.parts.get(place)?;
        Some((part.tool_call_id.clone()?, part.tool.clone()?))
    }

    fn mark_unwritten(&mut self, place: usize) {
        self.unwritten.insert(place);
        self.unwritten_since.get_or_insert_with(Instant::now);
    }

    /// Records what has come since the last time.
    async fn record_unwritten(&mut self) -> Result<(), AgentError> {
        let records = self.records();
        self.log.record_rows(records, SessionDurability::Ordered).await
    }

    fn records(&mut self) -> Vec<SessionRecord> {
        let now_ms = self.log.context.now_ms();
        let mut records = Vec::new();
        if !self.is_message_written {
            self.is_message_written = true;
            records.push(SessionRecord::Message(self.entry.message.clone()));
        }
        for place in std::mem::take(&mut self.unwritten) {
            if let Some(part) = self.entry.parts.get_mut(place) {
                part.updated_at_ms = now_ms;
                records.push(SessionRecord::Part(part.clone()));
            }
        }
        (self.unwritten_bytes, self.unwritten_since) = (0, None);
        records
    }

    /// Records how the answer ended, with all of it and what it took, in one.
    async fn record_end(mut self, ended: AnswerStreamEnd) -> Result<ReceivedAnswer, AgentError> {
        let asks_for_calls = self.entry.parts.iter().any(is_whole_call);
        let said_something = !self.entry.parts.is_empty();
        let (finish, usage, error, why) = match &ended {
            AnswerStreamEnd::Whole(end) => {
                let finish = message_finish(&end.stop, asks_for_calls);
                (
                    finish,
                    end.usage,
                    None,
                    "the answer that asks for it was cut at its greatest length",
                )
            }
            AnswerStreamEnd::Stopped => {
                (MessageFinish::Aborted, ModelUsage::default(), None, "the turn was stopped")
            }
            AnswerStreamEnd::Failed(error) => {
                let finish = MessageFinish::Error;
                let why = "the answer that asks for it broke off";
                (finish, ModelUsage::default(), Some(error.to_string()), why)
            }
        };
        if said_something || self.is_message_written || matches!(ended, AnswerStreamEnd::Whole(_)) {
            self.complete(finish, usage, error, why).await?;
        }
        Ok(match ended {
            AnswerStreamEnd::Whole(_) => ReceivedAnswer::Whole { finish, usage },
            AnswerStreamEnd::Stopped => ReceivedAnswer::Stopped,
            AnswerStreamEnd::Failed(error) => {
                let unsaid = || Box::new(self.failed_message(&error));
                let unsaid = (!said_something).then(unsaid);
                ReceivedAnswer::Failed { error, failed_message: unsaid }
            }
        })
    }

    /// Returns the message of the answer when it is over and nothing came.
    fn failed_message(&self, error: &ModelError) -> SessionMessage {
        let id = self.entry.message.id.clone();
        SessionMessage { id, ..self.log.failed_message(error.to_string()) }
    }

    async fn complete(
        &mut self,
        finish: MessageFinish,
        usage: ModelUsage,
        error: Option<String>,
        why_unmade: &str,
    ) -> Result<(), AgentError> {
        let now_ms = self.log.context.now_ms();
        let mut told = Vec::new();
        for (place, part) in self.entry.parts.iter_mut().enumerate() {
            let is_made = finish == MessageFinish::ToolCalls && is_whole_call(part);
            if is_open_call(part) && !is_made {
                told.push(set_call_unmade(part, why_unmade, now_ms));
                self.unwritten.insert(place);
            }
        }
        let message = &mut self.entry.message;
        message.finish = Some(finish);
        message.error = error;
        message.tokens = tokens_of(usage);
        message.completed_at_ms = Some(now_ms);
        self.is_message_written = false;
        self.log.add_usage(usage);
        let mut records = vec![self.log.row_record()];
        records.extend(self.records());
        self.log.record_rows(records, SessionDurability::Ordered).await?;
        let message = self.entry.message.clone();
        let parts = std::mem::take(&mut self.entry.parts);
        self.log.entries.push(TranscriptEntry { message, parts });
        told.into_iter().for_each(|happened| self.log.context.notify_observer(happened));
        Ok(())
    }
}

/// How long a part of an answer may be on its way to the journal.
const UNWRITTEN_AGE_MAX: Duration = Duration::from_millis(UNWRITTEN_MS_MAX);

/// Of an answer that is long, as much as this part of it may be on its way to the journal.
const UNWRITTEN_SHARE: usize = 16;

/// Returns how much a part holds.
fn part_bytes(part: &MessagePart) -> usize {
    let texts = [&part.text, &part.input_json, &part.signatures_json];
    texts.into_iter().flatten().map(String::len).sum()
}

/// Waits for a time, or for ever where there is none.
async fn sleep_until(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

fn is_whole_call(part: &MessagePart) -> bool {
    part.state == Some(PartState::InputAvailable)
}

/// Returns why an answer ended, as its row says it. Calls are asked for also where a provider calls that something else; of an
/// answer that was cut none is made, because nobody knows which were still to come.
fn message_finish(stop: &ModelStopReason, asks_for_calls: bool) -> MessageFinish {
    match (stop, asks_for_calls) {
        (ModelStopReason::Length, _) => MessageFinish::Length,
        (
            ModelStopReason::Done
            | ModelStopReason::ToolCalls
            | ModelStopReason::StopText
            | ModelStopReason::Other(_),
            true,
        ) => MessageFinish::ToolCalls,
        (ModelStopReason::Done | ModelStopReason::ToolCalls | ModelStopReason::StopText, false) => {
            MessageFinish::Stop
        }
        (ModelStopReason::Other(_), false) => MessageFinish::Other,
    }
}
