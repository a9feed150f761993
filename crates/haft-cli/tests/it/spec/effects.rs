//! Side effects and repeats: what METADATA says of a tool, and what a retry does with it.

use std::process::Stdio;

use haft_scripted_model::ScriptedReply;
use serde_json::{Value, json};

use super::{call, code, trust};
use crate::agent::Stage;
use crate::mcp_wire::driver::{Place, Server};
use crate::python::tool;
use crate::world::World;

const PYTHON: [&str; 2] = ["--python", "tools"];

/// A world with tools of the three kinds. Each notes in a file of the workspace that it was called.
fn world() -> World {
    let world = World::with_files();
    for (name, more) in [
        ("look_up", ""),
        ("upsert_row", r#""side_effect": True, "idempotent": True,"#),
        ("send_mail", r#""side_effect": True,"#),
    ] {
        world.write(&format!("work/tools/{name}.py"), &tool(name, more, "return 'done'"));
    }
    world
}

/// Calls a tool in an attempt of one task, and returns the envelope.
fn attempt(world: &World, number: &str, tool: &str) -> Value {
    let at = ["--run", "r1", "--node", "n1", "--attempt", number];
    call(world, &[&PYTHON[..], &at].concat(), tool, &json!({}))
}

/// Returns the effect of each tool, as `registry list` prints it.
fn effects(world: &World) -> Vec<String> {
    let listed = world.json(&["registry", "list", "tools", "--json"]);
    let effect = |tool: &Value| {
        format!("{} {}", tool["tool"].as_str().unwrap(), tool["effect"].as_str().unwrap())
    };
    listed.as_array().unwrap().iter().map(effect).collect()
}

#[test]
fn a_tool_has_no_side_effect_unless_it_says_so() {
    assert!(effects(&world()).contains(&"look_up read".to_owned()));
}

#[test]
fn a_tool_with_a_side_effect_is_not_safe_to_repeat_unless_it_says_so() {
    let effects = effects(&world());
    assert_eq!(effects, ["look_up read", "send_mail once", "upsert_row idempotent"]);
}

#[test]
fn a_read_is_repeated_without_a_warning() {
    let world = world();
    attempt(&world, "1", "look_up");
    let again = attempt(&world, "2", "look_up");
    assert_eq!((code(&again), &again["metadata"]["retry_warning"]), ("none", &Value::Null));
    assert_eq!(again["metadata"]["replayed"], Value::Null, "it is executed again: {again}");
}

#[test]
fn an_effect_that_is_safe_to_repeat_is_repeated_without_a_warning() {
    let world = world();
    attempt(&world, "1", "upsert_row");
    let again = attempt(&world, "2", "upsert_row");
    assert_eq!((code(&again), &again["metadata"]["retry_warning"]), ("none", &Value::Null));
}

#[test]
fn a_retry_is_warned_of_an_effect_that_is_not_safe_to_repeat() {
    let world = world();
    attempt(&world, "1", "send_mail");
    let held = attempt(&world, "2", "send_mail");
    assert_eq!((code(&held), &held["metadata"]["held_back"]), ("IN_DOUBT", &json!(true)));
    let text = held["error_text"].as_str().unwrap();
    assert!(text.contains("send_mail, attempt 1, call 1: succeeded"), "{text}");
    let again = attempt(&world, "2", "send_mail");
    assert_eq!((code(&again), &again["data"]), ("none", &json!("done")));
}

#[test]
fn a_side_effect_is_tracked() {
    let world = world();
    attempt(&world, "1", "look_up");
    attempt(&world, "1", "send_mail");
    let run = world.json(&["runs", "show", "r1", "--json"]);
    let tracked: Vec<&Value> =
        run["retries"][0]["first"].as_array().unwrap().iter().map(|it| &it["tool"]).collect();
    assert_eq!(tracked, ["send_mail"], "{run}");
}

#[test]
fn the_first_answer_of_a_retry_begins_with_the_warning() {
    let place = Place::new();
    place.write("notes.txt", "one\n");
    let call = |server: &mut Server, tool: &str, input: Value, attempt: u32| {
        let meta = json!({"haft/run": "r1", "haft/attempt": attempt});
        let params = json!({"name": tool, "arguments": input, "_meta": meta});
        server.request("tools/call", params)["result"]["content"].clone()
    };
    let mut server = Server::start_legacy(&place, &[]);
    call(&mut server, "write", json!({"path": "a.txt", "content": "x"}), 1);
    let first = call(&mut server, "read", json!({"path": "notes.txt"}), 2);
    let text = first[0]["text"].as_str().unwrap();
    assert!(text.contains("may already have happened"), "{text}");
    assert!(text.contains("- write, attempt 1, call 1: succeeded"), "{text}");
    assert_eq!(first[1]["text"], "one\n");
    let second = call(&mut server, "read", json!({"path": "notes.txt"}), 2);
    assert_eq!(second[0]["text"], "one\n");
    server.end();
}

#[test]
fn every_front_end_warns_of_an_effect_without_a_key_when_it_starts() {
    let warning = "send_mail.py: a repeat of the effect cannot be distinguished from a new call";
    let stage = Stage::new(world(), [ScriptedReply::new().text("Hello.")]);
    for args in [&["call", "read", r#"{"path":"notes.txt"}"#][..], &["mcp"], &["agent", "Hello"]] {
        let args = [args, &PYTHON].concat();
        let output = stage.haft(&args).stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(said.matches(warning).count(), 1, "{args:?}: {said}");
        assert!(!said.contains("upsert_row.py") && !said.contains("look_up.py"), "{said}");
    }
}

#[test]
fn an_effect_that_takes_its_key_is_not_warned_of() {
    let world = World::with_files();
    let source = tool("email.send", r#""side_effect": True, "context": True,"#, "return 1")
        .replace("run_email.send()", "run_email_send(context)")
        .replace("run_email.send", "run_email_send");
    world.write("work/tools/email_send.py", &source);
    let output = world.haft(&[&["call"], &PYTHON[..], &["email.send"]].concat()).output().unwrap();
    assert_eq!(world.shown(&output), "1\n--- status 0\n");
}

#[test]
fn a_name_may_have_a_dot() {
    let place = Place::new();
    let manifest = "[[commands]]\nid = \"wholefoods.place_order\"\ndescription = \"Place a grocery order\"\n\
                    argv = [\"echo\", \"{sku}\"]\ndangerous = false\n[commands.parameters]\nrequired = [\"sku\"]\n\
                    properties.sku = { type = \"string\" }\n\
                    [[permissions]]\npermission = \"wholefoods.place_order\"\naction = \"allow\"\n";
    place.write("haft.toml", manifest);
    place.haft_json(&["trust", "--json"]);
    let mut server = Server::start_legacy(&place, &[]);
    let answer = server.call("wholefoods__place_order", json!({"sku": "milk"}));
    assert_eq!(answer["result"]["content"][0]["text"], "milk\n", "{answer}");
    server.end();
    assert_eq!(place.only_run()["calls"][0]["tool"], "wholefoods.place_order");
}

#[test]
fn the_description_is_the_name_unless_the_tool_has_one() {
    let world = World::new();
    let source = tool("look_up", "", "return 1").replace("\"description\": \"It answers.\", ", "");
    world.write("work/tools/look_up.py", &source);
    let shown = world.json(&["--python", "tools", "tools", "show", "look_up", "--json"]);
    assert_eq!(shown["description"], "look_up");
    trust(&world, "[[commands]]\nid = \"say\"\nargv = [\"echo\", \"hi\"]\n");
    let shown = world.json(&["tools", "show", "say", "--json"]);
    assert!(shown["description"].as_str().is_some_and(|text| !text.is_empty()), "{shown}");
}

#[test]
fn an_agent_sees_the_description() {
    let stage = Stage::new(world(), [ScriptedReply::new().text("Hello.")]);
    stage.haft(&[&["agent", "Hello"], &PYTHON[..]].concat()).output().unwrap();
    let requests = stage.model.requests();
    let tools = requests[0].body["tools"].as_array().unwrap();
    let tool = tools.iter().find(|tool| tool["function"]["name"] == "look_up").unwrap();
    assert_eq!(tool["function"]["description"], "It answers.");
}

#[test]
fn a_client_is_told_both_facts_of_each_tool() {
    let place = Place::new();
    let mut server = Server::start_legacy(&place, &["--profile", "smithers"]);
    let listed = server.request("tools/list", json!({}));
    let told: Vec<String> = listed["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| {
            let effect = &tool["_meta"]["haft/effect"];
            format!(
                "{} {} {}",
                tool["name"].as_str().unwrap(),
                effect["sideEffect"],
                effect["idempotent"]
            )
        })
        .collect();
    let expect = [
        "bash true false",
        "edit true false",
        "grep false true",
        "read false true",
        "write true false",
    ];
    assert_eq!(told, expect);
    server.end();
}

fn effect_of(tool: &str) -> Value {
    let shown = World::new().json(&["--profile", "smithers", "tools", "show", tool, "--json"]);
    shown["effect"].clone()
}

#[test]
fn read_has_no_side_effect() {
    assert_eq!(effect_of("read"), "read");
}

#[test]
fn grep_has_no_side_effect() {
    assert_eq!(effect_of("grep"), "read");
}

#[test]
fn write_has_a_side_effect_that_is_not_safe_to_repeat() {
    assert_eq!(effect_of("write"), "once");
}

#[test]
fn edit_has_a_side_effect_that_is_not_safe_to_repeat() {
    assert_eq!(effect_of("edit"), "once");
}

#[test]
fn bash_has_a_side_effect_that_is_not_safe_to_repeat() {
    assert_eq!(effect_of("bash"), "once");
}

#[test]
fn a_snapshot_is_made_around_a_side_effect() {
    let world = World::with_files();
    let answer = call(&world, &[], "write", &json!({"path": "notes.txt", "content": "new\n"}));
    let diff = world.run(&["diff", answer["metadata"]["call_id"].as_str().unwrap()]);
    assert!(diff.contains("-one") && diff.contains("+new"), "{diff}");
}

#[test]
fn without_snapshots_a_side_effect_happens_all_the_same() {
    let world = World::with_files();
    let input = json!({"path": "a.txt", "content": "x"});
    assert_eq!(code(&call(&world, &["--no-snapshots"], "write", &input)), "none");
    assert_eq!(world.read("work/a.txt"), "x");
}

#[test]
fn an_effect_that_was_cut_off_is_not_repeated_by_a_resume() {
    let world = World::with_files();
    let at = ["--run", "r1"];
    let line = json!({"cmd": "echo ordered >> orders"});
    call(&world, &at, "bash", &line);
    let recalled = call(&world, &["--run", "r1", "--resume", "replay"], "bash", &line);
    assert_eq!(recalled["metadata"]["replayed"], true, "{recalled}");
    assert_eq!(world.read("work/orders"), "ordered\n");
}
