//! A client of `haft mcp` that knows nothing but lines of JSON, and the places it works in. It deliberately uses no MCP
//! library: what is on the wire is what is tested.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

/// How long anything may take that a test waits for, in milliseconds. It only ends tests that hang.
const WAIT_MS: u64 = 30_000;

/// A root to work in, and a separate user.
pub(crate) struct Place {
    root: TempDir,
    user: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { root: tempfile::tempdir().unwrap(), user: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.root.path().canonicalize().unwrap()
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.user.path().canonicalize().unwrap().join("state")
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        std::fs::write(self.root().join(path), text).unwrap();
    }

    /// Writes a file of the user outside the workspace, and returns its path.
    pub(crate) fn user_file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.user.path().canonicalize().unwrap().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Returns a command that sees only the programs of the account that runs the test.
    pub(crate) fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command.env_clear().current_dir(self.root());
        command.envs(self.variables());
        command
    }

    pub(crate) fn variables(&self) -> Vec<(String, String)> {
        let user = self.user.path().to_string_lossy().into_owned();
        let state = self.state().to_string_lossy().into_owned();
        let path = std::env::var("PATH").unwrap_or_default();
        [("HOME", user), ("HAFT_STATE_DIR", state), ("PATH", path)]
            .map(|(name, value)| (name.to_owned(), value))
            .to_vec()
    }

    /// Runs haft to its end and returns its stdout, parsed.
    pub(crate) fn haft_json(&self, args: &[&str]) -> Value {
        let output = self.command(haft()).args(args).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "haft {args:?}: {}\n{stderr}", output.status);
        serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|err| panic!("haft {args:?} did not print JSON: {err}\n{stderr}"))
    }

    /// Returns what the journal says of the only run that there is.
    pub(crate) fn only_run(&self) -> Value {
        let runs = self.haft_json(&["runs", "list", "--json"]);
        let [run] = runs.as_array().unwrap().as_slice() else { panic!("one run: {runs}") };
        self.haft_json(&["runs", "show", run["id"].as_str().unwrap(), "--json"])
    }

    /// Puts words in place of what differs from run to run.
    pub(crate) fn redact(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                for (found, word) in [(self.root(), "[root]"), (self.state(), "[state]")] {
                    *text = text.replace(found.to_str().unwrap(), word);
                }
                *text = redact_run(text).replace(env!("CARGO_PKG_VERSION"), "[version]");
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.redact(item)),
            Value::Object(fields) => {
                fields.remove("waits");
                for (name, field) in fields {
                    match name.as_str() {
                        "haft/durationMs" | "duration_ms" | "started_at_ms" | "finished_at_ms" => {
                            assert!(field.is_u64(), "{name}: {field}");
                            *field = json!("[ms]");
                        }
                        // How much a host can enforce differs; that all layers are spoken of does not.
                        "haft/enforced" | "enforced" => {
                            let layers = field.as_object().map(|layers| layers.len());
                            assert_eq!(layers, Some(5), "{name}: {field}");
                            *field = json!("[enforced]");
                        }
                        // Made of the run's name among others.
                        "first_key" | "call_key" | "idempotency_key" => *field = json!("[key]"),
                        _ => self.redact(field),
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// The name of a run is `run_` and letters that tell the time.
fn redact_run(text: &str) -> String {
    let Some((before, rest)) = text.split_once("run_") else { return text.to_owned() };
    let after = rest.trim_start_matches(|letter: char| letter.is_ascii_alphanumeric());
    if rest.len() - after.len() < 16 {
        return format!("{before}run_{}", redact_run(rest));
    }
    format!("{before}[run]{}", redact_run(after))
}

pub(crate) fn haft() -> &'static str {
    env!("CARGO_BIN_EXE_haft")
}

/// A running `haft mcp`.
pub(crate) struct Server {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    last_id: u64,
}

impl Server {
    pub(crate) fn start(place: &Place, args: &[&str]) -> Self {
        let mut command = place.command(haft());
        command.arg("mcp").args(args);
        Self::of(command)
    }

    /// Starts the server that a command is.
    pub(crate) fn of(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines() {
                if line.is_ok_and(|line| sender.send(line).is_ok()) {
                    continue;
                }
                return;
            }
        });
        let stdin = child.stdin.take();
        Self { child, stdin, lines, last_id: 0 }
    }

    /// Starts a server and shakes hands with it, in the older era.
    pub(crate) fn start_legacy(place: &Place, args: &[&str]) -> Self {
        let mut server = Self::start(place, args);
        server.shake_hands();
        server
    }

    /// Starts the server that a command is and shakes hands with it, in the older era.
    pub(crate) fn of_legacy(command: Command) -> Self {
        let mut server = Self::of(command);
        server.shake_hands();
        server
    }

    fn shake_hands(&mut self) {
        self.request("initialize", initialize());
        self.notify("notifications/initialized", json!({}));
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends bytes as they are, and the end of the line.
    pub(crate) fn send_line(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(format!("{line}\n").as_bytes()).unwrap();
        stdin.flush().unwrap();
    }

    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        self.send_line(&json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string());
    }

    /// Sends a request and returns its id.
    pub(crate) fn begin(&mut self, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send_line(&request.to_string());
        id
    }

    /// Sends a request and returns what answers it; nothing else may come before.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        let answer = self.receive();
        assert_eq!(answer["id"], id, "an answer to {method}: {answer}");
        answer
    }

    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// Returns the next message.
    pub(crate) fn receive(&mut self) -> Value {
        match self.lines.recv_timeout(Duration::from_millis(WAIT_MS)) {
            Ok(line) => serde_json::from_str(&line).unwrap_or_else(|err| panic!("{err}: {line}")),
            Err(RecvTimeoutError::Timeout) => panic!("no message came within {WAIT_MS} ms"),
            Err(RecvTimeoutError::Disconnected) => panic!("the server has closed its output"),
        }
    }

    /// Ends the input and returns what still came, and how the server ended.
    pub(crate) fn end(mut self) -> (Vec<Value>, ExitStatus) {
        self.stdin = None;
        self.join()
    }

    /// Waits for the end of a server that was told to end.
    pub(crate) fn join(mut self) -> (Vec<Value>, ExitStatus) {
        let mut rest = Vec::new();
        loop {
            match self.lines.recv_timeout(Duration::from_millis(WAIT_MS)) {
                Ok(line) => rest.push(serde_json::from_str(&line).unwrap()),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    panic!("the server did not end within {WAIT_MS} ms")
                }
            }
        }
        (rest, self.child.wait().unwrap())
    }
}

