//! The calls that one answer asks for, through the pipeline: those that are safe beside each other at the same time, and
//! those whose effect is not safe to repeat alone and in order, unless subagents do them. Whether a call may execute, and
//! whether it did before, is the pipeline's business.

use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use haft::{Ask, AskAnswer, Asker, Call, Divergence, Elicitation, ElicitationReply, RunError};
use haft_contract::{BoxFuture, Effect, Envelope, EnvelopeMetadata, ErrorCode, ToolKind};
use haft_journal::{MessagePart, PartState, SessionDurability, SessionRecord};
use haft_model::ToolCallArguments;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::call_answer::{set_call_answer, tool_result_event, unmade_envelope};
use crate::call_title::call_title;
use crate::error::AgentError;
use crate::event::AgentEventKind;
use crate::limits::CALLS_AT_ONCE_MAX;
use crate::session_context::AgentSessionContext;
use crate::session_log::SessionLog;
use crate::transcript::parse_arguments;

/// A call that is to be made.
#[derive(Clone, Debug)]
struct PendingToolCall {
    /// Its place among the parts of the message.
    part_index: usize,
    id: String,
    tool: String,
    arguments: ToolCallArguments,
    effect: Effect,
    /// Whether subagents do it.
    is_delegation: bool,
    kind: ToolKind,
}

/// Which open calls are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenCallSelection {
    /// All, of an answer that has just come.
    New,
    /// All that a process left open which was killed.
    Interrupted,
    /// Of these the ones that were begun; the others are not made any more.
    InterruptedBegun,
}

/// Makes the open calls of a message and takes down their answers. Once told to stop it begins no more: those of a new answer are
/// not made then, and those that were left stay open, because nobody knows what they came to before.
pub(crate) async fn make_open_calls(
    ledger: &mut SessionLog,
    message: usize,
    which: OpenCallSelection,
    stop: &CancellationToken,
) -> Result<(), AgentError> {
    let asked = pending_calls(ledger, message);
    for call in &asked {
        ledger.context.notify_observer(tool_call_event(call));
    }
    // What was begun comes first: a call like it that was not begun would else be taken for it.
    let (begun, new) = match which {
        OpenCallSelection::New => (Vec::new(), asked),
        OpenCallSelection::Interrupted | OpenCallSelection::InterruptedBegun => {
            split_begun_calls(&ledger.context, asked).await?
        }
    };
    let (new, dropped) = match which {
        OpenCallSelection::New | OpenCallSelection::Interrupted => (new, Vec::new()),
        OpenCallSelection::InterruptedBegun => (Vec::new(), new),
    };
    record_unmade_calls(ledger, message, dropped, SUPERSEDED).await?;
    for group in group_calls(begun).into_iter().chain(group_calls(new)) {
        if !stop.is_cancelled() {
            make_call_group(ledger, message, group, stop).await?;
        } else if which == OpenCallSelection::New {
            record_unmade_calls(ledger, message, group, STOPPED).await?;
        }
    }
    Ok(())
}

/// Why a call was not made when the turn was stopped.
const STOPPED: &str = "the turn was stopped";
/// Why a call is not made any more that a process left which was killed.
const SUPERSEDED: &str = "haft ended before it was begun, and was asked for something else since";

fn pending_calls(ledger: &SessionLog, message: usize) -> Vec<PendingToolCall> {
    let registry = ledger.context.host.parts.runtime.registry();
    let Some(entry) = ledger.entries.get(message) else { return Vec::new() };
    let of_part = |(place, part): (usize, &MessagePart)| {
        if part.state != Some(PartState::InputAvailable) {
            return None;
        }
        let tool = part.tool.clone()?;
        let contract = registry.contract(&tool);
        Some(PendingToolCall {
            part_index: place,
            id: part.tool_call_id.clone()?,
            arguments: parse_arguments(part.input_json.as_deref().unwrap_or_default()),
            // A tool that nobody knows does nothing.
            effect: contract.map_or(Effect::Read, |contract| contract.effect),
            is_delegation: contract.is_some_and(|contract| contract.delegates),
            kind: contract.map_or(ToolKind::Other, |contract| contract.kind),
            tool,
        })
    };
    entry.parts.iter().enumerate().filter_map(of_part).collect()
}

