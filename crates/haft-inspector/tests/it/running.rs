//! An inspector that runs, a workspace with a journal, and a browser without a screen.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use haft_app::host::AppHost;
use haft_app::{App, SettingOverrides, settings};
use haft_contract::{
    AttemptAddress, CallAddress, CallKey, Effect, Envelope, EnvelopeMetadata, RunId,
};
use haft_inspector::{InspectorParts, InspectorRouter, page_parts};
use haft_journal::{
    AskJournal as _, CallStatus, Journal as _, LeaseOwner, LeaseRequest, NewAsk, NewRun, Outcome,
    PlannedCall, SqliteJournal,
};
use haft_server::{BrowserSessions, HttpSite, RequestGuard, serve};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

/// An inspector and its workspace.
pub(crate) struct Running {
    directory: TempDir,
    pub(crate) address: SocketAddr,
    sessions: Arc<BrowserSessions>,
    shutdown: CancellationToken,
}

/// An answer of the server.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

/// A browser that is logged in, with a tab.
pub(crate) struct Browser {
    pub(crate) address: SocketAddr,
    pub(crate) cookie: String,
    pub(crate) secret: String,
    pub(crate) tab: String,
}

impl Running {
    /// Starts an inspector in an empty workspace.
    pub(crate) async fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("work")).unwrap();
        let host = host(directory.path());
        let settings = settings::resolve(&SettingOverrides::default(), &host).unwrap();
        let sessions = Arc::new(BrowserSessions::new(|| {
            static NEXT: AtomicU64 = AtomicU64::new(1);
            let number = NEXT.fetch_add(1, Ordering::Relaxed).to_be_bytes();
            let mut secret = [7; 32];
            secret.iter_mut().zip(number).for_each(|(byte, from)| *byte = from);
            Ok(secret)
        }));
        let service = InspectorRouter::new(InspectorParts {
            host,
            settings,
            overrides: SettingOverrides::default(),
            sessions: Arc::clone(&sessions),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let site = HttpSite::new(RequestGuard::default());
        let site = site.mount_pages(page_parts(&sessions), service);
        let shutdown = CancellationToken::new();
        tokio::spawn(serve(listener, site, shutdown.clone(), async {}));
        Self { directory, address, sessions, shutdown }
    }

    pub(crate) fn work(&self) -> std::path::PathBuf {
        self.directory.path().join("work")
    }

    /// Makes a call as an application does.
    pub(crate) async fn call(
        &self,
        run: &str,
        tool: &str,
        input: Value,
    ) -> haft_contract::Envelope {
        let app = App::open_on(host(self.directory.path()), self.work()).unwrap();
        let run = app.run(run).await.unwrap();
        let envelope = run.call(tool, input).await.unwrap();
        run.close().await;
        envelope
    }

    /// Opens the journal, to write rows as they could come from anywhere.
    pub(crate) fn journal(&self) -> SqliteJournal {
        let state = host(self.directory.path());
        SqliteJournal::open(state.state().journal()).unwrap()
    }

    /// Records a call with this output, and returns the path of its page.
    pub(crate) async fn record_output(&self, output: &str, sidecar: Option<&Path>) -> String {
        let journal = self.journal();
        let scope = AttemptAddress::first_of_run(RunId::parse("out").unwrap());
        let run = NewRun {
            id: scope.run.clone(),
            front_end: "cli".to_owned(),
            root: "/w".to_owned(),
            started_at_ms: 1_000,
            version: "0.1.0".to_owned(),
            settings: "{}".to_owned(),
        };
        let owner = LeaseOwner { id: "4f1d".to_owned(), location: "process 13 on box".to_owned() };
        let lease = journal
            .open_run(run, LeaseRequest { owner, now_ms: 1_000, lasts_ms: 1 })
            .await
            .unwrap();
        let key = CallKey::of_first_call(&scope, "bash", "{}");
        let call = PlannedCall {
            id: CallAddress { scope, seq: 1 },
            fencing_token: lease.fencing_token,
            tool: "bash".to_owned(),
            effect: Effect::Once,
            first_key: key,
            call_key: key,
            input: "{}".to_owned(),
            accesses: "[]".to_owned(),
            driver_call_id: None,
            started_at_ms: 1_001,
            announces_effects: false,
        };
        let intent = journal.intend(call).await.unwrap();
        let envelope = Envelope::Output {
            data: json!({"output": output}),
            metadata: EnvelopeMetadata {
                truncated: sidecar.is_some(),
                output_path: sidecar.map(|path| path.to_string_lossy().into_owned()),
                ..EnvelopeMetadata::default()
            },
        };
        let outcome = Outcome { status: CallStatus::Succeeded, envelope, finished_at_ms: 1_002 };
        journal.settle(intent, outcome).await.unwrap();
        journal.close_run(lease).await.unwrap();
        "/calls/out/main/0/1/1".to_owned()
    }

    /// Records refused calls of one run.
    pub(crate) async fn record_calls(&self, run: &str, count: u32) {
        let journal = self.journal();
        let scope = AttemptAddress::first_of_run(RunId::parse(run).unwrap());
        let new = NewRun {
            id: scope.run.clone(),
            front_end: "cli".to_owned(),
            root: "/w".to_owned(),
            started_at_ms: 1_000,
            version: "0.1.0".to_owned(),
            settings: "{}".to_owned(),
        };
        let owner = LeaseOwner { id: "4f1e".to_owned(), location: "process 14 on box".to_owned() };
        let lease = LeaseRequest { owner, now_ms: 1_000, lasts_ms: 1 };
        let lease = journal.open_run(new, lease).await.unwrap();
        let refuse = |seq: u32| {
            let key = CallKey::of_first_call(&scope, "read", &seq.to_string());
            let at_ms = 1_000 + u64::from(seq);
            let call = PlannedCall {
                id: CallAddress { scope: scope.clone(), seq },
                fencing_token: lease.fencing_token,
                tool: "read".to_owned(),
                effect: Effect::Read,
                first_key: key,
                call_key: key,
                input: json!({"path": format!("src/file-{seq}.rs")}).to_string(),
                accesses: "[]".to_owned(),
                driver_call_id: None,
                started_at_ms: at_ms,
                announces_effects: false,
            };
            let envelope = Envelope::Error {
                error_text: "a rule denies it".to_owned(),
                metadata: EnvelopeMetadata::default(),
            };
            let status = CallStatus::Refused;
            journal.refuse(call, Outcome { status, envelope, finished_at_ms: at_ms })
        };
        let sequence: Vec<u32> = (1..=count).collect();
        for part in sequence.chunks(1_000) {
            let recorded = futures_util::future::join_all(part.iter().map(|seq| refuse(*seq)));
            assert!(recorded.await.iter().all(Result::is_ok));
        }
        journal.close_run(lease).await.unwrap();
    }

    /// Records an ask whose process waits for an answer.
    pub(crate) async fn record_ask(&self, id: &str, run: &str, tool: &str, input: &Value) {
        self.record_ask_with(id, (run, tool), json!({"input": input})).await;
    }

    /// Records an ask whose process waits for an answer, and that shows these fields, too.
    pub(crate) async fn record_ask_with(&self, id: &str, (run, tool): (&str, &str), more: Value) {
        let journal = self.journal();
        let scope = AttemptAddress::first_of_run(RunId::parse(run).unwrap());
        let root = self.work().to_string_lossy().into_owned();
        let now_ms = host(self.directory.path()).now_ms();
        let new = NewRun {
            id: scope.run.clone(),
            front_end: "cli".to_owned(),
            root: root.clone(),
            started_at_ms: now_ms,
            version: "0.1.0".to_owned(),
            settings: "{}".to_owned(),
        };
        let owner =
            LeaseOwner { id: format!("4f1f{run}"), location: "process 15 on box".to_owned() };
        let lease = LeaseRequest { owner, now_ms, lasts_ms: 30_000 };
        let lease = journal.open_run(new, lease).await.unwrap();
        let mut shown = json!({
            "ask": id, "tool": tool, "input": {}, "accesses": [], "reasons": ["a rule asks"],
            "always_rules": [], "exact_rules": [], "connection": "c", "root": root,
        });
        shown.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let ask = NewAsk {
            id: id.to_owned(),
            call: CallAddress { scope, seq: 1 },
            fencing_token: lease.fencing_token,
            tool: tool.to_owned(),
            front_end: "cli".to_owned(),
            summary: shown.to_string(),
            shown: shown.to_string(),
            now_ms,
            lasts_ms: Some(600_000),
        };
        journal.open_ask(ask).await.unwrap();
    }

    /// Exchanges words in all contents that lie apart from the rows, as a program could that reaches the files.
    pub(crate) fn exchange_contents(&self, old: &str, new: &str) {
        let state = host(self.directory.path()).state().directory().to_path_buf();
        let mut directories = vec![state];
        let mut exchanged = 0;
        while let Some(directory) = directories.pop() {
            for entry in std::fs::read_dir(directory).unwrap().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    directories.push(path);
                } else if let Ok(text) = std::fs::read_to_string(&path)
                    && text.contains(old)
                {
                    std::fs::write(&path, text.replace(old, new)).unwrap();
                    exchanged += 1;
                }
            }
        }
        assert_eq!(exchanged, 1);
    }

    /// Makes an empty file among the outputs that haft keeps.
    pub(crate) fn sidecar(&self, name: &str) -> std::path::PathBuf {
        let sidecars = host(self.directory.path()).state().sidecars();
        std::fs::create_dir_all(&sidecars).unwrap();
        std::fs::write(sidecars.join(name), "").unwrap();
        sidecars.join(name).canonicalize().unwrap()
    }

    /// Returns a secret that logs a browser in.
    pub(crate) fn link(&self) -> String {
        self.sessions.issue_link().unwrap()
    }

    /// Logs a browser in.
    pub(crate) async fn browser(&self) -> Browser {
        let origin = format!("Origin: http://{}\r\n", self.address);
        let answer = send(self.address, "POST", "/login", &origin, &self.link()).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        let cookie = answer.header("set-cookie").unwrap();
        let cookie = cookie.split(';').next().unwrap().to_owned();
        let secret = answer.body;
        let headers = format!("{origin}Cookie: {cookie}\r\nHaft-Browser: {secret}\r\n");
        let tab = send(self.address, "POST", "/tab", &headers, "").await;
        assert_eq!(tab.status, 200, "{}", tab.body);
        Browser { address: self.address, cookie, secret, tab: tab.body }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.shutdown.cancel();
    }
}

