//! The promises about the rows of a journal, as far as they can be checked later. Every store shows its rows
//! and adds what only it can know of its file. Only what also holds after any process was killed at any instruction is
//! a promise: numbers, for one, may have gaps, because a read leaves no trace before it has ended.

use std::collections::{HashMap, HashSet};

use haft_contract::{Effect, RunId};
use serde::de::IgnoredAny;

use super::lease_state::LeaseState;
use crate::limits::FINDINGS_MAX;
use crate::{
    AskRow, AskState, CallRow, CallStatus, JournalFinding, LateOutcome, MessageId, MessageKind,
    MessagePart, MessageRole, PartState, SessionId, SessionMessage, SessionRow, SettlementVerdict,
};

/// One look at all rows: first every run, then the calls in the order of their places; and every session, then every message,
/// then
/// every part.
#[derive(Debug, Default)]
pub(crate) struct Inspection {
    findings: Vec<JournalFinding>,
    leases: HashMap<RunId, LeaseState>,
    /// Of the run whose calls are being shown.
    keys: RunKeys,
    sessions: HashSet<SessionId>,
    /// The sessions that were begun for a task.
    children: HashSet<SessionId>,
    /// The session of each message.
    messages: HashMap<MessageId, SessionId>,
}

/// The meaning of the keys of one run.
#[derive(Debug, Default)]
struct RunKeys {
    run: Option<RunId>,
    /// The node and iteration of each first key.
    places: HashMap<String, (String, u32)>,
    /// The first key of each call key.
    first_keys: HashMap<String, String>,
    /// The open call of each call key and attempt.
    open: HashMap<(String, u32), u32>,
}

