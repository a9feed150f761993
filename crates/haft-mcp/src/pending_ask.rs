//! Something on its way to the person behind a client, and the way of the answer back. Whether and how a client can be
//! asked is not decided here.

use std::sync::{Arc, Mutex, PoisonError};

use haft::{Ask, AskAnswer, Elicitation, ElicitationReply};
use haft_contract::{ClientRequest, ToolError};
use rmcp::model::{
    ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, InputRequest,
    InputRequests, InputResponses,
};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use crate::approval_form::{ApprovalFormAnswer, EnumTitleStyle};
use crate::{approval_form, client_requests, question_form};

/// A question on its way to the person behind a client. Dropping it without an answer means that no person answers.
pub(crate) enum PendingClientAsk {
    Approval(PendingClientReply<PendingApproval, Option<AskAnswer>>),
    Questions(PendingClientReply<Elicitation, ElicitationReply>),
    Requests(PendingClientReply<Vec<ClientRequest>, Result<Vec<Value>, ToolError>>),
}

/// A question about a call. The answer is nothing if the person opened the page of the ask, and answers there.
pub(crate) struct PendingApproval {
    pub(crate) ask: Ask,
    /// The page on which the person answers, if the client opens it instead of showing a form.
    pub(crate) page: Option<String>,
}

pub(crate) struct PendingClientReply<Q, A> {
    pub(crate) request: Q,
    reply_sender: oneshot::Sender<A>,
    /// How the ask ended, if it ended elsewhere.
    ended: Arc<EndElsewhere>,
}

/// How an ask ended at another front end, in words for a person. The asker writes it just before it withdraws the ask, and the
/// one who withdraws it takes it; a channel would have to outlive the ask.
#[derive(Default)]
pub(crate) struct EndElsewhere(Mutex<Option<String>>);

