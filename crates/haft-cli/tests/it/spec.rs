//! Requirements of the specifications, tried through the built programs.
//!
//! `xtask/src/spec/items` names the test of each requirement. The tests here are those that no other suite has: each shows
//! one requirement, by the inputs and with the bounds that the specification gives.

mod commands;
mod context;
mod contract;
mod effects;
mod files;
mod log;
mod network;
mod permissions;
mod smith;
mod smith_files;

use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::world::World;

/// The published bound of outputs and contents, in bytes.
const OUTPUT_BYTES: usize = 200_000;

/// Calls a tool and returns its envelope, also that of an error.
fn call(world: &World, args: &[&str], tool: &str, input: &Value) -> Value {
    let mut command = world.haft(&[&["call", "--json"], args, &[tool, "-"]].concat());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|err| panic!("{tool}: {err}: {}", world.shown(&output)))
}

/// Calls a tool of the profile `smithers`.
fn smithers(world: &World, tool: &str, input: &Value) -> Value {
    call(world, &["--profile", "smithers"], tool, input)
}

/// Returns the code of an error, or `none` for an output.
fn code(envelope: &Value) -> &str {
    match envelope["type"].as_str() {
        Some("error") => envelope["metadata"]["code"].as_str().unwrap(),
        Some("output") => "none",
        _ => panic!("no envelope: {envelope}"),
    }
}

fn error_text(envelope: &Value) -> &str {
    envelope["error_text"].as_str().unwrap_or_else(|| panic!("no error: {envelope}"))
}

/// Returns the rows of a query of the journal, as any client of SQLite reads them.
fn rows(world: &World, query: &str) -> Vec<Value> {
    let script = "import json, sqlite3, sys\n\
                  db = sqlite3.connect('file:' + sys.argv[1] + '?mode=ro', uri=True)\n\
                  db.row_factory = sqlite3.Row\n\
                  print(json.dumps([dict(row) for row in db.execute(sys.argv[2])]))";
    let mut python = Command::new("/usr/bin/python3");
    python.args(["-c", script]).arg(world.path("state/journal.sqlite")).arg(query);
    let output = python.output().unwrap();
    assert!(output.status.success(), "{query}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Trusts a manifest in a world.
fn trust(world: &World, manifest: &str) {
    world.write("work/haft.toml", manifest);
    world.run(&["trust"]);
}
