//! Finds the end of a body in the bytes that arrive, so that what follows is never taken for a part of it, nor a part of it
//! for what follows. Bytes go on as they are. Pure: it reads and writes nothing, and deliberately keeps nothing.

#[cfg(test)]
mod tests;

use super::head::Framing;

/// Bytes around the chunks that are no content, per chunk and for the trailer.
pub(crate) const LINE_BYTES_MAX: usize = 8_192;

/// Why bytes are no body of the announced kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BodyError {
    /// A chunk's size is missing, too large or badly ended.
    #[error("the chunked body is malformed at the byte {0:#04x}; start each chunk with its size")]
    Chunk(u8),
    /// A chunk's first line, or the trailer, goes on for too long.
    #[error("the chunked body has a line or a trailer of over {LINE_BYTES_MAX} bytes")]
    TooLong,
    /// The connection ended before the body did.
    #[error("the body ended early; send all that was announced")]
    Incomplete,
}

/// A place in a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Body {
    state: State,
    /// Of the present line or trailer.
    line_bytes: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Content of a known length, which is all of the body.
    Length(u64),
    /// Content that ends with the connection.
    UntilEnd,
    /// In the size of a chunk, which has so many digits so far.
    Size { size: u64, digits: u32 },
    /// In what follows a size on its line.
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

impl Body {
    /// Returns the start of a body.
    #[must_use]
    pub fn new(framing: Framing) -> Body {
        let state = match framing {
            Framing::Empty | Framing::Length(0) => State::Complete,
            Framing::Length(length) => State::Length(length),
            Framing::Chunked => State::Size { size: 0, digits: 0 },
            Framing::UntilEnd => State::UntilEnd,
        };
        Body { state, line_bytes: 0 }
    }

    /// Returns whether nothing more belongs to the body.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.state == State::Complete
    }

    /// Takes the next bytes and returns how many of them belong to the body.
    ///
    /// # Errors
    ///
    /// When chunks are malformed.
    pub fn take(&mut self, bytes: &[u8]) -> Result<usize, BodyError> {
        let mut rest = bytes;
        while let Some((&byte, after)) = rest.split_first() {
            match self.state {
                State::Complete => break,
                State::UntilEnd => rest = &[],
                State::Length(left) => {
                    let left = skip(&mut rest, left);
                    self.state = if left == 0 { State::Complete } else { State::Length(left) };
                }
                State::Content { left } => {
                    let left = skip(&mut rest, left);
                    self.state =
                        if left == 0 { State::ContentReturn } else { State::Content { left } };
                }
                State::Size { .. }
                | State::Extension { .. }
                | State::SizeEnd { .. }
                | State::ContentReturn
                | State::ContentEnd
                | State::TrailerStart
                | State::Trailer
                | State::TrailerEnd
                | State::LastEnd => {
                    self.step(byte)?;
                    rest = after;
                }
            }
        }
        Ok(bytes.len().saturating_sub(rest.len()))
    }

    /// Returns whether the body may end with the connection, here.
    ///
    /// # Errors
    ///
    /// When more was announced.
    pub fn end(&self) -> Result<(), BodyError> {
        match self.state {
            State::Complete | State::UntilEnd => Ok(()),
            State::Length(_)
            | State::Size { .. }
            | State::Extension { .. }
            | State::SizeEnd { .. }
            | State::Content { .. }
            | State::ContentReturn
            | State::ContentEnd
            | State::TrailerStart
            | State::Trailer
            | State::TrailerEnd
            | State::LastEnd => Err(BodyError::Incomplete),
        }
    }

    /// Takes a byte that is no content.
    fn step(&mut self, byte: u8) -> Result<(), BodyError> {
        self.line_bytes += 1;
        if self.line_bytes > LINE_BYTES_MAX {
            return Err(BodyError::TooLong);
        }
        let is_text = matches!(byte, b'\t' | b' '..=b'~' | 0x80..);
        self.state = match (self.state, byte) {
            (State::Size { size, digits }, _) => next_in_size(size, digits, byte)?,
            (State::SizeEnd { size }, b'\n') => {
                self.line_bytes = 0;
                if size == 0 { State::TrailerStart } else { State::Content { left: size } }
            }
            (State::Extension { size }, b'\r') => State::SizeEnd { size },
            (State::Extension { size }, _) if is_text => State::Extension { size },
            (State::ContentReturn, b'\r') => State::ContentEnd,
            (State::ContentEnd, b'\n') => {
                self.line_bytes = 0;
                State::Size { size: 0, digits: 0 }
            }
            (State::TrailerStart, b'\r') => State::LastEnd,
            (State::Trailer, b'\r') => State::TrailerEnd,
            (State::TrailerStart | State::Trailer, _) if is_text => State::Trailer,
            (State::TrailerEnd, b'\n') => State::TrailerStart,
            (State::LastEnd, b'\n') => State::Complete,
            _ => return Err(BodyError::Chunk(byte)),
        };
        Ok(())
    }
}

/// Takes a byte of a size, or the one after it.
fn next_in_size(size: u64, digits: u32, byte: u8) -> Result<State, BodyError> {
    /// Of a size that fits in 64 bits whatever its digits are.
    const DIGITS_MAX: u32 = 15;
    match (char::from(byte).to_digit(16), byte) {
        (Some(digit), _) if digits < DIGITS_MAX => {
            Ok(State::Size { size: size * 16 + u64::from(digit), digits: digits + 1 })
        }
        (None, b'\r') if digits > 0 => Ok(State::SizeEnd { size }),
        (None, b';' | b' ' | b'\t') if digits > 0 => Ok(State::Extension { size }),
        _ => Err(BodyError::Chunk(byte)),
    }
}

/// Skips so many bytes, or all there are, and returns how many are still to be skipped.
fn skip(bytes: &mut &[u8], count: u64) -> u64 {
    let present = usize::try_from(count).map_or(bytes.len(), |count| count.min(bytes.len()));
    *bytes = bytes.get(present..).unwrap_or_default();
    count.saturating_sub(u64::try_from(present).unwrap_or(u64::MAX))
}
