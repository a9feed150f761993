//! The scripted server with the real client: the client decodes each kind of reply as intended.
//! Tests that use the server rely on this.

use haft_model::{
    Model, ModelAnswer, ModelAnswerBounds, ModelError, ModelEvent, ModelMessage, ModelRequest,
    ModelStopReason, ModelUsage, ToolCall, ToolCallArguments, ToolOffer,
};
use haft_scripted_model::{
    ModelScript, ReplyCondition, ReplyPart, ScriptedReply, ScriptedToolCall, WireProtocol,
};
use serde_json::json;

use crate::server::{Server, bounds, whole};

/// The protocols that agents are tested with.
const WIRES: [WireProtocol; 2] = [WireProtocol::OpenAi, WireProtocol::Anthropic];

fn model(wire: WireProtocol) -> String {
    format!("{}/test", wire.provider())
}

async fn ask(wire: WireProtocol, reply: ScriptedReply) -> Result<ModelAnswer, ModelError> {
    let server = Server::of(ModelScript::from_replies([reply]));
    let bounds = ModelAnswerBounds { retries_max: 0, ..bounds() };
    whole(&server.provider_with(&model(wire), bounds), ModelRequest::from_user_text("hello")).await
}

#[tokio::test]
async fn texts_thoughts_and_calls_come_back() {
    let usage = haft_scripted_model::ScriptedUsage {
        input: 9,
        output: 7,
        reasoning: 2,
        cache_read: 5,
        cache_write: 0,
    };
    let malformed = ScriptedToolCall {
        tool: "read".to_owned(),
        id: Some("own".to_owned()),
        input: json!({}),
        input_text: Some("{\"path\": oops".to_owned()),
    };
    for wire in WIRES {
        let reply = ScriptedReply::new()
            .reasoning("Where may it be? It may be anywhere in the tree.")
            .text("I look for it, and then I tell you – «soon».")
            .call("read", json!({"path": "a.txt"}))
            .call("grep", json!({"pattern": "x"}))
            .part(ReplyPart::Call(malformed.clone()))
            .usage(usage);
        let server = Server::of(ModelScript::from_replies([reply]));
        let mut answer = server
            .provider(&model(wire))
            .respond(ModelRequest::from_user_text("hi"))
            .await
            .unwrap();
        let (mut thoughts, mut text, mut inputs, mut calls) =
            (String::new(), String::new(), String::new(), vec![]);
        let mut end = None;
        while let Some(event) = answer.next().await {
            match event.unwrap() {
                ModelEvent::Reasoning(piece) => thoughts += &piece,
                ModelEvent::Text(piece) => text += &piece,
                ModelEvent::ToolInput { text, .. } => inputs += &text,
                ModelEvent::ToolCall(call) => calls.push(call),
                ModelEvent::End(one) => end = Some(one),
                ModelEvent::Retry(retry) => panic!("{wire:?}: {retry:?}"),
            }
        }
        assert_eq!(thoughts, "Where may it be? It may be anywhere in the tree.", "{wire:?}");
        assert_eq!(text, "I look for it, and then I tell you – «soon».", "{wire:?}");
        assert_eq!(inputs, "{\"path\":\"a.txt\"}{\"pattern\":\"x\"}{\"path\": oops", "{wire:?}");
        let call = |id: &str, name: &str, arguments| ToolCall {
            id: id.to_owned(),
            name: name.to_owned(),
            arguments,
            signatures: Vec::new(),
        };
        assert_eq!(
            calls[..2],
            [
                call("c1", "read", ToolCallArguments::Object(json!({"path": "a.txt"}))),
                call("c2", "grep", ToolCallArguments::Object(json!({"pattern": "x"}))),
            ],
            "{wire:?}"
        );
        assert_eq!(calls[2].id, "own");
        assert!(matches!(&calls[2].arguments, ToolCallArguments::Malformed { .. }), "{wire:?}");
        let end = end.unwrap();
        assert_eq!(end.stop, ModelStopReason::ToolCalls, "{wire:?}");
        // Anthropic's protocol does not count reasoning separately.
        let expected = match wire {
            WireProtocol::Anthropic => {
                ModelUsage { input: 9, output: 9, reasoning: 0, cache_read: 5, cache_write: 0 }
            }
            WireProtocol::OpenAi | WireProtocol::Gemini | WireProtocol::Ollama => {
                ModelUsage { input: 9, output: 7, reasoning: 2, cache_read: 5, cache_write: 0 }
            }
        };
        assert_eq!(end.usage, expected, "{wire:?}");
    }
}

