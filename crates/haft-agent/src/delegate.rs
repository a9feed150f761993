//! Lets subagents do tasks. Each subagent has its own session, restricted by all restrictions of its parent. A call of `task`
//! waits for a foreground subagent and only begins a background one. A later notice tells the model the result of a background
//! subagent. The runtime decides what a subagent may do, from the restrictions that its session begins with.

use std::sync::Arc;

use haft_contract::{
    BoxFuture, CallKey, Cx, ErrorCode, SubagentAnswer, SubagentCall, SubagentTask, Subagents,
    ToolError,
};
use haft_journal::{CallQuery, SessionMode, SessionRow, SessionStatus};
use tokio_util::sync::CancellationToken;

use crate::abandon::{abandon_children, abandon_session};
use crate::background::SubagentLimitReached;
use crate::error::AgentError;
use crate::event::AgentEventKind;
use crate::limits::{NESTED_CALLS_MAX, SUBAGENT_DEPTH_MAX};
use crate::open;
use crate::restrictions::AgentRestrictions;
use crate::session::AgentSession;
use crate::session_context::{AgentHostShared, AgentSessionContext};
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

/// The [`Subagents`] of one call of `task`.
struct SubagentDelegate {
    parent: Arc<AgentSessionContext>,
    tool_call_id: String,
}

/// The result of a foreground task. An error here is a known failure; an unknown outcome is an [`AgentError`] around it.
type SubagentTaskResult = Result<SubagentAnswer, ToolError>;

/// The message of a task whose subagent was stopped.
pub(crate) const STOPPED: &str = "the subagent was stopped before it was done";

