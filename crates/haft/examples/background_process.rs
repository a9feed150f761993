//! Measures the cost of a request to a confined background process, next to a call without one. The variants take turns
//! in one process. The example prints one sample a line, `entrant<TAB>nanoseconds`, and judges nothing.
//!
//! Arguments: DIRECTORY (to work in), ROUNDS. The background process needs `python3`.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use haft::{
    Call, ConnectionOptions, Registry, Run, Runtime, RuntimeParts, SystemClock, WorkspaceRoots,
};
use haft_contract::{
    BackgroundProcess, BackgroundProcessRequest, ChannelRead, Cx, ErrorCode, RunId, Tool, ToolError,
};
use haft_journal::{LeaseOwner, MemoryJournal};
use haft_policy::{Rule, RuleAction, RuleScope};
use haft_sandbox::Launcher;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::Mutex;

type Failure = Box<dyn Error + Send + Sync>;

/// Answers each line of its channel with the same line.
const ECHO: &str = "import os\nwhile line := os.read(3, 65536): os.write(3, line)";
const LINE_BYTES_MAX: usize = 1_024;

#[derive(Deserialize, JsonSchema)]
struct Text {
    text: String,
}

/// The program, once it was started. Calls take turns with it.
type Place = Arc<Mutex<Option<Box<dyn BackgroundProcess>>>>;

fn main() -> Result<(), Failure> {
    // Programs run under a copy of this program, which is told apart here.
    haft_sandbox::helper::run_if_requested();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [directory, rounds] = arguments.as_slice() else {
        return Err("expected DIRECTORY ROUNDS".into());
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(measure(Path::new(directory), rounds.parse()?))
}

async fn measure(directory: &Path, rounds: u32) -> Result<(), Failure> {
    let place = Place::default();
    let runtime = composed(directory, &place)?;
    let session = runtime.open_connection(ConnectionOptions::headless("resident", "example"))?;
    let run = session.run(RunId::parse("resident")?);
    for _ in 0..rounds {
        print("bare", called(&run, "bare").await?);
        print("resident", called(&run, "resident").await?);
        let mut resident = place.lock().await;
        let begun = Instant::now();
        let answer = ask(resident.as_mut().ok_or("it was not started")?, "line").await;
        answer.map_err(|err| err.message)?;
        print("line", begun.elapsed());
    }
    Ok(())
}

fn print(entrant: &str, sample: Duration) {
    println!("{entrant}\t{}", sample.as_nanos());
}

async fn called(run: &Run, tool: &str) -> Result<Duration, Failure> {
    let begun = Instant::now();
    let envelope = run.call(Call::new(tool, json!({ "text": "line" }))).await?;
    let taken = begun.elapsed();
    if envelope.text() == "line" { Ok(taken) } else { Err(envelope.text().into()) }
}

fn composed(directory: &Path, place: &Place) -> Result<Runtime, Failure> {
    let place = Arc::clone(place);
    let tools = [
        Tool::new("bare").execute(|input: Text| async move { Ok::<_, ToolError>(input.text) }),
        Tool::new("resident").execute_with(move |input: Text, cx: Cx| {
            let place = Arc::clone(&place);
            async move { ask_started(&place, &input.text, &cx).await }
        }),
    ];
    let roots = WorkspaceRoots::open(directory, &[])?;
    Ok(Runtime::new(RuntimeParts {
        registry: Registry::new(tools)?,
        rules: vec![(RuleScope::Manifest, Rule::new("*", "*", RuleAction::Allow))],
        launcher: Launcher::new(std::env::current_exe()?),
        environment: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
        ..RuntimeParts::new(
            Arc::new(MemoryJournal::new()),
            roots,
            directory.join("sidecars"),
            Arc::new(SystemClock),
            LeaseOwner { id: "resident".to_owned(), location: "an example".to_owned() },
        )
    })?)
}

/// Asks the program, which is started with the first question.
async fn ask_started(place: &Place, line: &str, cx: &Cx) -> Result<String, ToolError> {
    let mut place = place.lock().await;
    let resident = match place.as_mut() {
        Some(resident) => resident,
        None => {
            let mut request = BackgroundProcessRequest::new("python3");
            request.args = ["-I", "-S", "-c", ECHO].map(Into::into).to_vec();
            place.insert(cx.background_processes().start(request).await?)
        }
    };
    ask(resident, line).await
}

async fn ask(resident: &mut Box<dyn BackgroundProcess>, line: &str) -> Result<String, ToolError> {
    resident.send(format!("{line}\n").as_bytes()).await?;
    let mut answer = Vec::new();
    match resident.receive(&mut answer, LINE_BYTES_MAX).await? {
        ChannelRead::Line => Ok(String::from_utf8_lossy(&answer).into_owned()),
        ChannelRead::Closed | ChannelRead::TooLong => {
            let printed = resident.take_output().await.head;
            Err(ToolError::new(ErrorCode::ToolFailed, format!("no line came: {printed}")))
        }
    }
}
