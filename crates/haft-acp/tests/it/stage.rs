//! A workspace with a host of agents, and an editor that notes what it is told and answers what it is asked.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::schema::{
    CancelNotification, ContentBlock, CreateElicitationRequest, InitializeRequest,
    InitializeResponse, NewSessionRequest, PromptRequest, PromptResponse, RequestPermissionRequest,
    SessionId, SessionNotification, TextContent,
};
use agent_client_protocol::v1::{ConnectionTo, Responder, SentRequest};
use agent_client_protocol::{
    Agent, Client, Error, Lines, on_receive_notification, on_receive_request,
};
use futures_util::{SinkExt, StreamExt as _};
use haft::{Clock, ConnectionOptions, Registry, Runtime, RuntimeParts, WorkspaceRoots};
use haft_acp::{AcpServeError, AcpServeParts, Editor, ready_parts, serve};
use haft_agent::{
    AgentBounds, AgentDirectories, AgentHost, AgentHostParts, AgentPromptContext, AgentRegistry,
    ModelLookup, RandomSource, find_agents,
};
use haft_journal::{Journal, LeaseOwner, MemoryJournal};
use haft_model::{Model, ModelError, ModelSettings, ProviderModel};
use haft_policy::{Rule, RuleAction, RuleScope};
use haft_scripted_model::{ModelScript, ScriptedReply, ScriptedServer};
use haft_tools::{Profile, ToolOptions};
use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt as _, DuplexStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::codec::{FramedRead, FramedWrite, LinesCodec};
use tokio_util::sync::CancellationToken;

/// The context of the model in the tests.
const CONTEXT_TOKENS: u64 = 100_000;

struct StepClock(AtomicU64);

impl Clock for StepClock {
    fn now_ms(&self) -> u64 {
        self.0.fetch_add(1_000, Ordering::Relaxed)
    }
}

struct Counted(AtomicU64);

impl RandomSource for Counted {
    fn fill(&self, bytes: &mut [u8]) {
        let count = self.0.fetch_add(1, Ordering::Relaxed);
        bytes.fill(0);
        bytes.iter_mut().rev().zip(count.to_le_bytes()).for_each(|(byte, count)| *byte = count);
    }
}

struct OneModel(String);

impl ModelLookup for OneModel {
    fn model(&self, _: Option<&str>) -> Result<(String, Arc<dyn Model>), ModelError> {
        let settings = ModelSettings {
            model: "openai/m1".to_owned(),
            base_url: Some(self.0.clone()),
            key_variable: None,
            images: None,
            authorities: None,
            bounds: haft_model::ModelAnswerBounds::default(),
        };
        let provider = ProviderModel::open(&settings, &|_| None)?;
        Ok(("openai/m1".to_owned(), Arc::new(provider)))
    }
}

/// A workspace, its journal and its model.
pub(crate) struct Place {
    pub(crate) model: ScriptedServer,
    pub(crate) rules: Vec<Rule>,
    pub(crate) journal: Arc<dyn Journal>,
    directory: tempfile::TempDir,
    clock: Arc<dyn Clock>,
    random: Arc<dyn RandomSource>,
    processes: AtomicU64,
}

/// A host of agents, as one process has it.
struct Process {
    host: Arc<AgentHost>,
    runtime: Runtime,
    agents: Arc<AgentRegistry>,
}

