//! One server that runs: how it is started and greeted, what it is shown, and how it is asked. It is used by one call at a
//! time. What its answers say is read elsewhere.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use haft_contract::{
    Channel, Confined, Cx, ErrorCode, FileStamp, ResidentHosts, ResidentRequest, ToolError,
};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use crate::document::{Document, uri_of};
use crate::hear::Heard;
use crate::language::{Language, ProgramFound};
use crate::limits::{DOCUMENTS_MAX, REPEATS_MAX, SAID_CHARS_MAX, UNANSWERED_MAX, WORK_MS_MAX};
use crate::link::{Home, Link, Unanswered, link, words};
use crate::position::Encoding;
use crate::text::one_line;
use crate::watch::Watched;
use crate::wire::text_of;

/// The server that says of itself when it has read a project, instead of answering from half of it.
const SAYS_WHEN_READY: &str = "rust-analyzer";
/// Code of a refusal because files changed meanwhile: the same request may be answered now.
const CONTENT_MODIFIED: i64 = -32_801;
/// Code of a refusal because the server gave the request up, with the same meaning.
const SERVER_CANCELLED: i64 = -32_802;
/// Where the files that servers make go: a place that is each program's own.
const TARGET_DIRECTORY: &str = "/tmp/haft-lsp-target";

/// A server that was greeted.
pub(crate) struct Server {
    link: Link,
    /// What it calls itself.
    pub(crate) name: String,
    pub(crate) encoding: Encoding,
    capabilities: Value,
    /// The files that it is shown, the one shown longest ago first.
    shown: VecDeque<Shown>,
    watched: Watched,
    unanswered: u32,
    /// What confines it.
    pub(crate) confined: Confined,
    pub(crate) last_used: Instant,
}

/// A file that a server is shown.
struct Shown {
    display: String,
    uri: String,
    version: u64,
    stamp: FileStamp,
}

/// How to start a server.
pub(crate) struct Start<'a> {
    pub(crate) language: &'a Language,
    pub(crate) program: ProgramFound,
    pub(crate) command: &'a [String],
    /// The directory of the project, absolute.
    pub(crate) directory: &'a Path,
    /// What was in it before the server looked.
    pub(crate) watched: Watched,
    pub(crate) is_unconfined: bool,
    pub(crate) deadline: Instant,
}

/// What a server was shown for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Novelty {
    /// The file is as it was, and so are all others.
    Nothing,
    /// Other files changed.
    Others,
    /// The file was not shown before, or changed.
    File,
}

/// Why a call has no answer of a server.
#[derive(Debug)]
pub(crate) enum Failed {
    /// The server has ended, or is to be ended.
    Server(String),
    /// Only the call failed.
    Call(ToolError),
}

impl Server {
    /// Starts a server and greets it.
    pub(crate) async fn start(start: Start<'_>, cx: &Cx) -> Result<Self, Failed> {
        let request = resident_request(&start);
        let mut resident = cx.residents().start(request).await.map_err(Failed::Call)?;
        let confined = resident.take_confined();
        let uri = uri_of(start.directory).map_err(Failed::Call)?;
        let folder = start.directory.file_name().unwrap_or_default().to_string_lossy();
        let folders = json!([{ "uri": uri, "name": folder }]);
        let settings = start.language.settings.clone();
        let home = Home { settings: settings.clone(), folders: folders.clone() };
        // Until it says what it is called; some never do.
        let name = program_name(start.command);
        let mut server = Self::new(link(resident, home), name, start.watched, confined);
        server.greet(&uri, &folders, &settings, start.deadline).await?;
        Ok(server)
    }

    /// Returns a server that was not greeted yet.
    pub(crate) fn new(link: Link, name: String, watched: Watched, confined: Confined) -> Self {
        Self {
            link,
            name,
            encoding: Encoding::Utf16,
            capabilities: Value::Null,
            shown: VecDeque::new(),
            watched,
            unanswered: 0,
            confined,
            last_used: Instant::now(),
        }
    }

