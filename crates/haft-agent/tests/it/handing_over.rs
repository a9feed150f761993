//! A plan that one agent hands over to another, after a person agreed.

use std::sync::{Arc, Mutex};

use haft::{Ask, AskAnswer, Asker, Elicitation, ElicitationReply};
use haft_contract::BoxFuture;
use serde_json::{Value, json};

use crate::models::{Actor, calls, says};
use crate::stage::{Place, begin, done, say, shown};

/// A person who gives this answer to each question, and allows each call.
struct Person {
    answer: &'static str,
    questions: Mutex<Vec<String>>,
}

impl Person {
    fn saying(answer: &'static str) -> Arc<Self> {
        Arc::new(Self { answer, questions: Mutex::default() })
    }
}

impl Asker for Person {
    fn ask(&self, _: Ask) -> BoxFuture<'_, AskAnswer> {
        Box::pin(async { AskAnswer::AllowOnce })
    }

    fn elicit(&self, asked: Elicitation) -> BoxFuture<'_, ElicitationReply> {
        self.questions.lock().unwrap().push(asked.questions[0].question.clone());
        Box::pin(async { ElicitationReply::Answers(vec![vec![self.answer.to_owned()]]) })
    }

    fn can_ask(&self) -> bool {
        true
    }
}

fn plan() -> Value {
    json!({"plan": "Write new.txt."})
}

#[tokio::test]
async fn an_agreed_plan_is_carried_out_by_another_agent_in_the_same_session() {
    let person = Person::saying("Carry it out");
    let mut place = Place::new();
    place.asker = Arc::clone(&person) as _;
    let model = Actor::in_order(vec![
        calls(&[("c1", "write", json!({"path": "early.txt", "content": "x"}))]),
        calls(&[("c2", "plan_exit", plan())]),
        calls(&[("c3", "write", json!({"path": "new.txt", "content": "x"}))]),
        says("It is written."),
    ]);
    let host = place.host(Arc::clone(&model) as _);
    let mut chat = begin(&host, "plan").await;
    let id = chat.id().clone();
    assert_eq!(say(&mut chat, "Plan it.").await, done("It is written."));
    assert_eq!((chat.agent(), chat.id()), ("build", &id));
    assert!(!place.root().join("early.txt").exists(), "an agent that plans wrote a file");
    assert!(place.root().join("new.txt").exists());
    assert_eq!(*person.questions.lock().unwrap(), ["Write new.txt.\n\nCarry out this plan?"]);
    let text = shown(&chat).await;
    assert!(text.contains("I agree to this plan. Carry it out now."), "{text}");
    // The agent that carries plans out has no plan to hand over.
    let offers = |request: usize| {
        let tools = model.request(request).tools;
        tools.iter().any(|tool| tool.name == "plan_exit")
    };
    assert_eq!((offers(0), offers(2)), (true, false));
    assert_eq!(chat.row().await.unwrap().agent, "build");
}

#[tokio::test]
async fn a_plan_that_is_not_agreed_to_stays_with_its_agent() {
    let person = Person::saying("Name the risks first");
    let mut place = Place::new();
    place.asker = person;
    let model =
        Actor::in_order(vec![calls(&[("c1", "plan_exit", plan())]), says("The risks are these.")]);
    let host = place.host(Arc::clone(&model) as _);
    let mut chat = begin(&host, "plan").await;
    assert_eq!(say(&mut chat, "Plan it.").await, done("The risks are these."));
    assert_eq!(chat.agent(), "plan");
    let text = shown(&chat).await;
    assert!(text.contains("Name the risks first"), "{text}");
}

#[tokio::test]
async fn without_a_person_nothing_is_handed_over() {
    let place = Place::new();
    let model =
        Actor::in_order(vec![calls(&[("c1", "plan_exit", plan())]), says("Here is the plan.")]);
    let host = place.host(model);
    let mut chat = begin(&host, "plan").await;
    assert_eq!(say(&mut chat, "Plan it.").await, done("Here is the plan."));
    assert_eq!(chat.agent(), "plan");
}
