//! Receives one answer of a model. Each piece is reported and recorded as it arrives, and the complete answer is in the journal
//! before any of its calls is made. This module makes no calls.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use haft_contract::{ToolKind, cut};
use haft_journal::{
    MessageFinish, MessageKind, MessagePart, MessageRole, PartKind, PartState, SessionDurability,
    SessionMessage, SessionRecord,
};
use haft_model::limits::{ANSWER_BYTES_MAX, TOOL_CALLS_MAX};
use haft_model::{
    ModelAnswerEnd, ModelError, ModelEvent, ModelRequest, ModelStopReason, ModelUsage, ToolCall,
    ToolCallArguments,
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
    /// It is complete, and it is the last message of the session.
    Whole { finish: MessageFinish, usage: ModelUsage },
    /// The turn was stopped.
    Stopped,
    /// It failed. The received part is recorded. If nothing was received, `failed_message` is the message with the reason, which
    /// is not recorded yet.
    Failed { error: ModelError, failed_message: Option<Box<SessionMessage>> },
}

/// An answer that is arriving.
pub(crate) struct IncomingAnswer<'l> {
    log: &'l mut SessionLog,
    entry: TranscriptEntry,
    is_message_written: bool,
    /// The indexes of parts whose present state is not recorded.
    unwritten: BTreeSet<usize>,
    /// The bytes that arrived since the last record.
    unwritten_bytes: usize,
    unwritten_since: Option<Instant>,
    /// The indexes of calls whose arguments are arriving, by the provider's id.
    drafts: HashMap<String, usize>,
    bytes: usize,
    calls: usize,
}

/// How the stream of an answer ended.
enum AnswerStreamEnd {
    Whole(ModelAnswerEnd),
    Stopped,
    Failed(ModelError),
}

