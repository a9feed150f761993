//! `question` without a person. The tests of the front ends cover the dialog with a person.

use expect_test::expect;
use haft::{InputSchema, OpenValues};
use haft_contract::limits::{QUESTION_CHARS_MAX, QUESTION_OPTIONS_MAX, QUESTIONS_MAX};
use haft_tools::{Profile, ToolOptions};
use serde_json::{Value, json};

use crate::workspace::Workspace;

fn questions(count: usize) -> Value {
    json!({"questions": vec![json!({"question": "Which?"}); count]})
}

#[tokio::test]
async fn without_a_person_it_says_so_in_fixed_words() {
    let workspace = Workspace::new().await;
    expect!["HEADLESS: No one is here to answer. Do not ask; go on with your best assumption and say which one you made."].assert_eq(&workspace.text("question", questions(1)).await);
}

#[tokio::test]
async fn questions_are_bounded_in_number_and_length() {
    let workspace = Workspace::new().await;
    let most = [
        questions(QUESTIONS_MAX),
        json!({"questions": [{"question": "x".repeat(QUESTION_CHARS_MAX)}]}),
        json!({"questions": [{"question": "x", "options": options(QUESTION_OPTIONS_MAX)}]}),
    ];
    for input in most {
        let answer = workspace.text("question", input).await;
        assert!(answer.starts_with("HEADLESS"), "{answer}");
    }
    let more = [
        questions(0),
        questions(QUESTIONS_MAX + 1),
        json!({"questions": [{"question": "x".repeat(QUESTION_CHARS_MAX + 1)}]}),
        json!({"questions": [{"question": "x", "options": options(QUESTION_OPTIONS_MAX + 1)}]}),
    ];
    // Without a person, no better input would help, so the answer is the same. The schema holds the bounds.
    let tools = haft_tools::tools(Profile::Contract, &ToolOptions::default());
    let question = tools.iter().filter_map(|tool| tool.valid_contract().ok());
    let question = question.filter(|contract| contract.id.as_str() == "question");
    let schema =
        question.map(|contract| InputSchema::compile(&contract.parameters).unwrap()).next();
    for input in more {
        let violations = schema.as_ref().unwrap().violations(&input, &OpenValues::default());
        assert_eq!(violations.len(), 1, "{violations:?}");
        let answer = workspace.text("question", input).await;
        assert!(answer.starts_with("HEADLESS"), "{answer}");
    }
}

fn options(count: usize) -> Value {
    (0..count).map(|place| json!({"label": place.to_string()})).collect()
}
