//! The confined process's end of a connection: reads its request in any of the three protocols, and
//! answers it. It judges nothing and opens no connection.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::destination::ConnectionDenial;
use super::head::{HttpHeadError, HttpHeadScanner, RequestHead};
use super::socks::{self, SocksError, SocksReply};

const READ_BYTES: usize = 4_096;
/// Bytes that are read and discarded after a last answer.
pub(crate) const LINGER_BYTES_MAX: usize = 1_048_576;
/// Time for that, in milliseconds.
pub(crate) const LINGER_MS: u64 = 2_000;

/// A connection from a confined process.
pub(super) struct ProxyClient {
    pub(super) stream: TcpStream,
    /// Bytes that have arrived but are not used yet.
    pub(super) buffer: Vec<u8>,
}

/// A client's request.
pub(super) enum ProxyRequest {
    Http(RequestHead),
    Socks(socks::SocksRequest),
}

/// A request could not be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum ProxyRequestError {
    #[error("the client has gone, so there is no answer: {0}")]
    Gone(#[from] io::Error),
    #[error(transparent)]
    Http(#[from] HttpHeadError),
    #[error(transparent)]
    Socks(#[from] SocksError),
}

impl ProxyClient {
    pub(super) fn new(stream: TcpStream) -> ProxyClient {
        ProxyClient { stream, buffer: Vec::new() }
    }

    /// Reads a request; the first byte determines the protocol.
    pub(super) async fn read_request(
        &mut self,
        head_bytes_max: usize,
    ) -> Result<ProxyRequest, ProxyRequestError> {
        self.fill().await?;
        if self.buffer.first() == Some(&socks::VERSION) {
            // Each length in the two messages is one byte, which limits their size.
            let greeting = loop {
                match socks::parse_greeting(&self.buffer)? {
                    Some(length) => break length,
                    None => self.fill().await?,
                }
            };
            self.buffer.drain(..greeting);
            self.stream.write_all(socks::ACCEPTED).await?;
            let (request, length) = loop {
                match socks::parse_request(&self.buffer)? {
                    Some(parsed) => break parsed,
                    None => self.fill().await?,
                }
            };
            self.buffer.drain(..length);
            return Ok(ProxyRequest::Socks(request));
        }
        let mut scanner = HttpHeadScanner::new(head_bytes_max);
        loop {
            if let Some(head) = scanner.scan(&self.buffer)? {
                let request = RequestHead::parse(&head)?;
                let length = head.length();
                self.buffer.drain(..length);
                return Ok(ProxyRequest::Http(request));
            }
            self.fill().await?;
        }
    }

    /// Waits for more bytes.
    async fn fill(&mut self) -> Result<(), ProxyRequestError> {
        self.buffer.reserve(READ_BYTES);
        match self.stream.read_buf(&mut self.buffer).await? {
            0 => Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
            _ => Ok(()),
        }
    }

    /// Sends the last bytes, and waits briefly until they are read.
    ///
    /// If the socket closed at once while the client is still sending, the kernel would discard
    /// them.
    pub(super) async fn send_and_close(mut self, bytes: &[u8]) -> io::Result<()> {
        let leaving = async {
            self.stream.write_all(bytes).await?;
            self.stream.shutdown().await?;
            let mut dropped = [0; READ_BYTES];
            let mut left = LINGER_BYTES_MAX;
            while left > 0 {
                match self.stream.read(&mut dropped).await? {
                    0 => break,
                    count => left = left.saturating_sub(count),
                }
            }
            Ok(())
        };
        timeout(Duration::from_millis(LINGER_MS), leaving).await.unwrap_or(Ok(()))
    }
}

impl ProxyRequestError {
    /// Returns the answer to the client, or `None` if it has gone.
    pub(super) fn answer(&self) -> Option<Vec<u8>> {
        match self {
            ProxyRequestError::Gone(_) => None,
            ProxyRequestError::Http(err) => Some(http_answer("", err.status(), &err.to_string())),
            ProxyRequestError::Socks(err) => Some(err.answer()),
        }
    }
}

impl ConnectionDenial {
    /// Returns the answer to an HTTP request.
    pub(super) fn http_answer(&self, method: &str) -> Vec<u8> {
        let status = if self.is_refusal() {
            403
        } else if matches!(self, ConnectionDenial::TooSlow { .. }) {
            504
        } else {
            502
        };
        http_answer(method, status, &self.to_string())
    }

    /// Returns the answer to a SOCKS request.
    pub(super) fn socks_answer(&self) -> [u8; 10] {
        let is_closed = matches!(self, ConnectionDenial::Unreachable { error, .. }
            if error.kind() == io::ErrorKind::ConnectionRefused);
        let reply = if self.is_refusal() {
            SocksReply::NotAllowed
        } else if is_closed {
            SocksReply::ConnectionRefused
        } else {
            SocksReply::HostUnreachable
        };
        reply.bytes()
    }
}

/// Returns a whole response with a line of text.
///
/// The text is also the reason phrase, because many clients show nothing else of an answer to
/// CONNECT.
pub(super) fn http_answer(method: &str, status: u16, text: &str) -> Vec<u8> {
    let reason: String =
        text.chars().map(|c| if matches!(c, ' '..='~') { c } else { '?' }).collect();
    let body = if method == "HEAD" { String::new() } else { format!("{text}\n") };
    format!(
        "HTTP/1.1 {status} {reason}\r\nContent-Type: text/plain; charset=utf-8\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        text.len() + 1
    )
    .into_bytes()
}