#[tokio::test]
async fn all_wires_carry_texts_and_calls() {
    for wire in WireProtocol::ALL {
        let reply = ScriptedReply::new()
            .text("I look for it everywhere.")
            .call("read", json!({"path": "a"}));
        let answer = ask(wire, reply).await.unwrap();
        assert_eq!(answer.text, "I look for it everywhere.", "{wire:?}");
        assert_eq!(answer.stop, ModelStopReason::ToolCalls, "{wire:?}");
        let [call] = &answer.tool_calls[..] else { panic!("{wire:?}: {answer:?}") };
        assert_eq!(call.arguments, ToolCallArguments::Object(json!({"path": "a"})), "{wire:?}");
        assert_eq!((answer.usage.input, answer.usage.output), (30, 4), "{wire:?}");
    }
}

#[tokio::test]
async fn ends_and_failures_come_back() {
    for wire in WIRES {
        use haft_scripted_model::ReplyStopReason as Ends;
        let cut = ask(wire, ScriptedReply::new().text("a long story").stopping(Ends::Length)).await;
        assert_eq!(cut.unwrap().stop, ModelStopReason::Length, "{wire:?}");
        let refused = ask(wire, ScriptedReply::new().text("I").stopping(Ends::Refused)).await;
        assert!(matches!(refused, Err(ModelError::Refused { .. })), "{wire:?}: {refused:?}");
        let broken = ask(wire, ScriptedReply::new().text("half").breaking_off()).await;
        assert_eq!(broken, Err(ModelError::CutOff), "{wire:?}");
        let empty = ask(wire, ScriptedReply::new()).await.unwrap();
        assert_eq!((empty.text.as_str(), empty.stop), ("", ModelStopReason::Done), "{wire:?}");
        let limited = ask(wire, ScriptedReply::failure(429, "slow down")).await;
        assert!(matches!(limited, Err(ModelError::RateLimited { .. })), "{wire:?}: {limited:?}");
        let long = ask(wire, ScriptedReply::failure(400, "prompt is too long: 9 tokens")).await;
        assert!(matches!(long, Err(ModelError::ContextTooLong { .. })), "{wire:?}: {long:?}");
        let unforeseen = ScriptedReply::new()
            .when(ReplyCondition { last: Some("bye".to_owned()), ..ReplyCondition::default() });
        let unforeseen = ask(wire, unforeseen).await.unwrap_err().to_string();
        assert!(unforeseen.contains("no reply for this request"), "{wire:?}: {unforeseen}");
    }
}

#[tokio::test]
async fn replies_are_chosen_by_what_is_asked() {
    let offer = |name: &str| ToolOffer {
        name: name.to_owned(),
        description: "a tool".to_owned(),
        parameters: json!({"type": "object"}),
    };
    for wire in WireProtocol::ALL {
        let text = |text: &str| Some(text.to_owned());
        let server = Server::of(ModelScript::from_replies([
            ScriptedReply::new()
                .text("result")
                .when(ReplyCondition { last: text("forty-two"), ..ReplyCondition::default() }),
            ScriptedReply::new()
                .text("system")
                .when(ReplyCondition { system: text("be brief"), ..ReplyCondition::default() }),
            ScriptedReply::new().text("tools").when(ReplyCondition {
                offers: vec!["read".to_owned()],
                lacks: vec!["write".to_owned()],
                ..ReplyCondition::default()
            }),
            ScriptedReply::new()
                .text("model")
                .when(ReplyCondition { model: text("other"), ..ReplyCondition::default() }),
            ScriptedReply::new()
                .text("said")
                .when(ReplyCondition { said: text("question"), ..ReplyCondition::default() }),
        ]));
        let answer_to = async |model: &str, request: ModelRequest| {
            let name = format!("{}/{model}", wire.provider());
            whole(&server.provider(&name), request).await.unwrap().text
        };
        let plain = || ModelRequest::from_user_text("a question");
        assert_eq!(answer_to("m", plain()).await, "said", "{wire:?}");
        assert_eq!(answer_to("other", plain()).await, "model", "{wire:?}");
        let with = |tools: &[&str]| ModelRequest {
            tools: tools.iter().map(|name| offer(name)).collect(),
            ..plain()
        };
        assert_eq!(answer_to("m", with(&["grep", "read"])).await, "tools", "{wire:?}");
        let system = ModelRequest { system: Some("Please be brief.".to_owned()), ..plain() };
        assert_eq!(answer_to("m", system).await, "system", "{wire:?}");
        let mut results = plain();
        let call = |id: &str| ToolCall {
            id: id.to_owned(),
            name: "read".to_owned(),
            arguments: ToolCallArguments::Object(json!({})),
            signatures: Vec::new(),
        };
        let tool_calls = vec![call("a"), call("b")];
        results.messages.push(ModelMessage::Assistant { text: "hm".to_owned(), tool_calls });
        for (id, text) in [("a", "forty-two"), ("b", "nothing")] {
            let (call_id, name, text) = (id.to_owned(), "read".to_owned(), text.to_owned());
            results.messages.push(ModelMessage::ToolResult {
                call_id,
                name,
                text,
                images: Vec::new(),
            });
        }
        assert_eq!(answer_to("m", results).await, "result", "{wire:?}");
    }
}
