//! Finds the end of a body in arriving bytes, so that the body is never confused with the bytes
//! after it. The bytes pass unchanged. Pure: it performs no I/O and stores no content.

#[cfg(test)]
mod tests;

use super::head::HttpBodyFraming;

/// Bytes around the chunks that are not content, per chunk and for the trailer.
pub(crate) const LINE_BYTES_MAX: usize = 8_192;

/// A chunk's size with this many digits always fits in 64 bits.
const SIZE_DIGITS_MAX: u32 = 15;

/// The bytes are not a body of the announced kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HttpBodyError {
    /// A chunk's size is missing, too large or not terminated correctly.
    #[error("the chunked body is malformed at the byte {0:#04x}; start each chunk with its size")]
    Chunk(u8),
    /// A chunk's size line, or the trailer, is too long.
    #[error("the chunked body has a line or a trailer of over {LINE_BYTES_MAX} bytes")]
    TooLong,
    /// The connection ended before the body did.
    #[error("the body ended early; send all that was announced")]
    Incomplete,
}

/// A position in a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpBodyTracker {
    state: HttpBodyState,
    /// Bytes of the current line or trailer.
    line_bytes: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HttpBodyState {
    /// Content of a known length, which is the whole body.
    Length(u64),
    /// Content that ends with the connection.
    UntilEnd,
    /// In the size of a chunk, with this many digits so far.
    Size { size: u64, digits: u32 },
    /// After a size, on its line.
    Extension { size: u64 },
    /// At the line feed after a size.
    SizeEnd { size: u64 },
    /// In a chunk.
    Content { left: u64 },
    /// At the carriage return after a chunk.
    ContentReturn,
    /// At the line feed after a chunk.
    ContentEnd,
    /// At the start of a line of the trailer.
    TrailerStart,
    /// In a line of the trailer.
    Trailer,
    /// At the line feed of a line of the trailer.
    TrailerEnd,
    /// At the line feed of the empty line after the trailer.
    LastEnd,
    /// After the body.
    Complete,
}

impl HttpBodyTracker {
    /// Returns the start of a body.
    #[must_use]
    pub fn new(framing: HttpBodyFraming) -> HttpBodyTracker {
        let state = match framing {
            HttpBodyFraming::Empty | HttpBodyFraming::Length(0) => HttpBodyState::Complete,
            HttpBodyFraming::Length(length) => HttpBodyState::Length(length),
            HttpBodyFraming::Chunked => HttpBodyState::Size { size: 0, digits: 0 },
            HttpBodyFraming::UntilEnd => HttpBodyState::UntilEnd,
        };
        HttpBodyTracker { state, line_bytes: 0 }
    }

    /// Returns whether the body is complete.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.state == HttpBodyState::Complete
    }

    /// Consumes the next bytes and returns how many of them belong to the body.
    ///
    /// # Errors
    ///
    /// If chunks are malformed.
    pub fn take(&mut self, bytes: &[u8]) -> Result<usize, HttpBodyError> {
        let mut rest = bytes;
        while let Some((&byte, after)) = rest.split_first() {
            match self.state {
                HttpBodyState::Complete => break,
                HttpBodyState::UntilEnd => {
                    rest = &[];
                    continue;
                }
                HttpBodyState::Length(left) => {
                    self.state = match skip(&mut rest, left) {
                        0 => HttpBodyState::Complete,
                        left => HttpBodyState::Length(left),
                    };
                    continue;
                }
                HttpBodyState::Content { left } => {
                    self.state = match skip(&mut rest, left) {
                        0 => HttpBodyState::ContentReturn,
                        left => HttpBodyState::Content { left },
                    };
                    continue;
                }
                HttpBodyState::Size { .. }
                | HttpBodyState::Extension { .. }
                | HttpBodyState::SizeEnd { .. }
                | HttpBodyState::ContentReturn
                | HttpBodyState::ContentEnd
                | HttpBodyState::TrailerStart
                | HttpBodyState::Trailer
                | HttpBodyState::TrailerEnd
                | HttpBodyState::LastEnd => {}
            }
            // The byte is not content.
            self.line_bytes += 1;
            if self.line_bytes > LINE_BYTES_MAX {
                return Err(HttpBodyError::TooLong);
            }
            let is_text = matches!(byte, b'\t' | b' '..=b'~' | 0x80..);
            self.state = match (self.state, byte) {
                (HttpBodyState::Size { size, digits }, _) => {
                    match (char::from(byte).to_digit(16), byte) {
                        (Some(digit), _) if digits < SIZE_DIGITS_MAX => {
                            let size = size * 16 + u64::from(digit);
                            HttpBodyState::Size { size, digits: digits + 1 }
                        }
                        (None, b'\r') if digits > 0 => HttpBodyState::SizeEnd { size },
                        (None, b';' | b' ' | b'\t') if digits > 0 => {
                            HttpBodyState::Extension { size }
                        }
                        _ => return Err(HttpBodyError::Chunk(byte)),
                    }
                }
                (HttpBodyState::SizeEnd { size }, b'\n') => {
                    self.line_bytes = 0;
                    match size {
                        0 => HttpBodyState::TrailerStart,
                        left => HttpBodyState::Content { left },
                    }
                }
                (HttpBodyState::Extension { size }, b'\r') => HttpBodyState::SizeEnd { size },
                (HttpBodyState::Extension { size }, _) if is_text => {
                    HttpBodyState::Extension { size }
                }
                (HttpBodyState::ContentReturn, b'\r') => HttpBodyState::ContentEnd,
                (HttpBodyState::ContentEnd, b'\n') => {
                    self.line_bytes = 0;
                    HttpBodyState::Size { size: 0, digits: 0 }
                }
                (HttpBodyState::TrailerStart, b'\r') => HttpBodyState::LastEnd,
                (HttpBodyState::Trailer, b'\r') => HttpBodyState::TrailerEnd,
                (HttpBodyState::TrailerStart | HttpBodyState::Trailer, _) if is_text => {
                    HttpBodyState::Trailer
                }
                (HttpBodyState::TrailerEnd, b'\n') => HttpBodyState::TrailerStart,
                (HttpBodyState::LastEnd, b'\n') => HttpBodyState::Complete,
                _ => return Err(HttpBodyError::Chunk(byte)),
            };
            rest = after;
        }
        Ok(bytes.len().saturating_sub(rest.len()))
    }

    /// Checks whether the body may end here, with the connection.
    ///
    /// # Errors
    ///
    /// If more was announced.
    pub fn end(&self) -> Result<(), HttpBodyError> {
        let may_end = matches!(self.state, HttpBodyState::Complete | HttpBodyState::UntilEnd);
        if may_end { Ok(()) } else { Err(HttpBodyError::Incomplete) }
    }
}

/// Skips up to `count` bytes, and returns how many remain to be skipped.
fn skip(bytes: &mut &[u8], count: u64) -> u64 {
    let present = usize::try_from(count).map_or(bytes.len(), |count| count.min(bytes.len()));
    *bytes = bytes.get(present..).unwrap_or_default();
    count.saturating_sub(u64::try_from(present).unwrap_or(u64::MAX))
}
