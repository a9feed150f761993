//! Servers that answer each request with the next reply of a script, byte for byte, and record the
//! requests.

use std::time::Duration;

use haft_model::{
    Model, ModelAnswer, ModelAnswerBounds, ModelError, ModelRequest, ModelSettings, ProviderModel,
};
use haft_scripted_model::{ModelScript, ScriptedServer};
use serde_json::Value;

pub(crate) const KEY: &str = "sk-live-0123456789abcdefghijklmnop";

/// The bytes of a reply, and what follows them.
#[derive(Clone)]
pub(crate) struct Reply {
    bytes: Vec<u8>,
    reply: haft_scripted_model::ScriptedReply,
}

impl Reply {
    pub(crate) fn new(status: u16, content_type: &str, body: &str) -> Self {
        Self::with_headers(status, &format!("content-type: {content_type}\r\n"), body.as_bytes())
    }

    pub(crate) fn with_headers(status: u16, headers: &str, body: &[u8]) -> Self {
        let head = format!("HTTP/1.1 {status} Text\r\n{headers}connection: close\r\n\r\n");
        let bytes = [head.as_bytes(), body].concat();
        Self { reply: haft_scripted_model::ScriptedReply::raw(bytes.clone()), bytes }
    }

    /// A stream of server-sent events, each with an optional name and its data.
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

    /// Returns all bytes of the reply.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Sends nothing after the reply, but keeps the connection open.
    pub(crate) fn stalling(self) -> Self {
        Self { reply: self.reply.stalling(), ..self }
    }

    /// Continues forever with bytes that never form an event.
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
        Self::of(ModelScript::from_replies(replies.into_iter().map(|reply| reply.reply)))
    }

    pub(crate) fn of(script: ModelScript) -> Self {
        let server = ScriptedServer::start(script).unwrap();
        Self { url: format!("http://{}/", server.address()), server }
    }

    /// Returns the head and body of each request.
    pub(crate) fn asked(&self) -> Vec<(String, Value)> {
        self.server.requests().into_iter().map(|request| (request.head, request.body)).collect()
    }

    pub(crate) fn provider(&self, model: &str) -> ProviderModel {
        self.provider_with(model, bounds())
    }

    pub(crate) fn provider_with(&self, model: &str, bounds: ModelAnswerBounds) -> ProviderModel {
        let settings = ModelSettings {
            model: model.to_owned(),
            base_url: Some(self.url.clone()),
            key_variable: Some("TEST_KEY".to_owned()),
            images: None,
            authorities: None,
            bounds,
        };
        ProviderModel::open(&settings, &|_| Some(KEY.to_owned())).unwrap()
    }
}

/// Limits that tests do not reach, except those about limits.
pub(crate) fn bounds() -> ModelAnswerBounds {
    ModelAnswerBounds {
        backoff_first: Duration::from_millis(1),
        backoff_max: Duration::from_millis(50),
        ..ModelAnswerBounds::default()
    }
}

/// Asks `model` on a server with this script.
pub(crate) async fn ask(
    model: &str,
    replies: impl IntoIterator<Item = Reply>,
) -> Result<ModelAnswer, ModelError> {
    let server = Server::start(replies);
    whole(&server.provider(model), ModelRequest::from_user_text("hello")).await
}

pub(crate) async fn whole(
    model: &dyn Model,
    request: ModelRequest,
) -> Result<ModelAnswer, ModelError> {
    model.respond(request).await?.collect().await
}
