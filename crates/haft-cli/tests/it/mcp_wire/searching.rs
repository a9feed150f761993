//! Many tools over MCP: those that are found are listed from then on, and the client is told, in both eras.

use serde_json::{Value, json};

use super::driver::{Place, Server};
use super::modern;

/// Tools in Python.
const THINGS: usize = 21;

/// Returns a place with tools in the directory `tools`, all of which are found instead of listed.
pub(crate) fn place() -> Place {
    let place = Place::new();
    place.write("haft.toml", "[limits]\nlisted_tools = 0\n");
    std::fs::create_dir(place.root().join("tools")).unwrap();
    for number in 1..=THINGS {
        let source = format!(
            "METADATA = {{\"name\": \"thing_{number}\", \"function\": \"run_thing_answer\", \
             \"description\": \"Answers as thing{number}z does.\", \
             \"parameters\": {{\"type\": \"object\", \"properties\": {{}}}}}}\n\n\ndef run_thing_answer():\n    return \"it is {number}\"\n"
        );
        place.write(&format!("tools/thing{number}.py"), &source);
    }
    place
}

/// Returns the names of the things that are listed.
pub(crate) fn things(listed: &Value) -> Vec<&str> {
    let tools = listed["result"]["tools"].as_array().unwrap().iter();
    let names = tools.filter_map(|tool| tool["name"].as_str());
    names.filter(|name| name.starts_with("thing_")).collect()
}

/// Searches, and returns what is told of the list beside the answer, in whichever order they come.
fn search(server: &mut Server, params: Value) -> Value {
    let id = server.begin("tools/call", params);
    let (one, other) = (server.receive(), server.receive());
    let (answer, told) = if one["id"] == id { (one, other) } else { (other, one) };
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert_eq!(text, r#"{"matches":[{"id":"thing_7","description":"Answers as thing7z does."}]}"#);
    told
}

fn check(server: &mut Server, params: fn(Value) -> Value) -> Value {
    let before = server.request("tools/list", params(json!({})));
    assert_eq!(things(&before), Vec::<&str>::new());
    assert_eq!(before["result"]["ttlMs"].as_u64().unwrap_or(0), 0);
    let call = || params(json!({"name": "thing_7", "arguments": {}}));
    let refused = server.request("tools/call", call());
    assert_eq!(refused["result"]["_meta"]["haft/code"], "TOOL_NOT_FOUND", "{refused}");
    let query = json!({"name": "tool_search", "arguments": {"query": "thing7z"}});
    let told = search(server, params(query));
    assert_eq!(things(&server.request("tools/list", params(json!({})))), ["thing_7"]);
    let called = server.request("tools/call", call());
    assert_eq!(called["result"]["content"][0]["text"], "it is 7", "{called}");
    told
}

#[test]
fn an_older_client_is_told_that_the_list_changed() {
    let place = place();
    let mut server = Server::start_legacy(&place, &["--python", "tools"]);
    let told = check(&mut server, |params| params);
    assert_eq!(told, json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
}

#[test]
fn a_newer_client_is_told_while_it_listens() {
    let place = place();
    let mut server = Server::start(&place, &["--python", "tools"]);
    let wanted = json!({"notifications": {"toolsListChanged": true}});
    let subscription = server.begin("subscriptions/listen", modern(wanted));
    let accepted = server.receive();
    assert_eq!(
        accepted["params"]["notifications"],
        json!({"toolsListChanged": true}),
        "{accepted}"
    );
    let told = check(&mut server, modern);
    assert_eq!(told["method"], "notifications/tools/list_changed");
    let meta = &told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
    assert_eq!(*meta, subscription);
}
