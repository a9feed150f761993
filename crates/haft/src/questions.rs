//! Passes questions of tools to a person, and requests to the program that made the call. This module decides how many
//! questions a person gets at once, and which replies are valid. The front end only shows questions and returns
//! replies. The time of the call pauses meanwhile.

use std::sync::Arc;
use std::time::Duration;

use haft_contract::limits::QUESTION_ANSWER_CHARS_MAX;
use haft_contract::{
    BoxFuture, ClientRequest, ClientRequestMethod, ClientRequester, ErrorCode, HEADLESS_TEXT,
    Questions, ToolError, ToolId, UserQuestion,
};
use serde_json::Value;

use crate::ask::{Asker, Elicitation, ElicitationReply};
use crate::connection_state::ConnectionState;
use crate::limits::INQUIRY_MS_MAX;
use crate::panic::PanicCatchingFuture;
use crate::stopwatch::CallStopwatch;
use crate::wait_log::{CallWaitKind, CallWaitLog};

/// The person behind the front end, as one call reaches them.
pub(crate) struct CallQuestions {
    /// Asks the person. It belongs to the call, or else to the connection.
    pub(crate) asker: Arc<dyn Asker>,
    /// The connection of the call, whose questions come one after the other.
    pub(crate) connection: Arc<ConnectionState>,
    /// The address of the call, as the front end knows it.
    pub(crate) call_id: String,
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
            let count = questions.len();
            if !self.asker.can_ask() {
                return Err(headless_error());
            }
            let _pause = self.time.pause();
            let longest = Duration::from_millis(INQUIRY_MS_MAX);
            let asking = async {
                // Approvals of calls take turns with these questions.
                let _turn = if self.asker.asks_one_at_a_time() {
                    let turn = self.connection.rules.lock_questions();
                    Some(self.waits.measure(CallWaitKind::Queue, turn).await)
                } else {
                    None
                };
                let elicitation = Elicitation {
                    call_id: self.call_id.clone(),
                    driver_call_id: self.driver_call_id.clone(),
                    tool: self.tool.clone(),
                    questions,
                    connection: self.connection.id.clone(),
                };
                let asker = Arc::clone(&self.asker);
                let reply =
                    PanicCatchingFuture(Box::pin(async move { asker.elicit(elicitation).await }));
                self.waits.measure(CallWaitKind::Answer, reply).await
            };
            match tokio::time::timeout(longest, asking).await {
                Ok(Ok(reply)) => reply_answers(reply, count),
                Ok(Err(panic)) => {
                    Err(ToolError::new(ErrorCode::ToolFailed, format!("asking failed: {panic}")))
                }
                Err(_elapsed) => Err(dismissed_error(Some(format!("no answer came{}", within())))),
            }
        })
    }
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

/// Returns what a reply to so many questions answers. A front end that answers other questions than it was asked has not
/// been understood, and neither has the person.
fn reply_answers(reply: ElicitationReply, count: usize) -> Result<Vec<Vec<String>>, ToolError> {
    match reply {
        ElicitationReply::Answers(answers) if answers.len() != count => {
            let message = format!("the front end answered {} questions of {count}", answers.len());
            Err(ToolError::new(ErrorCode::ToolFailed, message))
        }
        ElicitationReply::Answers(answers) => {
            let answers: Vec<Vec<String>> = answers.into_iter().map(non_empty_answers).collect();
            if answers.iter().all(Vec::is_empty) { Err(dismissed_error(None)) } else { Ok(answers) }
        }
        ElicitationReply::Dismissed(why) => Err(dismissed_error(why)),
        ElicitationReply::Unanswered => Err(headless_error()),
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

/// Returns the time limit of a question, as a message ends with it.
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
    fn answers_are_those_of_the_questions_that_were_asked() {
        let check = |reply: ElicitationReply, expected: Result<&[&[&str]], (ErrorCode, &str)>| {
            let shown = format!("{reply:?}");
            match (reply_answers(reply, 2), expected) {
                (Ok(answers), Ok(expected)) => assert_eq!(answers, expected, "{shown}"),
                (Err(err), Err((code, begun))) => {
                    assert_eq!(err.code, code, "{shown}");
                    assert!(err.message.starts_with(begun), "{shown}: {}", err.message);
                }
                (found, expected) => panic!("{shown}: {found:?} is not {expected:?}"),
            }
        };
        let said = |said: &[&[&str]]| {
            let texts = |one: &&[&str]| one.iter().map(|text| (*text).to_owned()).collect();
            ElicitationReply::Answers(said.iter().map(texts).collect())
        };
        check(said(&[&["a", "b"], &["c"]]), Ok(&[&["a", "b"], &["c"]]));
        check(said(&[&[" a ", "  "], &[]]), Ok(&[&["a"], &[]]));
        check(said(&[&[""], &[]]), Err((ErrorCode::ToolFailed, "the user did not answer: ")));
        check(said(&[&["a"]]), Err((ErrorCode::ToolFailed, "the front end answered 1 ")));
        check(ElicitationReply::Unanswered, Err((ErrorCode::Headless, HEADLESS_TEXT)));
        let why = Some("closed".to_owned());
        let expected = "the user did not answer (closed): ";
        check(ElicitationReply::Dismissed(why), Err((ErrorCode::ToolFailed, expected)));
    }

    #[test]
    fn long_answers_are_cut_at_the_bound() {
        let long = |chars: usize| non_empty_answers(vec!["ä".repeat(chars)]);
        let most = long(QUESTION_ANSWER_CHARS_MAX);
        assert_eq!(most[0].chars().count(), QUESTION_ANSWER_CHARS_MAX);
        assert_eq!(long(QUESTION_ANSWER_CHARS_MAX + 1), most);
    }
}
