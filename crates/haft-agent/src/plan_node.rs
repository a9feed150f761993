//! Does the work of the agent nodes of plans. Each attempt of a node has its own session, restricted as that of a subagent is.
//! The calls of the agent belong to the attempt of the node in the run of the plan. If the process was killed, the session
//! continues. The driver of the plan decides when an attempt begins and what becomes of its answer.

use std::sync::Arc;

use haft::InputSchema;
use haft_contract::{
    AttemptAddress, BoxFuture, Cx, ErrorCode, SubagentAnswer, SubagentTask, Subagents, ToolError,
};
use haft_journal::{CallQuery, CallStatus, SessionId, SessionRow};
use serde_json::Value;

use crate::call_scope::{plan_node_metadata, plan_node_of, task_attempt};
use crate::definition::AgentDefinition;
use crate::delegate::{STOPPED, run_subagent, tool_error, unfinished_reason};
use crate::error::AgentError;
use crate::limits::ANSWER_REPAIRS_MAX;
use crate::node_answer::{read_answer, repair_request, schema_request};
use crate::open;
use crate::restrictions::AgentRestrictions;
use crate::session::AgentSession;
use crate::session_context::AgentHostShared;
use crate::stored_session::child_sessions;
use crate::subagent_notice::load_last_agent_text;
use crate::transcript::TranscriptEntry;
use crate::turn::{TurnEnd, TurnPrompt};

/// The [`Subagents`] of the agent nodes of plans. A second call for the same attempt continues its session.
pub(crate) struct PlanNodeSubagents {
    pub(crate) host: Arc<AgentHostShared>,
}

impl Subagents for PlanNodeSubagents {
    fn delegate<'a>(
        &'a self,
        task: SubagentTask,
        cx: &'a Cx,
    ) -> BoxFuture<'a, Result<SubagentAnswer, ToolError>> {
        Box::pin(async move {
            let schema = task.output.as_ref().map(InputSchema::compile).transpose();
            let schema = schema.map_err(|err| {
                let message = format!("the schema of the answer cannot be used: {err}");
                ToolError::new(ErrorCode::InvalidInput, message).not_begun()
            })?;
            let work = PlanNodeWork { host: &self.host, task, schema, cx };
            let done = work.open_and_run().await;
            done.map_err(|err| tool_error(&err))?
        })
    }

    fn resume<'a>(
        &'a self,
        task: SubagentTask,
        cx: &'a Cx,
    ) -> BoxFuture<'a, Result<Option<SubagentAnswer>, ToolError>> {
        Box::pin(async move { self.delegate(task, cx).await.map(Some) })
    }
}

/// The work of one attempt of an agent node.
struct PlanNodeWork<'a> {
    host: &'a Arc<AgentHostShared>,
    task: SubagentTask,
    /// The compiled schema of the answer.
    schema: Option<InputSchema>,
    cx: &'a Cx,
}

