//! Converts the events of a session to updates for its editor. The editor has no sessions for subagents, so the calls of a subagent
//! are shown in the delegating session, with the subagent's name. This module tracks the shown calls and sends nothing.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;

use agent_client_protocol::v1::schema::{
    ContentBlock, ContentChunk, MessageId, Notice, NoticeSeverity, Plan, PlanEntry,
    PlanEntryPriority, PlanEntryStatus, SessionUpdate, TextContent, ToolCall, ToolCallContent,
    ToolCallLocation, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields, ToolKind, UsageUpdate,
};
use haft_agent::{AgentEventKind, ToolResultStatus};
use haft_contract::{Envelope, Todo, TodoPriority, TodoStatus};
use serde_json::Value;

use crate::call_content::{result_content, result_images, text_content, tool_kind};
use crate::diffs::{absolute, changes};

/// A subagent, as its calls name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SubagentReference {
    /// Its session.
    pub(crate) id: String,
    /// Its name.
    pub(crate) agent: String,
}

/// The shown state of one session, and the capabilities of its editor.
pub(crate) struct SessionUpdates {
    root: PathBuf,
    context_tokens: u64,
    accepts_notices: bool,
    /// The message that the model writes.
    message: Option<String>,
    /// Calls whose arguments are arriving.
    streaming_calls: BTreeSet<String>,
    /// Calls that run.
    running_calls: HashMap<String, CallDisplay>,
}

/// A call that runs.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallDisplay {
    pub(crate) title: String,
    pub(crate) kind: ToolKind,
    /// Its changes.
    pub(crate) changes: Vec<ToolCallContent>,
    /// The first file that it names.
    location: Option<PathBuf>,
    todos: Option<Plan>,
}

/// A call to show.
pub(crate) struct AnnouncedCall<'a> {
    pub(crate) id: String,
    pub(crate) tool: &'a str,
    pub(crate) kind: haft_contract::ToolKind,
    pub(crate) title: String,
    pub(crate) input: &'a Value,
    pub(crate) locations: &'a [String],
}

impl SessionUpdates {
    pub(crate) fn new(root: PathBuf, context_tokens: u64, accepts_notices: bool) -> Self {
        Self {
            root,
            context_tokens,
            accepts_notices,
            message: None,
            streaming_calls: BTreeSet::new(),
            running_calls: HashMap::new(),
        }
    }

    /// Returns how a running call was shown.
    pub(crate) fn call_display(&self, call: &str) -> CallDisplay {
        self.running_calls.get(call).cloned().unwrap_or_default()
    }

    /// Returns the updates for an event of the session itself. `before` returns the text of a file.
    pub(crate) fn session_event_updates(
        &mut self,
        happened: AgentEventKind,
        before: impl Fn(&str) -> Option<String>,
    ) -> Vec<SessionUpdate> {
        match happened {
            AgentEventKind::StepStarted { message, .. } => {
                self.message = Some(message.to_string());
                self.fail_streaming_calls()
            }
            AgentEventKind::Text { delta } => {
                vec![SessionUpdate::AgentMessageChunk(self.chunk(delta))]
            }
            AgentEventKind::Reasoning { delta } => {
                vec![SessionUpdate::AgentThoughtChunk(self.chunk(delta))]
            }
            AgentEventKind::ToolInput { id, tool, kind, .. } => {
                let is_new = self.streaming_calls.insert(id.clone());
                let call = || ToolCall::new(id, tool.clone()).name(tool).kind(tool_kind(kind));
                is_new.then(call).into_iter().map(SessionUpdate::ToolCall).collect()
            }
            AgentEventKind::StepEnded { usage, .. } => {
                let read = [usage.input, usage.cache_read, usage.cache_write];
                self.usage_update(read, [usage.output, usage.reasoning]).into_iter().collect()
            }
            AgentEventKind::Compacted { .. } => {
                vec![self.notice_update(
                    "What was said before is summarised from now on, for the model alone.",
                )]
            }
            AgentEventKind::Notice { text } => vec![self.notice_update(&text)],
            AgentEventKind::Retry { error, wait_ms, .. } => {
                let seconds = wait_ms.div_ceil(1_000);
                vec![
                    self.notice_update(&format!(
                        "{error}\nThe model is asked again in {seconds} s."
                    )),
                ]
            }
            AgentEventKind::TurnEnded { .. } => self.fail_streaming_calls(),
            happened => self.call_event_updates(happened, None, before),
        }
    }

