//! `task` over MCP: listed and done only if a model is configured. The subagent works in the same server, and its questions go to the
//! client.

use haft_scripted_model::{ModelScript, ScriptedReply, ScriptedServer};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::driver::{Place, Server, haft, initialize};

fn start(place: &Place, model: Option<&ScriptedServer>, args: &[&str]) -> Server {
    let mut server = start_without_handshake(place, model, args);
    let mut hello = initialize();
    hello["capabilities"] = json!({"elicitation": {}});
    server.request("initialize", hello);
    server.notify("notifications/initialized", json!({}));
    server
}

fn start_without_handshake(place: &Place, model: Option<&ScriptedServer>, args: &[&str]) -> Server {
    let mut command = place.command(haft());
    command.arg("mcp").args(args);
    if let Some(model) = model {
        command
            .env("HAFT_MODEL", "openai/test")
            .env("HAFT_BASE_URL", model.base_url())
            .env("HAFT_KEY_VARIABLE", "TEST_KEY")
            .env("TEST_KEY", "a-key-of-the-tests");
    }
    Server::of(command)
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
    place.write(
        "haft.toml",
        "[[permissions]]\npermission = \"write\"\npattern = \"*\"\naction = \"deny\"\n",
    );
    let mut server = start(&place, Some(&model), &["--allow", "task"]);
    let answer = server
        .request("tools/call", call(json!({"subagent_type": "general", "prompt": "Which risk?"})));
    let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
    assert!(text.contains("The cable."), "{answer}");
    let told = model.requests().last().unwrap().text();
    assert!(told.contains("The cable is loose."), "{told}");
    // The subagent has `write`, and the rules of the connection deny it.
    assert!(told.contains("PERMISSION_DENIED") || told.contains("denied"), "{told}");
    assert!(!place.root().join("new.txt").exists());
    let unknown = server
        .request("tools/call", call(json!({"subagent_type": "explroe", "prompt": "Which risk?"})));
    assert!(unknown.to_string().contains("did you mean explore?"), "{unknown}");
    let background = call(json!({"subagent_type": "explore", "prompt": "Go.", "background": true}));
    let refused = server.request("tools/call", background);
    assert!(refused.to_string().contains("no task can go on in the background here"), "{refused}");
}

/// Returns the params of a newer client that takes forms and tasks.
fn with_tasks(params: Value) -> Value {
    let mut params = super::modern(params);
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
        json!({"elicitation": {"form": {}}, "extensions": {"io.modelcontextprotocol/tasks": {}}});
    params
}

/// Asks for a task until it has this status.
fn task_when(server: &mut Server, id: &str, status: &str) -> Value {
    loop {
        let answer = server.request("tasks/get", with_tasks(json!({"taskId": id})));
        let task = &answer["result"];
        if task["status"] == status {
            return task.clone();
        }
        let may_change = task["status"] == "working" || task["status"] == "input_required";
        assert!(may_change, "{answer}");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[test]
fn a_task_in_the_background_is_one_of_the_protocol() {
    let place = Place::new();
    let model = model([
        ScriptedReply::new().call("write", json!({"path": "new.txt", "content": "x"})),
        ScriptedReply::new().text("It is written."),
        ScriptedReply::new().text("Never.").waiting_for("never"),
    ]);
    place.write(
        "haft.toml",
        "[[permissions]]\npermission = \"write\"\npattern = \"*\"\naction = \"ask\"\n",
    );
    let mut server = start_without_handshake(&place, Some(&model), &["--allow", "task"]);
    let listed = server.request("tools/list", super::modern(json!({})));
    assert!(task_of(&listed).unwrap()["inputSchema"]["properties"].get("background").is_none());
    let listed = server.request("tools/list", with_tasks(json!({})));
    assert!(task_of(&listed).unwrap()["inputSchema"]["properties"].get("background").is_some());

    let background = json!({"subagent_type": "general", "prompt": "Write.", "background": true});
    let begun = server.request("tools/call", with_tasks(call(background.clone())));
    assert_eq!(begun["result"]["resultType"], "task", "{begun}");
    let id = begun["result"]["taskId"].as_str().unwrap().to_owned();
    // Other calls are answered meanwhile. The question of the task is the task's.
    let asking = task_when(&mut server, &id, "input_required");
    let (name, _) = asking["inputRequests"].as_object().unwrap().iter().next().unwrap();
    let mut answers = json!({});
    answers[name] = json!({"action": "accept", "content": {"decision": "once"}});
    let update = json!({"taskId": id, "inputResponses": answers});
    server.request("tasks/update", with_tasks(update));
    let done = task_when(&mut server, &id, "completed");
    assert!(done["result"]["content"][0]["text"].as_str().unwrap().contains("It is written."));
    assert_eq!(std::fs::read_to_string(place.root().join("new.txt")).unwrap(), "x");

    let begun = server.request("tools/call", with_tasks(call(background)));
    let id = begun["result"]["taskId"].as_str().unwrap().to_owned();
    model.wait_until_held("never");
    server.request("tasks/cancel", with_tasks(json!({"taskId": id})));
    task_when(&mut server, &id, "cancelled");
    let unknown = server.request("tasks/get", with_tasks(json!({"taskId": "none"})));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
}

#[test]
fn a_task_whose_server_was_killed_goes_on_in_its_session() {
    let place = Place::new();
    place.write("notes.txt", "The cable is loose.\n");
    let model = model([
        ScriptedReply::new().call("bash", json!({"cmd": "echo one >> effects.txt; echo added"})),
        ScriptedReply::new().text("This answer is lost.").waiting_for("killed"),
        ScriptedReply::new().text("It is added."),
    ]);
    let effects = || std::fs::read_to_string(place.root().join("effects.txt")).unwrap_or_default();
    let task = || json!({"subagent_type": "general", "prompt": "Add one."});
    let read = || json!({"name": "read", "arguments": {"path": "notes.txt"}});
    let mut server = start(&place, Some(&model), &["--allow", "task", "--run", "nightly"]);
    server.request("tools/call", read());
    server.begin("tools/call", call(task()));
    model.wait_until_held("killed");
    assert_eq!(effects(), "one\n");
    kill_process(Pid::from_raw(server.pid().try_into().unwrap()).unwrap(), Signal::KILL).unwrap();
    server.join();
    model.release("killed");

    let resume = ["--allow", "task", "--run", "nightly", "--resume", "replay"];
    let mut server = start(&place, Some(&model), &resume);
    server.request("tools/call", read());
    let answer = server.request("tools/call", call(task()));
    let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
    assert!(text.contains("It is added."), "{answer}");
    assert_eq!(effects(), "one\n");
    let requests = model.requests();
    assert_eq!(requests.len(), 3);
    // The session goes on after the call whose answer it has.
    assert!(requests[2].text().contains("added"), "{}", requests[2].text());
    server.end();

    // The answer is recorded, so the model is not asked again.
    let mut server = start(&place, Some(&model), &resume);
    let again = server.request("tools/call", call(task()));
    assert!(again.to_string().contains("It is added."), "{again}");
    assert_eq!((model.requests().len(), effects().as_str()), (3, "one\n"));
    let run = place.haft_json(&["runs", "show", "nightly", "--json"]);
    let tasks: Vec<_> =
        run["calls"].as_array().unwrap().iter().filter(|call| call["tool"] == "task").collect();
    assert_eq!(tasks.len(), 1, "{run}");
}
