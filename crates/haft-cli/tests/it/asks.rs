//! `haft asks` from outside: another process answers the question of a terminal and of an MCP client, the first answer counts,
//! and each front end learns who gave it.
#![expect(
    clippy::unwrap_used,
    reason = "the lint's exception for tests does not cover the functions that they share"
)]

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::mcp_wire::driver::{Place, Server, initialize};
use crate::terminal::Terminal;
use crate::world::World;

const WRITE: [&str; 5] =
    ["call", "--preset", "ask", "write", r#"{"path":"new.txt","content":"hello"}"#];
/// Longest wait for an ask to appear, in milliseconds.
const WAIT_MS: u64 = 30_000;

/// Returns the first pending ask, once there is one.
fn pending(list: impl Fn() -> Value) -> Value {
    let begun = Instant::now();
    loop {
        if let Some(ask) = list().as_array().and_then(|asks| asks.first().cloned()) {
            return ask;
        }
        assert!(begun.elapsed() < Duration::from_millis(WAIT_MS), "no ask appeared");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn id(ask: &Value) -> String {
    ask["id"].as_str().unwrap().to_owned()
}

#[test]
fn another_process_answers_the_question_of_a_terminal() {
    let world = World::with_files();
    let mut terminal = Terminal::new();
    let child = terminal.start(&mut world.haft(&WRITE));
    terminal.wait_for("[r]eject: ");
    let ask = pending(|| world.json(&["asks", "list", "--json"]));
    assert_eq!(
        (&ask["tool"], &ask["front_end"], &ask["state"]),
        (&json!("write"), &json!("cli"), &json!("pending"))
    );
    // A person sits before the terminal, who may take any time. The row has no contents.
    assert_eq!(ask["deadline_ms"], Value::Null);
    assert!(!ask.to_string().contains("hello"), "{ask}");
    let id = id(&ask);
    let shown = world.json(&["asks", "show", &id, "--json"]);
    assert_eq!(shown["content"]["input"], json!({"path": "new.txt", "content": "hello"}));
    let text = world.run(&["asks", "show", &id]);
    assert!(
        text.contains("\"content\": \"hello\"") && text.contains("allow write \"new.txt\""),
        "{text}"
    );
    let answered = world.json(&["asks", "allow", &id, "--json"]);
    assert!(answered["answer"]["received_at_ms"].is_u64(), "{answered}");
    let (shown, stdout, status) = terminal.finish(child);
    assert_eq!((stdout.as_str(), status), ("ok\n", Some(0)), "{shown}");
    assert!(
        shown.contains("answered elsewhere: ") && shown.contains("allowed it once through asks"),
        "{shown}"
    );
    assert_eq!(world.read("work/new.txt"), "hello");
    // The second answer learns of the first one.
    let late = world.haft(&["asks", "reject", &id]).output().unwrap();
    let late = String::from_utf8_lossy(&late.stderr).into_owned();
    assert!(
        late.contains("cannot be answered any more") && late.contains("through asks (once)"),
        "{late}"
    );
}

#[test]
fn a_rejection_and_an_edited_input_reach_the_call() {
    let world = World::with_files();
    let mut terminal = Terminal::new();
    let child = terminal.start(&mut world.haft(&WRITE));
    terminal.wait_for("[r]eject: ");
    let ask = id(&pending(|| world.json(&["asks", "list", "--json"])));
    world.run(&["asks", "reject", &ask, "--words", "write it to docs instead"]);
    let (shown, _, status) = terminal.finish(child);
    assert_eq!(status, Some(3), "{shown}");
    assert!(shown.contains("and says: write it to docs instead"), "{shown}");
    let mut terminal = Terminal::new();
    let child = terminal.start(&mut world.haft(&WRITE));
    terminal.wait_for("[r]eject: ");
    let ask = id(&pending(|| world.json(&["asks", "list", "--json"])));
    let digits = ask.trim_start_matches("ask_").get(..6).unwrap().to_owned();
    world.run(&["asks", "allow", &digits, "--edit", r#"{"path":"docs.txt","content":"bye"}"#]);
    let (shown, _, status) = terminal.finish(child);
    assert_eq!(status, Some(0), "{shown}");
    assert!(shown.contains("the user changed the input of this call"), "{shown}");
    assert_eq!(world.read("work/docs.txt"), "bye");
    assert!(!world.path("work/new.txt").exists());
}

#[test]
fn what_is_not_an_ask_is_named() {
    let world = World::new();
    let listed = world.haft(&["asks", "list"]).output().unwrap();
    assert_eq!((listed.status.code(), listed.stdout.as_slice()), (Some(0), b"".as_slice()));
    assert!(String::from_utf8_lossy(&listed.stderr).contains("no call waits for an answer"));
    assert_eq!(world.run(&["asks", "list", "--json"]), "[]\n");
    let refused = world.haft(&["asks", "allow", "ask_000000000000"]).output().unwrap();
    let text = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2));
    let names = text.contains("no ask is called \"ask_000000000000\"");
    assert!(names && text.contains("haft asks list"), "{text}");
}

#[test]
fn always_shows_the_rule_and_needs_a_confirmation() {
    let world = World::with_files();
    let mut terminal = Terminal::new();
    let child = terminal.start(&mut world.haft(&WRITE));
    terminal.wait_for("[r]eject: ");
    let ask = id(&pending(|| world.json(&["asks", "list", "--json"])));
    let refused = world.haft(&["asks", "allow", &ask, "--always"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    let refused = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.contains("allow write \"new.txt\""), "{refused}");
    world.run(&["asks", "allow", &ask, "--always", "--yes"]);
    let (shown, _, status) = terminal.finish(child);
    assert_eq!(status, Some(0), "{shown}");
    let listed = world.run(&["permissions", "list"]);
    assert!(listed.contains("new.txt"), "{listed}");
}

/// Starts a server whose client cannot elicit, and begins a call that needs an answer.
fn waiting_server(place: &Place) -> (Server, u64) {
    let mut server = Server::start(place, &["--preset", "ask"]);
    server.request("initialize", initialize());
    let params = json!({
        "name": "write",
        "arguments": {"path": "a.txt", "content": "one"},
        "_meta": {"progressToken": "p"},
    });
    let call = server.begin("tools/call", params);
    (server, call)
}

#[test]
fn a_client_that_cannot_elicit_waits_only_if_the_settings_say_so() {
    let place = Place::new();
    let (mut server, call) = waiting_server(&place);
    let answer = server.receive();
    assert_eq!((&answer["id"], &answer["result"]["isError"]), (&json!(call), &json!(true)));
    assert_eq!(place.haft_json(&["asks", "list", "--all", "--json"]), json!([]));
    server.end();
    // Waiting allows nothing, so the manifest needs no trust for it.
    place.write("haft.toml", "asks = \"wait\"\n");
    let (mut server, call) = waiting_server(&place);
    let ask = pending(|| place.haft_json(&["asks", "list", "--json"]));
    assert!(ask["deadline_ms"].is_u64(), "{ask}");
    let progress = server.receive();
    assert_eq!(progress["method"], "notifications/progress", "{progress}");
    let message = progress["params"]["message"].as_str().unwrap();
    assert!(message.contains(ask["id"].as_str().unwrap()), "{message}");
    place.haft_json(&["asks", "allow", ask["id"].as_str().unwrap(), "--json"]);
    let answer = loop {
        let message = server.receive();
        if message["id"] == json!(call) {
            break message;
        }
    };
    assert_eq!(answer["result"]["content"][0]["text"], "ok", "{answer}");
    let duration_ms = answer["result"]["_meta"]["haft/durationMs"].as_u64().unwrap();
    assert!(duration_ms < 5_000, "{duration_ms}");
    server.end();
}

#[test]
fn a_form_that_another_front_end_answered_is_cancelled_with_the_reason() {
    let place = Place::new();
    let mut server = Server::start(&place, &["--preset", "ask"]);
    let mut hello = initialize();
    hello["capabilities"] = json!({"elicitation": {}});
    server.request("initialize", hello);
    let params = json!({"name": "write", "arguments": {"path": "a.txt", "content": "one"}});
    let call = server.begin("tools/call", params);
    let question = server.receive();
    assert_eq!(question["method"], "elicitation/create", "{question}");
    let ask = pending(|| place.haft_json(&["asks", "list", "--json"]));
    place.haft_json(&["asks", "allow", ask["id"].as_str().unwrap(), "--json"]);
    let cancelled = server.receive();
    assert_eq!(cancelled["method"], "notifications/cancelled", "{cancelled}");
    assert_eq!(cancelled["params"]["requestId"], question["id"], "{cancelled}");
    let reason = cancelled["params"]["reason"].as_str().unwrap();
    assert!(reason.contains("allowed it once through asks"), "{reason}");
    let answer = server.receive();
    assert_eq!(answer["id"], call, "{answer}");
    assert_eq!(answer["result"]["content"][0]["text"], "ok", "{answer}");
    server.end();
}

#[test]
fn the_ask_of_a_killed_process_is_not_there_any_more() {
    let place = Place::new();
    place.write("haft.toml", "asks = \"wait\"\n");
    let (server, _) = waiting_server(&place);
    let ask = pending(|| place.haft_json(&["asks", "list", "--json"]));
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(server.pid().try_into().unwrap()).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
    drop(server);
    assert_eq!(place.haft_json(&["asks", "list", "--json"]), json!([]));
    let id = ask["id"].as_str().unwrap();
    let late = place.command(crate::mcp_wire::driver::haft()).args(["asks", "allow", id]).output();
    let late = late.unwrap();
    let text = String::from_utf8_lossy(&late.stderr).into_owned();
    assert!(!late.status.success() && text.contains("the process of its call ended"), "{text}");
    let shown = place.haft_json(&["asks", "show", id, "--json"]);
    assert_eq!((&shown["state"], &shown["content"]), (&json!("withdrawn"), &Value::Null));
}

/// Returns what a command said, and its status.
fn said(world: &World, args: &[&str]) -> (String, Option<i32>) {
    let output = world.haft(args).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (String::from_utf8_lossy(&text).into_owned(), output.status.code())
}

#[test]
fn another_process_answers_the_questions_of_a_plan() {
    let world = World::with_files();
    world.write("work/haft.toml", "asks = \"wait\"\n");
    let plan = json!({"nodes": [
        {"id": 0, "question": "Ship it?", "options": ["yes", "no"], "depends_on": []},
        {"id": 1, "tool": "write", "inputs": {"path": "answer", "content": "{{STEPS.0}}"}, "depends_on": [0]},
    ], "final_output_node": 0});
    world.write("work/plan.json", &plan.to_string());
    let mut command = world.haft(&["run", "plan.json", "--run", "r1"]);
    let command = command.stdin(std::process::Stdio::null());
    let command = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let plan = command.spawn().unwrap();
    let ask = pending(|| world.json(&["asks", "list", "--json"]));
    assert_eq!(
        (&ask["tool"], &ask["summary"]["kind"]),
        (&json!("plan.person"), &json!("question"))
    );
    assert!(ask["deadline_ms"].is_u64(), "{ask}");
    let question = id(&ask);
    let shown = world.run(&["asks", "show", &question]);
    assert!(shown.contains("Ship it?") && shown.contains("1. yes"), "{shown}");
    assert!(world.run(&["asks", "list"]).contains("Ship it?"));
    let (text, status) = said(&world, &["asks", "allow", &question]);
    assert!(status == Some(2) && text.contains("the ask is a question"), "{text}");
    assert!(text.contains(&format!("haft asks answer {question}")), "{text}");
    for wrong in [&["3"][..], &["yes", "no"], &[""]] {
        let (text, status) = said(&world, &[&["asks", "answer", &question], wrong].concat());
        assert_eq!(status, Some(2), "{text}");
    }
    let answered = world.json(&["asks", "answer", &question, "1", "--json"]);
    assert!(answered["answer"]["received_at_ms"].is_u64(), "{answered}");
    // Then the plan asks whether it may write.
    let tool = pending(|| world.json(&["asks", "list", "--json"]));
    assert_eq!(tool["summary"]["kind"], "tool", "{tool}");
    let (text, status) = said(&world, &["asks", "answer", &id(&tool), "yes"]);
    assert!(status == Some(2) && text.contains("allowed or rejected"), "{text}");
    let (text, status) = said(&world, &["asks", "allow", &id(&tool), "--edit", "{}"]);
    assert!(status == Some(2) && text.contains("the input cannot be edited"), "{text}");
    world.run(&["asks", "allow", &id(&tool)]);
    let output = plan.wait_with_output().unwrap();
    let shown = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(
        (output.status.code(), output.stdout.as_slice()),
        (Some(0), b"yes\n".as_slice()),
        "{shown}"
    );
    assert!(shown.contains(&format!("haft asks show {question}")), "{shown}");
    assert!(shown.contains("answered it through asks"), "{shown}");
    assert_eq!(world.read("work/answer"), "yes");
    let all = world.run(&["asks", "list", "--all"]);
    assert!(all.contains("answered"), "{all}");
    assert!(world.run(&["asks", "show", &question]).contains("answered by"));
}

#[test]
fn a_killed_plan_asks_again_and_makes_no_node_twice() {
    let world = World::with_files();
    world.write("work/haft.toml", "asks = \"wait\"\n");
    let plan = json!({"nodes": [
        {"id": 0, "tool": "bash", "inputs": {"cmd": "echo one >> log"}, "depends_on": []},
        {"id": 1, "question": "Ship it?", "depends_on": [0]},
    ], "final_output_node": 1});
    world.write("work/plan.json", &plan.to_string());
    let start = |args: &[&str]| {
        let mut command = world.haft(args);
        let command = command.stdin(std::process::Stdio::null());
        command
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap()
    };
    let mut killed = start(&["run", "plan.json", "--run", "r1", "--allow", "bash"]);
    let first = id(&pending(|| world.json(&["asks", "list", "--json"])));
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert_eq!(world.json(&["asks", "list", "--json"]), json!([]));
    let (text, status) = said(&world, &["asks", "answer", &first, "too late"]);
    assert!(status != Some(0) && text.contains("the process of its call ended"), "{text}");
    let resumed = start(&["resume", "r1", "--allow", "bash"]);
    let second = id(&pending(|| world.json(&["asks", "list", "--json"])));
    assert_ne!(first, second);
    world.run(&["asks", "answer", &second, "in time"]);
    let output = resumed.wait_with_output().unwrap();
    assert_eq!(output.stdout, b"in time\n");
    assert_eq!(world.read("work/log"), "one\n");
}

#[test]
fn a_question_of_a_model_waits_where_its_client_cannot_ask() {
    let place = Place::new();
    let names = |server: &mut Server| -> Vec<String> {
        let listed = server.request("tools/list", json!({}));
        let tools = listed["result"]["tools"].as_array().unwrap().clone();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    let mut server = Server::start(&place, &[]);
    server.request("initialize", initialize());
    assert!(!names(&mut server).contains(&"question".to_owned()));
    server.end();
    place.write("haft.toml", "asks = \"wait\"\n");
    let mut server = Server::start(&place, &[]);
    server.request("initialize", initialize());
    assert!(names(&mut server).contains(&"question".to_owned()));
    let questions = json!([{"question": "Which?", "options": [{"label": "a"}, {"label": "b"}]}, {"question": "Why?"}]);
    let params = json!({"name": "question", "arguments": {"questions": questions}});
    let call = server.begin("tools/call", params);
    let ask = pending(|| place.haft_json(&["asks", "list", "--json"]));
    place.haft_json(&["asks", "answer", &id(&ask), "2", "it is better", "--json"]);
    let answer = loop {
        let message = server.receive();
        if message["id"] == json!(call) {
            break message;
        }
    };
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("it is better") && text.contains("\"b\""), "{answer}");
}

/// Opens the call's question as a client that opens pages, and returns the question.
#[cfg(feature = "inspector")]
fn page_question(server: &mut Server, capabilities: &Value) -> (u64, Value) {
    let mut hello = initialize();
    hello["capabilities"] = json!({ "elicitation": capabilities });
    server.request("initialize", hello);
    let params = json!({"name": "write", "arguments": {"path": "a.txt", "content": "one"}});
    let call = server.begin("tools/call", params);
    (call, server.receive())
}

#[cfg(feature = "inspector")]
#[test]
fn a_client_that_opens_pages_gets_the_card_of_the_inspector() {
    use std::io::{BufRead as _, BufReader};
    use std::process::Stdio;

    let place = Place::new();
    let mut inspector = place.command(crate::mcp_wire::driver::haft());
    inspector.args(["inspect", "--json"]).stdout(Stdio::piped()).stdin(Stdio::piped());
    let mut inspector = inspector.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(inspector.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let said: Value = serde_json::from_str(&line).unwrap();
    let address = said["url"].as_str().unwrap().split_once("/#").unwrap().0.to_owned();
    for capabilities in [json!({"url": {}}), json!({"url": {}, "form": {}})] {
        let mut server = Server::start(&place, &["--preset", "ask"]);
        let (call, question) = page_question(&mut server, &capabilities);
        assert_eq!(question["method"], "elicitation/create", "{question}");
        let ask = pending(|| place.haft_json(&["asks", "list", "--json"]));
        let (id, params) = (ask["id"].as_str().unwrap(), &question["params"]);
        // The client learns the address, so the address holds no secret.
        let expect = (json!("url"), json!(format!("{address}/asks/{id}")), json!(id));
        assert_eq!(
            (&params["mode"], &params["url"], &params["elicitationId"]),
            (&expect.0, &expect.1, &expect.2)
        );
        assert!(params["message"].as_str().unwrap().contains("May write run?"), "{params}");
        let opened =
            json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept"}});
        server.send_line(&opened.to_string());
        // Opening the page allows nothing.
        std::thread::sleep(Duration::from_millis(200));
        assert_eq!(place.haft_json(&["asks", "list", "--json"])[0]["id"], id);
        place.haft_json(&["asks", "allow", id, "--json"]);
        let messages = [server.receive(), server.receive()];
        let done = messages.iter().find(|it| it["method"] == "notifications/elicitation/complete");
        assert_eq!(done.unwrap()["params"]["elicitationId"], id, "{messages:?}");
        let answer = messages.iter().find(|it| it["id"] == json!(call)).unwrap();
        assert_eq!(answer["result"]["content"][0]["text"], "ok", "{answer}");
        server.end();
    }
    // A person who declines to open the page rejects the call.
    let mut server = Server::start(&place, &["--preset", "ask"]);
    let (_, question) = page_question(&mut server, &json!({"url": {}}));
    let declined = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}});
    server.send_line(&declined.to_string());
    let answer = server.receive();
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("the user rejected the call"), "{answer}");
    server.end();
    inspector.kill().unwrap();
    inspector.wait().unwrap();
    // Without an inspector there is no page: a client with forms gets the form, and one without is told which rule would help.
    let mut server = Server::start(&place, &["--preset", "ask"]);
    let (_, question) = page_question(&mut server, &json!({"url": {}, "form": {}}));
    assert_eq!(question["params"]["mode"], "form", "{question}");
    drop(server);
    let mut server = Server::start(&place, &["--preset", "ask"]);
    let (call, answer) = page_question(&mut server, &json!({"url": {}}));
    assert_eq!(
        (&answer["id"], &answer["result"]["isError"]),
        (&json!(call), &json!(true)),
        "{answer}"
    );
    server.end();
}

#[test]
fn a_form_with_questions_is_cancelled_once_another_front_end_answered() {
    let place = Place::new();
    let mut server = Server::start(&place, &[]);
    let mut hello = initialize();
    hello["capabilities"] = json!({"elicitation": {}});
    server.request("initialize", hello);
    let questions = json!([{"question": "Which?", "options": [{"label": "a"}, {"label": "b"}]}]);
    let params = json!({"name": "question", "arguments": {"questions": questions}});
    let call = server.begin("tools/call", params);
    let form = server.receive();
    assert_eq!(form["method"], "elicitation/create", "{form}");
    let ask = pending(|| place.haft_json(&["asks", "list", "--json"]));
    place.haft_json(&["asks", "answer", &id(&ask), "a", "--json"]);
    let cancelled = server.receive();
    assert_eq!(cancelled["params"]["requestId"], form["id"], "{cancelled}");
    let reason = cancelled["params"]["reason"].as_str().unwrap();
    assert!(reason.contains("answered it through asks"), "{reason}");
    let answer = server.receive();
    assert_eq!(answer["id"], call, "{answer}");
}

#[test]
fn a_form_takes_words_for_the_model() {
    let place = Place::new();
    let mut server = Server::start(&place, &["--preset", "ask"]);
    let mut hello = initialize();
    hello["capabilities"] = json!({"elicitation": {}});
    server.request("initialize", hello);
    let params = json!({"name": "write", "arguments": {"path": "a.txt", "content": "one"}});
    server.begin("tools/call", params);
    let question = server.receive();
    let schema = &question["params"]["requestedSchema"];
    assert_eq!(schema["properties"]["words"]["maxLength"], 4_000, "{schema}");
    assert_eq!(schema["required"], json!(["decision"]), "{schema}");
    let content = json!({"decision": "reject", "words": " write it to docs instead "});
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": content}});
    server.send_line(&answer.to_string());
    let refused = server.receive();
    let text = refused["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("and says: write it to docs instead"), "{refused}");
    server.end();
}

/// A tool that a plan may not call without a question, and a plan that calls it.
const ASKED_TOOL: &str = r#"
asks = "wait"

[[commands]]
id = "note.add"
description = "Add a line to the log"
argv = ["sh", "add.sh", "{line}"]
effect = "once"
dangerous = false
[commands.parameters]
required = ["line"]
properties.line = { type = "string" }
"#;
const ASKING_PLAN: &str = r#"{"nodes": [{"id": 0, "tool": "note.add", "inputs": {"line": "one"}, "depends_on": []}],
  "final_output_node": 0}"#;

#[test]
fn a_plan_without_a_person_waits_for_an_answer_if_the_settings_say_so() {
    let world = World::with_files();
    world.write("work/haft.toml", ASKED_TOOL);
    world.write("work/add.sh", "echo \"$1\" >> log; echo \"$1 added\"\n");
    world.write("work/plan.json", ASKING_PLAN);
    world.run(&["trust"]);
    let begin = |run: &str, more: &[&str]| {
        let mut command = world.haft(&[&["run", "plan.json", "--run", run], more].concat());
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        command.spawn().unwrap()
    };
    let child = begin("allowed", &["--json"]);
    let ask = pending(|| world.json(&["asks", "list", "--json"]));
    assert_eq!((&ask["call"], &ask["front_end"]), (&json!("allowed/n0/0/1/1"), &json!("plan")));
    let id = id(&ask);
    let answered = world.json(&["asks", "allow", &id, "--by", "alice", "--json"]);
    let by = answered["answer"]["by"].as_str().unwrap();
    assert!(by.starts_with("alice, passed on by "), "{by}");
    let output = child.wait_with_output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let event =
        json!({"event": "call_waiting", "ask": id, "call": "allowed/n0/0/1/1", "tool": "note.add"});
    let events = stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    assert_eq!(events.filter(|line| line["event"] == "call_waiting").collect::<Vec<_>>(), [event]);
    assert_eq!((output.status.code(), world.read("work/log").as_str()), (Some(0), "one\n"));

    let child = begin("rejected", &[]);
    let ask = pending(|| world.json(&["asks", "list", "--json"]));
    world.run(&["asks", "reject", ask["id"].as_str().unwrap(), "--words", "not today"]);
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(stderr.contains("note.add waits for an answer: haft asks show ask_"), "{stderr}");
    assert!(stderr.contains("not today"), "{stderr}");
    assert_eq!((output.status.code(), world.read("work/log").as_str()), (Some(3), "one\n"));

    let refused = world.haft(&["run", "plan.json", "--run", "headless", "--headless"]).output();
    assert_eq!(refused.unwrap().status.code(), Some(3));
    assert_eq!(world.read("work/log"), "one\n");
}
