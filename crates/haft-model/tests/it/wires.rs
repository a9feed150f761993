//! The data that each protocol carries in both directions.

use expect_test::{Expect, expect};
use haft_contract::canonical_json;
use haft_model::{
    Model, ModelAnswer, ModelEvent, ModelImage, ModelMessage, ModelRequest, ModelStopReason,
    ModelUsage, ToolCall, ToolCallArguments, ToolOffer,
};
use serde_json::{Value, json};

use crate::server::{KEY, Reply, Server, whole};

fn conversation() -> ModelRequest {
    let call = ToolCall {
        id: "c1".to_owned(),
        name: "read".to_owned(),
        arguments: ToolCallArguments::parse("{\"path\":\"a.txt\"}"),
        signatures: Vec::new(),
    };
    ModelRequest {
        system: Some("be brief".to_owned()),
        messages: vec![
            ModelMessage::User("what is in it?".into()),
            ModelMessage::Assistant { text: "I look".to_owned(), tool_calls: vec![call] },
            ModelMessage::ToolResult {
                call_id: "c1".to_owned(),
                name: "read".to_owned(),
                text: "forty-two".to_owned(),
                images: Vec::new(),
            },
        ],
        tools: vec![ToolOffer {
            name: "read".to_owned(),
            description: "Read a file".to_owned(),
            parameters: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
        }],
        max_output_tokens: Some(100),
        temperature: Some(0.0),
        stop: vec!["END".to_owned()],
        ..ModelRequest::default()
    }
}

/// Sends the conversation, and compares the answer and the request.
async fn check(
    model: &str,
    reply: Reply,
    expected: ModelAnswer,
    path_and_key: (&str, &str),
    body: Expect,
) {
    let server = Server::start([reply]);
    let answer = whole(&server.provider(model), conversation()).await;
    assert_eq!(answer, Ok(expected));
    let [(head, sent)] = &server.asked()[..] else { panic!("asked once") };
    let (path, key) = path_and_key;
    assert!(head.starts_with(&format!("POST {path} HTTP/1.1")), "{head}");
    assert!(head.to_lowercase().contains(&format!("{key}{KEY}").to_lowercase()), "{head}");
    assert!(!head.to_lowercase().contains("accept-encoding"), "{head}");
    body.assert_eq(&canonical_json(sent));
}

fn read_call(id: &str, signatures: &[&str]) -> ToolCall {
    ToolCall {
        id: id.to_owned(),
        name: "read".to_owned(),
        arguments: ToolCallArguments::Object(json!({"path": "b"})),
        signatures: signatures.iter().map(|one| (*one).to_owned()).collect(),
    }
}

