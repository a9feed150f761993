//! The rows of a session in memory during a turn. Each change is recorded when it is made. Other modules decide what is added and
//! when.

use std::collections::HashMap;
use std::sync::Arc;

use haft_contract::cut;
use haft_journal::{
    MessageFinish, MessageId, MessageKind, MessagePart, MessageQuery, MessageRole, PartKind,
    SessionDurability, SessionMessage, SessionRecord, SessionRow, SessionStatus, TokenCounts,
};
use haft_model::{ModelUsage, UserMessage};

use crate::call_answer::set_call_unmade;
use crate::error::AgentError;
use crate::event::AgentEventKind;
use crate::limits::{CALL_NAME_CHARS_MAX, TITLE_CHARS_MAX};
use crate::session_context::AgentSessionContext;
use crate::transcript::{TranscriptEntry, image_part, is_open_call, visible_entries};

/// The maximum of rows in one record, well below the journal's limit.
const RECORDS_AT_ONCE: usize = 1_024;

/// The rows of one session.
pub(crate) struct SessionLog {
    pub(crate) context: Arc<AgentSessionContext>,
    pub(crate) row: SessionRow,
    /// All messages without the rewound ones.
    pub(crate) entries: Vec<TranscriptEntry>,
    /// How often each call id was given, including the calls of rewound messages.
    call_names: HashMap<String, u32>,
}

impl SessionLog {
    /// Loads the rows.
    pub(crate) async fn load(
        context: &Arc<AgentSessionContext>,
        row: SessionRow,
    ) -> Result<Self, AgentError> {
        let mut log = Self {
            context: Arc::clone(context),
            row,
            entries: Vec::new(),
            call_names: HashMap::new(),
        };
        let ids = &context.host.ids;
        let journal = context.host.parts.runtime.journal();
        let mut after = None;
        loop {
            let query = MessageQuery { after, with_rewound: true, ..MessageQuery::default() };
            let page = journal.session_messages(&context.id, query).await?;
            after = page.last().map(|(message, _)| message.id.clone());
            if after.is_none() {
                return Ok(log);
            }
            for (message, parts) in page {
                ids.raise_floor(message.id.bits());
                parts.iter().for_each(|part| ids.raise_floor(part.id.bits()));
                let names = parts.iter().filter_map(|part| part.tool_call_id.clone());
                log.call_names.extend(names.map(|name| (name, 1)));
                if message.rewound_at_ms.is_none() {
                    log.entries.push(TranscriptEntry { message, parts });
                }
            }
        }
    }

    /// Returns the messages that the model reads.
    pub(crate) fn visible_entries(&self) -> Vec<&TranscriptEntry> {
        visible_entries(&self.entries)
    }

    /// Returns a call id that no other call of the session has.
    pub(crate) fn unique_call_name(&mut self, given: &str) -> String {
        let is_plain = |letter: &char| letter.is_ascii_alphanumeric() || "_-".contains(*letter);
        let plain: String = given.chars().filter(is_plain).take(CALL_NAME_CHARS_MAX).collect();
        let base = if plain.is_empty() { "call".to_owned() } else { plain };
        let mut count = self.call_names.get(&base).copied().unwrap_or_default();
        let mut name = base.clone();
        loop {
            count = count.saturating_add(1);
            if count > 1 {
                name = format!("{base}-{count}");
            }
            if !self.call_names.contains_key(&name) {
                break;
            }
        }
        self.call_names.insert(base, count);
        self.call_names.entry(name.clone()).or_insert(1);
        name
    }

    /// Records rows that the caller has already changed in memory.
    pub(crate) async fn record_rows(
        &self,
        records: Vec<SessionRecord>,
        durability: SessionDurability,
    ) -> Result<(), AgentError> {
        record_all(&self.context, records, durability).await
    }

    /// Returns a record of the session's present row.
    pub(crate) fn row_record(&mut self) -> SessionRecord {
        self.row.updated_at_ms = self.context.now_ms();
        SessionRecord::Session(self.row.clone())
    }

    /// Records the status of the session.
    pub(crate) async fn set_status(
        &mut self,
        status: SessionStatus,
        durability: SessionDurability,
    ) -> Result<(), AgentError> {
        self.row.status = status;
        let record = self.row_record();
        self.record_rows(vec![record], durability).await
    }

    /// Returns a message without parts.
    pub(crate) fn new_message(&self, role: MessageRole, kind: MessageKind) -> SessionMessage {
        let now_ms = self.context.now_ms();
        let is_answer = role == MessageRole::Assistant;
        SessionMessage {
            id: self.context.host.ids.next_message_id(),
            session_id: self.context.id.clone(),
            role,
            kind,
            agent: is_answer.then(|| self.context.agent.name.clone()),
            model: is_answer.then(|| self.context.model_name.clone()),
            finish: None,
            error: None,
            covers_through: None,
            tokens: TokenCounts::default(),
            created_at_ms: now_ms,
            completed_at_ms: (!is_answer).then_some(now_ms),
            rewound_at_ms: None,
        }
    }

    /// Returns an empty answer that failed before any of it arrived.
    pub(crate) fn failed_message(&self, why: String) -> SessionMessage {
        SessionMessage {
            finish: Some(MessageFinish::Error),
            error: Some(why),
            completed_at_ms: Some(self.context.now_ms()),
            ..self.new_message(MessageRole::Assistant, MessageKind::Said)
        }
    }

