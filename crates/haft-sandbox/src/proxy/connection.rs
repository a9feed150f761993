//! Serves one connection from its first byte to its last: reads the request, judges it and carries
//! it out. It ends after one request, so that each request is judged on a separate connection.

use std::sync::Arc;

use tokio::net::TcpStream;
use tokio::time::timeout;

use super::client::{ProxyClient, ProxyRequest};
use super::connection_log::ProxyProtocol;
use super::forward::exchange;
use super::gate::{ConnectionGate, ConnectionRequest};
use super::head::{RequestAuthority, RequestTarget};
use super::host::Host;
use super::relay::relay;
use super::socks::{SocksDestination, SocksReply, SocksRequest};

const CONNECTED: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";

/// Serves a connection. The connection log records how it ends. An error on the client's side
/// affects no other connection.
pub(super) async fn serve(stream: TcpStream, gate: Arc<ConnectionGate>) {
    let _ = stream.set_nodelay(true);
    let mut client = ProxyClient::new(stream);
    let reading = client.read_request(gate.limits.head_bytes_max);
    // A client that is silent for too long gets no answer, because its protocol is unknown.
    let Ok(request) = timeout(gate.limits.handshake(), reading).await else { return };
    let request = match request {
        Ok(request) => request,
        Err(err) => {
            if let Some(answer) = err.answer() {
                gate.record.count_malformed();
                let _ = client.send_and_close(&answer).await;
            }
            return;
        }
    };
    let connection = match &request {
        ProxyRequest::Socks(SocksRequest { destination, port }) => {
            let (requested_host, host) = match destination {
                SocksDestination::Name(name) => (name.clone(), Host::parse(name)),
                SocksDestination::Address(address) => {
                    (address.to_string(), Host::from_address(*address))
                }
            };
            ConnectionRequest { requested_host, host, port: *port, protocol: ProxyProtocol::Socks5 }
        }
        ProxyRequest::Http(head) => {
            let (authority, protocol) = match head.target() {
                RequestTarget::Connect(authority) => (authority, ProxyProtocol::Connect),
                RequestTarget::Forward { authority, .. } => (authority, ProxyProtocol::Http),
            };
            let RequestAuthority { host, port } = authority.clone();
            let parsed = Host::parse_bracketed(&host);
            ConnectionRequest { requested_host: host, host: parsed, port, protocol }
        }
    };
    let idle = gate.limits.idle();
    let _ = match (gate.open_connection(connection).await, &request) {
        (Ok(admitted), ProxyRequest::Socks(_)) => {
            relay(client, admitted, &SocksReply::Succeeded.bytes(), idle).await
        }
        (Err(denial), ProxyRequest::Socks(_)) => {
            client.send_and_close(&denial.socks_answer()).await
        }
        (Ok(admitted), ProxyRequest::Http(head)) => match head.target() {
            RequestTarget::Connect(_) => relay(client, admitted, CONNECTED, idle).await,
            RequestTarget::Forward { .. } => exchange(head, admitted, &gate.limits, client).await,
        },
        (Err(denial), ProxyRequest::Http(head)) => {
            client.send_and_close(&denial.http_answer(head.method())).await
        }
    };
}