#[tokio::test]
async fn openai() {
    let reply = Reply::data(&[
        r#"{"choices":[{"delta":{"role":"assistant","content":"Hel"}}]}"#,
        r#"{"choices":[{"delta":{"reasoning_content":"hm"}}]}"#,
        r#"{"choices":[{"delta":{"content":"lo"}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"call_x","function":{"name":"read","arguments":""}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"path\""}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":":\"b\"}"}}]}}]}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#,
        r#"{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":7,"total_tokens":17,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":2}}}"#,
        "[DONE]",
    ]);
    let usage = ModelUsage { input: 6, output: 5, reasoning: 2, cache_read: 4, cache_write: 0 };
    let tool_calls = vec![read_call("call_x", &[])];
    let expected =
        ModelAnswer { text: "Hello".into(), tool_calls, stop: ModelStopReason::ToolCalls, usage };
    let place = ("/chat/completions", "authorization: Bearer ");
    check("openai/gpt-high", reply, expected, place, expect![[r#"{"max_tokens":100,"messages":[{"content":"be brief","role":"system"},{"content":"what is in it?","role":"user"},{"content":"I look","role":"assistant","tool_calls":[{"function":{"arguments":"{\"path\":\"a.txt\"}","name":"read"},"id":"c1","type":"function"}]},{"content":"forty-two","role":"tool","tool_call_id":"c1"}],"model":"gpt-high","stop":["END"],"stream":true,"stream_options":{"include_usage":true},"temperature":0.0,"tools":[{"function":{"description":"Read a file","name":"read","parameters":{"properties":{"path":{"type":"string"}},"type":"object"},"strict":false},"type":"function"}]}"#]]).await;
}

#[tokio::test]
async fn anthropic() {
    let reply = Reply::events(&[
        (
            "message_start",
            r#"{"type":"message_start","message":{"usage":{"input_tokens":3,"output_tokens":1,"cache_creation_input_tokens":5,"cache_read_input_tokens":2}}}"#,
        ),
        ("ping", r#"{"type":"ping"}"#),
        ("content_block_start", r#"{"index":0,"content_block":{"type":"text","text":""}}"#),
        ("content_block_delta", r#"{"index":0,"delta":{"type":"text_delta","text":"Hello"}}"#),
        ("content_block_stop", r#"{"index":0}"#),
        (
            "content_block_start",
            r#"{"index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"read","input":{}}}"#,
        ),
        (
            "content_block_delta",
            r#"{"index":1,"delta":{"type":"input_json_delta","partial_json":"{\"path\""}}"#,
        ),
        (
            "content_block_delta",
            r#"{"index":1,"delta":{"type":"input_json_delta","partial_json":":\"b\"}"}}"#,
        ),
        ("content_block_stop", r#"{"index":1}"#),
        ("message_delta", r#"{"delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}"#),
        ("message_stop", r#"{"type":"message_stop"}"#),
    ]);
    let usage = ModelUsage { input: 3, output: 9, reasoning: 0, cache_read: 2, cache_write: 5 };
    let tool_calls = vec![read_call("toolu_1", &[])];
    let expected =
        ModelAnswer { text: "Hello".into(), tool_calls, stop: ModelStopReason::ToolCalls, usage };
    check("anthropic/claude-x", reply, expected, ("/messages", "x-api-key: "), expect![[r#"{"max_tokens":100,"messages":[{"content":"what is in it?","role":"user"},{"content":[{"text":"I look","type":"text"},{"id":"c1","input":{"path":"a.txt"},"name":"read","type":"tool_use"}],"role":"assistant"},{"content":[{"content":"forty-two","tool_use_id":"c1","type":"tool_result"}],"role":"user"}],"model":"claude-x","stop_sequences":["END"],"stream":true,"system":"be brief","temperature":0.0,"tools":[{"description":"Read a file","input_schema":{"properties":{"path":{"type":"string"}},"type":"object"},"name":"read"}]}"#]])
        .await;
}

#[tokio::test]
async fn gemini() {
    let reply = Reply::data(&[
        r#"{"candidates":[{"content":{"parts":[{"text":"Hel"}]}}]}"#,
        r#"{"candidates":[{"content":{"parts":[{"text":"lo"},{"functionCall":{"name":"read","args":{"path":"b"}},"thoughtSignature":"sig"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":10,"cachedContentTokenCount":4,"candidatesTokenCount":5,"thoughtsTokenCount":2,"totalTokenCount":17}}"#,
    ]);
    let server = Server::start([reply]);
    let answer = whole(&server.provider("gemini/gem-1"), conversation()).await.unwrap();
    let usage = ModelUsage { input: 6, output: 5, reasoning: 2, cache_read: 4, cache_write: 0 };
    assert_eq!(
        (answer.text.as_str(), answer.stop, answer.usage),
        ("Hello", ModelStopReason::ToolCalls, usage)
    );
    let [call] = &answer.tool_calls[..] else { panic!("one call: {:?}", answer.tool_calls) };
    assert_eq!(call, &read_call(&call.id, &["sig"]));
    let [(head, sent)] = &server.asked()[..] else { panic!("asked once") };
    assert!(
        head.starts_with("POST /models/gem-1:streamGenerateContent?alt=sse HTTP/1.1"),
        "{head}"
    );
    assert!(head.contains(&format!("x-goog-api-key: {KEY}")), "{head}");
    expect![[r#"{"contents":[{"parts":[{"text":"what is in it?"}],"role":"user"},{"parts":[{"text":"I look"},{"functionCall":{"args":{"path":"a.txt"},"id":"c1","name":"read"}}],"role":"model"},{"parts":[{"functionResponse":{"id":"c1","name":"read","response":{"content":"forty-two","name":"read"}}}],"role":"user"}],"generationConfig":{"maxOutputTokens":100,"stopSequences":["END"],"temperature":0.0},"systemInstruction":{"parts":[{"text":"be brief"}]},"tools":[{"functionDeclarations":[{"description":"Read a file","name":"read","parametersJsonSchema":{"properties":{"path":{"type":"string"}},"type":"object"}}]}]}"#]].assert_eq(&canonical_json(sent));

    // The signature that Gemini requires is sent back with the call.
    let again = Reply::data(&[
        r#"{"candidates":[{"content":{"parts":[{"text":"ok"}]},"finishReason":"STOP"}]}"#,
    ]);
    let server = Server::start([again]);
    let mut request = ModelRequest::from_user_text("go on");
    let tool_calls = vec![read_call("r", &["sig"])];
    request.messages.push(ModelMessage::Assistant { text: String::new(), tool_calls });
    let result = ("r".to_owned(), "read".to_owned(), "b".to_owned());
    let (call_id, name, text) = result;
    request.messages.push(ModelMessage::ToolResult { call_id, name, text, images: Vec::new() });
    whole(&server.provider("gemini/gem-1"), request).await.unwrap();
    let sent = canonical_json(&server.asked()[0].1);
    assert!(sent.contains(r#""thoughtSignature":"sig""#), "{sent}");
}

#[tokio::test]
async fn ollama() {
    let lines = [
        json!({"message": {"role": "assistant", "thinking": "hm"}, "done": false}),
        json!({"message": {"content": "Hel"}, "done": false}),
        json!({"message": {"content": "lo"}, "done": false}),
        json!({"message": {"content": "", "tool_calls": [{"id": "c9", "function": {"name": "read", "arguments": {"path": "b"}}}]}, "done": false}),
        json!({"message": {"content": ""}, "done": true, "done_reason": "stop", "prompt_eval_count": 10, "eval_count": 5}),
    ];
    let body: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let usage = ModelUsage { input: 10, output: 5, ..ModelUsage::default() };
    let tool_calls = vec![read_call("c9", &[])];
    let expected =
        ModelAnswer { text: "Hello".into(), tool_calls, stop: ModelStopReason::ToolCalls, usage };
    let reply = Reply::new(200, "application/x-ndjson", &body);
    let place = ("/api/chat", "authorization: Bearer ");
    check("ollama/qwen3:8b", reply, expected, place, expect![[r#"{"messages":[{"content":"be brief","role":"system"},{"content":"what is in it?","role":"user"},{"content":"I look","role":"assistant","tool_calls":[{"function":{"arguments":{"path":"a.txt"},"name":"read"}}]},{"content":"forty-two","role":"tool"}],"model":"qwen3:8b","options":{"num_predict":100,"stop":["END"],"temperature":0.0},"stream":true,"tools":[{"function":{"description":"Read a file","name":"read","parameters":{"properties":{"path":{"type":"string"}},"type":"object"}},"type":"function"}]}"#]]).await;
}

#[tokio::test]
async fn images_of_results_follow_all_results_of_an_answer() {
    let ok =
        || Reply::data(&[r#"{"choices":[{"delta":{"content":"ok"},"finish_reason":"stop"}]}"#]);
    let check = async |model: &str, expected: Expect| {
        let server = Server::start([ok()]);
        let mut request = ModelRequest::from_user_text("look");
        let tool_calls = vec![read_call("a", &[]), read_call("b", &[])];
        request.messages.push(ModelMessage::Assistant { text: String::new(), tool_calls });
        for (id, data) in [("a", "QUJD"), ("b", "REVG")] {
            request.messages.push(ModelMessage::ToolResult {
                call_id: id.to_owned(),
                name: "view".to_owned(),
                text: format!("{id}.png"),
                images: vec![ModelImage {
                    mime_type: "image/png".to_owned(),
                    data: data.to_owned(),
                }],
            });
        }
        request.messages.push(ModelMessage::User("and?".into()));
        // Only the request matters; the reply is of one protocol.
        let _ = whole(&server.provider(model), request).await;
        let sent = &server.asked()[0].1;
        let messages = sent.get("messages").or_else(|| sent.get("contents")).unwrap();
        let lines: Vec<String> = messages.as_array().unwrap().iter().map(canonical_json).collect();
        expected.assert_eq(&lines[2..].join("\n"));
    };
    check("openai/m", expect![[r#"
        {"content":"a.png","role":"tool","tool_call_id":"a"}
        {"content":"b.png","role":"tool","tool_call_id":"b"}
        {"content":[{"text":"[haft: image in the result of view, call a]","type":"text"},{"image_url":{"url":"data:image/png;base64,QUJD"},"type":"image_url"},{"text":"[haft: image in the result of view, call b]","type":"text"},{"image_url":{"url":"data:image/png;base64,REVG"},"type":"image_url"}],"role":"user"}
        {"content":"and?","role":"user"}"#]]).await;
    check("anthropic/m", expect![[r#"
        {"content":[{"content":"a.png","tool_use_id":"a","type":"tool_result"}],"role":"user"}
        {"content":[{"content":"b.png","tool_use_id":"b","type":"tool_result"}],"role":"user"}
        {"content":[{"text":"[haft: image in the result of view, call a]","type":"text"},{"source":{"data":"QUJD","media_type":"image/png","type":"base64"},"type":"image"},{"text":"[haft: image in the result of view, call b]","type":"text"},{"source":{"data":"REVG","media_type":"image/png","type":"base64"},"type":"image"}],"role":"user"}
        {"content":"and?","role":"user"}"#]]).await;
    check("gemini/m", expect![[r#"
        {"parts":[{"functionResponse":{"id":"a","name":"view","response":{"content":"a.png","name":"view"}}},{"functionResponse":{"id":"b","name":"view","response":{"content":"b.png","name":"view"}}}],"role":"user"}
        {"parts":[{"text":"[haft: image in the result of view, call a]"},{"inline_data":{"data":"QUJD","mime_type":"image/png"}},{"text":"[haft: image in the result of view, call b]"},{"inline_data":{"data":"REVG","mime_type":"image/png"}}],"role":"user"}
        {"parts":[{"text":"and?"}],"role":"user"}"#]]).await;
    check("ollama/m", expect![[r#"
        {"content":"a.png","role":"tool"}
        {"content":"b.png","role":"tool"}
        {"content":"[haft: image in the result of view, call a][haft: image in the result of view, call b]","images":["QUJD","REVG"],"role":"user"}
        {"content":"and?","role":"user"}"#]]).await;
}

#[tokio::test]
async fn whether_a_model_sees_images_is_set_or_follows_from_its_provider() {
    let check = |model: &str, images: Option<bool>, expected: bool| {
        let settings = haft_model::ModelSettings {
            model: model.to_owned(),
            base_url: Some("http://127.0.0.1:1".to_owned()),
            images,
            ..haft_model::ModelSettings::default()
        };
        let model = haft_model::ProviderModel::open(&settings, &|_| None).unwrap();
        assert_eq!(model.takes_images(), expected, "{images:?}");
    };
    check("openai/m", None, true);
    check("openai/m", Some(false), false);
    check("ollama/m", None, false);
    check("ollama/m", Some(true), true);
}

#[tokio::test]
async fn a_server_without_a_key_is_asked_without_one() {
    let reply = Reply::data(&[
        r#"{"choices":[{"delta":{"content":"ok"},"finish_reason":"stop"}]}"#,
        "[DONE]",
    ]);
    let server = Server::start([reply]);
    let settings = haft_model::ModelSettings {
        model: "openai/local".to_owned(),
        base_url: Some(server.url.clone()),
        ..haft_model::ModelSettings::default()
    };
    let lookup = |name: &str| -> Option<String> { panic!("{name} was looked up") };
    let model = haft_model::ProviderModel::open(&settings, &lookup).unwrap();
    let answer = whole(&model, ModelRequest::from_user_text("hi")).await.unwrap();
    assert_eq!((answer.text.as_str(), answer.stop), ("ok", ModelStopReason::Done));
    let [(head, body)] = &server.asked()[..] else { panic!("asked once") };
    assert!(!head.to_lowercase().contains("authorization"), "{head}");
    assert_eq!(body["model"], Value::from("local"));
}

#[tokio::test]
async fn malformed_arguments_are_data() {
    let reply = Reply::data(&[
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"read","arguments":"{\"path\": oops"}}]},"finish_reason":"tool_calls"}]}"#,
        "[DONE]",
    ]);
    let server = Server::start([reply]);
    let answer =
        whole(&server.provider("openai/m"), ModelRequest::from_user_text("hi")).await.unwrap();
    let [call] = &answer.tool_calls[..] else { panic!("one call") };
    let ToolCallArguments::Malformed { text, problem } = &call.arguments else {
        panic!("{call:?}")
    };
    assert_eq!(text, "{\"path\": oops");
    assert!(problem.starts_with("expected a JSON object"), "{problem}");
}

#[tokio::test]
async fn an_index_from_the_provider_takes_no_room() {
    let reply = Reply::data(&[
        r#"{"choices":[{"delta":{"tool_calls":[{"index":4294967295,"id":"x","function":{"name":"read","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#,
        "[DONE]",
    ]);
    let server = Server::start([reply]);
    let answer =
        whole(&server.provider("openai/m"), ModelRequest::from_user_text("hi")).await.unwrap();
    assert_eq!(answer.tool_calls.len(), 1);
}

#[tokio::test]
async fn why_an_answer_ended_is_told() {
    for (reason, stop) in [
        ("stop", ModelStopReason::Done),
        ("length", ModelStopReason::Length),
        ("acme", ModelStopReason::Other("acme".to_owned())),
    ] {
        let chunk = json!({"choices": [{"delta": {"content": "x"}, "finish_reason": reason}]});
        let reply = Reply::data(&[&chunk.to_string(), "[DONE]"]);
        let answer = crate::server::ask("openai/m", [reply]).await.unwrap();
        assert_eq!(answer.stop, stop);
    }
}

/// Returns the pieces of the arguments of calls, and then the calls.
async fn pieces(model: &str, reply: Reply) -> String {
    let server = Server::start([reply]);
    let mut answer =
        server.provider(model).respond(ModelRequest::from_user_text("hi")).await.unwrap();
    let mut lines = String::new();
    while let Some(event) = answer.next().await {
        match event.unwrap() {
            ModelEvent::ToolInput { id, name, text } => lines += &format!("{id} {name} {text:?}\n"),
            ModelEvent::ToolCall(call) => lines += &format!("{} whole\n", call.id),
            ModelEvent::Retry(_)
            | ModelEvent::Text(_)
            | ModelEvent::Reasoning(_)
            | ModelEvent::End(_) => {}
        }
    }
    lines
}

#[tokio::test]
async fn arguments_come_in_pieces_that_add_up() {
    let openai = Reply::data(&[
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"call_x","function":{"name":"read","arguments":""}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"pa"}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":1,"id":"call_y","function":{"name":"grep","arguments":"{"}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"th\":\"b\"}"}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":1,"function":{"arguments":"}"}}]}}]}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#,
        "[DONE]",
    ]);
    expect![[r#"
        call_x read ""
        call_x read "{\"pa"
        call_y grep "{"
        call_x read "th\":\"b\"}"
        call_y grep "}"
        call_x whole
        call_y whole
    "#]]
    .assert_eq(&pieces("openai/m", openai).await);

    let block = r#"{"index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"read","input":{}}}"#;
    let delta = |text: &str| {
        json!({"index": 0, "delta": {"type": "input_json_delta", "partial_json": text}}).to_string()
    };
    let anthropic = Reply::events(&[
        ("content_block_start", block),
        ("content_block_delta", &delta("")),
        ("content_block_delta", &delta("{\"path\"")),
        ("content_block_delta", &delta(":\"b\"}")),
        ("content_block_stop", r#"{"index":0}"#),
        ("message_delta", r#"{"delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}"#),
        ("message_stop", r#"{"type":"message_stop"}"#),
    ]);
    expect![[r#"
        toolu_1 read ""
        toolu_1 read "{\"path\""
        toolu_1 read ":\"b\"}"
        toolu_1 whole
    "#]]
    .assert_eq(&pieces("anthropic/m", anthropic).await);

    let ollama = json!({"message": {"content": "", "tool_calls": [{"id": "c9", "function": {"name": "read", "arguments": {"path": "b"}}}]}, "done": true, "done_reason": "stop"});
    let ollama = Reply::new(200, "application/x-ndjson", &format!("{ollama}\n"));
    expect![[r#"
        c9 read "{\"path\":\"b\"}"
        c9 whole
    "#]]
    .assert_eq(&pieces("ollama/m", ollama).await);

    let gemini = Reply::data(&[
        r#"{"candidates":[{"content":{"parts":[{"functionCall":{"id":"g1","name":"read","args":{"path":"b"}}}]},"finishReason":"STOP"}]}"#,
    ]);
    let gemini = pieces("gemini/m", gemini).await;
    assert!(gemini.contains(r#" read "{\"path\":\"b\"}""#), "{gemini}");
}
