//! The log of calls, the view `_smithers_tool_calls`, with the fields that the Smithers texts list.

use serde_json::{Value, json};

use super::context::TOOL;
use super::{OUTPUT_BYTES, call, rows, smithers};
use crate::world::World;

const ALL: &str = "SELECT * FROM _smithers_tool_calls ORDER BY startedAtMs, seq";

/// Makes two calls at an address and returns what the log has of the second one, which failed.
fn logged() -> Value {
    let world = World::with_files();
    let at = ["--profile", "smithers", "--run", "r1", "--node", "n1", "--iteration", "3"];
    call(&world, &at, "read", &json!({"path": "notes.txt"}));
    call(&world, &at, "read", &json!({"path": "missing.txt"}));
    let rows = rows(&world, "SELECT * FROM _smithers_tool_calls WHERE seq = 2");
    let [row] = rows.as_slice() else { panic!("{rows:?}") };
    row.clone()
}

#[test]
fn every_call_is_in_the_log() {
    let world = World::with_files();
    for (tool, input) in [
        ("read", json!({"path": "notes.txt"})),
        ("read", json!({"path": "missing.txt"})),
        ("read", json!({"path": "../outside.txt"})),
        ("read", json!({"path": 1})),
        ("bash", json!({"cmd": "true"})),
        ("bash", json!({"cmd": "curl", "args": ["http://example.com/"]})),
        ("nosuch", json!({})),
    ] {
        smithers(&world, tool, &input);
    }
    let shown: Vec<String> = rows(&world, ALL)
        .iter()
        .map(|row| {
            format!("{} {}", row["toolName"].as_str().unwrap(), row["status"].as_str().unwrap())
        })
        .collect();
    let expect = [
        "read success",
        "read error",
        "read error",
        "read error",
        "bash success",
        "bash error",
        "nosuch error",
    ];
    assert_eq!(shown, expect);
}

#[test]
fn a_call_of_a_defined_tool_is_in_the_log() {
    let world = World::new();
    world.write("work/tools/context.py", TOOL);
    call(&world, &["--python", "tools"], "tell", &json!({}));
    let rows = rows(&world, ALL);
    assert_eq!(rows[0]["toolName"], "tell", "{rows:?}");
}

#[test]
fn the_log_has_the_run() {
    assert_eq!(logged()["runId"], "r1");
}

#[test]
fn the_log_has_the_node() {
    assert_eq!(logged()["nodeId"], "n1");
}

#[test]
fn the_log_has_the_iteration() {
    assert_eq!(logged()["iteration"], 3);
}

#[test]
fn the_log_has_the_attempt() {
    assert_eq!(logged()["attempt"], 1);
    let world = World::with_files();
    let at = ["--run", "r1", "--attempt", "2"];
    call(&world, &at, "read", &json!({"path": "notes.txt"}));
    assert_eq!(rows(&world, ALL)[0]["attempt"], 2);
}

#[test]
fn the_log_counts_the_calls_of_an_attempt() {
    let world = World::with_files();
    for attempt in ["1", "1", "2"] {
        let at = ["--run", "r1", "--attempt", attempt];
        call(&world, &at, "read", &json!({"path": "notes.txt"}));
    }
    let counted: Vec<Value> =
        rows(&world, ALL).iter().map(|row| json!([row["attempt"], row["seq"]])).collect();
    assert_eq!(counted, [json!([1, 1]), json!([1, 2]), json!([2, 1])]);
}

#[test]
fn the_log_has_the_name_of_the_tool() {
    assert_eq!(logged()["toolName"], "read");
}

#[test]
fn the_log_has_the_input() {
    let input: Value = serde_json::from_str(logged()["inputJson"].as_str().unwrap()).unwrap();
    assert_eq!(input, json!({"path": "missing.txt"}));
}

