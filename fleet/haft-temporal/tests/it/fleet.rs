//! A fleet for one test: the servers, workers that can be killed and stopped, and a workspace whose tool notes each of its effects
//! in a ledger. The ledger says what really happened.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::servers::Server;

/// The longest time for runs to end.
const END_MAX: Duration = Duration::from_secs(180);

/// A tool with an effect that must not be repeated. It takes some time, so that kills hit it before, in and after its effect.
const MANIFEST: &str = r#"
[[commands]]
id = "ledger.append"
description = "Append a line to the ledger"
argv = ["sh", "append.sh", "{key}", "{delay}"]
effect = "once"
dangerous = false

[commands.parameters]
required = ["key", "delay"]
properties.key = { type = "string" }
properties.delay = { type = "string" }
"#;

const APPEND: &str = "sleep \"$2\"; echo \"$1\" >> ledger; sleep \"$2\"; echo \"$1 done\"\n";

/// Servers, workers and workspaces.
pub(crate) struct Fleet {
    pub(crate) postgres: Server,
    pub(crate) temporal: Server,
    workers: Vec<Worker>,
    directory: TempDir,
}

/// A process of `haft-temporal worker`.
struct Worker {
    process: Child,
    args: Vec<String>,
}

impl Fleet {
    /// Starts the servers. There is a workspace, and no worker yet.
    pub(crate) fn new() -> Self {
        let directory = tempfile::Builder::new().prefix("haft-fleet-").tempdir().unwrap();
        // The user of PostgreSQL must reach its files.
        fs::set_permissions(directory.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .unwrap();
        fs::create_dir(directory.path().join("home")).unwrap();
        let postgres = Server::postgres(directory.path());
        let temporal = Server::temporal(directory.path());
        let fleet = Self { postgres, temporal, workers: Vec::new(), directory };
        fleet.add_workspace("work");
        fleet
    }

    /// Creates a workspace.
    pub(crate) fn add_workspace(&self, name: &str) -> PathBuf {
        let root = self.path(name);
        fs::create_dir(&root).unwrap();
        fs::write(root.join("haft.toml"), MANIFEST).unwrap();
        fs::write(root.join("append.sh"), APPEND).unwrap();
        root
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Starts a worker and waits until it takes runs.
    pub(crate) fn add_worker(&mut self, args: &[&str]) -> usize {
        let args: Vec<String> = args.iter().map(ToString::to_string).collect();
        let process = self.spawn_worker(&args, self.workers.len());
        self.workers.push(Worker { process, args });
        self.workers.len() - 1
    }

    fn spawn_worker(&self, args: &[String], index: usize) -> Child {
        let log = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.path(&format!("worker{index}.log")));
        let log = log.unwrap();
        let mut command = self.command(&["worker", "--haft"]);
        command.arg(haft()).args(args).stdin(Stdio::null());
        command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap()
    }

    /// Kills a worker, and with `whole_machine` also each process that it started.
    pub(crate) fn kill_worker(&mut self, index: usize, whole_machine: bool) {
        let victims = if whole_machine { self.processes_of(index) } else { Vec::new() };
        let worker = &mut self.workers[index];
        worker.process.kill().unwrap();
        worker.process.wait().unwrap();
        signal_all(&victims, Signal::KILL);
    }

    /// Starts a worker again.
    pub(crate) fn restart_worker(&mut self, index: usize) {
        let args = self.workers[index].args.clone();
        self.workers[index].process = self.spawn_worker(&args, index);
    }

    /// Sends a signal to a worker and each process that it started, as if its machine stood still.
    pub(crate) fn signal_machine(&self, index: usize, signal: Signal) {
        signal_all(&self.processes_of(index), signal);
    }

    /// Sends a signal to a worker alone.
    pub(crate) fn signal_worker(&self, index: usize, signal: Signal) {
        signal_all(&[self.workers[index].process.id()], signal);
    }

    /// Waits until a worker has ended by itself, and returns what it printed.
    pub(crate) fn wait_for_worker(&mut self, index: usize) -> String {
        let until = Instant::now() + END_MAX;
        while self.workers[index].process.try_wait().unwrap().is_none() {
            assert!(Instant::now() < until, "worker {index} does not end");
            std::thread::sleep(Duration::from_millis(50));
        }
        fs::read_to_string(self.path(&format!("worker{index}.log"))).unwrap()
    }

    fn processes_of(&self, index: usize) -> Vec<u32> {
        let mut found = vec![self.workers[index].process.id()];
        let mut next = 0;
        while let Some(parent) = found.get(next) {
            found.extend(children(*parent));
            next += 1;
        }
        found
    }

    /// Returns a command of haft-temporal in this world.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_haft-temporal"));
        self.enter(&mut command, "work");
        command.args(args);
        command
    }

