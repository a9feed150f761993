//! Failing providers: the error names the failure, and only temporary failures are retried.

use std::time::Duration;

use expect_test::{Expect, expect};
use haft_model::{
    Model, ModelAnswerBounds, ModelError, ModelEvent, ModelRequest, ModelRetry, ModelSettings,
    ProviderModel,
};
use serde_json::json;

use crate::server::{Reply, Server, ask, bounds, whole};

const DONE: &[&str] =
    &[r#"{"choices":[{"delta":{"content":"ok"},"finish_reason":"stop"}]}"#, "[DONE]"];

fn failing(status: u16, message: &str) -> Reply {
    Reply::new(status, "application/json", &json!({"error": {"message": message}}).to_string())
}

async fn check(model: &str, reply: Reply, expect: Expect) -> ModelError {
    // One reply for every attempt: temporary failures are retried.
    let err = ask(model, vec![reply; 4]).await.unwrap_err();
    expect.assert_eq(&err.to_string());
    err
}

#[tokio::test]
async fn status_codes_become_errors_that_say_what_to_do() {
    check("openai/m", failing(401, "Incorrect API key"), expect!["openai did not accept the key: check that TEST_KEY is set and valid (HTTP 401: Incorrect API key)"]).await;
    check(
        "openai/m",
        failing(404, "no such model"),
        expect!["openai knows no model m: check its name and base_url (HTTP 404: no such model)"],
    )
    .await;
    check("openai/m", failing(400, "maximum context length is 8192 tokens"), expect!["the request is longer than the model can read: offer fewer tools, shorten the conversation, or take another model (HTTP 400: maximum context length is 8192 tokens)"]).await;
    check("openai/m", failing(400, "unknown field"), expect!["openai did not take the request: check the model's name and base_url (HTTP 400: unknown field)"]).await;
    check(
        "openai/m",
        failing(500, "boom"),
        expect!["openai cannot answer at the moment: try again later (HTTP 500: boom)"],
    )
    .await;
    check(
        "anthropic/m",
        failing(529, "Overloaded"),
        expect!["anthropic cannot answer at the moment: try again later (HTTP 529: Overloaded)"],
    )
    .await;
    check(
        "ollama/m",
        Reply::new(404, "application/json", r#"{"error":"model 'm' not found"}"#),
        expect![
            "ollama knows no model m: check its name and base_url (HTTP 404: model 'm' not found)"
        ],
    )
    .await;
    let elsewhere = "location: http://127.0.0.1:1/elsewhere\r\n";
    check("openai/m", Reply::with_headers(307, elsewhere, b""), expect!["openai did not take the request: check the model's name and base_url (HTTP 307; it redirects, and redirects are not followed)"]).await;
    check("gemini/m", failing(403, "not for you"), expect!["gemini does not permit this with the key in TEST_KEY: check what that key may do, and whether it may use this model (HTTP 403: not for you)"]).await;
    let page = "<!doctype html>\n<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>";
    check(
        "gemini/m",
        Reply::new(502, "text/html", page),
        expect!["gemini cannot answer at the moment: try again later (HTTP 502: 502 Bad Gateway)"],
    )
    .await;
    let page = format!("<html>{}</html>", "no gateway ".repeat(100));
    let err = check("gemini/m", Reply::new(401, "text/html", &page), expect!["gemini did not accept the key: check that TEST_KEY is set and valid (HTTP 401: <html>no gateway no gateway no gateway no gateway no gateway no gateway no gateway no gateway no gateway no gateway no gateway no gateway no gateway no gateway no gateway no gateway no gateway no gateway no gateway no gateway no gateway no gateway no gateway no gateway no gateway no gateway no gateway no gateway no gateway no gateway no gateway no gateway no gateway no gateway no gateway no gatewa…)"]).await;
    assert!(matches!(err, ModelError::Authentication { .. }));
}

#[tokio::test]
async fn what_is_used_up_is_told_from_what_passes() {
    let spent = |status: u16, body: &str| Reply::new(status, "application/json", body);
    let quota = r#"{"error":{"message":"You exceeded your quota","code":"insufficient_quota"}}"#;
    let err = check("openai/m", spent(429, quota), expect!["the quota or credit of the key for openai is used up: raise it there, or take another key or model (HTTP 429: You exceeded your quota)"]).await;
    assert!(!err.is_passing());
    let credit = r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the API."}}"#;
    check("anthropic/m", spent(400, credit), expect!["the quota or credit of the key for anthropic is used up: raise it there, or take another key or model (HTTP 400: Your credit balance is too low to access the API.)"]).await;
    check("openai/m", spent(402, "{}"), expect!["the quota or credit of the key for openai is used up: raise it there, or take another key or model (HTTP 402: {})"]).await;
    let event = r#"{"error":{"message":"You exceeded your quota","type":"insufficient_quota"}}"#;
    check("openai/m", Reply::data(&[event]), expect!["the quota or credit of the key for openai is used up: raise it there, or take another key or model (You exceeded your quota)"]).await;
}

#[tokio::test]
async fn a_key_that_was_not_sent_is_not_said_to_be_wrong() {
    for status in [401, 403] {
        let server = Server::start([failing(status, "no key")]);
        let settings = ModelSettings {
            model: "openai/m".to_owned(),
            base_url: Some(server.url.clone()),
            ..ModelSettings::default()
        };
        let model = ProviderModel::open(&settings, &|_| None).unwrap();
        let err = whole(&model, ModelRequest::from_user_text("x")).await.unwrap_err();
        let expect = format!(
            "openai requires a key, but none was sent: name its environment variable (key_variable) (HTTP {status}: no key)"
        );
        assert_eq!(err.to_string(), expect);
    }
}

#[tokio::test]
async fn what_passes_is_tried_again_and_what_does_not_is_not() {
    let bounds = ModelAnswerBounds { retries_max: 2, ..bounds() };
    for (failure, attempts) in [
        (failing(429, "slow down"), 3),
        (failing(503, "later"), 3),
        (failing(400, "no"), 1),
        (failing(401, "no"), 1),
    ] {
        let server = Server::start(vec![failure; 3]);
        whole(&server.provider_with("openai/m", bounds), ModelRequest::from_user_text("x"))
            .await
            .unwrap_err();
        assert_eq!(server.asked().len(), attempts);
    }
    let server = Server::start([failing(500, "x"), failing(529, "x"), Reply::data(DONE)]);
    let answer =
        whole(&server.provider_with("openai/m", bounds), ModelRequest::from_user_text("x")).await;
    assert_eq!(answer.unwrap().text, "ok");
}

#[tokio::test]
async fn a_pause_that_the_provider_asks_for_is_told_and_not_waited_for_when_long() {
    let limited = Reply::with_headers(429, "retry-after: 3600\r\n", b"{}");
    let server = Server::start([limited, Reply::data(DONE)]);
    let err =
        whole(&server.provider("openai/m"), ModelRequest::from_user_text("x")).await.unwrap_err();
    assert_eq!(err.retry_after(), Some(Duration::from_secs(3600)));
    assert_eq!(server.asked().len(), 1);
    expect!["openai limits the request rate, and asks for a pause of 3600 s: wait and try again, or ask less (HTTP 429: {})"].assert_eq(&err.to_string());
    let limited = Reply::with_headers(429, "retry-after-ms: 5\r\n", b"{}");
    assert_eq!(ask("openai/m", [limited, Reply::data(DONE)]).await.unwrap().text, "ok");
    // Gemini sends it in the body.
    let body = r#"[{"error":{"code":429,"message":"slow down","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"61.5s"}]}}]"#;
    let err = ask("gemini/m", [Reply::new(429, "application/json", body)]).await.unwrap_err();
    assert_eq!(err.retry_after(), Some(Duration::from_millis(61_500)));
}

#[tokio::test]
async fn each_further_attempt_is_told_of_before_its_pause() {
    let limited = Reply::with_headers(429, "retry-after-ms: 7\r\n", b"slow down");
    let server = Server::start([limited, failing(500, "boom"), Reply::data(DONE)]);
    let bounds = ModelAnswerBounds { retries_max: 2, ..bounds() };
    let model = server.provider_with("openai/m", bounds);
    let mut retries = Vec::new();
    let answer = model.respond(ModelRequest::from_user_text("x")).await.unwrap();
    let answer = answer.collect_with_retries(|retry| retries.push(retry)).await.unwrap();
    assert_eq!(answer.text, "ok");
    let retry_text = |retry: &ModelRetry| {
        let ModelRetry { error, pause, attempt, attempts_max } = retry;
        format!("{}: {} ms, {attempt} of {attempts_max}\n", error.cause(), pause.as_millis())
    };
    expect![[r#"
        openai limits the request rate (HTTP 429: slow down): 7 ms, 2 of 3
        openai cannot answer at the moment (HTTP 500: boom): 2 ms, 3 of 3
    "#]]
    .assert_eq(&retries.iter().map(retry_text).collect::<String>());
}

#[tokio::test]
async fn errors_within_a_stream_are_errors() {
    let overloaded =
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    check(
        "anthropic/m",
        Reply::events(&[("error", overloaded)]),
        expect!["anthropic cannot answer at the moment: try again later (Overloaded)"],
    )
    .await;
    let refused = r#"{"error":{"message":"bad field","type":"invalid_request_error"}}"#;
    check(
        "openai/m",
        Reply::data(&[refused]),
        expect!["openai did not take the request: check the model's name and base_url (bad field)"],
    )
    .await;
    let filtered = r#"{"choices":[{"delta":{"content":"x"},"finish_reason":"content_filter"}]}"#;
    check("openai/m", Reply::data(&[filtered, "[DONE]"]), expect!["the model refused to answer: say it differently, or take another model (content_filter)"]).await;
    let blocked = r#"{"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{}}"#;
    check("gemini/m", Reply::data(&[blocked]), expect!["the model refused to answer: say it differently, or take another model (the request was blocked)"]).await;
}

#[tokio::test]
async fn answers_of_another_form_are_told_apart() {
    let page = "<html>\n\n<body>Welcome</body></html>";
    check("openai/m", Reply::new(200, "text/html", page), expect!["openai answered something that cannot be read: check that base_url speaks its format (no events came)"]).await;
    check("ollama/m", Reply::new(200, "text/html", page), expect!["ollama answered something that cannot be read: check that base_url speaks its format (not JSON: expected value at line 1 column 1)"]).await;
    check("openai/m", Reply::data(&["{\"choices\": [nonsense"]), expect!["openai answered something that cannot be read: check that base_url speaks its format (not JSON: expected ident at line 1 column 15)"]).await;
    check(
        "openai/m",
        Reply::new(200, "application/json", r#"{"choices":[{"message":{"content":"x"}}]}"#),
        expect!["openai answered something that cannot be read: check that base_url speaks its format (no events came)"],
    )
    .await;
    check(
        "anthropic/m",
        Reply::events(&[("content_block_delta", "{\"delta\":{}}")]),
        expect![[r#"anthropic answered something that cannot be read: check that base_url speaks its format (JSON value extension error: PropertyNotFound("/delta/text"))"#]],
    )
    .await;
    let zipped = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xff, 0xfe];
    check(
        "openai/m",
        Reply::with_headers(
            200,
            "content-type: text/event-stream\r\ncontent-encoding: gzip\r\n",
            &zipped,
        ),
        expect!["openai answered something that cannot be read: check that base_url speaks its format (invalid utf-8 sequence of 1 bytes from index 1)"],
    )
    .await;
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_no_answer() {
    let half = r#"{"choices":[{"delta":{"content":"ha"}}]}"#;
    let gemini = r#"{"candidates":[{"content":{"parts":[{"text":"ha"}]}}]}"#;
    let chunked = "content-type: text/event-stream\r\ntransfer-encoding: chunked\r\n";
    let body = format!("data: {half}\n\n");
    let broken = format!("{:x}\r\n{body}\r\nff\r\ndata", body.len());
    for (model, reply) in [
        ("openai/m", Reply::data(&[half])),
        ("openai/m", Reply::with_headers(200, chunked, broken.as_bytes())),
        ("gemini/m", Reply::data(&[gemini])),
        (
            "ollama/m",
            Reply::new(
                200,
                "application/x-ndjson",
                "{\"message\":{\"content\":\"ha\"},\"done\":false}\n",
            ),
        ),
        (
            "anthropic/m",
            Reply::events(&[
                ("content_block_start", r#"{"index":0,"content_block":{"type":"text","text":""}}"#),
                ("content_block_delta", r#"{"index":0,"delta":{"text":"ha"}}"#),
            ]),
        ),
    ] {
        let server = Server::start(vec![reply; 2]);
        let mut answer =
            server.provider(model).respond(ModelRequest::from_user_text("x")).await.unwrap();
        assert_eq!(answer.next().await, Some(Ok(ModelEvent::Text("ha".to_owned()))), "{model}");
        assert_eq!(answer.next().await, Some(Err(ModelError::CutOff)), "{model}");
        assert_eq!(answer.next().await, None, "{model}");
        assert_eq!(server.asked().len(), 1, "{model}: nothing is tried again once something came");
    }
}

#[tokio::test]
async fn an_event_that_breaks_off_is_no_answer() {
    let half = "data: {\"choices\":[{\"delta\":{\"content\":\"ha";
    let reply = Reply::new(200, "text/event-stream", half);
    check("openai/m", reply, expect!["the answer broke off before its end: try again"]).await;
    let reply = Reply::new(200, "application/x-ndjson", "{\"message\":{\"content\":\"ha");
    check("ollama/m", reply, expect!["the answer broke off before its end: try again"]).await;
}

#[tokio::test]
async fn silence_ends_an_answer() {
    let idle = Duration::from_millis(40);
    let bounds = ModelAnswerBounds { idle, retries_max: 1, ..bounds() };
    let silent = Reply::with_headers(200, "", b"").stalling();
    let half = Reply::data(&[r#"{"choices":[{"delta":{"content":"ha"}}]}"#]).stalling();
    for (replies, attempts) in [(vec![silent; 2], 2), (vec![half], 1)] {
        let server = Server::start(replies);
        let err =
            whole(&server.provider_with("openai/m", bounds), ModelRequest::from_user_text("x"))
                .await;
        assert_eq!(err, Err(ModelError::Idle(idle)));
        assert_eq!(server.asked().len(), attempts);
    }
}

#[tokio::test]
async fn a_flood_without_an_event_is_silence() {
    let idle = Duration::from_millis(40);
    let bounds = ModelAnswerBounds { idle, retries_max: 0, ..bounds() };
    let half = r#"{"choices":[{"delta":{"content":"ha"}}]}"#;
    for (model, reply) in [
        ("openai/m", Reply::data(&[half])),
        ("ollama/m", Reply::new(200, "application/x-ndjson", "")),
        ("anthropic/m", Reply::new(500, "text/plain", "")),
    ] {
        let server = Server::start([reply.flooding()]);
        let err =
            whole(&server.provider_with(model, bounds), ModelRequest::from_user_text("x")).await;
        assert_eq!(err, Err(ModelError::Idle(idle)), "{model}");
    }
}

#[tokio::test]
async fn an_empty_answer_is_whole() {
    let empty = r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#;
    let answer = ask("openai/m", [Reply::data(&[empty, "[DONE]"])]).await.unwrap();
    assert_eq!((answer.text.as_str(), answer.stop), ("", haft_model::ModelStopReason::Done));
}

#[tokio::test]
async fn an_answer_has_one_time_for_everything() {
    let total = Duration::from_millis(60);
    let bounds = ModelAnswerBounds { total, ..bounds() };
    let server = Server::start([Reply::data(&[]).stalling()]);
    let err =
        whole(&server.provider_with("openai/m", bounds), ModelRequest::from_user_text("x")).await;
    assert_eq!(err, Err(ModelError::Timeout(total)));
}

#[tokio::test]
async fn cancelling_ends_an_answer() {
    let half = Reply::data(&[r#"{"choices":[{"delta":{"content":"ha"}}]}"#]).stalling();
    let server = Server::start([half]);
    let request = ModelRequest::from_user_text("x");
    let cancellation = request.cancellation.clone();
    let mut answer = server.provider("openai/m").respond(request).await.unwrap();
    assert_eq!(answer.next().await, Some(Ok(ModelEvent::Text("ha".to_owned()))));
    cancellation.cancel();
    assert_eq!(answer.next().await, Some(Err(ModelError::Cancelled)));
}

#[tokio::test]
async fn a_huge_answer_is_given_up() {
    let piece = json!({"choices": [{"delta": {"content": "x".repeat(1000)}}]}).to_string();
    let bounds = ModelAnswerBounds { answer_bytes_max: 10_000, ..bounds() };
    let server = Server::start([Reply::data(&[piece.as_str(); 11])]);
    let err =
        whole(&server.provider_with("openai/m", bounds), ModelRequest::from_user_text("x")).await;
    assert_eq!(err, Err(ModelError::TooLong));
    let most: Vec<&str> = vec![piece.as_str(); 10].into_iter().chain(["[DONE]"]).collect();
    let server = Server::start([Reply::data(&most)]);
    let answer =
        whole(&server.provider_with("openai/m", bounds), ModelRequest::from_user_text("x")).await;
    assert_eq!(answer.unwrap().text.len(), 10_000);
}

#[tokio::test]
async fn numbers_beyond_all_counting_end_nothing() {
    let line = json!({"message": {"content": "x"}, "done": true, "done_reason": "stop", "prompt_eval_count": i32::MAX, "eval_count": i32::MAX});
    let answer =
        ask("ollama/m", [Reply::new(200, "application/x-ndjson", &format!("{line}\n"))]).await;
    assert!(matches!(answer, Ok(_) | Err(ModelError::BadAnswer { .. })), "{answer:?}");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_a_network_error() {
    let bounds = ModelAnswerBounds { retries_max: 0, ..bounds() };
    // Dropping the server closes the listener.
    let model = Server::start([]).provider_with("openai/m", bounds);
    let err = whole(&model, ModelRequest::from_user_text("x")).await.unwrap_err();
    assert!(matches!(err, ModelError::Network { .. }), "{err:?}");
    // The message shows the wrong address.
    assert!(err.to_string().contains("(127.0.0.1:"), "{err}");
}
