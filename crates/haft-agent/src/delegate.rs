//! Has subagents do tasks: each in a chat of its own, beneath all that the chat above is held to. A call of `task` waits for
//! its subagent or only begins it; what became of one in the background is told to the model later. What a subagent may do is
//! decided by the runtime, from the layers that its chat is begun with.

use std::sync::Arc;

use haft_contract::{
    BoxFuture, CallKey, Cx, ErrorCode, SubagentAnswer, SubagentCall, SubagentTask, Subagents,
    ToolError,
};
use haft_journal::{CallQuery, CallRow, SessionId, SessionMode, SessionRow, SessionStatus};
use tokio_util::sync::CancellationToken;

use crate::abandon::{abandon_children, abandon_session};
use crate::background::{BackgroundSlot, SubagentLimitReached, SubagentSlot};
use crate::definition::AgentDefinition;
use crate::error::AgentError;
use crate::event::AgentEventKind;
use crate::limits::{
    BACKGROUND_MAX, NESTED_CALLS_MAX, SUBAGENT_DEPTH_MAX, SUBAGENTS_AT_ONCE_MAX,
    SUBAGENTS_BEGUN_MAX,
};
use crate::open;
use crate::restrictions::AgentRestrictions;
use crate::session::AgentSession;
use crate::session_context::AgentSessionContext;
use crate::stored_session::{child_sessions, find_begun_call};
use crate::subagent_notice::{describe_calls_in_doubt, load_last_agent_text};
use crate::turn::{TurnEnd, TurnPrompt};

/// Returns the subagents that one call of a session reaches.
pub(crate) fn subagents_of_call(
    parent: &Arc<AgentSessionContext>,
    tool_call_id: &str,
) -> Arc<dyn Subagents> {
    Arc::new(SubagentDelegate { parent: Arc::clone(parent), tool_call_id: tool_call_id.to_owned() })
}

/// What one call of `task` reaches subagents through.
struct SubagentDelegate {
    parent: Arc<AgentSessionContext>,
    tool_call_id: String,
}

/// How a task ended that somebody waited for.
enum SubagentTaskEnd {
    Done(SubagentAnswer),
    /// It was not done, and it is known why.
    NotDone(ToolError),
}

/// What comes of a task whose subagent was stopped.
const STOPPED: &str = "the subagent was stopped before it was done";

