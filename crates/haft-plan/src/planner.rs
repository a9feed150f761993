//! Makes a plan of a request through a model, and an answer of a trace. The model writes text, and that is all it does: its
//! plan is read and checked like any other, what is wrong with it goes back to it a bounded number of times, and nothing
//! is executed here. Tool descriptions and the request are data to this module, whatever they say.

mod excerpt;
mod extract;
pub mod limits;
mod offered;
mod prompt;
mod synthesis;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use haft_contract::ToolId;
use haft_model::{Answer, Message, Model, ModelError, Request, Retry, Stop, Usage};
use serde_json::Value;

use crate::problem::{Code, Problem};
use crate::{CheckedPlan, Input, Tools, check_text};
use extract::Found;
use limits::{
    CAPABILITY_CHARS_MAX, REPAIRS_DEFAULT, REPAIRS_MAX, REQUEST_BYTES_MAX, TOOLS_BYTES_MAX,
};
use offered::Offered;

pub use synthesis::{SynthesisError, synthesise};

/// What a plan is to be made of.
#[derive(Clone, Copy)]
pub struct Brief<'a> {
    /// What the user wants.
    pub request: &'a str,
    /// Knows the tools.
    pub tools: &'a dyn Tools,
    /// The tools that the plan may use; one that `tools` does not know is passed over.
    pub offered: &'a [ToolId],
    /// Examples of what tools answer, for those whose contracts promise no form.
    pub answers: &'a [(ToolId, Value)],
    /// What `{{INPUT...}}` will refer to.
    pub input: Input<'a>,
    /// How often the model may mend a plan that is not valid.
    pub repairs_max: u32,
    /// Is told what happens meanwhile. Must not block.
    pub observer: &'a (dyn Fn(&Step<'_>) + Sync),
}

/// What happens while a plan is made.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Step<'a> {
    /// The model is asked for a plan.
    Asking,
    /// Nothing came, and it is asked again after a pause.
    Retrying(&'a Retry),
    /// What it wrote is not valid, and goes back to it.
    Mending {
        /// What is wrong.
        problems: &'a [Problem],
        /// Which repair it is, from 1.
        repair: u32,
        /// How many there may be.
        repairs_max: u32,
    },
}

/// What came of a request.
#[derive(Debug)]
pub enum Planned {
    /// A valid plan.
    Plan(Box<MadePlan>),
    /// The tools cannot do it.
    Missing(Missing),
}

/// A plan that a model made.
///
/// It lists no tools under `allow`, whatever the model wrote: what is dangerous is the user's to allow.
#[derive(Debug)]
pub struct MadePlan {
    /// The plan, checked.
    pub checked: CheckedPlan,
    /// The plan as JSON to show and to save.
    pub text: String,
    /// How often it was mended.
    pub repairs: u32,
    /// What all requests to the model took.
    pub usage: Usage,
}

/// What the tools lack for a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The capability, in the model's words.
    pub capability: String,
    /// How often an answer was mended before.
    pub repairs: u32,
    /// What all requests to the model took.
    pub usage: Usage,
}

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlannerError {
    /// The model gave no answer.
    #[error("no plan was made: {error}")]
    Model {
        /// Why.
        #[source]
        error: ModelError,
        /// What the answers before took.
        usage: Usage,
    },
    /// The model wrote no valid plan.
    #[error("the model wrote no valid plan, and {repairs} repairs did not help: say the request more exactly, or take another model; first problem: {}", problems.first().map(ToString::to_string).unwrap_or_default())]
    GaveUp {
        /// What was wrong with the last one.
        problems: Vec<Problem>,
        /// The last answer.
        answer: String,
        /// How often it was to be mended.
        repairs: u32,
        /// What all requests to the model took.
        usage: Usage,
    },
    /// The request is empty.
    #[error("the request is empty: say what the plan is to do")]
    NoRequest,
    /// No tools are offered.
    #[error("no tools are offered, and a plan is made of calls of tools: offer some")]
    NoTools,
    /// The request is longer than a model is asked.
    #[error(
        "the request is {bytes} bytes long, and at most {REQUEST_BYTES_MAX} are sent: shorten it, and give data as a file or as --input"
    )]
    RequestTooLong {
        /// Its length.
        bytes: usize,
    },
    /// The tools are more than a model is told of.
    #[error(
        "the tools take {bytes} bytes to describe, and at most {TOOLS_BYTES_MAX} are sent: offer fewer tools"
    )]
    ToolsTooLong {
        /// What they take.
        bytes: usize,
    },
}