impl Place {
    pub(crate) fn new(replies: impl IntoIterator<Item = ScriptedReply>) -> Self {
        let place = Self {
            model: ScriptedServer::start(ModelScript::from_replies(replies)).unwrap(),
            rules: vec![
                Rule::new("*", "*", RuleAction::Allow),
                Rule::new("write", "*", RuleAction::Ask),
                Rule::new("write", "free*", RuleAction::Allow),
            ],
            journal: Arc::new(MemoryJournal::new()),
            directory: tempfile::tempdir().unwrap(),
            clock: Arc::new(StepClock(AtomicU64::new(1_700_000_000_000))),
            random: Arc::new(Counted(AtomicU64::new(0))),
            processes: AtomicU64::new(1),
        };
        std::fs::create_dir(place.directory.path().join("project")).unwrap();
        place
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join("project")
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.root().join(name), text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.root().join(name)).ok()
    }

    fn process(&self, editor: &Editor) -> Process {
        let id = format!("p{}", self.processes.fetch_add(1, Ordering::Relaxed));
        let roots = WorkspaceRoots::open(&self.root(), &[]).unwrap();
        let mut tools = haft_tools::tools(Profile::Contract, &ToolOptions::default());
        tools.push(haft_agent::plan_exit_tool());
        let rules = self.rules.iter().cloned().map(|rule| (RuleScope::Manifest, rule)).collect();
        let runtime = Runtime::new(RuntimeParts {
            registry: Registry::new(tools).unwrap(),
            rules,
            is_gone: Arc::new(|_| Some(true)),
            ..RuntimeParts::new(
                Arc::clone(&self.journal),
                roots,
                self.directory.path().join("sidecars").join(&id),
                Arc::clone(&self.clock),
                LeaseOwner { id: id.clone(), location: format!("process {id}") },
            )
        })
        .unwrap();
        let agents = Arc::new(find_agents(&AgentDirectories::default()));
        let mut options = ConnectionOptions::headless(format!("s-{id}"), "agent");
        options.subagents = agents.subagents();
        let host = AgentHost::new(AgentHostParts {
            runtime: runtime.clone(),
            connection: runtime.open_connection(options).unwrap(),
            models: Arc::new(OneModel(self.model.base_url())),
            agents: Arc::clone(&agents),
            prompt_context: AgentPromptContext {
                root: self.root(),
                ..AgentPromptContext::default()
            },
            clock: Arc::clone(&self.clock),
            random: Arc::clone(&self.random),
            bounds: AgentBounds { context_tokens: CONTEXT_TOKENS, ..AgentBounds::default() },
            asker: editor.asker(),
            observer: editor.watcher(),
        });
        Process { host: Arc::new(host), runtime, agents }
    }

    /// Sends one line, and returns how the connection ended.
    pub(crate) async fn read_line(&self, line: String) -> Result<(), AcpServeError> {
        let editor = Editor::new();
        let Process { host, runtime, agents } = self.process(&editor);
        let parts = self.parts(host, runtime, agents);
        let (mut ours, theirs) = tokio::io::duplex(64 * 1024);
        let (input, output) = tokio::io::split(theirs);
        let serving = tokio::spawn(async move {
            serve(&editor, ready_parts(parts), input, output, CancellationToken::new()).await
        });
        // haft may have closed the connection already.
        let _ = ours.write_all(format!("{line}\n").as_bytes()).await;
        drop(ours);
        serving.await.unwrap()
    }

    /// Sends an initialize request whose responses go to `output`. Returns the input of the connection, and how it ends.
    pub(crate) async fn greet(
        &self,
        output: DuplexStream,
    ) -> (DuplexStream, JoinHandle<Result<(), AcpServeError>>) {
        let editor = Editor::new();
        let Process { host, runtime, agents } = self.process(&editor);
        let parts = self.parts(host, runtime, agents);
        let (mut ours, input) = tokio::io::duplex(64 * 1024);
        let serving = tokio::spawn(async move {
            serve(&editor, ready_parts(parts), input, output, CancellationToken::new()).await
        });
        let params = json!({"protocolVersion": 1});
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
        ours.write_all(format!("{hello}\n").as_bytes()).await.unwrap();
        (ours, serving)
    }

    fn parts(
        &self,
        host: Arc<AgentHost>,
        runtime: Runtime,
        agents: Arc<AgentRegistry>,
    ) -> AcpServeParts {
        AcpServeParts {
            host,
            runtime,
            agents,
            agent: "build".to_owned(),
            context_tokens: CONTEXT_TOKENS,
            format_time: |time_ms| format!("at {time_ms}"),
            notices: Vec::new(),
        }
    }

    /// Has an editor talk to a process that begins for it, and returns when both have ended.
    pub(crate) async fn edit(&self, answers: &[&'static str], work: impl AsyncFnOnce(&Desk)) {
        let editor = Editor::new();
        let Process { host, runtime, agents } = self.process(&editor);
        let parts = self.parts(Arc::clone(&host), runtime.clone(), agents);
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let serving = tokio::spawn(async move {
            let (input, output) = tokio::io::split(theirs);
            serve(&editor, ready_parts(parts), input, output, CancellationToken::new()).await
        });
        let noted = Arc::new(Noted {
            answers: Mutex::new(answers.iter().copied().collect()),
            ..Noted::default()
        });
        let root = self.root();
        connect(ours, &noted, async |connection| {
            let desk = Desk { connection, noted: Arc::clone(&noted), root };
            work(&desk).await;
            Ok(())
        })
        .await
        .unwrap();
        serving.await.unwrap().unwrap();
        host.close().await;
        runtime.shut_down().await;
    }
}

