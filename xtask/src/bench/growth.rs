//! How the cost of a call grows with what haft has to do with: calls, runs, files, tools and connections. Each case compares a
//! server that has little of it with one that has much. Both take turns.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context as _;
use serde_json::json;

use super::Bench;
use super::calls::{file, open, write_file};
use super::http::{BenchHttpClient, BenchHttpServer, request};
use super::peers::Peer;
use super::report::{BenchTarget, ReportSection, time_table};
use super::server::{BenchCall, BenchServer, BenchTransport};
use super::turns::{Entrant, interleave};
use crate::files;

const ROUNDS: usize = 20;
const READS: usize = 50;
const COMMANDS: usize = 5;
/// Calls and runs are brought in with so many in flight.
const IN_FLIGHT: usize = 16;
const CALLS: usize = 200_000;
const RUNS: usize = 10_000;
/// As many commands as a manifest may declare.
const TOOLS: usize = 128;
const CONNECTIONS: usize = 200;
/// A directory of a large root has so many files.
const FILES_A_DIRECTORY: usize = 10;
/// How much a call may cost with much of something, relative to the same call with little of it.
const RATIO_MAX: f64 = 1.2;
/// The same for a command in a root of so many files.
const ROOTS: [(usize, f64); 2] = [(20_000, 1.3), (200_000, 2.0)];
const LITTLE: &str = "with little of it";

const ABOUT: &str = "\
The median time of a `read` of 4 KiB, or of `bash` with the command `true`, in a server that has little of something and in one that has
much of it. *Calls* are in the run of the connection. *Runs* are in the same journal. *Files* lie in the root, ten in each directory, and
haft records the workspace before and after each command. *Tools* are declared commands. *Connections* are open to `haft serve` and
idle.";

pub(super) fn measure(bench: &Bench) -> anyhow::Result<ReportSection> {
    let dir = bench.make_dir("growth")?;
    write_file(&file(&dir, 0))?;
    let many = |full| bench.rounds(full);
    let mut entrants = Vec::new();
    let mut ratios = Vec::new();
    let mut add = |case: String, little: Entrants, much: Entrants, ratio: f64| {
        entrants.extend([
            Entrant::new(&case, "haft", much.repeats, much.sample),
            Entrant::new(&case, LITTLE, little.repeats, little.sample),
        ]);
        ratios.push((case, ratio));
    };

    let calls = many(CALLS);
    let long = reads(prepared(bench, &dir, "long", calls, |_| None)?, &dir);
    let short = reads(prepared(bench, &dir, "short", 0, |_| None)?, &dir);
    add(format!("{calls} calls in the run"), short, long, RATIO_MAX);

    let runs = many(RUNS);
    let run = |number| Some(format!("r{number}"));
    let crowded = reads(prepared(bench, &dir, "runs", runs, run)?, &dir);
    let lone = reads(prepared(bench, &dir, "lone", 0, run)?, &dir);
    add(format!("{runs} runs in the journal"), lone, crowded, RATIO_MAX);

    for (count, ratio) in ROOTS {
        let count = many(count);
        let empty = commands(server(bench, &bench.make_dir("growth/empty")?, "empty", &[])?);
        let root = root_of(&bench.kept_dir, count)?;
        let full = commands(server(bench, &root, &format!("files-{count}"), &[])?);
        add(format!("{count} files in the root, `bash true`"), empty, full, ratio);
    }

    let tools = many(TOOLS);
    let manifest = dir.join("tools.toml");
    files::write(&manifest, declared_tools(tools))?;
    let manifest = manifest.to_str().context("the path is UTF-8")?;
    let full = reads(server(bench, &dir, "tools", &["--config", manifest])?, &dir);
    let bare = reads(server(bench, &dir, "no-tools", &[])?, &dir);
    add(format!("{tools} tools"), bare, full, RATIO_MAX);

    let crowded = connected(bench, &dir, CONNECTIONS)?;
    let lone = connected(bench, &dir, 0)?;
    add(format!("{CONNECTIONS} connections over HTTP"), lone, crowded, RATIO_MAX);

    let cases = interleave(entrants, bench.rounds(ROUNDS))?;
    let targets = cases.iter().zip(&ratios);
    let targets =
        targets.map(|(case, (_, ratio))| BenchTarget::ratio("growth", case, LITTLE, *ratio));
    Ok(ReportSection {
        targets: targets.collect(),
        ..ReportSection::new("Growth", ABOUT, vec![time_table(&cases)])
    })
}

