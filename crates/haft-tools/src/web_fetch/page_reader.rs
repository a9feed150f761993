//! The client of the program that converts pages to text, and files to what a model sees. Strangers write both, so a confined
//! process parses them. It can reach neither hosts nor this process, and a page may crash it. The process is kept between
//! calls. If it dies, the call fails and the next call starts another process.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use haft_contract::{
    BackgroundProcess, BackgroundProcessRequest, ChannelRead, ContentPart, Cx, ErrorCode,
    ProcessChannel, ProcessFileAccess, ProcessHostAccess, ToolError,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use url::Url;

/// Time to turn a page into text, in milliseconds.
///
/// Limit (web): the fetch fails and says so.
pub(crate) const EXTRACT_MS: u64 = 10_000;
/// Pages that are turned into text at the same time.
pub(crate) const EXTRACTORS_MAX: usize = 2;
/// Memory of the program, in bytes.
pub(crate) const EXTRACTOR_MEMORY_BYTES: u64 = 1024 * 1024 * 1024;
/// Longest text of a page with its sidecar, in bytes.
///
/// Limit (web): the rest is dropped and the answer says so.
pub(crate) const PAGE_TEXT_BYTES_MAX: usize = 10_000_000;
/// Largest page, in bytes, after which the program is kept: a large one leaves it large.
pub(crate) const WARM_PAGE_BYTES_MAX: usize = 1_000_000;
/// Most bytes of an answer besides its text: title, note and their names.
const ANSWER_MARGIN_BYTES: usize = 64 * 1024;

/// The program that turns pages into text, and how it is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageReaderProgram {
    /// The executable's path.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
}

/// A page to convert to text.
pub(super) struct PageSource<'a> {
    pub(super) bytes: &'a [u8],
    /// The `Content-Type` header of the server.
    pub(super) content_type: Option<&'a str>,
    /// Its URL, to which its links are relative.
    pub(super) url: &'a Url,
    /// Whether it was read to its end.
    pub(super) is_whole: bool,
}

/// A file to show to a model.
pub(crate) struct ViewedFile<'a> {
    pub(crate) bytes: &'a [u8],
    /// Its path, as messages name it.
    pub(crate) name: &'a str,
    /// The wanted pages or cells.
    pub(crate) pages: Option<&'a str>,
    /// The wanted form, `text` or `image`.
    pub(crate) form: Option<&'static str>,
}

/// A request to the program: a line of JSON, and the bytes that follow it.
struct ReaderRequest<'a> {
    head: Value,
    bytes: &'a [u8],
}

/// The text of a page.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
pub(super) struct PageText {
    pub(super) title: Option<String>,
    /// `None` if the page has no text.
    pub(super) text: Option<String>,
    /// A remark for the reader, or a description of the page.
    pub(super) note: Option<String>,
    #[serde(default)]
    pub(super) truncated: bool,
}

/// An answer of the program: the text of the page, or its fault.
#[derive(Deserialize)]
#[serde(untagged)]
enum PageReaderReply {
    Fault { error: String },
    Text(PageText),
}

/// An answer of the program about a file to show.
#[derive(Deserialize)]
#[serde(untagged)]
enum ViewReply {
    Parts {
        parts: Vec<ContentPart>,
    },
    Fault {
        error: String,
        /// Whether the caller can mend it.
        #[serde(default)]
        is_input: bool,
    },
}

/// The processes of the program.
pub(crate) struct PageReaderPool {
    program: Option<PageReaderProgram>,
    /// One permit for each process that may run.
    permits: Semaphore,
    // Every call takes a process out and may put one back; locked only for that.
    idle: Mutex<Vec<Box<dyn BackgroundProcess>>>,
}

impl PageReaderPool {
    pub(crate) fn new(program: Option<PageReaderProgram>) -> Self {
        Self { program, permits: Semaphore::new(EXTRACTORS_MAX), idle: Mutex::default() }
    }

    /// Returns whether the program is installed.
    pub(crate) fn has_program(&self) -> bool {
        self.program.is_some()
    }

    /// Turns a page into text.
    pub(super) async fn read_page(
        &self,
        page: &PageSource<'_>,
        cx: &Cx,
    ) -> Result<PageText, ToolError> {
        let Some(program) = &self.program else { return plain_text(page) };
        let head = json!({
            "bytes": page.bytes.len(),
            "content_type": page.content_type,
            "url": page.url.as_str(),
            "text_bytes_max": PAGE_TEXT_BYTES_MAX,
        });
        match self.ask_program(program, &ReaderRequest { head, bytes: page.bytes }, cx).await? {
            Ok(answer) => page_text(answer, page),
            Err(why) => {
                let message = format!(
                    "the page cannot be turned into text: the program that does so {why}. \
                     Fetch another page instead"
                );
                Err(ToolError::new(ErrorCode::ToolFailed, message))
            }
        }
    }

    /// Returns the parts of a file as a model sees them.
    pub(crate) async fn view_file(
        &self,
        file: &ViewedFile<'_>,
        cx: &Cx,
    ) -> Result<Vec<ContentPart>, ToolError> {
        let ViewedFile { bytes, name, pages, form } = file;
        let Some(program) = &self.program else {
            let message = "files cannot be viewed, because the program haft-reader is not installed. Tell the user to \
                           install haft-reader beside haft.";
            return Err(ToolError::new(ErrorCode::Unavailable, message));
        };
        let view = json!({"name": name, "pages": pages, "form": form});
        let head = json!({"bytes": bytes.len(), "view": view});
        match self.ask_program(program, &ReaderRequest { head, bytes }, cx).await? {
            Ok(ViewReply::Parts { parts }) => Ok(parts),
            Ok(ViewReply::Fault { error, is_input }) => {
                let code = if is_input { ErrorCode::InvalidInput } else { ErrorCode::ToolFailed };
                Err(ToolError::new(code, error))
            }
            Err(why) => {
                let message = format!(
                    "{name:?} cannot be viewed: the program that does so {why}. Ask for fewer pages, or work without it"
                );
                Err(ToolError::new(ErrorCode::ToolFailed, message))
            }
        }
    }

