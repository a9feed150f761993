//! A server that answers each request with the next reply of its script, byte for byte, and keeps what it was asked.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use haft_model::{Answer, Bounds, Model, ModelError, Provider, Request, Settings};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

pub(crate) const KEY: &str = "sk-live-0123456789abcdefghijklmnop";

/// What is sent, and whether the connection is closed then.
#[derive(Clone)]
pub(crate) struct Reply {
    bytes: Vec<u8>,
    ending: Ending,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    Close,
    /// Says nothing more, and does not hang up.
    Stall,
    /// Goes on for ever with something that never becomes an event.
    Flood,
}

impl Reply {
    pub(crate) fn new(status: u16, content_type: &str, body: &str) -> Self {
        Self::with_headers(status, &format!("content-type: {content_type}\r\n"), body.as_bytes())
    }

    pub(crate) fn with_headers(status: u16, headers: &str, body: &[u8]) -> Self {
        let head = format!("HTTP/1.1 {status} Text\r\n{headers}connection: close\r\n\r\n");
        Self { bytes: [head.as_bytes(), body].concat(), ending: Ending::Close }
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

    pub(crate) fn stalling(mut self) -> Self {
        self.ending = Ending::Stall;
        self
    }

    pub(crate) fn flooding(mut self) -> Self {
        self.ending = Ending::Flood;
        self
    }
}

pub(crate) struct Server {
    pub(crate) url: String,
    asked: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Server {
    pub(crate) async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let replies: Vec<Reply> = replies.into_iter().collect();
        let kept = Arc::clone(&asked);
        tokio::spawn(async move {
            for reply in replies {
                let Ok((stream, _)) = listener.accept().await else { return };
                tokio::spawn(serve(stream, reply, Arc::clone(&kept)));
            }
        });
        Self { url, asked }
    }

    /// Returns head and body of each request.
    pub(crate) fn asked(&self) -> Vec<(String, Value)> {
        self.asked.lock().unwrap().clone()
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
    let server = Server::start(replies).await;
    whole(&server.provider(model), Request::of_user("hello")).await
}

pub(crate) async fn whole(model: &dyn Model, request: Request) -> Result<Answer, ModelError> {
    model.respond(request).await?.collect().await
}

async fn serve(mut stream: TcpStream, reply: Reply, asked: Arc<Mutex<Vec<(String, Value)>>>) {
    let request = read_request(&mut stream).await;
    asked.lock().unwrap().push(request);
    // A client that had enough hangs up, which is no failure of the server.
    if stream.write_all(&reply.bytes).await.is_err() {
        return;
    }
    match reply.ending {
        Ending::Close => {}
        Ending::Stall => {
            let mut rest = [0; 64];
            while matches!(stream.read(&mut rest).await, Ok(count) if count > 0) {}
        }
        Ending::Flood => while stream.write_all(&[b'x'; 4096]).await.is_ok() {},
    }
}

async fn read_request(stream: &mut TcpStream) -> (String, Value) {
    let mut bytes = Vec::new();
    loop {
        let mut piece = [0; 4096];
        let count = stream.read(&mut piece).await.unwrap();
        bytes.extend_from_slice(&piece[..count]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            assert!(count > 0, "half a request: {text}");
            continue;
        };
        let length = head.to_lowercase().lines().find_map(|line| {
            line.strip_prefix("content-length:").map(|length| length.trim().parse::<usize>())
        });
        if body.len() >= length.unwrap().unwrap() {
            return (head.to_owned(), serde_json::from_str(body).unwrap());
        }
    }
}
