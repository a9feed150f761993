//! The connections of the server: their number, the time limits of clients, and their end.

use std::convert::Infallible;
use std::io::ErrorKind::{ConnectionAborted, ConnectionReset};
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower_service::Service;

use crate::limits::{
    CONNECTIONS_MAX, DRAIN_MS_MAX, HEADER_BYTES_MAX, HEADER_MS_MAX, HEADERS_MAX, UNREAD_MS_MAX,
};
use crate::places::{ClientConnection, UnprovenConnections};
use crate::site::{HttpSite, RequestConnection};

/// Pause after a connection could not be accepted, in milliseconds. If descriptors are used up,
/// retrying at once does not help.
const ACCEPT_AGAIN_MS: u64 = 50;

/// Serves a site until `shutdown` is cancelled. Then no new connection is accepted, and `closing`
/// is awaited, which stops the services of the site. After that, connections have [`DRAIN_MS_MAX`]
/// to finish.
pub async fn serve(
    listener: TcpListener,
    site: HttpSite,
    shutdown: CancellationToken,
    closing: impl Future<Output = ()>,
) {
    let router = site.into_router();
    let open = TaskTracker::new();
    let (end, abort) = (CancellationToken::new(), CancellationToken::new());
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let unproven = UnprovenConnections::default();
    let mut admitting = pin!(async {
        loop {
            let (stream, peer) = accept(&listener).await;
            if places.available_permits() == 0 {
                unproven.close_oldest();
            }
            let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
            let client = unproven.add(peer);
            let (router, end, abort) = (router.clone(), end.clone(), abort.clone());
            open.spawn(async move {
                let closed = client.closed.clone();
                tokio::select! {
                    () = serve_connection(stream, router, end, &client, UNREAD_MS_MAX) => {}
                    () = closed.cancelled() => {}
                    () = abort.cancelled() => {}
                }
                drop(place);
            });
        }
    });
    tokio::select! {
        () = &mut admitting => {}
        () = shutdown.cancelled() => {}
    }
    closing.await;
    end.cancel();
    open.close();
    let _ = timeout(Duration::from_millis(DRAIN_MS_MAX), open.wait()).await;
    abort.cancel();
    open.wait().await;
}

async fn accept(listener: &TcpListener) -> (TcpStream, IpAddr) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => return (stream, peer.ip().to_canonical()),
            // The client closed the connection.
            Err(err) if matches!(err.kind(), ConnectionAborted | ConnectionReset) => {}
            Err(_) => sleep(Duration::from_millis(ACCEPT_AGAIN_MS)).await,
        }
    }
}

/// Serves one client until it closes the connection, shows no token, leaves sent data unread for too long, or has its last
/// answer after `end`.
async fn serve_connection(
    stream: TcpStream,
    router: Router,
    end: CancellationToken,
    client: &Arc<ClientConnection>,
    unread_ms: u32,
) {
    let Ok(local) = stream.local_addr() else { return };
    // Answers are written in one piece, so delaying them for more data gains nothing.
    let _ = stream.set_nodelay(true);
    let _ = rustix::net::sockopt::set_tcp_user_timeout(&stream, unread_ms);
    let of_requests = RequestConnection { local, client: Arc::clone(client) };
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(of_requests.clone());
        let mut router = router.clone();
        async move {
            Ok::<_, Infallible>(
                Service::call(&mut router, request).await.unwrap_or_else(|never| match never {}),
            )
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_millis(HEADER_MS_MAX))
        .max_headers(HEADERS_MAX)
        .max_buf_size(HEADER_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    // An error of a connection concerns only its client, which was notified if possible.
    tokio::select! {
        _ = &mut connection => return,
        () = client.wait_unproven() => return,
        () = end.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;

    use super::*;

    /// More than the kernel buffers for a client that does not read, in bytes.
    const ANSWER_BYTES: usize = 64 * 1024 * 1024;

    #[tokio::test]
    async fn a_client_that_reads_nothing_is_left() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        let router = Router::new().fallback(|| async { vec![b'a'; ANSWER_BYTES] });
        client.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
        // The kernel enforces this timeout, and a test cannot advance its clock. The test passes if
        // the connection ends at all: the client stays connected, and nothing else ends it.
        let connection = UnprovenConnections::default().add(IpAddr::from([127, 0, 0, 1]));
        connection.set_proven();
        serve_connection(stream, router, CancellationToken::new(), &connection, 100).await;
        drop(client);
    }
}
