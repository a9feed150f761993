//! Makes a plan of a request through a model, and an answer of a trace. The model writes text, and that is all it does: its
//! plan is read and checked like any other, what is wrong with it goes back to it a bounded number of times, and nothing
//! is executed here. Tool descriptions and the request are data to this module, whatever they say.

mod excerpt;
mod extract;
pub mod limits;
mod offered_tools;
mod prompt;
mod synthesis;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use haft_contract::ToolId;
use haft_model::{
    Model, ModelAnswer, ModelError, ModelMessage, ModelRequest, ModelRetry, ModelStopReason,
    ModelUsage,
};

use crate::problem::{Code, PlanProblem};
use crate::{CheckedPlan, PlanInput, PlanToolLookup, check_text};
use extract::ExtractedPlanText;
use limits::{
    CAPABILITY_CHARS_MAX, REPAIRS_DEFAULT, REPAIRS_MAX, REQUEST_BYTES_MAX, TOOLS_BYTES_MAX,
};
use offered_tools::OfferedPlanTools;

pub use synthesis::{SynthesisError, synthesise};

/// A request for a plan.
#[derive(Clone, Copy)]
pub struct PlannerRequest<'a> {
    /// The request of the user.
    pub request: &'a str,
    /// Knows the tools.
    pub tools: &'a dyn PlanToolLookup,
    /// The tools that the plan may use; one that `tools` does not know is passed over.
    pub offered: &'a [ToolId],
    /// The input of the plan, to which `{{INPUT...}}` will refer.
    pub input: PlanInput<'a>,
    /// How often the model may mend a plan that is not valid.
    pub repairs_max: u32,
    /// Is told what happens meanwhile. Must not block.
    pub observer: &'a (dyn Fn(&PlanningStep<'_>) + Sync),
}

/// A step of making a plan.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum PlanningStep<'a> {
    /// The model is asked for a plan.
    Asking,
    /// Nothing came, and it is asked again after a pause.
    Retrying(&'a ModelRetry),
    /// The answer is not valid, and goes back to the model.
    Repairing {
        /// The problems of the answer.
        problems: &'a [PlanProblem],
        /// Which repair it is, from 1.
        repair: u32,
        /// How many there may be.
        repairs_max: u32,
    },
}

/// The result of a request.
#[derive(Debug)]
pub enum PlanningResult {
    /// A valid plan.
    Plan(Box<GeneratedPlan>),
    /// The tools cannot do it.
    Missing(MissingToolCapability),
}

/// A plan that a model made.
///
/// It lists no tools under `allow`, whatever the model wrote: only the user allows dangerous tools.
#[derive(Debug)]
pub struct GeneratedPlan {
    /// The plan, checked.
    pub checked: CheckedPlan,
    /// The plan as JSON to show and to save.
    pub text: String,
    /// How often it was mended.
    pub repairs: u32,
    /// The usage of all requests to the model.
    pub usage: ModelUsage,
}

/// The capability that the tools lack for a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingToolCapability {
    /// The capability, in the model's words.
    pub capability: String,
    /// How often an answer was mended before.
    pub repairs: u32,
    /// The usage of all requests to the model.
    pub usage: ModelUsage,
}

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanningError {
    /// The model gave no answer.
    #[error("no plan was made: {error}")]
    Model {
        /// Why.
        #[source]
        error: ModelError,
        /// The usage of the answers before.
        usage: ModelUsage,
    },
    /// The model wrote no valid plan.
    #[error("the model wrote no valid plan, and {repairs} repairs did not help: say the request more exactly, or take another model; first problem: {}", problems.first().map(ToString::to_string).unwrap_or_default())]
    GaveUp {
        /// The problems of the last one.
        problems: Vec<PlanProblem>,
        /// The last answer.
        answer: String,
        /// How often it was to be mended.
        repairs: u32,
        /// The usage of all requests to the model.
        usage: ModelUsage,
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
        /// The length of their descriptions.
        bytes: usize,
    },
}

impl<'a> PlannerRequest<'a> {
    /// Returns a brief with the usual number of repairs, without an input and without an observer.
    pub fn new(request: &'a str, tools: &'a dyn PlanToolLookup, offered: &'a [ToolId]) -> Self {
        let (input, repairs_max) = (PlanInput::Absent, REPAIRS_DEFAULT);
        Self { request, tools, offered, input, repairs_max, observer: &|_| {} }
    }
}