    /// Lets a command know the servers and nothing else of the machine.
    fn enter(&self, command: &mut Command, workspace: &str) {
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.path("home")).env("HAFT_STATE_DIR", self.path("state"));
        command.env("HAFT_CONFIG", "haft.toml").env("HAFT_NO_SNAPSHOTS", "true");
        command
            .env("HAFT_DB", format!("postgres://haft@127.0.0.1:{}/postgres", self.postgres.port()));
        command.env("TEMPORAL_ADDRESS", format!("127.0.0.1:{}", self.temporal.port()));
        command.current_dir(self.path(workspace));
    }

    /// Runs a command of haft-temporal to its end.
    pub(crate) fn temporal_command(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Runs a command of haft to its end, in the workspace.
    pub(crate) fn haft_command(&self, args: &[&str]) -> Output {
        let mut command = Command::new(haft());
        self.enter(&mut command, "work");
        command.args(args).output().unwrap()
    }

    /// Lets calls wait for the answer of a person, where no rule allows them.
    pub(crate) fn let_calls_wait(&self) {
        let manifest = format!("asks = \"wait\"\n{MANIFEST}");
        fs::write(self.path("work").join("haft.toml"), manifest).unwrap();
    }

    /// Starts a run of one call that no rule allows, and returns the ask about it.
    pub(crate) fn start_asking_run(&self, run: &str) -> Value {
        let file = self.path(&format!("{run}.json"));
        fs::write(&file, chain(run, 1, "0").to_string()).unwrap();
        let args = ["run", "--run", run, "--heartbeat-seconds", "3", "--detach"];
        let output = self.command(&args).arg(file).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let until = Instant::now() + END_MAX;
        loop {
            if let Some(ask) = self.pending_ask(run) {
                return ask;
            }
            assert!(Instant::now() < until, "no ask appeared\n{}", self.logs());
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// Returns the first ask of a run that waits.
    pub(crate) fn pending_ask(&self, run: &str) -> Option<Value> {
        let output = self.temporal_command(&["asks", run, "--json"]);
        let asks: Value = serde_json::from_slice(&output.stdout).ok()?;
        asks.get(0).cloned()
    }

    /// Starts a run of nodes that follow each other, and does not wait for it.
    pub(crate) fn start_run(&self, run: &str, nodes: usize, delay: &str, more: &[&str]) -> Output {
        let file = self.path(&format!("{run}.json"));
        fs::write(&file, chain(run, nodes, delay).to_string()).unwrap();
        let mut command = self.command(&[
            "run",
            "--allow=ledger.append",
            "--run",
            run,
            "--heartbeat-seconds",
            "3",
        ]);
        command.args(more).arg(file).output().unwrap()
    }

    /// Returns the state of a run: the status of its workflow, and the answer of `status`.
    pub(crate) fn status(&self, run: &str) -> Value {
        let until = Instant::now() + END_MAX;
        loop {
            // The service may be about to start again.
            let output = self.temporal_command(&["status", run, "--json"]);
            if output.status.success() {
                return serde_json::from_slice(&output.stdout).unwrap();
            }
            assert!(Instant::now() < until, "{}", String::from_utf8_lossy(&output.stderr));
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// Waits until a run has ended or waits for a settlement, and returns its state.
    pub(crate) fn wait_for_run(&self, run: &str) -> Value {
        let until = Instant::now() + END_MAX;
        loop {
            let status = self.status(run);
            if status["workflow"] != "running" || status["status"]["phase"] == "in_doubt" {
                return status;
            }
            assert!(Instant::now() < until, "{status}\n{}", self.logs());
            std::thread::sleep(Duration::from_millis(300));
        }
    }

    /// Settles each call in doubt by the ledger until the run has ended. Returns how many calls were in doubt.
    pub(crate) fn settle_to_the_end(&self, run: &str) -> usize {
        let mut settled = 0;
        loop {
            let status = self.wait_for_run(run);
            if status["status"]["phase"] != "in_doubt" {
                assert_eq!(status["status"]["phase"], "finished", "{status}\n{}", self.logs());
                return settled;
            }
            for doubt in status["status"]["doubts"].as_array().unwrap() {
                let call = doubt["call"].as_str().unwrap();
                let node = call.split('/').nth(1).unwrap().trim_start_matches('n');
                let has_happened = self.ledger("work").contains_key(&format!("{run}-{node}"));
                let verdict: &[&str] = match has_happened {
                    true => &["happened", "--result", "{\"output\":\"settled\"}"],
                    false => &["not-happened"],
                };
                let output = self.temporal_command(&[&["settle", call], verdict].concat());
                // Another call of the run may have been settled first, so that the run went on.
                let text = String::from_utf8_lossy(&output.stderr).into_owned();
                assert!(
                    output.status.success() || text.contains("does not wait"),
                    "{text}\n{}",
                    self.logs()
                );
                settled += usize::from(output.status.success());
            }
        }
    }

    /// Returns how often each effect happened.
    pub(crate) fn ledger(&self, workspace: &str) -> BTreeMap<String, usize> {
        let text = fs::read_to_string(self.path(workspace).join("ledger")).unwrap_or_default();
        let mut counts = BTreeMap::new();
        for line in text.lines() {
            *counts.entry(line.to_owned()).or_default() += 1;
        }
        counts
    }

    /// Checks that each effect of each run happened once.
    pub(crate) fn check_ledger(&self, runs: &[String], nodes: usize) {
        let keys =
            runs.iter().flat_map(|run| (0..nodes).map(move |node| (format!("{run}-{node}"), 1)));
        assert_eq!(self.ledger("work"), keys.collect::<BTreeMap<_, _>>());
    }

    fn logs(&self) -> String {
        let read = |index: usize| fs::read_to_string(self.path(&format!("worker{index}.log")));
        (0..self.workers.len()).filter_map(|index| read(index).ok()).collect()
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        for index in 0..self.workers.len() {
            let processes = self.processes_of(index);
            let worker = &mut self.workers[index];
            let _ = worker.process.kill();
            let _ = worker.process.wait();
            signal_all(&processes[1..], Signal::KILL);
        }
    }
}

/// Returns a plan of calls that follow each other.
fn chain(run: &str, nodes: usize, delay: &str) -> Value {
    let node = |id: usize| {
        let inputs = json!({"key": format!("{run}-{id}"), "delay": delay});
        let before: Vec<usize> = id.checked_sub(1).into_iter().collect();
        json!({
            "id": id, "tool": "ledger.append", "inputs": inputs, "depends_on": before,
            "metadata": {"purpose": "note an effect"},
        })
    };
    json!({"nodes": (0..nodes).map(node).collect::<Vec<_>>(), "final_output_node": nodes - 1})
}

/// Returns the program haft, which the tests do not build.
fn haft() -> PathBuf {
    let haft = std::env::var_os("HAFT_TEST_HAFT").map(PathBuf::from);
    haft.expect("HAFT_TEST_HAFT names no program haft: `cargo xtask fleet` builds it")
}

fn signal_all(processes: &[u32], signal: Signal) {
    for process in processes {
        if let Some(pid) = Pid::from_raw(process.cast_signed()) {
            // It may have ended.
            let _ = kill_process(pid, signal);
        }
    }
}

/// Returns the processes that a process started.
fn children(parent: u32) -> Vec<u32> {
    let tasks = fs::read_dir(Path::new("/proc").join(parent.to_string()).join("task"));
    let tasks = tasks.into_iter().flatten().filter_map(Result::ok);
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists
        .flat_map(|list| {
            list.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<_>>()
        })
        .collect()
}
