//! Has subagents do tasks: each in a chat of its own, beneath all that the chat above is held to. A call of `task` waits for
//! its subagent or only begins it; what became of one in the background is told to the model later. What a subagent may do is
//! decided by the runtime, from the layers that its chat is begun with.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_contract::{
    BoxFuture, Cx, Envelope, ErrorCode, SubagentAnswer, SubagentCall, SubagentTask, Subagents,
    ToolError, cut,
};
use haft_journal::{
    CallQuery, CallRow, ChatId, ChatMode, ChatPart, ChatQuery, ChatRecord, ChatRole, ChatSession,
    ChatStatus,
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::calls::call_title;
use crate::chat::{Chat, ChatCore, Prompt, TurnEnd};
use crate::definition::AgentDefinition;
use crate::error::AgentError;
use crate::event::Happened;
use crate::limits::{
    BACKGROUND_MAX, BACKGROUND_TEXT_CHARS_MAX, NESTED_CALLS_MAX, SUBAGENT_DEPTH_MAX,
};
use crate::narrow::Layer;
use crate::open;
use crate::transcript::Entry;

/// What one call of `task` reaches subagents through.
pub(crate) struct Delegate {
    pub(crate) parent: Arc<ChatCore>,
    pub(crate) tool_call_id: String,
}

/// The subagents that one chat has in the background.
#[derive(Default)]
pub(crate) struct Children {
    // Written by the calls that begin subagents and by these when they end; read by the chat's turns. Each holds the lock for
    // a look.
    state: Mutex<State>,
    news: Notify,
}

#[derive(Default)]
struct State {
    running: HashMap<ChatId, CancellationToken>,
    /// Those whose end was not told, in the order in which they ended.
    ended: VecDeque<BackgroundEnd>,
}

/// That a subagent in the background has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BackgroundEnd {
    pub(crate) child: ChatId,
    /// Why it failed, where that is not in its chat.
    pub(crate) why: Option<String>,
}

/// What the model is told of an end, and the row that says it was told.
pub(crate) struct Told {
    pub(crate) text: String,
    pub(crate) rows: Vec<ChatRecord>,
}

impl Children {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a place for one more, if there is one left.
    fn add(self: &Arc<Self>, child: &ChatId, stop: CancellationToken) -> Option<Background> {
        let mut state = self.state();
        if state.running.len() >= BACKGROUND_MAX {
            return None;
        }
        state.running.insert(child.clone(), stop.clone());
        Some(Background { children: Arc::clone(self), child: child.clone(), stop })
    }

    /// Says that one has ended.
    pub(crate) fn end(&self, end: BackgroundEnd) {
        self.state().ended.push_back(end);
        self.news.notify_waiters();
    }

    /// Returns whether one is known: it runs here, or its end is waiting to be told.
    pub(crate) fn knows(&self, child: &ChatId) -> bool {
        let state = self.state();
        state.running.contains_key(child) || state.ended.iter().any(|end| end.child == *child)
    }

    pub(crate) fn first_end(&self) -> Option<BackgroundEnd> {
        self.state().ended.front().cloned()
    }

    pub(crate) fn forget_first(&self) {
        self.state().ended.pop_front();
    }

    /// Tells all of them to stop.
    pub(crate) fn stop_all(&self) {
        self.state().running.values().for_each(CancellationToken::cancel);
    }

    /// Waits for an end that was not told; returns `false` if there is none and none runs.
    pub(crate) async fn next_end(&self) -> bool {
        loop {
            let news = self.news.notified();
            {
                let state = self.state();
                if !state.ended.is_empty() {
                    return true;
                }
                if state.running.is_empty() {
                    return false;
                }
            }
            news.await;
        }
    }
}

/// The place of a subagent in the background, which it has until it is over.
struct Background {
    children: Arc<Children>,
    child: ChatId,
    stop: CancellationToken,
}

