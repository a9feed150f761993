//! Measures a call of a Python tool in its warm worker, compared with a round trip to a bare Python
//! over a pipe and with a call of a tool that does nothing. Also measures a cold call, compared
//! with starting a bare Python for the same work. The variants take turns in one process. It prints
//! one sample per line, `case<TAB>entrant<TAB>nanoseconds`, and judges nothing.
//!
//! Arguments: DIRECTORY (to work in), ROUNDS. It needs `python3`. Tests use this program as the
//! helper that starts processes.

use std::error::Error;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use haft::{
    Call, ConnectionOptions, Registry, Run, Runtime, RuntimeParts, SystemClock, WorkspaceRoots,
};
use haft_contract::{Cx, RunId, Tool, ToolError};
use haft_journal::{LeaseOwner, MemoryJournal};
use haft_policy::{Rule, RuleAction, RuleScope};
use haft_python::{CheckedTool, SourceFile, ToolDirectory, WorkerOptions};
use haft_sandbox::Launcher;
use serde_json::{Value, json};
use tokio::sync::Mutex;

type Failure = Box<dyn Error + Send + Sync>;

const SOURCE: &str = r#"
METADATA = {
    "name": "echo",
    "function": "run_echo",
    "parameters": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
}


def run_echo(text):
    return text
"#;
/// The search path for the interpreter. A wrapper script elsewhere would be measured with it.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// The smallest program that answers each line with a line.
const ANSWERING: &str = r#"
import json, sys
for line in sys.stdin:
    print(json.dumps(json.loads(line)["text"]), flush=True)
"#;
const ANSWERING_ONCE: &str = r#"
import json, sys
print(json.dumps(json.loads(sys.argv[1])["text"]))
"#;
/// Cold calls take hundreds of times as long as warm ones.
const COLD_EVERY: u32 = 50;

