//! A server that runs elsewhere, over real sockets: an ordinary one of the era with a handshake but for what it answers to
//! calls. Every request is a separate connection.

use std::sync::Arc;

use haft::NetworkSettings;
use haft_contract::{BoxFuture, RequirementSet};
use haft_mcp::{McpServerSpec, McpServers, McpTransport, RemoteMcpServer, ToolListCache};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::program::{KeepsNothing, ordinary};

/// The answer to a call: the status line, and the body.
pub(crate) type Answers = dyn Fn(Value) -> BoxFuture<'static, (&'static str, String)> + Send + Sync;

/// Starts a server, and returns a configuration with it, in which it is called `odd`.
pub(crate) async fn servers(answers: Arc<Answers>) -> McpServers {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, Arc::clone(&answers)));
        }
    });
    let remote = RemoteMcpServer {
        url,
        headers: Vec::new(),
        networking: NetworkSettings::default(),
        authorization: None,
    };
    let spec = McpServerSpec {
        name: "odd".to_owned(),
        transport: McpTransport::Remote(Box::new(remote)),
        requires: RequirementSet::default(),
        directories: Vec::new(),
        writable_directories: Vec::new(),
        trusts_annotations: false,
        form_filler: None,
        failure_remedy: None,
        timeout_ms: None,
        cache_key: "odd".to_owned(),
    };
    let cache: Arc<dyn ToolListCache> = Arc::new(KeepsNothing);
    McpServers::new([spec], &cache)
}

async fn serve(mut stream: TcpStream, answers: Arc<Answers>) {
    let Some((method, message)) = asked(&mut stream).await else { return };
    let (status, body) = match message["method"].as_str() {
        Some("tools/call") => answers(message).await,
        Some(_) => match ordinary(&message) {
            Some(answer) => ("200 OK", answer.to_string()),
            None => ("202 Accepted", String::new()),
        },
        None if method == "DELETE" => ("200 OK", String::new()),
        None => ("405 Method Not Allowed", String::new()),
    };
    let kind = if body.starts_with('{') { "application/json" } else { "text/plain" };
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    // The client may be gone.
    let _ = stream.write_all(answer.as_bytes()).await;
    let _ = stream.shutdown().await;
}

/// Returns the method of a request and the message in it.
async fn asked(stream: &mut TcpStream) -> Option<(String, Value)> {
    let mut bytes = Vec::new();
    let (head, length) = loop {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, _)) = text.split_once("\r\n\r\n") {
            let field =
                |line: &str| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok();
            let length: usize = head.lines().find_map(field).unwrap_or(0);
            break (head.to_owned(), length);
        }
    };
    let start = head.len() + 4;
    while bytes.len() < start + length {
        stream.read_buf(&mut bytes).await.ok()?;
    }
    let method = head.split(' ').next().unwrap_or_default().to_owned();
    Some((method, serde_json::from_slice(&bytes[start..]).unwrap_or_default()))
}