/// Divides calls into those that were begun and those that left no trace.
async fn split_begun_calls(
    core: &AgentSessionContext,
    asked: Vec<PendingToolCall>,
) -> Result<(Vec<PendingToolCall>, Vec<PendingToolCall>), AgentError> {
    let scope = haft_contract::AttemptAddress::first_of_run(core.run.id().clone());
    let (mut begun, mut left) = (Vec::new(), Vec::new());
    for call in asked {
        let row = core.host.parts.runtime.journal().by_driver_id(&scope, &call.id).await?;
        if row.is_some() { begun.push(call) } else { left.push(call) }
    }
    Ok((begun, left))
}

/// Divides calls into those that are made at the same time, in their order.
fn group_calls(asked: Vec<PendingToolCall>) -> Vec<Vec<PendingToolCall>> {
    let mut groups: Vec<Vec<PendingToolCall>> = Vec::new();
    for call in asked {
        match groups.last_mut() {
            Some(group) if group.iter().all(|other| are_made_together(other, &call)) => {
                group.push(call);
            }
            Some(_) | None => groups.push(vec![call]),
        }
    }
    groups
}

/// Returns whether two calls are made at the same time. One with an effect that is not safe to repeat stands alone, and one with
/// an effect is never beside another of the same tool. What subagents do is made beside other such calls and beside what
/// changes nothing, whatever its effect: each call of theirs is judged and recorded by itself.
fn are_made_together(one: &PendingToolCall, other: &PendingToolCall) -> bool {
    let is_quiet = |call: &PendingToolCall| call.is_delegation || call.effect == Effect::Read;
    if one.is_delegation || other.is_delegation {
        return is_quiet(one) && is_quiet(other);
    }
    match (one.effect, other.effect) {
        (Effect::Once, _) | (_, Effect::Once) => false,
        (Effect::Idempotent, Effect::Idempotent) => one.tool != other.tool,
        (Effect::Read, _) | (_, Effect::Read) => true,
    }
}

/// Makes calls at the same time, as many as may be. Where one cannot be taken down, no further one is begun, and those that
/// were come to their ends: what they did is in the journal, and so in the chat if it can be.
async fn make_call_group(
    ledger: &mut SessionLog,
    message: usize,
    group: Vec<PendingToolCall>,
    stop: &CancellationToken,
) -> Result<(), AgentError> {
    let core = Arc::clone(&ledger.context);
    let make = |call: PendingToolCall| {
        let (core, stop) = (Arc::clone(&core), stop.clone());
        async move { (call.part_index, make_call(&core, &call, &stop).await) }
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
        let taken = match envelope {
            Ok(envelope) => record_call_answer(ledger, message, place, envelope).await,
            Err(err) => Err(err.into()),
        };
        if let Err(err) = taken {
            failure.get_or_insert(err);
        }
    }
    failure.map_or(Ok(()), Err)
}

async fn make_call(
    core: &Arc<AgentSessionContext>,
    asked: &PendingToolCall,
    stop: &CancellationToken,
) -> Result<Envelope, RunError> {
    let input = match &asked.arguments {
        ToolCallArguments::Object(input) => input.clone(),
        ToolCallArguments::Malformed { problem, .. } => {
            return Ok(malformed_envelope(&asked.tool, problem));
        }
    };
    let asker = NotifyingAsker { core: Arc::clone(core), id: asked.id.clone() };
    let call = Call {
        driver_call_id: Some(asked.id.clone()),
        cancellation: stop.child_token(),
        parent_time: core.parent_call_time.get().cloned().unwrap_or_else(|| Arc::new(())),
        asker: Some(Arc::new(asker)),
        subagents: (core.host.subagents_of_call)(core, &asked.id),
        ..Call::new(&asked.tool, input)
    };
    match core.run.call(call).await {
        // The tool reads its input in another way than when the call was begun.
        Err(RunError::Diverged(divergence)) => Ok(diverged_envelope(&divergence)),
        called => called,
    }
}

