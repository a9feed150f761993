//! A chat in memory while a turn is under way: its rows, and every change of them, which is recorded as it is made. What is
//! said and when is decided elsewhere.

use std::collections::HashMap;
use std::sync::Arc;

use haft_contract::cut;
use haft_journal::{
    ChatFirmness, ChatMessage, ChatPart, ChatRecord, ChatRole, ChatSession, ChatStatus,
    MessageFinish, MessageId, MessageKind, MessageQuery, PartKind, TokenCounts,
};
use haft_model::Usage;

use crate::calls::unmade;
use crate::chat::ChatCore;
use crate::error::AgentError;
use crate::event::Happened;
use crate::limits::{CALL_NAME_CHARS_MAX, TITLE_CHARS_MAX};
use crate::transcript::{Entry, in_force, is_open};

/// Rows that one record brings at most, well below what the journal takes.
const RECORDS_AT_ONCE: usize = 1_024;

/// The rows of one chat.
pub(crate) struct Ledger {
    pub(crate) core: Arc<ChatCore>,
    pub(crate) row: ChatSession,
    /// All messages but those that were set aside.
    pub(crate) entries: Vec<Entry>,
    /// How often each name of a call was given, those of messages set aside too.
    call_names: HashMap<String, u32>,
}

impl Ledger {
    /// Reads the rows.
    pub(crate) async fn load(core: &Arc<ChatCore>, row: ChatSession) -> Result<Self, AgentError> {
        let mut ledger =
            Self { core: Arc::clone(core), row, entries: Vec::new(), call_names: HashMap::new() };
        let journal = core.host.parts.runtime.journal();
        let mut after = None;
        loop {
            let query = MessageQuery { after, with_rewound: true, ..MessageQuery::default() };
            let page = journal.chat_messages(&core.id, query).await?;
            after = page.last().map(|(message, _)| message.id.clone());
            if after.is_none() {
                return Ok(ledger);
            }
            page.into_iter().for_each(|(message, parts)| ledger.add(message, parts));
        }
    }

    fn add(&mut self, message: ChatMessage, parts: Vec<ChatPart>) {
        self.core.host.ids.raise(message.id.bits());
        for part in &parts {
            self.core.host.ids.raise(part.id.bits());
            if let Some(name) = &part.tool_call_id {
                self.call_names.insert(name.clone(), 1);
            }
        }
        if message.rewound_at_ms.is_none() {
            self.entries.push(Entry { message, parts });
        }
    }

    /// Returns the rows that the model gets to read.
    pub(crate) fn in_force(&self) -> Vec<&Entry> {
        in_force(&self.entries)
    }

