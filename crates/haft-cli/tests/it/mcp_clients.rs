//! `haft mcp` driven by clients that were not made for it, over a copy of this very repository: the Python SDK, in both
//! eras of the protocol, and the MCP Inspector's command line. `cargo xtask test` installs them and says where they
//! are; without it these tests fail rather than pass over what they are for.
#![expect(
    clippy::unwrap_used,
    reason = "the lint's exception for tests does not cover the functions that they share"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::built_in_tools::shorten_list;
use crate::mcp_wire::driver::{Lifeline, Place, haft};
use crate::serve::Serving;

/// A file that calls read; what is in it is compared with the file itself.
const SAMPLE: &str = "crates/haft-contract/src/effect.rs";

/// Returns the place of a client, or of what else it needs, that `cargo xtask test` installs and names.
pub(crate) fn client(variable: &str) -> PathBuf {
    match std::env::var_os(variable) {
        Some(path) => path.into(),
        None => {
            panic!("{variable} is not set: run `cargo xtask test`, which installs what it names")
        }
    }
}

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap()
}

/// Copies every file of the repository that git knows or would take up.
fn copy_of_repository() -> Place {
    let place = Place::new();
    let listed = Command::new("git")
        .current_dir(repository())
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .output()
        .unwrap();
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    for name in String::from_utf8(listed.stdout).unwrap().split_terminator('\0') {
        let (from, to) = (repository().join(name), place.root().join(name));
        if !from.is_file() {
            continue;
        }
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(from, to).unwrap();
    }
    place
}

fn sample_lines(place: &Place, count: usize) -> String {
    let text = std::fs::read_to_string(place.root().join(SAMPLE)).unwrap();
    text.split_inclusive('\n').take(count).collect()
}

/// Returns what grep should find in the sample, found by other means.
fn sample_matches(place: &Place, needle: &str) -> String {
    let text = std::fs::read_to_string(place.root().join(SAMPLE)).unwrap();
    let lines = text.lines().enumerate().filter(|(_, line)| line.contains(needle));
    let found: Vec<_> =
        lines.map(|(index, line)| format!("{SAMPLE}:{}:{line}", index + 1)).collect();
    assert!(!found.is_empty(), "{SAMPLE} should contain {needle:?}");
    found.join("\n")
}

/// Returns the steps that the Python client took with a server that it started.
fn drive_python(place: &Place, mode: &str) -> Vec<Value> {
    drive_python_with(place, mode, &json!({}))
}

/// Returns the steps that the Python client took with a server that listens.
fn drive_python_over_http(place: &Place, mode: &str) -> Vec<Value> {
    let serving = Serving::start(place, &["--allow", "bash"]);
    drive_python_with(place, mode, &json!({"url": serving.url, "token": serving.token}))
}

fn drive_python_with(place: &Place, mode: &str, server: &Value) -> Vec<Value> {
    let lifeline = place.root().join("alive");
    let made = Command::new("mkfifo").arg(&lifeline).status().unwrap();
    assert!(made.success(), "mkfifo: {made}");
    let mut order = json!({
        "command": haft(),
        "args": ["mcp", "--allow", "bash"],
        "env": place.variables().into_iter().collect::<std::collections::BTreeMap<_, _>>(),
        "cwd": place.root(),
        "mode": mode,
        "lifeline": lifeline,
        "endless": Lifeline::endless_command_at(&lifeline),
        "read": {"path": SAMPLE, "start_line": 1, "end_line": 3},
        "grep": {"pattern": "pub enum", "path": SAMPLE},
    });
    let (Some(order_fields), Some(server)) = (order.as_object_mut(), server.as_object()) else {
        unreachable!("both are objects")
    };
    order_fields.extend(server.clone());
    run_python(place, "drive.py", &order)
}

/// Runs a script of the Python client and returns the lines that it printed.
fn run_python(place: &Place, script: &str, order: &Value) -> Vec<Value> {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/clients");
    let output = place
        .command(client("HAFT_TEST_PYTHON"))
        .arg(scripts.join(script))
        .arg(order.to_string())
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}\n{stdout}\n{stderr}", output.status);
    // The server names the journal that it begins.
    let is_complaint = |line: &&str| !line.starts_with("this begins a new journal, ");
    let complaints: Vec<&str> = stderr.lines().filter(is_complaint).collect();
    assert_eq!(complaints, [""; 0], "the server and its client have nothing to complain of");
    stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Compares the steps of a client that speaks a version. Those whose answers are files of the repository are compared with the