fn main() -> Result<(), Failure> {
    // The helper that starts processes is this same program, recognised here by its arguments.
    haft_sandbox::helper::run_if_requested();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [directory, rounds] = arguments.as_slice() else {
        return Err("expected DIRECTORY ROUNDS".into());
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(measure(Path::new(directory), rounds.parse()?))
}

async fn measure(directory: &Path, rounds: u32) -> Result<(), Failure> {
    let tools = directory.join("tools");
    std::fs::create_dir_all(&tools)?;
    std::fs::write(tools.join("echo.py"), SOURCE)?;
    let tools = ToolDirectory::new(tools.canonicalize()?);
    let checked = checked(directory, &tools).await?;
    let echo = || haft_python::tools(&tools, &checked, WorkerOptions::default());
    let bare = Tool::new("bare").execute_json(
        checked.first().ok_or("the tool was refused")?.parameters.clone(),
        |input, _| async move { Ok::<_, ToolError>(input["text"].clone()) },
    );
    let warm = run(directory, echo().into_iter().chain([bare]).collect())?;
    called(&warm, "echo").await?;
    let mut pipe = Pipe::open()?;
    pipe.line()?;
    for round in 0..rounds {
        print("a warm call", "haft", called(&warm, "echo").await?);
        print("a warm call", "a line to Python and back", pipe.line()?);
        print("a warm call", "haft, a tool in Rust", called(&warm, "bare").await?);
        if round % COLD_EVERY == 0 {
            print("a cold call", "haft", called(&run(directory, echo())?, "echo").await?);
            print("a cold call", "python3 -c", started()?);
        }
    }
    Ok(())
}

fn print(case: &str, entrant: &str, sample: Duration) {
    println!("{case}\t{entrant}\t{}", sample.as_nanos());
}

/// A Python process that answers each line of a pipe.
struct Pipe {
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Pipe {
    fn open() -> Result<Self, Failure> {
        let mut child =
            python(&[ANSWERING]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        // It ends when its pipe is closed.
        let to = child.stdin.take().ok_or("no pipe")?;
        Ok(Self { to, from: BufReader::new(child.stdout.take().ok_or("no pipe")?) })
    }

    fn line(&mut self) -> Result<Duration, Failure> {
        let mut answer = String::new();
        let begun = Instant::now();
        self.to.write_all(b"{\"text\":\"line\"}\n")?;
        self.from.read_line(&mut answer)?;
        let taken = begun.elapsed();
        if answer == "\"line\"\n" { Ok(taken) } else { Err(answer.into()) }
    }
}

/// Returns a command for the tool's interpreter with the tool's options.
fn python(program: &[&str]) -> Command {
    let mut python = Command::new("python3");
    python.env("PATH", PATH).args(["-I", "-B", "-X", "utf8", "-c"]).args(program);
    python
}

/// Starts a Python process for the work of one call.
fn started() -> Result<Duration, Failure> {
    let begun = Instant::now();
    let output = python(&[ANSWERING_ONCE, "{\"text\":\"line\"}"]).output()?;
    let taken = begun.elapsed();
    if output.stdout == b"\"line\"\n" { Ok(taken) } else { Err("python3 failed".into()) }
}

async fn called(run: &Run, tool: &str) -> Result<Duration, Failure> {
    let begun = Instant::now();
    let envelope = run.call(Call::new(tool, json!({"text": "line"}))).await?;
    let taken = begun.elapsed();
    if envelope.text() == "line" { Ok(taken) } else { Err(envelope.text().into()) }
}

/// Checks the directory through a call, because only calls start confined processes.
async fn checked(directory: &Path, tools: &ToolDirectory) -> Result<Vec<CheckedTool>, Failure> {
    let files = tools.list()?.files;
    let place: Arc<Mutex<Vec<CheckedTool>>> = Arc::default();
    let (tools, found) = (tools.clone(), Arc::clone(&place));
    let schema = json!({"type": "object", "properties": {}});
    let reader = Tool::new("reader").execute_json(schema, move |_: Value, cx: Cx| {
        let (tools, files, found) = (tools.clone(), files.clone(), Arc::clone(&found));
        async move { check_within(&cx, &tools, files, &found).await }
    });
    let envelope = run(directory, vec![reader])?.call(Call::new("reader", json!({}))).await?;
    match envelope.code() {
        None => Ok(place.lock().await.clone()),
        Some(_) => Err(envelope.text().into()),
    }
}

async fn check_within(
    cx: &Cx,
    tools: &ToolDirectory,
    files: Vec<SourceFile>,
    found: &Mutex<Vec<CheckedTool>>,
) -> Result<String, ToolError> {
    let readings =
        haft_python::read_metadata(tools, &files, cx.background_processes(), &()).await?;
    let checked =
        haft_python::check_tool_files(tools, files.into_iter().zip(readings).collect(), &[]);
    let report = checked.report();
    *found.lock().await = checked.tools;
    Ok(report)
}

fn run(directory: &Path, tools: Vec<Tool>) -> Result<Run, Failure> {
    let root = directory.join("root");
    std::fs::create_dir_all(&root)?;
    let roots = WorkspaceRoots::open(&root, &[])?;
    let runtime = Runtime::new(RuntimeParts {
        registry: Registry::new(tools)?,
        rules: vec![(RuleScope::Manifest, Rule::new("*", "*", RuleAction::Allow))],
        launcher: Launcher::new(std::env::current_exe()?),
        environment: vec![("PATH".into(), PATH.into())],
        ..RuntimeParts::new(
            Arc::new(MemoryJournal::new()),
            roots,
            directory.join("sidecars"),
            Arc::new(SystemClock),
            LeaseOwner { id: "warm".to_owned(), location: "an example".to_owned() },
        )
    })?;
    let session = runtime.open_connection(ConnectionOptions::headless("warm", "example"))?;
    Ok(session.run(RunId::parse("warm")?))
}
