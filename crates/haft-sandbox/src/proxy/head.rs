//! Finds and parses the heads of HTTP/1 messages. It is stricter than the protocol: anything that
//! two implementations are known to interpret differently is refused, so that the other side sees
//! exactly what is judged here. Pure: it performs no I/O.

mod fields;
mod request;
mod response;
#[cfg(test)]
mod tests;

pub use request::{RequestAuthority, RequestHead, RequestTarget};
pub use response::ResponseHead;

/// Header fields of one head.
pub(crate) const FIELDS_MAX: usize = 256;

/// A head was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HttpHeadError {
    /// The head has too many bytes or fields.
    #[error("the head is longer than {bytes_max} bytes or {FIELDS_MAX} fields; send fewer fields")]
    TooLong {
        /// The maximum number of bytes.
        bytes_max: usize,
    },
    /// A control character, a carriage return or a line feed is misplaced.
    #[error("the head has the byte {0:#04x} where it does not belong; end each line with CR LF")]
    Byte(u8),
    /// The first line is not HTTP/1.
    #[error("the first line is not HTTP/1; send HTTP/1.1 or HTTP/1.0")]
    StartLine,
    /// The message has another version of HTTP.
    #[error("the version of HTTP is unknown; send HTTP/1.1 or HTTP/1.0")]
    Version,
    /// The target is meant for a server, not for a proxy, or is invalid.
    #[error("the request target is {0}; ask for http://host/path, or CONNECT host:port")]
    Target(&'static str),
    /// A line is not a field, or continues on the next line.
    #[error("a header field is malformed; write `name: value` on one line")]
    Field,
    /// There is more than one Host field.
    #[error("more than one Host field is there; send one")]
    Hosts,
    /// The length of the body is ambiguous.
    #[error("the length of the body is unclear: {0}")]
    Framing(&'static str),
    /// The server switches protocols without a request to do so.
    #[error("the server switches protocols, which was not asked for")]
    Upgrade,
}

impl HttpHeadError {
    /// Returns the HTTP status of the answer to a client that sent this head.
    #[must_use]
    pub fn status(&self) -> u16 {
        match self {
            HttpHeadError::TooLong { .. } => 431,
            HttpHeadError::Version => 505,
            HttpHeadError::Byte(_)
            | HttpHeadError::StartLine
            | HttpHeadError::Target(_)
            | HttpHeadError::Field
            | HttpHeadError::Hosts
            | HttpHeadError::Framing(_)
            | HttpHeadError::Upgrade => 400,
        }
    }
}

/// The version of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpVersion {
    /// HTTP/1.0.
    Http10,
    /// HTTP/1.1.
    Http11,
}

impl HttpVersion {
    fn parse(text: &[u8]) -> Result<HttpVersion, HttpHeadError> {
        match text {
            b"HTTP/1.0" => Ok(HttpVersion::Http10),
            b"HTTP/1.1" => Ok(HttpVersion::Http11),
            other if other.starts_with(b"HTTP/") => Err(HttpHeadError::Version),
            _ => Err(HttpHeadError::StartLine),
        }
    }

    fn text(self) -> &'static str {
        match self {
            HttpVersion::Http10 => "HTTP/1.0",
            HttpVersion::Http11 => "HTTP/1.1",
        }
    }
}

/// The length of a body, according to its head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpBodyFraming {
    /// There is no body.
    Empty,
    /// This many bytes.
    Length(u64),
    /// Chunks, the last of which is empty.
    Chunked,
    /// Everything until the connection ends; for responses only.
    UntilEnd,
}

/// Finds the end of a head in bytes that arrive in pieces, and reads each byte once.
#[derive(Debug)]
pub struct HttpHeadScanner {
    bytes_max: usize,
    scanned: usize,
    line_bytes: usize,
    is_after_return: bool,
}

/// A complete head: lines that end with CR LF and contain no control character except tabs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpHead<'a> {
    bytes: &'a [u8],
}

impl HttpHeadScanner {
    /// Returns a scanner for a head of at most `bytes_max` bytes.
    #[must_use]
    pub fn new(bytes_max: usize) -> HttpHeadScanner {
        HttpHeadScanner { bytes_max, scanned: 0, line_bytes: 0, is_after_return: false }
    }

    /// Continues with all bytes that have arrived since the start, and returns the head once it is
    /// complete.
    ///
    /// # Errors
    ///
    /// At the first misplaced byte, or if the head is too long.
    pub fn scan<'a>(&mut self, bytes: &'a [u8]) -> Result<Option<HttpHead<'a>>, HttpHeadError> {
        while let Some(&byte) = bytes.get(self.scanned) {
            if self.scanned >= self.bytes_max {
                return Err(HttpHeadError::TooLong { bytes_max: self.bytes_max });
            }
            self.scanned += 1;
            match (self.is_after_return, byte) {
                (false, b'\r') => self.is_after_return = true,
                (true, b'\n') if self.line_bytes == 0 => {
                    if self.scanned <= 2 {
                        return Err(HttpHeadError::StartLine);
                    }
                    return Ok(bytes.get(..self.scanned).map(|bytes| HttpHead { bytes }));
                }
                (true, b'\n') => {
                    self.is_after_return = false;
                    self.line_bytes = 0;
                }
                (false, b'\t' | b' '..=b'~' | 0x80..) => self.line_bytes += 1,
                (_, other) => return Err(HttpHeadError::Byte(other)),
            }
        }
        Ok(None)
    }
}

impl<'a> HttpHead<'a> {
    /// Returns its length in bytes, including the empty line.
    #[must_use]
    pub fn length(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the lines without their ends and without the empty one.
    fn lines(&self) -> impl Iterator<Item = &'a [u8]> {
        let lines = self.bytes.strip_suffix(b"\r\n\r\n").unwrap_or_default();
        lines.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line))
    }
}

fn is_token(text: &[u8]) -> bool {
    let is_token_byte =
        |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    !text.is_empty() && text.iter().all(is_token_byte)
}

/// Returns the text if it is ASCII.
fn ascii(text: &[u8]) -> Option<&str> {
    std::str::from_utf8(text).ok().filter(|text| text.is_ascii())
}