#[test]
fn the_log_has_the_output_up_to_the_limit() {
    let world = World::new();
    let print = |bytes: usize| {
        let line = format!("yes | head -c {bytes}");
        smithers(&world, "bash", &json!({"cmd": "sh", "args": ["-c", line]}));
    };
    print(4);
    print(2 * OUTPUT_BYTES);
    let query = "SELECT outputJson, length(outputJson) AS bytes FROM _smithers_tool_calls ORDER BY startedAtMs";
    let rows = rows(&world, query);
    assert_eq!(rows[0]["outputJson"], r#""y\ny\n""#);
    assert_eq!(rows[1]["bytes"], OUTPUT_BYTES);
}

#[test]
fn the_log_has_the_time_of_the_start() {
    let before = now_ms();
    let started = logged()["startedAtMs"].as_u64().unwrap();
    assert!((before..=now_ms()).contains(&started), "{before} {started}");
}

#[test]
fn the_log_has_the_time_of_the_end() {
    let row = logged();
    assert!(row["finishedAtMs"].as_u64() >= row["startedAtMs"].as_u64(), "{row}");
    assert!(row["finishedAtMs"].as_u64().unwrap() <= now_ms(), "{row}");
}

fn now_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    since.as_millis().try_into().unwrap()
}

#[test]
fn the_log_has_success_or_error() {
    let world = World::with_files();
    smithers(&world, "read", &json!({"path": "notes.txt"}));
    smithers(&world, "read", &json!({"path": "missing.txt"}));
    let statuses: Vec<Value> = rows(&world, ALL).iter().map(|row| row["status"].clone()).collect();
    assert_eq!(statuses, ["success", "error"]);
}

#[test]
fn the_log_has_the_error() {
    let error: Value = serde_json::from_str(logged()["errorJson"].as_str().unwrap()).unwrap();
    assert_eq!(error["code"], "TOOL_PATH_INVALID", "{error}");
    assert!(error["message"].as_str().unwrap().contains("missing.txt"), "{error}");
}

#[test]
fn the_log_has_the_twelve_names_of_the_text() {
    let row = logged();
    for name in [
        "runId",
        "nodeId",
        "iteration",
        "attempt",
        "seq",
        "toolName",
        "inputJson",
        "outputJson",
        "startedAtMs",
        "finishedAtMs",
        "status",
        "errorJson",
    ] {
        assert!(row.get(name).is_some(), "{name}: {row}");
    }
}

/// Looks for a text in every file that haft keeps, but for snapshots, which are made to restore it.
fn is_kept(world: &World, text: &str) -> bool {
    let mut grep = std::process::Command::new("grep");
    grep.args(["-ra", "--exclude-dir=snapshots", text]).arg(world.path("state"));
    !grep.output().unwrap().stdout.is_empty()
}

/// SHA-256 of a text, as another program computes it.
fn sha256(text: &str) -> String {
    let script = "import hashlib, sys; print(hashlib.sha256(sys.argv[1].encode()).hexdigest())";
    let output =
        std::process::Command::new("/usr/bin/python3").args(["-c", script, text]).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn of_a_written_content_the_log_has_size_and_hash() {
    let world = World::new();
    let content = "BODY-THAT-IS-NOT-KEPT";
    smithers(&world, "write", &json!({"path": "a.txt", "content": content}));
    let row = rows(&world, ALL).remove(0);
    let input: Value = serde_json::from_str(row["inputJson"].as_str().unwrap()).unwrap();
    let expect = json!({"bytes": content.len(), "sha256": sha256(content)});
    assert_eq!(input["content"], expect);
    assert!(!is_kept(&world, content));
}

#[test]
fn of_a_patch_the_log_has_size_and_hash() {
    let world = World::with_files();
    let patch = "@@ -1,1 +1,1 @@\n-one\n+PATCHED-AND-NOT-KEPT\n";
    smithers(&world, "edit", &json!({"path": "notes.txt", "patch": patch}));
    let row = rows(&world, ALL).remove(0);
    let input: Value = serde_json::from_str(row["inputJson"].as_str().unwrap()).unwrap();
    assert_eq!(input["patch"], json!({"bytes": patch.len(), "sha256": sha256(patch)}));
    assert!(!is_kept(&world, "PATCHED-AND-NOT-KEPT"));
}
