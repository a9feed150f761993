//! Whether and how the client of one request can be asked, and the way of a question from the pipeline to whoever serves
//! that request. Two eras, two ways: older clients take requests of the server while their own waits; newer ones take
//! the question as the answer to their request, and repeat the request with what was said.

use std::sync::Arc;

use haft::{Answer, Ask, Asker};
use haft_contract::BoxFuture;
use rmcp::RoleServer;
use rmcp::model::{ClientCapabilities, ProtocolVersion};
use rmcp::service::RequestContext;
use tokio::sync::{mpsc, oneshot};

use crate::question::Titles;
use crate::seal::Binding;

/// How the client of one request can be asked.
pub(crate) enum Dialog {
    /// Not at all: it shows no forms.
    Nobody,
    /// By a request of the server, while its own waits.
    Request(Titles),
    /// By the answer to its request, which it then repeats.
    Rounds(Binding),
}

impl Dialog {
    /// Returns what the client of `cx` declares. `binding` says which call its request is for.
    pub(crate) fn of(cx: &RequestContext<RoleServer>, binding: impl FnOnce() -> Binding) -> Self {
        if !cx.client_capabilities().is_some_and(|client| shows_forms(&client)) {
            return Self::Nobody;
        }
        match cx.protocol_version() {
            Some(version) if version >= ProtocolVersion::V_2026_07_28 => Self::Rounds(binding()),
            Some(version) if version >= ProtocolVersion::V_2025_11_25 => {
                Self::Request(Titles::OneOf)
            }
            Some(_) | None => Self::Request(Titles::EnumNames),
        }
    }

    /// Returns what asks this client, `None` if nothing does, and where its questions come out.
    pub(crate) fn asker(&self) -> (Option<Arc<dyn Asker>>, mpsc::Receiver<Asked>) {
        // The pipeline asks once and then waits, so a second place would stay empty.
        let (questions, asked) = mpsc::channel(1);
        let asker: Option<Arc<dyn Asker>> = match self {
            Self::Nobody => None,
            Self::Request(_) => Some(Arc::new(InTurn(questions))),
            Self::Rounds(_) => Some(Arc::new(AtOnce(questions))),
        };
        (asker, asked)
    }
}

/// A client that declares elicitation without saying of what kind means forms, which were the only kind once.
fn shows_forms(client: &ClientCapabilities) -> bool {
    client.elicitation.as_ref().is_some_and(|kinds| kinds.form.is_some() || kinds.url.is_none())
}

/// A question on its way to a client. Dropped without an answer, it says that nobody is there.
pub(crate) struct Asked {
    pub(crate) ask: Ask,
    reply: oneshot::Sender<Answer>,
}

impl Asked {
    /// Answers the question.
    pub(crate) fn answer(self, answer: Answer) {
        // Nobody waits for the answer of a call that was cancelled meanwhile.
        let _ = self.reply.send(answer);
    }

    /// Waits until the pipeline does not want an answer any more.
    pub(crate) async fn withdrawn(&mut self) {
        self.reply.closed().await;
    }
}

/// Asks a client that is told one question after the other.
struct InTurn(mpsc::Sender<Asked>);

/// Asks a client that may need the answer to one of its requests before it answers the question of another.
struct AtOnce(mpsc::Sender<Asked>);

impl Asker for InTurn {
    fn ask(&self, ask: Ask) -> BoxFuture<'_, Answer> {
        Box::pin(hand_over(&self.0, ask))
    }
}

impl Asker for AtOnce {
    fn ask(&self, ask: Ask) -> BoxFuture<'_, Answer> {
        Box::pin(hand_over(&self.0, ask))
    }

    fn asks_in_turn(&self) -> bool {
        false
    }
}

async fn hand_over(questions: &mpsc::Sender<Asked>, ask: Ask) -> Answer {
    let (reply, answer) = oneshot::channel();
    match questions.send(Asked { ask, reply }).await {
        Ok(()) => answer.await.unwrap_or(Answer::Nobody),
        Err(_) => Answer::Nobody,
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::ElicitationCapability;
    use serde_json::json;

    use super::*;

    #[test]
    fn forms_are_shown_by_clients_that_say_so_or_say_nothing_else() {
        let check = |declared: serde_json::Value, expected: bool| {
            let elicitation: Option<ElicitationCapability> =
                serde_json::from_value(declared.clone()).unwrap();
            let mut client = ClientCapabilities::default();
            client.elicitation = elicitation;
            assert_eq!(shows_forms(&client), expected, "{declared}");
        };
        check(json!(null), false);
        check(json!({}), true);
        check(json!({"form": {}}), true);
        check(json!({"form": {}, "url": {}}), true);
        check(json!({"url": {}}), false);
    }
}
