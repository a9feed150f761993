//! Questions to a person through the front end: about a call, and from a tool. Other modules decide when to ask and
//! what an answer changes. The front end decides how a question looks. Which answers fit which ask is decided here.

use std::path::{Path, PathBuf};

use haft_contract::{BoxFuture, ToolId, UserQuestion};
use haft_journal::{AskRow, AskVerdict};
use haft_policy::{Rule, RuleAction};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Largest part of an input that a question shows, in bytes.
pub(crate) const ASK_INPUT_BYTES_MAX: usize = 4_096;
/// Largest number of accesses, and of reasons of rules, that a question shows.
pub(crate) const ASK_LINES_MAX: usize = 20;

/// The question that a person gets about one call. All reasons to ask are in one question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// Names the ask in the journal.
    pub id: String,
    /// The call, as its row in the journal names it.
    pub call_id: String,
    /// The driver's id of the call, if it has one.
    pub driver_call_id: Option<String>,
    /// The tool.
    pub tool: ToolId,
    /// The input as the journal holds it (JSON; bodies as size and SHA-256), cut at 4,096 bytes.
    pub input: String,
    /// The accesses of the call, one line each.
    pub accesses: Vec<String>,
    /// The reasons to ask, one line each.
    pub reasons: Vec<String>,
    /// The rules that «always» would add. If this is empty, the front end offers only «once» and «reject»: no added rule would
    /// allow the call.
    pub always_rules: Vec<Rule>,
    /// The narrower rules that «always, exactly this» would add. Empty if they are no narrower than `always_rules`.
    pub exact_rules: Vec<Rule>,
    /// The session.
    pub connection: String,
    /// The workspace root.
    pub root: PathBuf,
}

/// The subject of an ask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskKind {
    /// Whether one call may execute.
    #[default]
    Call,
    /// Whether a plan may call a dangerous tool. The answer holds for all calls of the tool in the run.
    Tool,
    /// Questions of a tool or of a plan. The answers are text and allow nothing.
    Question,
}

impl AskKind {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
    fn is_call(&self) -> bool {
        *self == Self::Call
    }
}

/// Says why an answer does not fit the subject of an ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AskMismatch {
    /// The ask is a question, and the answer is about a permission.
    #[error("the ask is a question: expected answers or a rejection, found a permission")]
    IsQuestion,
    /// The ask is about a permission, and the answer has answers to questions.
    #[error(
        "the ask is about a permission: expected an allow or a rejection, found answers to questions"
    )]
    IsPermission,
    /// The ask is about all calls of a tool, and the answer changes the input of one.
    #[error("the ask is about all calls of a tool, so the input cannot be edited")]
    IsAboutTool,
    /// The number of answers is not the number of questions.
    #[error("expected an answer for each of the questions ({expected}), found {found}")]
    AnswerCount {
        /// The number of questions.
        expected: usize,
        /// The number of answers.
        found: usize,
    },
    /// No question has an answer.
    #[error("expected an answer to at least one question, found only empty ones")]
    NoAnswers,
}

/// All that an ask shows, as the journal keeps it. The summary of the ask has the same fields, with the input as the journal
/// records it: bodies as size and SHA-256.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownAsk {
    /// Names the ask.
    pub ask: String,
    /// The subject of the ask.
    #[serde(default, skip_serializing_if = "AskKind::is_call")]
    pub kind: AskKind,
    /// The questions, if the ask is one of [`AskKind::Question`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<UserQuestion>,
    /// The tool.
    pub tool: String,
    /// The whole input.
    pub input: Value,
    /// The accesses of the call, one line each.
    pub accesses: Vec<String>,
    /// The reasons to ask, one line each.
    pub reasons: Vec<String>,
    /// The rules that «always» adds, one line each.
    pub always_rules: Vec<String>,
    /// The narrower rules that «always, exactly this» adds. Empty if they are the same.
    pub exact_rules: Vec<String>,
    /// The connection that makes the call.
    pub connection: String,
    /// The workspace root.
    pub root: String,
    /// The driver's id of the call, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver_call_id: Option<String>,
}

impl ShownAsk {
    /// Returns what the journal shows of an ask with this input.
    pub(crate) fn new(ask: &Ask, input: Value) -> Self {
        let lines = |rules: &[Rule]| rules.iter().map(ToString::to_string).collect();
        Self {
            ask: ask.id.clone(),
            kind: AskKind::Call,
            questions: Vec::new(),
            tool: ask.tool.to_string(),
            input,
            accesses: ask.accesses.clone(),
            reasons: ask.reasons.clone(),
            always_rules: lines(&ask.always_rules),
            exact_rules: lines(&ask.exact_rules),
            connection: ask.connection.clone(),
            root: ask.root.to_string_lossy().into_owned(),
            driver_call_id: ask.driver_call_id.clone(),
        }
    }