impl<'l> IncomingAnswer<'l> {
    /// Begins an answer with a new message id.
    pub(crate) fn new(log: &'l mut SessionLog) -> Self {
        let message = log.new_message(MessageRole::Assistant, MessageKind::Said);
        Self {
            log,
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

    /// Sends the request and receives the answer.
    pub(crate) async fn receive(
        mut self,
        request: ModelRequest,
        stop: &CancellationToken,
    ) -> Result<ReceivedAnswer, AgentError> {
        let model = std::sync::Arc::clone(&self.log.context.model);
        let responded = tokio::select! {
            biased;
            () = stop.cancelled() => return self.record_end(AnswerStreamEnd::Stopped).await,
            responded = model.respond(request) => responded,
        };
        let mut stream = match responded {
            Ok(stream) => stream,
            Err(error) => return self.record_end(AnswerStreamEnd::Failed(error)).await,
        };
        let ended = loop {
            // A record writes whole parts. If little arrived of a long part, writing it again is not worth it.
            let texts = self.unwritten.iter().filter_map(|index| self.entry.parts.get(*index));
            let texts = texts.flat_map(|it| [&it.text, &it.input_json, &it.signatures_json]);
            let part_bytes: usize = texts.flatten().map(String::len).sum();
            let is_worth_writing =
                part_bytes <= self.unwritten_bytes.saturating_mul(WRITTEN_TIMES_MAX);
            let flush_at = self.unwritten_since.filter(|_| is_worth_writing);
            let flush_at = flush_at.map(|since| since + UNWRITTEN_AGE_MAX);
            let event = tokio::select! {
                biased;
                () = stop.cancelled() => break AnswerStreamEnd::Stopped,
                () = tokio::time::sleep_until(flush_at.unwrap_or_else(Instant::now)), if flush_at.is_some() => {
                    self.record_unwritten().await?;
                    continue;
                }
                event = stream.next() => event,
            };
            match event {
                Some(Ok(ModelEvent::End(end))) => break AnswerStreamEnd::Whole(end),
                Some(Ok(event)) => {
                    if let Err(error) = self.add_event(event) {
                        break AnswerStreamEnd::Failed(error);
                    }
                }
                Some(Err(ModelError::Cancelled)) if stop.is_cancelled() => {
                    break AnswerStreamEnd::Stopped;
                }
                Some(Err(error)) => break AnswerStreamEnd::Failed(error),
                None => break AnswerStreamEnd::Failed(ModelError::CutOff),
            }
            // The share makes records of a long answer rarer.
            if self.unwritten_bytes >= UNWRITTEN_BYTES_MAX.max(self.bytes / UNWRITTEN_SHARE) {
                self.record_unwritten().await?;
            }
        };
        self.record_end(ended).await
    }

    fn add_event(&mut self, event: ModelEvent) -> Result<(), ModelError> {
        let happened = match event {
            ModelEvent::Retry(retry) => AgentEventKind::retry(&retry),
            ModelEvent::Text(delta) => {
                self.add_text(PartKind::Text, &delta)?;
                AgentEventKind::Text { delta }
            }
            ModelEvent::Reasoning(delta) => {
                self.add_text(PartKind::Reasoning, &delta)?;
                AgentEventKind::Reasoning { delta }
            }
            ModelEvent::ToolInput { id: given, name, text: delta } => {
                // The complete arguments follow, and only they are measured.
                let index = match self.drafts.get(&given) {
                    Some(index) => *index,
                    None => {
                        let index = self.add_tool(&given, &name)?;
                        self.drafts.insert(given, index);
                        index
                    }
                };
                let Some(MessagePart { tool_call_id: Some(id), tool: Some(tool), .. }) =
                    self.entry.parts.get(index)
                else {
                    return Ok(());
                };
                let registry = self.log.context.host.parts.runtime.registry();
                let kind =
                    registry.contract(tool).map_or(ToolKind::Other, |contract| contract.kind);
                AgentEventKind::ToolInput { id: id.clone(), tool: tool.clone(), kind, delta }
            }
            ModelEvent::ToolCall(ToolCall { id, name, arguments, signatures }) => {
                let lies_apart = self.lies_apart(&name, &arguments);
                let input = input_json(&arguments);
                self.check_size(name.len() + input.len())?;
                let index = match self.drafts.remove(&id) {
                    Some(index) => index,
                    None => self.add_tool(&id, &name)?,
                };
                if let Some(part) = self.entry.parts.get_mut(index) {
                    part.tool = Some(cut(&name, TOOL_NAME_CHARS_MAX));
                    part.state = Some(PartState::InputAvailable);
                    part.input_json = Some(input);
                    part.lies_apart = lies_apart;
                    part.signatures_json = (!signatures.is_empty())
                        .then(|| serde_json::Value::from(signatures).to_string());
                }
                self.mark_unwritten(index);
                return Ok(());
            }
            // The caller looks for the end first.
            ModelEvent::End(_) => return Ok(()),
        };
        self.log.context.notify_observer(happened);
        Ok(())
    }

    /// Returns whether arguments lie in the content store: those of tools whose contents the journal redacts, and those that could
    /// be meant for one of them.
    fn lies_apart(&self, tool: &str, arguments: &ToolCallArguments) -> bool {
        let registry = self.log.context.host.parts.runtime.registry();
        let is_redacted =
            registry.contract(tool).is_none_or(|contract| !contract.redacted.is_empty());
        is_redacted || matches!(arguments, ToolCallArguments::Malformed { .. })
    }

    /// Counts recorded bytes. The stream limits the received bytes, but arguments that are not JSON grow when they are recorded.
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

    /// Returns the index of a new call. Calls that never become complete count as well.
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

    fn mark_unwritten(&mut self, place: usize) {
        self.unwritten.insert(place);
        self.unwritten_since.get_or_insert_with(Instant::now);
    }

    /// Records the changes since the last record.
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

    /// Records the end of the answer, its last parts and its usage at once.
    async fn record_end(mut self, ended: AnswerStreamEnd) -> Result<ReceivedAnswer, AgentError> {
        let asks_for_calls = self.entry.parts.iter().any(is_whole_call);
        let is_empty = self.entry.parts.is_empty();
        let (finish, usage, error, why_unmade) = match &ended {
            AnswerStreamEnd::Whole(end) => {
                let finish = match &end.stop {
                    // No call of a cut answer is made, because the calls after the cut are unknown.
                    ModelStopReason::Length => MessageFinish::Length,
                    // Providers give calls with other stop reasons as well.
                    ModelStopReason::Done
                    | ModelStopReason::ToolCalls
                    | ModelStopReason::StopText
                    | ModelStopReason::Other(_)
                        if asks_for_calls =>
                    {
                        MessageFinish::ToolCalls
                    }
                    ModelStopReason::Done
                    | ModelStopReason::ToolCalls
                    | ModelStopReason::StopText => MessageFinish::Stop,
                    ModelStopReason::Other(_) => MessageFinish::Other,
                };
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
                let why_unmade = "the answer that asks for it broke off";
                (MessageFinish::Error, ModelUsage::default(), Some(error.to_string()), why_unmade)
            }
        };
        if !is_empty || self.is_message_written || matches!(ended, AnswerStreamEnd::Whole(_)) {
            let now_ms = self.log.context.now_ms();
            let mut unmade_events = Vec::new();
            for (index, part) in self.entry.parts.iter_mut().enumerate() {
                let is_made = finish == MessageFinish::ToolCalls && is_whole_call(part);
                if is_open_call(part) && !is_made {
                    unmade_events.push(set_call_unmade(part, why_unmade, now_ms));
                    self.unwritten.insert(index);
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
            let context = &self.log.context;
            unmade_events.into_iter().for_each(|happened| context.notify_observer(happened));
        }
        Ok(match ended {
            AnswerStreamEnd::Whole(_) => ReceivedAnswer::Whole { finish, usage },
            AnswerStreamEnd::Stopped => ReceivedAnswer::Stopped,
            AnswerStreamEnd::Failed(error) => {
                let failed_message = is_empty.then(|| {
                    let message = self.log.failed_message(error.to_string());
                    Box::new(SessionMessage { id: self.entry.message.id, ..message })
                });
                ReceivedAnswer::Failed { error, failed_message }
            }
        })
    }
}

/// The longest time before a part of an answer is recorded.
const UNWRITTEN_AGE_MAX: Duration = Duration::from_millis(UNWRITTEN_MS_MAX);

/// The divisor for the share of a long answer that may be unrecorded.
const UNWRITTEN_SHARE: usize = 16;

fn is_whole_call(part: &MessagePart) -> bool {
    part.state == Some(PartState::InputAvailable)
}
