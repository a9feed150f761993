//! `haft mcp` on the wire, line by line: both eras of the protocol, errors, cancellation, progress, resources, and the
//! end of a connection while work is going on.
#![expect(
    clippy::unwrap_used,
    reason = "the lint's exception for tests does not cover the functions that they share"
)]

mod asking;
pub(crate) mod driver;
mod durable;
pub(crate) mod searching;
mod tasks;

use std::time::Instant;

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::built_in_tools::shorten_list;
use driver::{Lifeline, Place, Server, haft, initialize};

/// Sends requests one after the other and compares everything that came back.
fn check_transcript(place: &Place, args: &[&str], requests: Vec<(&str, Value)>, expect: &Expect) {
    let mut server = Server::start(place, args);
    let mut transcript = String::new();
    for (method, params) in requests {
        let mut answer = if method.starts_with("notifications/") {
            server.notify(method, params);
            continue;
        } else {
            server.request(method, params)
        };
        shorten_tools(&mut answer);
        place.redact(&mut answer);
        transcript.push_str(&format!("{method} {answer}\n"));
    }
    let (rest, status) = server.end();
    assert_eq!(rest, Vec::<Value>::new(), "nothing comes unasked");
    transcript.push_str(&status.to_string());
    expect.assert_eq(&transcript);
}

/// A list of tools is compared by its names; another test covers its content.
fn shorten_tools(answer: &mut Value) {
    let Some(tools) = answer.pointer_mut("/result/tools") else { return };
    for tool in tools.as_array_mut().unwrap() {
        *tool = tool["name"].take();
    }
    shorten_list(tools);
}

/// The part of every request of the newer era that describes its client.
fn modern(mut params: Value) -> Value {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    params["_meta"]["io.modelcontextprotocol/clientInfo"] =
        json!({"name": "lines", "version": "0"});
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    params
}

fn requests_of_any_era() -> Vec<(&'static str, Value)> {
    vec![
        ("tools/list", json!({})),
        ("tools/list", json!({"cursor": "x"})),
        ("tools/call", json!({"name": "read", "arguments": {"path": "a.txt"}})),
        ("tools/call", json!({"name": "read", "arguments": {"path": "b.txt"}})),
        ("tools/call", json!({"name": "read", "arguments": {"path": 5, "line": 1}})),
        ("tools/call", json!({"name": "read"})),
        ("tools/call", json!({"name": "raed", "arguments": {}})),
        ("tools/call", json!({"arguments": {}})),
        (
            "tools/call",
            json!({"name": "todo", "arguments": {"todos": [{"content": "x", "status": "pending"}]}}),
        ),
        ("tools/call", json!({"name": "bash", "arguments": {"cmd": "sudo true"}})),
        (
            "tools/call",
            json!({"name": "read", "arguments": {"path": "a.txt"}, "_meta": {"haft/attempt": 0}}),
        ),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({"uri": "haft://output/1-bash.txt"})),
        ("prompts/get", json!({"name": "x"})),
        ("nothing/known", json!({})),
    ]
}