    /// Returns what the journal shows of the questions of a tool.
    pub(crate) fn of_questions(id: String, asked: &Elicitation, root: &Path) -> Self {
        Self {
            ask: id,
            kind: AskKind::Question,
            questions: asked.questions.clone(),
            tool: asked.tool.to_string(),
            input: Value::Object(serde_json::Map::new()),
            accesses: Vec::new(),
            reasons: Vec::new(),
            always_rules: Vec::new(),
            exact_rules: Vec::new(),
            connection: asked.connection.clone(),
            root: root.to_string_lossy().into_owned(),
            driver_call_id: asked.driver_call_id.clone(),
        }
    }

    /// Checks that an answer fits the subject of the ask. `content` is the JSON that comes with the answer: the edited input of
    /// a call, or the answers to questions.
    ///
    /// # Errors
    ///
    /// Says what was expected.
    pub fn check_answer(
        &self,
        verdict: AskVerdict,
        content: Option<&str>,
    ) -> Result<(), AskMismatch> {
        match (self.kind, verdict, content) {
            (_, AskVerdict::Reject, None) => Ok(()),
            (AskKind::Question, AskVerdict::Once, Some(answers)) => {
                let answers = parse_answers(answers).ok_or(AskMismatch::IsQuestion)?;
                let (expected, found) = (self.questions.len(), answers.len());
                if expected != found {
                    return Err(AskMismatch::AnswerCount { expected, found });
                }
                let is_blank = |answer: &String| answer.trim().is_empty();
                match answers.iter().flatten().all(is_blank) {
                    true => Err(AskMismatch::NoAnswers),
                    false => Ok(()),
                }
            }
            (AskKind::Question, _, _) => Err(AskMismatch::IsQuestion),
            (AskKind::Tool, AskVerdict::Edited, _) => Err(AskMismatch::IsAboutTool),
            (AskKind::Call, AskVerdict::Edited, _) | (AskKind::Call | AskKind::Tool, _, None) => {
                Ok(())
            }
            (AskKind::Call | AskKind::Tool, _, Some(_)) => Err(AskMismatch::IsPermission),
        }
    }

    /// Reads what the journal has of an ask, `None` if it is not readable.
    pub fn parse(json: &str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }

    /// Returns the rules that an answer adds: the exact ones, or else the offered ones.
    pub fn rules(&self, exact: bool) -> &[String] {
        if exact && !self.exact_rules.is_empty() { &self.exact_rules } else { &self.always_rules }
    }

    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).expect("strings and JSON always serialize")
    }
}

/// Reads the answers to questions from the JSON that comes with the answer of an ask: a list of texts for each question.
pub fn parse_answers(json: &str) -> Option<Vec<Vec<String>>> {
    serde_json::from_str(json).ok()
}

impl Ask {
    /// Returns the rules of a rejection for the session: they deny what the narrowest offered rules would allow.
    pub fn denied_rules(&self) -> Vec<Rule> {
        denying(if self.exact_rules.is_empty() { &self.always_rules } else { &self.exact_rules })
    }
}

/// Returns the same rules with the action deny.
fn denying(rules: &[Rule]) -> Vec<Rule> {
    let deny = |rule: &Rule| Rule::new(&rule.permission, &rule.pattern, RuleAction::Deny);
    rules.iter().map(deny).collect()
}

/// The answer of a person.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AskAnswer {
    /// Allow this call only.
    AllowOnce,
    /// Allow the call, and add the offered rules to this session. Without offered rules, this means
    /// [`AskAnswer::AllowOnce`].
    AllowForSession,
    /// Allow the call, and add the offered rules to this project. Without offered rules, this means
    /// [`AskAnswer::AllowOnce`].
    AllowForProject,
    /// Allow the call, and add the exact rules to this session. Without exact rules, this means
    /// [`AskAnswer::AllowForSession`].
    AllowExactForSession,
    /// Allow the call, and add the exact rules to this project. Without exact rules, this means
    /// [`AskAnswer::AllowForProject`].
    AllowExactForProject,
    /// Refuse this call only.
    Reject,
    /// Refuse this call only, with words for the model.
    RejectWithWords(String),
    /// Refuse the call, and add rules to this session that deny what [`Ask::denied_rules`] says. Without offered rules, this
    /// means [`AskAnswer::Reject`].
    RejectForSession,
    /// No person can answer here.
    Unanswered,
}