    /// Returns an empty part of a message.
    pub(crate) fn new_part(&self, message: &MessageId, kind: PartKind) -> MessagePart {
        let now_ms = self.context.now_ms();
        MessagePart {
            id: self.context.host.ids.next_part_id(),
            message_id: message.clone(),
            session_id: self.context.id.clone(),
            kind,
            text: None,
            tool_call_id: None,
            tool: None,
            state: None,
            input_json: None,
            output_json: None,
            call_id: None,
            signatures_json: None,
            lies_apart: false,
            created_at_ms: now_ms,
            updated_at_ms: now_ms,
        }
    }

    /// Returns a message with one text.
    pub(crate) fn text_entry(&self, message: SessionMessage, text: String) -> TranscriptEntry {
        let part = MessagePart { text: Some(text), ..self.new_part(&message.id, PartKind::Text) };
        TranscriptEntry { message, parts: vec![part] }
    }

    /// Appends a person's prompt, durably. The first prompt gives the session its title.
    pub(crate) async fn append_prompt(&mut self, prompt: UserMessage) -> Result<(), AgentError> {
        let UserMessage { text, images } = prompt;
        if self.row.title.is_none() {
            let line = text.lines().map(str::trim).find(|line| !line.is_empty());
            self.row.title = line.map(|line| cut(&haft_contract::clean(line), TITLE_CHARS_MAX));
        }
        let message = self.new_message(MessageRole::User, MessageKind::Said);
        let mut entry = self.text_entry(message, text);
        for image in &images {
            let part = self.new_part(&entry.message.id, PartKind::Text);
            entry.parts.push(image_part(part, image));
        }
        let session = self.row_record();
        self.append_message(entry, vec![session], SessionDurability::Durable).await
    }

    /// Appends a notice from haft to the model, and records rows of the sessions that it reports on.
    pub(crate) async fn append_notice(
        &mut self,
        text: String,
        about: Vec<SessionRecord>,
    ) -> Result<(), AgentError> {
        let message = self.new_message(MessageRole::User, MessageKind::Notice);
        let entry = self.text_entry(message, text.clone());
        self.append_message(entry, about, SessionDurability::Ordered).await?;
        self.context.notify_observer(AgentEventKind::Notice { text });
        Ok(())
    }

    /// Appends a message with its parts. `records` come before it.
    pub(crate) async fn append_message(
        &mut self,
        entry: TranscriptEntry,
        mut records: Vec<SessionRecord>,
        durability: SessionDurability,
    ) -> Result<(), AgentError> {
        records.push(SessionRecord::Message(entry.message.clone()));
        records.extend(entry.parts.iter().cloned().map(SessionRecord::Part));
        self.entries.push(entry);
        self.record_rows(records, durability).await
    }

    /// Adds the usage of an answer to the session's row.
    pub(crate) fn add_usage(&mut self, usage: ModelUsage) {
        self.row.tokens = tokens_of(usage_of(self.row.tokens).plus(usage));
        self.row.steps = self.row.steps.saturating_add(1);
    }

    /// Ends an answer that was arriving when its process was killed. None of its calls was made.
    pub(crate) async fn finish_interrupted_answer(&mut self) -> Result<(), AgentError> {
        let now_ms = self.context.now_ms();
        let mut records = Vec::new();
        for TranscriptEntry { message, parts } in &mut self.entries {
            if message.role != MessageRole::Assistant || message.finish.is_some() {
                continue;
            }
            message.finish = Some(MessageFinish::Interrupted);
            message.completed_at_ms = Some(now_ms);
            records.push(SessionRecord::Message(message.clone()));
            for part in parts.iter_mut().filter(|part| is_open_call(part)) {
                set_call_unmade(part, "haft ended while the answer that asks for it came", now_ms);
                records.push(SessionRecord::Part(part.clone()));
            }
        }
        if records.is_empty() {
            return Ok(());
        }
        self.record_rows(records, SessionDurability::Ordered).await
    }
}

/// Records rows of a session in their order, in chunks that the journal accepts.
pub(crate) async fn record_all(
    context: &AgentSessionContext,
    mut records: Vec<SessionRecord>,
    durability: SessionDurability,
) -> Result<(), AgentError> {
    while records.len() > RECORDS_AT_ONCE {
        let rest = records.split_off(RECORDS_AT_ONCE);
        context.run.record_session(records, durability).await?;
        records = rest;
    }
    Ok(context.run.record_session(records, durability).await?)
}

/// Returns the tokens of a row as the usage of a model.
pub(crate) fn usage_of(tokens: TokenCounts) -> ModelUsage {
    let TokenCounts { input, output, reasoning, cache_read, cache_write } = tokens;
    ModelUsage { input, output, reasoning, cache_read, cache_write }
}

/// Returns the usage of a model as the tokens of a row. Databases store at most `i64::MAX`.
pub(crate) fn tokens_of(usage: ModelUsage) -> TokenCounts {
    let counted = |tokens: u64| tokens.min(i64::MAX.cast_unsigned());
    TokenCounts {
        input: counted(usage.input),
        output: counted(usage.output),
        reasoning: counted(usage.reasoning),
        cache_read: counted(usage.cache_read),
        cache_write: counted(usage.cache_write),
    }
}
