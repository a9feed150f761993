//! Whether and how the client of one request can be asked, and the way of a question from the pipeline to whoever serves
//! that request. Two eras, two ways: older clients take requests of the server while their own waits; newer ones take
//! the question as the answer to their request, and repeat the request with what was said.

use std::sync::{Arc, OnceLock};

use haft::{Answer, Ask, Asker, Inquiry, Reply};
use haft_contract::{BoxFuture, ClientMethod, ClientRequest, ToolError};
use rmcp::RoleServer;
use rmcp::model::{
    ElicitRequest, ElicitRequestParams, ElicitResult, InputRequest, InputRequests, InputResponses,
    ProtocolVersion,
};
use rmcp::service::RequestContext;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use crate::counterpart::{self, Counterpart, Takes};
use crate::question::{Heard, Titles};
use crate::seal::Binding;
use crate::{inquiry, question};

/// How the client of one request can be asked, and for what.
pub(crate) struct Dialog {
    pub(crate) way: Way,
    takes: Takes,
}

/// How a client can be asked.
pub(crate) enum Way {
    /// Not at all: it takes nothing.
    Nobody,
    /// By a request of the server, while its own waits.
    Request(Titles),
    /// By the answer to its request, which it then repeats.
    Rounds(Binding),
}

impl Dialog {
    /// Returns what the client of `cx` declares. `binding` says which call its request is for.
    pub(crate) fn of(cx: &RequestContext<RoleServer>, binding: impl FnOnce() -> Binding) -> Self {
        let takes = cx.client_capabilities().map(|client| Takes::of(&client)).unwrap_or_default();
        let way = match cx.protocol_version() {
            _ if !takes.anything() => Way::Nobody,
            Some(version) if version >= ProtocolVersion::V_2026_07_28 => Way::Rounds(binding()),
            Some(version) if version >= ProtocolVersion::V_2025_11_25 => {
                Way::Request(Titles::OneOf)
            }
            Some(_) | None => Way::Request(Titles::EnumNames),
        };
        Self { way, takes }
    }

    /// Returns what asks this client, and where its questions come out.
    pub(crate) fn lines(&self) -> Lines {
        // A call asks one thing and then waits, so a second place would stay empty.
        let (questions, asked) = mpsc::channel(1);
        let asker: Option<Arc<dyn Asker>> = match &self.way {
            Way::Request(_) if self.takes.forms => Some(Arc::new(InTurn(questions.clone()))),
            Way::Rounds(_) if self.takes.forms => Some(Arc::new(AtOnce(questions.clone()))),
            Way::Nobody | Way::Request(_) | Way::Rounds(_) => None,
        };
        let missing = Arc::default();
        let client = Counterpart { takes: self.takes, questions, missing: Arc::clone(&missing) };
        Lines { asker, client: Arc::new(client), asked, missing }
    }
}

/// The lines between a call and its client.
pub(crate) struct Lines {
    /// Asks the person, if the client shows forms.
    pub(crate) asker: Option<Arc<dyn Asker>>,
    /// Asks the client itself.
    pub(crate) client: Arc<Counterpart>,
    /// Where questions come out.
    pub(crate) asked: mpsc::Receiver<Asked>,
    /// What the call asked for that the client does not take.
    pub(crate) missing: Arc<OnceLock<ClientMethod>>,
}

/// Something on its way to the person behind a client. Dropped without an answer, it says that nobody is there.
pub(crate) enum Asked {
    /// Whether a call may run.
    Approval(Pending<Ask, Answer>),
    /// What a tool wants to know.
    Inquiry(Pending<Inquiry, Reply>),
    /// What a tool wants of the client itself.
    Requests(Pending<Vec<ClientRequest>, Result<Vec<Value>, ToolError>>),
}

/// What is asked, and the way back.
pub(crate) struct Pending<Q, A> {
    pub(crate) about: Q,
    reply: oneshot::Sender<A>,
}

impl Asked {
    /// Returns what is asked as a newer client takes it.
    pub(crate) fn input_requests(&self) -> Result<InputRequests, String> {
        let (name, form) = match self {
            Self::Approval(pending) => {
                (question::DECISION, question::form(&pending.about, Titles::OneOf))
            }
            Self::Inquiry(pending) => {
                (inquiry::ANSWERS, inquiry::form(&pending.about, Titles::OneOf))
            }
            Self::Requests(pending) => return counterpart::input_requests(&pending.about),
        };
        let request = InputRequest::Elicitation(ElicitRequest::new(form));
        Ok(InputRequests::from([(name.to_owned(), request)]))
    }

    /// Returns whether all that is asked has an answer in what a newer client says.
    pub(crate) fn is_answered_by(&self, responses: &InputResponses) -> bool {
        match self {
            Self::Approval(_) => responses.contains_key(question::DECISION),
            Self::Inquiry(_) => responses.contains_key(inquiry::ANSWERS),
            Self::Requests(pending) => {
                counterpart::answers(&pending.about, |name| responses.get(name)).is_some()
            }
        }
    }

