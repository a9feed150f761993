//! Makes the calls that one answer asks for. Calls that are safe beside each other are made at the same time. A call that is
//! not safe to repeat is made alone and in order, unless it delegates to a subagent. The pipeline decides whether a call may
//! execute and whether it was executed before.

use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use haft::{Ask, AskAnswer, Asker, Call, Elicitation, ElicitationReply, RunError};
use haft_contract::{
    BoxFuture, CallProgress, Effect, Envelope, EnvelopeMetadata, ErrorCode, ProgressSink, ToolKind,
};
use haft_journal::{AskRow, MessagePart, PartState, SessionDurability, SessionRecord};
use haft_model::ToolCallArguments;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::call_answer::{set_call_answer, tool_result_event, unmade_envelope};
use crate::call_scope::task_attempt;
use crate::call_title::call_title;
use crate::error::AgentError;
use crate::event::AgentEventKind;
use crate::limits::CALLS_AT_ONCE_MAX;
use crate::session_context::AgentSessionContext;
use crate::session_log::SessionLog;
use crate::stored_session::find_begun_call;
use crate::transcript::parse_arguments;

/// A call that is not answered yet.
#[derive(Clone, Debug)]
struct PendingToolCall {
    /// The index of the call among the parts of its message.
    part_index: usize,
    id: String,
    tool: String,
    arguments: ToolCallArguments,
    effect: Effect,
    /// Whether a subagent does it.
    is_delegation: bool,
    kind: ToolKind,
}

/// Selects the open calls to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenCallSelection {
    /// All calls of an answer that has just arrived.
    New,
    /// All calls that a killed process left open.
    Interrupted,
    /// Only those calls of a killed process that it had begun. The others are dropped.
    InterruptedBegun,
}

/// Makes the open calls of a message and records their answers. After a stop, no further call begins: calls of a new answer
/// are recorded as not made. Interrupted calls stay open, because an earlier process may have made them.
pub(crate) async fn make_open_calls(
    log: &mut SessionLog,
    message: usize,
    which: OpenCallSelection,
    stop: &CancellationToken,
) -> Result<(), AgentError> {
    let context = Arc::clone(&log.context);
    let registry = context.host.parts.runtime.registry();
    let Some(entry) = log.entries.get(message) else { return Ok(()) };
    let pending_call = |(part_index, part): (usize, &MessagePart)| {
        if part.state != Some(PartState::InputAvailable) {
            return None;
        }
        let tool = part.tool.clone()?;
        let contract = registry.contract(&tool);
        Some(PendingToolCall {
            part_index,
            id: part.tool_call_id.clone()?,
            arguments: parse_arguments(part.input_json.as_deref().unwrap_or_default()),
            // An unknown tool does nothing.
            effect: contract.map_or(Effect::Read, |contract| contract.effect),
            is_delegation: contract.is_some_and(|contract| contract.delegates),
            kind: contract.map_or(ToolKind::Other, |contract| contract.kind),
            tool,
        })
    };
    let pending: Vec<_> = entry.parts.iter().enumerate().filter_map(pending_call).collect();
    for call in &pending {
        let input = match &call.arguments {
            ToolCallArguments::Object(input) => input.clone(),
            ToolCallArguments::Malformed { text, .. } => Value::from(text.as_str()),
        };
        let path = input.get("path").and_then(Value::as_str);
        context.notify_observer(AgentEventKind::ToolCall {
            id: call.id.clone(),
            tool: call.tool.clone(),
            kind: call.kind,
            title: call_title(&call.tool, &input),
            locations: path.map(str::to_owned).into_iter().collect(),
            input,
        });
    }
    // Calls that were begun go first. Otherwise recall could take an equal call that was not begun for one of them.
    let (mut begun, mut new) = (Vec::new(), Vec::new());
    if which == OpenCallSelection::New {
        new = pending;
    } else {
        for call in pending {
            let row = find_begun_call(&context.host, &context.call_scope, &call.id).await?;
            if row.is_some() { begun.push(call) } else { new.push(call) }
        }
    }
    if which == OpenCallSelection::InterruptedBegun {
        record_unmade_calls(log, message, std::mem::take(&mut new), SUPERSEDED).await?;
    }
    for group in group_calls(begun).into_iter().chain(group_calls(new)) {
        if !stop.is_cancelled() {
            make_call_group(log, message, group, stop).await?;
        } else if which == OpenCallSelection::New {
            record_unmade_calls(log, message, group, "the turn was stopped").await?;
        }
    }
    Ok(())
}

