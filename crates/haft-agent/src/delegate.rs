//! Has subagents do tasks: each in a chat of its own, beneath all that the chat above is held to. A call of `task` waits for
//! its subagent or only begins it; what became of one in the background is told to the model later. What a subagent may do is
//! decided by the runtime, from the layers that its chat is begun with.

use std::sync::Arc;

use haft_contract::{
    BoxFuture, CallKey, Cx, Effect, ErrorCode, SubagentAnswer, SubagentCall, SubagentTask,
    Subagents, ToolError, cut,
};
use haft_journal::{
    CallQuery, CallRow, ChatId, ChatMode, ChatPart, ChatQuery, ChatRecord, ChatRole, ChatSession,
    ChatStatus, Status,
};
use tokio_util::sync::CancellationToken;

use crate::abandon::{abandon, abandon_children, begun};
use crate::calls::call_title;
use crate::chat::{Chat, ChatCore, Prompt, TurnEnd};
use crate::children::{Background, BackgroundEnd, Full, Seat};
use crate::definition::AgentDefinition;
use crate::error::AgentError;
use crate::event::Happened;
use crate::host::HostShared;
use crate::limits::{
    BACKGROUND_MAX, BACKGROUND_TEXT_CHARS_MAX, NESTED_CALLS_MAX, SUBAGENT_DEPTH_MAX,
    SUBAGENTS_AT_ONCE_MAX, SUBAGENTS_BEGUN_MAX,
};
use crate::narrow::Layer;
use crate::open;
use crate::transcript::Entry;

/// What one call of `task` reaches subagents through.
pub(crate) struct Delegate {
    pub(crate) parent: Arc<ChatCore>,
    pub(crate) tool_call_id: String,
}

/// How a task ended that somebody waited for.
enum Waited {
    Done(SubagentAnswer),
    /// It was not done, and it is known why.
    NotDone(ToolError),
}

/// What comes of a task whose subagent was stopped.
const STOPPED: &str = "the subagent was stopped before it was done";

/// What the model is told of an end, and the row that says it was told.
pub(crate) struct Told {
    pub(crate) text: String,
    pub(crate) rows: Vec<ChatRecord>,
}

impl Subagents for Delegate {
    fn delegate<'a>(
        &'a self,
        task: SubagentTask,
        cx: &'a Cx,
    ) -> BoxFuture<'a, Result<SubagentAnswer, ToolError>> {
        Box::pin(async move {
            let agent = self.agent(&task.subagent_type)?;
            let row = self.row(&agent, &task)?;
            let seat = self.seat()?;
            let place = if task.background { Some(self.place(&row.id)?) } else { None };
            let child = self.begin(row, &agent).await?;
            match place {
                Some(place) => Ok(self.leave(child, (place, seat), task.prompt)),
                None => {
                    let waited = self.wait(child, Prompt::Say(task.prompt), cx).await;
                    match waited.map_err(|err| failed(&err))? {
                        Waited::Done(answer) => Ok(answer),
                        Waited::NotDone(err) => Err(err),
                    }
                }
            }
        })
    }

    fn resume<'a>(
        &'a self,
        task: SubagentTask,
        cx: &'a Cx,
    ) -> BoxFuture<'a, Result<Option<SubagentAnswer>, ToolError>> {
        Box::pin(async move {
            let Some(row) = self.begun(cx).await.map_err(|err| failed(&err))? else {
                return Ok(None);
            };
            let resumed = async {
                let waited = self.go_on(&row, task, cx).await?;
                if row.mode == ChatMode::Foreground {
                    self.end_left(&row).await?;
                }
                Ok(match waited {
                    Waited::Done(answer) => answer,
                    // It was seen how it ended, so there is nothing to be in doubt about.
                    Waited::NotDone(err) => self.not_done(&row, &err.message).await?,
                })
            };
            resumed.await.map(Some).map_err(|err| failed(&err))
        })
    }
}

