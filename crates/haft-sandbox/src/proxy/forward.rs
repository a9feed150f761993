//! One exchange of plain HTTP: a request goes to the server in the form that servers expect, and
//! its response comes back. Both bodies are streamed up to their exact ends, so that no further
//! bytes are carried along. A connection is never kept for a second request; both heads say so.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::body::{HttpBodyError, HttpBodyTracker};
use super::client::{ProxyClient, http_answer};
use super::gate::AdmittedConnection;
use super::head::{HttpHeadError, HttpHeadScanner, RequestHead, ResponseHead};
use super::limits::ProxyLimits;
use super::relay::RELAY_BYTES;

/// Interim responses before the actual one.
pub(crate) const INTERIM_MAX: usize = 32;

/// An exchange ended early.
#[derive(Debug, thiserror::Error)]
enum HttpExchangeError {
    #[error("the connection to the client broke: {0}")]
    Client(io::Error),
    #[error("the connection to the server broke: {0}")]
    Server(io::Error),
    #[error("{0}")]
    Request(HttpBodyError),
    #[error("the server's response is malformed: {0}")]
    ResponseHead(#[from] HttpHeadError),
    #[error("the server's response is malformed: {0}")]
    ResponseBody(HttpBodyError),
    #[error("the server ended the connection without a response")]
    NoResponse,
    #[error("the server only announces a response, {INTERIM_MAX} times by now")]
    TooManyInterim,
    #[error("nothing was sent or received for {idle_ms} ms")]
    Silent { idle_ms: u64 },
}

/// A body was not carried to its end.
enum BodyCopyError {
    Read(io::Error),
    Write(io::Error),
    Body(HttpBodyError),
}

/// Carries out one exchange over the connection that was made for it, and ends both connections.
pub(super) async fn exchange(
    request: &RequestHead,
    mut admitted: AdmittedConnection,
    limits: &ProxyLimits,
    mut client: ProxyClient,
) -> io::Result<()> {
    let mut has_answer = false;
    let (client_reader, mut client_writer) = client.stream.split();
    let (mut server_reader, mut server_writer) = admitted.upstream.split();
    let traffic = &admitted.traffic;
    let head = request.forwarded(&admitted.host);
    let body = HttpBodyTracker::new(request.framing());
    let received = std::mem::take(&mut client.buffer);
    let upload = async {
        server_writer.write_all(&head).await.map_err(HttpExchangeError::Server)?;
        traffic.count_sent(head.len());
        let count = |bytes| traffic.count_sent(bytes);
        copy(body, received, client_reader, server_writer, count).await.map_err(|err| match err {
            BodyCopyError::Read(err) => HttpExchangeError::Client(err),
            BodyCopyError::Write(err) => HttpExchangeError::Server(err),
            BodyCopyError::Body(err) => HttpExchangeError::Request(err),
        })
    };
    let download = async {
        let (response, rest) =
            read_response(&mut server_reader, &mut client_writer, limits).await?;
        let body = HttpBodyTracker::new(response.body(request.method()));
        has_answer = true;
        let head = response.forwarded();
        client_writer.write_all(&head).await.map_err(HttpExchangeError::Client)?;
        let count = |bytes| traffic.count_received(bytes);
        copy(body, rest, server_reader, client_writer, count).await.map_err(|err| match err {
            BodyCopyError::Read(err) => HttpExchangeError::Server(err),
            BodyCopyError::Write(err) => HttpExchangeError::Client(err),
            BodyCopyError::Body(err) => HttpExchangeError::ResponseBody(err),
        })
    };
    let both = async {
        tokio::pin!(download);
        tokio::select! {
            // A server may answer, and end the connection, before it has the whole request.
            result = upload => match result {
                Ok(()) | Err(HttpExchangeError::Server(_)) => download.await,
                Err(err) => Err(err),
            },
            result = &mut download => result,
        }
    };
    let result = tokio::select! {
        result = both => result,
        () = traffic.wait_until_idle(limits.idle()) => {
            Err(HttpExchangeError::Silent { idle_ms: limits.idle_ms })
        }
    };
    // The server must not wait for the rest of a request while the client is answered.
    drop(admitted.upstream);
    let error = match result {
        Ok(()) => return client.send_and_close(b"").await,
        // A truncated response must not look like a short one.
        Err(_) if has_answer => return client.stream.set_zero_linger(),
        Err(error) => error,
    };
    let status = match &error {
        // The client has gone.
        HttpExchangeError::Client(_) => return client.send_and_close(b"").await,
        HttpExchangeError::Request(_) => 400,
        HttpExchangeError::Silent { .. } => 504,
        HttpExchangeError::Server(_)
        | HttpExchangeError::ResponseHead(_)
        | HttpExchangeError::ResponseBody(_)
        | HttpExchangeError::NoResponse
        | HttpExchangeError::TooManyInterim => 502,
    };
    let answer = http_answer(request.method(), status, &error.to_string());
    client.send_and_close(&answer).await
}

/// Reads up to the final response, and passes interim responses on. Also returns the part of the
/// body that has arrived.
async fn read_response(
    server: &mut (impl AsyncRead + Unpin),
    client: &mut (impl AsyncWrite + Unpin),
    limits: &ProxyLimits,
) -> Result<(ResponseHead, Vec<u8>), HttpExchangeError> {
    let mut buffer = Vec::new();
    for _ in 0..INTERIM_MAX {
        let mut scanner = HttpHeadScanner::new(limits.head_bytes_max);
        let head = loop {
            if let Some(head) = scanner.scan(&buffer)? {
                let response = ResponseHead::parse(&head)?;
                let length = head.length();
                buffer.drain(..length);
                break response;
            }
            buffer.reserve(RELAY_BYTES);
            if server.read_buf(&mut buffer).await.map_err(HttpExchangeError::Server)? == 0 {
                return Err(HttpExchangeError::NoResponse);
            }
        };
        if !head.is_interim() {
            return Ok((head, buffer));
        }
        client.write_all(&head.forwarded()).await.map_err(HttpExchangeError::Client)?;
    }
    Err(HttpExchangeError::TooManyInterim)
}

/// Carries a body, whose start has been received, exactly to its end.
async fn copy(
    mut body: HttpBodyTracker,
    received: Vec<u8>,
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    count: impl Fn(usize),
) -> Result<(), BodyCopyError> {
    let mut buffer = received;
    loop {
        let length = body.take(&buffer).map_err(BodyCopyError::Body)?;
        let present = buffer.get(..length).unwrap_or_default();
        to.write_all(present).await.map_err(BodyCopyError::Write)?;
        count(length);
        if body.is_complete() {
            return Ok(());
        }
        buffer.clear();
        buffer.reserve(RELAY_BYTES);
        if from.read_buf(&mut buffer).await.map_err(BodyCopyError::Read)? == 0 {
            return body.end().map_err(BodyCopyError::Body);
        }
    }
}