/// The reason for dropping a call that a killed process had not begun.
const SUPERSEDED: &str = "haft ended before it was begun, and was asked for something else since";

/// Divides calls into groups. The calls of one group are made at the same time; the groups keep the order of the calls.
fn group_calls(calls: Vec<PendingToolCall>) -> Vec<Vec<PendingToolCall>> {
    // A call that is not safe to repeat runs alone. Two calls of one tool with a side effect do not run together. A
    // delegation runs beside reads and other delegations whatever its effect, because the pipeline judges and records each
    // call of the subagent separately.
    let is_quiet = |call: &PendingToolCall| call.is_delegation || call.effect == Effect::Read;
    let can_run_together = |one: &PendingToolCall, other: &PendingToolCall| {
        if one.is_delegation || other.is_delegation {
            return is_quiet(one) && is_quiet(other);
        }
        match (one.effect, other.effect) {
            (Effect::Once, _) | (_, Effect::Once) => false,
            (Effect::Idempotent, Effect::Idempotent) => one.tool != other.tool,
            (Effect::Read, _) | (_, Effect::Read) => true,
        }
    };
    let mut groups: Vec<Vec<PendingToolCall>> = Vec::new();
    for call in calls {
        match groups.last_mut() {
            Some(group) if group.iter().all(|other| can_run_together(other, &call)) => {
                group.push(call);
            }
            Some(_) | None => groups.push(vec![call]),
        }
    }
    groups
}

/// Makes the calls of a group at the same time. If an answer cannot be recorded, no further call begins. The calls under way
/// still finish, so their outcomes are in the journal and, if possible, in the session.
async fn make_call_group(
    log: &mut SessionLog,
    message: usize,
    group: Vec<PendingToolCall>,
    stop: &CancellationToken,
) -> Result<(), AgentError> {
    let context = Arc::clone(&log.context);
    let make = |call: PendingToolCall| {
        let (context, stop) = (Arc::clone(&context), stop.clone());
        async move { (call.part_index, make_call(&context, &call, &stop).await) }
    };
    let mut waiting = group.into_iter();
    let mut under_way = FuturesUnordered::new();
    let mut failure = None;
    loop {
        while failure.is_none()
            && under_way.len() < CALLS_AT_ONCE_MAX
            && let Some(call) = waiting.next()
        {
            under_way.push(make(call));
        }
        let Some((place, envelope)) = under_way.next().await else { break };
        let recorded = match envelope {
            Ok(envelope) => record_call_answer(log, message, place, envelope).await,
            Err(err) => Err(err.into()),
        };
        if let Err(err) = recorded {
            failure.get_or_insert(err);
        }
    }
    failure.map_or(Ok(()), Err)
}

async fn make_call(
    context: &Arc<AgentSessionContext>,
    pending: &PendingToolCall,
    stop: &CancellationToken,
) -> Result<Envelope, RunError> {
    let input = match &pending.arguments {
        ToolCallArguments::Object(input) => input.clone(),
        ToolCallArguments::Malformed { problem, .. } => {
            let error_text = format!(
                "{} was not called, because its arguments cannot be read: {problem}. Send them again as one JSON object.",
                pending.tool
            );
            let code = Some(ErrorCode::InvalidInput);
            let metadata = EnvelopeMetadata { code, ..EnvelopeMetadata::default() };
            return Ok(Envelope::Error { error_text, metadata });
        }
    };
    let asker = NotifyingAsker { context: Arc::clone(context), id: pending.id.clone() };
    let progress = OutputEvents { context: Arc::clone(context), id: pending.id.clone() };
    let call = Call {
        task_attempt: task_attempt(&context.call_scope),
        driver_call_id: Some(pending.id.clone()),
        cancellation: stop.child_token(),
        parent_time: context.parent_call_time.get().cloned().unwrap_or_else(|| Arc::new(())),
        asker: Some(Arc::new(asker)),
        progress: Arc::new(progress),
        subagents: (context.host.subagents_of_call)(context, &pending.id),
        ..Call::new(&pending.tool, input)
    };
    match context.call_run.call(call).await {
        // The tool may parse its input differently since the call was begun.
        Err(RunError::Diverged(divergence)) => {
            let error_text = format!(
                "in doubt: this call was begun before and may or may not have happened, and it cannot be told which call it was: \
                 {divergence}"
            );
            Ok(Envelope::in_doubt(divergence.call.to_string(), error_text))
        }
        called => called,
    }
}

