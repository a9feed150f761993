//! Runs that outlive a connection, on the wire: a server that is killed in the middle of a command, what the next
//! connection is told, retries, and a journal that is taken away.

use std::fs;

use expect_test::expect;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::driver::{Lifeline, Place, Server};

/// A call in a run that the driver names.
fn call(server: &mut Server, tool: &str, arguments: Value, meta: Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
    server.request("tools/call", params)["result"].take()
}

/// The relevant parts of a result, on one line.
fn line(result: &Value) -> String {
    let meta = &result["_meta"];
    let text = result["content"][0]["text"].as_str().unwrap_or("-").trim_end();
    let mark = |name: &str| meta.get(name).map_or(String::new(), |value| format!(" {value}"));
    format!(
        "{}{}{} {text}",
        meta["haft/call"].as_str().unwrap_or("-"),
        mark("haft/code"),
        mark("haft/replayed")
    )
}

#[test]
fn a_second_connection_starts_a_killed_run_over() {
    let place = Place::new();
    place.write("a.txt", "one\n");
    let life = Lifeline::new(&place, "life");
    let endless = json!({"cmd": life.endless_command()});
    let replay = || json!({"haft/run": "nightly", "haft/resume": "replay"});
    let read = json!({"path": "a.txt"});

    let mut server = Server::start_legacy(&place, &[]);
    let first = call(&mut server, "read", read.clone(), json!({"haft/run": "nightly"}));
    assert_eq!(line(&first), "nightly/main/0/1/1 one");
    let meta = json!({"haft/run": "nightly"});
    server.begin("tools/call", json!({"name": "bash", "arguments": endless, "_meta": meta}));
    assert_eq!(life.processes(), 2);
    kill_process(Pid::from_raw(server.pid().try_into().unwrap()).unwrap(), Signal::KILL).unwrap();
    server.join();
    life.wait_for_end();

    place.write("a.txt", "changed since\n");
    let mut server = Server::start_legacy(&place, &[]);
    let lines = [
        call(&mut server, "bash", endless.clone(), replay()),
        call(&mut server, "read", read.clone(), replay()),
        call(&mut server, "read", read.clone(), replay()),
    ];
    expect![[r#"
        nightly/main/0/1/2 "IN_DOUBT" in doubt: bash was begun as call nightly/main/0/1/2 and its end was never recorded, so it may or may not have happened. It is not repeated.
        nightly/main/0/1/1 true one
        nightly/main/0/1/3 changed since"#]].assert_eq(&lines.each_ref().map(line).join("\n"));
    server.end();

    place.haft_json(&["runs", "settle", "nightly/main/0/1/2", "happened", "--json"]);
    let mut server = Server::start_legacy(&place, &[]);
    let settled = call(&mut server, "bash", endless, replay());
    expect!["nightly/main/0/1/2 true an operator found out that this call happened; what it answered is not known"].assert_eq(&line(&settled));
    server.end();
}

#[test]
fn the_first_repeated_effect_of_a_retry_is_held_back_once() {
    let place = Place::new();
    let order = json!({"cmd": "echo ordered >> orders"});
    let attempt = |number: u32| json!({"haft/run": "nightly", "haft/attempt": number});
    let mut server = Server::start_legacy(&place, &[]);
    call(&mut server, "bash", order.clone(), attempt(1));
    server.end();

    let mut server = Server::start_legacy(&place, &[]);
    let held_back = call(&mut server, "bash", order.clone(), attempt(2));
    assert_eq!(held_back["isError"], true);
    expect![[r#"
        nightly/main/0/2/1 "IN_DOUBT" not executed yet, because an earlier attempt called bash too. This is attempt 2 of this task. Earlier attempts made 1 call whose effect is not safe to repeat and may already have happened:
        - bash, attempt 1, call 1: succeeded: {"cmd":"echo ordered >> orders"}
        Look whether they happened before you repeat one. A repeated call has the same idempotency key as before. If it is right to make this call, make it again: the next one is executed."#]].assert_eq(&line(&held_back));
    let orders = || fs::read_to_string(place.root().join("orders")).unwrap();
    assert_eq!(orders(), "ordered\n");
    let repeated = call(&mut server, "bash", order.clone(), attempt(2));
    assert_eq!((&repeated["isError"], orders().as_str()), (&json!(false), "ordered\nordered\n"));
    server.end();
}

#[test]
fn a_client_that_names_nothing_is_placed_by_whoever_starts_the_server() {
    let place = Place::new();
    let order = json!({"cmd": "echo ordered >> orders"});
    let mut server = Server::start_legacy(&place, &["--run", "nightly", "--node", "build"]);
    let first = call(&mut server, "bash", order.clone(), json!({}));
    assert_eq!(line(&first), "nightly/build/0/1/1 (exit 0, no output)");
    // The client's word comes first, and nothing is assumed of another run.
    let elsewhere = call(&mut server, "todo", json!({"todos": []}), json!({"haft/node": "test"}));
    assert_eq!(elsewhere["_meta"]["haft/call"], "nightly/test/0/1/1");
    let elsewhere = call(&mut server, "todo", json!({"todos": []}), json!({"haft/run": "other"}));
    assert_eq!(elsewhere["_meta"]["haft/call"], "other/main/0/1/1");
    server.end();

    let again = ["--run", "nightly", "--node", "build", "--resume", "replay"];
    let mut server = Server::start_legacy(&place, &again);
    let recalled = call(&mut server, "bash", order.clone(), json!({}));
    assert_eq!(line(&recalled), "nightly/build/0/1/1 true (exit 0, no output)");
    server.end();

    let mut command = place.command(super::driver::haft());
    command.arg("mcp").envs([
        ("HAFT_RUN", "nightly"),
        ("HAFT_NODE", "build"),
        ("HAFT_ATTEMPT", "2"),
    ]);
    let mut server = Server::of_legacy(command);
    let held_back = call(&mut server, "bash", order, json!({}));
    assert_eq!(held_back["_meta"]["haft/code"], "IN_DOUBT");
    assert_eq!(held_back["_meta"]["haft/call"], "nightly/build/0/2/1");
    server.end();
    assert_eq!(fs::read_to_string(place.root().join("orders")).unwrap(), "ordered\n");
}

#[test]
fn what_was_cut_can_be_read_by_whoever_recalls_it() {
    let place = Place::new();
    let long = json!({"cmd": "seq 1 100000"});
    let mut server = Server::start_legacy(&place, &[]);
    call(&mut server, "bash", long.clone(), json!({"haft/run": "nightly"}));
    server.end();

    let mut server = Server::start_legacy(&place, &[]);
    let meta = json!({"haft/run": "nightly", "haft/resume": "replay"});
    let recalled = call(&mut server, "bash", long, meta);
    assert_eq!(recalled["_meta"]["haft/replayed"], true);
    let text = recalled["content"][0]["text"].as_str().unwrap();
    let path = text.split_once("all of it: ").and_then(|(_, rest)| rest.split_once(" ("));
    let tail = json!({"path": path.unwrap().0, "start_line": 99_999});
    let tail = call(&mut server, "read", tail, json!({}));
    assert_eq!(tail["content"][0]["text"], "99999\n100000\n");
    let link = &recalled["content"][1];
    let read = server.request("resources/read", json!({"uri": link["uri"]}));
    let whole = read["result"]["contents"][0]["text"].as_str().unwrap();
    assert_eq!(whole.lines().count(), 100_000);
    server.end();
}

#[test]
fn nothing_is_executed_once_the_journal_is_taken_away() {
    let place = Place::new();
    let mut server = Server::start_legacy(&place, &[]);
    server.call("write", json!({"path": "a.txt", "content": "one"}));
    fs::remove_file(place.state().join("journal.sqlite")).unwrap();
    let mut refused = server.call("write", json!({"path": "a.txt", "content": "two"}));
    place.redact(&mut refused);
    expect![[r#"{"code":-32603,"message":"journal [state]/journal.sqlite was removed or replaced while haft was using it: nothing more is recorded, so nothing more is executed; start haft again"}"#]].assert_eq(&refused["error"].to_string());
    let mut later = server.call("bash", json!({"cmd": "echo three > a.txt"}));
    place.redact(&mut later);
    expect![[r#"{"code":-32603,"message":"journal [state]/journal.sqlite has stopped after an earlier failure: start haft again"}"#]].assert_eq(&later["error"].to_string());
    assert_eq!(fs::read_to_string(place.root().join("a.txt")).unwrap(), "one");
    server.end();
}

#[test]
fn a_run_of_somebody_else_is_told_in_words_for_people() {
    let place = Place::new();
    let life = Lifeline::new(&place, "life");
    let endless = json!({"cmd": life.endless_command()});
    let nightly = || json!({"haft/run": "nightly"});
    let mut holder = Server::start_legacy(&place, &[]);
    holder.begin("tools/call", json!({"name": "bash", "arguments": endless, "_meta": nightly()}));
    assert_eq!(life.processes(), 2);

    let mut server = Server::start_legacy(&place, &[]);
    let params = json!({"name": "todo", "arguments": {"todos": []}, "_meta": nightly()});
    let refused = server.request("tools/call", params)["error"].take();
    let message = refused["message"].as_str().unwrap();
    let (holding, rest) = message.split_once(", until ").unwrap();
    assert!(holding.starts_with("run nightly is held by process "), "{message}");
    let (until, advice) = rest.split_once(" at least: ").unwrap();
    assert!(until.starts_with("20") && until.ends_with('Z') && until.len() == 24, "{message}");
    assert_eq!(advice, "nothing was executed; wait for that process, end it, or name another run");
    server.end();
    holder.end();
}

#[test]
fn a_run_of_another_workspace_is_neither_recalled_nor_gone_on_with() {
    let place = Place::new();
    place.write("a.txt", "one\n");
    let read = json!({"path": "a.txt"});
    let mut there = Server::start_legacy(&place, &["--run", "nightly"]);
    assert_eq!(line(&call(&mut there, "read", read.clone(), json!({}))), "nightly/main/0/1/1 one");
    there.end();
    fs::create_dir(place.root().join("other")).unwrap();
    let mut here = Server::start_legacy(&place, &["--root", "other"]);
    let meta = json!({"haft/run": "nightly", "haft/resume": "replay"});
    let params = json!({"name": "read", "arguments": read, "_meta": meta});
    let refused = here.request("tools/call", params)["error"].take();
    let root = place.root().to_string_lossy().into_owned();
    expect![[r#"{"code":-32602,"message":"run nightly was begun in [root], and this is [root]/other, where its paths mean other files: nothing was executed or recalled; make this call there, or in another run"}"#]].assert_eq(&refused.to_string().replace(&root, "[root]"));
    // The connection goes on in its own run.
    let answer = call(&mut here, "glob", json!({"pattern": "*"}), json!({}));
    assert_eq!(answer["isError"], false, "{answer}");
    here.end();
}