impl Delegate {
    fn agent(&self, name: &str) -> Result<Arc<AgentDefinition>, ToolError> {
        let depth = self.parent.depth.saturating_add(1);
        if depth > SUBAGENT_DEPTH_MAX {
            let message = format!(
                "subagents are {SUBAGENT_DEPTH_MAX} levels deep already, and no deeper: do the task with the other tools"
            );
            return Err(ToolError::new(ErrorCode::DepthExceeded, message).not_begun());
        }
        // Whom the chat may give tasks to is checked before.
        self.parent.host.agent(name).map_err(|err| failed(&err).not_begun())
    }

    /// Returns the row of a chat that does a task.
    fn row(&self, agent: &AgentDefinition, task: &SubagentTask) -> Result<ChatSession, ToolError> {
        let parent = &self.parent;
        let model = agent.model.as_deref().unwrap_or(&parent.model_name);
        let row = parent.host.row(agent, Some(model), &self.layers(agent));
        let metadata = task.metadata.clone().map(serde_json::Value::Object);
        Ok(ChatSession {
            parent_id: Some(parent.id.clone()),
            parent_tool_call_id: Some(self.tool_call_id.clone()),
            mode: if task.background { ChatMode::Background } else { ChatMode::Foreground },
            inspectable: agent.inspectable,
            metadata_json: metadata.map_or_else(|| "{}".to_owned(), |it| it.to_string()),
            depth: parent.depth.saturating_add(1),
            ..row.map_err(|err| failed(&err).not_begun())?
        })
    }

    /// Returns what a subagent is narrowed to: all that its parent is, and what it declares.
    fn layers(&self, agent: &AgentDefinition) -> Vec<Layer> {
        let above = self.parent.layers.iter().cloned();
        above.chain([Layer::of(agent)]).collect()
    }

    fn seat(&self) -> Result<Seat, ToolError> {
        self.parent.children.tree.begin().map_err(|full| {
            let message = match full {
                Full::AtWork => format!(
                    "{SUBAGENTS_AT_ONCE_MAX} subagents are at work beneath this session already, those of subagents included: \
                     wait until one of them is done, or do the task with the other tools"
                ),
                Full::Begun => format!(
                    "{SUBAGENTS_BEGUN_MAX} subagents were begun since somebody last said something, those of subagents \
                     included: do what is left with the other tools, or end with saying what is left"
                ),
            };
            ToolError::new(ErrorCode::QuotaExceeded, message).not_begun()
        })
    }

    fn place(&self, child: &ChatId) -> Result<Background, ToolError> {
        let stop = self.parent.host.closing.child_token();
        self.parent.children.add(child, stop).ok_or_else(|| {
            let message = format!(
                "{BACKGROUND_MAX} subagents are in the background already: wait until one of them is done"
            );
            ToolError::new(ErrorCode::QuotaExceeded, message).not_begun()
        })
    }

    async fn begin(
        &self,
        row: ChatSession,
        agent: &Arc<AgentDefinition>,
    ) -> Result<Chat, ToolError> {
        let told = Happened::Subagent {
            call: self.tool_call_id.clone(),
            agent: agent.name.clone(),
            child: row.id.clone(),
            background: row.mode == ChatMode::Background,
        };
        let begun = self.parent.host.begin(row, Arc::clone(agent), &self.layers(agent)).await;
        let child = begun.map_err(|err| failed(&err))?;
        self.parent.tell(told);
        Ok(child)
    }

    /// Has a subagent go on by itself, for as long as the host is there.
    fn leave(
        &self,
        mut child: Chat,
        (place, seat): (Background, Seat),
        prompt: String,
    ) -> SubagentAnswer {
        let session_id = child.id().to_string();
        self.parent.host.tasks.spawn(async move {
            let end = work(&mut child, Prompt::Say(prompt), &place.stop).await;
            let why = match &end {
                Ok(TurnEnd::Done { .. } | TurnEnd::Aborted) => None,
                Ok(end) => Some(unfinished(end).to_owned()),
                Err(err) => Some(err.to_string()),
            };
            // Who is told of the end may open the chat.
            drop(child);
            drop(seat);
            place.end(why);
        });
        SubagentAnswer::Begun { session_id }
    }