/// Records the answer of a call.
async fn record_call_answer(
    log: &mut SessionLog,
    message: usize,
    place: usize,
    envelope: Envelope,
) -> Result<(), AgentError> {
    let now_ms = log.context.now_ms();
    let entry = log.entries.get_mut(message);
    let Some(part) = entry.and_then(|entry| entry.parts.get_mut(place)) else { return Ok(()) };
    set_call_answer(part, &envelope, now_ms);
    let record = SessionRecord::Part(part.clone());
    let event = tool_result_event(part, envelope);
    log.record_rows(vec![record], SessionDurability::Ordered).await?;
    log.context.notify_observer(event);
    Ok(())
}

/// Records that calls are not made.
async fn record_unmade_calls(
    log: &mut SessionLog,
    message: usize,
    calls: Vec<PendingToolCall>,
    why: &str,
) -> Result<(), AgentError> {
    for call in calls {
        record_call_answer(log, message, call.part_index, unmade_envelope(why)).await?;
    }
    Ok(())
}

/// Sends the output of a running command to the observer.
struct OutputEvents {
    context: Arc<AgentSessionContext>,
    id: String,
}

impl ProgressSink for OutputEvents {
    /// Drops the report: the observer sees when the call began.
    fn report(&self, _: CallProgress) {}

    fn output(&self, tail: &str) {
        let (id, tail) = (self.id.clone(), tail.to_owned());
        self.context.notify_observer(AgentEventKind::ToolOutput { id, tail });
    }
}

/// Asks the person behind the front end, and sends the events of the question to the observer.
struct NotifyingAsker {
    context: Arc<AgentSessionContext>,
    id: String,
}

/// Sends the event that a question is over when it is dropped.
struct AskEventGuard<'a> {
    asker: &'a NotifyingAsker,
    answer: &'static str,
}

impl NotifyingAsker {
    fn inner_asker(&self) -> &dyn Asker {
        self.context.asker()
    }

    fn begin_ask_event(&self) -> AskEventGuard<'_> {
        self.context.notify_observer(AgentEventKind::Asked { id: self.id.clone() });
        AskEventGuard { asker: self, answer: "nobody" }
    }
}

impl Drop for AskEventGuard<'_> {
    fn drop(&mut self) {
        let id = self.asker.id.clone();
        self.asker.context.notify_observer(AgentEventKind::Answered { id, answer: self.answer });
    }
}

impl Asker for NotifyingAsker {
    fn ask(&self, ask: Ask) -> BoxFuture<'_, AskAnswer> {
        Box::pin(async move {
            let mut question = self.begin_ask_event();
            let answer = self.inner_asker().ask(ask).await;
            question.answer = match &answer {
                AskAnswer::AllowOnce => "once",
                AskAnswer::AllowForSession | AskAnswer::AllowExactForSession => "always_session",
                AskAnswer::AllowForProject | AskAnswer::AllowExactForProject => "always_project",
                AskAnswer::Reject | AskAnswer::RejectWithWords(_) => "reject",
                AskAnswer::RejectForSession => "reject_session",
                _ => "nobody",
            };
            answer
        })
    }

    fn elicit(&self, elicitation: Elicitation) -> BoxFuture<'_, ElicitationReply> {
        Box::pin(async move {
            let mut question = self.begin_ask_event();
            let reply = self.inner_asker().elicit(elicitation).await;
            question.answer = match &reply {
                ElicitationReply::Answers(_) => "answers",
                ElicitationReply::Dismissed(_) => "dismissed",
                _ => "nobody",
            };
            reply
        })
    }

    fn can_ask(&self) -> bool {
        self.inner_asker().can_ask()
    }

    fn waits_for_others(&self) -> bool {
        self.inner_asker().waits_for_others()
    }

    fn note_waiting(&self, ask: &AskRow) {
        self.inner_asker().note_waiting(ask);
    }

    fn has_deadline(&self) -> bool {
        self.inner_asker().has_deadline()
    }

    fn note_end(&self, ask: &str, how: &str) {
        self.inner_asker().note_end(ask, how);
    }

    fn asks_one_at_a_time(&self) -> bool {
        self.inner_asker().asks_one_at_a_time()
    }
}

#[cfg(test)]
mod tests;