    /// Hands over what a newer client said. Returns what there is to say about it beside the answer to the call.
    pub(crate) fn settle(self, mut responses: InputResponses) -> Option<String> {
        let name = match &self {
            Self::Approval(_) => question::DECISION,
            Self::Inquiry(_) => inquiry::ANSWERS,
            Self::Requests(pending) => {
                let answers = counterpart::answers(&pending.about, |name| responses.get(name));
                self.answer_requests(
                    answers.ok_or_else(|| counterpart::unanswered("left out answers")),
                );
                return None;
            }
        };
        match serde_json::from_value::<ElicitResult>(responses.remove(name).unwrap_or_default()) {
            Ok(result) => self.hear(&result),
            Err(err) => {
                self.fail(&format!("answered the question in a form that no answer has: {err}"))
            }
        }
    }

    /// Returns the form that asks an older client; `None` where more than a form is asked.
    pub(crate) fn form(&self, titles: Titles) -> Option<ElicitRequestParams> {
        match self {
            Self::Approval(pending) => Some(question::form(&pending.about, titles)),
            Self::Inquiry(pending) => Some(inquiry::form(&pending.about, titles)),
            Self::Requests(_) => None,
        }
    }

    /// Hands over what a client answered to a form. Returns what there is to say about it beside the answer to the call.
    pub(crate) fn hear(self, result: &ElicitResult) -> Option<String> {
        match self {
            Self::Approval(pending) => {
                let heard = question::heard(result, &pending.about);
                pending.heard(heard)
            }
            Self::Inquiry(pending) => {
                let reply = inquiry::replied(result, &pending.about);
                pending.answer(reply);
                None
            }
            Self::Requests(_) => self.fail("answered a form that was not shown"),
        }
    }

    /// Hands over that a client did something else than to answer, in words that begin with a verb. Returns what there
    /// is to say about it beside the answer to the call.
    pub(crate) fn fail(self, what: &str) -> Option<String> {
        match self {
            Self::Approval(pending) => pending.heard(question::rejected(what)),
            Self::Inquiry(pending) => {
                pending.answer(inquiry::dismissed(what));
                None
            }
            Self::Requests(pending) => {
                pending.answer(Err(counterpart::unanswered(what)));
                None
            }
        }
    }

    /// Hands over what a client answered to a tool's requests.
    pub(crate) fn answer_requests(self, answers: Result<Vec<Value>, ToolError>) {
        if let Self::Requests(pending) = self {
            pending.answer(answers);
        }
    }

    /// Waits until nobody wants an answer any more.
    pub(crate) async fn withdrawn(&mut self) {
        match self {
            Self::Approval(pending) => pending.reply.closed().await,
            Self::Inquiry(pending) => pending.reply.closed().await,
            Self::Requests(pending) => pending.reply.closed().await,
        }
    }
}

impl<Q, A> Pending<Q, A> {
    fn answer(self, answer: A) {
        // Nobody waits for the answer of a call that was cancelled meanwhile.
        let _ = self.reply.send(answer);
    }
}

impl Pending<Ask, Answer> {
    fn heard(self, heard: Heard) -> Option<String> {
        let Heard { answer, note } = heard;
        self.answer(answer);
        note
    }
}

/// Asks a client that is told one question after the other.
struct InTurn(mpsc::Sender<Asked>);

/// Asks a client that may need the answer to one of its requests before it answers the question of another.
struct AtOnce(mpsc::Sender<Asked>);

impl Asker for InTurn {
    fn ask(&self, ask: Ask) -> BoxFuture<'_, Answer> {
        Box::pin(approval(&self.0, ask))
    }

    fn inquire(&self, inquiry: Inquiry) -> BoxFuture<'_, Reply> {
        Box::pin(replies(&self.0, inquiry))
    }
}

impl Asker for AtOnce {
    fn ask(&self, ask: Ask) -> BoxFuture<'_, Answer> {
        Box::pin(approval(&self.0, ask))
    }

    fn inquire(&self, inquiry: Inquiry) -> BoxFuture<'_, Reply> {
        Box::pin(replies(&self.0, inquiry))
    }

    fn asks_in_turn(&self) -> bool {
        false
    }
}

async fn approval(questions: &mpsc::Sender<Asked>, ask: Ask) -> Answer {
    hand_over(questions, ask, Asked::Approval).await.unwrap_or(Answer::Nobody)
}

async fn replies(questions: &mpsc::Sender<Asked>, inquiry: Inquiry) -> Reply {
    hand_over(questions, inquiry, Asked::Inquiry).await.unwrap_or(Reply::Nobody)
}

/// Returns the answer, or nothing if there will be none.
pub(crate) async fn hand_over<Q, A>(
    questions: &mpsc::Sender<Asked>,
    about: Q,
    asked: fn(Pending<Q, A>) -> Asked,
) -> Option<A> {
    let (reply, answer) = oneshot::channel();
    questions.send(asked(Pending { about, reply })).await.ok()?;
    answer.await.ok()
}
