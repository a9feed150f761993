//! Servers that answer each request with the next reply of a script, byte for byte, and keep what they were asked.

use std::time::Duration;

use haft_model::{Answer, Bounds, Model, ModelError, Provider, Request, Settings};
use haft_scripted_model::{Script, ScriptedServer};
use serde_json::Value;

pub(crate) const KEY: &str = "sk-live-0123456789abcdefghijklmnop";

/// What is sent, and what follows it.
#[derive(Clone)]
pub(crate) struct Reply {
    bytes: Vec<u8>,
    reply: haft_scripted_model::Reply,
}

impl Reply {
    pub(crate) fn new(status: u16, content_type: &str, body: &str) -> Self {
        Self::with_headers(status, &format!("content-type: {content_type}\r\n"), body.as_bytes())
    }

    pub(crate) fn with_headers(status: u16, headers: &str, body: &[u8]) -> Self {
        let head = format!("HTTP/1.1 {status} Text\r\n{headers}connection: close\r\n\r\n");
        let bytes = [head.as_bytes(), body].concat();
        Self { reply: haft_scripted_model::Reply::raw(bytes.clone()), bytes }
    }

    /// A stream of server-sent events, each a name (or none) and its data.
    pub(crate) fn events(events: &[(&str, &str)]) -> Self {
        let mut body = String::new();
        for (name, data) in events {
            if !name.is_empty() {
                body.push_str(&format!("event: {name}\n"));
            }
            body.push_str(&format!("data: {data}\n\n"));
        }
        Self::new(200, "text/event-stream", &body)
    }

    /// Events without names.
    pub(crate) fn data(data: &[&str]) -> Self {
        Self::events(&data.iter().map(|data| ("", *data)).collect::<Vec<_>>())
    }

    /// Returns all that is sent.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Says nothing more, and does not hang up.
    pub(crate) fn stalling(self) -> Self {
        Self { reply: self.reply.stalling(), ..self }
    }

    /// Goes on for ever with something that never becomes an event.
    pub(crate) fn flooding(self) -> Self {
        Self { reply: self.reply.flooding(), ..self }
    }
}

pub(crate) struct Server {
    pub(crate) url: String,
    server: ScriptedServer,
}

impl Server {
    pub(crate) fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self::of(Script::of(replies.into_iter().map(|reply| reply.reply)))
    }

    pub(crate) fn of(script: Script) -> Self {
        let server = ScriptedServer::start(script).unwrap();
        Self { url: format!("http://{}/", server.address()), server }
    }

    /// Returns head and body of each request.
    pub(crate) fn asked(&self) -> Vec<(String, Value)> {
        self.server.requests().into_iter().map(|request| (request.head, request.body)).collect()
    }

    pub(crate) fn provider(&self, model: &str) -> Provider {
        self.provider_with(model, bounds())
    }

    pub(crate) fn provider_with(&self, model: &str, bounds: Bounds) -> Provider {
        let settings = Settings {
            model: model.to_owned(),
            base_url: Some(self.url.clone()),
            key_variable: Some("TEST_KEY".to_owned()),
            authorities: None,
            bounds,
        };
        Provider::open(&settings, &|_| Some(KEY.to_owned())).unwrap()
    }
}

/// Bounds that no test waits for, but for those that are about them.
pub(crate) fn bounds() -> Bounds {
    Bounds {
        backoff_first: Duration::from_millis(1),
        backoff_max: Duration::from_millis(50),
        ..Bounds::default()
    }
}

/// Asks `model` of a server with this script.
pub(crate) async fn ask(
    model: &str,
    replies: impl IntoIterator<Item = Reply>,
) -> Result<Answer, ModelError> {
    let server = Server::start(replies);
    whole(&server.provider(model), Request::of_user("hello")).await
}

pub(crate) async fn whole(model: &dyn Model, request: Request) -> Result<Answer, ModelError> {
    model.respond(request).await?.collect().await
}