/// files.
fn check_steps(place: &Place, mut steps: Vec<Value>, version: &str) {
    assert_eq!(steps.remove(0), json!({"step": "connect", "version": version, "name": "haft"}));
    let text_of = |steps: &[Value], name: &str| {
        let step = steps.iter().find(|step| step["step"] == name);
        step.and_then(|step| step["content"][0]["text"].as_str()).unwrap().to_owned()
    };
    assert_eq!(text_of(&steps, "read"), sample_lines(place, 3));
    assert_eq!(text_of(&steps, "grep"), sample_matches(place, "pub enum"));
    steps.retain(|step| step["step"] != "read" && step["step"] != "grep");
    let lines = steps.iter_mut().map(|step| {
        place.redact(step);
        if step["step"] == "list" {
            shorten_list(&mut step["names"]);
        }
        step.to_string()
    });
    expect![[r#"
        {"step":"list","names":["[built-in tools]","view"]}
        {"step":"write","isError":false,"content":[{"type":"text","text":"ok"}],"structured":null}
        {"step":"edit","isError":false,"content":[{"type":"text","text":"{\"replacements\":1,\"first_changed_line\":2}"}],"structured":null}
        {"step":"apply_patch","isError":false,"content":[{"type":"text","text":"{\"status\":\"ok\",\"files\":[{\"path\":\"made/by_client.txt\",\"operation\":\"modify\"},{\"path\":\"made/new.txt\",\"operation\":\"create\"}]}"}],"structured":null}
        {"step":"bash","isError":false,"content":[{"type":"text","text":"1\n2\nthree\nnew\n"}],"structured":null}
        {"step":"invalid","isError":true,"content":[{"type":"text","text":"invalid input for read: uri: no such parameter: the tool has path, offset, limit, start_line, end_line, byte_offset, byte_limit; path: required, but missing"}],"structured":null}
        {"step":"unknown","code":-32602,"message":"no tool is called \"gerp\": did you mean grep?"}
        {"step":"cancel","cancelled":true,"processes":2,"rest":""}
        {"step":"after","isError":false,"content":[{"type":"text","text":"still here\n"}],"structured":null}
        {"step":"resource","type":"resource_link","size":588895,"mime":"text/plain","whole":true}
        {"step":"sidecar","isError":false,"content":[{"type":"text","text":"99999\n100000\n"}],"structured":null}
        {"step":"progress","isError":false,"content":[{"type":"text","text":"went on\n"}],"structured":null}
        {"step":"closed"}"#]]
    .assert_eq(&lines.collect::<Vec<_>>().join("\n"));
    let made = std::fs::read_to_string(place.root().join("made/by_client.txt")).unwrap();
    assert_eq!(made, "1\n2\nthree\n");
}

#[test]
fn the_python_sdk_works_in_the_newer_era() {
    let place = copy_of_repository();
    check_steps(&place, drive_python(&place, "auto"), "2026-07-28");
}

#[test]
fn the_python_sdk_works_in_the_older_era() {
    let place = copy_of_repository();
    check_steps(&place, drive_python(&place, "legacy"), "2025-11-25");
}

#[test]
fn the_python_sdk_works_over_http_in_the_newer_era() {
    let place = copy_of_repository();
    check_steps(&place, drive_python_over_http(&place, "auto"), "2026-07-28");
}

#[test]
fn the_python_sdk_works_over_http_in_the_older_era() {
    let place = copy_of_repository();
    check_steps(&place, drive_python_over_http(&place, "legacy"), "2025-11-25");
}

/// Writes files through the Python client, which answers each question as it is told, and compares what it saw.
fn check_asked(mode: &str, expect: &Expect) {
    let place = Place::new();
    let decision = |value: &str| json!({"action": "accept", "content": {"decision": value}});
    let write = |path: &str, response: Value| {
        let arguments = json!({"path": path, "content": path});
        json!({"tool": "write", "arguments": arguments, "response": response})
    };
    let order = json!({
        "command": haft(),
        "args": ["mcp", "--preset", "ask"],
        "env": place.variables().into_iter().collect::<std::collections::BTreeMap<_, _>>(),
        "cwd": place.root(),
        "mode": mode,
        "calls": [
            write("once.txt", decision("once")),
            write("declined.txt", json!({"action": "decline"})),
            write("closed.txt", json!({"action": "cancel"})),
            write("always.txt", decision("always_session")),
            write("always.txt", Value::Null),
        ],
    });
    let lines = run_python(&place, "ask.py", &order);
    let lines: Vec<_> = lines.into_iter().map(shortened).collect();
    expect.assert_eq(&lines.join("\n"));
    let mut made: Vec<_> = std::fs::read_dir(place.root())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    made.sort();
    assert_eq!(made, ["always.txt", "once.txt"]);
}

/// Leaves the first line of a question and the beginning of a refusal; their words are compared where they are made.
fn shortened(mut line: Value) -> String {
    let question = line.pointer_mut("/asked/0/message");
    if let Some(Value::String(question)) = question {
        question.truncate(question.find('\n').unwrap());
    }
    if let Some(Value::String(text)) = line.pointer_mut("/content/0") {
        text.truncate(text.find(" (").unwrap_or(text.len()));
    }
    line.to_string()
}

#[test]
fn the_python_sdk_is_asked_in_the_newer_era() {
    check_asked(
        "auto",
        &expect![[r#"
            {"version":"2026-07-28"}
            {"asked":[{"message":"May write run?","offered":["once","always_session","always_project","reject"]}],"isError":false,"content":["ok"]}
            {"asked":[{"message":"May write run?","offered":["once","always_session","always_project","reject"]}],"isError":true,"content":["the user rejected the call","Do not try it in another way. Ask the user how to go on."]}
            {"asked":[{"message":"May write run?","offered":["once","always_session","always_project","reject"]}],"isError":true,"content":["the user rejected the call","Do not try it in another way. Ask the user how to go on.","the client closed the question without an answer; that counts as a rejection"]}
            {"asked":[{"message":"May write run?","offered":["once","always_session","always_project","reject"]}],"isError":false,"content":["ok"]}
            {"asked":[],"isError":false,"content":["ok"]}"#]],
    );
}

#[test]
fn the_python_sdk_is_asked_in_the_older_era() {
    check_asked(
        "legacy",
        &expect![[r#"
            {"version":"2025-11-25"}
            {"asked":[{"message":"May write run?","offered":["once","always_session","always_project","reject"]}],"isError":false,"content":["ok"]}
            {"asked":[{"message":"May write run?","offered":["once","always_session","always_project","reject"]}],"isError":true,"content":["the user rejected the call","Do not try it in another way. Ask the user how to go on."]}
            {"asked":[{"message":"May write run?","offered":["once","always_session","always_project","reject"]}],"isError":true,"content":["the user rejected the call","Do not try it in another way. Ask the user how to go on.","the client closed the question without an answer; that counts as a rejection"]}
            {"asked":[{"message":"May write run?","offered":["once","always_session","always_project","reject"]}],"isError":false,"content":["ok"]}
            {"asked":[],"isError":false,"content":["ok"]}"#]],
    );
}

/// Returns the Inspector about to call a method of `haft mcp`.
fn inspector(place: &Place, args: &[&str]) -> Command {
    let node = client("HAFT_TEST_NODE");
    let mut command = place.command(&node);
    // The client starts other programs by the name `node`.
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", node.parent().unwrap().display()));
    command.arg(client("HAFT_TEST_INSPECTOR")).args(["--cli", "-q", "--format", "json"]);
    for (name, value) in place.variables() {
        command.arg("-e").arg(format!("{name}={value}"));
    }
    command.args(args).args(["--", haft(), "mcp", "--allow", "bash"]);
    command
}

fn inspect(place: &Place, args: &[&str]) -> Value {
    let output = inspector(place, args).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let Output { status, stdout, stderr } = &output;
    assert!(status.success(), "{args:?}: {status}\n{}\n{}", text(stdout), text(stderr));
    serde_json::from_slice(stdout).unwrap_or_else(|err| panic!("{err}: {}", text(stdout)))
}

fn inspect_call(place: &Place, tool: &str, arguments: &Value) -> Value {
    let arguments = arguments.to_string();
    let args = ["--method", "tools/call", "--tool-name", tool, "--tool-args-json", &arguments];
    inspect(place, &args)
}

#[test]
fn the_inspector_finds_nothing_to_object_to() {
    let place = copy_of_repository();
    for era in ["legacy", "modern"] {
        let listed =
            inspect(&place, &["--method", "tools/list", "--strict", "--protocol-era", era]);
        let tools = listed["result"]["tools"].as_array().unwrap();
        assert!(tools.iter().any(|tool| tool["name"] == "read"), "{era}: {listed}");
    }
}

#[test]
fn the_inspector_works_over_http_in_both_eras() {
    let place = copy_of_repository();
    let serving = Serving::start(&place, &[]);
    let header = format!("Authorization: Bearer {}", serving.token.as_deref().unwrap());
    let range = json!({"path": SAMPLE, "start_line": 1, "end_line": 3}).to_string();
    for era in ["legacy", "modern"] {
        let mut command = place.command(client("HAFT_TEST_NODE"));
        command.arg(client("HAFT_TEST_INSPECTOR")).args(["--cli", "-q", "--format", "json"]);
        command.args(["--transport", "http", "--server-url", &serving.url, "--header", &header]);
        command.args(["--protocol-era", era, "--method", "tools/call", "--tool-name", "read"]);
        let output = command.args(["--tool-args-json", &range]).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        let answer: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|err| panic!("{era}: {err}\n{stderr}"));
        assert_eq!(answer["result"]["content"][0]["text"], sample_lines(&place, 3), "{era}");
    }
}

#[test]
fn the_inspector_reads_searches_changes_and_runs() {
    let place = copy_of_repository();
    let text = |answer: &Value| answer["result"]["content"][0]["text"].as_str().unwrap().to_owned();
    let range = json!({"path": SAMPLE, "start_line": 1, "end_line": 3});
    assert_eq!(text(&inspect_call(&place, "read", &range)), sample_lines(&place, 3));
    let search = json!({"pattern": "pub enum", "path": SAMPLE});
    assert_eq!(text(&inspect_call(&place, "grep", &search)), sample_matches(&place, "pub enum"));
    let mut transcript = String::new();
    let patch = "--- /dev/null\n+++ b/made/new.txt\n@@ -0,0 +1 @@\n+new\n";
    let calls = [
        ("apply_patch", json!({"patch": patch})),
        ("edit", json!({"path": "made/new.txt", "old_string": "new", "new_string": "newer"})),
        ("bash", json!({"cmd": "cat made/new.txt"})),
        ("todo", json!({"todos": [{"content": "x", "status": "pending"}]})),
    ];
    for (tool, arguments) in calls {
        let mut answer = inspect_call(&place, tool, &arguments);
        place.redact(&mut answer);
        transcript.push_str(&format!("{tool} {answer}\n"));
    }
    expect![[r#"
        apply_patch {"result":{"_meta":{"haft/call":"[run]/main/0/1/1","haft/durationMs":"[ms]"},"content":[{"type":"text","text":"{\"status\":\"ok\",\"files\":[{\"path\":\"made/new.txt\",\"operation\":\"create\"}]}"}],"isError":false}}
        edit {"result":{"_meta":{"haft/call":"[run]/main/0/1/1","haft/durationMs":"[ms]"},"content":[{"type":"text","text":"{\"replacements\":1,\"first_changed_line\":1}"}],"isError":false}}
        bash {"result":{"_meta":{"haft/call":"[run]/main/0/1/1","haft/durationMs":"[ms]","haft/enforced":"[enforced]","haft/exitCode":0},"content":[{"type":"text","text":"newer\n"}],"isError":false}}
        todo {"result":{"_meta":{"haft/call":"[run]/main/0/1/1","haft/durationMs":"[ms]"},"content":[{"type":"text","text":"{\"todos\":[{\"content\":\"x\",\"status\":\"pending\"}]}"}],"isError":false}}
    "#]].assert_eq(&transcript);
    assert_eq!(std::fs::read_to_string(place.root().join("made/new.txt")).unwrap(), "newer\n");
}

#[test]
fn the_inspector_is_given_a_link_to_a_cut_output() {
    let place = copy_of_repository();
    let mut answer = inspect_call(&place, "bash", &json!({"cmd": "seq 1 100000"}));
    let mut link = answer["result"]["content"][1].take();
    place.redact(&mut link);
    expect![[r#"{"name":"1-bash.txt","uri":"haft://output/1-bash.txt","mimeType":"text/plain","size":588895,"type":"resource_link"}"#]].assert_eq(&link.to_string());
}

#[test]
fn an_inspector_that_dies_takes_its_command_with_it() {
    let place = copy_of_repository();
    let lifeline = Lifeline::new(&place, "alive");
    let arguments = json!({"cmd": lifeline.endless_command()}).to_string();
    let args = ["--method", "tools/call", "--tool-name", "bash", "--tool-args-json", &arguments];
    let mut running = inspector(&place, &args).stdout(Stdio::null()).spawn().unwrap();
    assert_eq!(lifeline.processes(), 2);
    running.kill().unwrap();
    running.wait().unwrap();
    lifeline.wait_for_end();
}
