//! Passes questions of tools to a person, and requests to the program that made the call. This module decides how many
//! questions a person gets at once, and which replies are valid. The front end only shows questions and returns
//! replies. The time of the call pauses meanwhile.

use std::sync::Arc;
use std::time::Duration;

use haft_contract::limits::QUESTION_ANSWER_CHARS_MAX;
use haft_contract::{
    BoxFuture, ClientRequest, ClientRequestMethod, ClientRequester, ErrorCode, HEADLESS_TEXT,
    QuestionOption, Questions, ToolError, ToolId, UserQuestion,
};
use haft_journal::AskVerdict;
use serde_json::Value;

use crate::ask::{Asker, Elicitation, ElicitationReply, ShownAsk, parse_answers};
use crate::connection_state::ConnectionState;
use crate::limits::INQUIRY_MS_MAX;
use crate::recorded_ask::{
    AskContent, AskOutcome, AskingCall, OwnQuestion, OwnReply, ReceivedVerdict,
};
use crate::stopwatch::CallStopwatch;
use crate::wait_log::{CallWaitKind, CallWaitLog};

/// Longest questions that the row of an ask repeats, in bytes. Longer ones are only in what the ask shows.
const SUMMARY_BYTES_MAX: usize = 65_536;

/// The person behind the front end, as one call reaches them.
pub(crate) struct CallQuestions {
    /// Asks the person, and records that in the journal.
    pub(crate) asking: AskingCall,
    /// The connection of the call, whose questions come one after the other.
    pub(crate) connection: Arc<ConnectionState>,
    /// The driver's id of the call, if it has one.
    pub(crate) driver_call_id: Option<String>,
    /// The tool that asks.
    pub(crate) tool: ToolId,
    /// The time of the call, of which asking takes none.
    pub(crate) time: Arc<CallStopwatch>,
    /// Measures how long the call waits for the person.
    pub(crate) waits: Arc<CallWaitLog>,
}

impl Questions for CallQuestions {
    fn ask(
        &self,
        questions: Vec<UserQuestion>,
    ) -> BoxFuture<'_, Result<Vec<Vec<String>>, ToolError>> {
        Box::pin(async move {
            let asker = &self.asking.asker;
            if !asker.is_answerable() {
                return Err(headless_error());
            }
            let _pause = self.time.pause();
            // Approvals of calls take turns with these questions.
            let _turn = if asker.asks_one_at_a_time() {
                let turn = self.connection.rules.lock_questions();
                let turn = self.waits.measure(CallWaitKind::Queue, turn);
                let turn = self.asking.cancellation.run_until_cancelled(turn).await;
                Some(turn.ok_or_else(withdrawn_error)?)
            } else {
                None
            };
            let elicitation = Elicitation {
                call_id: self.asking.address.to_string(),
                driver_call_id: self.driver_call_id.clone(),
                tool: self.tool.clone(),
                questions,
                connection: self.connection.id.clone(),
            };
            let root = self.asking.shared.parts.roots.workspace();
            let shown = ShownAsk::of_questions(self.asking.new_ask_id(), &elicitation, root);
            let content = AskContent { summary: summary_of(&shown), shown };
            let asking = self.asking.clone().ask_in_task(content, question(asker, elicitation));
            match self.waits.measure(CallWaitKind::Answer, asking).await {
                Ok(outcome) => outcome_answers(outcome),
                Err(err) => {
                    let message = format!("the question cannot be recorded: {err}");
                    Err(ToolError::new(ErrorCode::ToolFailed, message))
                }
            }
        })
    }
}

/// Returns the question of the front end.
fn question(asker: &Arc<dyn Asker>, asked: Elicitation) -> OwnQuestion {
    let asker = Arc::clone(asker);
    Box::pin(async move {
        let count = asked.questions.len();
        own_reply(asker.elicit(asked).await, count)
    })
}

