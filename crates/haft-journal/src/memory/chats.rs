//! The chats that the memory journal holds. Whether somebody may write them is decided where the runs are.

use std::collections::BTreeMap;

use haft_contract::RunId;

use crate::chat::{Batch, Gathered, Gathering};
use crate::{
    ChatId, ChatMessage, ChatPart, ChatQuery, ChatRecord, ChatSession, JournalError, MessageId,
    MessageQuery, PartId,
};

/// All chats. Ids sort in the order in which they were made, so these maps do, too.
#[derive(Debug, Default)]
pub(super) struct ChatTables {
    sessions: BTreeMap<ChatId, ChatSession>,
    messages: BTreeMap<MessageId, ChatMessage>,
    parts: BTreeMap<PartId, ChatPart>,
}

/// What was there before one row was written.
enum Before {
    Session(ChatId, Option<ChatSession>),
    Message(MessageId, Option<ChatMessage>),
    Part(PartId, Option<ChatPart>),
}

impl ChatTables {
    /// Records all that a batch holds, or nothing of it. `is_run` says whether a run is there.
    pub(super) fn record(
        &mut self,
        run: &RunId,
        batch: &Batch,
        is_run: impl Fn(&RunId) -> bool,
    ) -> Result<(), JournalError> {
        let mut written = Vec::new();
        for record in batch.records() {
            if !self.has_place_for(record, &is_run) {
                written.into_iter().rev().for_each(|before| self.take_back(before));
                return Err(record.unfit(run));
            }
            written.push(self.write(record.clone()));
        }
        if let Some(heard_at_ms) = batch.heard_at_ms() {
            self.touch(run, heard_at_ms);
        }
        Ok(())
    }

    /// Sets messages aside.
    pub(super) fn rewind(
        &mut self,
        run: &RunId,
        from: &MessageId,
        at_ms: u64,
    ) -> Result<u64, JournalError> {
        let is_of_run = |message: &ChatMessage| message.session_id.as_str() == run.as_str();
        if !self.messages.get(from).is_some_and(is_of_run) {
            let (run, message) = (run.clone(), from.clone());
            return Err(JournalError::UnknownMessage { run, message });
        }
        let later = self.messages.range_mut(from.clone()..).map(|(_, message)| message);
        let stays = |message: &&mut ChatMessage| message.rewound_at_ms.is_none();
        let mut rewound = 0;
        for message in later.filter(|message| is_of_run(message)).filter(stays) {
            message.rewound_at_ms = Some(at_ms);
            rewound += 1;
        }
        self.touch(run, at_ms);
        Ok(rewound)
    }

    pub(super) fn chat(&self, id: &ChatId) -> Option<ChatSession> {
        self.sessions.get(id).cloned()
    }

    pub(super) fn chats(&self, query: &ChatQuery) -> Vec<ChatSession> {
        let rows_max = usize::try_from(query.rows_max()).unwrap_or(usize::MAX);
        let is_asked_for = |chat: &&ChatSession| {
            query.root.as_ref().is_none_or(|root| *root == chat.root)
                && query
                    .parent
                    .as_ref()
                    .is_none_or(|parent| Some(parent) == chat.parent_id.as_ref())
                && query.before.as_ref().is_none_or(|before| chat.id < *before)
                && (!query.only_top || chat.parent_id.is_none())
                && (query.with_opaque || chat.inspectable)
        };
        self.sessions.values().rev().filter(is_asked_for).take(rows_max).cloned().collect()
    }

    pub(super) fn messages(&self, chat: &ChatId, query: &MessageQuery) -> Gathered {
        let rows_max = usize::try_from(query.rows_max()).unwrap_or(usize::MAX);
        let is_asked_for = |message: &&ChatMessage| {
            message.session_id == *chat
                && query.after.as_ref().is_none_or(|after| message.id > *after)
                && (query.with_rewound || message.rewound_at_ms.is_none())
        };
        let mut gathering = Gathering::default();
        for message in self.messages.values().filter(is_asked_for).take(rows_max) {
            if gathering.is_full() {
                break;
            }
            let is_of_it = |part: &&ChatPart| part.message_id == message.id;
            let parts = self.parts.values().filter(is_of_it).cloned().collect();
            gathering.push(message.clone(), parts);
        }
        gathering.into_gathered()
    }