impl<'a> Brief<'a> {
    /// Returns a brief with the usual number of repairs, without an input, and observed by nobody.
    pub fn new(request: &'a str, tools: &'a dyn Tools, offered: &'a [ToolId]) -> Self {
        let (answers, input, repairs_max) = (&[], Input::Absent, REPAIRS_DEFAULT);
        Self { request, tools, offered, answers, input, repairs_max, observer: &nobody }
    }
}

fn nobody(_: &Step<'_>) {}

/// Makes a plan through `model`. Dropping the future ends the work.
pub async fn make_plan(model: &dyn Model, brief: Brief<'_>) -> Result<Planned, PlannerError> {
    let ids: BTreeSet<&ToolId> = brief.offered.iter().collect();
    let tools = Offered::new(brief.tools, &ids);
    let opening = opening(&brief, &tools)?;
    let repairs_max = brief.repairs_max.min(REPAIRS_MAX);
    let mut usage = Usage::default();
    let mut messages = vec![Message::User(opening.clone())];
    let mut repairs = 0;
    (brief.observer)(&Step::Asking);
    loop {
        let answer = ask(model, messages, brief.observer).await;
        let answer = answer.map_err(|error| PlannerError::Model { error, usage })?;
        usage = usage.plus(answer.usage);
        let problems = match judge(&answer, &tools, brief.input) {
            Ok(Verdict::Plan(checked)) => {
                return Ok(Planned::Plan(Box::new(made(checked, repairs, usage))));
            }
            Ok(Verdict::Missing(capability)) => {
                return Ok(Planned::Missing(Missing { capability, repairs, usage }));
            }
            Err(problems) => problems,
        };
        if repairs == repairs_max {
            let answer = answer.text;
            return Err(PlannerError::GaveUp { problems, answer, repairs, usage });
        }
        repairs += 1;
        (brief.observer)(&Step::Mending { problems: &problems, repair: repairs, repairs_max });
        // Only the last answer goes along: a model that sees all of its mistakes repeats them, and pays for each.
        messages = vec![
            Message::User(opening.clone()),
            Message::Assistant { text: prompt::repeated(&answer.text), tool_calls: Vec::new() },
            Message::User(prompt::repair(&problems)),
        ];
    }
}

fn opening(brief: &Brief<'_>, tools: &Offered<'_>) -> Result<String, PlannerError> {
    let request = brief.request.trim();
    if request.is_empty() {
        return Err(PlannerError::NoRequest);
    }
    if request.len() > REQUEST_BYTES_MAX {
        return Err(PlannerError::RequestTooLong { bytes: request.len() });
    }
    let listed = prompt::tools(tools, brief.answers);
    match listed.len() {
        0 => Err(PlannerError::NoTools),
        bytes if bytes > TOOLS_BYTES_MAX => Err(PlannerError::ToolsTooLong { bytes }),
        _ => Ok(prompt::opening(request, &listed, brief.input)),
    }
}

async fn ask(
    model: &dyn Model,
    messages: Vec<Message>,
    observer: &(dyn Fn(&Step<'_>) + Sync),
) -> Result<Answer, ModelError> {
    let system = Some(prompt::PLANNING.to_owned());
    let request = Request { system, messages, ..Request::default() };
    let tell = |retry: Retry| observer(&Step::Retrying(&retry));
    model.respond(request).await?.collect_telling(tell).await
}

enum Verdict {
    Plan(CheckedPlan),
    Missing(String),
}

fn judge(answer: &Answer, tools: &Offered<'_>, input: Input<'_>) -> Result<Verdict, Vec<Problem>> {
    if answer.stop == Stop::Length {
        let message = "the answer reached its greatest length and was cut: write a shorter plan";
        return Err(vec![of_answer(Code::TooLarge, message)]);
    }
    match extract::extract(&answer.text) {
        Found::Missing(capability) => {
            Ok(Verdict::Missing(capability.chars().take(CAPABILITY_CHARS_MAX).collect()))
        }
        Found::Text(text) => check_text(&text, tools, input).map(Verdict::Plan),
        Found::Unfinished => {
            let message =
                "the JSON object ends before all of its braces are closed: write it whole";
            Err(vec![of_answer(Code::BadJson, message)])
        }
        Found::Nothing => {
            let message =
                "there is no JSON object in the answer: answer with the plan as one JSON object";
            Err(vec![of_answer(Code::BadJson, message)])
        }
    }
}

fn of_answer(code: Code, message: &str) -> Problem {
    Problem { node: None, field: String::new(), code, message: message.to_owned() }
}

fn made(checked: CheckedPlan, repairs: u32, usage: Usage) -> MadePlan {
    let text = serde_json::to_string_pretty(checked.plan()).expect("a plan was read from JSON");
    MadePlan { checked, text, repairs, usage }
}