/// Returns what the row of an ask keeps of its questions: all of them, unless they are longer than a row should be.
fn summary_of(shown: &ShownAsk) -> ShownAsk {
    let bytes = |question: &UserQuestion| {
        let options = question.options.iter();
        let of_option = |option: &QuestionOption| {
            option.label.len() + option.description.as_deref().map_or(0, str::len)
        };
        question.question.len() + options.map(of_option).sum::<usize>()
    };
    let is_short = shown.questions.iter().map(bytes).sum::<usize>() <= SUMMARY_BYTES_MAX;
    let questions = if is_short { shown.questions.clone() } else { Vec::new() };
    ShownAsk { questions, ..shown.clone() }
}

/// The program that made a call, as the call reaches it. It has a person or a model behind it, who take the time that they
/// take.
pub(crate) struct CallClient {
    /// The program that made the call.
    pub(crate) client: Arc<dyn ClientRequester>,
    /// The time of the call, of which asking takes none.
    pub(crate) time: Arc<CallStopwatch>,
    /// Measures how long the call waits for the program.
    pub(crate) waits: Arc<CallWaitLog>,
}

impl ClientRequester for CallClient {
    fn supports(&self, method: ClientRequestMethod) -> bool {
        self.client.supports(method)
    }

    fn request(
        &self,
        requests: Vec<ClientRequest>,
    ) -> BoxFuture<'_, Result<Vec<Value>, ToolError>> {
        Box::pin(async move {
            let _pause = self.time.pause();
            let longest = Duration::from_millis(INQUIRY_MS_MAX);
            let answered = tokio::time::timeout(longest, self.client.request(requests));
            let answered = self.waits.measure(CallWaitKind::Answer, answered).await;
            answered.unwrap_or_else(|_elapsed| {
                let message = format!("the client did not answer{}", within());
                Err(ToolError::new(ErrorCode::ToolFailed, message))
            })
        })
    }
}

/// Returns what a reply to so many questions means for the ask. A front end that answers other questions than it was asked has
/// not been understood, and neither has the person.
fn own_reply(reply: ElicitationReply, count: usize) -> OwnReply {
    let dismissed = |words| {
        OwnReply::Answer(ReceivedVerdict { verdict: AskVerdict::Reject, words, content: None })
    };
    match reply {
        ElicitationReply::Answers(answers) if answers.len() != count => OwnReply::Failed(format!(
            "the front end answered {} questions of {count}",
            answers.len()
        )),
        ElicitationReply::Answers(answers) => {
            let answers: Vec<Vec<String>> = answers.into_iter().map(non_empty_answers).collect();
            if answers.iter().all(Vec::is_empty) {
                return dismissed(None);
            }
            let json = serde_json::to_string(&answers).expect("lists of texts always serialize");
            OwnReply::Answer(ReceivedVerdict {
                verdict: AskVerdict::Once,
                words: None,
                content: Some(json),
            })
        }
        ElicitationReply::Dismissed(why) => dismissed(why),
        ElicitationReply::Unanswered => OwnReply::NoPerson,
    }
}

/// Returns the answers that an ask brought.
fn outcome_answers(outcome: AskOutcome) -> Result<Vec<Vec<String>>, ToolError> {
    match outcome {
        AskOutcome::Answered(ReceivedVerdict { verdict, words, content }) => {
            let answers = content.as_deref().and_then(parse_answers);
            let answers = answers.filter(|_| verdict == AskVerdict::Once);
            let answers = answers.ok_or_else(|| dismissed_error(words))?;
            Ok(answers.into_iter().map(non_empty_answers).collect())
        }
        AskOutcome::Unanswered => Err(headless_error()),
        AskOutcome::Expired(ms) => {
            Err(dismissed_error(Some(format!("no answer came within {} seconds", ms / 1_000))))
        }
        AskOutcome::Withdrawn | AskOutcome::Cancelled => Err(withdrawn_error()),
        AskOutcome::Failed(why) => {
            Err(ToolError::new(ErrorCode::ToolFailed, format!("asking failed: {why}")))
        }
    }
}

/// Returns the answers to one question, trimmed and cut to the longest answer. Leaves out empty ones.
fn non_empty_answers(answers: Vec<String>) -> Vec<String> {
    let shortened = answers
        .into_iter()
        .map(|answer| answer.trim().chars().take(QUESTION_ANSWER_CHARS_MAX).collect::<String>());
    shortened.filter(|answer| !answer.is_empty()).collect()
}