/// The work of an entrant at its turn.
struct Entrants {
    repeats: usize,
    sample: Box<dyn FnMut() -> anyhow::Result<std::time::Duration>>,
}

/// Starts a server with a separate journal.
fn server(bench: &Bench, root: &Path, state: &str, flags: &[&str]) -> anyhow::Result<BenchServer> {
    let state = bench.make_dir(&format!("growth/state-{state}"))?;
    let mut command = bench.peers.haft(root);
    command.env("HAFT_STATE_DIR", state).args(flags).args(["mcp", "--allow", "bash"]);
    open(command, BenchTransport::Pipes)
}

/// Starts a server that has made so many calls, each in the run that `run` names.
fn prepared(
    bench: &Bench,
    dir: &Path,
    state: &str,
    calls: usize,
    run: impl Fn(usize) -> Option<String>,
) -> anyhow::Result<BenchServer> {
    let mut server = server(bench, dir, state, &[])?;
    // Answers have to be small while many are in flight.
    let path = dir.join("small.txt");
    files::write(&path, "small\n")?;
    let call =
        |number| BenchCall { run: run(number), ..BenchCall::new("read", json!({"path": path})) };
    let calls: Vec<BenchCall> = (0..calls).map(call).collect();
    for some in calls.chunks(1_000) {
        server.call_all(some, IN_FLIGHT)?;
    }
    Ok(server)
}

fn reads(mut server: BenchServer, dir: &Path) -> Entrants {
    let call = BenchCall::new("read", json!({"path": file(dir, 0)}));
    Entrants { repeats: READS, sample: Box::new(move || Ok(server.call(&call)?.0)) }
}

fn commands(mut server: BenchServer) -> Entrants {
    let call = BenchCall::new("bash", json!({"cmd": "true"}));
    Entrants { repeats: COMMANDS, sample: Box::new(move || Ok(server.call(&call)?.0)) }
}

/// Starts a server over HTTP that has so many idle connections beside the one that calls.
fn connected(bench: &Bench, dir: &Path, idle: usize) -> anyhow::Result<Entrants> {
    let command = bench.peers.http_server(Peer::Haft, dir).context("haft listens")?;
    let server = BenchHttpServer::start(command)?;
    let request = request(&server.authority, &file(dir, 0));
    let connect = |_| {
        let mut client = BenchHttpClient::connect(&server.authority)?;
        client.call(&request)?;
        anyhow::Ok(client)
    };
    let idle = (0..idle).map(connect).collect::<anyhow::Result<Vec<_>>>()?;
    let mut client = connect(0)?;
    let sample = move || {
        let (_, _) = (&server, &idle);
        let begin = Instant::now();
        client.call(&request)?;
        Ok(begin.elapsed())
    };
    Ok(Entrants { repeats: READS, sample: Box::new(sample) })
}

/// Makes sure that a root with so many files is there, and returns where.
fn root_of(parent: &Path, count: usize) -> anyhow::Result<PathBuf> {
    let (root, stamp) =
        (parent.join(format!("root-{count}")), parent.join(format!("root-{count}.stamp")));
    if stamp.exists() {
        return Ok(root);
    }
    eprintln!("generating {count} files");
    files::remove_dir(&root)?;
    for directory in 0..count.div_ceil(FILES_A_DIRECTORY) {
        let directory = root.join(format!("{}/{directory}", directory % 100));
        files::create_dir(&directory)?;
        for number in 0..FILES_A_DIRECTORY {
            files::write(&directory.join(format!("{number}.txt")), format!("{number}\n"))?;
        }
    }
    files::write(&stamp, "")?;
    Ok(root)
}

/// Returns a manifest with so many commands.
fn declared_tools(count: usize) -> String {
    let mut manifest = String::new();
    for number in 0..count {
        writeln!(
            manifest,
            "[[commands]]\nid=\"made.{number}\"\ndescription=\"Print {number}\"\nargv=[\"echo\"]\neffect=\"read\"\n\
             dangerous=false\n"
        )
        .expect("a string takes all text");
    }
    manifest
}