impl Subagents for SubagentDelegate {
    fn delegate<'a>(
        &'a self,
        task: SubagentTask,
        cx: &'a Cx,
    ) -> BoxFuture<'a, Result<SubagentAnswer, ToolError>> {
        Box::pin(async move {
            let agent = self.find_subagent(&task.subagent_type)?;
            let row = self.new_child_row(&agent, &task)?;
            let seat = self.reserve_subagent_slot()?;
            let place =
                if task.background { Some(self.reserve_background_slot(&row.id)?) } else { None };
            let child = self.begin_child_session(row, &agent).await?;
            match place {
                Some(place) => Ok(self.spawn_in_background(child, (place, seat), task.prompt)),
                None => {
                    let waited =
                        self.run_in_foreground(child, TurnPrompt::Message(task.prompt), cx).await;
                    match waited.map_err(|err| tool_error(&err))? {
                        SubagentTaskEnd::Done(answer) => Ok(answer),
                        SubagentTaskEnd::NotDone(err) => Err(err),
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
            let Some(row) = self.find_begun_session(cx).await.map_err(|err| tool_error(&err))?
            else {
                return Ok(None);
            };
            let resumed = async {
                let waited = self.resume_session(&row, task, cx).await?;
                if row.mode == SessionMode::Foreground {
                    self.abandon_grandchildren(&row).await?;
                }
                Ok(match waited {
                    SubagentTaskEnd::Done(answer) => answer,
                    // It was seen how it ended, so there is nothing to be in doubt about.
                    SubagentTaskEnd::NotDone(err) => {
                        self.not_done_answer(&row, &err.message).await?
                    }
                })
            };
            resumed.await.map(Some).map_err(|err| tool_error(&err))
        })
    }
}

impl SubagentDelegate {
    fn find_subagent(&self, name: &str) -> Result<Arc<AgentDefinition>, ToolError> {
        let depth = self.parent.depth.saturating_add(1);
        if depth > SUBAGENT_DEPTH_MAX {
            let message = format!(
                "subagents are {SUBAGENT_DEPTH_MAX} levels deep already, and no deeper: do the task with the other tools"
            );
            return Err(ToolError::new(ErrorCode::DepthExceeded, message).not_begun());
        }
        // Whom the chat may give tasks to is checked before.
        self.parent.host.any_agent(name).map_err(|err| tool_error(&err).not_begun())
    }

    /// Returns the row of a chat that does a task.
    fn new_child_row(
        &self,
        agent: &AgentDefinition,
        task: &SubagentTask,
    ) -> Result<SessionRow, ToolError> {
        let parent = &self.parent;
        let model = agent.model.as_deref().unwrap_or(&parent.model_name);
        let row = parent.host.new_row(agent, Some(model), &self.child_restrictions(agent));
        let metadata = task.metadata.clone().map(serde_json::Value::Object);
        Ok(SessionRow {
            parent_id: Some(parent.id.clone()),
            parent_tool_call_id: Some(self.tool_call_id.clone()),
            mode: if task.background { SessionMode::Background } else { SessionMode::Foreground },
            inspectable: agent.inspectable,
            metadata_json: metadata.map_or_else(|| "{}".to_owned(), |it| it.to_string()),
            depth: parent.depth.saturating_add(1),
            ..row.map_err(|err| tool_error(&err).not_begun())?
        })
    }

    /// Returns what a subagent is narrowed to: all that its parent is, and what it declares.
    fn child_restrictions(&self, agent: &AgentDefinition) -> Vec<AgentRestrictions> {
        let above = self.parent.restrictions.iter().cloned();
        above.chain([AgentRestrictions::from_agent(agent)]).collect()
    }

    fn reserve_subagent_slot(&self) -> Result<SubagentSlot, ToolError> {
        self.parent.background.tree.reserve_slot().map_err(|full| {
            let message = match full {
                SubagentLimitReached::AtWork => format!(
                    "{SUBAGENTS_AT_ONCE_MAX} subagents are at work beneath this session already, those of subagents included: \
                     wait until one of them is done, or do the task with the other tools"
                ),
                SubagentLimitReached::Begun => format!(
                    "{SUBAGENTS_BEGUN_MAX} subagents were begun since somebody last said something, those of subagents \
                     included: do what is left with the other tools, or end with saying what is left"
                ),
            };
            ToolError::new(ErrorCode::QuotaExceeded, message).not_begun()
        })
    }

    fn reserve_background_slot(&self, child: &SessionId) -> Result<BackgroundSlot, ToolError> {
        let stop = self.parent.host.closing.child_token();
        self.parent.background.reserve_slot(child, stop).ok_or_else(|| {
            let message = format!(
                "{BACKGROUND_MAX} subagents are in the background already: wait until one of them is done"
            );
            ToolError::new(ErrorCode::QuotaExceeded, message).not_begun()
        })
    }

    async fn begin_child_session(
        &self,
        row: SessionRow,
        agent: &Arc<AgentDefinition>,
    ) -> Result<AgentSession, ToolError> {
        let told = AgentEventKind::Subagent {
            call: self.tool_call_id.clone(),
            agent: agent.name.clone(),
            child: row.id.clone(),
            background: row.mode == SessionMode::Background,
        };
        let layers = self.child_restrictions(agent);
        let begun = open::begin_session(&self.parent.host, row, Arc::clone(agent), &layers).await;
        let child = begun.map_err(|err| tool_error(&err))?;
        self.parent.notify_observer(told);
        Ok(child)
    }

    /// Has a subagent go on by itself, for as long as the host is there.
    fn spawn_in_background(
        &self,
        mut child: AgentSession,
        (place, seat): (BackgroundSlot, SubagentSlot),
        prompt: String,
    ) -> SubagentAnswer {
        let session_id = child.id().to_string();
        self.parent.host.tasks.spawn(async move {
            let end = run_subagent(&mut child, TurnPrompt::Message(prompt), &place.stop).await;
            let why = match &end {
                Ok(TurnEnd::Done { .. } | TurnEnd::Aborted) => None,
                Ok(end) => Some(unfinished_reason(end).to_owned()),
                Err(err) => Some(err.to_string()),
            };
            // Who is told of the end may open the chat.
            drop(child);
            drop(seat);
            place.report_end(why);
        });
        SubagentAnswer::Begun { session_id }
    }

    /// Has a subagent do its task. An error means that nobody knows what became of it.
    async fn run_in_foreground(
        &self,
        mut child: AgentSession,
        prompt: TurnPrompt,
        cx: &Cx,
    ) -> Result<SubagentTaskEnd, AgentError> {
        child.set_parent_call_time(cx.time());
        let end = match run_subagent(&mut child, prompt, cx.cancellation()).await {
            Err(err) if err.is_outcome_known() => {
                return Ok(SubagentTaskEnd::NotDone(tool_error(&err)));
            }
            end => end?,
        };
        let row = child.row().await?;
        Ok(match end {
            TurnEnd::Done { text } => SubagentTaskEnd::Done(self.done_answer(&row, text).await?),
            TurnEnd::Aborted => {
                SubagentTaskEnd::NotDone(ToolError::new(ErrorCode::ProcessAborted, STOPPED))
            }
            end @ (TurnEnd::StepsSpent | TurnEnd::OutputCut | TurnEnd::Refused { .. }) => {
                let said = load_last_agent_text(&self.parent, &row.id).await?;
                let message = format!(
                    "the subagent ended before it was done: {}. {said}",
                    unfinished_reason(&end)
                );
                SubagentTaskEnd::NotDone(ToolError::new(ErrorCode::ToolFailed, message))
            }
        })
    }

    async fn done_answer(
        &self,
        row: &SessionRow,
        text: String,
    ) -> Result<SubagentAnswer, AgentError> {
        let output =
            if text.is_empty() { "[haft: the subagent said nothing]".to_owned() } else { text };
        if row.inspectable {
            let session_id = Some(row.id.to_string());
            return Ok(SubagentAnswer::Done { output, session_id, calls: Vec::new() });
        }
        let query = CallQuery { limit: NESTED_CALLS_MAX, ..CallQuery::of_run(row.id.run()) };
        let rows = self.parent.host.parts.runtime.journal().calls(query).await?;
        let calls = rows.iter().map(nested_call).collect();
        Ok(SubagentAnswer::Done { output, session_id: None, calls })
    }

    /// Ends what a subagent that is over had begun and nobody goes on with, as far as that can be.
    async fn abandon_grandchildren(&self, row: &SessionRow) -> Result<(), AgentError> {
        match abandon_children(&self.parent.host, &row.id).await {
            Err(err) if !err.is_open_elsewhere() && !err.is_permanent() => Err(err),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Returns the answer of a task that was gone on with and is not done, and what may have happened of it.
    async fn not_done_answer(
        &self,
        row: &SessionRow,
        why: &str,
    ) -> Result<SubagentAnswer, AgentError> {
        let doubts = describe_calls_in_doubt(&self.parent.host, &row.id).await?;
        let text = match doubts.trim_end() {
            "" => format!("[haft: {why}]"),
            doubts => format!("[haft: {}. {doubts}]", why.trim_end_matches(['.', ' '])),
        };
        self.done_answer(row, text).await
    }

    /// Returns the chat that this very call began before, under its name or, where nobody heard what became of it, under the
    /// name that it had then.
    async fn find_begun_session(&self, cx: &Cx) -> Result<Option<SessionRow>, AgentError> {
        let rows = child_sessions(&self.parent.host, &self.parent.id).await?;
        let name_of = |row: &SessionRow| row.parent_tool_call_id.clone().unwrap_or_default();
        if let Some(row) = rows.iter().find(|row| name_of(row) == self.tool_call_id) {
            return Ok(Some(row.clone()));
        }
        for row in rows {
            let call = find_begun_call(&self.parent.host, &self.parent.id, &name_of(&row)).await?;
            let key = call.and_then(|call| CallKey::parse(&call.call_key));
            if key.is_some_and(|key| key.idempotency_key() == cx.idempotency_key()) {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    async fn resume_session(
        &self,
        row: &SessionRow,
        task: SubagentTask,
        cx: &Cx,
    ) -> Result<SubagentTaskEnd, AgentError> {
        match (row.mode, row.status) {
            // What became of it is told by itself.
            (SessionMode::Background, _) => {
                Ok(SubagentTaskEnd::Done(SubagentAnswer::Begun { session_id: row.id.to_string() }))
            }
            (SessionMode::Foreground, SessionStatus::Completed) => {
                let text = load_last_agent_text(&self.parent, &row.id).await?;
                Ok(SubagentTaskEnd::Done(self.done_answer(row, text).await?))
            }
            (SessionMode::Foreground, SessionStatus::Aborted) => {
                Ok(SubagentTaskEnd::NotDone(ToolError::new(ErrorCode::ProcessAborted, STOPPED)))
            }
            (
                SessionMode::Foreground,
                SessionStatus::Idle | SessionStatus::Running | SessionStatus::Failed,
            ) => {
                let _seat = self.parent.background.tree.reserve_resumed_slot();
                let child = match open::open_child_session(&self.parent, row).await {
                    Err(err) if err.is_outcome_known() => {
                        // Nobody goes on with its calls, so they are answered as the journal knows them.
                        abandon_session(&self.parent.host, row.clone()).await?;
                        return Ok(SubagentTaskEnd::NotDone(tool_error(&err)));
                    }
                    child => child?,
                };
                let is_new = child.history().await?.is_empty();
                let prompt =
                    if is_new { TurnPrompt::Message(task.prompt) } else { TurnPrompt::Continue };
                self.run_in_foreground(child, prompt, cx).await
            }
        }
    }
}

/// Has a subagent do its task, with all that its own subagents in the background tell it.
async fn run_subagent(
    child: &mut AgentSession,
    prompt: TurnPrompt,
    stop: &CancellationToken,
) -> Result<TurnEnd, AgentError> {
    let end = run_turns(child, prompt, stop).await;
    if !matches!(end, Ok(TurnEnd::Done { .. })) {
        // Nobody is left whom they could tell anything. Whoever waits for the end of this one waits for that of all beneath.
        child.context().background.stop_and_wait().await;
    }
    end
}

async fn run_turns(
    child: &mut AgentSession,
    prompt: TurnPrompt,
    stop: &CancellationToken,
) -> Result<TurnEnd, AgentError> {
    let mut end = child.run_turn(prompt, stop.clone()).await?;
    while matches!(end, TurnEnd::Done { .. }) {
        let has_news = tokio::select! {
            biased;
            () = stop.cancelled() => return child.abort_background().await,
            has_news = child.wait_for_background() => has_news,
        };
        if !has_news {
            break;
        }
        end = child.run_turn(TurnPrompt::Continue, stop.clone()).await?;
    }
    Ok(end)
}

fn nested_call(row: &CallRow) -> SubagentCall {
    let duration_ms = row.finished_at_ms.map(|end| end.saturating_sub(row.started_at_ms));
    SubagentCall {
        tool: row.tool.clone(),
        status: row.status.to_string(),
        duration_ms: duration_ms.unwrap_or_default(),
    }
}

fn unfinished_reason(end: &TurnEnd) -> &str {
    match end {
        TurnEnd::Done { .. } => "it is done",
        TurnEnd::Aborted => "it was stopped",
        TurnEnd::StepsSpent => "it had answered as often as it may",
        TurnEnd::OutputCut => "its answer reached its greatest length",
        TurnEnd::Refused { reason } => reason,
    }
}

fn tool_error(err: &AgentError) -> ToolError {
    ToolError::new(ErrorCode::ToolFailed, format!("the subagent failed: {err}"))
}
