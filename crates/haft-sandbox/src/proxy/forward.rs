//! One exchange of plain HTTP: a request goes to the server in the form that servers take, and its response comes back.
//! Both bodies are streamed, and the ends of both are found, so that nothing that follows is carried along. It deliberately
//! keeps no connection for a second request; the heads say so to both sides.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::body::{Body, BodyError};
use super::client::{Client, http_answer};
use super::gate::Passed;
use super::head::{HeadError, RequestHead, ResponseHead, Scanner};
use super::limits::Limits;
use super::relay::RELAY_BYTES;

/// Interim responses before the actual one.
pub(crate) const INTERIM_MAX: usize = 32;

/// A request and the connection it was admitted to.
pub(super) struct Exchange<'a> {
    pub(super) request: &'a RequestHead,
    pub(super) passed: Passed,
    pub(super) limits: &'a Limits,
}

/// Why an exchange ended early.
#[derive(Debug, thiserror::Error)]
enum ExchangeError {
    #[error("the connection to the client broke: {0}")]
    Client(io::Error),
    #[error("the connection to the server broke: {0}")]
    Server(io::Error),
    #[error("{0}")]
    Request(BodyError),
    #[error("the server's response is malformed: {0}")]
    ResponseHead(#[from] HeadError),
    #[error("the server's response is malformed: {0}")]
    ResponseBody(BodyError),
    #[error("the server ended the connection without a response")]
    NoResponse,
    #[error("the server only announces a response, {INTERIM_MAX} times by now")]
    TooManyInterim,
    #[error("nothing was sent or received for {idle_ms} ms")]
    Silent { idle_ms: u64 },
}

/// Why a body was not carried to its end.
enum CopyError {
    Read(io::Error),
    Write(io::Error),
    Body(BodyError),
}

impl Exchange<'_> {
    /// Carries out the exchange and ends both connections.
    pub(super) async fn run(mut self, mut client: Client) -> io::Result<()> {
        let mut has_answer = false;
        let result = self.carry(&mut client, &mut has_answer).await;
        // The server must not wait for the rest of a request while the client is told.
        drop(self.passed.upstream);
        match result {
            Ok(()) => client.dismiss(b"").await,
            // A response that broke off must not look like a short one.
            Err(_) if has_answer => client.stream.set_zero_linger(),
            Err(err) => client.dismiss(&err.answer(self.request.method())).await,
        }
    }

    async fn carry(
        &mut self,
        client: &mut Client,
        has_answer: &mut bool,
    ) -> Result<(), ExchangeError> {
        let (client_reader, mut client_writer) = client.stream.split();
        let (mut server_reader, server_writer) = self.passed.upstream.split();
        let traffic = &self.passed.traffic;
        let head = self.request.forwarded(&self.passed.host);
        let body = Body::new(self.request.framing());
        let received = std::mem::take(&mut client.buffer);
        let upload = async {
            let mut to = Counted { writer: server_writer, count: |n| traffic.count_sent(n) };
            to.write(&head).await.map_err(ExchangeError::Server)?;
            copy(body, received, client_reader, to).await.map_err(CopyError::of_upload)
        };
        let download = async {
            let response =
                read_response(&mut server_reader, &mut client_writer, self.limits).await?;
            let body = Body::new(response.head.body(self.request.method()));
            *has_answer = true;
            let head = response.head.forwarded();
            client_writer.write_all(&head).await.map_err(ExchangeError::Client)?;
            let to = Counted { writer: client_writer, count: |n| traffic.count_received(n) };
            copy(body, response.rest, server_reader, to).await.map_err(CopyError::of_download)
        };
        let both = async {
            tokio::pin!(download);
            tokio::select! {
                // A server may answer, and end the connection, before it has the whole request.
                result = upload => match result {
                    Ok(()) | Err(ExchangeError::Server(_)) => download.await,
                    Err(err) => Err(err),
                },
                result = &mut download => result,
            }
        };
        tokio::select! {
            result = both => result,
            () = traffic.quiet(self.limits.idle()) => {
                Err(ExchangeError::Silent { idle_ms: self.limits.idle_ms })
            }
        }
    }
}