fn host(directory: &Path) -> AppHost {
    AppHost::isolated(&directory.join("state")).unwrap().in_directory(directory.join("work"))
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// Returns the value of an attribute of the page, the first after `behind`.
    pub(crate) fn attribute(&self, behind: &str, name: &str) -> String {
        let from = self.body.find(behind).unwrap_or_else(|| panic!("{behind} in {}", self.body));
        let rest = &self.body[from..];
        let value = rest.split_once(&format!("{name}=\"")).unwrap().1;
        value.split_once('"').unwrap().0.to_owned()
    }
}

impl Browser {
    /// Asks for a page.
    pub(crate) async fn get(&self, path: &str) -> Answer {
        send(self.address, "GET", path, &format!("Cookie: {}\r\n", self.cookie), "").await
    }

    /// Asks for a change, as the page does.
    pub(crate) async fn post(&self, path: &str, nonce: &str, form: &str) -> Answer {
        send(self.address, "POST", path, &self.change_headers(nonce), form).await
    }

    pub(crate) fn change_headers(&self, nonce: &str) -> String {
        let Self { address, cookie, tab, .. } = self;
        format!(
            "Origin: http://{address}\r\nCookie: {cookie}\r\nHaft-Tab: {tab}\r\nHaft-Nonce: {nonce}\r\n"
        )
    }
}

/// Sends one request with these headers, and a Host header if there is none.
pub(crate) async fn send(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &str,
    body: &str,
) -> Answer {
    let host = match headers.contains("Host: ") {
        true => String::new(),
        false => format!("Host: {address}\r\n"),
    };
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\n{host}{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    let is_chunked = head.to_lowercase().contains("transfer-encoding: chunked");
    let body = if is_chunked { unchunked(body) } else { body.to_owned() };
    Answer { status: status.unwrap_or_default(), head: head.to_owned(), body }
}

fn unchunked(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap_or(0);
        whole.push_str(rest.get(..size).unwrap_or_default());
        body = rest.get(size + 2..).unwrap_or_default();
        if size == 0 {
            break;
        }
    }
    whole
}
