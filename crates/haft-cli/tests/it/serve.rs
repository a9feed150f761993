//! `haft serve` as a process: its output, its clients, its sessions and its end. Tests of the listener cover the refused
//! requests byte by byte, and [`mcp_clients`](crate::mcp_clients) covers the protocol.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::mcp_clients::client;
use crate::mcp_wire::driver::{Lifeline, Place, haft};
use crate::mcp_wire::searching;

/// A running `haft serve` on a separate port.
pub(crate) struct Serving {
    child: Child,
    pub(crate) url: String,
    pub(crate) token: Option<String>,
}

/// An answer to an HTTP request.
pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl Serving {
    pub(crate) fn start(place: &Place, args: &[&str]) -> Self {
        let mut command = place.command(haft());
        command.args(["serve", "--json", "--listen", "127.0.0.1:0"]).args(args);
        Self::of(command)
    }

    fn of(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap_or_else(|err| panic!("{err}: {line}"));
        let text = |name: &str| said[name].as_str().map(str::to_owned);
        Self { child, url: text("url").unwrap(), token: text("token") }
    }

    /// Sends a request with the token and returns the answer, read to its end.
    pub(crate) fn send(&self, method: &str, headers: &[(&str, &str)], body: &Value) -> Answer {
        let bearer = self.token.as_ref().map(|token| format!("Bearer {token}"));
        let bearer = bearer.iter().map(|bearer| ("Authorization", bearer.as_str()));
        let all: Vec<_> = bearer.chain(headers.iter().copied()).collect();
        self.send_bare(method, &all, body)
    }

    fn send_bare(&self, method: &str, headers: &[(&str, &str)], body: &Value) -> Answer {
        let mut stream = self.begin(method, headers, body);
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        Answer { status: status.unwrap_or_default(), head: head.to_owned(), body: body.to_owned() }
    }

    /// Sends a request and does not wait for its answer.
    fn begin(&self, method: &str, headers: &[(&str, &str)], body: &Value) -> TcpStream {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.begin_text(method, headers, &body)
    }

    fn begin_text(&self, method: &str, headers: &[(&str, &str)], body: &str) -> TcpStream {
        let (authority, path) = self.authority();
        let mut text = format!("{method} {path} HTTP/1.1\r\nHost: {authority}\r\n");
        let usual = [
            ("Connection", "close"),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
        ];
        for (name, value) in usual.iter().chain(headers) {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str(&format!("Content-Length: {}\r\n\r\n{body}", body.len()));
        let mut stream = TcpStream::connect(authority).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        stream
    }

    fn authority(&self) -> (&str, String) {
        let (authority, path) =
            self.url.strip_prefix("http://").and_then(|rest| rest.split_once('/')).unwrap();
        (authority, format!("/{path}"))
    }

    /// Shakes hands as older clients do, and returns the session's id.
    fn begin_session(&self) -> String {
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "0"},
        });
        let message = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        let answer = self.send("POST", &[], &message);
        assert_eq!(answer.status, 200, "{}", answer.body);
        let session = answer.header("mcp-session-id").unwrap().to_owned();
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(self.send("POST", &[("Mcp-Session-Id", &session)], &ready).status, 202);
        session
    }

    /// Ends the process as a service is ended, and returns what it said on stderr.
    fn terminate(mut self) -> String {
        let process = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
        let ended = self.child.wait().unwrap();
        let mut stderr = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        assert!(ended.success(), "{ended}\n{stderr}");
        stderr
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // It has ended already where a test waited for that.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// Returns the last message in the answer, be it a stream or a single one.
    pub(crate) fn message(&self) -> Value {
        let mut lines = self.body.lines().filter_map(|line| {
            let data = line.strip_prefix("data:").unwrap_or(line).trim();
            serde_json::from_str::<Value>(data).ok().filter(Value::is_object)
        });
        lines.next_back().unwrap_or_else(|| panic!("{}\n\n{}", self.head, self.body))
    }
}