    /// Returns the updates for an event of a call, in the session itself or in that of a subagent.
    pub(crate) fn call_event_updates(
        &mut self,
        happened: AgentEventKind,
        child: Option<&SubagentReference>,
        before: impl Fn(&str) -> Option<String>,
    ) -> Vec<SessionUpdate> {
        match happened {
            AgentEventKind::ToolCall { id, tool, kind, input, title, locations } => {
                let title =
                    child.map_or(title.clone(), |child| format!("{}: {title}", child.agent));
                let (tool, input, locations) = (&*tool, &input, &*locations);
                let id = call_name(child, &id);
                self.start_call(AnnouncedCall { id, tool, kind, title, input, locations }, before)
            }
            AgentEventKind::Asked { id } => {
                status_update(&call_name(child, &id), ToolCallStatus::Pending)
            }
            AgentEventKind::Answered { id, answer } => match answer {
                // The end of the call follows at once.
                "reject" | "reject_session" | "nobody" | "dismissed" => Vec::new(),
                _ => status_update(&call_name(child, &id), ToolCallStatus::InProgress),
            },
            AgentEventKind::ToolResult { id, tool, status, envelope, .. } => {
                self.end_call(&call_name(child, &id), &tool, status, &envelope)
            }
            _ => Vec::new(),
        }
    }

    /// Returns the update with the used part of the context: the tokens that the model read and wrote last. A stopped answer reports no
    /// tokens although the context is not empty, so it gives no update.
    pub(crate) fn usage_update(&self, read: [u64; 3], written: [u64; 2]) -> Option<SessionUpdate> {
        let tokens = read.into_iter().chain(written);
        let used = tokens.fold(0, u64::saturating_add);
        let update = UsageUpdate::new(used, self.context_tokens);
        (used > 0).then_some(SessionUpdate::UsageUpdate(update))
    }

    fn chunk(&self, text: String) -> ContentChunk {
        chunk(text, self.message.clone())
    }

    /// Returns the updates for announced calls whose arguments never became complete, so they are not made.
    fn fail_streaming_calls(&mut self) -> Vec<SessionUpdate> {
        let given_up = std::mem::take(&mut self.streaming_calls).into_iter().map(|id| {
            let fields = ToolCallUpdateFields::new().status(ToolCallStatus::Failed).content(vec![
                text_content("this call was not made: the answer that asked for it broke off"),
            ]);
            SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id, fields))
        });
        given_up.collect()
    }

    /// Returns the update that shows a call before it is made.
    pub(crate) fn start_call(
        &mut self,
        call: AnnouncedCall<'_>,
        before: impl Fn(&str) -> Option<String>,
    ) -> Vec<SessionUpdate> {
        let diffs = changes(call.kind, call.input, &self.root, before);
        let mut places: Vec<PathBuf> =
            call.locations.iter().map(|path| absolute(&self.root, path)).collect();
        places.extend(diffs.iter().map(|diff| diff.path.clone()));
        places.dedup();
        let content: Vec<_> = diffs.into_iter().map(ToolCallContent::Diff).collect();
        let todos = (call.tool == "todo").then(|| plan(call.input)).flatten();
        let (title, kind) = (call.title.clone(), tool_kind(call.kind));
        let place = places.first().cloned();
        let shown = CallDisplay { title, kind, changes: content.clone(), location: place, todos };
        // An open call of a killed process is shown already.
        let is_open = self.running_calls.insert(call.id.clone(), shown).is_some();
        let is_announced = self.streaming_calls.remove(&call.id) || is_open;
        let line = match call.tool {
            "read" => {
                call.input.get("start_line").or_else(|| call.input.get("offset")).and_then(line)
            }
            "lsp" => call.input.get("line").and_then(line),
            _ => None,
        };
        let shown = ToolCall::new(call.id, call.title)
            .name(call.tool.to_owned())
            .kind(kind)
            .status(ToolCallStatus::InProgress)
            .content(content)
            .locations(places.into_iter().map(|place| location_at(place, line)).collect())
            .raw_input(call.input.clone());
        let update = if is_announced {
            SessionUpdate::ToolCallUpdate(ToolCallUpdate::from(shown))
        } else {
            SessionUpdate::ToolCall(shown)
        };
        vec![update]
    }

    /// Returns the updates that show the end of a call.
    pub(crate) fn end_call(
        &mut self,
        id: &str,
        tool: &str,
        status: ToolResultStatus,
        envelope: &Envelope,
    ) -> Vec<SessionUpdate> {
        // This result explains why an announced call was not made.
        self.streaming_calls.remove(id);
        let CallDisplay { mut changes, location: place, todos, .. } =
            self.running_calls.remove(id).unwrap_or_default();
        let (status, is_done) = match status {
            ToolResultStatus::OutputAvailable => (ToolCallStatus::Completed, true),
            ToolResultStatus::OutputError => (ToolCallStatus::Failed, false),
        };
        // A difference and a todo list say more than the result.
        if !is_done || (changes.is_empty() && todos.is_none()) {
            changes.extend(result_content(tool, envelope));
            changes.extend(result_images(envelope));
        }
        let line = match envelope {
            Envelope::Output { data, .. } => data.get("first_changed_line").and_then(line),
            Envelope::Error { .. } => None,
        };
        let changed = place.zip(line).map(|(place, line)| vec![location_at(place, Some(line))]);
        let fields = ToolCallUpdateFields::new().status(status).content(changes).locations(changed);
        let update = SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id.to_owned(), fields));
        let todos = todos.filter(|_| is_done).map(SessionUpdate::Plan);
        std::iter::once(update).chain(todos).collect()
    }

    /// Returns the update for an open call of a killed process. It does not run, and its outcome is not looked up yet.
    pub(crate) fn in_doubt_update(&self, id: &str) -> SessionUpdate {
        let mut content = self.call_display(id).changes;
        content.push(text_content(IN_DOUBT_TEXT));
        let fields = ToolCallUpdateFields::new().status(ToolCallStatus::Pending).content(content);
        SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id.to_owned(), fields))
    }

    /// Returns an update with a notice, which is not part of the conversation.
    pub(crate) fn notice_update(&self, text: &str) -> SessionUpdate {
        if !self.accepts_notices {
            return SessionUpdate::AgentThoughtChunk(chunk(format!("{text}\n\n"), None));
        }
        let (title, more) = text.split_once('\n').unwrap_or((text, ""));
        let more = Some(more.trim()).filter(|more| !more.is_empty()).map(str::to_owned);
        SessionUpdate::Notice(Notice::new(NoticeSeverity::Info, title).description(more))
    }
}