impl Subagents for SubagentDelegate {
    fn delegate<'a>(
        &'a self,
        task: SubagentTask,
        cx: &'a Cx,
    ) -> BoxFuture<'a, Result<SubagentAnswer, ToolError>> {
        Box::pin(async move {
            let (parent, host) = (&self.parent, &self.parent.host);
            let depth = parent.depth.saturating_add(1);
            if depth > SUBAGENT_DEPTH_MAX {
                let message = format!(
                    "subagents are {SUBAGENT_DEPTH_MAX} levels deep already, and no deeper: do the task with the other tools"
                );
                return Err(ToolError::new(ErrorCode::DepthExceeded, message).not_begun());
            }
            let not_begun = |err: AgentError| tool_error(&err).not_begun();
            // The tool has already checked that this session may delegate to the agent.
            let agent = host.any_agent(&task.subagent_type).map_err(not_begun)?;
            let mut restrictions = parent.restrictions.clone();
            restrictions.push(AgentRestrictions::from_agent(&agent));
            let model = agent.model.as_deref().unwrap_or(&parent.model_name);
            let metadata = task.metadata.map(serde_json::Value::Object);
            let mode =
                if task.background { SessionMode::Background } else { SessionMode::Foreground };
            let row = SessionRow {
                parent_id: Some(parent.id.clone()),
                parent_tool_call_id: Some(self.tool_call_id.clone()),
                mode,
                inspectable: agent.inspectable,
                metadata_json: metadata.map_or_else(|| "{}".to_owned(), |it| it.to_string()),
                depth,
                ..host.new_row(&agent, Some(model), &restrictions).map_err(not_begun)?
            };
            let over_limit = |limit: SubagentLimitReached| {
                ToolError::new(ErrorCode::QuotaExceeded, limit.to_string()).not_begun()
            };
            let slot = parent.background.tree.reserve_slot().map_err(over_limit)?;
            let background_slot = match mode {
                SessionMode::Foreground => None,
                SessionMode::Background => {
                    let stop = host.closing.child_token();
                    Some(parent.background.reserve_slot(&row.id, stop).map_err(over_limit)?)
                }
            };
            let begun_event = AgentEventKind::Subagent {
                call: self.tool_call_id.clone(),
                agent: agent.name.clone(),
                child: row.id.clone(),
                background: task.background,
            };
            let child = open::begin_session(host, row, agent, &restrictions).await;
            let child = child.map_err(|err| tool_error(&err))?;
            child.set_call_asker(parent.call_asker.get());
            parent.notify_observer(begun_event);
            let prompt = TurnPrompt::Message(task.prompt.into());
            let Some(background_slot) = background_slot else {
                let result = self.run_in_foreground(child, prompt, cx).await;
                return result.map_err(|err| tool_error(&err))?;
            };
            let session_id = child.id().to_string();
            host.tasks.spawn(async move {
                let mut child = child;
                let why = match run_subagent(&mut child, prompt, &background_slot.stop).await {
                    Ok(TurnEnd::Done { .. } | TurnEnd::Aborted) => None,
                    Ok(end) => Some(unfinished_reason(&end).to_owned()),
                    Err(err) => Some(err.to_string()),
                };
                // The reader of the end may open the session at once.
                drop(child);
                drop(slot);
                background_slot.report_end(why);
            });
            Ok(SubagentAnswer::Begun { session_id })
        })
    }

    fn resume<'a>(
        &'a self,
        task: SubagentTask,
        cx: &'a Cx,
    ) -> BoxFuture<'a, Result<Option<SubagentAnswer>, ToolError>> {
        Box::pin(async move {
            let resumed = async {
                let (host, parent) = (&self.parent.host, &self.parent.id);
                let scope = &self.parent.call_scope;
                // If the answer of the call was not acknowledged, the model may have repeated the call under a new id. The
                // idempotency key stays the same.
                let rows = child_sessions(host, parent).await?;
                let name_of =
                    |row: &SessionRow| row.parent_tool_call_id.clone().unwrap_or_default();
                let mut begun = rows.iter().find(|row| name_of(row) == self.tool_call_id);
                let mut others = rows.iter();
                while begun.is_none()
                    && let Some(row) = others.next()
                {
                    let call = find_begun_call(host, scope, &name_of(row)).await?;
                    let key = call.and_then(|call| CallKey::parse(&call.call_key));
                    let is_same = |key: CallKey| key.idempotency_key() == cx.idempotency_key();
                    begun = Some(row).filter(|_| key.is_some_and(is_same));
                }
                let Some(row) = begun else { return Ok(None) };
                let result = match (row.mode, row.status) {
                    // A notice reports its end.
                    (SessionMode::Background, _) => {
                        Ok(SubagentAnswer::Begun { session_id: row.id.to_string() })
                    }
                    (SessionMode::Foreground, SessionStatus::Completed) => {
                        let text = load_last_agent_text(host, &row.id).await?;
                        Ok(done_answer(host, row, text).await?)
                    }
                    (SessionMode::Foreground, SessionStatus::Aborted) => {
                        Err(ToolError::new(ErrorCode::ProcessAborted, STOPPED))
                    }
                    (
                        SessionMode::Foreground,
                        SessionStatus::Idle | SessionStatus::Running | SessionStatus::Failed,
                    ) => {
                        let _slot = self.parent.background.tree.reserve_resumed_slot();
                        match open::open_child_session(&self.parent, row).await {
                            Ok(child) => {
                                let prompt = match child.history().await?.is_empty() {
                                    true => TurnPrompt::Message(task.prompt.into()),
                                    false => TurnPrompt::Continue,
                                };
                                self.run_in_foreground(child, prompt, cx).await?
                            }
                            Err(err) if err.is_outcome_known() => {
                                // It is never resumed, so its calls are answered from the journal.
                                abandon_session(host, row.clone()).await?;
                                Err(tool_error(&err))
                            }
                            Err(err) => return Err(err),
                        }
                    }
                };
                if row.mode == SessionMode::Foreground {
                    // The subagent is over, so its own subagents are never resumed.
                    match abandon_children(host, &row.id).await {
                        Err(err) if !err.is_open_elsewhere() && !err.is_permanent() => {
                            return Err(err);
                        }
                        Ok(()) | Err(_) => {}
                    }
                }
                let why = match result {
                    Ok(answer) => return Ok(Some(answer)),
                    Err(err) => err.message,
                };
                // The call itself is answered, because its end is known. Only calls of the subagent can be in doubt.
                let doubts = describe_calls_in_doubt(host, &row.id).await?;
                let text = match doubts.trim_end() {
                    "" => format!("[haft: {why}]"),
                    doubts => format!("[haft: {}. {doubts}]", why.trim_end_matches(['.', ' '])),
                };
                done_answer(host, row, text).await.map(Some)
            };
            resumed.await.map_err(|err| tool_error(&err))
        })
    }
}