/// A test that failed leaves no server behind.
impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn initialize() -> Value {
    json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "lines", "version": "0"},
    })
}

/// A FIFO in the root through which a command tells of its life: it writes one line when it runs, and the other end
/// closes when the command and everything that it started are gone.
pub(crate) struct Lifeline {
    path: PathBuf,
    told: Receiver<Told>,
}

enum Told {
    Line(String),
    End,
}

impl Lifeline {
    pub(crate) fn new(place: &Place, name: &str) -> Self {
        let path = place.root().join(name);
        let made = Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success(), "mkfifo: {made}");
        let (sender, told) = channel();
        let opened = path.clone();
        std::thread::spawn(move || {
            let mut fifo = BufReader::new(std::fs::File::open(opened).unwrap());
            let mut line = String::new();
            fifo.read_line(&mut line).unwrap();
            let _ = sender.send(Told::Line(line.trim().to_owned()));
            fifo.read_to_string(&mut line).unwrap();
            let _ = sender.send(Told::End);
        });
        Self { path, told }
    }

    /// Returns a command line that tells the numbers of its processes, one of which has left its session, and then takes
    /// longer than any test.
    pub(crate) fn endless_command(&self) -> String {
        Self::endless_command_at(&self.path)
    }

    /// Returns the command line for a FIFO that another process listens to.
    pub(crate) fn endless_command_at(path: &Path) -> String {
        format!("exec 9>{}; setsid sleep 1000 & echo $$ $! >&9; sleep 1000", path.display())
    }

    /// Waits for the command to run, and returns how many processes it is. Their numbers are those of a separate namespace,
    /// so no process outside can be found by them.
    pub(crate) fn processes(&self) -> usize {
        match self.told.recv_timeout(Duration::from_millis(WAIT_MS)) {
            Ok(Told::Line(line)) => line.split(' ').count(),
            Ok(Told::End) => panic!("the command ended before it told of itself"),
            Err(err) => panic!("the command did not run within {WAIT_MS} ms: {err}"),
        }
    }

    /// Waits until nothing that the command started is left.
    pub(crate) fn wait_for_end(&self) {
        match self.told.recv_timeout(Duration::from_millis(WAIT_MS)) {
            Ok(Told::End) => {}
            Ok(Told::Line(line)) => panic!("the command told of itself twice: {line}"),
            Err(err) => panic!("something of the command lives after {WAIT_MS} ms: {err}"),
        }
    }
}
