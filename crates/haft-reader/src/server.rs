//! The process that reads pages: requests come in on one side, answers go out on the other, one after the other. A request
//! is a line of JSON and the bytes of the page; an answer is a line of JSON.
//!
//! It is started with nothing that it could do harm with, and killed by whoever started it when a page takes too long or
//! too much. A page that makes a library panic is answered with an error; one that overflows the stack ends the process.

use std::any::Any;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::limits::{PAGE_BYTES_MAX, REQUEST_BYTES_MAX, STACK_BYTES, TEXT_BYTES_MAX};
use crate::page::{FetchedPage, PageContent};
use crate::read::read_page;

/// Why the process cannot go on.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReaderServeError {
    /// The channel broke.
    #[error("the channel broke: {0}")]
    Channel(#[from] io::Error),
    /// What came was no request.
    #[error("expected a request of one line of JSON, found something else: {0}")]
    NotARequest(String),
    /// A bound was exceeded, so that what follows is not the beginning of a request.
    #[error("a request has more than {most} bytes of {what}")]
    TooLong {
        /// Of what it has more.
        what: &'static str,
        /// How much it may have.
        most: usize,
    },
    /// The thread that reads pages ended.
    #[error("the thread that reads pages could not be started or did not end well")]
    Thread,
}

#[derive(Deserialize)]
struct PageRequest {
    /// Length of the page that follows.
    bytes: usize,
    #[serde(default)]
    content_type: Option<String>,
    #[serde(default)]
    url: String,
    /// How much text is wanted.
    #[serde(default = "text_bytes_default")]
    text_bytes_max: usize,
}

#[derive(Serialize)]
#[serde(untagged)]
enum PageReply<'a> {
    Page {
        kind: &'static str,
        title: Option<&'a str>,
        text: Option<&'a str>,
        charset: Option<&'static str>,
        note: Option<&'a str>,
        truncated: bool,
    },
    Failed {
        error: &'a str,
    },
}

/// Answers requests until there are no more.
pub fn serve(input: impl Read + Send, output: impl Write + Send) -> Result<(), ReaderServeError> {
    std::thread::scope(|scope| {
        let reader = std::thread::Builder::new().stack_size(STACK_BYTES);
        let reader = reader.spawn_scoped(scope, || serve_on_this_thread(input, output))?;
        reader.join().unwrap_or(Err(ReaderServeError::Thread))
    })
}

fn serve_on_this_thread(input: impl Read, mut output: impl Write) -> Result<(), ReaderServeError> {
    let mut input = BufReader::new(input);
    while let Some(request) = next_request(&mut input)? {
        if request.bytes > PAGE_BYTES_MAX {
            return Err(ReaderServeError::TooLong { what: "page", most: PAGE_BYTES_MAX });
        }
        let mut bytes = vec![0; request.bytes];
        input.read_exact(&mut bytes)?;
        let mut line = reply(&request, &bytes);
        line.push('\n');
        output.write_all(line.as_bytes())?;
        output.flush()?;
    }
    Ok(())
}

fn next_request(input: &mut impl BufRead) -> Result<Option<PageRequest>, ReaderServeError> {
    let mut line = Vec::new();
    let most = u64::try_from(REQUEST_BYTES_MAX).unwrap_or(u64::MAX);
    if input.take(most).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if !line.ends_with(b"\n") && line.len() >= REQUEST_BYTES_MAX {
        return Err(ReaderServeError::TooLong { what: "its line", most: REQUEST_BYTES_MAX });
    }
    let request = serde_json::from_slice(&line);
    request.map(Some).map_err(|err| ReaderServeError::NotARequest(err.to_string()))
}

fn reply(request: &PageRequest, bytes: &[u8]) -> String {
    let page =
        FetchedPage { bytes, content_type: request.content_type.as_deref(), url: &request.url };
    // Nothing that is changed outlives the call.
    let read = catch_unwind(AssertUnwindSafe(|| read_page(&page)));
    match read {
        Ok(Ok(extracted)) => content_reply(&extracted, request.text_bytes_max.min(TEXT_BYTES_MAX)),
        Ok(Err(err)) => error_reply(&err.to_string()),
        Err(panic) => {
            error_reply(&format!("the page could not be read: {}", panic_message(&*panic)))
        }
    }
}

fn content_reply(extracted: &PageContent, text_bytes_max: usize) -> String {
    let whole = extracted.text.as_deref();
    let text =
        whole.map(|text| text.get(..text.floor_char_boundary(text_bytes_max)).unwrap_or_default());
    let answer = PageReply::Page {
        kind: extracted.kind.as_str(),
        title: extracted.title.as_deref(),
        text,
        charset: extracted.charset,
        note: extracted.note.as_deref(),
        truncated: text.map(str::len) != whole.map(str::len),
    };
    to_line(&answer)
}

fn error_reply(error: &str) -> String {
    to_line(&PageReply::Failed { error })
}

fn to_line(answer: &PageReply<'_>) -> String {
    serde_json::to_string(answer).expect("an answer has text for keys, and so is JSON")
}

fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a library gave up on it")
}

fn text_bytes_default() -> usize {
    TEXT_BYTES_MAX
}

#[cfg(test)]
mod tests;
