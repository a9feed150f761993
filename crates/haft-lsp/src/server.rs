//! One running server: how it is started and initialised, which files it is shown, and how requests
//! are sent. One call at a time uses it. Its answers are interpreted elsewhere.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use haft_contract::{
    BackgroundProcessRequest, ConfinementReport, Cx, ErrorCode, FileStamp, ProcessChannel,
    ProcessHostAccess, ToolError,
};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use crate::document::{SourceDocument, uri_of};
use crate::language::{Language, ServerProgram};
use crate::limits::{DOCUMENTS_MAX, REPEATS_MAX, SAID_CHARS_MAX, UNANSWERED_MAX, WORK_MS_MAX};
use crate::link::{LspLink, LspRequestError, LspWorkspaceConfig, link_process};
use crate::position::Encoding;
use crate::project_files::ProjectFiles;
use crate::server_state::{LanguageServerEnd, LanguageServerState};
use crate::text::one_line;
use crate::wire::text_of;

/// The server that reports when it has loaded a project, instead of answering from a part of it.
const RUST_ANALYZER: &str = "rust-analyzer";
/// Error code for files that changed meanwhile: repeating the request may succeed.
const CONTENT_MODIFIED: i64 = -32_801;
/// Error code for a request that the server cancelled, with the same meaning.
const SERVER_CANCELLED: i64 = -32_802;
/// The directory for build output of servers, which is private to each program.
const TARGET_DIRECTORY: &str = "/tmp/haft-lsp-target";

/// An initialised server.
pub(crate) struct LanguageServer {
    link: LspLink,
    /// Its own name.
    pub(crate) name: String,
    pub(crate) encoding: Encoding,
    capabilities: Value,
    /// Its open files, least recently shown first.
    open_documents: VecDeque<OpenDocument>,
    project_files: ProjectFiles,
    timeouts_in_a_row: u32,
    /// Its confinement.
    pub(crate) confined: ConfinementReport,
    pub(crate) last_used: Instant,
}

/// A file that is open in a server.
struct OpenDocument {
    display: String,
    uri: String,
    version: u64,
    stamp: FileStamp,
}

/// The parameters for starting a server.
#[derive(Clone, Copy)]
pub(crate) struct LanguageServerStart<'a> {
    pub(crate) language: &'a Language,
    /// The project directory, absolute.
    pub(crate) directory: &'a Path,
    /// Its files before the server started.
    pub(crate) project_files: &'a ProjectFiles,
    pub(crate) is_unconfined: bool,
    pub(crate) deadline: Instant,
}

/// The result of syncing files with a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileNovelty {
    /// Neither this file nor any other changed.
    Unchanged,
    /// Only other files changed.
    OtherFiles,
    /// This file is new to the server, or changed.
    ThisFile,
}

/// Why a call has no answer from a server.
#[derive(Debug)]
pub(crate) enum LspCallError {
    /// The server has ended, or must be stopped.
    Server(String),
    /// Only the call failed.
    Call(ToolError),
}

