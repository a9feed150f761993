//! A chat in memory while a turn is under way: its rows, and every change of them, which is recorded as it is made. What is
//! said and when is decided elsewhere.

use std::collections::HashMap;
use std::sync::Arc;

use haft_contract::cut;
use haft_journal::{
    MessageFinish, MessageId, MessageKind, MessagePart, MessageQuery, MessageRole, PartKind,
    SessionDurability, SessionMessage, SessionRecord, SessionRow, SessionStatus, TokenCounts,
};
use haft_model::ModelUsage;

use crate::call_answer::set_call_unmade;
use crate::error::AgentError;
use crate::event::AgentEventKind;
use crate::limits::{CALL_NAME_CHARS_MAX, TITLE_CHARS_MAX};
use crate::session_context::AgentSessionContext;
use crate::transcript::{TranscriptEntry, is_open_call, visible_entries};

/// Rows that one record brings at most, well below what the journal takes.
const RECORDS_AT_ONCE: usize = 1_024;

/// The rows of one chat.
pub(crate) struct SessionLog {
    pub(crate) context: Arc<AgentSessionContext>,
    pub(crate) row: SessionRow,
    /// All messages but those that were set aside.
    pub(crate) entries: Vec<TranscriptEntry>,
    /// How often each name of a call was given, those of messages set aside too.
    call_names: HashMap<String, u32>,
}

impl SessionLog {
    /// Reads the rows.
    pub(crate) async fn load(
        core: &Arc<AgentSessionContext>,
        row: SessionRow,
    ) -> Result<Self, AgentError> {
        let mut ledger = Self {
            context: Arc::clone(core),
            row,
            entries: Vec::new(),
            call_names: HashMap::new(),
        };
        let journal = core.host.parts.runtime.journal();
        let mut after = None;
        loop {
            let query = MessageQuery { after, with_rewound: true, ..MessageQuery::default() };
            let page = journal.session_messages(&core.id, query).await?;
            after = page.last().map(|(message, _)| message.id.clone());
            if after.is_none() {
                return Ok(ledger);
            }
            page.into_iter().for_each(|(message, parts)| ledger.add(message, parts));
        }
    }

    fn add(&mut self, message: SessionMessage, parts: Vec<MessagePart>) {
        self.context.host.ids.raise_floor(message.id.bits());
        for part in &parts {
            self.context.host.ids.raise_floor(part.id.bits());
            if let Some(name) = &part.tool_call_id {
                self.call_names.insert(name.clone(), 1);
            }
        }
        if message.rewound_at_ms.is_none() {
            self.entries.push(TranscriptEntry { message, parts });
        }
    }

    /// Returns the rows that the model gets to read.
    pub(crate) fn visible_entries(&self) -> Vec<&TranscriptEntry> {
        visible_entries(&self.entries)
    }

    /// Returns a name for a call that no other call of the chat has.
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

    /// Records rows, of which the caller has changed those in memory.
    pub(crate) async fn record_rows(
        &self,
        records: Vec<SessionRecord>,
        firmness: SessionDurability,
    ) -> Result<(), AgentError> {
        record_all(&self.context, records, firmness).await
    }

    /// Returns the record of the chat's row as it is now.
    pub(crate) fn row_record(&mut self) -> SessionRecord {
        self.row.updated_at_ms = self.context.now_ms();
        SessionRecord::Session(self.row.clone())
    }

    /// Says how the chat stands.
    pub(crate) async fn set_status(
        &mut self,
        status: SessionStatus,
        firmness: SessionDurability,
    ) -> Result<(), AgentError> {
        self.row.status = status;
        let record = self.row_record();
        self.record_rows(vec![record], firmness).await
    }

    /// Says how the chat stands, and that an answer of nothing was the last one.
    pub(crate) async fn set_status_with_failure(
        &mut self,
        status: SessionStatus,
        unsaid: SessionMessage,
    ) -> Result<(), AgentError> {
        self.row.status = status;
        let record = self.row_record();
        let entry = TranscriptEntry { message: unsaid, parts: Vec::new() };
        self.append_message(entry, vec![record], SessionDurability::Durable).await
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

    /// Returns an answer of nothing, because it failed before anything of it came.
    pub(crate) fn failed_message(&self, why: String) -> SessionMessage {
        SessionMessage {
            finish: Some(MessageFinish::Error),
            error: Some(why),
            completed_at_ms: Some(self.context.now_ms()),
            ..self.new_message(MessageRole::Assistant, MessageKind::Said)
        }
    }

    /// Returns a part of a message, of nothing yet.
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
            created_at_ms: now_ms,
            updated_at_ms: now_ms,
        }
    }

    /// Returns a message of one text.
    pub(crate) fn text_entry(&self, message: SessionMessage, text: String) -> TranscriptEntry {
        let part = MessagePart { text: Some(text), ..self.new_part(&message.id, PartKind::Text) };
        TranscriptEntry { message, parts: vec![part] }
    }

    /// Adds what a person says. The first of it gives the chat its title.
    pub(crate) async fn append_prompt(&mut self, text: String) -> Result<(), AgentError> {
        if self.row.title.is_none() {
            let line = text.lines().map(str::trim).find(|line| !line.is_empty());
            self.row.title = line.map(|line| cut(&haft_contract::clean(line), TITLE_CHARS_MAX));
        }
        let message = self.new_message(MessageRole::User, MessageKind::Said);
        let entry = self.text_entry(message, text);
        let session = self.row_record();
        self.append_message(entry, vec![session], SessionDurability::Ordered).await
    }

    /// Tells the model something that no person said, together with rows of the chats that it is about.
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

    /// Adds a message with its parts, behind other rows.
    pub(crate) async fn append_message(
        &mut self,
        entry: TranscriptEntry,
        mut records: Vec<SessionRecord>,
        firmness: SessionDurability,
    ) -> Result<(), AgentError> {
        records.push(SessionRecord::Message(entry.message.clone()));
        records.extend(entry.parts.iter().cloned().map(SessionRecord::Part));
        self.entries.push(entry);
        self.record_rows(records, firmness).await
    }

    /// Counts what an answer took.
    pub(crate) fn add_usage(&mut self, usage: ModelUsage) {
        let all = usage_of(self.row.tokens).plus(usage);
        self.row.tokens = tokens_of(all);
        self.row.steps = self.row.steps.saturating_add(1);
    }

    /// Puts right what a process left that was killed while an answer came: the answer is as long as it is, and none of its
    /// calls was made.
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
            Ok(())
        } else {
            self.record_rows(records, SessionDurability::Ordered).await
        }
    }
}

/// Records rows of a chat in their order: as many as the journal takes at once, and then the next ones.
pub(crate) async fn record_all(
    core: &AgentSessionContext,
    mut records: Vec<SessionRecord>,
    firmness: SessionDurability,
) -> Result<(), AgentError> {
    while records.len() > RECORDS_AT_ONCE {
        let rest = records.split_off(RECORDS_AT_ONCE);
        core.run.record_session(records, firmness).await?;
        records = rest;
    }
    Ok(core.run.record_session(records, firmness).await?)
}

/// Returns what a row counts as a model does.
pub(crate) fn usage_of(tokens: TokenCounts) -> ModelUsage {
    let TokenCounts { input, output, reasoning, cache_read, cache_write } = tokens;
    ModelUsage { input, output, reasoning, cache_read, cache_write }
}

/// Returns what a model counts as a row does, which no database counts further than this in.
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