    /// Returns a name for a call that no other call of the chat has.
    pub(crate) fn call_name(&mut self, given: &str) -> String {
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
    pub(crate) async fn record(
        &self,
        records: Vec<ChatRecord>,
        firmness: ChatFirmness,
    ) -> Result<(), AgentError> {
        record_all(&self.core, records, firmness).await
    }

    /// Returns the record of the chat's row as it is now.
    pub(crate) fn session_record(&mut self) -> ChatRecord {
        self.row.updated_at_ms = self.core.now_ms();
        ChatRecord::Session(self.row.clone())
    }

    /// Says how the chat stands.
    pub(crate) async fn stand(
        &mut self,
        status: ChatStatus,
        firmness: ChatFirmness,
    ) -> Result<(), AgentError> {
        self.row.status = status;
        let record = self.session_record();
        self.record(vec![record], firmness).await
    }

    /// Says how the chat stands, and that an answer of nothing was the last one.
    pub(crate) async fn stand_with(
        &mut self,
        status: ChatStatus,
        unsaid: ChatMessage,
    ) -> Result<(), AgentError> {
        self.row.status = status;
        let record = self.session_record();
        let entry = Entry { message: unsaid, parts: Vec::new() };
        self.push(entry, vec![record], ChatFirmness::Durable).await
    }

    /// Returns a message without parts.
    pub(crate) fn new_message(&self, role: ChatRole, kind: MessageKind) -> ChatMessage {
        let now_ms = self.core.now_ms();
        let is_answer = role == ChatRole::Assistant;
        ChatMessage {
            id: self.core.host.ids.message(),
            session_id: self.core.id.clone(),
            role,
            kind,
            agent: is_answer.then(|| self.core.agent.name.clone()),
            model: is_answer.then(|| self.core.model_name.clone()),
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
    pub(crate) fn unsaid(&self, why: String) -> ChatMessage {
        ChatMessage {
            finish: Some(MessageFinish::Error),
            error: Some(why),
            completed_at_ms: Some(self.core.now_ms()),
            ..self.new_message(ChatRole::Assistant, MessageKind::Said)
        }
    }

    /// Returns a part of a message, of nothing yet.
    pub(crate) fn new_part(&self, message: &MessageId, kind: PartKind) -> ChatPart {
        let now_ms = self.core.now_ms();
        ChatPart {
            id: self.core.host.ids.part(),
            message_id: message.clone(),
            session_id: self.core.id.clone(),
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
    pub(crate) fn text_entry(&self, message: ChatMessage, text: String) -> Entry {
        let part = ChatPart { text: Some(text), ..self.new_part(&message.id, PartKind::Text) };
        Entry { message, parts: vec![part] }
    }

    /// Adds what a person says. The first of it gives the chat its title.
    pub(crate) async fn say(&mut self, text: String) -> Result<(), AgentError> {
        if self.row.title.is_none() {
            let line = text.lines().map(str::trim).find(|line| !line.is_empty());
            self.row.title = line.map(|line| cut(&haft_contract::clean(line), TITLE_CHARS_MAX));
        }
        let message = self.new_message(ChatRole::User, MessageKind::Said);
        let entry = self.text_entry(message, text);
        let session = self.session_record();
        self.push(entry, vec![session], ChatFirmness::Ordered).await
    }

    /// Tells the model something that no person said, together with rows of the chats that it is about.
    pub(crate) async fn notice(
        &mut self,
        text: String,
        about: Vec<ChatRecord>,
    ) -> Result<(), AgentError> {
        let message = self.new_message(ChatRole::User, MessageKind::Notice);
        let entry = self.text_entry(message, text.clone());
        self.push(entry, about, ChatFirmness::Ordered).await?;
        self.core.tell(Happened::Notice { text });
        Ok(())
    }

    /// Adds a message with its parts, behind other rows.
    pub(crate) async fn push(
        &mut self,
        entry: Entry,
        mut records: Vec<ChatRecord>,
        firmness: ChatFirmness,
    ) -> Result<(), AgentError> {
        records.push(ChatRecord::Message(entry.message.clone()));
        records.extend(entry.parts.iter().cloned().map(ChatRecord::Part));
        self.entries.push(entry);
        self.record(records, firmness).await
    }

    /// Counts what an answer took.
    pub(crate) fn count(&mut self, usage: Usage) {
        let all = usage_of(self.row.tokens).plus(usage);
        self.row.tokens = tokens_of(all);
        self.row.steps = self.row.steps.saturating_add(1);
    }

    /// Puts right what a process left that was killed while an answer came: the answer is as long as it is, and none of its
    /// calls was made.
    pub(crate) async fn settle_interrupted(&mut self) -> Result<(), AgentError> {
        let now_ms = self.core.now_ms();
        let mut records = Vec::new();
        for Entry { message, parts } in &mut self.entries {
            if message.role != ChatRole::Assistant || message.finish.is_some() {
                continue;
            }
            message.finish = Some(MessageFinish::Interrupted);
            message.completed_at_ms = Some(now_ms);
            records.push(ChatRecord::Message(message.clone()));
            for part in parts.iter_mut().filter(|part| is_open(part)) {
                unmade(part, "haft ended while the answer that asks for it came", now_ms);
                records.push(ChatRecord::Part(part.clone()));
            }
        }
        if records.is_empty() { Ok(()) } else { self.record(records, ChatFirmness::Ordered).await }
    }
}

/// Records rows of a chat in their order: as many as the journal takes at once, and then the next ones.
pub(crate) async fn record_all(
    core: &ChatCore,
    mut records: Vec<ChatRecord>,
    firmness: ChatFirmness,
) -> Result<(), AgentError> {
    while records.len() > RECORDS_AT_ONCE {
        let rest = records.split_off(RECORDS_AT_ONCE);
        core.run.record_chat(records, firmness).await?;
        records = rest;
    }
    Ok(core.run.record_chat(records, firmness).await?)
}

/// Returns what a row counts as a model does.
pub(crate) fn usage_of(tokens: TokenCounts) -> Usage {
    let TokenCounts { input, output, reasoning, cache_read, cache_write } = tokens;
    Usage { input, output, reasoning, cache_read, cache_write }
}

/// Returns what a model counts as a row does, which no database counts further than this in.
pub(crate) fn tokens_of(usage: Usage) -> TokenCounts {
    let counted = |tokens: u64| tokens.min(i64::MAX.cast_unsigned());
    TokenCounts {
        input: counted(usage.input),
        output: counted(usage.output),
        reasoning: counted(usage.reasoning),
        cache_read: counted(usage.cache_read),
        cache_write: counted(usage.cache_write),
    }
}
