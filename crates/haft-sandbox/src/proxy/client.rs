//! The confined process's end of a connection: reading what it asks for, in whichever of the three protocols, and
//! answering it. It deliberately judges nothing and connects to nothing.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::destination::Denial;
use super::head::{HeadError, RequestHead, Scanner};
use super::socks::{self, Reply, SocksError};

const READ_BYTES: usize = 4_096;
/// Bytes that are read and dropped after a last answer.
pub(crate) const LINGER_BYTES_MAX: usize = 1_048_576;
/// Milliseconds for that.
pub(crate) const LINGER_MS: u64 = 2_000;

/// A connection from a confined process.
pub(super) struct Client {
    pub(super) stream: TcpStream,
    /// What has arrived and was not used yet.
    pub(super) buffer: Vec<u8>,
}

/// What a client asks for.
pub(super) enum Request {
    Http(RequestHead),
    Socks(socks::Request),
}

/// Why nothing was asked for.
pub(super) enum RequestError {
    /// Nobody is there to be answered.
    Gone,
    Http(HeadError),
    Socks(SocksError),
}

impl Client {
    pub(super) fn new(stream: TcpStream) -> Client {
        Client { stream, buffer: Vec::new() }
    }

    /// Reads a request; the first byte tells the protocols apart.
    pub(super) async fn read_request(
        &mut self,
        head_bytes_max: usize,
    ) -> Result<Request, RequestError> {
        self.fill().await?;
        if self.buffer.first() == Some(&socks::VERSION) {
            return self.read_socks().await.map(Request::Socks);
        }
        let mut scanner = Scanner::new(head_bytes_max);
        loop {
            if let Some(head) = scanner.scan(&self.buffer)? {
                let request = RequestHead::parse(&head)?;
                let length = head.length();
                self.buffer.drain(..length);
                return Ok(Request::Http(request));
            }
            self.fill().await?;
        }
    }

    /// Reads both messages. Neither has a length beyond what a byte can say, which bounds what is read.
    async fn read_socks(&mut self) -> Result<socks::Request, RequestError> {
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
        Ok(request)
    }

    /// Waits for more bytes.
    async fn fill(&mut self) -> Result<(), RequestError> {
        self.buffer.reserve(READ_BYTES);
        match self.stream.read_buf(&mut self.buffer).await? {
            0 => Err(RequestError::Gone),
            _ => Ok(()),
        }
    }

    /// Sends the last bytes, and waits a little until they are read.
    ///
    /// Closing at once would make the kernel throw them away when the client is still sending.
    pub(super) async fn dismiss(mut self, bytes: &[u8]) -> io::Result<()> {
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

impl RequestError {
    /// Returns what the client is told, if somebody is there.
    pub(super) fn answer(&self) -> Option<Vec<u8>> {
        match self {
            RequestError::Gone => None,
            RequestError::Http(err) => Some(http_answer("", err.status(), &err.to_string())),
            RequestError::Socks(err) => Some(err.answer()),
        }
    }
}

impl From<io::Error> for RequestError {
    fn from(_: io::Error) -> RequestError {
        RequestError::Gone
    }
}

impl From<HeadError> for RequestError {
    fn from(err: HeadError) -> RequestError {
        RequestError::Http(err)
    }
}

impl From<SocksError> for RequestError {
    fn from(err: SocksError) -> RequestError {
        RequestError::Socks(err)
    }
}

impl Denial {
    /// Returns the answer to a request of HTTP.
    pub(super) fn http_answer(&self, method: &str) -> Vec<u8> {
        let status = match self {
            Denial::NoHost { .. }
            | Denial::NotGranted { .. }
            | Denial::OtherPorts { .. }
            | Denial::Reserved { .. } => 403,
            Denial::Unresolved { .. } | Denial::Unreachable { .. } => 502,
            Denial::TooSlow { .. } => 504,
        };
        http_answer(method, status, &self.to_string())
    }

    /// Returns the answer to a request of SOCKS.
    pub(super) fn socks_answer(&self) -> [u8; 10] {
        let reply = match self {
            Denial::NoHost { .. }
            | Denial::NotGranted { .. }
            | Denial::OtherPorts { .. }
            | Denial::Reserved { .. } => Reply::NotAllowed,
            Denial::Unreachable { error, .. }
                if error.kind() == io::ErrorKind::ConnectionRefused =>
            {
                Reply::ConnectionRefused
            }
            Denial::Unresolved { .. } | Denial::Unreachable { .. } | Denial::TooSlow { .. } => {
                Reply::HostUnreachable
            }
        };
        reply.bytes()
    }
}

/// Returns a whole response with a line of text.
///
/// The text is the reason phrase too: many clients show nothing else of an answer to CONNECT.
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