/// Makes a plan through `model`. Dropping the future ends the work.
pub async fn make_plan(
    model: &dyn Model,
    brief: PlannerRequest<'_>,
) -> Result<PlanningResult, PlanningError> {
    let ids: BTreeSet<&ToolId> = brief.offered.iter().collect();
    let tools = OfferedPlanTools::new(brief.tools, &ids);
    let request = brief.request.trim();
    if request.is_empty() {
        return Err(PlanningError::NoRequest);
    }
    if request.len() > REQUEST_BYTES_MAX {
        return Err(PlanningError::RequestTooLong { bytes: request.len() });
    }
    let (listed, agents) = (prompt::tools(&tools), prompt::agents(&tools));
    let opening = match listed.len() + agents.len() {
        0 => return Err(PlanningError::NoTools),
        bytes if bytes > TOOLS_BYTES_MAX => return Err(PlanningError::ToolsTooLong { bytes }),
        _ => prompt::opening(request, &listed, &agents, brief.input),
    };
    let repairs_max = brief.repairs_max.min(REPAIRS_MAX);
    let mut usage = ModelUsage::default();
    let mut messages = vec![ModelMessage::User(opening.clone().into())];
    let mut repairs = 0;
    (brief.observer)(&PlanningStep::Asking);
    loop {
        let system = Some(prompt::PLANNING.to_owned());
        let request = ModelRequest { system, messages, ..ModelRequest::default() };
        let tell = |retry: ModelRetry| (brief.observer)(&PlanningStep::Retrying(&retry));
        let answer = match model.respond(request).await {
            Ok(stream) => stream.collect_with_retries(tell).await,
            Err(error) => Err(error),
        };
        let answer = answer.map_err(|error| PlanningError::Model { error, usage })?;
        usage = usage.plus(answer.usage);
        let problems = match check_answer(&answer, &tools, brief.input) {
            Ok(PlanningAnswer::Plan(checked)) => {
                let text = serde_json::to_string_pretty(checked.plan())
                    .expect("a plan was read from JSON");
                let plan = GeneratedPlan { checked, text, repairs, usage };
                return Ok(PlanningResult::Plan(Box::new(plan)));
            }
            Ok(PlanningAnswer::Missing(capability)) => {
                return Ok(PlanningResult::Missing(MissingToolCapability {
                    capability,
                    repairs,
                    usage,
                }));
            }
            Err(problems) => problems,
        };
        if repairs == repairs_max {
            let answer = answer.text;
            return Err(PlanningError::GaveUp { problems, answer, repairs, usage });
        }
        repairs += 1;
        (brief.observer)(&PlanningStep::Repairing {
            problems: &problems,
            repair: repairs,
            repairs_max,
        });
        // Only the last answer goes along: a model that sees all of its mistakes repeats them, and pays for each.
        messages = vec![
            ModelMessage::User(opening.clone().into()),
            ModelMessage::Assistant {
                text: prompt::repeated(&answer.text),
                tool_calls: Vec::new(),
            },
            ModelMessage::User(prompt::repair(&problems).into()),
        ];
    }
}

enum PlanningAnswer {
    Plan(CheckedPlan),
    Missing(String),
}

fn check_answer(
    answer: &ModelAnswer,
    tools: &OfferedPlanTools<'_>,
    input: PlanInput<'_>,
) -> Result<PlanningAnswer, Vec<PlanProblem>> {
    if answer.stop == ModelStopReason::Length {
        let message = "the answer reached its greatest length and was cut: write a shorter plan";
        return Err(vec![answer_problem(Code::TooLarge, message)]);
    }
    match extract::extract_plan(&answer.text) {
        ExtractedPlanText::Missing(capability) => {
            Ok(PlanningAnswer::Missing(capability.chars().take(CAPABILITY_CHARS_MAX).collect()))
        }
        ExtractedPlanText::Text(text) => check_text(&text, tools, input).map(PlanningAnswer::Plan),
        ExtractedPlanText::Unfinished => {
            let message =
                "the JSON object ends before all of its braces are closed: write it whole";
            Err(vec![answer_problem(Code::BadJson, message)])
        }
        ExtractedPlanText::Nothing => {
            let message =
                "there is no JSON object in the answer: answer with the plan as one JSON object";
            Err(vec![answer_problem(Code::BadJson, message)])
        }
    }
}

fn answer_problem(code: Code, message: &str) -> PlanProblem {
    PlanProblem { node: None, field: String::new(), code, message: message.to_owned() }
}