/// A response's head, and what has arrived of its body.
struct Response {
    head: ResponseHead,
    rest: Vec<u8>,
}

/// Reads up to the actual response, and passes on what announces it.
async fn read_response(
    server: &mut (impl AsyncRead + Unpin),
    client: &mut (impl AsyncWrite + Unpin),
    limits: &Limits,
) -> Result<Response, ExchangeError> {
    let mut buffer = Vec::new();
    for _ in 0..INTERIM_MAX {
        let head = read_response_head(server, &mut buffer, limits.head_bytes_max).await?;
        if !head.is_interim() {
            return Ok(Response { head, rest: buffer });
        }
        client.write_all(&head.forwarded()).await.map_err(ExchangeError::Client)?;
    }
    Err(ExchangeError::TooManyInterim)
}

async fn read_response_head(
    server: &mut (impl AsyncRead + Unpin),
    buffer: &mut Vec<u8>,
    bytes_max: usize,
) -> Result<ResponseHead, ExchangeError> {
    let mut scanner = Scanner::new(bytes_max);
    loop {
        if let Some(head) = scanner.scan(buffer)? {
            let response = ResponseHead::parse(&head)?;
            let length = head.length();
            buffer.drain(..length);
            return Ok(response);
        }
        buffer.reserve(RELAY_BYTES);
        if server.read_buf(buffer).await.map_err(ExchangeError::Server)? == 0 {
            return Err(ExchangeError::NoResponse);
        }
    }
}

/// A side that is written to, with what counts the bytes.
struct Counted<Writer, Count> {
    writer: Writer,
    count: Count,
}

impl<Writer: AsyncWrite + Unpin, Count: Fn(usize)> Counted<Writer, Count> {
    async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.writer.write_all(bytes).await?;
        (self.count)(bytes.len());
        Ok(())
    }
}

/// Carries a body, the start of which has been received, to its end and not beyond.
async fn copy<Writer: AsyncWrite + Unpin, Count: Fn(usize)>(
    mut body: Body,
    received: Vec<u8>,
    mut from: impl AsyncRead + Unpin,
    mut to: Counted<Writer, Count>,
) -> Result<(), CopyError> {
    let mut buffer = received;
    loop {
        let length = body.take(&buffer).map_err(CopyError::Body)?;
        to.write(buffer.get(..length).unwrap_or_default()).await.map_err(CopyError::Write)?;
        if body.is_complete() {
            return Ok(());
        }
        buffer.clear();
        buffer.reserve(RELAY_BYTES);
        if from.read_buf(&mut buffer).await.map_err(CopyError::Read)? == 0 {
            return body.end().map_err(CopyError::Body);
        }
    }
}

impl CopyError {
    fn of_upload(self) -> ExchangeError {
        match self {
            CopyError::Read(err) => ExchangeError::Client(err),
            CopyError::Write(err) => ExchangeError::Server(err),
            CopyError::Body(err) => ExchangeError::Request(err),
        }
    }

    fn of_download(self) -> ExchangeError {
        match self {
            CopyError::Read(err) => ExchangeError::Server(err),
            CopyError::Write(err) => ExchangeError::Client(err),
            CopyError::Body(err) => ExchangeError::ResponseBody(err),
        }
    }
}

impl ExchangeError {
    /// Returns what a client that has no response yet is told.
    fn answer(&self, method: &str) -> Vec<u8> {
        let status = match self {
            // Nobody is there to be told.
            ExchangeError::Client(_) => return Vec::new(),
            ExchangeError::Request(_) => 400,
            ExchangeError::Silent { .. } => 504,
            ExchangeError::Server(_)
            | ExchangeError::ResponseHead(_)
            | ExchangeError::ResponseBody(_)
            | ExchangeError::NoResponse
            | ExchangeError::TooManyInterim => 502,
        };
        http_answer(method, status, &self.to_string())
    }
}
