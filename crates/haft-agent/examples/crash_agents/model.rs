//! A model that does what its prompt says and knows from the conversation alone how far it is, so that it does not matter
//! which process asks it. Of a call that is in doubt it looks what became of it before it goes on.

use std::collections::{BTreeMap, HashMap};
use std::ops::RangeInclusive;
use std::sync::Arc;

use haft_agent::ModelLookup;
use haft_contract::BoxFuture;
use haft_model::{
    Model, ModelAnswerEnd, ModelAnswerStream, ModelError, ModelEvent, ModelMessage, ModelRequest,
    ModelStopReason, ModelUsage, ToolCall, ToolCallArguments,
};
use serde_json::{Value, json};

use crate::script::{ASIDE, DELEGATED, OWN, missing, ordered, prompt, wanted};

/// Numbers that are ordered by one answer.
const ORDERS_AT_ONCE: usize = 2;
/// After so many numbers a subagent is given its task.
const BEFORE_TASK: usize = 4;
/// The usage of each answer.
pub(crate) const USAGE: ModelUsage =
    ModelUsage { input: 100, output: 10, reasoning: 1, cache_read: 1_000, cache_write: 5 };

/// The state of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    Ordered,
    InDoubt,
}

/// The model.
pub(crate) struct Careful;

impl ModelLookup for Careful {
    fn model(&self, _: Option<&str>) -> Result<(String, Arc<dyn Model>), ModelError> {
        Ok(("openai/careful".to_owned(), Arc::new(Self)))
    }
}

impl Model for Careful {
    fn respond(
        &self,
        request: ModelRequest,
    ) -> BoxFuture<'_, Result<ModelAnswerStream, ModelError>> {
        let calls = next(&request);
        Box::pin(async move { Ok(answer(&request, calls?)) })
    }

    fn takes_images(&self) -> bool {
        false
    }
}

fn answer(request: &ModelRequest, calls: Vec<(&'static str, Value)>) -> ModelAnswerStream {
    let stop = if calls.is_empty() { ModelStopReason::Done } else { ModelStopReason::ToolCalls };
    let text = if calls.is_empty() { "Everything is ordered." } else { "I go on." };
    let place = request.messages.len();
    let call = move |(number, (name, input)): (usize, (&str, Value))| {
        ModelEvent::ToolCall(ToolCall {
            id: format!("c{place}_{number}"),
            name: name.to_owned(),
            arguments: ToolCallArguments::Object(input),
            signatures: Vec::new(),
        })
    };
    let calls = calls.into_iter().enumerate().map(call);
    let end = ModelEvent::End(ModelAnswerEnd { stop, usage: USAGE });
    let events = std::iter::once(ModelEvent::Text(text.to_owned())).chain(calls).chain([end]);
    ModelAnswerStream::from_events(events.map(Ok))
}

/// Returns the calls that are to be made next.
fn next(request: &ModelRequest) -> Result<Vec<(&'static str, Value)>, ModelError> {
    let done = Done::of(request);
    let lost = || ModelError::Settings("the prompt is not there".to_owned());
    let numbers = done.wanted.clone().ok_or_else(lost)?;
    let doubts = done.numbers.iter().filter(|(_, known)| **known == Known::InDoubt);
    let looks: Vec<_> = doubts.map(|(number, _)| ("look", json!({ "number": number }))).collect();
    if !looks.is_empty() {
        return Ok(looks);
    }
    let is_own = numbers == OWN;
    if is_own && !done.has_had(&ASIDE) {
        return Ok(vec![task(&ASIDE, true)]);
    }
    let left: Vec<u64> =
        numbers.clone().filter(|number| !done.numbers.contains_key(number)).collect();
    let ordered = numbers.count() - left.len();
    if is_own && ordered >= BEFORE_TASK && !done.has_had(&DELEGATED) {
        return Ok(vec![task(&DELEGATED, false)]);
    }
    let orders = left.into_iter().take(ORDERS_AT_ONCE);
    Ok(orders.map(|number| ("order", done.order(number))).collect())
}

fn task(numbers: &RangeInclusive<u64>, background: bool) -> (&'static str, Value) {
    let prompt = prompt(numbers);
    let input = json!({"subagent_type": "general", "prompt": prompt, "background": background});
    ("task", input)
}

/// The state of the work, according to a conversation.
#[derive(Default)]
struct Done {
    wanted: Option<RangeInclusive<u64>>,
    numbers: BTreeMap<u64, Known>,
    /// How often a number was found missing.
    missed: BTreeMap<u64, u64>,
    tasks: Vec<String>,
}

impl Done {
    fn of(request: &ModelRequest) -> Self {
        let mut done = Self::default();
        let mut asked: HashMap<&str, &ToolCall> = HashMap::new();
        for message in &request.messages {
            match message {
                ModelMessage::User(message) => {
                    done.wanted = done.wanted.take().or_else(|| wanted(&message.text))
                }
                ModelMessage::Assistant { tool_calls, .. } => {
                    asked.extend(tool_calls.iter().map(|call| (call.id.as_str(), call)));
                }
                ModelMessage::ToolResult { call_id, text, .. } => {
                    if let Some(ToolCall { arguments: ToolCallArguments::Object(input), .. }) =
                        asked.get(call_id.as_str())
                    {
                        done.take(input, text);
                    }
                }
            }
        }
        done
    }

    fn take(&mut self, input: &Value, text: &str) {
        let is_unmade = text.contains("was not made");
        if let Some(prompt) = input["prompt"].as_str().filter(|_| !is_unmade) {
            self.tasks.push(prompt.to_owned());
        }
        let Some(number) = input["number"].as_u64() else { return };
        if text.contains(&ordered(number)) {
            self.numbers.insert(number, Known::Ordered);
        } else if text.contains(&missing(number)) {
            self.numbers.remove(&number);
            *self.missed.entry(number).or_default() += 1;
        } else if !is_unmade {
            self.numbers.insert(number, Known::InDoubt);
        }
    }

    fn order(&self, number: u64) -> Value {
        match self.missed.get(&number) {
            Some(tries) => json!({"number": number, "tries": tries}),
            None => json!({ "number": number }),
        }
    }

    fn has_had(&self, numbers: &RangeInclusive<u64>) -> bool {
        self.tasks.contains(&prompt(numbers))
    }
}
