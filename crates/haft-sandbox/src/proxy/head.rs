//! Finds and reads the heads of HTTP/1 messages. It is stricter than the protocol allows: whatever two implementations
//! have been known to read in two ways is refused, so that what is judged here is what the other side sees. Pure: bytes
//! in, values out, nothing is read or written.

mod fields;
mod request;
mod response;
#[cfg(test)]
mod tests;

pub use request::{Authority, RequestHead, Target};
pub use response::ResponseHead;

/// Header fields of one head.
pub(crate) const FIELDS_MAX: usize = 256;

/// Why a head is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeadError {
    /// More bytes or fields than a head may have.
    #[error("the head is longer than {bytes_max} bytes or {FIELDS_MAX} fields; send fewer fields")]
    TooLong {
        /// How many bytes it may have.
        bytes_max: usize,
    },
    /// A control character, a carriage return or a line feed where none belongs.
    #[error("the head has the byte {0:#04x} where it does not belong; end each line with CR LF")]
    Byte(u8),
    /// The first line is none of HTTP/1.
    #[error("the first line is none of HTTP/1; send HTTP/1.1 or HTTP/1.0")]
    StartLine,
    /// Another version of HTTP.
    #[error("the version of HTTP is unknown; send HTTP/1.1 or HTTP/1.0")]
    Version,
    /// The target is for a server and not for a proxy, or is none at all.
    #[error("the request target is {0}; ask for http://host/path, or CONNECT host:port")]
    Target(&'static str),
    /// A line that is no field, or one that goes on in the next line.
    #[error("a header field is malformed; write `name: value` on one line")]
    Field,
    /// More than one Host field.
    #[error("more than one Host field is there; send one")]
    Hosts,
    /// The length of the body can be read in more than one way.
    #[error("the length of the body is unclear: {0}")]
    Framing(&'static str),
    /// A switch of protocols that nobody asked for.
    #[error("the server switches protocols, which was not asked for")]
    Upgrade,
}

impl HeadError {
    /// Returns the status of HTTP that a client that sent this is answered.
    #[must_use]
    pub fn status(&self) -> u16 {
        match self {
            HeadError::TooLong { .. } => 431,
            HeadError::Version => 505,
            HeadError::Byte(_)
            | HeadError::StartLine
            | HeadError::Target(_)
            | HeadError::Field
            | HeadError::Hosts
            | HeadError::Framing(_)
            | HeadError::Upgrade => 400,
        }
    }
}

/// The version of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// HTTP/1.0.
    Http10,
    /// HTTP/1.1.
    Http11,
}

impl Version {
    fn parse(text: &[u8]) -> Result<Version, HeadError> {
        match text {
            b"HTTP/1.0" => Ok(Version::Http10),
            b"HTTP/1.1" => Ok(Version::Http11),
            other if other.starts_with(b"HTTP/") => Err(HeadError::Version),
            _ => Err(HeadError::StartLine),
        }
    }

    fn text(self) -> &'static str {
        match self {
            Version::Http10 => "HTTP/1.0",
            Version::Http11 => "HTTP/1.1",
        }
    }
}

/// How long a body is, as its head says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// There is none.
    Empty,
    /// So many bytes.
    Length(u64),
    /// It comes in chunks, the last of which is empty.
    Chunked,
    /// All until the connection ends; for responses only.
    UntilEnd,
}

/// Finds the end of a head in bytes that arrive piece by piece, and looks at each of them once.
#[derive(Debug)]
pub struct Scanner {
    bytes_max: usize,
    scanned: usize,
    line_bytes: usize,
    is_after_return: bool,
}

/// A complete head: lines that end with CR LF and hold no other control character than tabs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head<'a> {
    bytes: &'a [u8],
}

impl Scanner {
    /// Returns a scanner of a head of at most so many bytes.
    #[must_use]
    pub fn new(bytes_max: usize) -> Scanner {
        Scanner { bytes_max, scanned: 0, line_bytes: 0, is_after_return: false }
    }

    /// Goes on with all bytes that have arrived since the start, and returns the head once it is complete.
    ///
    /// # Errors
    ///
    /// At the first byte that does not belong in a head, and when the head is too long.
    pub fn scan<'a>(&mut self, bytes: &'a [u8]) -> Result<Option<Head<'a>>, HeadError> {
        while let Some(&byte) = bytes.get(self.scanned) {
            if self.scanned >= self.bytes_max {
                return Err(HeadError::TooLong { bytes_max: self.bytes_max });
            }
            self.scanned += 1;
            if self.is_end(byte)? {
                return Ok(bytes.get(..self.scanned).map(|bytes| Head { bytes }));
            }
        }
        Ok(None)
    }

    /// Takes the next byte and returns whether it ends the head.
    fn is_end(&mut self, byte: u8) -> Result<bool, HeadError> {
        match (self.is_after_return, byte) {
            (false, b'\r') => self.is_after_return = true,
            (true, b'\n') => {
                if self.line_bytes == 0 {
                    return if self.scanned > 2 { Ok(true) } else { Err(HeadError::StartLine) };
                }
                self.is_after_return = false;
                self.line_bytes = 0;
            }
            (false, b'\t' | b' '..=b'~' | 0x80..) => self.line_bytes += 1,
            (_, other) => return Err(HeadError::Byte(other)),
        }
        Ok(false)
    }
}

impl<'a> Head<'a> {
    /// Returns how many bytes it has, with the empty line.
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

/// Returns a text that is ASCII.
fn ascii(text: &[u8]) -> Option<&str> {
    std::str::from_utf8(text).ok().filter(|text| text.is_ascii())
}