impl Inspection {
    /// Notes what is not as it should be.
    pub(crate) fn find(&mut self, rule: &str, detail: String) {
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(JournalFinding { rule: rule.to_owned(), detail });
        }
    }

    /// Returns what was found.
    pub(crate) fn into_findings(self) -> Vec<JournalFinding> {
        self.findings
    }

    /// Looks at a run.
    pub(crate) fn run(&mut self, run: &RunId, lease: LeaseState, settings: &str) {
        self.json("settings are JSON", settings, || format!("run {run}"));
        self.leases.insert(run.clone(), lease);
    }

    /// Looks at a call. The calls of a run that is being removed are not what they were.
    pub(crate) fn call(&mut self, row: &CallRow) {
        if self.leases.get(&row.scope.run).is_some_and(|lease| lease.is_being_removed) {
            return;
        }
        self.place(row);
        self.status(row);
        self.verdict(row);
        self.texts(row);
        self.fencing_token(row);
        self.keys(row);
    }

    /// Looks at an outcome that came too late.
    pub(crate) fn late_outcome(&mut self, late: &LateOutcome) {
        let name = || format!("the late outcome of call {}", late.call);
        self.json("envelopes are JSON", &late.envelope, name);
        if late.status == CallStatus::Intended {
            self.find("late outcomes have ended", format!("{} is intended", name()));
        }
    }

    /// Looks at an ask.
    pub(crate) fn ask(&mut self, ask: &AskRow) {
        let Some(lease) = self.leases.get(&ask.call.scope.run) else {
            return self.find("asks belong to runs", format!("ask {} has no run", ask.id));
        };
        let holder = lease.holder.as_ref().map(|holder| holder.fencing_token);
        if ask.state == AskState::Pending && holder != Some(ask.fencing_token) {
            let detail = format!(
                "ask {} is pending, and no process has its fencing token {}",
                ask.id, ask.fencing_token
            );
            self.find("pending asks have an owner", detail);
        }
        if (ask.state == AskState::Answered) != ask.answer.is_some() {
            self.find("an answer fits its ask", format!("ask {} is {}", ask.id, ask.state));
        }
        self.json("what asks are about is JSON", &ask.summary, || format!("ask {}", ask.id));
    }

    /// Looks at a session.
    pub(crate) fn session(&mut self, session: &SessionRow) {
        let name = || format!("session {}", session.id);
        self.sessions.insert(session.id.clone());
        if session.parent_id.is_some() {
            self.children.insert(session.id.clone());
        }
        if !self.leases.contains_key(&session.id.run()) {
            self.find("sessions are runs", format!("{} has no run", name()));
        }
        self.json("what is noted of sessions is JSON", &session.permissions_json, name);
        self.json("what is noted of sessions is JSON", &session.metadata_json, name);
    }

    /// Looks at a message.
    pub(crate) fn message(&mut self, message: &SessionMessage) {
        self.messages.insert(message.id.clone(), message.session_id.clone());
        if !self.sessions.contains(&message.session_id) {
            self.find("messages belong to sessions", format!("message {}", message.id));
        }
        let is_summary = message.kind == MessageKind::Summary;
        if is_summary != message.covers_through.is_some() {
            self.find("summaries cover messages", format!("message {}", message.id));
        }
        let has_ended = message.role == MessageRole::User || message.finish.is_some();
        if message.completed_at_ms.is_some() && !has_ended {
            self.find("whole messages have ended", format!("message {}", message.id));
        }
    }

    /// Looks at a part of a message. Of one that is being removed, the message is there until its parts are gone.
    pub(crate) fn part(&mut self, part: &MessagePart) {
        let name = || format!("part {}", part.id);
        if self.messages.get(&part.message_id) != Some(&part.session_id) {
            self.find("parts belong to messages", name());
        }
        if let Some(found) = part.misfit() {
            self.find(
                "parts are what they say",
                format!("{} is {} with {found}", name(), part.kind),
            );
        }
        // If the arguments of a model were no JSON, the call was answered with an error.
        let is_read =
            matches!(part.state, Some(PartState::InputAvailable | PartState::OutputAvailable));
        let texts = [
            is_read.then_some(part.input_json.as_deref()).flatten(),
            part.output_json.as_deref(),
            part.signatures_json.as_deref(),
        ];
        for text in texts.into_iter().flatten() {
            self.json("what tools are given and answer is JSON", text, name);
        }
        let run = format!("{}/", part.session_id);
        // A session that was begun for a task may make its calls in the run of that task, which is no session.
        let may_be_of_task = self.children.contains(&part.session_id);
        let is_of_task = |call: &str| may_be_of_task && !call.starts_with(SessionId::PREFIX);
        if part.call_id.as_ref().is_some_and(|call| !call.starts_with(&run) && !is_of_task(call)) {
            self.find("calls of parts are of their session", name());
        }
    }

    fn place(&mut self, row: &CallRow) {
        if row.seq == 0 || row.scope.attempt == 0 {
            self.find("numbers count from 1", format!("call {}", row.id()));
        }
    }

    /// Looks whether the columns are those of the status.
    fn status(&mut self, row: &CallRow) {
        let has_ended = row.envelope.is_some();
        let fits = match row.status {
            CallStatus::Intended => !has_ended && row.effect != Effect::Read,
            CallStatus::Succeeded | CallStatus::Failed | CallStatus::Refused => has_ended,
            CallStatus::Unknown => true,
        };
        if !fits || has_ended != row.finished_at_ms.is_some() {
            let found = |is_there| if is_there { "an" } else { "no" };
            let (envelope, end) = (found(has_ended), found(row.finished_at_ms.is_some()));
            let detail = format!(
                "call {} ({}) is {} with {envelope} envelope and {end} end",
                row.id(),
                row.effect.as_str(),
                row.status
            );
            self.find("a status fits its row", detail);
        }
    }

    fn verdict(&mut self, row: &CallRow) {
        let fits = match row.verdict {
            None => row.settled_by.is_none(),
            Some(verdict) => row.settled_by.is_some() && row.status == verdict.status(),
        };
        if !fits {
            let verdict = row.verdict.map_or("no verdict", SettlementVerdict::as_str);
            let detail = format!("call {} is {} with {verdict}", row.id(), row.status);
            self.find("a verdict fits its row", detail);
        }
    }

    fn texts(&mut self, row: &CallRow) {
        let name = || format!("call {}", row.id());
        self.json("inputs are JSON", &row.input, name);
        self.json("accesses are JSON", &row.accesses, name);
        if let Some(details) = &row.details {
            self.json("details are JSON", details, name);
        }
        if let Some(envelope) = &row.envelope {
            self.json("envelopes are JSON", envelope, name);
        }
    }

    /// Checks that the run had the fencing token of the row, and that an open call has the token of the holder.
    fn fencing_token(&mut self, row: &CallRow) {
        let Some(lease) = self.leases.get(&row.scope.run) else {
            return self.find("calls belong to runs", format!("call {} has no run", row.id()));
        };
        let (latest, holder) =
            (lease.fencing_token, lease.holder.as_ref().map(|holder| holder.fencing_token));
        if row.fencing_token > latest {
            let detail = format!(
                "call {} has fencing token {} and its run {latest}",
                row.id(),
                row.fencing_token
            );
            self.find("fencing tokens are those of the run", detail);
        }
        if row.status == CallStatus::Intended && holder != Some(row.fencing_token) {
            let detail = format!(
                "call {} is open, and no process has its fencing token {}",
                row.id(),
                row.fencing_token
            );
            self.find("open calls have an owner", detail);
        }
    }

    /// Looks whether a key stands for one thing, and whether a call is open once.
    fn keys(&mut self, row: &CallRow) {
        if self.keys.run.as_ref() != Some(&row.scope.run) {
            self.keys = RunKeys { run: Some(row.scope.run.clone()), ..RunKeys::default() };
        }
        if !is_key(&row.first_key) || !is_key(&row.call_key) {
            self.find("keys are 64 hexadecimal digits", format!("call {}", row.id()));
        }
        let place = (row.scope.node.clone(), row.scope.iteration);
        let first = self.keys.places.entry(row.first_key.clone()).or_insert_with(|| place.clone());
        let is_of_place = *first == place;
        let first_key = self
            .keys
            .first_keys
            .entry(row.call_key.clone())
            .or_insert_with(|| row.first_key.clone());
        if !is_of_place || *first_key != row.first_key {
            self.find("a key stands for one call", format!("call {} shares its key", row.id()));
        }
        if row.status == CallStatus::Intended {
            let call = (row.call_key.clone(), row.scope.attempt);
            if let Some(other) = self.keys.open.insert(call, row.seq) {
                let detail = format!("call {} is open under number {other} too", row.id());
                self.find("a call is open once", detail);
            }
        }
    }

    fn json(&mut self, rule: &str, text: &str, name: impl Fn() -> String) {
        if let Err(err) = serde_json::from_str::<IgnoredAny>(text) {
            self.find(rule, format!("{}: {err}", name()));
        }
    }
}

fn is_key(text: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    text.len() == 64 && text.bytes().all(is_digit)
}
