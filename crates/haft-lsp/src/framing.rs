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
    header_lines: usize,
    length: Option<usize>,
    /// Whether the header is complete.
    is_body_next: bool,
}

impl LspFrameReader {
    /// Waits for the next message. Can be cancelled and called again without loss.
    pub(crate) async fn next_message(
        &mut self,
        process: &mut dyn BackgroundProcess,
    ) -> Result<Vec<u8>, LspFramingError> {
        let fault = |message: String| Err(LspFramingError::Fault(message));
        while !self.is_body_next {
            let mut line = Vec::new();
            match process.receive(&mut line, HEADER_LINE_BYTES_MAX).await {
                Ok(ChannelRead::Line) => {}
                Ok(ChannelRead::Closed) | Err(_) => return Err(LspFramingError::Closed),
                Ok(ChannelRead::TooLong) => {
                    return fault(format!(
                        "it began a message with a line of more than {HEADER_LINE_BYTES_MAX} bytes"
                    ));
                }
            }
            let line = line.trim_ascii_end();
            if line.is_empty() {
                self.is_body_next = true;
                continue;
            }
            self.header_lines += 1;
            if self.header_lines > HEADER_LINES_MAX {
                return fault(format!(
                    "it began a message with more than {HEADER_LINES_MAX} lines"
                ));
            }
            let text = String::from_utf8_lossy(line);
            let Some((name, value)) = text.split_once(':') else {
                return fault("it wrote something else than a message of the protocol".to_owned());
            };
            if !name.trim().eq_ignore_ascii_case(LENGTH_FIELD) {
                continue;
            }
            let Ok(length) = value.trim().parse() else {
                return fault("it began a message whose Content-Length is not a number".to_owned());
            };
            if length > MESSAGE_BYTES_MAX {
                return fault(format!(
                    "it began a message of {length} bytes, but the limit is {MESSAGE_BYTES_MAX}"
                ));
            }
            self.length = Some(length);
        }
        let Some(length) = self.length else {
            return fault("it began a message without Content-Length".to_owned());
        };
        let mut body = Vec::new();
        match process.receive_exact(&mut body, length).await {
            Ok(()) => {
                *self = Self::default();
                Ok(body)
            }
            Err(err) if err.kind() == io::ErrorKind::UnexpectedEof => Err(LspFramingError::Closed),
            Err(err) => fault(format!("it cannot be read: {err}")),
        }
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
    use crate::testing::Talker;

    /// Receives a message with this header; returns its length or the error as text.
    async fn shown(lines: &[&str]) -> String {
        let mut program = Talker::with_lines(lines);
        match LspFrameReader::default().next_message(&mut program).await {
            Ok(body) => format!("Some({})", body.len()),
            Err(LspFramingError::Closed) => "(unfinished)".to_owned(),
            Err(broken) => format!("{broken:?}"),
        }
    }

    #[tokio::test]
    async fn headers_are_bounded_before_they_are_believed() {
        async fn check(lines: &[&str], expect: &str) {
            assert_eq!(shown(lines).await, expect, "{lines:?}");
        }
        check(&["Content-Length: 5\r", "\r"], "Some(5)").await;
        check(&["content-length:5", "Content-Type: x", ""], "Some(5)").await;
        check(&["Content-Length: 5"], "(unfinished)").await;
        let none = "Fault(\"it began a message without Content-Length\")";
        check(&["Content-Type: x", ""], none).await;
        let other = "Fault(\"it wrote something else than a message of the protocol\")";
        check(&["hello"], other).await;
        let number = "Fault(\"it began a message whose Content-Length is not a number\")";
        check(&["Content-Length: -1"], number).await;
        check(&["Content-Length: 99999999999999999999999"], number).await;
        let largest = format!("Content-Length: {MESSAGE_BYTES_MAX}");
        check(&[&largest, ""], &format!("Some({MESSAGE_BYTES_MAX})")).await;
        let larger = format!("Content-Length: {}", MESSAGE_BYTES_MAX + 1);
        assert!(shown(&[&larger]).await.contains("the limit is"));
        check(&["a: b"; HEADER_LINES_MAX], "(unfinished)").await;
        assert!(shown(&["a: b"; HEADER_LINES_MAX + 1]).await.contains("more than"));
    }

    #[test]
    fn a_message_says_how_long_it_is() {
        assert_eq!(frame_message(b"{}"), b"Content-Length: 2\r\n\r\n{}");
    }
}