impl SubagentDelegate {
    /// Runs a subagent to its end. An error means that the outcome is unknown.
    async fn run_in_foreground(
        &self,
        mut child: AgentSession,
        prompt: TurnPrompt,
        cx: &Cx,
    ) -> Result<SubagentTaskResult, AgentError> {
        child.set_parent_call_time(cx.time());
        child.set_call_asker(self.parent.call_asker.get());
        let end = match run_subagent(&mut child, prompt, cx.cancellation()).await {
            Err(err) if err.is_outcome_known() => {
                return Ok(Err(tool_error(&err)));
            }
            end => end?,
        };
        let row = child.row().await?;
        Ok(match end {
            TurnEnd::Done { text } => Ok(done_answer(&self.parent.host, &row, text).await?),
            TurnEnd::Aborted => Err(ToolError::new(ErrorCode::ProcessAborted, STOPPED)),
            end @ (TurnEnd::StepsSpent | TurnEnd::OutputCut | TurnEnd::Refused { .. }) => {
                let said = load_last_agent_text(&self.parent.host, &row.id).await?;
                let message = format!(
                    "the subagent ended before it was done: {}. {said}",
                    unfinished_reason(&end)
                );
                Err(ToolError::new(ErrorCode::ToolFailed, message))
            }
        })
    }
}

/// Returns the answer of a call of `task` whose subagent said this last.
pub(crate) async fn done_answer(
    host: &AgentHostShared,
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
    let rows = host.parts.runtime.journal().calls(query).await?;
    let calls = rows.iter().map(|row| SubagentCall {
        tool: row.tool.clone(),
        status: row.status.to_string(),
        duration_ms: row.finished_at_ms.map_or(0, |end| end.saturating_sub(row.started_at_ms)),
    });
    Ok(SubagentAnswer::Done { output, session_id: None, calls: calls.collect() })
}

/// Runs the turns of a subagent until it is done and its own background subagents are reported to it.
pub(crate) async fn run_subagent(
    child: &mut AgentSession,
    prompt: TurnPrompt,
    stop: &CancellationToken,
) -> Result<TurnEnd, AgentError> {
    let turns = async {
        let mut end = child.run_turn(prompt, stop.clone()).await?;
        while matches!(end, TurnEnd::Done { .. }) {
            let has_end = tokio::select! {
                biased;
                () = stop.cancelled() => return child.abort_background().await,
                has_end = child.wait_for_background() => has_end,
            };
            if !has_end {
                break;
            }
            end = child.run_turn(TurnPrompt::Continue, stop.clone()).await?;
        }
        Ok(end)
    };
    let end = turns.await;
    if !matches!(end, Ok(TurnEnd::Done { .. })) {
        // The subagent can no longer report them. The caller, which waits for this subagent, waits for them as well.
        child.context().background.stop_and_wait().await;
    }
    end
}

pub(crate) fn unfinished_reason(end: &TurnEnd) -> &str {
    match end {
        TurnEnd::Done { .. } => "it is done",
        TurnEnd::Aborted => "it was stopped",
        TurnEnd::StepsSpent => "it had answered as often as it may",
        TurnEnd::OutputCut => "its answer reached its greatest length",
        TurnEnd::Refused { reason } => reason,
    }
}

pub(crate) fn tool_error(err: &AgentError) -> ToolError {
    ToolError::new(ErrorCode::ToolFailed, format!("the subagent failed: {err}"))
}