/// The text of an open call of a killed process.
const IN_DOUBT_TEXT: &str = "haft ended before this call did, so it may or may not have happened. That is looked up with your next prompt: what was \
                         begun is not repeated, and what was not begun is not made.";

/// Returns a location in a file.
fn location_at(place: PathBuf, line: Option<u32>) -> ToolCallLocation {
    ToolCallLocation::new(place).line(line)
}

fn line(value: &Value) -> Option<u32> {
    u32::try_from(value.as_u64()?).ok()
}

/// Returns the id of a call in the editor's session. Calls of different subagents may have equal ids, so a prefix distinguishes them.
pub(crate) fn call_name(child: Option<&SubagentReference>, id: &str) -> String {
    child.map_or_else(|| id.to_owned(), |child| format!("{}:{id}", child.id))
}

/// Returns a chunk of text.
pub(crate) fn chunk(text: String, message: Option<String>) -> ContentChunk {
    ContentChunk::new(ContentBlock::Text(TextContent::new(text)))
        .message_id(message.map(MessageId::from))
}

fn status_update(call: &str, status: ToolCallStatus) -> Vec<SessionUpdate> {
    let fields = ToolCallUpdateFields::new().status(status);
    vec![SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(call.to_owned(), fields))]
}

/// Returns the todo list of a call as a plan for the editor, without cancelled entries.
fn plan(input: &Value) -> Option<Plan> {
    let todos: Vec<Todo> = serde_json::from_value(input.get("todos")?.clone()).ok()?;
    let entry = |todo: Todo| {
        let status = match todo.status {
            TodoStatus::Pending => PlanEntryStatus::Pending,
            TodoStatus::InProgress => PlanEntryStatus::InProgress,
            TodoStatus::Completed => PlanEntryStatus::Completed,
            TodoStatus::Cancelled => return None,
        };
        let priority = match todo.priority {
            Some(TodoPriority::High) => PlanEntryPriority::High,
            Some(TodoPriority::Medium) | None => PlanEntryPriority::Medium,
            Some(TodoPriority::Low) => PlanEntryPriority::Low,
        };
        Some(PlanEntry::new(todo.content, priority, status))
    };
    Some(Plan::new(todos.into_iter().filter_map(entry).collect()))
}

#[cfg(test)]
mod tests;
