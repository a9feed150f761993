use crate::proxy::body::{HttpBodyError, HttpBodyTracker, LINE_BYTES_MAX};
use crate::proxy::head::{HttpBodyFraming, HttpHeadError, HttpHeadScanner};

use super::*;

#[test]
fn a_head_may_be_as_long_as_the_default_says() {
    let head = |bytes: usize| {
        let (start, end) = ("GET http://a/ HTTP/1.1\r\nA: ", "\r\n\r\n");
        format!("{start}{}{end}", "b".repeat(bytes - start.len() - end.len()))
    };
    let scan = |text: &str| {
        let head =
            HttpHeadScanner::new(ProxyLimits::default().head_bytes_max).scan(text.as_bytes())?;
        Ok(head.map(|head| head.length()))
    };
    assert_eq!(scan(&head(HEAD_BYTES_MAX)), Ok(Some(HEAD_BYTES_MAX)));
    let refused = HttpHeadError::TooLong { bytes_max: HEAD_BYTES_MAX };
    assert_eq!((scan(&head(HEAD_BYTES_MAX + 1)), refused.status()), (Err(refused), 431));
}

#[test]
fn the_first_line_of_a_chunk_is_bounded() {
    let line = |bytes: usize| format!("1;{}\r\n", "x".repeat(bytes - 4));
    let take = |line: &str| HttpBodyTracker::new(HttpBodyFraming::Chunked).take(line.as_bytes());
    assert_eq!(take(&line(LINE_BYTES_MAX)), Ok(LINE_BYTES_MAX));
    assert_eq!(take(&line(LINE_BYTES_MAX + 1)), Err(HttpBodyError::TooLong));
}

#[test]
fn the_size_of_a_chunk_fits_in_64_bits() {
    let take = |digits: usize| {
        let size = format!("{}\r\n", "f".repeat(digits));
        HttpBodyTracker::new(HttpBodyFraming::Chunked).take(size.as_bytes())
    };
    assert_eq!(take(15), Ok(17));
    assert_eq!(take(16), Err(HttpBodyError::Chunk(b'f')));
}
