//! The calls that one answer asks for, through the pipeline: those that are safe beside each other at the same time, and
//! those whose effect is not safe to repeat alone and in order, unless subagents do them. Whether a call may execute, and
//! whether it did before, is the pipeline's business.

use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use haft::{Answer, Ask, Asker, Call, Divergence, Inquiry, Reply, RunError};
use haft_contract::{BoxFuture, Effect, Envelope, ErrorCode, Kind, Metadata, cut};
use haft_journal::{ChatFirmness, ChatPart, ChatRecord, PartState};
use haft_model::Arguments;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::chat::ChatCore;
use crate::delegate::Delegate;
use crate::error::AgentError;
use crate::event::{Happened, ToolResultStatus};
use crate::ledger::Ledger;
use crate::limits::{CALLS_AT_ONCE_MAX, KEPT_RESULT_BYTES_MAX};
use crate::transcript::arguments;

/// A call that is to be made.
#[derive(Clone, Debug)]
struct Asked {
    /// Its place among the parts of the message.
    place: usize,
    id: String,
    tool: String,
    arguments: Arguments,
    effect: Effect,
    /// Whether subagents do it.
    delegates: bool,
    kind: Kind,
}

/// Which open calls are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// All, of an answer that has just come.
    New,
    /// All that a process left open which was killed.
    Left,
    /// Of these the ones that were begun; the others are not made any more.
    LeftBegun,
}

/// Makes the open calls of a message and takes down their answers. Once told to stop it begins no more: those of a new answer are
/// not made then, and those that were left stay open, because nobody knows what they came to before.
pub(crate) async fn make(
    ledger: &mut Ledger,
    message: usize,
    which: Which,
    stop: &CancellationToken,
) -> Result<(), AgentError> {
    let asked = asked(ledger, message);
    for call in &asked {
        ledger.core.tell(told(call));
    }
    // What was begun comes first: a call like it that was not begun would else be taken for it.
    let (begun, new) = match which {
        Which::New => (Vec::new(), asked),
        Which::Left | Which::LeftBegun => begun(&ledger.core, asked).await?,
    };
    let (new, dropped) = match which {
        Which::New | Which::Left => (new, Vec::new()),
        Which::LeftBegun => (Vec::new(), new),
    };
    give_up(ledger, message, dropped, SUPERSEDED).await?;
    for group in grouped(begun).into_iter().chain(grouped(new)) {
        if !stop.is_cancelled() {
            make_group(ledger, message, group, stop).await?;
        } else if which == Which::New {
            give_up(ledger, message, group, STOPPED).await?;
        }
    }
    Ok(())
}

/// Why a call was not made when the turn was stopped.
const STOPPED: &str = "the turn was stopped";
/// Why a call is not made any more that a process left which was killed.
const SUPERSEDED: &str = "haft ended before it was begun, and was asked for something else since";

fn asked(ledger: &Ledger, message: usize) -> Vec<Asked> {
    let registry = ledger.core.host.parts.runtime.registry();
    let Some(entry) = ledger.entries.get(message) else { return Vec::new() };
    let of_part = |(place, part): (usize, &ChatPart)| {
        if part.state != Some(PartState::InputAvailable) {
            return None;
        }
        let tool = part.tool.clone()?;
        let contract = registry.contract(&tool);
        Some(Asked {
            place,
            id: part.tool_call_id.clone()?,
            arguments: arguments(part.input_json.as_deref().unwrap_or_default()),
            // A tool that nobody knows does nothing.
            effect: contract.map_or(Effect::Read, |contract| contract.effect),
            delegates: contract.is_some_and(|contract| contract.delegates),
            kind: contract.map_or(Kind::Other, |contract| contract.kind),
            tool,
        })
    };
    entry.parts.iter().enumerate().filter_map(of_part).collect()
}

/// Divides calls into those that were begun and those that left no trace.
async fn begun(core: &ChatCore, asked: Vec<Asked>) -> Result<(Vec<Asked>, Vec<Asked>), AgentError> {
    let scope = haft_contract::Scope::of_run(core.run.id().clone());
    let (mut begun, mut left) = (Vec::new(), Vec::new());
    for call in asked {
        let row = core.host.parts.runtime.journal().by_driver_id(&scope, &call.id).await?;
        if row.is_some() { begun.push(call) } else { left.push(call) }
    }
    Ok((begun, left))
}