impl LanguageServer {
    /// Starts a server and initialises it. It reads the roots, changes nothing, and reaches no host.
    pub(crate) async fn start(
        start: &LanguageServerStart<'_>,
        command: &[String],
        program: ServerProgram,
        cx: &Cx,
    ) -> Result<Self, LspCallError> {
        let mut request = BackgroundProcessRequest::new(&program.path);
        request.args = command.iter().skip(1).map(OsString::from).collect();
        request.readable = program.readable;
        request.hosts = ProcessHostAccess::Nothing;
        request.channel = ProcessChannel::Stdio;
        // A server's compiler cannot download anything, and is told not to try.
        let offline = [("CARGO_NET_OFFLINE", "true"), ("GOPROXY", "off")];
        request.env = offline.map(|(name, value)| (name.into(), value.into())).to_vec();
        if !start.is_unconfined {
            let places = ["CARGO_TARGET_DIR", "GOCACHE"]
                .map(|name| (OsString::from(name), format!("{TARGET_DIRECTORY}/{name}").into()));
            request.env.extend(places);
        }
        let mut process =
            cx.background_processes().start(request).await.map_err(LspCallError::Call)?;
        let confined = process.take_confinement();
        let uri = uri_of(start.directory).map_err(LspCallError::Call)?;
        let folder = start.directory.file_name().unwrap_or_default().to_string_lossy();
        let folders = json!([{ "uri": uri, "name": folder }]);
        let settings = &start.language.settings;
        let config = LspWorkspaceConfig { settings: settings.clone(), folders: folders.clone() };
        // Used until the server reports its own name; some never do.
        let name = Path::new(command.first().map_or("", String::as_str)).file_name();
        let name = name.unwrap_or_default().to_string_lossy().into_owned();
        let files = start.project_files.clone();
        let mut server = Self::new(link_process(process, config), name, files, confined);
        let params = json!({
            // The server is in its own process namespace, where this process has no number.
            "processId": null,
            "clientInfo": { "name": "haft", "version": env!("CARGO_PKG_VERSION") },
            "rootUri": uri,
            "workspaceFolders": folders,
            "initializationOptions": settings,
            "capabilities": {
                "general": { "positionEncodings": ["utf-8", "utf-16"] },
                "workspace": {
                    "applyEdit": false,
                    "configuration": true,
                    "didChangeWatchedFiles": { "dynamicRegistration": false },
                    "symbol": {},
                    "workspaceFolders": true,
                },
                "window": { "workDoneProgress": true },
                "textDocument": {
                    "synchronization": { "didSave": true },
                    "definition": { "linkSupport": true },
                    "references": {},
                    "hover": { "contentFormat": ["markdown", "plaintext"] },
                    "documentSymbol": { "hierarchicalDocumentSymbolSupport": true },
                    "publishDiagnostics": { "versionSupport": true },
                    "diagnostic": { "relatedDocumentSupport": false },
                },
                "experimental": { "serverStatusNotification": true },
            },
        });
        let greeted = match server.link.request("initialize", &params, start.deadline).await {
            Ok(greeted) => greeted,
            Err(LspRequestError::Refused(refusal)) => {
                let said = one_line(&refusal.message, SAID_CHARS_MAX);
                return Err(LspCallError::Server(format!("it refused to start: {said}")));
            }
            Err(LspRequestError::TimedOut) => {
                let why = "it did not answer its first request in time";
                return Err(LspCallError::Server(why.to_owned()));
            }
            Err(LspRequestError::Ended) => return Err(server.end_error().await),
        };
        server.capabilities = greeted.get("capabilities").cloned().unwrap_or_default();
        let encoding = Encoding::named(text_of(&server.capabilities, "positionEncoding"));
        server.encoding = encoding.ok_or_else(|| {
            LspCallError::Server("it chose a position encoding that was not offered".to_owned())
        })?;
        if let Some(name) = greeted.get("serverInfo").and_then(|info| text_of(info, "name")) {
            server.name = one_line(name, 64);
        }
        server.notify("initialized", &json!({})).await?;
        if settings.as_object().is_some_and(|settings| !settings.is_empty()) {
            let params = json!({ "settings": settings });
            server.notify("workspace/didChangeConfiguration", &params).await?;
        }
        Ok(server)
    }

    /// Returns a server that is not initialised yet.
    pub(crate) fn new(
        link: LspLink,
        name: String,
        watched: ProjectFiles,
        confined: ConfinementReport,
    ) -> Self {
        Self {
            link,
            name,
            encoding: Encoding::Utf16,
            capabilities: Value::Null,
            open_documents: VecDeque::new(),
            project_files: watched,
            timeouts_in_a_row: 0,
            confined,
            last_used: Instant::now(),
        }
    }

    /// Returns whether the server has a capability.
    pub(crate) fn has_capability(&self, capability: &str) -> bool {
        let offered = self.capabilities.get(capability);
        offered.is_some_and(|offered| !offered.is_null() && offered != &Value::Bool(false))
    }

    /// Returns whether it lets the compiler check a project when a file is saved.
    pub(crate) fn checks_projects(&self) -> bool {
        self.name == RUST_ANALYZER
    }

    /// Returns whether it has ended.
    pub(crate) async fn has_ended(&self) -> bool {
        self.link.end().await.is_some()
    }

    /// Returns its observed state.
    pub(crate) fn state(&self) -> tokio::sync::watch::Receiver<LanguageServerState> {
        self.link.state()
    }

