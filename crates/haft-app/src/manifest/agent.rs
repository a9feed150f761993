//! The table `[agent]` of a manifest: the agent of new sessions, the size of its model's context, and the bounds of one
//! turn. The manifest does not define agents or their permissions.

use haft_agent::AgentBounds;
use haft_agent::limits::{CONTEXT_TOKENS_DEFAULT, STEPS_MAX_DEFAULT};
use serde::Deserialize;

use super::problem::{KeyProblem, out_of_bounds};

/// Smallest `agent.context_tokens`.
///
/// Limit (settings): the manifest is refused.
pub(crate) const CONTEXT_TOKENS_MIN: u64 = 8_000;
/// Largest `agent.context_tokens`.
///
/// Limit (settings): the manifest is refused.
pub(crate) const CONTEXT_TOKENS_MAX: u64 = 10_000_000;
/// Largest `agent.output_tokens`.
///
/// Limit (settings): the manifest is refused.
pub(crate) const OUTPUT_TOKENS_MAX: u32 = 1_000_000;
/// Largest `agent.max_steps`.
///
/// Limit (settings): the manifest is refused.
pub(crate) const TURN_STEPS_MAX: u32 = 10_000;

/// The values of the table. Every key is optional; a missing key has its default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AgentSection {
    /// The agent that is talked to.
    #[serde(rename = "default")]
    pub name: Option<String>,
    /// The tokens that the model can read.
    context_tokens: Option<u64>,
    /// The longest answer.
    output_tokens: Option<u32>,
    /// Answers of the model in one turn.
    max_steps: Option<u32>,
}

impl AgentSection {
    /// Returns the bounds of sessions.
    pub fn bounds(&self) -> AgentBounds {
        AgentBounds {
            context_tokens: self.context_tokens.unwrap_or(CONTEXT_TOKENS_DEFAULT),
            output_tokens: self.output_tokens,
            steps: self.max_steps.unwrap_or(STEPS_MAX_DEFAULT),
        }
    }

    /// Returns the keys whose values cannot be used, and what is wrong with them.
    pub(super) fn problems(&self) -> Vec<KeyProblem> {
        let context = CONTEXT_TOKENS_MIN..=CONTEXT_TOKENS_MAX;
        let (output, steps) = (self.output_tokens.map(u64::from), self.max_steps.map(u64::from));
        let is_empty = self.name.as_ref().is_some_and(|name| name.trim().is_empty());
        let problems = [
            out_of_bounds("context_tokens", self.context_tokens, context, "tokens"),
            out_of_bounds("output_tokens", output, 1..=OUTPUT_TOKENS_MAX.into(), "tokens"),
            out_of_bounds("max_steps", steps, 1..=TURN_STEPS_MAX.into(), "steps"),
            is_empty.then(|| {
                ("default", "default: expected the name of an agent, found none".to_owned())
            }),
        ];
        problems.into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(text: &str) -> AgentSection {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn numbers_are_good_up_to_their_bounds() {
        let check = |text: &str, expect: &[&str]| {
            let problems = section(text).problems();
            assert_eq!(problems.iter().map(|(key, _)| *key).collect::<Vec<_>>(), expect, "{text}");
        };
        check("", &[]);
        check("context_tokens = 8000\noutput_tokens = 1\nmax_steps = 1", &[]);
        check("context_tokens = 10000000\noutput_tokens = 1000000\nmax_steps = 10000", &[]);
        check("context_tokens = 7999", &["context_tokens"]);
        check("context_tokens = 10000001", &["context_tokens"]);
        check("output_tokens = 0\nmax_steps = 0", &["output_tokens", "max_steps"]);
        check("output_tokens = 1000001\nmax_steps = 10001", &["output_tokens", "max_steps"]);
        check("default = ' '", &["default"]);
    }
}