    /// Has a subagent do its task. An error means that nobody knows what became of it.
    async fn wait(&self, mut child: Chat, prompt: Prompt, cx: &Cx) -> Result<Waited, AgentError> {
        child.is_waited_for(cx.time());
        let end = match work(&mut child, prompt, cx.cancellation()).await {
            Err(err) if err.leaves_no_doubt() => return Ok(Waited::NotDone(failed(&err))),
            end => end?,
        };
        let row = child.row().await?;
        Ok(match end {
            TurnEnd::Done { text } => Waited::Done(self.done(&row, text).await?),
            TurnEnd::Aborted => Waited::NotDone(ToolError::new(ErrorCode::ProcessAborted, STOPPED)),
            end @ (TurnEnd::StepsSpent | TurnEnd::OutputCut | TurnEnd::Refused { .. }) => {
                let said = last_words(&self.parent, &row.id).await?;
                let message =
                    format!("the subagent ended before it was done: {}. {said}", unfinished(&end));
                Waited::NotDone(ToolError::new(ErrorCode::ToolFailed, message))
            }
        })
    }

    async fn done(&self, row: &ChatSession, text: String) -> Result<SubagentAnswer, AgentError> {
        let output =
            if text.is_empty() { "[haft: the subagent said nothing]".to_owned() } else { text };
        if row.inspectable {
            let session_id = Some(row.id.to_string());
            return Ok(SubagentAnswer::Done { output, session_id, calls: Vec::new() });
        }
        let query = CallQuery { limit: NESTED_CALLS_MAX, ..CallQuery::of_run(row.id.run()) };
        let rows = self.parent.host.parts.runtime.journal().calls(query).await?;
        let calls = rows.iter().map(nested).collect();
        Ok(SubagentAnswer::Done { output, session_id: None, calls })
    }