/// The updates and questions of the editor, and its answers. The connection writes it, and the test reads it.
#[derive(Default)]
pub(crate) struct Noted {
    told: Mutex<Vec<Value>>,
    asked: Mutex<Vec<Value>>,
    answers: Mutex<VecDeque<&'static str>>,
    count: watch::Sender<usize>,
    /// How many questions were withdrawn.
    withdrawn: watch::Sender<usize>,
}

impl Noted {
    fn tell(&self, update: &SessionNotification) {
        self.told.lock().unwrap().push(serde_json::to_value(update).unwrap());
        self.count.send_modify(|count| *count += 1);
    }

    /// Notes a question, and returns the answer that is next; nothing where it is to be left open.
    fn ask(&self, question: Value) -> Option<&'static str> {
        self.asked.lock().unwrap().push(question);
        self.count.send_modify(|count| *count += 1);
        let answer = self.answers.lock().unwrap().pop_front().unwrap();
        (answer != "never").then_some(answer)
    }
}

async fn connect(
    stream: DuplexStream,
    noted: &Arc<Noted>,
    work: impl AsyncFnOnce(ConnectionTo<Agent>) -> Result<(), Error>,
) -> Result<(), Error> {
    let (input, output) = tokio::io::split(stream);
    let read = FramedRead::new(input, LinesCodec::new()).map(|line| line.map_err(io::Error::other));
    let write = FramedWrite::new(output, LinesCodec::new());
    let write = SinkExt::<String>::sink_map_err(write, io::Error::other);
    let (told, asked, inquired) = (Arc::clone(noted), Arc::clone(noted), Arc::clone(noted));
    // Questions that are never answered are kept, so that they are not answered by an error.
    let open = Mutex::new(Vec::new());
    Client
        .v1()
        .on_receive_notification(
            async move |update: SessionNotification, _: ConnectionTo<Agent>| {
                told.tell(&update);
                Ok(())
            },
            on_receive_notification!(),
        )
        .on_receive_request(
            async move |request: RequestPermissionRequest,
                        responder: Responder<_>,
                        _: ConnectionTo<Agent>| {
                let question = serde_json::to_value(&request).unwrap();
                match asked.ask(question) {
                    Some(answer) => responder.respond(
                        serde_json::from_value(
                            json!({"outcome": {"outcome": "selected", "optionId": answer}}),
                        )
                        .unwrap(),
                    ),
                    None => {
                        let (withdrawal, noted) = (responder.cancellation(), Arc::clone(&asked));
                        tokio::spawn(async move {
                            withdrawal.cancelled().await;
                            noted.withdrawn.send_modify(|count| *count += 1);
                        });
                        open.lock().unwrap().push(responder);
                        Ok(())
                    }
                }
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: CreateElicitationRequest,
                        responder: Responder<_>,
                        _: ConnectionTo<Agent>| {
                let question = serde_json::to_value(&request).unwrap();
                let answer = inquired.ask(question).unwrap();
                responder.respond(
                    serde_json::from_value(json!({"action": "accept", "content": {"q01": answer}}))
                        .unwrap(),
                )
            },
            on_receive_request!(),
        )
        .connect_with(Lines::new(write, read), work)
        .await
}

/// The editor, as a test uses it.
pub(crate) struct Desk {
    pub(crate) connection: ConnectionTo<Agent>,
    noted: Arc<Noted>,
    pub(crate) root: PathBuf,
}

impl Desk {
    /// Introduces the editor, with forms and notices.
    pub(crate) async fn introduce(&self) -> InitializeResponse {
        self.introduce_with(json!({"elicitation": {"form": {}}, "session": {"notices": {}}})).await
    }

    /// Introduces the editor with these capabilities.
    pub(crate) async fn introduce_with(&self, capabilities: Value) -> InitializeResponse {
        let request = json!({
            "protocolVersion": ProtocolVersion::V1,
            "clientCapabilities": capabilities,
        });
        let request: InitializeRequest = serde_json::from_value(request).unwrap();
        self.connection.send_request(request).block_task().await.unwrap()
    }

    /// Introduces the editor and begins a session.
    pub(crate) async fn begin(&self) -> SessionId {
        self.introduce().await;
        self.begin_session().await
    }

    /// Begins a session.
    pub(crate) async fn begin_session(&self) -> SessionId {
        let request = NewSessionRequest::new(self.root.clone());
        self.connection.send_request(request).block_task().await.unwrap().session_id
    }

    pub(crate) fn prompt(&self, session: &SessionId, text: &str) -> SentRequest<PromptResponse> {
        let text = ContentBlock::Text(TextContent::new(text));
        self.connection.send_request(PromptRequest::new(session.clone(), vec![text]))
    }

    /// Says something and returns why the turn ended.
    pub(crate) async fn say(&self, session: &SessionId, text: &str) -> String {
        reason(self.prompt(session, text).block_task().await)
    }

    pub(crate) fn cancel(&self, session: &SessionId) {
        self.connection.send_notification(CancelNotification::new(session.clone())).unwrap();
    }

    /// Waits until so many updates came and questions were asked.
    pub(crate) async fn until_noted(&self, count: usize) {
        self.noted.count.subscribe().wait_for(|noted| *noted >= count).await.unwrap();
    }

    /// Waits until an update holds this text. A test that waits for anything outside its task would wait
    /// for ever, because the editor is in the same task.
    pub(crate) async fn until_told(&self, text: &str) {
        let is_told = |_: &usize| {
            let told = self.noted.told.lock().unwrap();
            told.iter().any(|update| update.to_string().contains(text))
        };
        self.noted.count.subscribe().wait_for(is_told).await.unwrap();
    }

    /// Waits until a question was asked.
    pub(crate) async fn until_asked(&self) {
        let is_asked = |_: &usize| !self.noted.asked.lock().unwrap().is_empty();
        self.noted.count.subscribe().wait_for(is_asked).await.unwrap();
    }

    /// Waits until a question was withdrawn.
    pub(crate) async fn until_withdrawn(&self) {
        self.noted.withdrawn.subscribe().wait_for(|count| *count > 0).await.unwrap();
    }

    /// Returns the updates since the last time, one line each.
    pub(crate) fn told(&self) -> String {
        let told = std::mem::take(&mut *self.noted.told.lock().unwrap());
        told.iter().map(|told| line(&told["update"], &self.root)).collect()
    }

    pub(crate) fn asked(&self) -> Vec<Value> {
        std::mem::take(&mut *self.noted.asked.lock().unwrap())
    }
}

/// Returns why a turn ended, or the error.
pub(crate) fn reason(response: Result<PromptResponse, Error>) -> String {
    match response {
        Ok(response) => {
            serde_json::to_value(response.stop_reason).unwrap().as_str().unwrap().to_owned()
        }
        Err(err) => format!("{}: {}", err.code.value(), err.message),
    }
}

/// Returns an update on one line, without what is the same in all and what differs from run to run.
fn line(update: &Value, root: &Path) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let kind = text(&update["sessionUpdate"]);
    let rest = match kind.as_str() {
        "user_message_chunk" | "agent_message_chunk" | "agent_thought_chunk" => {
            match update["content"]["type"].as_str() {
                Some("image") => format!("image {}", update["content"]["mimeType"]),
                _ => format!("{:?}", text(&update["content"]["text"])),
            }
        }
        "tool_call" | "tool_call_update" => call(update),
        "usage_update" => String::new(),
        "session_info_update" => text(&update["title"]),
        "current_mode_update" => text(&update["currentModeId"]),
        "config_option_update" => text(&update["configOptions"][0]["currentValue"]),
        "plan" => {
            let entries = update["entries"].as_array().unwrap().iter();
            let entry =
                |entry: &Value| format!("{} ({})", text(&entry["content"]), text(&entry["status"]));
            entries.map(entry).collect::<Vec<_>>().join(", ")
        }
        _ => {
            let mut rest = update.clone();
            rest.as_object_mut().unwrap().shift_remove("sessionUpdate");
            rest.to_string()
        }
    };
    let line = format!("{kind} {rest}");
    format!("{}\n", line.trim_end().replace(&root.display().to_string(), "ROOT"))
}

fn call(update: &Value) -> String {
    let mut words = vec![update["toolCallId"].as_str().unwrap().to_owned()];
    for name in ["title", "kind", "status"] {
        words.extend(update[name].as_str().map(|value| format!("{name}={value}")));
    }
    for place in update["locations"].as_array().into_iter().flatten() {
        let line = place["line"].as_u64().map_or_else(String::new, |line| format!(":{line}"));
        words.push(format!("at={}{line}", place["path"].as_str().unwrap()));
    }
    for content in update["content"].as_array().into_iter().flatten() {
        match content["type"].as_str().unwrap() {
            "diff" => words.push(format!(
                "diff={}:{}->{}",
                content["path"].as_str().unwrap(),
                content["oldText"],
                content["newText"]
            )),
            _ => words.push(format!("text={}", content["content"]["text"])),
        }
    }
    words.join(" ")
}
