//! Messages with a header that says how long they are, as language servers frame them. What a server claims is bounded
//! before it is believed; what is in a message is not looked at here.

use std::io;

use haft_contract::{Received, Resident};

use crate::limits::{HEADER_LINE_BYTES_MAX, HEADER_LINES_MAX, MESSAGE_BYTES_MAX};

/// The field of a header that says how long the message is.
const LENGTH_FIELD: &str = "content-length";

/// Why no further message can come.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    /// The channel has ended.
    Closed,
    /// What came is no frame, or one that is too large.
    Fault(String),
}

/// How far the next message has come. It is kept here, so that waiting for it can be given up.
#[derive(Debug, Default)]
pub(crate) struct Framing {
    header: Header,
    /// Whether the header is complete.
    is_body_next: bool,
}

/// What the header of one message has said so far.
#[derive(Debug, Default)]
struct Header {
    lines: usize,
    length: Option<usize>,
}

impl Framing {
    /// Waits for the next message. Can be given up and called again without loss.
    pub(crate) async fn next(&mut self, resident: &mut dyn Resident) -> Result<Vec<u8>, Broken> {
        while !self.is_body_next {
            let mut line = Vec::new();
            match resident.receive(&mut line, HEADER_LINE_BYTES_MAX).await {
                Ok(Received::Line) => self.is_body_next = self.header.take(&line)?,
                Ok(Received::Closed) | Err(_) => return Err(Broken::Closed),
                Ok(Received::TooLong) => {
                    return Err(Broken::Fault(format!(
                        "it began a message with a line of more than {HEADER_LINE_BYTES_MAX} bytes"
                    )));
                }
            }
        }
        let length = self
            .header
            .length
            .ok_or_else(|| Broken::Fault("it began a message without Content-Length".to_owned()))?;
        let mut body = Vec::new();
        match resident.receive_exact(&mut body, length).await {
            Ok(()) => {
                *self = Self::default();
                Ok(body)
            }
            Err(err) if err.kind() == io::ErrorKind::UnexpectedEof => Err(Broken::Closed),
            Err(err) => Err(Broken::Fault(format!("it cannot be read: {err}"))),
        }
    }
}

impl Header {
    /// Takes one line of it; says whether it was the last.
    fn take(&mut self, line: &[u8]) -> Result<bool, Broken> {
        let line = line.trim_ascii_end();
        if line.is_empty() {
            return Ok(true);
        }
        self.lines += 1;
        if self.lines > HEADER_LINES_MAX {
            let message = format!("it began a message with more than {HEADER_LINES_MAX} lines");
            return Err(Broken::Fault(message));
        }
        let text = String::from_utf8_lossy(line);
        let Some((name, value)) = text.split_once(':') else {
            let message = "it wrote something else than a message of the protocol".to_owned();
            return Err(Broken::Fault(message));
        };
        if !name.trim().eq_ignore_ascii_case(LENGTH_FIELD) {
            return Ok(false);
        }
        let length: usize = value.trim().parse().map_err(|_| {
            Broken::Fault("it began a message whose Content-Length is no number".to_owned())
        })?;
        if length > MESSAGE_BYTES_MAX {
            return Err(Broken::Fault(format!(
                "it began a message of {length} bytes, and at most {MESSAGE_BYTES_MAX} are taken"
            )));
        }
        self.length = Some(length);
        Ok(false)
    }
}

/// Returns a message with its header.
pub(crate) fn framed(body: &[u8]) -> Vec<u8> {
    let mut message = format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes();
    message.extend_from_slice(body);
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes the lines of a header; shows the length, or what is wrong.
    fn shown(lines: &[&str]) -> String {
        let mut header = Header::default();
        for line in lines {
            match header.take(line.as_bytes()) {
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
        let number = "Fault(\"it began a message whose Content-Length is no number\")";
        check(&["Content-Length: -1"], number);
        check(&["Content-Length: 99999999999999999999999"], number);
        let largest = format!("Content-Length: {MESSAGE_BYTES_MAX}");
        check(&[&largest, ""], &format!("Some({MESSAGE_BYTES_MAX})"));
        let larger = format!("Content-Length: {}", MESSAGE_BYTES_MAX + 1);
        assert!(shown(&[&larger]).contains("at most"));
        assert_eq!(shown(&["a: b"; HEADER_LINES_MAX]), "(unfinished)");
        assert!(shown(&["a: b"; HEADER_LINES_MAX + 1]).contains("more than"));
    }

    #[test]
    fn a_message_says_how_long_it_is() {
        assert_eq!(framed(b"{}"), b"Content-Length: 2\r\n\r\n{}");
    }
}
