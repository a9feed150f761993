//! Serves one connection from its first byte to its last: reads the request, judges it and carries
//! it out. It ends after one request, so that each request is judged on a separate connection.

use std::io;
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio::time::timeout;

use super::client::{ProxyClient, ProxyRequest};
use super::connection_log::ProxyProtocol;
use super::forward::HttpExchange;
use super::gate::{ConnectionGate, ConnectionRequest};
use super::head::{RequestAuthority, RequestHead, RequestTarget};
use super::host::Host;
use super::relay::relay;
use super::socks::{self, SocksDestination, SocksReply};

const CONNECTED: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";

/// Serves a connection. The connection log records how it ends. An error on the client's side
/// affects no other connection.
pub(super) async fn serve(stream: TcpStream, gate: Arc<ConnectionGate>) {
    let _ = stream.set_nodelay(true);
    let mut client = ProxyClient::new(stream);
    let reading = client.read_request(gate.limits.head_bytes_max);
    // A client that is silent for too long gets no answer, because its protocol is unknown.
    let Ok(request) = timeout(gate.limits.handshake(), reading).await else { return };
    let _ = match request {
        Ok(ProxyRequest::Socks(request)) => serve_socks(client, &gate, request).await,
        Ok(ProxyRequest::Http(request)) => serve_http(client, &gate, &request).await,
        Err(err) => match err.answer() {
            Some(answer) => {
                gate.record.count_malformed();
                client.send_and_close(&answer).await
            }
            None => Ok(()),
        },
    };
}

async fn serve_socks(
    client: ProxyClient,
    gate: &ConnectionGate,
    request: socks::SocksRequest,
) -> io::Result<()> {
    let (text, host) = match request.destination {
        SocksDestination::Name(name) => {
            let host = Host::parse(&name);
            (name, host)
        }
        SocksDestination::Address(address) => (address.to_string(), Host::from_address(address)),
    };
    let connection = ConnectionRequest {
        requested_host: text,
        host,
        port: request.port,
        protocol: ProxyProtocol::Socks5,
    };
    match gate.open_connection(connection).await {
        Ok(admitted) => {
            relay(client, admitted, &SocksReply::Succeeded.bytes(), gate.limits.idle()).await
        }
        Err(denial) => client.send_and_close(&denial.socks_answer()).await,
    }
}

async fn serve_http(
    client: ProxyClient,
    gate: &ConnectionGate,
    request: &RequestHead,
) -> io::Result<()> {
    let (authority, protocol) = match request.target() {
        RequestTarget::Connect(authority) => (authority, ProxyProtocol::Connect),
        RequestTarget::Forward { authority, .. } => (authority, ProxyProtocol::Http),
    };
    let RequestAuthority { host, port } = authority.clone();
    let connection = ConnectionRequest {
        host: Host::parse_bracketed(&host),
        requested_host: host,
        port,
        protocol,
    };
    match (gate.open_connection(connection).await, request.target()) {
        (Ok(admitted), RequestTarget::Connect(_)) => {
            relay(client, admitted, CONNECTED, gate.limits.idle()).await
        }
        (Ok(admitted), RequestTarget::Forward { .. }) => {
            HttpExchange { request, admitted, limits: &gate.limits }.run(client).await
        }
        (Err(denial), _) => client.send_and_close(&denial.http_answer(request.method())).await,
    }
}
