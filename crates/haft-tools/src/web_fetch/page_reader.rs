//! The client of the program that converts pages to text. Strangers write pages, so a confined process parses them. It can
//! reach neither hosts nor this process, and a page may crash it. The process is kept between calls. If it dies, the call
//! fails and the next call starts another process.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use haft_contract::{
    BackgroundProcess, BackgroundProcessRequest, ChannelRead, Cx, ErrorCode, ProcessChannel,
    ProcessFileAccess, ProcessHostAccess, ToolError,
};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::Semaphore;
use url::Url;

/// Time to turn a page into text, in milliseconds.
///
/// Limit (web): the fetch fails and says so.
pub(crate) const EXTRACT_MS: u64 = 10_000;
/// Pages that are turned into text at the same time.
pub(crate) const EXTRACTORS_MAX: usize = 2;
/// Memory of the program, in bytes.
pub(crate) const EXTRACTOR_MEMORY_BYTES: u64 = 512 * 1024 * 1024;
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

    /// Turns a page into text.
    pub(super) async fn read_page(
        self: &Arc<Self>,
        page: &PageSource<'_>,
        cx: &Cx,
    ) -> Result<PageText, ToolError> {
        let Some(program) = &self.program else { return plain_text(page) };
        let _place = tokio::select! {
            biased;
            () = cx.cancellation().cancelled() => return Err(cancelled_error()),
            place = self.permits.acquire() => place.expect("the semaphore stays open"),
        };
        let warm = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        if let Some(warm) = warm
            // An idle process may have ended meanwhile, which says nothing about the page.
            && let Ok(answer) = self.read_in_process(warm, page, cx).await?
        {
            return page_text(answer, page);
        }
        let mut request = BackgroundProcessRequest::new(&program.program);
        request.args.clone_from(&program.args);
        request.readable = vec![program.program.clone()];
        // The process also reads pages for calls of other sessions.
        request.files = ProcessFileAccess::Nothing;
        request.hosts = ProcessHostAccess::Nothing;
        request.channel = ProcessChannel::Stdio;
        request.memory_bytes = Some(EXTRACTOR_MEMORY_BYTES);
        let started = tokio::select! {
            biased;
            () = cx.cancellation().cancelled() => return Err(cancelled_error()),
            started = cx.background_processes().start(request) => started?,
        };
        match self.read_in_process(started, page, cx).await? {
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

    /// Asks one process, and keeps it if it can be asked again. The inner error says how it was lost.
    async fn read_in_process(
        &self,
        mut resident: Box<dyn BackgroundProcess>,
        page: &PageSource<'_>,
        cx: &Cx,
    ) -> Result<Result<PageReaderReply, String>, ToolError> {
        let time = Duration::from_millis(EXTRACT_MS);
        let answering = tokio::time::timeout(time, exchange_page(&mut *resident, page));
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
        if answer.is_ok() && page.bytes.len() <= WARM_PAGE_BYTES_MAX {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(resident);
        }
        Ok(answer)
    }
}

/// Sends a page and waits for its text. The error says how the process was lost.
async fn exchange_page(
    resident: &mut dyn BackgroundProcess,
    page: &PageSource<'_>,
) -> Result<PageReaderReply, String> {
    let head = json!({
        "bytes": page.bytes.len(),
        "content_type": page.content_type,
        "url": page.url.as_str(),
        "text_bytes_max": PAGE_TEXT_BYTES_MAX,
    });
    let ended = |_| "ended".to_owned();
    resident.send(format!("{head}\n").as_bytes()).await.map_err(ended)?;
    resident.send(page.bytes).await.map_err(ended)?;
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
