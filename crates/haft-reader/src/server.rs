//! The process that reads pages and files. It answers requests in order. A request is a line of JSON and the bytes of the page;
//! an answer is a line of JSON.
//!
//! The process has no permissions, and its parent kills it if a page takes too much time or memory. If a page makes a
//! library panic, the answer is an error. If a page overflows the stack, the process ends.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use haft_contract::ContentPart;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::limits::{PAGE_BYTES_MAX, REQUEST_BYTES_MAX, STACK_BYTES, TEXT_BYTES_MAX};
use crate::page::FetchedPage;
use crate::read::read_page;
use crate::view::{ViewError, ViewRequest, view_file};

/// Why the process cannot continue.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReaderServeError {
    /// The channel broke.
    #[error("the channel broke: {0}")]
    Channel(#[from] io::Error),
    /// The line was not a request.
    #[error("expected a request of one line of JSON, found something else: {0}")]
    NotARequest(String),
    /// A limit was exceeded, so the bytes that follow do not begin a request.
    #[error("a request has more than {most} bytes of {what}")]
    TooLong {
        /// The part that is too long.
        what: &'static str,
        /// The limit in bytes.
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
    /// Most text of the answer, in bytes.
    #[serde(default = "text_bytes_default")]
    text_bytes_max: usize,
    /// The request to show a file. Without it, the bytes are a page.
    #[serde(default)]
    view: Option<ViewRequest>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum PageReply {
    Page {
        kind: &'static str,
        title: Option<String>,
        text: Option<String>,
        charset: Option<&'static str>,
        note: Option<String>,
        truncated: bool,
    },
    View {
        parts: Vec<ContentPart>,
    },
    Failed {
        error: String,
        /// Whether the caller can mend it.
        #[serde(skip_serializing_if = "is_false")]
        is_input: bool,
    },
}

/// Answers requests until the input ends.
pub fn serve(
    input: impl Read + Send,
    mut output: impl Write + Send,
) -> Result<(), ReaderServeError> {
    std::thread::scope(|scope| {
        // Reading a page needs a large stack.
        let reader = std::thread::Builder::new().stack_size(STACK_BYTES);
        let reader = reader.spawn_scoped(scope, move || -> Result<(), ReaderServeError> {
            let mut input = BufReader::new(input);
            let line_bytes_max = u64::try_from(REQUEST_BYTES_MAX).unwrap_or(u64::MAX);
            loop {
                let mut line = Vec::new();
                if input.by_ref().take(line_bytes_max).read_until(b'\n', &mut line)? == 0 {
                    return Ok(());
                }
                if !line.ends_with(b"\n") && line.len() >= REQUEST_BYTES_MAX {
                    return Err(ReaderServeError::TooLong {
                        what: "its line",
                        most: REQUEST_BYTES_MAX,
                    });
                }
                let request: PageRequest = serde_json::from_slice(&line)
                    .map_err(|err| ReaderServeError::NotARequest(err.to_string()))?;
                if request.bytes > PAGE_BYTES_MAX {
                    return Err(ReaderServeError::TooLong { what: "page", most: PAGE_BYTES_MAX });
                }
                let mut bytes = vec![0; request.bytes];
                input.read_exact(&mut bytes)?;
                // The call changes nothing that outlives it.
                let reply = match catch_unwind(AssertUnwindSafe(|| reply(&request, &bytes))) {
                    Ok(reply) => reply,
                    Err(panic) => {
                        let text = panic.downcast_ref::<String>().map(String::as_str);
                        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
                        let text = text.unwrap_or("a library gave up on it");
                        let what = if request.view.is_some() { "file" } else { "page" };
                        let error = format!("the {what} could not be read: {text}");
                        PageReply::Failed { error, is_input: false }
                    }
                };
                let mut line = serde_json::to_string(&reply).expect("the keys of a reply are text");
                line.push('\n');
                output.write_all(line.as_bytes())?;
                output.flush()?;
            }
        })?;
        reader.join().unwrap_or(Err(ReaderServeError::Thread))
    })
}

fn reply(request: &PageRequest, bytes: &[u8]) -> PageReply {
    if let Some(wanted) = &request.view {
        return match view_file(bytes, wanted) {
            Ok(parts) => PageReply::View { parts },
            Err(err) => {
                let is_input = matches!(err, ViewError::Input(_));
                PageReply::Failed { error: err.to_string(), is_input }
            }
        };
    }
    let content_type = request.content_type.as_deref();
    match read_page(&FetchedPage { bytes, content_type, url: &request.url }) {
        Ok(content) => {
            let (mut text, mut truncated) = (content.text, false);
            if let Some(text) = &mut text {
                let bytes_max = request.text_bytes_max.min(TEXT_BYTES_MAX);
                truncated = text.len() > bytes_max;
                text.truncate(text.floor_char_boundary(bytes_max));
            }
            PageReply::Page {
                kind: content.kind.as_str(),
                title: content.title,
                text,
                charset: content.charset,
                note: content.note,
                truncated,
            }
        }
        Err(err) => PageReply::Failed { error: err.to_string(), is_input: false },
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
fn is_false(value: &bool) -> bool {
    !value
}

fn text_bytes_default() -> usize {
    TEXT_BYTES_MAX
}

#[cfg(test)]
mod tests;