    async fn greet(
        &mut self,
        uri: &str,
        folders: &Value,
        settings: &Value,
        deadline: Instant,
    ) -> Result<(), Failed> {
        let params = json!({
            // It is in a namespace of its own, where this process has no number.
            "processId": null,
            "clientInfo": { "name": "haft", "version": env!("CARGO_PKG_VERSION") },
            "rootUri": uri,
            "workspaceFolders": folders,
            "initializationOptions": settings,
            "capabilities": client_capabilities(),
        });
        let greeted = match self.link.request("initialize", &params, deadline).await {
            Ok(greeted) => greeted,
            Err(Unanswered::Refused(refusal)) => {
                let said = one_line(&refusal.message, SAID_CHARS_MAX);
                return Err(Failed::Server(format!("it refused to start: {said}")));
            }
            Err(Unanswered::Late) => {
                return Err(Failed::Server(
                    "it did not answer its first request in time".to_owned(),
                ));
            }
            Err(Unanswered::Over) => return Err(self.over().await),
        };
        self.capabilities = greeted.get("capabilities").cloned().unwrap_or_default();
        let encoding = Encoding::named(text_of(&self.capabilities, "positionEncoding"));
        self.encoding = encoding.ok_or_else(|| {
            Failed::Server("it counts characters in a way that was not offered to it".to_owned())
        })?;
        if let Some(name) = greeted.get("serverInfo").and_then(|info| text_of(info, "name")) {
            self.name = one_line(name, 64);
        }
        self.notify("initialized", &json!({})).await?;
        if settings.as_object().is_some_and(|settings| !settings.is_empty()) {
            let params = json!({ "settings": settings });
            self.notify("workspace/didChangeConfiguration", &params).await?;
        }
        Ok(())
    }

    /// Returns whether it offers something.
    pub(crate) fn offers(&self, capability: &str) -> bool {
        let offered = self.capabilities.get(capability);
        offered.is_some_and(|offered| !offered.is_null() && offered != &Value::Bool(false))
    }

    /// Returns whether it has the compiler check a project when a file is saved.
    pub(crate) fn checks_projects(&self) -> bool {
        self.name == SAYS_WHEN_READY
    }

    /// Returns whether it has ended.
    pub(crate) async fn has_ended(&self) -> bool {
        self.link.over().await.is_some()
    }

    /// Returns what was heard of it.
    pub(crate) fn heard(&self) -> tokio::sync::watch::Receiver<Heard> {
        self.link.heard()
    }

    /// Shows it a file as it is now, and tells it of all that changed since it was last asked.
    pub(crate) async fn show(
        &mut self,
        document: &Document,
        language_id: &str,
        watched: Watched,
        root: &Path,
    ) -> Result<Novelty, Failed> {
        let changes = watched.since(&self.watched);
        let mut events = Vec::new();
        for (path, change) in &changes {
            let uri = uri_of(&root.join(path)).map_err(Failed::Call)?;
            events.push(json!({ "uri": uri, "type": change.number() }));
        }
        if !events.is_empty() {
            let params = json!({ "changes": events });
            self.notify("workspace/didChangeWatchedFiles", &params).await?;
        }
        self.close_changed(&watched, &document.display).await?;
        self.watched = watched;
        let is_new = self.show_one(document, language_id).await?;
        Ok(match (is_new, changes.is_empty()) {
            (true, _) => Novelty::File,
            (false, false) => Novelty::Others,
            (false, true) => Novelty::Nothing,
        })
    }

    /// Closes the files that were shown and have changed: the server reads them as they are from then on.
    async fn close_changed(&mut self, watched: &Watched, kept: &str) -> Result<(), Failed> {
        let has_changed = |shown: &Shown| {
            shown.display != kept && watched.stamp(&shown.display) != Some(shown.stamp)
        };
        while let Some(place) = self.shown.iter().position(has_changed) {
            self.close(place).await?;
        }
        Ok(())
    }