fn call(tool: &str, arguments: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
           "params": {"name": tool, "arguments": arguments}})
}

/// A call as newer clients make it, and the headers that go with it.
fn modern_call(
    tool: &'static str,
    arguments: &Value,
    meta: Value,
) -> (Value, [(&'static str, &'static str); 3]) {
    let mut message = call(tool, arguments);
    let usual = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "0"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let (Value::Object(mut all), Value::Object(more)) = (usual, meta) else { unreachable!() };
    all.extend(more);
    message["params"]["_meta"] = Value::Object(all);
    let headers =
        [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", tool)];
    (message, headers)
}

#[test]
fn each_session_has_a_run_of_its_own() {
    let place = Place::new();
    let serving = Serving::start(&place, &[]);
    let (first, second) = (serving.begin_session(), serving.begin_session());
    assert_ne!(first, second);
    let write = |session: &str, path: &str| {
        let message = call("write", &json!({"path": path, "content": path}));
        let answer = serving.send("POST", &[("Mcp-Session-Id", session)], &message).message();
        answer["result"]["_meta"]["haft/call"].as_str().unwrap().to_owned()
    };
    let (one, two, three) =
        (write(&first, "a.txt"), write(&second, "b.txt"), write(&first, "c.txt"));
    let run = |call: &str| call.split('/').next().unwrap().to_owned();
    assert_eq!(run(&one), run(&three));
    assert_ne!(run(&one), run(&two));
    assert!(three.ends_with("/main/0/1/2"), "{three}");
    assert_eq!(std::fs::read_to_string(place.root().join("c.txt")).unwrap(), "c.txt");
    assert_eq!(serving.terminate(), "");
}

#[test]
fn requests_without_a_session_share_a_run_unless_they_name_one() {
    let place = Place::new();
    let serving = Serving::start(&place, &[]);
    let call_in = |meta: Value| {
        let (message, headers) = modern_call("glob", &json!({"pattern": "*"}), meta);
        let answer = serving.send("POST", &headers, &message);
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.message()["result"]["_meta"]["haft/call"].as_str().unwrap().to_owned()
    };
    let (first, second) = (call_in(json!({})), call_in(json!({})));
    assert_eq!(first.strip_suffix("/1"), second.strip_suffix("/2"), "{first} {second}");
    assert_eq!(call_in(json!({"haft/run": "nightly"})), "nightly/main/0/1/1");
}

#[test]
fn a_session_that_is_ended_takes_its_commands_with_it() {
    let place = Place::new();
    let serving = Serving::start(&place, &["--allow", "bash"]);
    let session = serving.begin_session();
    let id = [("Mcp-Session-Id", session.as_str())];
    let lifeline = Lifeline::new(&place, "alive");
    let token = format!("Bearer {}", serving.token.as_ref().unwrap());
    let headers = [id[0], ("Authorization", token.as_str())];
    let endless = call("bash", &json!({"cmd": lifeline.endless_command()}));
    let running = serving.begin("POST", &headers, &endless);
    assert_eq!(lifeline.processes(), 2);
    assert_eq!(serving.send("DELETE", &id, &Value::Null).status, 204);
    lifeline.wait_for_end();
    drop(running);
    let listed = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    assert_eq!(serving.send("POST", &id, &listed).status, 404);
    assert_eq!(serving.send("DELETE", &id, &Value::Null).status, 404);
    assert_eq!(serving.terminate(), "");
    assert_eq!(recorded(&place), ["unknown"]);
}

#[test]
fn the_end_of_the_server_stops_calls_and_records_them() {
    let place = Place::new();
    let serving = Serving::start(&place, &["--allow", "bash"]);
    let lifeline = Lifeline::new(&place, "alive");
    let token = format!("Bearer {}", serving.token.as_ref().unwrap());
    let (endless, headers) =
        modern_call("bash", &json!({"cmd": lifeline.endless_command()}), json!({}));
    let headers: Vec<_> = headers.into_iter().chain([("Authorization", token.as_str())]).collect();
    let mut running = serving.begin("POST", &headers, &endless);
    assert_eq!(lifeline.processes(), 2);
    assert_eq!(serving.terminate(), "");
    lifeline.wait_for_end();
    let mut answer = String::new();
    running.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("PROCESS_ABORTED"), "{answer}");
    assert_eq!(recorded(&place), ["unknown"]);
}

