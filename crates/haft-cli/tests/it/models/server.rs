//! A server on this machine that speaks a provider's wire: it answers each request with the next reply of its script and
//! keeps what it was asked.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Condvar, Mutex};

use serde_json::{Value, json};

use crate::world::World;

/// The key that requests carry, and that nothing else may.
pub(crate) const KEY: &str = "sk-live-0123456789abcdefghijklmnop";

/// What was asked: the head of the request, and its body.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) head: String,
    pub(crate) body: Value,
}

impl Asked {
    /// Returns all that the model was told, whatever the wire.
    pub(crate) fn text(&self) -> String {
        self.body.to_string()
    }
}

/// The wires that are spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    OpenAi,
    Anthropic,
    Gemini,
    Ollama,
}

impl Wire {
    pub(crate) const ALL: [Self; 4] = [Self::OpenAi, Self::Anthropic, Self::Gemini, Self::Ollama];

    pub(crate) fn provider(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
        }
    }

    /// Returns a whole answer of this text, in two pieces.
    pub(crate) fn reply(self, text: &str) -> Vec<u8> {
        let (first, second) = text.split_at(text.floor_char_boundary(text.len() / 2));
        match self {
            Self::OpenAi => events(&[
                json!({"choices": [{"delta": {"content": first}}]}),
                json!({"choices": [{"delta": {"content": second}, "finish_reason": "stop"}]}),
                json!({"choices": [], "usage": {"prompt_tokens": 30, "completion_tokens": 4, "total_tokens": 34}}),
            ]),
            Self::Anthropic => {
                let piece = |text: &str| json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}});
                events(&[
                    json!({"type": "message_start", "message": {"usage": {"input_tokens": 30, "output_tokens": 1}}}),
                    json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
                    piece(first),
                    piece(second),
                    json!({"type": "content_block_stop", "index": 0}),
                    json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 4}}),
                    json!({"type": "message_stop"}),
                ])
            }
            Self::Gemini => events(&[
                json!({"candidates": [{"content": {"parts": [{"text": first}]}}]}),
                json!({"candidates": [{"content": {"parts": [{"text": second}]}, "finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 30, "candidatesTokenCount": 4, "totalTokenCount": 34}}),
            ]),
            Self::Ollama => {
                let lines = [
                    json!({"message": {"content": first}, "done": false}),
                    json!({"message": {"content": second}, "done": true, "done_reason": "stop", "prompt_eval_count": 30, "eval_count": 4}),
                ];
                let body: String = lines.iter().map(|line| format!("{line}\n")).collect();
                http(200, "application/x-ndjson", &body)
            }
        }
    }
}

/// Events as OpenAI sends them, and as the others do if an event says its type.
fn events(events: &[Value]) -> Vec<u8> {
    let mut body = String::new();
    for event in events {
        if let Some(name) = event["type"].as_str() {
            body.push_str(&format!("event: {name}\n"));
        }
        body.push_str(&format!("data: {event}\n\n"));
    }
    body.push_str("data: [DONE]\n\n");
    http(200, "text/event-stream", &body)
}

/// Returns a reply byte for byte.
pub(crate) fn http(status: u16, content_type: &str, body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 {status} Text\r\ncontent-type: {content_type}\r\nconnection: close\r\n\r\n{body}"
    )
    .into_bytes()
}

/// Returns an error as OpenAI words it.
pub(crate) fn failure(status: u16, message: &str) -> Vec<u8> {
    http(status, "application/json", &json!({"error": {"message": message}}).to_string())
}

pub(crate) struct ModelServer {
    wire: Wire,
    url: String,
    asked: Arc<Log>,
}

/// What was asked so far, for the threads of a server and of a test.
#[derive(Default)]
struct Log {
    asked: Mutex<Vec<Asked>>,
    grew: Condvar,
}

impl ModelServer {
    /// Starts a server that answers with these texts.
    pub(crate) fn saying(wire: Wire, texts: &[&str]) -> Self {
        Self::start(wire, texts.iter().map(|text| wire.reply(text)).collect())
    }

    /// Starts a server with these replies; one of no bytes is none, and the client waits for it. When they are used up,
    /// nobody listens any more.
    pub(crate) fn start(wire: Wire, replies: Vec<Vec<u8>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let asked = Arc::<Log>::default();
        let kept = Arc::clone(&asked);
        std::thread::spawn(move || {
            for reply in replies {
                let Ok((stream, _)) = listener.accept() else { return };
                serve(stream, &reply, &kept);
            }
        });
        Self { wire, url, asked }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Returns what was asked so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.asked.lock().unwrap().clone()
    }

    /// Waits until so many requests came.
    pub(crate) fn wait_for(&self, count: usize) {
        let asked = self.asked.asked.lock().unwrap();
        drop(self.asked.grew.wait_while(asked, |asked| asked.len() < count).unwrap());
    }

    /// Returns a command that asks this server, with a key.
    pub(crate) fn haft(&self, world: &World, args: &[&str]) -> Command {
        let mut command = world.haft(args);
        command
            .env("HAFT_MODEL", format!("{}/test", self.wire.provider()))
            .env("HAFT_BASE_URL", &self.url)
            .env("HAFT_KEY_VARIABLE", "TEST_KEY")
            .env("TEST_KEY", KEY);
        command
    }

    /// Runs a command that asks this server; returns all that can be seen of it, in which there is no key.
    pub(crate) fn shown(&self, world: &World, args: &[&str]) -> String {
        let shown = world.shown(&self.haft(world, args).output().unwrap());
        assert!(!shown.contains(&KEY[8..16]), "{shown}");
        shown
    }
}

fn serve(mut stream: TcpStream, reply: &[u8], log: &Log) {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    let request = loop {
        let count = stream.read(&mut piece).unwrap();
        bytes.extend_from_slice(&piece[..count]);
        if let Some(request) = whole(&bytes) {
            break request;
        }
        assert!(count > 0, "half a request: {}", String::from_utf8_lossy(&bytes));
    };
    log.asked.lock().unwrap().push(request);
    log.grew.notify_all();
    // A client that had enough hangs up, which is no failure of the server.
    let _ = stream.write_all(reply);
    while reply.is_empty() && matches!(stream.read(&mut piece), Ok(count) if count > 0) {}
}

fn whole(bytes: &[u8]) -> Option<Asked> {
    let text = String::from_utf8_lossy(bytes);
    let (head, body) = text.split_once("\r\n\r\n")?;
    let length = head.to_lowercase().lines().find_map(|line| {
        line.strip_prefix("content-length:").map(|length| length.trim().parse::<usize>().unwrap())
    });
    let is_whole = body.len() >= length.unwrap();
    is_whole.then(|| Asked { head: head.to_owned(), body: serde_json::from_str(body).unwrap() })
}