    /// Ends what a subagent that is over had begun and nobody goes on with, as far as that can be.
    async fn end_left(&self, row: &ChatSession) -> Result<(), AgentError> {
        match abandon_children(&self.parent.host, &row.id).await {
            Err(err) if !err.is_of_another_holder() && !err.is_lasting() => Err(err),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Returns the answer of a task that was gone on with and is not done, and what may have happened of it.
    async fn not_done(&self, row: &ChatSession, why: &str) -> Result<SubagentAnswer, AgentError> {
        let doubts = doubts(&self.parent.host, &row.id).await?;
        let text = match doubts.trim_end() {
            "" => format!("[haft: {why}]"),
            doubts => format!("[haft: {}. {doubts}]", why.trim_end_matches(['.', ' '])),
        };
        self.done(row, text).await
    }

    /// Returns the chat that this very call began before, under its name or, where nobody heard what became of it, under the
    /// name that it had then.
    async fn begun(&self, cx: &Cx) -> Result<Option<ChatSession>, AgentError> {
        let rows = children_of(&self.parent.host, &self.parent.id).await?;
        let name_of = |row: &ChatSession| row.parent_tool_call_id.clone().unwrap_or_default();
        if let Some(row) = rows.iter().find(|row| name_of(row) == self.tool_call_id) {
            return Ok(Some(row.clone()));
        }
        for row in rows {
            let call = begun(&self.parent.host, &self.parent.id, &name_of(&row)).await?;
            let key = call.and_then(|call| CallKey::parse(&call.call_key));
            if key.is_some_and(|key| key.idempotency_key() == cx.idempotency_key()) {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    async fn go_on(
        &self,
        row: &ChatSession,
        task: SubagentTask,
        cx: &Cx,
    ) -> Result<Waited, AgentError> {
        match (row.mode, row.status) {
            // What became of it is told by itself.
            (ChatMode::Background, _) => {
                Ok(Waited::Done(SubagentAnswer::Begun { session_id: row.id.to_string() }))
            }
            (ChatMode::Foreground, ChatStatus::Completed) => {
                let text = last_words(&self.parent, &row.id).await?;
                Ok(Waited::Done(self.done(row, text).await?))
            }
            (ChatMode::Foreground, ChatStatus::Aborted) => {
                Ok(Waited::NotDone(ToolError::new(ErrorCode::ProcessAborted, STOPPED)))
            }
            (ChatMode::Foreground, ChatStatus::Idle | ChatStatus::Running | ChatStatus::Failed) => {
                let _seat = self.parent.children.tree.go_on();
                let child = match open::open_beneath(&self.parent, row).await {
                    Err(err) if err.leaves_no_doubt() => {
                        // Nobody goes on with its calls, so they are answered as the journal knows them.
                        abandon(&self.parent.host, row.clone()).await?;
                        return Ok(Waited::NotDone(failed(&err)));
                    }
                    child => child?,
                };
                let is_new = child.history().await?.is_empty();
                let prompt = if is_new { Prompt::Say(task.prompt) } else { Prompt::GoOn };
                self.wait(child, prompt, cx).await
            }
        }
    }
}

/// Has a subagent do its task, with all that its own subagents in the background tell it.
async fn work(
    child: &mut Chat,
    prompt: Prompt,
    stop: &CancellationToken,
) -> Result<TurnEnd, AgentError> {
    let end = turns(child, prompt, stop).await;
    if !matches!(end, Ok(TurnEnd::Done { .. })) {
        // Nobody is left whom they could tell anything. Whoever waits for the end of this one waits for that of all beneath.
        child.core().children.end_all().await;
    }
    end
}

async fn turns(
    child: &mut Chat,
    prompt: Prompt,
    stop: &CancellationToken,
) -> Result<TurnEnd, AgentError> {
    let mut end = child.turn(prompt, stop.clone()).await?;
    while matches!(end, TurnEnd::Done { .. }) {
        let has_news = tokio::select! {
            biased;
            () = stop.cancelled() => return child.give_up().await,
            has_news = child.next_background() => has_news,
        };
        if !has_news {
            break;
        }
        end = child.turn(Prompt::GoOn, stop.clone()).await?;
    }
    Ok(end)
}

/// Returns the chats that a chat has begun.
pub(crate) async fn children_of(
    host: &HostShared,
    parent: &ChatId,
) -> Result<Vec<ChatSession>, AgentError> {
    let journal = host.parts.runtime.journal();
    let mut rows: Vec<ChatSession> = Vec::new();
    loop {
        let query = ChatQuery {
            parent: Some(parent.clone()),
            with_opaque: true,
            before: rows.last().map(|row| row.id.clone()),
            ..ChatQuery::default()
        };
        let page = journal.chats(query).await?;
        if page.is_empty() {
            return Ok(rows);
        }
        rows.extend(page);
    }
}

/// Returns what the model is told of the end of a subagent.
pub(crate) async fn told(parent: &ChatCore, end: &BackgroundEnd) -> Result<Told, AgentError> {
    let BackgroundEnd { child, why } = end;
    let Some(mut row) = parent.host.parts.runtime.journal().chat(child).await? else {
        return Ok(Told { text: format!("background task {child} is gone"), rows: Vec::new() });
    };
    let entries = open::entries(&parent.host, child).await?;
    let said = cut(&last_said(&entries), BACKGROUND_TEXT_CHARS_MAX);
    let is_done = why.is_none() && row.status == ChatStatus::Completed;
    let doubts = if is_done { String::new() } else { doubts(&parent.host, child).await? };
    let name = format!("background task {child} ({})", row.agent);
    let text = match (why, row.status) {
        (Some(why), _) => format!("{name} failed: {why}. {doubts}{said}"),
        (None, ChatStatus::Completed) => format!("{name} is done: {said}"),
        (None, ChatStatus::Aborted) => {
            format!("{name} was stopped before it was done. {doubts}{said}")
        }
        (None, ChatStatus::Idle | ChatStatus::Running | ChatStatus::Failed) => {
            format!("{name} failed: it ended before it was done. {doubts}{said}")
        }
    };
    row.delivered = true;
    Ok(Told { text: text.trim_end().to_owned(), rows: vec![ChatRecord::Session(row)] })
}

/// Returns the last thing that the agent of a chat said.
async fn last_words(parent: &ChatCore, chat: &ChatId) -> Result<String, AgentError> {
    Ok(last_said(&open::entries(&parent.host, chat).await?))
}

fn last_said(entries: &[Entry]) -> String {
    let answers = entries.iter().rev().filter(|entry| entry.message.role == ChatRole::Assistant);
    answers.map(Entry::text).find(|text| !text.is_empty()).unwrap_or_default()
}

/// Says which calls of a subagent, and of all that it had others do, may or may not have happened, in a sentence that another
/// one can follow.
async fn doubts(host: &HostShared, chat: &ChatId) -> Result<String, AgentError> {
    let titles = titles_in_doubt(host, chat).await?;
    if titles.is_empty() {
        return Ok(String::new());
    }
    let titles = cut(&titles.join("; "), BACKGROUND_TEXT_CHARS_MAX);
    Ok(format!("It may or may not have done this, so look before you repeat it: {titles}. "))
}

/// Returns the calls in doubt of a chat and of all beneath it. The journal is asked and not the answers: one of a call that was
/// stopped midway has the code of what stopped it.
fn titles_in_doubt<'a>(
    host: &'a HostShared,
    chat: &'a ChatId,
) -> BoxFuture<'a, Result<Vec<String>, AgentError>> {
    Box::pin(async move {
        let mut titles = Vec::new();
        let entries = open::entries(host, chat).await?;
        for part in entries.iter().flat_map(|entry| &entry.parts) {
            let Some(name) = part.tool_call_id.as_deref() else { continue };
            if begun(host, chat, name).await?.is_some_and(|call| is_in_doubt(&call)) {
                titles.extend(title(part));
            }
        }
        for child in children_of(host, chat).await? {
            titles.extend(titles_in_doubt(host, &child.id).await?);
        }
        Ok(titles)
    })
}

/// Returns whether nobody knows what became of a call that is not safe to repeat.
fn is_in_doubt(call: &CallRow) -> bool {
    let is_open = matches!(call.status, Status::Intended | Status::Unknown);
    is_open && call.effect == Effect::Once && call.verdict.is_none()
}

fn title(part: &ChatPart) -> Option<String> {
    let input = serde_json::from_str(part.input_json.as_deref()?).ok()?;
    Some(call_title(part.tool.as_deref()?, &input))
}

fn nested(row: &CallRow) -> SubagentCall {
    let duration_ms = row.finished_at_ms.map(|end| end.saturating_sub(row.started_at_ms));
    SubagentCall {
        tool: row.tool.clone(),
        status: row.status.to_string(),
        duration_ms: duration_ms.unwrap_or_default(),
    }
}

fn unfinished(end: &TurnEnd) -> &str {
    match end {
        TurnEnd::Done { .. } => "it is done",
        TurnEnd::Aborted => "it was stopped",
        TurnEnd::StepsSpent => "it had answered as often as it may",
        TurnEnd::OutputCut => "its answer reached its greatest length",
        TurnEnd::Refused { reason } => reason,
    }
}

fn failed(err: &AgentError) -> ToolError {
    ToolError::new(ErrorCode::ToolFailed, format!("the subagent failed: {err}"))
}