impl Drop for Background {
    fn drop(&mut self) {
        self.children.state().running.remove(&self.child);
        self.children.news.notify_waiters();
    }
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
            let place = if task.background { Some(self.place(&row.id)?) } else { None };
            let child = self.begin(row, &agent).await?;
            match place {
                Some(place) => Ok(self.leave(child, place, task.prompt)),
                None => self.wait(child, Prompt::Say(task.prompt), cx).await,
            }
        })
    }

    fn resume<'a>(
        &'a self,
        task: SubagentTask,
        cx: &'a Cx,
    ) -> BoxFuture<'a, Result<Option<SubagentAnswer>, ToolError>> {
        Box::pin(async move {
            let Some(row) = self.begun().await.map_err(|err| failed(&err))? else {
                return Ok(None);
            };
            self.go_on(row, task, cx).await.map(Some)
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
    fn leave(&self, mut child: Chat, place: Background, prompt: String) -> SubagentAnswer {
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
            place.children.end(BackgroundEnd { child: place.child.clone(), why });
        });
        SubagentAnswer::Begun { session_id }
    }

    async fn wait(
        &self,
        mut child: Chat,
        prompt: Prompt,
        cx: &Cx,
    ) -> Result<SubagentAnswer, ToolError> {
        let end = work(&mut child, prompt, cx.cancellation()).await.map_err(|err| failed(&err))?;
        let row = child.row().await.map_err(|err| failed(&err))?;
        match end {
            TurnEnd::Done { text } => self.done(&row, text).await.map_err(|err| failed(&err)),
            TurnEnd::Aborted => {
                let message = "the subagent was stopped before it was done";
                Err(ToolError::new(ErrorCode::ProcessAborted, message))
            }
            end @ (TurnEnd::StepsSpent | TurnEnd::OutputCut | TurnEnd::Refused { .. }) => {
                let said = last_words(&self.parent, &row.id).await.map_err(|err| failed(&err))?;
                let message =
                    format!("the subagent ended before it was done: {}. {said}", unfinished(&end));
                Err(ToolError::new(ErrorCode::ToolFailed, message))
            }
        }
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

    /// Returns the chat that this very call began before.
    async fn begun(&self) -> Result<Option<ChatSession>, AgentError> {
        let is_of_call = |row: &ChatSession| {
            row.parent_tool_call_id.as_deref() == Some(self.tool_call_id.as_str())
        };
        Ok(children_of(&self.parent).await?.into_iter().find(is_of_call))
    }

    async fn go_on(
        &self,
        row: ChatSession,
        task: SubagentTask,
        cx: &Cx,
    ) -> Result<SubagentAnswer, ToolError> {
        match (row.mode, row.status) {
            // What became of it is told by itself.
            (ChatMode::Background, _) => {
                Ok(SubagentAnswer::Begun { session_id: row.id.to_string() })
            }
            (ChatMode::Foreground, ChatStatus::Completed) => {
                let text = last_words(&self.parent, &row.id).await.map_err(|err| failed(&err))?;
                self.done(&row, text).await.map_err(|err| failed(&err))
            }
            (ChatMode::Foreground, ChatStatus::Aborted) => {
                let text = "[haft: the subagent was stopped before it was done]".to_owned();
                self.done(&row, text).await.map_err(|err| failed(&err))
            }
            (ChatMode::Foreground, ChatStatus::Idle | ChatStatus::Running | ChatStatus::Failed) => {
                let (host, above) = (&self.parent.host, &self.parent.layers);
                let child = open::open_beneath(host, &row.id, above).await;
                let child = child.map_err(|err| failed(&err))?;
                let history = child.history().await.map_err(|err| failed(&err))?;
                let prompt =
                    if history.is_empty() { Prompt::Say(task.prompt) } else { Prompt::GoOn };
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
        // Nobody is left whom they could tell anything.
        child.core().children.stop_all();
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
pub(crate) async fn children_of(parent: &ChatCore) -> Result<Vec<ChatSession>, AgentError> {
    let journal = parent.host.parts.runtime.journal();
    let mut rows: Vec<ChatSession> = Vec::new();
    loop {
        let query = ChatQuery {
            parent: Some(parent.id.clone()),
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
    let doubts = doubts(&entries);
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

/// Says which calls of a subagent may or may not have happened, in a sentence that another one can follow.
fn doubts(entries: &[Entry]) -> String {
    let parts = entries.iter().flat_map(|entry| &entry.parts);
    let titles: Vec<String> = parts.filter_map(title_in_doubt).collect();
    if titles.is_empty() {
        return String::new();
    }
    let titles = cut(&titles.join("; "), BACKGROUND_TEXT_CHARS_MAX);
    format!("It may or may not have done this, so look before you repeat it: {titles}. ")
}

fn title_in_doubt(part: &ChatPart) -> Option<String> {
    let envelope: Envelope = serde_json::from_str(part.output_json.as_deref()?).ok()?;
    if envelope.metadata().code != Some(ErrorCode::InDoubt) {
        return None;
    }
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
