//! The part of HTTP that clients of models use: requests with a length, whole or chunked answers,
//! and persistent connections. Sizes are limited, because a test may be wrong too.

use std::io::{self, Read, Write};

/// Maximum size of a request's head, in bytes.
const HEAD_BYTES_MAX: usize = 64 * 1024;
/// Maximum size of a request's body, in bytes.
const BODY_BYTES_MAX: usize = 64 * 1024 * 1024;

/// A received request.
pub(crate) struct ScriptedHttpRequest {
    pub(crate) method: String,
    pub(crate) path: String,
    /// Request line and headers.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

/// Reads the next request of a connection; `None` if the client has closed it.
pub(crate) fn read(stream: &mut impl Read) -> io::Result<Option<ScriptedHttpRequest>> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        if bytes.len() > HEAD_BYTES_MAX {
            return Err(wrong("a head that is too long"));
        }
        if !more(stream, &mut bytes)? {
            return if bytes.is_empty() { Ok(None) } else { Err(wrong("half a request")) };
        }
    };
    let mut body = bytes.split_off(head_end + 4);
    bytes.truncate(head_end);
    let head = String::from_utf8(bytes).map_err(|_| wrong("a head that is not text"))?;
    let mut first = head.lines().next().unwrap_or_default().split(' ');
    let (method, path) = (first.next().unwrap_or_default(), first.next().unwrap_or_default());
    let (method, path) = (method.to_owned(), path.to_owned());
    let length = match header(&head, "content-length") {
        Some(length) => length.parse().map_err(|_| wrong("a length that is not a number"))?,
        None if header(&head, "transfer-encoding").is_some() => {
            return Err(wrong("a body without a length"));
        }
        None => 0,
    };
    if length > BODY_BYTES_MAX {
        return Err(wrong("a body that is too long"));
    }
    while body.len() < length {
        if !more(stream, &mut body)? {
            return Err(wrong("half a body"));
        }
    }
    // A client that waits for an answer does not send another request before it.
    body.truncate(length);
    Ok(Some(ScriptedHttpRequest { method, path, head, body }))
}

/// Sends a complete answer.
pub(crate) fn answer(
    stream: &mut impl Write,
    status: u16,
    headers: &[(String, String)],
    body: &str,
) -> io::Result<()> {
    let mut head = format!(
        "HTTP/1.1 {status} Text\r\ncontent-type: application/json\r\ncontent-length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    stream.write_all(format!("{head}\r\n{body}").as_bytes())
}

/// Begins a chunked answer.
pub(crate) fn begin(stream: &mut impl Write, content_type: &str) -> io::Result<()> {
    let head = format!(
        "HTTP/1.1 200 Text\r\ncontent-type: {content_type}\r\ntransfer-encoding: chunked\r\n\r\n"
    );
    stream.write_all(head.as_bytes())
}

/// Sends a chunk at once.
pub(crate) fn chunk(stream: &mut impl Write, text: &str) -> io::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    stream.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes())
}

/// Ends a chunked answer.
pub(crate) fn end(stream: &mut impl Write) -> io::Result<()> {
    stream.write_all(b"0\r\n\r\n")
}

fn more(stream: &mut impl Read, bytes: &mut Vec<u8>) -> io::Result<bool> {
    let mut piece = [0; 16 * 1024];
    let count = stream.read(&mut piece)?;
    bytes.extend_from_slice(piece.get(..count).unwrap_or_default());
    Ok(count > 0)
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().skip(1).find_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

fn wrong(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
