//! Nodes that are repeated until a part of their output has a value: whether a further iteration follows, and what its agent
//! reads about the one before. An agent would otherwise get the same task again without knowing it.

use haft_contract::{ErrorCode, canonical_json, cut};
use serde_json::Value;

use super::outcome::NodeOutcome;
use crate::checked::{CheckedNode, CheckedRepetition};
use crate::limits::ITERATION_SHOWN_BYTES_MAX;
use crate::message_text::shortened;
use crate::schedule::NodeAttemptEnding;

impl NodeOutcome {
    /// Returns what the outcome means for a node that may be repeated: a success is the end only if the condition holds.
    /// `iterations` is the number of iterations that were begun.
    pub(super) fn checked_for_repetition(self, node: &CheckedNode, iterations: u32) -> Self {
        let Some(repeat) = node.repeat.as_ref() else { return self };
        let Some(output) = self.succeeded_output() else { return self };
        let CheckedRepetition { path, equals, max_iterations } = repeat;
        let found = path.follow(output);
        if found.as_ref().is_ok_and(|found| *found == equals) {
            return self;
        }
        if iterations < *max_iterations {
            return self.with_ending(NodeAttemptEnding::Repeats);
        }
        let found = match found {
            Ok(found) => shortened(&canonical_json(found)),
            Err(missing) => missing.found,
        };
        let (path, equals) = (path.to_string(), shortened(&canonical_json(equals)));
        let part = if path.is_empty() { "the output".to_owned() } else { format!("output{path}") };
        let text = format!(
            "node {} was repeated {max_iterations} times, and {part} never was {equals}; the last was {found}",
            node.id()
        );
        self.into_failure(NodeAttemptEnding::Refused, ErrorCode::ToolFailed, text)
    }
}

/// Returns whether a success in the last iteration of a repeated node leaves its condition false, so that the node failed.
pub(super) fn is_never_done(node: &CheckedNode, iteration: u32, output: &Value) -> bool {
    node.repeat.as_ref().is_some_and(|repeat| {
        let is_last = iteration.saturating_add(1) >= repeat.max_iterations;
        is_last && !repeat.path.follow(output).is_ok_and(|found| *found == repeat.equals)
    })
}

/// Adds to the prompt of an agent node which iteration it is and what the one before answered. A question to a person stays.
pub(super) fn add_iteration_note(
    inputs: &mut Value,
    iteration: u32,
    iterations_max: u32,
    answer: &Value,
) {
    let Some(Value::String(prompt)) = inputs.get_mut("prompt") else { return };
    let answer = match answer {
        Value::String(text) => text.clone(),
        answer => canonical_json(answer),
    };
    let number = iteration.saturating_add(1);
    prompt.push_str(&format!(
        "\n\nThis task is repeated until it is done. This is iteration {number} of at most {iterations_max}. The iteration before \
         answered:\n{}",
        cut(&answer, ITERATION_SHOWN_BYTES_MAX)
    ));
}
