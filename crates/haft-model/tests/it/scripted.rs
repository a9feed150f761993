//! The scripted server, read by the client: each kind of reply comes back as what it was meant to be. Whoever tests with the
//! server relies on this.

use haft_model::{
    Answer, Arguments, Bounds, Event, Message, Model, ModelError, Request, Stop, ToolCall,
    ToolOffer, Usage,
};
use haft_scripted_model::{Call, Part, Reply, Script, When, Wire};
use serde_json::json;

use crate::server::{Server, bounds, whole};

/// The wires that agents are tested on.
const WIRES: [Wire; 2] = [Wire::OpenAi, Wire::Anthropic];

fn model(wire: Wire) -> String {
    format!("{}/test", wire.provider())
}

async fn ask(wire: Wire, reply: Reply) -> Result<Answer, ModelError> {
    let server = Server::of(Script::of([reply]));
    let bounds = Bounds { retries_max: 0, ..bounds() };
    whole(&server.provider_with(&model(wire), bounds), Request::of_user("hello")).await
}

#[tokio::test]
async fn texts_thoughts_and_calls_come_back() {
    let usage = haft_scripted_model::Usage {
        input: 9,
        output: 7,
        reasoning: 2,
        cache_read: 5,
        cache_write: 0,
    };
    let malformed = Call {
        tool: "read".to_owned(),
        id: Some("own".to_owned()),
        input: json!({}),
        input_text: Some("{\"path\": oops".to_owned()),
    };
    for wire in WIRES {
        let reply = Reply::new()
            .reasoning("Where may it be? It may be anywhere in the tree.")
            .text("I look for it, and then I tell you – «soon».")
            .call("read", json!({"path": "a.txt"}))
            .call("grep", json!({"pattern": "x"}))
            .part(Part::Call(malformed.clone()))
            .usage(usage);
        let server = Server::of(Script::of([reply]));
        let mut answer =
            server.provider(&model(wire)).respond(Request::of_user("hi")).await.unwrap();
        let (mut thoughts, mut text, mut inputs, mut calls) =
            (String::new(), String::new(), String::new(), vec![]);
        let mut end = None;
        while let Some(event) = answer.next().await {
            match event.unwrap() {
                Event::Reasoning(piece) => thoughts += &piece,
                Event::Text(piece) => text += &piece,
                Event::ToolInput { text, .. } => inputs += &text,
                Event::ToolCall(call) => calls.push(call),
                Event::End(one) => end = Some(one),
                Event::Retry(retry) => panic!("{wire:?}: {retry:?}"),
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
                call("c1", "read", Arguments::Object(json!({"path": "a.txt"}))),
                call("c2", "grep", Arguments::Object(json!({"pattern": "x"}))),
            ],
            "{wire:?}"
        );
        assert_eq!(calls[2].id, "own");
        assert!(matches!(&calls[2].arguments, Arguments::Malformed { .. }), "{wire:?}");
        let end = end.unwrap();
        assert_eq!(end.stop, Stop::ToolCalls, "{wire:?}");
        // Anthropic's wire does not tell thoughts apart.
        let expected = match wire {
            Wire::Anthropic => {
                Usage { input: 9, output: 9, reasoning: 0, cache_read: 5, cache_write: 0 }
            }
            Wire::OpenAi | Wire::Gemini | Wire::Ollama => {
                Usage { input: 9, output: 7, reasoning: 2, cache_read: 5, cache_write: 0 }
            }
        };
        assert_eq!(end.usage, expected, "{wire:?}");
    }
}

#[tokio::test]
async fn all_wires_carry_texts_and_calls() {
    for wire in Wire::ALL {
        let reply =
            Reply::new().text("I look for it everywhere.").call("read", json!({"path": "a"}));
        let answer = ask(wire, reply).await.unwrap();
        assert_eq!(answer.text, "I look for it everywhere.", "{wire:?}");
        assert_eq!(answer.stop, Stop::ToolCalls, "{wire:?}");
        let [call] = &answer.tool_calls[..] else { panic!("{wire:?}: {answer:?}") };
        assert_eq!(call.arguments, Arguments::Object(json!({"path": "a"})), "{wire:?}");
        assert_eq!((answer.usage.input, answer.usage.output), (30, 4), "{wire:?}");
    }
}

#[tokio::test]
async fn ends_and_failures_come_back() {
    for wire in WIRES {
        use haft_scripted_model::Stop as Ends;
        let cut = ask(wire, Reply::new().text("a long story").stopping(Ends::Length)).await;
        assert_eq!(cut.unwrap().stop, Stop::Length, "{wire:?}");
        let refused = ask(wire, Reply::new().text("I").stopping(Ends::Refused)).await;
        assert!(matches!(refused, Err(ModelError::Refused { .. })), "{wire:?}: {refused:?}");
        let broken = ask(wire, Reply::new().text("half").breaking_off()).await;
        assert_eq!(broken, Err(ModelError::CutOff), "{wire:?}");
        let empty = ask(wire, Reply::new()).await.unwrap();
        assert_eq!((empty.text.as_str(), empty.stop), ("", Stop::Done), "{wire:?}");
        let limited = ask(wire, Reply::failure(429, "slow down")).await;
        assert!(matches!(limited, Err(ModelError::RateLimited { .. })), "{wire:?}: {limited:?}");
        let long = ask(wire, Reply::failure(400, "prompt is too long: 9 tokens")).await;
        assert!(matches!(long, Err(ModelError::ContextTooLong { .. })), "{wire:?}: {long:?}");
        let unforeseen =
            Reply::new().when(When { last: Some("bye".to_owned()), ..When::default() });
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
    for wire in Wire::ALL {
        let text = |text: &str| Some(text.to_owned());
        let server = Server::of(Script::of([
            Reply::new().text("result").when(When { last: text("forty-two"), ..When::default() }),
            Reply::new().text("system").when(When { system: text("be brief"), ..When::default() }),
            Reply::new().text("tools").when(When {
                offers: vec!["read".to_owned()],
                lacks: vec!["write".to_owned()],
                ..When::default()
            }),
            Reply::new().text("model").when(When { model: text("other"), ..When::default() }),
            Reply::new().text("said").when(When { said: text("question"), ..When::default() }),
        ]));
        let told = async |model: &str, request: Request| {
            let name = format!("{}/{model}", wire.provider());
            whole(&server.provider(&name), request).await.unwrap().text
        };
        let plain = || Request::of_user("a question");
        assert_eq!(told("m", plain()).await, "said", "{wire:?}");
        assert_eq!(told("other", plain()).await, "model", "{wire:?}");
        let with = |tools: &[&str]| Request {
            tools: tools.iter().map(|name| offer(name)).collect(),
            ..plain()
        };
        assert_eq!(told("m", with(&["grep", "read"])).await, "tools", "{wire:?}");
        let system = Request { system: Some("Please be brief.".to_owned()), ..plain() };
        assert_eq!(told("m", system).await, "system", "{wire:?}");
        let mut results = plain();
        let call = |id: &str| ToolCall {
            id: id.to_owned(),
            name: "read".to_owned(),
            arguments: Arguments::Object(json!({})),
            signatures: Vec::new(),
        };
        let tool_calls = vec![call("a"), call("b")];
        results.messages.push(Message::Assistant { text: "hm".to_owned(), tool_calls });
        for (id, text) in [("a", "forty-two"), ("b", "nothing")] {
            let (call_id, name, text) = (id.to_owned(), "read".to_owned(), text.to_owned());
            results.messages.push(Message::ToolResult { call_id, name, text });
        }
        assert_eq!(told("m", results).await, "result", "{wire:?}");
    }
}