    /// Shows it the current state of a file, and notifies it of all changes since the last request.
    pub(crate) async fn sync_files(
        &mut self,
        document: &SourceDocument,
        language_id: &str,
        watched: ProjectFiles,
        root: &Path,
    ) -> Result<FileNovelty, LspCallError> {
        let changes = watched.changes_since(&self.project_files);
        let mut events = Vec::new();
        for (path, change) in &changes {
            let uri = uri_of(&root.join(path)).map_err(LspCallError::Call)?;
            events.push(json!({ "uri": uri, "type": change.protocol_number() }));
        }
        if !events.is_empty() {
            let params = json!({ "changes": events });
            self.notify("workspace/didChangeWatchedFiles", &params).await?;
        }
        // The server reads the current state of closed files from disk.
        let has_changed = |shown: &OpenDocument| {
            shown.display != document.display && watched.stamp(&shown.display) != Some(shown.stamp)
        };
        while let Some(place) = self.open_documents.iter().position(has_changed) {
            self.close_document(place).await?;
        }
        self.project_files = watched;
        let place = self.open_documents.iter().position(|shown| shown.uri == document.uri);
        let mut shown = match place.and_then(|place| self.open_documents.remove(place)) {
            Some(shown) if shown.stamp == document.stamp => {
                self.open_documents.push_back(shown);
                return Ok(match changes.is_empty() {
                    true => FileNovelty::Unchanged,
                    false => FileNovelty::OtherFiles,
                });
            }
            Some(shown) => shown,
            None => {
                if self.open_documents.len() >= DOCUMENTS_MAX {
                    self.close_document(0).await?;
                }
                let (display, uri) = (document.display.clone(), document.uri.clone());
                OpenDocument { display, uri, version: 0, stamp: document.stamp }
            }
        };
        shown.version += 1;
        shown.stamp = document.stamp;
        let (uri, version, text) = (&shown.uri, shown.version, &document.text);
        if version == 1 {
            let opened =
                json!({ "uri": uri, "languageId": language_id, "version": version, "text": text });
            self.notify("textDocument/didOpen", &json!({ "textDocument": opened })).await?;
        } else {
            let params = json!({
                "textDocument": { "uri": uri, "version": version },
                "contentChanges": [{ "text": text }],
            });
            self.notify("textDocument/didChange", &params).await?;
        }
        self.open_documents.push_back(shown);
        Ok(FileNovelty::ThisFile)
    }

    async fn close_document(&mut self, place: usize) -> Result<(), LspCallError> {
        if let Some(shown) = self.open_documents.remove(place) {
            let params = json!({ "textDocument": { "uri": shown.uri } });
            self.notify("textDocument/didClose", &params).await?;
        }
        Ok(())
    }

    /// Waits until the server has loaded the project; returns a note for the reader if it has not.
    pub(crate) async fn wait_until_ready(
        &mut self,
        deadline: Instant,
    ) -> Result<Option<String>, LspCallError> {
        if self.name == RUST_ANALYZER {
            let is_quiescent = |state: &LanguageServerState| {
                state.status.as_ref().is_some_and(|status| status.is_quiescent)
            };
            if !self.wait_until(deadline, is_quiescent).await? {
                return Err(LspCallError::Call(self.still_indexing_error()));
            }
            return Ok(self.project_complaint());
        }
        let until = deadline.min(Instant::now() + Duration::from_millis(WORK_MS_MAX));
        match self.wait_until(until, |state| !state.is_working()).await? {
            true => Ok(None),
            false if until == deadline => Err(LspCallError::Call(self.still_indexing_error())),
            false => Ok(Some(format!(
                "{} is still working ({}): there may be more",
                self.name,
                self.work_text()
            ))),
        }
    }

    /// Returns the server's complaint about the project, if there is one.
    pub(crate) fn project_complaint(&self) -> Option<String> {
        let state = self.state();
        let complaint = state.borrow().complaint().map(|text| one_line(text, SAID_CHARS_MAX))?;
        Some(format!("{} says: {complaint}", self.name))
    }

    /// Waits until a condition on the observed state is true, and returns whether it was true in
    /// time.
    pub(crate) async fn wait_until(
        &self,
        until: Instant,
        is_so: impl Fn(&LanguageServerState) -> bool + Send,
    ) -> Result<bool, LspCallError> {
        let mut state = self.state();
        let waiting = state.wait_for(|state| state.end.is_some() || is_so(state));
        let lives = timeout_at(until, waiting)
            .await
            .map(|known| known.is_ok_and(|state| state.end.is_none()));
        match lives {
            Ok(true) => Ok(true),
            Ok(false) => Err(self.end_error().await),
            Err(_) => Ok(false),
        }
    }