    /// Removes what belongs to a run.
    pub(super) fn remove(&mut self, run: &RunId) {
        self.sessions.retain(|id, _| id.as_str() != run.as_str());
        self.messages.retain(|_, message| message.session_id.as_str() != run.as_str());
        self.parts.retain(|_, part| part.session_id.as_str() != run.as_str());
    }

    /// Returns the chat of a run, and how much is said in it.
    pub(super) fn of_run(&self, run: &RunId) -> Option<(&ChatSession, u64)> {
        let session = self.sessions.get(&ChatId::parse(run.as_str()).ok()?)?;
        let parts = self.parts.values().filter(|part| part.session_id == session.id);
        let bytes = parts.map(|part| u64::try_from(part.text_bytes()).unwrap_or(u64::MAX)).sum();
        Some((session, bytes))
    }

    pub(super) fn sessions(&self) -> impl Iterator<Item = &ChatSession> {
        self.sessions.values()
    }

    pub(super) fn every_message(&self) -> impl Iterator<Item = &ChatMessage> {
        self.messages.values()
    }

    pub(super) fn every_part(&self) -> impl Iterator<Item = &ChatPart> {
        self.parts.values()
    }

    fn has_place_for(&self, record: &ChatRecord, is_run: impl Fn(&RunId) -> bool) -> bool {
        match record {
            ChatRecord::Session(session) => {
                let known = self.sessions.get(&session.id);
                is_run(&session.id.run())
                    && known.is_none_or(|known| known.parent_id == session.parent_id)
            }
            ChatRecord::Message(message) => {
                let known = self.messages.get(&message.id);
                self.sessions.contains_key(&message.session_id)
                    && known.is_none_or(|known| known.session_id == message.session_id)
            }
            ChatRecord::Part(part) => self.has_place_for_part(part),
        }
    }

    fn has_place_for_part(&self, part: &ChatPart) -> bool {
        let message = self.messages.get(&part.message_id);
        let has_message = message.is_some_and(|message| message.session_id == part.session_id);
        let is_moved = self.parts.get(&part.id).is_some_and(|known| {
            known.message_id != part.message_id || known.session_id != part.session_id
        });
        let has_its_call = |other: &ChatPart| {
            other.session_id == part.session_id
                && other.id != part.id
                && other.tool_call_id == part.tool_call_id
        };
        let is_taken = part.tool_call_id.is_some() && self.parts.values().any(has_its_call);
        has_message && !is_moved && !is_taken
    }

    fn write(&mut self, record: ChatRecord) -> Before {
        match record {
            ChatRecord::Session(mut session) => {
                let id = session.id.clone();
                if let Some(known) = self.sessions.get(&id) {
                    session.updated_at_ms = session.updated_at_ms.max(known.updated_at_ms);
                }
                Before::Session(id.clone(), self.sessions.insert(id, session))
            }
            ChatRecord::Message(mut message) => {
                let id = message.id.clone();
                message.rewound_at_ms =
                    self.messages.get(&id).and_then(|known| known.rewound_at_ms);
                Before::Message(id.clone(), self.messages.insert(id, message))
            }
            ChatRecord::Part(part) => {
                let id = part.id.clone();
                Before::Part(id.clone(), self.parts.insert(id, part))
            }
        }
    }

    fn take_back(&mut self, before: Before) {
        match before {
            Before::Session(id, before) => put_back(&mut self.sessions, id, before),
            Before::Message(id, before) => put_back(&mut self.messages, id, before),
            Before::Part(id, before) => put_back(&mut self.parts, id, before),
        }
    }

    fn touch(&mut self, run: &RunId, at_ms: u64) {
        let session = ChatId::parse(run.as_str()).ok().and_then(|id| self.sessions.get_mut(&id));
        if let Some(session) = session {
            session.updated_at_ms = session.updated_at_ms.max(at_ms);
        }
    }
}

fn put_back<K: Ord, V>(rows: &mut BTreeMap<K, V>, id: K, before: Option<V>) {
    match before {
        Some(row) => drop(rows.insert(id, row)),
        None => drop(rows.remove(&id)),
    }
}
