//! Does the tasks of calls that no agent made, such as those of an MCP client. Each call of `task` has its own session, restricted as
//! that of a subagent is. No background task is begun: such a client is not told how it ended.

use std::sync::Arc;

use haft::Asker;
use haft_contract::{
    AttemptAddress, BoxFuture, Cx, ErrorCode, SubagentAnswer, SubagentTask, Subagents, ToolError,
};
use haft_journal::{SessionId, SessionRow, SessionStatus};

use crate::abandon::abandon_children;
use crate::call_scope::run_task_metadata;
use crate::delegate::{STOPPED, done_answer, run_subagent, tool_error, unfinished_reason};
use crate::error::AgentError;
use crate::open;
use crate::restrictions::AgentRestrictions;
use crate::session::AgentSession;
use crate::session_context::AgentHostShared;
use crate::stored_session::child_sessions;
use crate::subagent_notice::{describe_calls_in_doubt, load_last_agent_text};
use crate::turn::{TurnEnd, TurnPrompt};

/// The [`Subagents`] of one call of a client.
pub(crate) struct RunTaskSubagents {
    pub(crate) host: Arc<AgentHostShared>,
    /// Asks the person behind the client.
    pub(crate) asker: Option<Arc<dyn Asker>>,
}

impl Subagents for RunTaskSubagents {
    fn delegate<'a>(
        &'a self,
        task: SubagentTask,
        cx: &'a Cx,
    ) -> BoxFuture<'a, Result<SubagentAnswer, ToolError>> {
        Box::pin(async move {
            if task.background {
                let message = "no task can go on in the background here: leave background out, and the answer comes with the call";
                return Err(ToolError::new(ErrorCode::InvalidInput, message).not_begun());
            }
            let prompt = TurnPrompt::Message(task.prompt.clone().into());
            let child = self.begin(task, cx).await.map_err(|err| tool_error(&err).not_begun())?;
            self.run(child, prompt, cx).await.map_err(|err| tool_error(&err))?
        })
    }

    fn resume<'a>(
        &'a self,
        task: SubagentTask,
        cx: &'a Cx,
    ) -> BoxFuture<'a, Result<Option<SubagentAnswer>, ToolError>> {
        Box::pin(async move { self.resume_begun(task, cx).await.map_err(|err| tool_error(&err)) })
    }
}

/// Returns the name of a call that a session works for. A resume gives the call another number, so the name has the
/// idempotency key instead.
fn task_call_name(cx: &Cx) -> String {
    let AttemptAddress { run: _, node, iteration, attempt } = cx.attempt_address();
    format!("{node}/{iteration}/{attempt}/{}", cx.idempotency_key())
}

impl RunTaskSubagents {
    async fn begin(&self, task: SubagentTask, cx: &Cx) -> Result<AgentSession, AgentError> {
        let run = &cx.attempt_address().run;
        let agent = self.host.any_agent(&task.subagent_type)?;
        let restrictions = vec![AgentRestrictions::from_agent(&agent)];
        let row = SessionRow {
            parent_id: Some(SessionId::standing_for(run)),
            parent_tool_call_id: Some(task_call_name(cx)),
            inspectable: agent.inspectable,
            metadata_json: run_task_metadata(run, task.metadata.unwrap_or_default()),
            depth: 1,
            ..self.host.new_row(&agent, None, &restrictions)?
        };
        open::begin_session(&self.host, row, agent, &restrictions).await
    }

    /// Runs the session to its end. An error means that the outcome is unknown.
    async fn run(
        &self,
        mut child: AgentSession,
        prompt: TurnPrompt,
        cx: &Cx,
    ) -> Result<Result<SubagentAnswer, ToolError>, AgentError> {
        child.set_parent_call_time(cx.time());
        child.set_call_asker(self.asker.as_ref());
        let end = match run_subagent(&mut child, prompt, cx.cancellation()).await {
            Err(err) if err.is_outcome_known() => return Ok(Err(tool_error(&err))),
            end => end?,
        };
        let row = child.row().await?;
        Ok(match end {
            TurnEnd::Done { text } => Ok(done_answer(&self.host, &row, text).await?),
            TurnEnd::Aborted => Err(ToolError::new(ErrorCode::ProcessAborted, STOPPED)),
            end @ (TurnEnd::StepsSpent | TurnEnd::OutputCut | TurnEnd::Refused { .. }) => {
                let said = load_last_agent_text(&self.host, &row.id).await?;
                let why = unfinished_reason(&end);
                let message = format!("the subagent ended before it was done: {why}. {said}");
                Err(ToolError::new(ErrorCode::ToolFailed, message))
            }
        })
    }

    /// Continues the session of the call after its process was killed.
    async fn resume_begun(
        &self,
        task: SubagentTask,
        cx: &Cx,
    ) -> Result<Option<SubagentAnswer>, AgentError> {
        let call = task_call_name(cx);
        let rows =
            child_sessions(&self.host, &SessionId::standing_for(&cx.attempt_address().run)).await?;
        let is_its_own = |row: &SessionRow| row.parent_tool_call_id.as_ref() == Some(&call);
        let Some(row) = rows.into_iter().find(is_its_own) else { return Ok(None) };
        let result = match row.status {
            SessionStatus::Completed => {
                let text = load_last_agent_text(&self.host, &row.id).await?;
                Ok(done_answer(&self.host, &row, text).await?)
            }
            SessionStatus::Aborted => Err(ToolError::new(ErrorCode::ProcessAborted, STOPPED)),
            SessionStatus::Idle | SessionStatus::Running | SessionStatus::Failed => {
                let agent = self.host.any_agent(&row.agent)?;
                let child = open::open_node_session(&self.host, &row, agent).await?;
                let prompt = match child.history().await?.is_empty() {
                    true => TurnPrompt::Message(task.prompt.into()),
                    false => TurnPrompt::Continue,
                };
                self.run(child, prompt, cx).await?
            }
        };
        // The subagent is over, so its own subagents are never resumed.
        match abandon_children(&self.host, &row.id).await {
            Err(err) if !err.is_open_elsewhere() && !err.is_permanent() => return Err(err),
            Ok(()) | Err(_) => {}
        }
        let why = match result {
            Ok(answer) => return Ok(Some(answer)),
            Err(err) => err.message,
        };
        // The call itself is answered, because its end is known. Only calls of the subagent can be in doubt.
        let doubts = describe_calls_in_doubt(&self.host, &row.id).await?;
        let text = format!("[haft: {}. {doubts}]", why.trim_end_matches(['.', ' ']));
        done_answer(&self.host, &row, text).await.map(Some)
    }
}
