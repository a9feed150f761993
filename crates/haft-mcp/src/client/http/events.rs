//! A stream of events, each of which is no longer than a message may be.

use std::io;

use futures_util::StreamExt as _;
use futures_util::stream::{BoxStream, unfold};
use reqwest::Response;
use rmcp::transport::streamable_http_client::SseError;
use sse_stream::{Sse, SseStream};

use crate::client::http_client::error_text;
use crate::client::limits::SERVER_MESSAGE_BYTES_MAX;

/// Returns the events of an answer. One that is too long ends them.
pub(super) fn events(response: Response) -> BoxStream<'static, Result<Sse, SseError>> {
    let chunks = unfold(Some((response, SseEventSize::default())), |reading| async {
        let (mut response, mut measure) = reading?;
        match response.chunk().await {
            Ok(None) => None,
            Ok(Some(chunk)) if measure.add_chunk(&chunk) => {
                Some((Ok(chunk), Some((response, measure))))
            }
            Ok(Some(_)) => {
                let message = format!("an event of more than {SERVER_MESSAGE_BYTES_MAX} bytes");
                Some((Err(io::Error::other(message)), None))
            }
            Err(err) => Some((Err(io::Error::other(error_text(&err))), None)),
        }
    });
    SseStream::from_bytes_stream(chunks).boxed()
}

/// Counts the bytes since the last empty line.
#[derive(Default)]
struct SseEventSize {
    bytes: usize,
    is_line_empty: bool,
}

impl SseEventSize {
    fn add_chunk(&mut self, chunk: &[u8]) -> bool {
        for byte in chunk {
            self.bytes += 1;
            match byte {
                b'\n' if self.is_line_empty => self.bytes = 0,
                b'\n' => self.is_line_empty = true,
                // Both kinds of line ends are in use, and either may stand alone.
                b'\r' => {}
                _ => self.is_line_empty = false,
            }
            if self.bytes > SERVER_MESSAGE_BYTES_MAX {
                return false;
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_measured_one_by_one() {
        let mut measure = SseEventSize::default();
        let half = vec![b'x'; SERVER_MESSAGE_BYTES_MAX / 2];
        for _ in 0..4 {
            assert!(measure.add_chunk(&half));
            assert!(measure.add_chunk(b"\r\n\r\n"));
        }
        assert!(measure.add_chunk(&half));
        assert!(measure.add_chunk(b"\n:"));
        assert!(!measure.add_chunk(&half), "one line end ends no event");
        let mut measure = SseEventSize::default();
        assert!(measure.add_chunk(&vec![b'x'; SERVER_MESSAGE_BYTES_MAX]), "at the bound");
        assert!(!measure.add_chunk(b"x"));
    }
}