impl PlanNodeWork<'_> {
    /// Continues the session of the attempt or begins one, and runs it to its answer.
    async fn open_and_run(&self) -> Result<Result<SubagentAnswer, ToolError>, AgentError> {
        let address = self.cx.attempt_address();
        let agent = self.host.any_agent(&self.task.subagent_type)?;
        let max_steps = agent.max_steps.into_iter().chain(self.task.max_steps).min();
        let agent = Arc::new(AgentDefinition { max_steps, ..AgentDefinition::clone(&agent) });
        let (mut child, prompt) = match self.find_begun(address).await? {
            Some(row) => {
                let child = open::open_node_session(self.host, &row, agent).await?;
                let prompt = match child.history().await?.is_empty() {
                    true => TurnPrompt::Message(self.first_prompt(&child, address).await?.into()),
                    false => TurnPrompt::Continue,
                };
                (child, prompt)
            }
            None => {
                let child = self.begin(address, agent).await?;
                let prompt = TurnPrompt::Message(self.first_prompt(&child, address).await?.into());
                (child, prompt)
            }
        };
        child.set_parent_call_time(self.cx.time());
        self.run(&mut child, prompt).await
    }

    /// Returns the session that does the work already. The session of an earlier attempt is continued if the driver cancelled
    /// each attempt since then, because the agent did not fail. The status of the session does not decide: the session ends
    /// before the call of its node is recorded.
    async fn find_begun(&self, address: &AttemptAddress) -> Result<Option<SessionRow>, AgentError> {
        let rows = child_sessions(self.host, &SessionId::standing_for(&address.run)).await?;
        let of_node = rows.into_iter().filter_map(|row| {
            let at = plan_node_of(&row)?;
            let is_same = at.node == address.node && at.iteration == address.iteration;
            (is_same && at.attempt <= address.attempt).then_some((at, row))
        });
        let Some((at, row)) = of_node.max_by_key(|(at, _)| at.attempt) else { return Ok(None) };
        for attempt in at.attempt..address.attempt {
            if !self.was_attempt_cancelled(AttemptAddress { attempt, ..at.clone() }).await? {
                return Ok(None);
            }
        }
        Ok(Some(row))
    }

    /// Returns whether the driver cancelled the last call of an attempt of the node before its time was over.
    async fn was_attempt_cancelled(&self, attempt: AttemptAddress) -> Result<bool, AgentError> {
        let query = CallQuery {
            node: Some(attempt.node),
            iteration: Some(attempt.iteration),
            attempt: Some(attempt.attempt),
            tool: Some(self.cx.tool().to_string()),
            ..CallQuery::of_run(attempt.run)
        };
        // An attempt has one such call for each process that drove it, so one query answers all of them.
        let calls = self.host.parts.runtime.journal().calls(query).await?;
        let last = calls.iter().max_by_key(|call| call.seq);
        Ok(last.is_some_and(|call| {
            let envelope = call.parsed_envelope().ok().flatten();
            call.status == CallStatus::Failed
                && envelope.and_then(|it| it.code()) == Some(ErrorCode::ProcessAborted)
        }))
    }

    async fn begin(
        &self,
        address: &AttemptAddress,
        agent: Arc<AgentDefinition>,
    ) -> Result<AgentSession, AgentError> {
        let mut restrictions = vec![AgentRestrictions::from_agent(&agent)];
        restrictions.extend(
            self.task.tools.clone().map(|tools| AgentRestrictions::from_tools(&agent, tools)),
        );
        let AttemptAddress { run, node, iteration, attempt } = address;
        let row = SessionRow {
            parent_id: Some(SessionId::standing_for(run)),
            parent_tool_call_id: Some(format!("{node}/{iteration}/{attempt}")),
            title: Some(format!("node {node} of {run}")),
            metadata_json: plan_node_metadata(address),
            depth: 1,
            ..self.host.new_row(&agent, None, &restrictions)?
        };
        open::begin_session(self.host, row, agent, &restrictions).await
    }

    /// Returns the first prompt. An agent that is tried again first reads which effects may already have happened.
    async fn first_prompt(
        &self,
        child: &AgentSession,
        address: &AttemptAddress,
    ) -> Result<String, AgentError> {
        let warning = child.context().call_run.retry_warning(&task_attempt(address)).await?;
        let warning = warning.map(|warning| warning.to_string());
        let schema = self.task.output.as_ref().map(schema_request);
        let parts = warning.into_iter().chain([self.task.prompt.clone()]).chain(schema);
        Ok(parts.collect::<Vec<_>>().join("\n\n"))
    }

    /// Runs the session until its answer can be used. The agent may mend its answer a bounded number of times.
    async fn run(
        &self,
        child: &mut AgentSession,
        mut prompt: TurnPrompt,
    ) -> Result<Result<SubagentAnswer, ToolError>, AgentError> {
        let failed = |message: String| ToolError::new(ErrorCode::ToolFailed, message);
        loop {
            let text = match run_subagent(child, prompt, self.cx.cancellation()).await {
                Ok(TurnEnd::Done { text }) => text,
                Ok(TurnEnd::Aborted) => {
                    return Ok(Err(ToolError::new(ErrorCode::ProcessAborted, STOPPED)));
                }
                Ok(end) => {
                    let said = load_last_agent_text(self.host, child.id()).await?;
                    let why = unfinished_reason(&end);
                    return Ok(Err(failed(format!(
                        "the agent ended before it was done: {why}. {said}"
                    ))));
                }
                Err(err) => return Err(err),
            };
            let done = |output: String| {
                let session_id = Some(child.id().to_string());
                SubagentAnswer::Done { output, session_id, calls: Vec::new() }
            };
            let (Some(schema), Some(written)) = (&self.schema, &self.task.output) else {
                return Ok(Ok(done(text)));
            };
            let problem = match read_answer(&text, schema) {
                Ok(value) => return Ok(Ok(done(Value::to_string(&value)))),
                Err(problem) => problem,
            };
            let history = child.history().await?.into_iter();
            let entries = history.map(|(message, parts)| TranscriptEntry { message, parts });
            let repairs = entries.filter(TranscriptEntry::is_prompt).count().saturating_sub(1);
            if repairs >= ANSWER_REPAIRS_MAX {
                return Ok(Err(failed(format!(
                    "the agent gave no answer that satisfies the schema, and {repairs} repairs did not help: {problem}"
                ))));
            }
            prompt = TurnPrompt::Message(repair_request(&problem, written).into());
        }
    }
}