/// Divides calls into those that are made at the same time, in their order.
fn grouped(asked: Vec<Asked>) -> Vec<Vec<Asked>> {
    let mut groups: Vec<Vec<Asked>> = Vec::new();
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
fn are_made_together(one: &Asked, other: &Asked) -> bool {
    let is_quiet = |call: &Asked| call.delegates || call.effect == Effect::Read;
    if one.delegates || other.delegates {
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
async fn make_group(
    ledger: &mut Ledger,
    message: usize,
    group: Vec<Asked>,
    stop: &CancellationToken,
) -> Result<(), AgentError> {
    let core = Arc::clone(&ledger.core);
    let make = |call: Asked| {
        let (core, stop) = (Arc::clone(&core), stop.clone());
        async move { (call.place, make_one(&core, &call, &stop).await) }
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
            Ok(envelope) => take_down(ledger, message, place, envelope).await,
            Err(err) => Err(err.into()),
        };
        if let Err(err) = taken {
            failure.get_or_insert(err);
        }
    }
    failure.map_or(Ok(()), Err)
}

async fn make_one(
    core: &Arc<ChatCore>,
    asked: &Asked,
    stop: &CancellationToken,
) -> Result<Envelope, RunError> {
    let input = match &asked.arguments {
        Arguments::Object(input) => input.clone(),
        Arguments::Malformed { problem, .. } => return Ok(malformed(&asked.tool, problem)),
    };
    let asker = ToldAsker { core: Arc::clone(core), id: asked.id.clone() };
    let delegate = Delegate { parent: Arc::clone(core), tool_call_id: asked.id.clone() };
    let call = Call {
        driver_call_id: Some(asked.id.clone()),
        cancellation: stop.child_token(),
        above: core.above.get().cloned().unwrap_or_else(|| Arc::new(())),
        asker: Some(Arc::new(asker)),
        subagents: Arc::new(delegate),
        ..Call::new(&asked.tool, input)
    };
    match core.run.call(call).await {
        // The tool reads its input in another way than when the call was begun.
        Err(RunError::Diverged(divergence)) => Ok(diverged(&divergence)),
        called => called,
    }
}

/// Takes down the answer of a call.
async fn take_down(
    ledger: &mut Ledger,
    message: usize,
    place: usize,
    envelope: Envelope,
) -> Result<(), AgentError> {
    let now_ms = ledger.core.now_ms();
    let entry = ledger.entries.get_mut(message);
    let Some(part) = entry.and_then(|entry| entry.parts.get_mut(place)) else { return Ok(()) };
    answer(part, &envelope, now_ms);
    let record = ChatRecord::Part(part.clone());
    let told = result(part, envelope);
    ledger.record(vec![record], ChatFirmness::Ordered).await?;
    ledger.core.tell(told);
    Ok(())
}

/// Takes down that calls are not made.
async fn give_up(
    ledger: &mut Ledger,
    message: usize,
    calls: Vec<Asked>,
    why: &str,
) -> Result<(), AgentError> {
    for call in calls {
        take_down(ledger, message, call.place, unmade_envelope(why)).await?;
    }
    Ok(())
}

/// Gives a call its answer.
pub(crate) fn answer(part: &mut ChatPart, envelope: &Envelope, now_ms: u64) {
    part.state = Some(match envelope {
        Envelope::Output { .. } => PartState::OutputAvailable,
        Envelope::Error { .. } => PartState::OutputError,
    });
    part.output_json = Some(kept(envelope));
    part.call_id = envelope.metadata().call_id.clone();
    part.updated_at_ms = now_ms;
}

/// Returns an answer as a chat keeps it: one that is too long for a row without its end.
pub(crate) fn kept(envelope: &Envelope) -> String {
    let json = |envelope: &Envelope| {
        serde_json::to_string(envelope).expect("an envelope has text keys alone")
    };
    let whole = json(envelope);
    if whole.len() <= KEPT_RESULT_BYTES_MAX {
        return whole;
    }
    let text = format!(
        "{}\n[haft: the rest is too long to be kept here]",
        cut(&envelope.text(), KEPT_RESULT_CHARS)
    );
    let metadata = envelope.metadata().clone();
    json(&match envelope {
        Envelope::Output { .. } => Envelope::Output { data: text.into(), metadata },
        Envelope::Error { .. } => Envelope::Error { error_text: text, metadata },
    })
}

/// Characters that are kept of an answer which is too long; each may take six bytes as JSON.
const KEPT_RESULT_CHARS: usize = KEPT_RESULT_BYTES_MAX / 8;

/// Says of a part that its call is not made, and why; returns what is told of that.
pub(crate) fn unmade(part: &mut ChatPart, why: &str, now_ms: u64) -> Happened {
    let envelope = unmade_envelope(why);
    answer(part, &envelope, now_ms);
    result(part, envelope)
}

pub(crate) fn unmade_envelope(why: &str) -> Envelope {
    let metadata = Metadata { code: Some(ErrorCode::ProcessAborted), ..Metadata::default() };
    Envelope::Error { error_text: format!("this call was not made: {why}"), metadata }
}

fn malformed(tool: &str, problem: &str) -> Envelope {
    let metadata = Metadata { code: Some(ErrorCode::InvalidInput), ..Metadata::default() };
    let error_text =
        format!("{tool} was not called, because its arguments cannot be read: {problem}");
    Envelope::Error { error_text, metadata }
}

fn diverged(divergence: &Divergence) -> Envelope {
    let metadata = Metadata {
        code: Some(ErrorCode::InDoubt),
        call_id: Some(divergence.call.to_string()),
        ..Metadata::default()
    };
    let error_text = format!(
        "in doubt: this call was begun before and may or may not have happened, and it cannot be told which call it was: \
         {divergence}"
    );
    Envelope::Error { error_text, metadata }
}

fn told(call: &Asked) -> Happened {
    let input = match &call.arguments {
        Arguments::Object(input) => input.clone(),
        Arguments::Malformed { text, .. } => Value::from(text.as_str()),
    };
    Happened::ToolCall {
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

/// Parameters by which a call is told from others of its tool, the most telling first.
const TELLING: &[&str] =
    &["path", "cmd", "pattern", "url", "query", "subagent_type", "name", "question"];
/// The longest title of a call, in characters.
const CALL_TITLE_CHARS_MAX: usize = 120;

/// Returns a call in a few words, as events name it.
pub fn call_title(tool: &str, input: &Value) -> String {
    let telling = TELLING.iter().find_map(|name| input.get(name)?.as_str());
    let Some(telling) = telling else { return tool.to_owned() };
    let args = input.get("args").and_then(Value::as_array).into_iter().flatten();
    let words = std::iter::once(telling).chain(args.filter_map(Value::as_str));
    let words: String = words.collect::<Vec<_>>().join(" ");
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("{tool} {}", cut(&haft_contract::clean(&words), CALL_TITLE_CHARS_MAX))
}

fn result(part: &ChatPart, envelope: Envelope) -> Happened {
    let status = match &envelope {
        Envelope::Output { .. } => ToolResultStatus::OutputAvailable,
        Envelope::Error { .. } => ToolResultStatus::OutputError,
    };
    Happened::ToolResult {
        id: part.tool_call_id.clone().unwrap_or_default(),
        tool: part.tool.clone().unwrap_or_default(),
        status,
        duration_ms: envelope.metadata().duration_ms,
        envelope,
    }
}

/// Asks the person behind the front end, and tells whoever watches that it does.
struct ToldAsker {
    core: Arc<ChatCore>,
    id: String,
}

/// Tells that a question is over when it goes, however that comes about.
struct Question<'a> {
    asker: &'a ToldAsker,
    answer: &'static str,
}

impl ToldAsker {
    fn inner(&self) -> &dyn Asker {
        &*self.core.host.parts.asker
    }

    fn question(&self) -> Question<'_> {
        self.core.tell(Happened::Asked { id: self.id.clone() });
        Question { asker: self, answer: "nobody" }
    }
}

impl Drop for Question<'_> {
    fn drop(&mut self) {
        let id = self.asker.id.clone();
        self.asker.core.tell(Happened::Answered { id, answer: self.answer });
    }
}

impl Asker for ToldAsker {
    fn ask(&self, ask: Ask) -> BoxFuture<'_, Answer> {
        Box::pin(async move {
            let mut question = self.question();
            let answer = self.inner().ask(ask).await;
            question.answer = match answer {
                Answer::Once => "once",
                Answer::AlwaysSession => "always_session",
                Answer::AlwaysProject => "always_project",
                Answer::Reject => "reject",
                Answer::RejectSession => "reject_session",
                _ => "nobody",
            };
            answer
        })
    }

    fn inquire(&self, inquiry: Inquiry) -> BoxFuture<'_, Reply> {
        Box::pin(async move {
            let mut question = self.question();
            let reply = self.inner().inquire(inquiry).await;
            question.answer = match &reply {
                Reply::Answers(_) => "answers",
                Reply::Dismissed(_) => "dismissed",
                _ => "nobody",
            };
            reply
        })
    }

    fn can_ask(&self) -> bool {
        self.inner().can_ask()
    }

    fn asks_in_turn(&self) -> bool {
        self.inner().asks_in_turn()
    }
}

#[cfg(test)]
mod tests;