impl EndElsewhere {
    pub(crate) fn set(&self, how: &str) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(how.to_owned());
    }

    fn take(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl PendingApproval {
    fn form(&self, titles: EnumTitleStyle) -> ElicitRequestParams {
        match &self.page {
            Some(url) => approval_form::page(&self.ask, url),
            None => approval_form::form(&self.ask, titles),
        }
    }
}

impl PendingClientAsk {
    /// Returns what is asked as a newer client takes it.
    pub(crate) fn input_requests(&self) -> Result<InputRequests, String> {
        let (name, form) = match self {
            Self::Approval(pending) => {
                (approval_form::DECISION, pending.request.form(EnumTitleStyle::OneOf))
            }
            Self::Questions(pending) => (
                question_form::ANSWERS,
                question_form::form(&pending.request, EnumTitleStyle::OneOf),
            ),
            Self::Requests(pending) => return client_requests::input_requests(&pending.request),
        };
        let request = InputRequest::Elicitation(ElicitRequest::new(form));
        Ok(InputRequests::from([(name.to_owned(), request)]))
    }

    /// Returns whether all that is asked has an answer in what a newer client says.
    pub(crate) fn is_answered_by(&self, responses: &InputResponses) -> bool {
        match self {
            Self::Approval(_) => responses.contains_key(approval_form::DECISION),
            Self::Questions(_) => responses.contains_key(question_form::ANSWERS),
            Self::Requests(pending) => {
                client_requests::ordered_answers(&pending.request, |name| responses.get(name))
                    .is_some()
            }
        }
    }

    /// Delivers the answers of a newer client. Returns a note for the model, if there is one.
    pub(crate) fn deliver_responses(self, mut responses: InputResponses) -> Option<String> {
        let name = match &self {
            Self::Approval(_) => approval_form::DECISION,
            Self::Questions(_) => question_form::ANSWERS,
            Self::Requests(pending) => {
                let answers =
                    client_requests::ordered_answers(&pending.request, |name| responses.get(name));
                self.deliver_request_answers(
                    answers
                        .ok_or_else(|| client_requests::client_request_error("left out answers")),
                );
                return None;
            }
        };
        match serde_json::from_value::<ElicitResult>(responses.remove(name).unwrap_or_default()) {
            Ok(result) => self.deliver_form_result(&result),
            Err(err) => self.deliver_failure(&format!(
                "answered the question in a form that no answer has: {err}"
            )),
        }
    }

    /// Returns the form that asks an older client; `None` where more than a form is asked.
    pub(crate) fn elicitation_form(&self, titles: EnumTitleStyle) -> Option<ElicitRequestParams> {
        match self {
            Self::Approval(pending) => Some(pending.request.form(titles)),
            Self::Questions(pending) => Some(question_form::form(&pending.request, titles)),
            Self::Requests(_) => None,
        }
    }

    /// Delivers a client's answer to a form. Returns a note for the model, if there is one.
    pub(crate) fn deliver_form_result(self, result: &ElicitResult) -> Option<String> {
        match self {
            Self::Approval(pending) => {
                if pending.opened_page_of(result).is_some() {
                    pending.send_reply(None);
                    return None;
                }
                let heard = approval_form::parse_answer(result, &pending.request.ask);
                pending.send_approval_answer(heard)
            }
            Self::Questions(pending) => {
                let reply = question_form::parse_reply(result, &pending.request);
                pending.send_reply(reply);
                None
            }
            Self::Requests(_) => self.deliver_failure("answered a form that was not shown"),
        }
    }

    /// Delivers that a client did not answer, in words that begin with a verb. Returns a note for the model, if there is
    /// one.
    pub(crate) fn deliver_failure(self, what: &str) -> Option<String> {
        match self {
            Self::Approval(pending) => {
                pending.send_approval_answer(approval_form::rejected_by_client(what))
            }
            Self::Questions(pending) => {
                pending.send_reply(question_form::dismissed_by_client(what));
                None
            }
            Self::Requests(pending) => {
                pending.send_reply(Err(client_requests::client_request_error(what)));
                None
            }
        }
    }

    pub(crate) fn deliver_request_answers(self, answers: Result<Vec<Value>, ToolError>) {
        if let Self::Requests(pending) = self {
            pending.send_reply(answers);
        }
    }

    /// Returns why the call does not need an answer any more, if another front end gave it.
    pub(crate) fn end_elsewhere(&self) -> Option<String> {
        match self {
            Self::Approval(pending) => pending.ended.take(),
            Self::Questions(pending) => pending.ended.take(),
            Self::Requests(_) => None,
        }
    }

    /// Returns the ask whose page the person opened, if that is what the client's answer says.
    pub(crate) fn opened_page_of(&self, result: &ElicitResult) -> Option<&Ask> {
        match self {
            Self::Approval(pending) => pending.opened_page_of(result),
            Self::Questions(_) | Self::Requests(_) => None,
        }
    }

    /// Waits until the call does not need an answer any more.
    pub(crate) async fn wait_until_withdrawn(&mut self) {
        match self {
            Self::Approval(pending) => pending.reply_sender.closed().await,
            Self::Questions(pending) => pending.reply_sender.closed().await,
            Self::Requests(pending) => pending.reply_sender.closed().await,
        }
    }
}

impl<Q, A> PendingClientReply<Q, A> {
    fn send_reply(self, answer: A) {
        // A call that was cancelled meanwhile does not wait for its answer.
        let _ = self.reply_sender.send(answer);
    }
}

impl PendingClientReply<PendingApproval, Option<AskAnswer>> {
    fn opened_page_of(&self, result: &ElicitResult) -> Option<&Ask> {
        let is_opened = self.request.page.is_some() && result.action == ElicitationAction::Accept;
        is_opened.then_some(&self.request.ask)
    }

    fn send_approval_answer(self, heard: ApprovalFormAnswer) -> Option<String> {
        let ApprovalFormAnswer { answer, note } = heard;
        self.send_reply(Some(answer));
        note
    }
}

/// Returns the answer, or nothing if there will be none.
pub(crate) async fn send_and_wait<Q, A>(
    (questions, ended): (&mpsc::Sender<PendingClientAsk>, &Arc<EndElsewhere>),
    about: Q,
    asked: fn(PendingClientReply<Q, A>) -> PendingClientAsk,
) -> Option<A> {
    let (reply, answer) = oneshot::channel();
    let ended = Arc::clone(ended);
    let pending = PendingClientReply { request: about, reply_sender: reply, ended };
    questions.send(asked(pending)).await.ok()?;
    answer.await.ok()
}