    /// Sends a request to an idle process or a new one. The inner error says how the process was lost.
    async fn ask_program<R: DeserializeOwned>(
        &self,
        program: &PageReaderProgram,
        request: &ReaderRequest<'_>,
        cx: &Cx,
    ) -> Result<Result<R, String>, ToolError> {
        let _place = tokio::select! {
            biased;
            () = cx.cancellation().cancelled() => return Err(cancelled_error()),
            place = self.permits.acquire() => place.expect("the semaphore stays open"),
        };
        let warm = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        if let Some(warm) = warm
            // An idle process may have ended meanwhile, which says nothing about the page.
            && let Ok(answer) = self.ask_process(warm, request, cx).await?
        {
            return Ok(Ok(answer));
        }
        let mut start = BackgroundProcessRequest::new(&program.program);
        start.args.clone_from(&program.args);
        start.readable = vec![program.program.clone()];
        // The process also reads pages for calls of other sessions.
        start.files = ProcessFileAccess::Nothing;
        start.hosts = ProcessHostAccess::Nothing;
        start.channel = ProcessChannel::Stdio;
        start.memory_bytes = Some(EXTRACTOR_MEMORY_BYTES);
        let started = tokio::select! {
            biased;
            () = cx.cancellation().cancelled() => return Err(cancelled_error()),
            started = cx.background_processes().start(start) => started?,
        };
        self.ask_process(started, request, cx).await
    }

    /// Asks one process, and keeps it if it can be asked again. The inner error says how it was lost.
    async fn ask_process<R: DeserializeOwned>(
        &self,
        mut resident: Box<dyn BackgroundProcess>,
        request: &ReaderRequest<'_>,
        cx: &Cx,
    ) -> Result<Result<R, String>, ToolError> {
        let time = Duration::from_millis(EXTRACT_MS);
        let answering = tokio::time::timeout(time, exchange(&mut *resident, request));
        // Dropping the process kills it.
        let answer = tokio::select! {
            biased;
            () = cx.cancellation().cancelled() => return Err(cancelled_error()),
            answer = answering => answer,
        };
        let answer = match answer {
            Err(_) => Err(format!("took more than {EXTRACT_MS} ms")),
            Ok(Err(why)) => Err(resident.exceeded_limit().unwrap_or(why)),
            Ok(Ok(answer)) => Ok(answer),
        };
        if answer.is_ok() && request.bytes.len() <= WARM_PAGE_BYTES_MAX {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(resident);
        }
        Ok(answer)
    }
}

/// Sends a request and waits for its answer. The error says how the process was lost.
async fn exchange<R: DeserializeOwned>(
    resident: &mut dyn BackgroundProcess,
    request: &ReaderRequest<'_>,
) -> Result<R, String> {
    let ended = |_| "ended".to_owned();
    resident.send(format!("{}\n", request.head).as_bytes()).await.map_err(ended)?;
    resident.send(request.bytes).await.map_err(ended)?;
    let mut line = Vec::new();
    let line_bytes_max = 2 * PAGE_TEXT_BYTES_MAX + ANSWER_MARGIN_BYTES;
    match resident.receive(&mut line, line_bytes_max).await {
        Ok(ChannelRead::Line) => {
            serde_json::from_slice(&line).map_err(|err| format!("said what cannot be read: {err}"))
        }
        Ok(ChannelRead::Closed) | Err(_) => Err("ended".to_owned()),
        Ok(ChannelRead::TooLong) => Err(format!("said more than {line_bytes_max} bytes")),
    }
}

fn page_text(answer: PageReaderReply, page: &PageSource<'_>) -> Result<PageText, ToolError> {
    match answer {
        PageReaderReply::Text(extracted) => Ok(extracted),
        PageReaderReply::Fault { error } => {
            let cut = if page.is_whole { "" } else { "; it is too large to be read whole" };
            Err(ToolError::new(ErrorCode::ToolFailed, format!("{error}{cut}")))
        }
    }
}

/// Returns plain text unchanged. This process does not parse pages.
fn plain_text(page: &PageSource<'_>) -> Result<PageText, ToolError> {
    let kind = page.content_type.unwrap_or("text/plain").trim().to_ascii_lowercase();
    let kind = kind.split(';').next().unwrap_or_default().trim_end();
    let is_text = kind.starts_with("text/") && kind != "text/html"
        || ["json", "xml"].iter().any(|name| {
            kind == format!("application/{name}") || kind.ends_with(&format!("+{name}"))
        }) && kind != "application/xhtml+xml";
    let names_text = ["html", "xml", "pdf"].iter().any(|name| kind.contains(name));
    let has_text = names_text || kind.starts_with("text/");
    match std::str::from_utf8(page.bytes) {
        Ok(text) if is_text => Ok(PageText { text: Some(text.to_owned()), ..PageText::default() }),
        // The page is only described.
        Ok(_) | Err(_) if !is_text && !has_text => Ok(PageText::default()),
        Ok(_) | Err(_) => {
            let message = format!(
                "{kind} cannot be turned into text, because the program haft-reader is not installed. Fetch a page \
                 of plain text instead, or tell the user to install haft-reader beside haft."
            );
            Err(ToolError::new(ErrorCode::Unavailable, message))
        }
    }
}

fn cancelled_error() -> ToolError {
    let message = "the call was stopped while the page was turned into text";
    ToolError::new(ErrorCode::ToolTimeout, message)
}
