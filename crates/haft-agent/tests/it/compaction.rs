//! Conversations that get too long for the model.

use std::sync::Arc;

use haft_agent::limits::{
    CONTEXT_FULL_PERCENT, CONTEXT_KEPT_PERCENT, SUMMARISED_PERCENT, SUMMARY_BYTES_MAX,
};
use haft_agent::{AgentBounds, AgentError, TurnPrompt};
use haft_journal::MessageKind;
use haft_model::{
    ModelAnswerEnd, ModelError, ModelEvent, ModelMessage, ModelRequest, ModelStopReason,
    ModelUsage, UserMessage,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::models::{Actor, Reply, calls, last_said, says};
use crate::stage::{Place, begin, done, say};

/// Returns whether a request asks for a summary.
fn is_summary(request: &ModelRequest) -> bool {
    matches!(request.messages.first(), Some(ModelMessage::User(message)) if message.text.starts_with("Summarise"))
}

/// Returns what a request takes, as a model that reads four letters as a token counts it.
fn read_tokens(request: &ModelRequest) -> u64 {
    let bytes = request.messages.iter().map(|message| match message {
        ModelMessage::User(message) => message.text.len(),
        ModelMessage::Assistant { text, .. } | ModelMessage::ToolResult { text, .. } => text.len(),
    });
    u64::try_from(bytes.sum::<usize>() / 4).unwrap()
}

/// Says a text of a hundred tokens.
fn says_much(request: &ModelRequest) -> Reply {
    let usage = ModelUsage { input: read_tokens(request), ..ModelUsage::default() };
    let end = ModelEvent::End(ModelAnswerEnd { stop: ModelStopReason::Done, usage });
    let text =
        if is_summary(request) { "It was about apples.".to_owned() } else { "y".repeat(400) };
    Reply::Events(vec![Ok(ModelEvent::Text(text)), Ok(end)])
}

#[tokio::test]
async fn what_was_said_before_is_summarised_when_it_gets_long() {
    let mut place = Place::new();
    place.bounds = AgentBounds { context_tokens: 1_000, ..AgentBounds::default() };
    let model = Actor::new(says_much);
    let host = place.host(Arc::clone(&model) as _);
    let mut chat = begin(&host, "build").await;
    let prompts = ["apples", "pears", "plums", "figs", "dates", "grapes"];
    for prompt in prompts {
        let end = say(&mut chat, &format!("{prompt} {}", "x".repeat(400))).await;
        assert_eq!(end, done(&"y".repeat(400)));
    }
    let history = chat.history().await.unwrap();
    let of_kind = |kind| history.iter().filter(|(message, _)| message.kind == kind).count();
    assert_eq!(of_kind(MessageKind::Summary), 1);
    assert_eq!(of_kind(MessageKind::Said), 2 * prompts.len(), "nothing is deleted");
    let row = chat.row().await.unwrap();
    let requests = model.requests.lock().unwrap().clone();
    let read: u64 = requests.iter().map(read_tokens).sum();
    assert_eq!(row.tokens.input, read, "each token is counted once");
    let summarised = requests.iter().find(|request| is_summary(request)).unwrap();
    let Some(ModelMessage::User(UserMessage { text: told, .. })) = summarised.messages.first()
    else {
        panic!("{summarised:?}")
    };
    assert!(told.contains("apples") && told.contains("plums") && !told.contains("figs"), "{told}");
    let Some(ModelMessage::User(UserMessage { text: first, .. })) =
        requests.last().unwrap().messages.first()
    else {
        panic!("the conversation begins with an answer")
    };
    assert!(first.contains("It was about apples.") && first.contains("figs"), "{first}");
    assert!(!first.contains("plums"), "{first}");
    assert_eq!(place.told(&["compacted"]).len(), 1);
}

#[tokio::test]
async fn a_model_that_says_so_is_believed_once() {
    let place = Place::new();
    let too_long = || ModelError::ContextTooLong { detail: "too long".to_owned() };
    let model = Actor::new(move |request| {
        let has_summary = |message: &ModelMessage| matches!(message, ModelMessage::User(message) if message.text.contains("This is a summary"));
        if is_summary(request) {
            says("Short.")
        } else if !request.messages.iter().any(has_summary) {
            Reply::Refuse(ModelError::ContextTooLong { detail: "too long".to_owned() })
        } else if request.messages.len() < 2 {
            calls(&[("c1", "order", json!({"text": "x"}))])
        } else {
            says("Fits.")
        }
    });
    let host = place.host(Arc::clone(&model) as _);
    let mut chat = begin(&host, "build").await;
    assert_eq!(say(&mut chat, "go").await, done("Fits."));
    assert_eq!(place.world.done(), ["order x"]);

    let never = Actor::new(move |request| match is_summary(request) {
        true => says("Short."),
        false => Reply::Refuse(too_long()),
    });
    let host = place.host(never);
    let mut chat = begin(&host, "build").await;
    let end = chat.run_turn(TurnPrompt::Message("go".into()), CancellationToken::new()).await;
    assert!(matches!(end, Err(AgentError::Model(ModelError::ContextTooLong { .. }))), "{end:?}");
}

#[tokio::test]
async fn a_conversation_is_long_from_a_share_of_what_the_model_reads() {
    let summaries = async |context_tokens: u64| {
        let mut place = Place::new();
        place.bounds = AgentBounds { context_tokens, ..AgentBounds::default() };
        let model = Actor::new(|request| {
            let usage = ModelUsage { input: 1_000, ..ModelUsage::default() };
            let end = ModelEvent::End(ModelAnswerEnd { stop: ModelStopReason::Done, usage });
            let text = if is_summary(request) { "Short." } else { "Yes." };
            Reply::Events(vec![Ok(ModelEvent::Text(text.to_owned())), Ok(end)])
        });
        let host = place.host(model);
        let mut chat = begin(&host, "build").await;
        say(&mut chat, "one?").await;
        say(&mut chat, "two?").await;
        place.told(&["compacted"]).len()
    };
    // The counted tokens, the answer and the prompt after it.
    let tokens: u64 = 1_000 + 1 + 1;
    let just_enough = (tokens * 100).div_ceil(CONTEXT_FULL_PERCENT);
    assert_eq!(summaries(just_enough).await, 0);
    assert_eq!(summaries(just_enough - 1).await, 1);
}

#[tokio::test]
async fn a_summary_has_a_length() {
    let check = async |bytes: usize| {
        let place = Place::new();
        let model = Actor::new(move |request| match is_summary(request) {
            true => says(&"s".repeat(bytes)),
            false if last_said(request).contains("This is a summary") => says("Fits."),
            false => Reply::Refuse(ModelError::ContextTooLong { detail: "too long".to_owned() }),
        });
        let host = place.host(model);
        let mut chat = begin(&host, "build").await;
        assert_eq!(say(&mut chat, "go").await, done("Fits."));
        let history = chat.history().await.unwrap();
        let summary = history.iter().find(|(message, _)| message.kind == MessageKind::Summary);
        let text = summary.unwrap().1[0].text.clone().unwrap();
        text.len() - text.trim_end_matches('s').len()
    };
    assert_eq!(check(SUMMARY_BYTES_MAX).await, SUMMARY_BYTES_MAX);
    assert_eq!(check(SUMMARY_BYTES_MAX + 1).await, SUMMARY_BYTES_MAX);
}

#[tokio::test]
async fn a_summary_is_made_of_as_much_as_the_model_reads() {
    let place = Place::new();
    let model = Actor::new(move |request| match last_said(request) {
        text if text.starts_with("Summarise") && text.len() < 20_000 => says("Short."),
        text if text.contains("This is a summary") => says("Fits."),
        _ => Reply::Refuse(ModelError::ContextTooLong { detail: "too long".to_owned() }),
    });
    let host = place.host(Arc::clone(&model) as _);
    let mut chat = begin(&host, "build").await;
    assert_eq!(say(&mut chat, &format!("first {} last", "x".repeat(100_000))).await, done("Fits."));
    let summarised = model.request(model.count() - 2);
    let text = last_said(&summarised);
    assert!(text.contains("first") && text.ends_with("last\n"), "{text}");
}

/// Returns the input of a summary and the model's messages after it, for a session with this second prompt.
async fn shortened(context_tokens: u64, prompt: &str) -> (String, String) {
    let mut place = Place::new();
    place.bounds = AgentBounds { context_tokens, ..AgentBounds::default() };
    let model = Actor::new(|request| match last_said(request) {
        text if text.starts_with("Summarise") => says("Short."),
        text if text.contains("This is a summary") => says("Fits."),
        text if text == "one" => says("One."),
        _ => Reply::Refuse(ModelError::ContextTooLong { detail: "too long".to_owned() }),
    });
    let host = place.host(Arc::clone(&model) as _);
    let mut chat = begin(&host, "build").await;
    say(&mut chat, "one").await;
    assert_eq!(say(&mut chat, prompt).await, done("Fits."));
    let requests = model.requests.lock().unwrap();
    let summarised = requests.iter().find(|request| is_summary(request)).unwrap();
    (last_said(summarised), last_said(requests.last().unwrap()))
}

#[tokio::test]
async fn beside_a_summary_is_kept_a_share_of_what_the_model_reads() {
    let tokens_max = 1_000 * CONTEXT_KEPT_PERCENT / 100;
    let bytes = usize::try_from(tokens_max * 4).unwrap();
    // Four bytes are taken for a token.
    for (bytes, is_kept) in [(bytes + 3, true), (bytes + 4, false)] {
        let prompt = "x".repeat(bytes);
        let (summarised, read) = shortened(1_000, &prompt).await;
        assert_eq!((summarised.contains(&prompt), read.contains(&prompt)), (!is_kept, is_kept));
    }
}

#[tokio::test]
async fn a_summary_is_made_of_a_share_of_what_the_model_reads() {
    let bytes_max = usize::try_from(1_000 * SUMMARISED_PERCENT / 100 * 4).unwrap();
    // So long that it is not kept, and so a part of what is summarised.
    let (around, _) = shortened(1_000, &"x".repeat(bytes_max / 4 * 3)).await;
    let around = around.len() - bytes_max / 4 * 3;
    for (bytes, is_whole) in [(bytes_max - around, true), (bytes_max - around + 1, false)] {
        let (summarised, _) = shortened(1_000, &"x".repeat(bytes)).await;
        assert_eq!(!summarised.contains("the middle is left out"), is_whole, "{summarised}");
    }
}
