//! Messages with a length header, as language servers frame them. A claimed length is checked
//! against a limit before it is used. The contents of messages are not inspected here.

use std::io;

use haft_contract::{BackgroundProcess, ChannelRead};

use crate::limits::{HEADER_LINE_BYTES_MAX, HEADER_LINES_MAX, MESSAGE_BYTES_MAX};

/// The header field with the length of the message.
const LENGTH_FIELD: &str = "content-length";

/// Why no further message can arrive.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LspFramingError {
    /// The channel was closed.
    Closed,
    /// The received bytes are not a frame, or the frame is too large.
    Fault(String),
}

/// The received part of the next message. It is stored here, so that waiting can be cancelled.
#[derive(Debug, Default)]
pub(crate) struct LspFrameReader {
    header: LspFrameHeader,
    /// Whether the header is complete.
    is_body_next: bool,
}

/// The parsed part of one message's header.
#[derive(Debug, Default)]
struct LspFrameHeader {
    lines: usize,
    length: Option<usize>,
}

impl LspFrameReader {
    /// Waits for the next message. Can be cancelled and called again without loss.
    pub(crate) async fn next_message(
        &mut self,
        resident: &mut dyn BackgroundProcess,
    ) -> Result<Vec<u8>, LspFramingError> {
        while !self.is_body_next {
            let mut line = Vec::new();
            match resident.receive(&mut line, HEADER_LINE_BYTES_MAX).await {
                Ok(ChannelRead::Line) => self.is_body_next = self.header.take_line(&line)?,
                Ok(ChannelRead::Closed) | Err(_) => return Err(LspFramingError::Closed),
                Ok(ChannelRead::TooLong) => {
                    return Err(LspFramingError::Fault(format!(
                        "it began a message with a line of more than {HEADER_LINE_BYTES_MAX} bytes"
                    )));
                }
            }
        }
        let length = self.header.length.ok_or_else(|| {
            LspFramingError::Fault("it began a message without Content-Length".to_owned())
        })?;
        let mut body = Vec::new();
        match resident.receive_exact(&mut body, length).await {
            Ok(()) => {
                *self = Self::default();
                Ok(body)
            }
            Err(err) if err.kind() == io::ErrorKind::UnexpectedEof => Err(LspFramingError::Closed),
            Err(err) => Err(LspFramingError::Fault(format!("it cannot be read: {err}"))),
        }
    }
}

impl LspFrameHeader {
    /// Parses one line; returns whether it was the last.
    fn take_line(&mut self, line: &[u8]) -> Result<bool, LspFramingError> {
        let line = line.trim_ascii_end();
        if line.is_empty() {
            return Ok(true);
        }
        self.lines += 1;
        if self.lines > HEADER_LINES_MAX {
            let message = format!("it began a message with more than {HEADER_LINES_MAX} lines");
            return Err(LspFramingError::Fault(message));
        }
        let text = String::from_utf8_lossy(line);
        let Some((name, value)) = text.split_once(':') else {
            let message = "it wrote something else than a message of the protocol".to_owned();
            return Err(LspFramingError::Fault(message));
        };
        if !name.trim().eq_ignore_ascii_case(LENGTH_FIELD) {
            return Ok(false);
        }
        let length: usize = value.trim().parse().map_err(|_| {
            LspFramingError::Fault(
                "it began a message whose Content-Length is not a number".to_owned(),
            )
        })?;
        if length > MESSAGE_BYTES_MAX {
            return Err(LspFramingError::Fault(format!(
                "it began a message of {length} bytes, but the limit is {MESSAGE_BYTES_MAX}"
            )));
        }
        self.length = Some(length);
        Ok(false)
    }
}

/// Returns a message with its header.
pub(crate) fn frame_message(body: &[u8]) -> Vec<u8> {
    let mut message = format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes();
    message.extend_from_slice(body);
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parses the lines of a header; returns the length or the error as text.
    fn shown(lines: &[&str]) -> String {
        let mut header = LspFrameHeader::default();
        for line in lines {
            match header.take_line(line.as_bytes()) {
                Ok(false) => {}
                Ok(true) => return format!("{:?}", header.length),
                Err(broken) => return format!("{broken:?}"),
            }
        }
        "(unfinished)".to_owned()
    }

    #[test]
    fn headers_are_bounded_before_they_are_believed() {
        let check = |lines: &[&str], expect: &str| assert_eq!(shown(lines), expect, "{lines:?}");
        check(&["Content-Length: 5\r", "\r"], "Some(5)");
        check(&["content-length:5", "Content-Type: x", ""], "Some(5)");
        check(&["Content-Length: 5"], "(unfinished)");
        check(&["Content-Type: x", ""], "None");
        check(&["hello"], "Fault(\"it wrote something else than a message of the protocol\")");
        let number = "Fault(\"it began a message whose Content-Length is not a number\")";
        check(&["Content-Length: -1"], number);
        check(&["Content-Length: 99999999999999999999999"], number);
        let largest = format!("Content-Length: {MESSAGE_BYTES_MAX}");
        check(&[&largest, ""], &format!("Some({MESSAGE_BYTES_MAX})"));
        let larger = format!("Content-Length: {}", MESSAGE_BYTES_MAX + 1);
        assert!(shown(&[&larger]).contains("the limit is"));
        assert_eq!(shown(&["a: b"; HEADER_LINES_MAX]), "(unfinished)");
        assert!(shown(&["a: b"; HEADER_LINES_MAX + 1]).contains("more than"));
    }

    #[test]
    fn a_message_says_how_long_it_is() {
        assert_eq!(frame_message(b"{}"), b"Content-Length: 2\r\n\r\n{}");
    }
}
