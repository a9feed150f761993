//! Servers behind `haft mcp`, where calls come one after the other and at the same time: what is cancelled, what is reported,
//! what changes, and what is left alone for a while.

use serde_json::{Value, json};

use super::HOSTILE;
use crate::mcp_wire::driver::{Place, Server, haft};

/// How often a server is asked whether it was told something.
const TRIES_MAX: usize = 100;

/// Starts `haft mcp` with a server `odd` that breaks what `mode` says, all of whose tools are allowed.
fn start(place: &Place, mode: &str) -> Server {
    start_with(place, mode, "")
}

/// Starts it with more in the server's table.
fn start_with(place: &Place, mode: &str, more: &str) -> Server {
    let script = place.state().with_file_name("hostile.py");
    std::fs::write(&script, HOSTILE).unwrap();
    let rule = "[[permissions]]\npermission = \"mcp:odd:*\"\naction = \"allow\"\n";
    let command = json!(["/usr/bin/python3", script, mode]);
    place.write("haft.toml", &format!("[mcp.odd]\ncommand = {command}\n{more}\n{rule}"));
    let trusted = place.command(haft()).arg("trust").output().unwrap();
    assert!(trusted.status.success(), "{}", String::from_utf8_lossy(&trusted.stderr));
    // With few tools of haft itself, all of the server are listed.
    Server::start_legacy(place, &["--profile", "smithers"])
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

#[test]
fn a_call_that_is_cancelled_is_cancelled_at_the_server() {
    let place = Place::new();
    let mut server = start(&place, "well");
    let params = json!({"name": "odd_wait", "arguments": {}, "_meta": {"progressToken": "mine"}});
    let id = server.begin("tools/call", params);
    // It is passed on what the server reports, so the call has begun.
    let step = server.receive();
    assert_eq!(step["method"], "notifications/progress", "{step}");
    assert_eq!(step["params"]["message"], "waiting");
    server.notify("notifications/cancelled", json!({"requestId": id}));
    // The notification and the next call leave on ways of their own, so the call may come first.
    let is_told = (0..TRIES_MAX).any(|_| text(&server.call("odd_cancelled", json!({}))) == "True");
    assert!(is_told, "the server was not told");
    server.end();
}

#[test]
fn a_server_that_is_stuck_after_a_stopped_call_is_restarted() {
    let place = Place::new();
    let mut server = start_with(&place, "stuck", "timeout_ms = 1500\n");
    let first = server.call("odd_echo", json!({"text": "hang"}));
    assert!(
        text(&first).starts_with("mcp server odd had not answered when the call was stopped"),
        "{first}"
    );
    for _ in 0..2 {
        let next = server.call("odd_echo", json!({"text": "hi"}));
        assert_eq!(text(&next), "hi");
    }
    server.end();
}

#[test]
fn a_server_that_died_is_left_alone_for_a_while() {
    let place = Place::new();
    let mut server = start(&place, "dies");
    let first = server.call("odd_echo", json!({"text": "hi"}));
    assert!(
        text(&first).starts_with(
            "mcp server odd is unavailable: in the middle of the call, its process ended with status 7; it wrote: out of luck"
        ),
        "{first}"
    );
    let second = server.call("odd_echo", json!({"text": "ho"}));
    assert!(text(&second).starts_with("mcp server odd is unavailable: "), "{second}");
    assert!(!text(&second).contains("in the middle"), "{second}");
    let well = server.call("read", json!({"path": "haft.toml"}));
    assert!(text(&well).contains("[mcp.odd]"), "{well}");
    server.end();
}

#[test]
fn tools_that_come_later_are_listed_and_called() {
    let place = Place::new();
    let mut server = start(&place, "well");
    let names = |answer: &Value| -> Vec<String> {
        let tools = answer["result"]["tools"].as_array().unwrap();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    let before = names(&server.request("tools/list", json!({})));
    assert!(before.contains(&"odd_more".to_owned()) && !before.contains(&"odd_added".to_owned()));
    server.begin("tools/call", json!({"name": "odd_more", "arguments": {}}));
    // The answer and the news come in either order.
    let messages = [server.receive(), server.receive()];
    let is_news = |message: &Value| message["method"] == "notifications/tools/list_changed";
    assert!(messages.iter().any(is_news), "{messages:?}");
    let after = names(&server.request("tools/list", json!({})));
    assert!(after.contains(&"odd_added".to_owned()), "{after:?}");
    assert_eq!(text(&server.call("odd_added", json!({}))), "added");
    server.end();
}
