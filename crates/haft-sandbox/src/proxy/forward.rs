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

/// A request and the connection that was made for it.
pub(super) struct HttpExchange<'a> {
    pub(super) request: &'a RequestHead,
    pub(super) admitted: AdmittedConnection,
    pub(super) limits: &'a ProxyLimits,
}

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

impl HttpExchange<'_> {
    /// Carries out the exchange and ends both connections.
    pub(super) async fn run(mut self, mut client: ProxyClient) -> io::Result<()> {
        let mut has_answer = false;
        let result = self.carry(&mut client, &mut has_answer).await;
        // The server must not wait for the rest of a request while the client is answered.
        drop(self.admitted.upstream);
        match result {
            Ok(()) => client.send_and_close(b"").await,
            // A truncated response must not look like a short one.
            Err(_) if has_answer => client.stream.set_zero_linger(),
            Err(err) => client.send_and_close(&err.answer(self.request.method())).await,
        }
    }

    async fn carry(
        &mut self,
        client: &mut ProxyClient,
        has_answer: &mut bool,
    ) -> Result<(), HttpExchangeError> {
        let (client_reader, mut client_writer) = client.stream.split();
        let (mut server_reader, server_writer) = self.admitted.upstream.split();
        let traffic = &self.admitted.traffic;
        let head = self.request.forwarded(&self.admitted.host);
        let body = HttpBodyTracker::new(self.request.framing());
        let received = std::mem::take(&mut client.buffer);
        let upload = async {
            let mut to = CountingWriter { writer: server_writer, count: |n| traffic.count_sent(n) };
            to.write(&head).await.map_err(HttpExchangeError::Server)?;
            copy(body, received, client_reader, to).await.map_err(|err| match err {
                BodyCopyError::Read(err) => HttpExchangeError::Client(err),
                BodyCopyError::Write(err) => HttpExchangeError::Server(err),
                BodyCopyError::Body(err) => HttpExchangeError::Request(err),
            })
        };
        let download = async {
            let response =
                read_response(&mut server_reader, &mut client_writer, self.limits).await?;
            let body = HttpBodyTracker::new(response.head.body(self.request.method()));
            *has_answer = true;
            let head = response.head.forwarded();
            client_writer.write_all(&head).await.map_err(HttpExchangeError::Client)?;
            let to = CountingWriter { writer: client_writer, count: |n| traffic.count_received(n) };
            copy(body, response.rest, server_reader, to).await.map_err(|err| match err {
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
        tokio::select! {
            result = both => result,
            () = traffic.wait_until_idle(self.limits.idle()) => {
                Err(HttpExchangeError::Silent { idle_ms: self.limits.idle_ms })
            }
        }
    }
}

/// The head of a response, and the part of its body that has arrived.
struct UpstreamResponse {
    head: ResponseHead,
    rest: Vec<u8>,
}

/// Reads up to the final response, and passes interim responses on.
async fn read_response(
    server: &mut (impl AsyncRead + Unpin),
    client: &mut (impl AsyncWrite + Unpin),
    limits: &ProxyLimits,
) -> Result<UpstreamResponse, HttpExchangeError> {
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
            return Ok(UpstreamResponse { head, rest: buffer });
        }
        client.write_all(&head.forwarded()).await.map_err(HttpExchangeError::Client)?;
    }
    Err(HttpExchangeError::TooManyInterim)
}

/// A writer that counts its bytes.
struct CountingWriter<Writer, Count> {
    writer: Writer,
    count: Count,
}

impl<Writer: AsyncWrite + Unpin, Count: Fn(usize)> CountingWriter<Writer, Count> {
    async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.writer.write_all(bytes).await?;
        (self.count)(bytes.len());
        Ok(())
    }
}

/// Carries a body, whose start has been received, exactly to its end.
async fn copy<Writer: AsyncWrite + Unpin, Count: Fn(usize)>(
    mut body: HttpBodyTracker,
    received: Vec<u8>,
    mut from: impl AsyncRead + Unpin,
    mut to: CountingWriter<Writer, Count>,
) -> Result<(), BodyCopyError> {
    let mut buffer = received;
    loop {
        let length = body.take(&buffer).map_err(BodyCopyError::Body)?;
        to.write(buffer.get(..length).unwrap_or_default()).await.map_err(BodyCopyError::Write)?;
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

impl HttpExchangeError {
    /// Returns the answer to a client that has no response yet.
    fn answer(&self, method: &str) -> Vec<u8> {
        let status = match self {
            // The client has gone.
            HttpExchangeError::Client(_) => return Vec::new(),
            HttpExchangeError::Request(_) => 400,
            HttpExchangeError::Silent { .. } => 504,
            HttpExchangeError::Server(_)
            | HttpExchangeError::ResponseHead(_)
            | HttpExchangeError::ResponseBody(_)
            | HttpExchangeError::NoResponse
            | HttpExchangeError::TooManyInterim => 502,
        };
        http_answer(method, status, &self.to_string())
    }
}