/// Returns the error of a front end without a person.
fn headless_error() -> ToolError {
    ToolError::new(ErrorCode::Headless, HEADLESS_TEXT)
}

/// Returns the error of a question that the call does not wait for any more.
fn withdrawn_error() -> ToolError {
    let message = "the question was withdrawn before it was answered";
    ToolError::new(ErrorCode::ProcessAborted, message)
}

/// Returns the time limit of a request, as a message ends with it.
fn within() -> String {
    format!(" within {} minutes", INQUIRY_MS_MAX / 60_000)
}

/// Returns the error of a question that the person did not answer, with the reason if there is one.
fn dismissed_error(why: Option<String>) -> ToolError {
    let why = why.map(|why| format!(" ({why})")).unwrap_or_default();
    let message = format!(
        "the user did not answer{why}: do not ask the same again; go on with your best assumption and say which one \
         you made"
    );
    ToolError::new(ErrorCode::ToolFailed, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_an_answer_only_to_the_questions_that_were_asked() {
        let check = |reply: ElicitationReply, expected: &str| {
            let found = match own_reply(reply, 2) {
                OwnReply::Answer(ReceivedVerdict { verdict, words, content }) => {
                    format!("{verdict} {words:?} {}", content.unwrap_or_default())
                }
                OwnReply::NoPerson => "no person".to_owned(),
                OwnReply::Failed(why) => why,
            };
            assert_eq!(found, expected);
        };
        let said = |said: &[&[&str]]| {
            let texts = |one: &&[&str]| one.iter().map(|text| (*text).to_owned()).collect();
            ElicitationReply::Answers(said.iter().map(texts).collect())
        };
        check(said(&[&["a", "b"], &["c"]]), r#"once None [["a","b"],["c"]]"#);
        check(said(&[&[" a ", "  "], &[]]), r#"once None [["a"],[]]"#);
        check(said(&[&[""], &[]]), "reject None ");
        check(said(&[&["a"]]), "the front end answered 1 questions of 2");
        check(ElicitationReply::Unanswered, "no person");
        check(ElicitationReply::Dismissed(Some("closed".to_owned())), r#"reject Some("closed") "#);
    }

    #[test]
    fn an_ask_without_an_answer_is_an_error_that_says_so() {
        let check = |outcome: AskOutcome, code: ErrorCode, begun: &str| {
            let err = outcome_answers(outcome).unwrap_err();
            assert_eq!(err.code, code);
            assert!(err.message.starts_with(begun), "{}", err.message);
        };
        let answered = |verdict, content: Option<&str>| {
            let content = content.map(str::to_owned);
            AskOutcome::Answered(ReceivedVerdict {
                verdict,
                words: Some("later".to_owned()),
                content,
            })
        };
        let answers = outcome_answers(answered(AskVerdict::Once, Some(r#"[[" a "]]"#))).unwrap();
        assert_eq!(answers, [["a"]]);
        let dismissed = "the user did not answer (later): ";
        check(answered(AskVerdict::Once, Some("{}")), ErrorCode::ToolFailed, dismissed);
        check(answered(AskVerdict::Edited, Some(r#"[["a"]]"#)), ErrorCode::ToolFailed, dismissed);
        check(answered(AskVerdict::Reject, None), ErrorCode::ToolFailed, dismissed);
        check(AskOutcome::Unanswered, ErrorCode::Headless, HEADLESS_TEXT);
        let late = "the user did not answer (no answer came within 2 seconds): ";
        check(AskOutcome::Expired(2_000), ErrorCode::ToolFailed, late);
        check(AskOutcome::Withdrawn, ErrorCode::ProcessAborted, "the question was withdrawn");
    }

    #[test]
    fn long_answers_are_cut_at_the_bound() {
        let long = |chars: usize| non_empty_answers(vec!["ä".repeat(chars)]);
        let most = long(QUESTION_ANSWER_CHARS_MAX);
        assert_eq!(most[0].chars().count(), QUESTION_ANSWER_CHARS_MAX);
        assert_eq!(long(QUESTION_ANSWER_CHARS_MAX + 1), most);
    }
}