/// Takes down the answer of a call.
async fn record_call_answer(
    ledger: &mut SessionLog,
    message: usize,
    place: usize,
    envelope: Envelope,
) -> Result<(), AgentError> {
    let now_ms = ledger.context.now_ms();
    let entry = ledger.entries.get_mut(message);
    let Some(part) = entry.and_then(|entry| entry.parts.get_mut(place)) else { return Ok(()) };
    set_call_answer(part, &envelope, now_ms);
    let record = SessionRecord::Part(part.clone());
    let told = tool_result_event(part, envelope);
    ledger.record_rows(vec![record], SessionDurability::Ordered).await?;
    ledger.context.notify_observer(told);
    Ok(())
}

/// Takes down that calls are not made.
async fn record_unmade_calls(
    ledger: &mut SessionLog,
    message: usize,
    calls: Vec<PendingToolCall>,
    why: &str,
) -> Result<(), AgentError> {
    for call in calls {
        record_call_answer(ledger, message, call.part_index, unmade_envelope(why)).await?;
    }
    Ok(())
}

fn malformed_envelope(tool: &str, problem: &str) -> Envelope {
    let metadata =
        EnvelopeMetadata { code: Some(ErrorCode::InvalidInput), ..EnvelopeMetadata::default() };
    let error_text =
        format!("{tool} was not called, because its arguments cannot be read: {problem}");
    Envelope::Error { error_text, metadata }
}

fn diverged_envelope(divergence: &Divergence) -> Envelope {
    let error_text = format!(
        "in doubt: this call was begun before and may or may not have happened, and it cannot be told which call it was: \
         {divergence}"
    );
    Envelope::in_doubt(divergence.call.to_string(), error_text)
}

fn tool_call_event(call: &PendingToolCall) -> AgentEventKind {
    let input = match &call.arguments {
        ToolCallArguments::Object(input) => input.clone(),
        ToolCallArguments::Malformed { text, .. } => Value::from(text.as_str()),
    };
    AgentEventKind::ToolCall {
        id: call.id.clone(),
        tool: call.tool.clone(),
        kind: call.kind,
        title: call_title(&call.tool, &input),
        locations: input
            .get("path")
            .and_then(Value::as_str)
            .map(str::to_owned)
            .into_iter()
            .collect(),
        input,
    }
}

/// Asks the person behind the front end, and tells whoever watches that it does.
struct NotifyingAsker {
    core: Arc<AgentSessionContext>,
    id: String,
}

/// Tells that a question is over when it goes, however that comes about.
struct AskEventGuard<'a> {
    asker: &'a NotifyingAsker,
    answer: &'static str,
}

impl NotifyingAsker {
    fn inner_asker(&self) -> &dyn Asker {
        &*self.core.host.parts.asker
    }

    fn begin_ask_event(&self) -> AskEventGuard<'_> {
        self.core.notify_observer(AgentEventKind::Asked { id: self.id.clone() });
        AskEventGuard { asker: self, answer: "nobody" }
    }
}

impl Drop for AskEventGuard<'_> {
    fn drop(&mut self) {
        let id = self.asker.id.clone();
        self.asker.core.notify_observer(AgentEventKind::Answered { id, answer: self.answer });
    }
}

impl Asker for NotifyingAsker {
    fn ask(&self, ask: Ask) -> BoxFuture<'_, AskAnswer> {
        Box::pin(async move {
            let mut question = self.begin_ask_event();
            let answer = self.inner_asker().ask(ask).await;
            question.answer = match answer {
                AskAnswer::AllowOnce => "once",
                AskAnswer::AllowForSession => "always_session",
                AskAnswer::AllowForProject => "always_project",
                AskAnswer::Reject => "reject",
                AskAnswer::RejectForSession => "reject_session",
                _ => "nobody",
            };
            answer
        })
    }

    fn elicit(&self, inquiry: Elicitation) -> BoxFuture<'_, ElicitationReply> {
        Box::pin(async move {
            let mut question = self.begin_ask_event();
            let reply = self.inner_asker().elicit(inquiry).await;
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

    fn asks_one_at_a_time(&self) -> bool {
        self.inner_asker().asks_one_at_a_time()
    }
}

#[cfg(test)]
mod tests;
