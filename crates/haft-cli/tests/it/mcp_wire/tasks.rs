//! `task` over MCP: listed and done only if a model is configured. The subagent works in the same server, and its questions go to the
//! client.

use haft_scripted_model::{ModelScript, ScriptedReply, ScriptedServer};
use serde_json::{Value, json};

use super::driver::{Place, Server, haft, initialize};

fn start(place: &Place, model: Option<&ScriptedServer>, args: &[&str]) -> Server {
    let mut command = place.command(haft());
    command.arg("mcp").args(args);
    if let Some(model) = model {
        command
            .env("HAFT_MODEL", "openai/test")
            .env("HAFT_BASE_URL", model.base_url())
            .env("HAFT_KEY_VARIABLE", "TEST_KEY")
            .env("TEST_KEY", "a-key-of-the-tests");
    }
    let mut server = Server::of(command);
    let mut hello = initialize();
    hello["capabilities"] = json!({"elicitation": {}});
    server.request("initialize", hello);
    server.notify("notifications/initialized", json!({}));
    server
}

fn model(replies: impl IntoIterator<Item = ScriptedReply>) -> ScriptedServer {
    ScriptedServer::start(ModelScript::from_replies(replies)).unwrap()
}

fn task_of(listed: &Value) -> Option<Value> {
    let tools = listed["result"]["tools"].as_array().unwrap();
    tools.iter().find(|tool| tool["name"] == "task").cloned()
}

fn call(input: Value) -> Value {
    json!({"name": "task", "arguments": input})
}

#[test]
fn task_is_listed_with_its_subagents_where_a_model_is_configured() {
    let place = Place::new();
    let mut without = start(&place, None, &[]);
    assert_eq!(task_of(&without.request("tools/list", json!({}))), None);
    let model = model([]);
    let mut server = start(&place, Some(&model), &[]);
    let task = task_of(&server.request("tools/list", json!({}))).unwrap();
    let description = task["description"].as_str().unwrap();
    assert!(description.contains("The subagents are:"), "{description}");
    assert!(description.contains("- explore: "), "{description}");
    assert!(!description.contains("- build: "), "{description}");
}

#[test]
fn a_subagent_works_under_the_rules_of_the_connection() {
    let place = Place::new();
    place.write("notes.txt", "The cable is loose.\n");
    let model = model([
        ScriptedReply::new().call("read", json!({"path": "notes.txt"})),
        ScriptedReply::new().call("write", json!({"path": "new.txt", "content": "x"})),
        ScriptedReply::new().text("The cable."),
    ]);
    let mut server = start(&place, Some(&model), &["--allow", "task"]);
    let answer = server
        .request("tools/call", call(json!({"subagent_type": "explore", "prompt": "Which risk?"})));
    let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
    assert!(text.contains("The cable."), "{answer}");
    let told = model.requests().last().unwrap().text();
    assert!(told.contains("The cable is loose."), "{told}");
    // `explore` changes nothing, also for this client.
    assert!(!place.root().join("new.txt").exists());
    let unknown = server
        .request("tools/call", call(json!({"subagent_type": "explroe", "prompt": "Which risk?"})));
    assert!(unknown.to_string().contains("did you mean explore?"), "{unknown}");
    let background = call(json!({"subagent_type": "explore", "prompt": "Go.", "background": true}));
    let refused = server.request("tools/call", background);
    assert!(refused.to_string().contains("no task can go on in the background here"), "{refused}");
}