    /// Sends a request, and repeats it if the server cancels it because files changed.
    pub(crate) async fn request(
        &mut self,
        method: &str,
        params: &Value,
        deadline: Instant,
    ) -> Result<Value, LspCallError> {
        let mut repeats = 0;
        loop {
            let refusal = match self.link.request(method, params, deadline).await {
                Ok(result) => {
                    self.timeouts_in_a_row = 0;
                    return Ok(result);
                }
                Err(LspRequestError::Ended) => return Err(self.end_error().await),
                Err(LspRequestError::TimedOut) => {
                    self.timeouts_in_a_row += 1;
                    let (name, count) = (&self.name, self.timeouts_in_a_row);
                    if count >= UNANSWERED_MAX {
                        return Err(LspCallError::Server(format!(
                            "it left {count} requests in a row without an answer"
                        )));
                    }
                    let work = self.state().borrow().work_text();
                    let work =
                        work.map(|work| format!(" (it is working: {})", one_line(&work, 200)));
                    let message = format!(
                        "{name} did not answer {method} within the call's time{}: ask again",
                        work.unwrap_or_default()
                    );
                    return Err(LspCallError::Call(ToolError::new(
                        ErrorCode::ToolTimeout,
                        message,
                    )));
                }
                Err(LspRequestError::Refused(refusal)) => refusal,
            };
            self.timeouts_in_a_row = 0;
            let is_withdrawn = matches!(refusal.code, CONTENT_MODIFIED | SERVER_CANCELLED);
            if !is_withdrawn || repeats >= REPEATS_MAX {
                let said = one_line(&refusal.message, SAID_CHARS_MAX);
                let message = format!("{} refused to answer: {said}", self.name);
                return Err(LspCallError::Call(ToolError::new(ErrorCode::ToolFailed, message)));
            }
            repeats += 1;
            self.wait_until_ready(deadline).await?;
        }
    }

    /// Sends a notification.
    pub(crate) async fn notify(
        &mut self,
        method: &str,
        params: &Value,
    ) -> Result<(), LspCallError> {
        match self.link.notify(method, params).await {
            Ok(()) => Ok(()),
            Err(_) => Err(self.end_error().await),
        }
    }

    /// Returns the error for a server that has ended.
    pub(crate) async fn end_error(&self) -> LspCallError {
        LspCallError::Server(match self.link.end().await {
            None => "it ended".to_owned(),
            Some(LanguageServerEnd::Idle) => "it was idle for too long and was stopped".to_owned(),
            Some(LanguageServerEnd::Failed(why)) => why,
        })
    }

    fn still_indexing_error(&self) -> ToolError {
        let message = format!("{} is still indexing: {}; ask again", self.name, self.work_text());
        ToolError::new(ErrorCode::Unavailable, message)
    }

    fn work_text(&self) -> String {
        let work = self.state().borrow().work_text();
        work.map_or_else(|| "it does not say how far it is".to_owned(), |work| one_line(&work, 200))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Takes, Talker, Then};

    /// Returns a server that has announced work which never ends.
    async fn busy() -> LanguageServer {
        let begin = json!({ "kind": "begin", "title": "Indexing" });
        let says = [("$/progress", json!({ "token": "a", "value": begin }))];
        let server = Talker::new(Takes::Everything, &says, Then::Waits).server();
        let far = Instant::now() + Duration::from_secs(60);
        assert!(server.wait_until(far, LanguageServerState::is_working).await.unwrap());
        server
    }

    #[tokio::test(start_paused = true)]
    async fn work_is_waited_for_so_long_and_then_it_is_asked_all_the_same() {
        let mut server = busy().await;
        let began = Instant::now();
        let note = server.wait_until_ready(began + Duration::from_secs(600)).await.unwrap();
        assert_eq!(began.elapsed(), Duration::from_millis(WORK_MS_MAX));
        assert_eq!(note.as_deref(), Some("fake is still working (Indexing): there may be more"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_has_less_time_says_what_it_waited_for() {
        let mut server = busy().await;
        let deadline = Instant::now() + Duration::from_millis(WORK_MS_MAX - 1);
        let failed = server.wait_until_ready(deadline).await;
        let Err(LspCallError::Call(err)) = failed else { panic!("{failed:?}") };
        assert_eq!(err.message, "fake is still indexing: Indexing; ask again");
    }
}