#[test]
fn the_older_era_shakes_hands() {
    let place = Place::new();
    place.write("a.txt", "one\ntwo\n");
    let mut requests = vec![("initialize", initialize()), ("notifications/initialized", json!({}))];
    requests.push(("ping", json!({})));
    requests.extend(requests_of_any_era());
    check_transcript(
        &place,
        &[],
        requests,
        &expect![[r#"
            initialize {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"completions":{},"prompts":{},"resources":{},"tools":{"listChanged":true}},"serverInfo":{"name":"haft","title":"haft","version":"[version]"},"instructions":"Tools that work in [root]. Paths are relative to that directory, or absolute inside it. What each call did is recorded. A long output is cut and says where all of it is: get the part you need with read. What a rule or a missing capability refuses will be refused again: do not look for a way around it, tell the user what you need and what the message says would allow it. bash runs in a sandbox: without network unless hosts are granted, with its own /tmp and home, which go when the command ends. Before work that a skill is for, load it: the description of the tool skill lists them."}}
            ping {"jsonrpc":"2.0","id":2,"result":{}}
            tools/list {"jsonrpc":"2.0","id":3,"result":{"ttlMs":60000,"cacheScope":"private","tools":["[built-in tools]","view"]}}
            tools/list {"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"unknown cursor: everything is on the first page"}}
            tools/call {"jsonrpc":"2.0","id":5,"result":{"content":[{"type":"text","text":"one\ntwo\n"}],"isError":false,"_meta":{"haft/call":"[run]/main/0/1/1","haft/durationMs":"[ms]"}}}
            tools/call {"jsonrpc":"2.0","id":6,"result":{"content":[{"type":"text","text":"path \"b.txt\" does not exist: did you mean a.txt?"}],"isError":true,"_meta":{"haft/call":"[run]/main/0/1/2","haft/code":"TOOL_PATH_INVALID","haft/durationMs":"[ms]"}}}
            tools/call {"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"invalid input for read: path: expected string, found 5; line: no such parameter: the tool has path, offset, limit, start_line, end_line, byte_offset, byte_limit; did you mean end_line or start_line?"}],"isError":true,"_meta":{"haft/call":"[run]/main/0/1/3","haft/code":"INVALID_INPUT","haft/durationMs":"[ms]","haft/refusal":{"code":"INVALID_INPUT","decided_by":"contract","because":"invalid input for read: path: expected string, found 5; line: no such parameter: the tool has path, offset, limit, start_line, end_line, byte_offset, byte_limit; did you mean end_line or start_line?"}}}}
            tools/call {"jsonrpc":"2.0","id":8,"result":{"content":[{"type":"text","text":"invalid input for read: path: required, but missing"}],"isError":true,"_meta":{"haft/call":"[run]/main/0/1/4","haft/code":"INVALID_INPUT","haft/durationMs":"[ms]","haft/refusal":{"code":"INVALID_INPUT","decided_by":"contract","because":"invalid input for read: path: required, but missing"}}}}
            tools/call {"jsonrpc":"2.0","id":9,"error":{"code":-32602,"message":"no tool is called \"raed\": did you mean read?"}}
            tools/call {"jsonrpc":"2.0","id":10,"error":{"code":-32602,"message":"the params of tools/call do not have the form it takes"}}
            tools/call {"jsonrpc":"2.0","id":11,"result":{"content":[{"type":"text","text":"{\"todos\":[{\"content\":\"x\",\"status\":\"pending\"}]}"}],"isError":false,"_meta":{"haft/call":"[run]/main/0/1/6","haft/durationMs":"[ms]"}}}
            tools/call {"jsonrpc":"2.0","id":12,"result":{"content":[{"type":"text","text":"no person can be asked here, so the call is denied: \"sudo true\" uses or changes rights beyond those of this user"},{"type":"text","text":"Go on without it, or tell the user: add the rule allow bash \"sudo true $\" to haft.toml."}],"isError":true,"_meta":{"haft/call":"[run]/main/0/1/7","haft/code":"PERMISSION_DENIED","haft/durationMs":"[ms]","haft/refusal":{"code":"PERMISSION_DENIED","decided_by":"watchdog","because":"no person can be asked here, so the call is denied: \"sudo true\" uses or changes rights beyond those of this user","remedies":[{"add_rule":{"permission":"bash","pattern":"sudo true $"}}]}}}}
            tools/call {"jsonrpc":"2.0","id":13,"error":{"code":-32602,"message":"_meta \"haft/attempt\": expected an integer from 1 to 4294967295, found 0"}}
            resources/list {"jsonrpc":"2.0","id":14,"result":{"ttlMs":0,"cacheScope":"private","resources":[]}}
            resources/templates/list {"jsonrpc":"2.0","id":15,"result":{"ttlMs":60000,"cacheScope":"private","resourceTemplates":[{"uriTemplate":"haft://output/{name}","name":"output","description":"All of an output that was cut, as linked by the call's result","mimeType":"text/plain"}]}}
            resources/read {"jsonrpc":"2.0","id":16,"error":{"code":-32002,"message":"no output of this connection has that address: take one from a result's resource_link or from resources/list","data":{"uri":"haft://output/1-bash.txt"}}}
            prompts/get {"jsonrpc":"2.0","id":17,"error":{"code":-32602,"message":"no prompt is called \"x\": see prompts/list"}}
            nothing/known {"jsonrpc":"2.0","id":18,"error":{"code":-32601,"message":"nothing/known"}}
            exit status: 0"#]],
    );
}

#[test]
fn the_newer_era_says_who_it_is_each_time() {
    let place = Place::new();
    place.write("a.txt", "one\ntwo\n");
    let mut requests = vec![("server/discover", json!({}))];
    requests.extend(requests_of_any_era());
    let requests = requests.into_iter().map(|(method, params)| (method, modern(params))).collect();
    check_transcript(
        &place,
        &[],
        requests,
        &expect![[r#"
            server/discover {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","supportedVersions":["2024-11-05","2025-03-26","2025-06-18","2025-11-25","2026-07-28"],"capabilities":{"completions":{},"prompts":{},"resources":{},"tools":{"listChanged":true}},"instructions":"Tools that work in [root]. Paths are relative to that directory, or absolute inside it. What each call did is recorded. A long output is cut and says where all of it is: get the part you need with read. What a rule or a missing capability refuses will be refused again: do not look for a way around it, tell the user what you need and what the message says would allow it. bash runs in a sandbox: without network unless hosts are granted, with its own /tmp and home, which go when the command ends. Before work that a skill is for, load it: the description of the tool skill lists them.","ttlMs":60000,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"haft","title":"haft","version":"[version]"}}}}
            tools/list {"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","ttlMs":60000,"cacheScope":"private","tools":["[built-in tools]","view"]}}
            tools/list {"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"unknown cursor: everything is on the first page"}}
            tools/call {"jsonrpc":"2.0","id":4,"result":{"resultType":"complete","content":[{"type":"text","text":"one\ntwo\n"}],"isError":false,"_meta":{"haft/call":"[run]/main/0/1/1","haft/durationMs":"[ms]"}}}
            tools/call {"jsonrpc":"2.0","id":5,"result":{"resultType":"complete","content":[{"type":"text","text":"path \"b.txt\" does not exist: did you mean a.txt?"}],"isError":true,"_meta":{"haft/call":"[run]/main/0/1/2","haft/code":"TOOL_PATH_INVALID","haft/durationMs":"[ms]"}}}
            tools/call {"jsonrpc":"2.0","id":6,"result":{"resultType":"complete","content":[{"type":"text","text":"invalid input for read: path: expected string, found 5; line: no such parameter: the tool has path, offset, limit, start_line, end_line, byte_offset, byte_limit; did you mean end_line or start_line?"}],"isError":true,"_meta":{"haft/call":"[run]/main/0/1/3","haft/code":"INVALID_INPUT","haft/durationMs":"[ms]","haft/refusal":{"code":"INVALID_INPUT","decided_by":"contract","because":"invalid input for read: path: expected string, found 5; line: no such parameter: the tool has path, offset, limit, start_line, end_line, byte_offset, byte_limit; did you mean end_line or start_line?"}}}}
            tools/call {"jsonrpc":"2.0","id":7,"result":{"resultType":"complete","content":[{"type":"text","text":"invalid input for read: path: required, but missing"}],"isError":true,"_meta":{"haft/call":"[run]/main/0/1/4","haft/code":"INVALID_INPUT","haft/durationMs":"[ms]","haft/refusal":{"code":"INVALID_INPUT","decided_by":"contract","because":"invalid input for read: path: required, but missing"}}}}
            tools/call {"jsonrpc":"2.0","id":8,"error":{"code":-32602,"message":"no tool is called \"raed\": did you mean read?"}}
            tools/call {"jsonrpc":"2.0","id":9,"error":{"code":-32602,"message":"the params of tools/call do not have the form it takes"}}
            tools/call {"jsonrpc":"2.0","id":10,"result":{"resultType":"complete","content":[{"type":"text","text":"{\"todos\":[{\"content\":\"x\",\"status\":\"pending\"}]}"}],"isError":false,"_meta":{"haft/call":"[run]/main/0/1/6","haft/durationMs":"[ms]"}}}
            tools/call {"jsonrpc":"2.0","id":11,"result":{"resultType":"complete","content":[{"type":"text","text":"no person can be asked here, so the call is denied: \"sudo true\" uses or changes rights beyond those of this user"},{"type":"text","text":"Go on without it, or tell the user: add the rule allow bash \"sudo true $\" to haft.toml."}],"isError":true,"_meta":{"haft/call":"[run]/main/0/1/7","haft/code":"PERMISSION_DENIED","haft/durationMs":"[ms]","haft/refusal":{"code":"PERMISSION_DENIED","decided_by":"watchdog","because":"no person can be asked here, so the call is denied: \"sudo true\" uses or changes rights beyond those of this user","remedies":[{"add_rule":{"permission":"bash","pattern":"sudo true $"}}]}}}}
            tools/call {"jsonrpc":"2.0","id":12,"error":{"code":-32602,"message":"_meta \"haft/attempt\": expected an integer from 1 to 4294967295, found 0"}}
            resources/list {"jsonrpc":"2.0","id":13,"result":{"resultType":"complete","ttlMs":0,"cacheScope":"private","resources":[]}}
            resources/templates/list {"jsonrpc":"2.0","id":14,"result":{"resultType":"complete","ttlMs":60000,"cacheScope":"private","resourceTemplates":[{"uriTemplate":"haft://output/{name}","name":"output","description":"All of an output that was cut, as linked by the call's result","mimeType":"text/plain"}]}}
            resources/read {"jsonrpc":"2.0","id":15,"error":{"code":-32602,"message":"no output of this connection has that address: take one from a result's resource_link or from resources/list","data":{"uri":"haft://output/1-bash.txt"}}}
            prompts/get {"jsonrpc":"2.0","id":16,"error":{"code":-32602,"message":"no prompt is called \"x\": see prompts/list"}}
            nothing/known {"jsonrpc":"2.0","id":17,"error":{"code":-32601,"message":"nothing/known"}}
            exit status: 0"#]],
    );
}

#[test]
fn a_failed_command_is_a_result_with_its_output() {
    let place = Place::new();
    let arguments = json!({"cmd": "echo out; echo err >&2; exit 3"});
    let requests = vec![
        ("initialize", initialize()),
        ("tools/call", json!({"name": "bash", "arguments": arguments})),
    ];
    check_transcript(
        &place,
        &["--allow", "bash"],
        requests,
        &expect![[r#"
            initialize {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"completions":{},"prompts":{},"resources":{},"tools":{"listChanged":true}},"serverInfo":{"name":"haft","title":"haft","version":"[version]"},"instructions":"Tools that work in [root]. Paths are relative to that directory, or absolute inside it. What each call did is recorded. A long output is cut and says where all of it is: get the part you need with read. What a rule or a missing capability refuses will be refused again: do not look for a way around it, tell the user what you need and what the message says would allow it. bash runs in a sandbox: without network unless hosts are granted, with its own /tmp and home, which go when the command ends. Before work that a skill is for, load it: the description of the tool skill lists them."}}
            tools/call {"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"bash exited with status 3\nout\nerr\n"}],"isError":true,"_meta":{"haft/call":"[run]/main/0/1/1","haft/code":"TOOL_COMMAND_FAILED","haft/durationMs":"[ms]","haft/enforced":"[enforced]","haft/exitCode":3}}}
            exit status: 0"#]],
    );
}

#[test]
fn the_list_of_tools_is_small_and_always_the_same() {
    let place = Place::new();
    let mut first = Server::start_legacy(&place, &[]);
    let mut second = Server::start_legacy(&place, &[]);
    let answer = first.request("tools/list", json!({}));
    assert_eq!(second.request("tools/list", json!({})), answer);
    let mut again = first.request("tools/list", json!({}));
    again["id"] = answer["id"].clone();
    assert_eq!(again, answer);

    let tools = answer["result"]["tools"].as_array().unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(names.is_sorted(), "{names:?}");
    for tool in tools {
        assert_eq!(tool.get("title"), None, "it would say the name again: {tool}");
        // A tool does not repeat the defaults of the protocol.
        for (hint, value) in tool["annotations"].as_object().into_iter().flatten() {
            let granted = matches!(hint.as_str(), "destructiveHint" | "openWorldHint");
            assert_eq!(value, &json!(!granted), "{tool}");
        }
    }
    let printed = place.haft_json(&["tools", "list", "--format", "mcp"]);
    let printed = printed["tools"].as_array().unwrap();
    for tool in tools {
        assert!(printed.contains(tool), "haft tools list --format mcp prints the same: {tool}");
    }
}

#[test]
fn cancelling_a_call_ends_its_processes() {
    let place = Place::new();
    let lifeline = Lifeline::new(&place, "alive");
    let mut server = Server::start_legacy(&place, &["--allow", "bash"]);
    let id = begin_bash(&mut server, &lifeline.endless_command());
    assert_eq!(lifeline.processes(), 2);
    server.notify("notifications/cancelled", json!({"requestId": id, "reason": "enough"}));
    lifeline.wait_for_end();
    // The cancelled call is not answered; the connection goes on.
    let answer = server.request("ping", json!({}));
    assert_eq!(answer["result"], json!({}));
    let (rest, status) = server.end();
    assert_eq!((rest, status.code()), (Vec::new(), Some(0)));
    check_killed(&place);
}

#[test]
fn the_end_of_input_ends_what_runs() {
    let place = Place::new();
    let lifeline = Lifeline::new(&place, "alive");
    let mut server = Server::start_legacy(&place, &["--allow", "bash"]);
    begin_bash(&mut server, &lifeline.endless_command());
    assert_eq!(lifeline.processes(), 2);
    let ended = Instant::now();
    let (_, status) = server.end();
    let took = ended.elapsed();
    eprintln!("haft mcp ended {} ms after the end of its input", took.as_millis());
    assert_eq!(status.code(), Some(0));
    lifeline.wait_for_end();
    assert!(took.as_millis() < 5_000, "{took:?}");
    check_killed(&place);
}

#[test]
fn a_signal_to_end_is_the_end_of_input() {
    let place = Place::new();
    let lifeline = Lifeline::new(&place, "alive");
    let mut server = Server::start_legacy(&place, &["--allow", "bash"]);
    begin_bash(&mut server, &lifeline.endless_command());
    assert_eq!(lifeline.processes(), 2);
    let kill = place.command("kill").arg("-TERM").arg(server.pid().to_string()).status().unwrap();
    assert!(kill.success(), "{kill}");
    server.join();
    lifeline.wait_for_end();
    check_killed(&place);
}

fn begin_bash(server: &mut Server, line: &str) -> u64 {
    server.begin("tools/call", json!({"name": "bash", "arguments": {"cmd": line}}))
}

/// Compares what the journal says of how the only call of the only run ended.
fn check_killed(place: &Place) {
    let mut shown = place.only_run();
    place.redact(&mut shown);
    let [call] = shown["calls"].as_array().unwrap().as_slice() else { panic!("one call: {shown}") };
    expect![[r#""unknown" {"type":"error","error_text":"the call was cancelled, and bash was killed with everything it started; its effect may or may not have happened: check before repeating","metadata":{"duration_ms":"[ms]","enforced":"[enforced]","call_id":"[run]/main/0/1/1","code":"PROCESS_ABORTED"}}"#]].assert_eq(&format!("{} {}", call["status"], call["envelope"]));
}

/// Compares what the journal says of the calls of the only run.
fn check_journal(place: &Place, expect: &Expect) {
    let mut shown = place.only_run();
    place.redact(&mut shown);
    check_calls(&shown, expect);
}

fn check_run(place: &Place, run: &str, expect: &Expect) {
    let mut shown = place.haft_json(&["runs", "show", run, "--json"]);
    place.redact(&mut shown);
    check_calls(&shown, expect);
}

fn check_calls(shown: &Value, expect: &Expect) {
    let calls = shown["calls"].as_array().unwrap().iter().map(Value::to_string);
    expect.assert_eq(&calls.collect::<Vec<_>>().join("\n"));
}

#[test]
fn what_was_sent_before_the_end_is_answered() {
    let place = Place::new();
    place.write("a.txt", "one\n");
    let mut server = Server::start(&place, &[]);
    server.begin("initialize", initialize());
    let read = json!({"name": "read", "arguments": {"path": "a.txt"}});
    let last = (0..20).map(|_| server.begin("tools/call", read.clone())).last();
    let (answers, status) = server.end();
    let mut ids: Vec<_> = answers.iter().filter_map(|answer| answer["id"].as_u64()).collect();
    ids.sort_unstable();
    assert_eq!(ids, (1..=last.unwrap()).collect::<Vec<_>>());
    let texts = answers.iter().filter_map(|answer| answer.pointer("/result/content/0/text"));
    assert_eq!(texts.collect::<Vec<_>>(), vec!["one\n"; 20]);
    assert_eq!(status.code(), Some(0));
}

#[test]
fn a_connection_without_a_request_ends_well() {
    let (rest, status) = Server::start(&Place::new(), &[]).end();
    assert_eq!((rest, status.code()), (Vec::new(), Some(0)));
}

#[test]
fn progress_comes_for_a_token_only_and_before_the_answer() {
    let place = Place::new();
    let mut server = Server::start_legacy(&place, &["--allow", "bash"]);
    for name in ["first", "second"] {
        let made = place.command("mkfifo").arg(name).status().unwrap();
        assert!(made.success(), "{made}");
    }
    // Each command runs until something is written to its FIFO.
    let silent = begin_bash(&mut server, "read line < first");
    let arguments = json!({"cmd": "read line < second"});
    let meta = json!({"progressToken": "token-7"});
    let params = json!({"name": "bash", "arguments": arguments, "_meta": meta});
    let telling = server.begin("tools/call", params);
    let reports: Vec<Value> = (0..2).map(|_| server.receive()).collect();
    for report in &reports {
        assert_eq!(report["method"], "notifications/progress", "{report}");
        assert_eq!(report["params"]["progressToken"], "token-7", "{report}");
        assert!(report["params"]["message"].as_str().unwrap().starts_with("running for "));
    }
    let done: Vec<_> =
        reports.iter().filter_map(|report| report["params"]["progress"].as_f64()).collect();
    assert!(done.len() == 2 && done.is_sorted_by(|one, next| one < next), "{done:?}");

    // The silent call has run for as long, so whatever it had to tell would have come.
    place.write("second", "go\n");
    let mut message = server.receive();
    while message["method"] == "notifications/progress" {
        assert_eq!(message["params"]["progressToken"], "token-7", "{message}");
        message = server.receive();
    }
    assert_eq!(message["id"], telling, "{message}");
    place.write("first", "go\n");
    let message = server.receive();
    assert_eq!(message["id"], silent, "{message}");
}

#[test]
fn lines_that_are_no_messages_do_no_harm() {
    let place = Place::new();
    let mut server = Server::start(&place, &[]);
    for line in [
        "",
        "nonsense",
        "{",
        "\u{feff}",
        "[1, 2",
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#,
    ] {
        server.send_line(line);
    }
    let answer = server.request("initialize", initialize());
    assert_eq!(answer["result"]["protocolVersion"], "2025-11-25");
    for line in ["nonsense", r#"[{"jsonrpc":"2.0","id":9,"method":"ping"}]"#, "{}"] {
        server.send_line(line);
    }
    let refusals = [server.receive(), server.receive()].map(|answer| answer.to_string());
    expect![[r#"
        {"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid request"}}
        {"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid request"}}"#]]
    .assert_eq(&refusals.join("\n"));
    assert_eq!(server.request("ping", json!({}))["result"], json!({}));
}

#[test]
fn a_call_lands_where_its_driver_says() {
    let place = Place::new();
    place.write("a.txt", "one\n");
    let mut server = Server::start_legacy(&place, &[]);
    let meta = json!({
        "haft/run": "build-7",
        "haft/node": "test",
        "haft/iteration": 2,
        "haft/attempt": 3,
        "haft/call": "toolu_01",
    });
    let params = json!({"name": "read", "arguments": {"path": "a.txt"}, "_meta": meta});
    let first = server.request("tools/call", params.clone());
    assert_eq!(first["result"]["_meta"]["haft/call"], "build-7/test/2/3/1");
    // A driver that asks again for the call of that name gets the answer that it had.
    let second = server.request("tools/call", params);
    assert_eq!(second["result"]["_meta"]["haft/call"], "build-7/test/2/3/1");
    assert_eq!(second["result"]["content"], first["result"]["content"]);
    server.end();
    check_run(
        &place,
        "build-7",
        &expect![[
            r#"{"call":"build-7/test/2/3/1","idempotency_key":"[key]","change":1,"run":"build-7","node":"test","iteration":2,"attempt":3,"seq":1,"tool":"read","effect":"read","status":"succeeded","started_at_ms":"[ms]","finished_at_ms":"[ms]","first_key":"[key]","call_key":"[key]","driver_call_id":"toolu_01","input":{"path":"a.txt"},"accesses":[{"capability":"fs.read","path":"a.txt"}],"epoch":1,"details":null,"envelope":{"type":"output","data":"one\n","metadata":{"duration_ms":"[ms]","call_id":"build-7/test/2/3/1"}},"verdict":null,"settled_by":null}"#
        ]],
    );
}

#[test]
fn an_unknown_tool_is_in_the_journal_too() {
    let place = Place::new();
    let mut server = Server::start_legacy(&place, &[]);
    server.call("delete_everything", json!({"password": "secret"}));
    server.end();
    check_journal(
        &place,
        &expect![[
            r#"{"call":"[run]/main/0/1/1","idempotency_key":"[key]","change":1,"run":"[run]","node":"main","iteration":0,"attempt":1,"seq":1,"tool":"delete_everything","effect":"read","status":"refused","started_at_ms":"[ms]","finished_at_ms":"[ms]","first_key":"[key]","call_key":"[key]","driver_call_id":null,"input":{"bytes":21,"sha256":"5352e1bf1efcfec1d5e653cd0cc5b3c7f66e7cea52269ff31877ffb0e77310e7"},"accesses":[],"epoch":1,"details":null,"envelope":{"type":"error","error_text":"no tool is called \"delete_everything\": use a listed tool (apply_patch, bash, edit, glob, grep, lsp, read, repo_overview, skill, todo, view, write)","metadata":{"duration_ms":"[ms]","call_id":"[run]/main/0/1/1","code":"TOOL_NOT_FOUND","refusal":{"code":"TOOL_NOT_FOUND","decided_by":"contract","because":"no tool is called \"delete_everything\": use a listed tool (apply_patch, bash, edit, glob, grep, lsp, read, repo_overview, skill, todo, view, write)"}}},"verdict":null,"settled_by":null}"#
        ]],
    );
}

#[test]
fn all_of_a_cut_output_is_a_resource() {
    let place = Place::new();
    let mut server = Server::start_legacy(&place, &["--allow", "bash"]);
    let mut answer = server.call("bash", json!({"cmd": "seq 1 100000"}));
    let whole: String = (1..=100_000).map(|number| format!("{number}\n")).collect();

    let content = answer.pointer_mut("/result/content").unwrap().take();
    let text = content[0]["text"].as_str().unwrap();
    assert!(text.starts_with("1\n2\n") && text.ends_with("\n100000\n"), "head and tail");
    let link = &content[1];
    assert_eq!(link["size"], whole.len());
    let listed = server.request("resources/list", json!({}));
    let mut as_resource = link.clone();
    as_resource.as_object_mut().unwrap().remove("type");
    assert_eq!(listed["result"]["resources"], json!([as_resource]));

    let read = server.request("resources/read", json!({"uri": link["uri"]}));
    let contents = json!([{"uri": link["uri"], "mimeType": "text/plain", "text": whole}]);
    assert_eq!(read["result"]["contents"], contents);

    // A model has no resources; it reads the file that the text names.
    let path = text.split_once("all of it: ").and_then(|(_, rest)| rest.split_once(" ("));
    let arguments = json!({"path": path.unwrap().0, "start_line": 99_999});
    let tail = server.call("read", arguments);
    assert_eq!(tail["result"]["content"][0]["text"], "99999\n100000\n");

    server.end();
    let kept = std::fs::read(path.unwrap().0).unwrap();
    assert!(kept == whole.as_bytes(), "outputs are kept for whoever recalls the call");

    place.redact(&mut answer);
    expect![[r#"{"jsonrpc":"2.0","id":2,"result":{"content":null,"isError":false,"_meta":{"haft/call":"[run]/main/0/1/1","haft/durationMs":"[ms]","haft/enforced":"[enforced]","haft/exitCode":0,"haft/truncated":true}}}"#]].assert_eq(&answer.to_string());
    let mut link = link.clone();
    place.redact(&mut link);
    expect![[r#"{"type":"resource_link","uri":"haft://output/1-bash.txt","name":"1-bash.txt","mimeType":"text/plain","size":588895}"#]].assert_eq(&link.to_string());
}

/// Largest list of tools of a connection without a person to ask and without granted hosts, in bytes that reach a model: names,
/// descriptions and parameters.
const LIST_BYTES_MAX: usize = 7_500;
/// Largest such list with `view`, and in agents with `task`.
const LIST_BYTES_WITH_VIEW_MAX: usize = 9_000;

/// The size of a list.
struct ListBytes {
    without_view: usize,
    all: usize,
}

#[test]
fn a_bare_connection_lists_only_tools_that_can_work() {
    let place = Place::new();
    let listed = |place: &Place, args: &[&str], capabilities: Value| {
        let mut server = Server::start(place, args);
        let mut opening = initialize();
        opening["capabilities"] = capabilities;
        server.request("initialize", opening);
        server.notify("notifications/initialized", json!({}));
        let answer = server.request("tools/list", json!({}));
        let tools = answer["result"]["tools"].as_array().unwrap().clone();
        let names = tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned());
        let names: Vec<String> = names.filter(|name| name != "lsp").collect();
        let read_by_model = |tool: &Value| {
            let field = |name: &str| tool[name].clone();
            json!({
                "name": field("name"),
                "description": field("description"),
                "inputSchema": field("inputSchema"),
            })
        };
        let bytes_without = |left_out: &[&str]| {
            let is_counted = |tool: &&Value| !left_out.contains(&tool["name"].as_str().unwrap());
            let listed: Vec<Value> = tools.iter().filter(is_counted).map(read_by_model).collect();
            Value::from(listed).to_string().len()
        };
        // A language server need not be installed.
        let bytes = ListBytes {
            without_view: bytes_without(&["lsp", "view"]),
            all: bytes_without(&["lsp"]),
        };
        (names, bytes)
    };
    let (names, bytes) = listed(&place, &[], json!({}));
    let bare = [
        "apply_patch",
        "bash",
        "edit",
        "glob",
        "grep",
        "read",
        "repo_overview",
        "skill",
        "todo",
        "view",
        "write",
    ];
    assert_eq!(names, bare);
    assert!(bytes.without_view <= LIST_BYTES_MAX, "{} bytes", bytes.without_view);
    assert!(bytes.all <= LIST_BYTES_WITH_VIEW_MAX, "{} bytes", bytes.all);
    let with = |others: &[&str]| {
        let mut names: Vec<String> = bare.iter().chain(others).map(ToString::to_string).collect();
        names.sort_unstable();
        names
    };
    let (names, _) = listed(&place, &[], json!({"elicitation": {}}));
    assert_eq!(names, with(&["question", "repo_clone", "web_fetch"]));
    let (names, _) = listed(&place, &["--allow-host", "example.com"], json!({}));
    assert_eq!(names, with(&["web_fetch"]));
    let (names, _) = listed(&place, &["--allow", "repo_clone"], json!({}));
    assert_eq!(names, with(&["repo_clone"]));
    // A tool that is not listed still says why it cannot work.
    let mut server = Server::start_legacy(&place, &[]);
    let answer = server.call("web_search", json!({"query": "x"}));
    assert_eq!(answer["result"]["isError"], true, "{answer}");
}

#[test]
fn a_long_search_is_cut_and_linked() {
    let place = Place::new();
    place.write("a.txt", &"needle\n".repeat(300));
    let mut server = Server::start_legacy(&place, &[]);
    let answer = server.call("grep", json!({"pattern": "needle"}));
    let link = answer["result"]["content"][1].clone();
    assert_eq!(link["type"], "resource_link");
    let read = server.request("resources/read", json!({"uri": link["uri"]}));
    let whole = read["result"]["contents"][0]["text"].as_str().unwrap();
    assert_eq!(whole.lines().count(), 300);
}

#[test]
fn sockets_serve_as_pipes_do() {
    use std::io::{BufRead, BufReader, Write};
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;

    let place = Place::new();
    place.write("a.txt", "one\n");
    let (ours_in, theirs_in) = UnixStream::pair().unwrap();
    let (ours_out, theirs_out) = UnixStream::pair().unwrap();
    let mut command = place.command(haft());
    command.arg("mcp").stdin(OwnedFd::from(theirs_in)).stdout(OwnedFd::from(theirs_out));
    let mut child = command.spawn().unwrap();
    drop(command);
    let mut lines = BufReader::new(ours_out).lines();
    let mut ask = |id: u32, method: &str, params: Value| {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        (&ours_in).write_all(format!("{request}\n").as_bytes()).unwrap();
        serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap()
    };
    ask(1, "initialize", initialize());
    let answer = ask(2, "tools/call", json!({"name": "read", "arguments": {"path": "a.txt"}}));
    assert_eq!(answer["result"]["content"][0]["text"], "one\n");
    drop(ours_in);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