    async fn close(&mut self, place: usize) -> Result<(), Failed> {
        if let Some(shown) = self.shown.remove(place) {
            let params = json!({ "textDocument": { "uri": shown.uri } });
            self.notify("textDocument/didClose", &params).await?;
        }
        Ok(())
    }

    /// Shows it a file; says whether it saw another one before, or none.
    async fn show_one(&mut self, document: &Document, language_id: &str) -> Result<bool, Failed> {
        let place = self.shown.iter().position(|shown| shown.uri == document.uri);
        let mut shown = match place.and_then(|place| self.shown.remove(place)) {
            Some(shown) if shown.stamp == document.stamp => {
                self.shown.push_back(shown);
                return Ok(false);
            }
            Some(shown) => shown,
            None => {
                if self.shown.len() >= DOCUMENTS_MAX {
                    self.close(0).await?;
                }
                let (display, uri) = (document.display.clone(), document.uri.clone());
                Shown { display, uri, version: 0, stamp: document.stamp }
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
        self.shown.push_back(shown);
        Ok(true)
    }

    /// Waits until it has read the project; returns what a reader should know who gets an answer all the same.
    pub(crate) async fn ready(&mut self, deadline: Instant) -> Result<Option<String>, Failed> {
        if self.name == SAYS_WHEN_READY {
            let is_quiescent =
                |heard: &Heard| heard.status.as_ref().is_some_and(|status| status.is_quiescent);
            if !self.wait_until(deadline, is_quiescent).await? {
                return Err(Failed::Call(self.still_indexing()));
            }
            return Ok(self.complaint());
        }
        let until = deadline.min(Instant::now() + Duration::from_millis(WORK_MS_MAX));
        match self.wait_until(until, |heard| !heard.is_working()).await? {
            true => Ok(None),
            false if until == deadline => Err(Failed::Call(self.still_indexing())),
            false => Ok(Some(format!(
                "{} is still working ({}): there may be more",
                self.name,
                self.work()
            ))),
        }
    }

    /// Returns what is wrong with the project, as the server says it, if anything is.
    pub(crate) fn complaint(&self) -> Option<String> {
        let heard = self.heard();
        let said = heard.borrow().complaint().map(|said| one_line(said, SAID_CHARS_MAX))?;
        Some(format!("{} says: {said}", self.name))
    }

    /// Waits until something is so of what was heard, and says whether it came to that in time.
    pub(crate) async fn wait_until(
        &self,
        until: Instant,
        is_so: impl Fn(&Heard) -> bool + Send,
    ) -> Result<bool, Failed> {
        let mut heard = self.heard();
        let waiting = heard.wait_for(|heard| heard.over.is_some() || is_so(heard));
        let lives = timeout_at(until, waiting)
            .await
            .map(|known| known.is_ok_and(|heard| heard.over.is_none()));
        match lives {
            Ok(true) => Ok(true),
            Ok(false) => Err(self.over().await),
            Err(_) => Ok(false),
        }
    }

    /// Asks, again where the server withdraws because files changed.
    pub(crate) async fn ask(
        &mut self,
        method: &str,
        params: &Value,
        deadline: Instant,
    ) -> Result<Value, Failed> {
        let mut repeats = 0;
        loop {
            let refusal = match self.link.request(method, params, deadline).await {
                Ok(result) => {
                    self.unanswered = 0;
                    return Ok(result);
                }
                Err(Unanswered::Over) => return Err(self.over().await),
                Err(Unanswered::Late) => return Err(self.late(method)),
                Err(Unanswered::Refused(refusal)) => refusal,
            };
            self.unanswered = 0;
            let is_withdrawn = matches!(refusal.code, CONTENT_MODIFIED | SERVER_CANCELLED);
            if !is_withdrawn || repeats >= REPEATS_MAX {
                let said = one_line(&refusal.message, SAID_CHARS_MAX);
                let message = format!("{} refused to answer: {said}", self.name);
                return Err(Failed::Call(ToolError::new(ErrorCode::ToolFailed, message)));
            }
            repeats += 1;
            self.ready(deadline).await?;
        }
    }

    /// Says something that wants no answer.
    pub(crate) async fn notify(&mut self, method: &str, params: &Value) -> Result<(), Failed> {
        match self.link.notify(method, params).await {
            Ok(()) => Ok(()),
            Err(_) => Err(self.over().await),
        }
    }

    /// Says how it ended.
    pub(crate) async fn over(&self) -> Failed {
        let over = self.link.over().await;
        Failed::Server(over.map_or_else(|| "it ended".to_owned(), |over| words(&over).to_string()))
    }

    fn late(&mut self, method: &str) -> Failed {
        self.unanswered += 1;
        if self.unanswered >= UNANSWERED_MAX {
            let count = self.unanswered;
            return Failed::Server(format!("it left {count} requests in a row without an answer"));
        }
        let work = self.heard().borrow().work_text();
        let work = work
            .map_or_else(String::new, |work| format!(" (it is working: {})", one_line(&work, 200)));
        let message = format!(
            "{} did not answer {method} within the call's time{work}: ask again",
            self.name
        );
        Failed::Call(ToolError::new(ErrorCode::ToolTimeout, message))
    }

    fn still_indexing(&self) -> ToolError {
        let message = format!("{} is still indexing: {}; ask again", self.name, self.work());
        ToolError::new(ErrorCode::Unavailable, message)
    }

    fn work(&self) -> String {
        let work = self.heard().borrow().work_text();
        work.map_or_else(|| "it does not say how far it is".to_owned(), |work| one_line(&work, 200))
    }
}

/// Returns how the program of a server is started: it reads the roots, changes nothing, and reaches no host.
fn resident_request(start: &Start<'_>) -> ResidentRequest {
    let mut request = ResidentRequest::new(&start.program.path);
    request.args = start.command.iter().skip(1).map(OsString::from).collect();
    request.readable.clone_from(&start.program.readable);
    request.hosts = ResidentHosts::Nothing;
    request.channel = Channel::Stdio;
    // What a compiler that a server runs would fetch is not there, and it is told not to try.
    let offline = [("CARGO_NET_OFFLINE", "true"), ("GOPROXY", "off")];
    request.env = offline.map(|(name, value)| (name.into(), value.into())).to_vec();
    if !start.is_unconfined {
        let places = ["CARGO_TARGET_DIR", "GOCACHE"]
            .map(|name| (OsString::from(name), format!("{TARGET_DIRECTORY}/{name}").into()));
        request.env.extend(places);
    }
    request
}

fn program_name(command: &[String]) -> String {
    let program = Path::new(command.first().map_or("", String::as_str));
    program.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn client_capabilities() -> Value {
    json!({
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
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Takes, Talker, Then};

    /// Returns a server that is at work for good, and was heard to be.
    async fn busy() -> Server {
        let begin = json!({ "kind": "begin", "title": "Indexing" });
        let says = [("$/progress", json!({ "token": "a", "value": begin }))];
        let server = Talker::new(Takes::Everything, &says, Then::Waits).server();
        let far = Instant::now() + Duration::from_secs(60);
        assert!(server.wait_until(far, Heard::is_working).await.unwrap());
        server
    }

    #[tokio::test(start_paused = true)]
    async fn work_is_waited_for_so_long_and_then_it_is_asked_all_the_same() {
        let mut server = busy().await;
        let began = Instant::now();
        let note = server.ready(began + Duration::from_secs(600)).await.unwrap();
        assert_eq!(began.elapsed(), Duration::from_millis(WORK_MS_MAX));
        assert_eq!(note.as_deref(), Some("fake is still working (Indexing): there may be more"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_has_less_time_says_what_it_waited_for() {
        let mut server = busy().await;
        let deadline = Instant::now() + Duration::from_millis(WORK_MS_MAX - 1);
        let failed = server.ready(deadline).await;
        let Err(Failed::Call(err)) = failed else { panic!("{failed:?}") };
        assert_eq!(err.message, "fake is still indexing: Indexing; ask again");
    }
}