#[test]
fn a_request_that_is_dropped_stops_its_call_and_records_it() {
    let place = Place::new();
    let serving = Serving::start(&place, &["--allow", "bash"]);
    let lifeline = Lifeline::new(&place, "alive");
    let token = format!("Bearer {}", serving.token.as_ref().unwrap());
    let (endless, headers) =
        modern_call("bash", &json!({"cmd": lifeline.endless_command()}), json!({}));
    let headers: Vec<_> = headers.into_iter().chain([("Authorization", token.as_str())]).collect();
    let running = serving.begin("POST", &headers, &endless);
    assert_eq!(lifeline.processes(), 2);
    drop(running);
    lifeline.wait_for_end();
    // The server goes on, and waits with its end until what was stopped is recorded.
    let listed = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    let session = serving.begin_session();
    assert_eq!(serving.send("POST", &[("Mcp-Session-Id", &session)], &listed).status, 200);
    assert_eq!(serving.terminate(), "");
    assert_eq!(recorded(&place), ["unknown"]);
}

#[test]
fn a_run_of_another_workspace_is_not_served() {
    let place = Place::new();
    place.write("a.txt", "one");
    std::fs::create_dir(place.root().join("other")).unwrap();
    let read = |serving: &Serving, meta: Value| {
        let (message, headers) = modern_call("read", &json!({"path": "a.txt"}), meta);
        serving.send("POST", &headers, &message).message()
    };
    let there = Serving::start(&place, &[]);
    let answer = read(&there, json!({"haft/run": "nightly"}));
    assert_eq!(answer["result"]["content"][0]["text"], "one", "{answer}");
    assert_eq!(there.terminate(), "");
    let here = Serving::start(&place, &["--root", "other"]);
    let refused = read(&here, json!({"haft/run": "nightly", "haft/resume": "replay"}));
    let root = place.root().to_string_lossy().into_owned();
    expect![[r#"{"code":-32602,"message":"run nightly was begun in [root], and this is [root]/other, where its paths mean other files: nothing was executed or recalled; make this call there, or in another run"}"#]]
        .assert_eq(&refused["error"].to_string().replace(&root, "[root]"));
}

#[test]
fn of_many_tools_those_are_listed_that_a_client_found() {
    let place = searching::place();
    let serving = Serving::start(&place, &["--python", "tools"]);
    let (first, second) = (serving.begin_session(), serving.begin_session());
    let send = |session: &str, method: &str, params: Value| {
        let message = json!({"jsonrpc": "2.0", "id": 2, "method": method, "params": params});
        serving.send("POST", &[("Mcp-Session-Id", session)], &message).message()
    };
    let query = json!({"name": "tool_search", "arguments": {"query": "thing7z"}});
    assert_eq!(searching::things(&send(&first, "tools/list", json!({}))), Vec::<&str>::new());
    send(&first, "tools/call", query);
    assert_eq!(searching::things(&send(&first, "tools/list", json!({}))), ["thing_7"]);
    assert_eq!(searching::things(&send(&second, "tools/list", json!({}))), Vec::<&str>::new());
}

#[test]
fn what_is_wrong_with_skills_is_said_once() {
    let place = Place::new();
    let broken = place.root().join(".agents/skills/broken");
    std::fs::create_dir_all(&broken).unwrap();
    std::fs::write(broken.join("SKILL.md"), "---\nname: broken\ndescription: a: b\n---\n").unwrap();
    let serving = Serving::start(&place, &[]);
    serving.begin_session();
    let said = serving.terminate();
    assert_eq!(said.matches("warning: ").count(), 1, "{said}");
    assert!(said.contains("broken"), "{said}");
    // If the tool is not offered, the skills do not matter.
    assert_eq!(Serving::start(&place, &["--tools", "read"]).terminate(), "");
}

/// Returns how the calls of the only run ended.
fn recorded(place: &Place) -> Vec<String> {
    let run = place.only_run();
    let calls = run["calls"].as_array().unwrap();
    calls.iter().map(|call| call["status"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn only_those_are_let_in_who_know_the_token() {
    let place = Place::new();
    let serving = Serving::start(&place, &[]);
    let token = serving.token.clone().unwrap();
    assert_eq!(token.len(), 48);
    let ask = |headers: &[(&str, &str)]| serving.send_bare("POST", headers, &json!({}));
    let answer = ask(&[]);
    assert_eq!(answer.status, 401);
    assert_eq!(answer.header("www-authenticate"), Some(r#"Bearer realm="haft""#));
    let bearer = format!("Bearer {token}");
    assert_eq!(
        ask(&[("Authorization", &bearer), ("Origin", "http://evil.example.com")]).status,
        403
    );
    assert_ne!(ask(&[("Authorization", &bearer)]).status, 401);
}

#[test]
fn a_body_that_is_no_message_is_answered_as_json_rpc_wants() {
    let place = Place::new();
    let serving = Serving::start(&place, &["--no-token"]);
    let check = |headers: &[(&str, &str)], body: &str, status: u16, code: i64| {
        let mut answer = String::new();
        serving.begin_text("POST", headers, body).read_to_string(&mut answer).unwrap();
        let (head, said) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!(" {status} ")), "{body:?}: {answer}");
        let said: Value = serde_json::from_str(said).unwrap_or_default();
        assert_eq!(said["error"]["code"].as_i64().unwrap_or_default(), code, "{body:?}: {answer}");
    };
    let modern = [("Mcp-Method", "tools/list"), ("Mcp-Protocol-Version", "2026-07-28")];
    for headers in [&[][..], &modern] {
        check(headers, "", 400, -32_700);
        check(headers, "{\"jsonrpc\": ", 400, -32_700);
        check(headers, r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, 400, -32_600);
        check(headers, "7", 400, -32_600);
        check(headers, "{}", 400, -32_600);
    }
}

#[test]
fn a_token_comes_from_a_file_or_the_environment_and_is_not_printed() {
    let place = Place::new();
    let known = "0123456789abcdef";
    place.write("token", &format!("{known}\n"));
    let serving = Serving::start(&place, &["--token-file", "token"]);
    assert_eq!(serving.token, None);
    let bearer = format!("Bearer {known}");
    assert_ne!(serving.send("POST", &[("Authorization", &bearer)], &json!({})).status, 401);
    let mut command = place.command(haft());
    command.args(["serve", "--json", "--listen", "127.0.0.1:0"]).env("HAFT_TOKEN", known);
    let serving = Serving::of(command);
    assert_eq!(serving.token, None);
    assert_ne!(serving.send("POST", &[("Authorization", &bearer)], &json!({})).status, 401);
    assert_eq!(serving.send("POST", &[], &json!({})).status, 401);
}

#[test]
fn a_loopback_address_may_go_without_a_token() {
    let place = Place::new();
    let serving = Serving::start(&place, &["--no-token"]);
    assert_eq!(serving.token, None);
    let session = serving.begin_session();
    assert_eq!(serving.send("DELETE", &[("Mcp-Session-Id", &session)], &Value::Null).status, 204);
}

#[test]
fn where_a_server_says_that_it_is_it_is_reached() {
    let place = Place::new();
    let mut command = place.command(haft());
    command.args(["serve", "--json", "--listen", "0.0.0.0:0"]);
    let serving = Serving::of(command);
    assert!(serving.url.starts_with("http://localhost:"), "{}", serving.url);
    serving.begin_session();
}

fn check_refused(place: &Place, args: &[&str], expect: &Expect) {
    let output = place.command(haft()).arg("serve").args(args).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    expect.assert_eq(&format!("{}\n{stderr}", output.status.code().unwrap()));
}

#[test]
fn what_cannot_be_served_is_said_before_anything_is() {
    let place = Place::new();
    place.write("short", "secret");
    let check = |args: &[&str], expect: Expect| check_refused(&place, args, &expect);
    check(
        &["--no-token", "--listen", "0.0.0.0:0"],
        expect![[r#"
        2
        error: --no-token on 0.0.0.0:0: everybody who reaches that address could use the tools

        hint: haft serve --no-token --listen 127.0.0.1:4238
    "#]],
    );
    check(
        &["--token-file", "missing"],
        expect![[r#"
        2
        error: --token-file missing: No such file or directory (os error 2)
    "#]],
    );
    check(
        &["--token-file", "short"],
        expect![[r#"
        2
        error: short: a token has 16 to 512 characters, this one has 6
    "#]],
    );
    check(
        &["--listen", "192.0.2.1:4238"],
        expect![[r#"
        2
        error: 192.0.2.1:4238 is no address of this machine
    "#]],
    );
    check(
        &["--host", "http://tools.example.org"],
        expect![[r#"
        2
        error: --host "http://tools.example.org": expected a name such as tools.example.org, without scheme and port
    "#]],
    );
    check(
        &["--origin", "localhost:6274"],
        expect![[r#"
        2
        error: --origin "localhost:6274": expected scheme, host and port as browsers name them, such as http://localhost:6274, without a path
    "#]],
    );
}

#[test]
fn a_port_in_use_is_said_with_a_way_out() {
    let place = Place::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = place.command(haft()).args(["serve", "--listen", &address]).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).replace(&address, "[address]");
    expect![[r#"
        1
        error: [address] is in use by another program, perhaps another haft serve

        hint: haft serve --listen 127.0.0.1:0
    "#]]
    .assert_eq(&format!("{}\n{stderr}", output.status.code().unwrap()));
}

/// The conformance scenarios for a server that has tools and cut outputs, and neither prompts nor resources.
#[test]
fn the_conformance_suite_finds_nothing_wrong_with_what_there_is() {
    let place = Place::new();
    let serving = Serving::start(&place, &["--no-token"]);
    let passed = |revision: &str| {
        let output = place
            .command(client("HAFT_TEST_NODE"))
            .arg(client("HAFT_TEST_NODE_PACKAGES").join(SUITE))
            .args(["server", "--url", &serving.url, "--requirements", revision])
            .output()
            .unwrap();
        let report = String::from_utf8(output.stdout).unwrap();
        let (_, summary) = report.split_once("=== SUMMARY ===").unwrap();
        let lines = summary.lines().filter_map(|line| line.strip_prefix('✓')?.split_once(": "));
        lines.map(|(scenario, _)| scenario.trim()).collect::<Vec<_>>().join("\n")
    };
    expect![[r#"
        server-initialize
        ping
        tools-list
        server-sse-multiple-streams
        resources-list
        prompts-list
        dns-rebinding-protection
        server-session-lifecycle
        server-sse-polling"#]]
    .assert_eq(&passed("2025-11-25"));
    expect![[r#"
        tools-list
        server-sse-multiple-streams
        resources-list
        sep-2164-resource-not-found
        prompts-list
        dns-rebinding-protection
        caching
        input-required-result-missing-input-response
        input-required-result-unsupported-methods
        input-required-result-ignore-extra-params
        input-required-result-validate-input
        tasks-status-notifications
        http-header-validation"#]]
    .assert_eq(&passed("2026-07-28"));
}

/// The suite, beneath the directory of Node's packages.
const SUITE: &str = "node_modules/@modelcontextprotocol/conformance/dist/index.js";