impl AskAnswer {
    /// Returns the answer as the journal records it, with words for the model; `None` if no person answered.
    pub(crate) fn into_verdict(self) -> Option<(AskVerdict, Option<String>)> {
        let verdict = match self {
            Self::AllowOnce => AskVerdict::Once,
            Self::AllowForSession => AskVerdict::Session,
            Self::AllowForProject => AskVerdict::Always,
            Self::AllowExactForSession => AskVerdict::SessionExact,
            Self::AllowExactForProject => AskVerdict::AlwaysExact,
            Self::Reject => AskVerdict::Reject,
            Self::RejectWithWords(words) => return Some((AskVerdict::Reject, Some(words))),
            Self::RejectForSession => AskVerdict::RejectSession,
            Self::Unanswered => return None,
        };
        Some((verdict, None))
    }
}

/// A question from a tool to a person. Unlike the answer to an [`Ask`], the answer permits nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elicitation {
    /// The call that waits for the answers.
    pub call_id: String,
    /// The driver's id of the call, if it has one.
    pub driver_call_id: Option<String>,
    /// The tool.
    pub tool: ToolId,
    /// The questions, at least one.
    pub questions: Vec<UserQuestion>,
    /// The session.
    pub connection: String,
}

/// The reply of a person to an [`Elicitation`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ElicitationReply {
    /// Answers in the order of the questions: chosen labels, then the person's own words. An empty answer means that
    /// the person skipped the question.
    Answers(Vec<Vec<String>>),
    /// A person could answer and does not. Holds the reason if the front end, not the person, ended the question.
    Dismissed(Option<String>),
    /// No person can answer here.
    Unanswered,
}

/// Asks a person. haft never invents an answer: a front end that cannot ask says [`AskAnswer::Unanswered`], which denies.
pub trait Asker: Send + Sync {
    /// Asks and waits for the answer. Dropping the future withdraws the question.
    fn ask(&self, ask: Ask) -> BoxFuture<'_, AskAnswer>;

    /// Puts the questions of a tool and waits for the answers. Dropping the future withdraws them.
    fn elicit(&self, inquiry: Elicitation) -> BoxFuture<'_, ElicitationReply> {
        drop(inquiry);
        Box::pin(async { ElicitationReply::Unanswered })
    }

    /// Returns whether a person can be asked. If not, every answer is [`AskAnswer::Unanswered`] or
    /// [`ElicitationReply::Unanswered`].
    fn can_ask(&self) -> bool {
        true
    }

    /// Returns whether the call waits for an answer of another front end if this one cannot ask.
    fn waits_for_others(&self) -> bool {
        false
    }

    /// Returns whether an ask can be answered at all: here, or by another front end.
    fn is_answerable(&self) -> bool {
        self.can_ask() || self.waits_for_others()
    }

    /// Learns of an ask that is recorded and that only other front ends can answer.
    fn note_waiting(&self, ask: &AskRow) {
        let _ = ask;
    }

    /// Returns whether an ask expires while this front end shows it. A front end returns false if a person sits before it.
    fn has_deadline(&self) -> bool {
        true
    }

    /// Learns that the ask with this id ended elsewhere, and how, in words for a person. The future of the ask is dropped next.
    fn note_end(&self, ask: &str, how: &str) {
        let _ = (ask, how);
    }

    /// Returns whether a session's questions come one after the other, so that an «always» can answer waiting ones. A
    /// front end returns false if a later request brings the answer, because that request may wait for the second
    /// question.
    fn asks_one_at_a_time(&self) -> bool {
        true
    }
}

/// A front end without a person behind it, whose calls wait for a person at another front end of the same journal.
#[derive(Clone, Copy, Debug, Default)]
pub struct WaitingAsker;

impl Asker for WaitingAsker {
    fn ask(&self, _: Ask) -> BoxFuture<'_, AskAnswer> {
        Box::pin(async { AskAnswer::Unanswered })
    }

    fn can_ask(&self) -> bool {
        false
    }

    fn waits_for_others(&self) -> bool {
        true
    }

    fn asks_one_at_a_time(&self) -> bool {
        false
    }
}

/// A front end without a person behind it.
#[derive(Clone, Copy, Debug, Default)]
pub struct HeadlessAsker;

impl Asker for HeadlessAsker {
    fn ask(&self, _: Ask) -> BoxFuture<'_, AskAnswer> {
        Box::pin(async { AskAnswer::Unanswered })
    }

    fn can_ask(&self) -> bool {
        false
    }
}
