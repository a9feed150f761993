//! One connection from its first byte to its last: what is asked for is read, judged and then carried out. It deliberately
//! ends with the first request: each is judged on a connection of its own.

use std::io;
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio::time::timeout;

use super::client::{Client, Request};
use super::forward::Exchange;
use super::gate::{Gate, Wanted};
use super::head::{Authority, RequestHead, Target};
use super::host::Host;
use super::record::Protocol;
use super::relay::relay;
use super::socks::{self, Destination, Reply};

const CONNECTED: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";

/// Serves a connection. How it ends is in the record; an error of the client's end concerns nobody else.
pub(super) async fn serve(stream: TcpStream, gate: Arc<Gate>) {
    let _ = stream.set_nodelay(true);
    let mut client = Client::new(stream);
    let reading = client.read_request(gate.limits.head_bytes_max);
    // A client that is silent for too long is left without an answer: it has not said in which protocol.
    let Ok(request) = timeout(gate.limits.handshake(), reading).await else { return };
    let _ = match request {
        Ok(Request::Socks(request)) => serve_socks(client, &gate, request).await,
        Ok(Request::Http(request)) => serve_http(client, &gate, &request).await,
        Err(err) => match err.answer() {
            Some(answer) => {
                gate.record.count_malformed();
                client.dismiss(&answer).await
            }
            None => Ok(()),
        },
    };
}

async fn serve_socks(client: Client, gate: &Gate, request: socks::Request) -> io::Result<()> {
    let (text, host) = match request.destination {
        Destination::Name(name) => {
            let host = Host::parse(&name);
            (name, host)
        }
        Destination::Address(address) => (address.to_string(), Host::from_address(address)),
    };
    let wanted = Wanted { text, host, port: request.port, protocol: Protocol::Socks5 };
    match gate.pass(wanted).await {
        Ok(passed) => relay(client, passed, &Reply::Succeeded.bytes(), gate.limits.idle()).await,
        Err(denial) => client.dismiss(&denial.socks_answer()).await,
    }
}

async fn serve_http(client: Client, gate: &Gate, request: &RequestHead) -> io::Result<()> {
    let (authority, protocol) = match request.target() {
        Target::Connect(authority) => (authority, Protocol::Connect),
        Target::Forward { authority, .. } => (authority, Protocol::Http),
    };
    let Authority { host, port } = authority.clone();
    let wanted = Wanted { host: Host::parse_bracketed(&host), text: host, port, protocol };
    match (gate.pass(wanted).await, request.target()) {
        (Ok(passed), Target::Connect(_)) => {
            relay(client, passed, CONNECTED, gate.limits.idle()).await
        }
        (Ok(passed), Target::Forward { .. }) => {
            Exchange { request, passed, limits: &gate.limits }.run(client).await
        }
        (Err(denial), _) => client.dismiss(&denial.http_answer(request.method())).await,
    }
}
