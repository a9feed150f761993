//! The services of the host and the session beyond files, commands and the network: the person behind the front end,
//! skills, the index of tools, and counts that last as long as the session. `()` is a host that has none of them.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::limits::{
    QUESTION_CHARS_MAX, QUESTION_DESCRIPTION_CHARS_MAX, QUESTION_HEADER_CHARS_MAX,
    QUESTION_LABEL_CHARS_MAX, QUESTION_OPTIONS_MAX,
};
use crate::{BoxFuture, ErrorCode, ToolError, ToolId};

/// The answer of `question` if no person can be asked.
pub const HEADLESS_TEXT: &str = "No one is here to answer. Do not ask; go on with your best assumption and say which one you made.";

/// One question to the person behind the front end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
// To a model, the list of them says what they are.
#[schemars(description = "")]
pub struct UserQuestion {
    /// The text of the question.
    #[schemars(length(min = 1, max = QUESTION_CHARS_MAX))]
    pub question: String,
    /// A few words above it.
    #[schemars(length(min = 1, max = QUESTION_HEADER_CHARS_MAX))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// Answers to choose from.
    #[schemars(length(max = QUESTION_OPTIONS_MAX))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<QuestionOption>,
    /// Whether several options may be chosen.
    #[serde(default)]
    pub multi_select: bool,
}

/// One answer to choose from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
// To a model, the list of them says what they are.
#[schemars(description = "")]
pub struct QuestionOption {
    /// The answer.
    #[schemars(length(min = 1, max = QUESTION_LABEL_CHARS_MAX))]
    pub label: String,
    /// Its meaning.
    #[schemars(length(max = QUESTION_DESCRIPTION_CHARS_MAX))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// Puts questions to the person behind the front end.
pub trait Questions: Send + Sync {
    /// Asks, and returns the answers in the order of the questions: labels that were chosen, or the person's own words.
    /// The questions are withdrawn when the call is cancelled, and when the future is dropped.
    fn ask(
        &self,
        questions: Vec<UserQuestion>,
    ) -> BoxFuture<'_, Result<Vec<Vec<String>>, ToolError>>;
}

/// A skill as it is advertised.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SkillSummary {
    /// Its name.
    pub name: String,
    /// Its purpose, in a line or two.
    pub description: String,
}

/// A skill as it is loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedSkill {
    /// Its name.
    pub name: String,
    /// The text of its file below the front matter.
    pub body: String,
    /// Where it lies, with all links followed; nothing for a skill that is a part of the program.
    pub directory: Option<PathBuf>,
    /// The other files of it, relative to its directory, sorted; of very many, some.
    pub files: Vec<String>,
    /// Whether there are more files than that.
    pub has_more_files: bool,
}

/// The session's skills, found once.
pub trait Skills: Send + Sync {
    /// Returns the skills there are, sorted by name.
    fn index(&self) -> Vec<SkillSummary>;

    /// Returns a skill; loaded again in the same session, it is what it was the first time. May block.
    fn load(&self, name: &str) -> Result<LoadedSkill, ToolError>;
}

/// A tool that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ToolMatch {
    /// Its id.
    pub id: ToolId,
    /// Its full description.
    pub description: String,
}

/// The tools that are found instead of listed.
pub trait ToolIndex: Send + Sync {
    /// Returns the tools that fit the query best, best first, and makes them callable for the rest of the session.
    fn find(&self, query: &str, matches_max: usize) -> Vec<ToolMatch>;
}

/// Counts that last as long as the session.
pub trait Quotas: Send + Sync {
    /// Counts one more of what is called `name`, unless there have been `per_session_max` already; returns whether it was counted.
    fn take(&self, name: &str, per_session_max: u32) -> bool;
}

impl Questions for () {
    fn ask(&self, _: Vec<UserQuestion>) -> BoxFuture<'_, Result<Vec<Vec<String>>, ToolError>> {
        Box::pin(async { Err(ToolError::new(ErrorCode::Headless, HEADLESS_TEXT)) })
    }
}

impl Skills for () {
    fn index(&self) -> Vec<SkillSummary> {
        Vec::new()
    }

    fn load(&self, name: &str) -> Result<LoadedSkill, ToolError> {
        let message = format!("no skill is called {name:?}: there are none here");
        Err(ToolError::new(ErrorCode::InvalidInput, message))
    }
}

impl ToolIndex for () {
    fn find(&self, _: &str, _: usize) -> Vec<ToolMatch> {
        Vec::new()
    }
}

/// A session that counts nothing grants nothing that is bounded by the session.
impl Quotas for () {
    fn take(&self, _: &str, _: u32) -> bool {
        false
    }
}
