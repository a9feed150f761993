//! Servers that run elsewhere: what they are sent, and what becomes of those that break the protocol. Each harms its own call.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::json;

use super::{call, said};
use crate::world::World;

const SCRIPT: &str = include_str!("../../fixtures/mcp_servers/remote.py");

/// A server, which writes down what it is asked. It ends with this.
pub(super) struct Elsewhere {
    server: Child,
    /// Where it is.
    pub(super) url: String,
}

impl Elsewhere {
    /// Starts a server that breaks the part that `mode` names, and may redirect its clients to another server.
    pub(super) fn start(world: &World, mode: &str, other: &str) -> Self {
        world.write("server/remote.py", SCRIPT);
        let mut server = Command::new("/usr/bin/python3")
            .arg(world.path("server/remote.py"))
            .args([mode, world.path(&format!("server/{mode}.log")).to_str().unwrap(), other])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut url).unwrap();
        Self { server, url: url.trim().to_owned() }
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// Returns a world with a server `far`, with more in its table.
pub(super) fn with_remote(mode: &str, more: &str) -> (World, Elsewhere) {
    let world = World::with_files();
    let server = Elsewhere::start(&world, mode, "");
    configure(&world, &server, more);
    (world, server)
}

fn configure(world: &World, server: &Elsewhere, more: &str) {
    world.write("work/haft.toml", &format!("[mcp.far]\nurl = \"{}/mcp\"\n{more}", server.url));
    world.run(&["trust"]);
}

fn echo(world: &World) -> String {
    said(&call(world, "far_echo", &json!({"text": "hi"})))
}

/// Returns what the server was asked.
pub(super) fn asked(world: &World, mode: &str) -> String {
    world.read(&format!("server/{mode}.log"))
}

#[test]
fn a_server_elsewhere_is_called_like_any_other() {
    let (world, _server) = with_remote("well", "headers = { X-Team = \"blue\" }\n");
    assert_eq!(echo(&world), r#""hi""#);
    let requests = asked(&world, "well");
    assert!(
        requests
            .lines()
            .filter(|line| line.starts_with("POST"))
            .all(|line| line.ends_with(" blue")),
        "{requests}"
    );
    let tested = world.haft(&["mcp", "test", "far"]).output().unwrap();
    let shown = world.shown(&tested);
    assert!(shown.starts_with("far works: remote 1, protocol 2025-11-25\n"), "{shown}");
    assert!(!shown.contains("confined") && !shown.contains("stderr"), "{shown}");
}

#[test]
fn a_token_comes_from_the_environment_and_shows_nowhere() {
    let (world, _server) = with_remote("token", "token_variable = \"FAR_TOKEN\"\n");
    let tested = |token: Option<&str>| {
        let mut command = world.haft(&["mcp", "test", "far"]);
        command.envs(token.map(|token| ("FAR_TOKEN", token)));
        world.shown(&command.output().unwrap())
    };
    assert!(tested(Some("hush")).starts_with("far works: "));
    let refused = tested(Some("wrong"));
    assert!(
        refused.contains("does not take what haft says about who asks (HTTP 401)"),
        "{refused}"
    );
    assert!(!refused.contains("wrong"), "{refused}");
    let missing = tested(None);
    assert!(missing.contains("FAR_TOKEN, which is not set: export FAR_TOKEN=…"), "{missing}");
}

/// A later process begins with the list that an earlier one kept, and sends the headers all the same.
#[test]
fn parameters_that_a_schema_names_are_sent_as_headers_too() {
    let (world, _server) = with_remote("modern", "");
    for text in ["hi", "über\nall"] {
        let answer = call(&world, "far_echo", &json!({"text": text, "place": {"zone": 7}}));
        assert_eq!(said(&answer), json!(text).to_string());
    }
    let asked = asked(&world, "modern");
    let params = |line: &'_ str| line.strip_prefix("PARAMS tools/call ").map(str::to_owned);
    let params: Vec<String> = asked.lines().filter_map(params).collect();
    let expected = [
        r#"{"mcp-param-text": "hi", "mcp-param-zone": "7"}"#,
        r#"{"mcp-param-text": "=?base64?w7xiZXIKYWxs?=", "mcp-param-zone": "7"}"#,
    ];
    assert_eq!(params, expected, "{asked}");
    // A tool whose schema breaks the rules for headers is left out.
    let listed = world.run(&["mcp", "test", "far"]);
    assert!(listed.contains("far_echo") && !listed.contains("far_odd"), "{listed}");
}

#[test]
fn a_redirect_is_not_followed() {
    let world = World::with_files();
    let other = Elsewhere::start(&world, "well", "");
    let server = Elsewhere::start(&world, "redirect", &other.url);
    configure(&world, &server, "token_variable = \"FAR_TOKEN\"\n");
    let mut command = world.haft(&["mcp", "test", "far"]);
    let shown = world.shown(&command.env("FAR_TOKEN", "hush").output().unwrap());
    assert!(shown.contains("it leads elsewhere (HTTP 307 Temporary Redirect)"), "{shown}");
    assert!(asked(&world, "redirect").contains("Bearer hush"));
    assert!(!world.path("server/well.log").exists(), "nobody asked the other one");
}

#[test]
fn a_server_that_breaks_the_protocol_harms_its_own_call() {
    let in_doubt = "UNAVAILABLE: mcp server far is unavailable: in the middle of the call, ";
    let cases = [
        ("flood", format!("{in_doubt}it answered with more than 16777216 bytes")),
        ("event-flood", format!("{in_doubt}its answer broke off")),
        ("short", format!("{in_doubt}its answer broke off: ")),
        ("no-json", format!("{in_doubt}it answered with what is no message of MCP: ")),
        ("page", format!("{in_doubt}it answered with what is neither JSON nor a stream of events")),
        ("other-id", format!("{in_doubt}it answered something else than what it was asked")),
        ("no-events", format!("{in_doubt}its answer broke off")),
        ("broken", format!("{in_doubt}it answered with HTTP 500 Internal Server Error: out of order [31m")),
        ("busy", "UNAVAILABLE: mcp server far is unavailable: it answered with HTTP 429 Too Many Requests: later".to_owned()),
    ];
    for (mode, expect) in cases {
        let (world, _server) = with_remote(mode, "");
        let found = echo(&world);
        assert!(found.starts_with(&expect), "{mode}: {found}");
        assert_eq!(said(&call(&world, "far_calls", &json!({}))), r#""2""#, "{mode}");
    }
}

/// The machine decides which limit comes first: the bound on messages within a second, or the end of the call's time.
#[test]
fn a_server_that_floods_with_notes_harms_its_own_call() {
    let (world, _server) = with_remote("note-flood", "timeout_ms = 5000\n");
    let found = echo(&world);
    let flooded = "UNAVAILABLE: mcp server far is unavailable: in the middle of the call, it sent more than 2000 unsolicited \
                   messages within a second";
    assert!(found.starts_with(flooded) || found.starts_with("TOOL_TIMEOUT: "), "{found}");
    assert_eq!(said(&call(&world, "far_calls", &json!({}))), r#""2""#);
}

#[test]
fn a_server_that_never_answers_ends_with_the_time_of_its_call() {
    for mode in ["hang", "drip"] {
        let (world, _server) = with_remote(mode, "timeout_ms = 1500\n");
        let found = echo(&world);
        assert!(found.starts_with("TOOL_TIMEOUT: "), "{mode}: {found}");
    }
}

#[test]
fn a_session_that_is_over_is_begun_anew_once() {
    let (world, _server) = with_remote("expires", "");
    assert_eq!(echo(&world), r#""hi""#);
    let requests = asked(&world, "expires");
    assert_eq!(requests.matches(" tools/call ").count(), 2, "{requests}");
    assert_eq!(requests.matches(" initialize ").count(), 2, "{requests}");
}

#[test]
fn secrets_go_nowhere_unencrypted() {
    let world = World::with_files();
    world.write(
        "work/haft.toml",
        "[mcp.far]\nurl = \"http://far.example/mcp\"\nheaders = { Authorization = \"hush\" }\n",
    );
    world.run(&["trust"]);
    let shown = world.shown(&world.haft(&["mcp", "test", "far"]).output().unwrap());
    assert!(
        shown.contains("its headers would go to http://far.example/mcp unencrypted: use https"),
        "{shown}"
    );
    assert!(!shown.contains("hush"), "{shown}");
}
