//! Smith tools at work: calls, plans, failures and the trace.

use haft_scripted_model::ScriptedReply;
use serde_json::{Value, json};

use super::{call, code};
use crate::models::server::{ModelServer, WireProtocol};
use crate::python::tool;
use crate::world::World;

const PYTHON: [&str; 2] = ["--python", "tools"];

/// A world with these tools, each of which takes nothing and does this.
fn world(tools: &[(&str, &str, &str)]) -> World {
    let world = World::with_files();
    for (name, more, does) in tools {
        world.write(&format!("work/tools/{name}.py"), &tool(name, more, does));
    }
    world
}

fn node(id: u32, tool: &str, more: &str) -> String {
    let depends = if id == 0 { "[]".to_owned() } else { format!("[{}]", id - 1) };
    format!(
        "{{\"id\": {id}, \"tool\": \"{tool}\", \"inputs\": {{}}, \"depends_on\": {depends}{more}}}"
    )
}

/// Runs a plan of these nodes, and returns the result of the run.
fn run(world: &World, nodes: &[String], args: &[&str]) -> Value {
    let last = nodes.len() - 1;
    let plan = format!("{{\"nodes\": [{}], \"final_output_node\": {last}}}", nodes.join(","));
    world.write("work/plan.json", &plan);
    let args = [&["run", "plan.json", "--json"], &PYTHON[..], args].concat();
    let output = world.haft(&args).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    serde_json::from_str(printed.lines().last().unwrap_or_default())
        .unwrap_or_else(|err| panic!("{err}: {}", world.shown(&output)))
}

fn statuses(result: &Value) -> Vec<&str> {
    let nodes = result["trace"]["nodes"].as_array().unwrap();
    nodes.iter().map(|node| node["status"].as_str().unwrap()).collect()
}

#[test]
fn a_tool_that_is_not_dangerous_runs() {
    let world = world(&[("look_up", "\"dangerous\": False,", "return 7")]);
    assert_eq!(call(&world, &PYTHON, "look_up", &json!({}))["data"], 7);
    let result = run(&world, &[node(0, "look_up", "")], &[]);
    assert_eq!(result["trace"]["final_output"], 7, "{result}");
}

#[test]
fn a_plan_calls_a_dangerous_tool_only_if_the_user_named_it() {
    let world = world(&[("delete_rows", "\"dangerous\": True,", "return 7")]);
    let result = run(&world, &[node(0, "delete_rows", "")], &[]);
    assert_eq!(statuses(&result), ["failed"]);
    assert!(result.to_string().contains("PERMISSION_DENIED"), "{result}");
    let result = run(&world, &[node(0, "delete_rows", "")], &["--allow", "delete_rows"]);
    assert_eq!(statuses(&result), ["succeeded"], "{result}");
}

#[test]
fn a_node_is_retried_as_often_as_the_plan_says() {
    let world = world(&[("flaky", "", "raise OSError('down')")]);
    let result = run(&world, &[node(0, "flaky", ", \"retry\": 2")], &[]);
    assert_eq!(result["trace"]["nodes"][0]["attempts"], 3, "{result}");
}

#[test]
fn a_node_is_stopped_when_its_time_is_over() {
    let world = world(&[("slow", "", "while True: pass")]);
    let result = run(&world, &[node(0, "slow", ", \"timeout\": 1")], &[]);
    assert_eq!(statuses(&result), ["failed"]);
    assert!(result.to_string().contains("TOOL_TIMEOUT"), "{result}");
}

#[test]
fn a_failed_node_halts_the_plan_or_lets_it_continue() {
    let world = world(&[("fails", "", "raise ValueError('no')"), ("works", "", "return 1")]);
    let independent = node(1, "works", "").replace("[0]", "[]");
    for (on_fail, expect) in
        [("halt", ["failed", "cancelled"]), ("continue", ["failed", "succeeded"])]
    {
        let failing = node(0, "fails", &format!(", \"on_fail\": \"{on_fail}\""));
        let result = run(&world, &[failing, independent.clone()], &["--parallel", "1"]);
        assert_eq!(statuses(&result), expect, "{on_fail} {result}");
    }
}

#[test]
fn the_trace_has_the_real_failure() {
    let world = world(&[("fails", "", "raise ValueError('the real failure 3')")]);
    let result = run(&world, &[node(0, "fails", "")], &[]);
    let error = result["trace"]["nodes"][0].to_string();
    assert!(error.contains("ValueError: the real failure 3"), "{error}");
}

#[test]
fn the_function_that_metadata_names_is_called() {
    let world = World::new();
    let other = "\n\ndef run_other():\n    return 'other'\n";
    world.write(
        "work/tools/look_up.py",
        &format!("{}{other}", tool("look_up", "", "return 'named'")),
    );
    assert_eq!(call(&world, &PYTHON, "look_up", &json!({}))["data"], "named");
}

#[test]
fn a_function_is_loaded_when_it_is_called() {
    let world = World::with_files();
    let broken =
        format!("{}\nraise RuntimeError(\"it is loaded\")\n", tool("look_up", "", "return 1"));
    world.write("work/tools/look_up.py", &broken);
    let other = call(&world, &PYTHON, "read", &json!({"path": "notes.txt"}));
    assert_eq!(code(&other), "none", "{other}");
    let answer = call(&world, &PYTHON, "look_up", &json!({}));
    assert!(answer["error_text"].as_str().unwrap().contains("it is loaded"), "{answer}");
}

#[test]
fn a_result_is_in_the_trace() {
    let world = world(&[("first", "", "return {'rows': [1, 2]}"), ("second", "", "return 'x'")]);
    let result = run(&world, &[node(0, "first", ""), node(1, "second", "")], &[]);
    let nodes = &result["trace"]["nodes"];
    assert_eq!((&nodes[0]["output"], &nodes[1]["output"]), (&json!({"rows": [1, 2]}), &json!("x")));
}

#[test]
fn a_result_is_there_for_later_tools() {
    let world = world(&[("first", "", "return {'rows': [{'name': 'Ada'}]}")]);
    let greets = "METADATA = {\"name\": \"greet\", \"function\": \"run_greet\", \"description\": \"Greets.\", \
                  \"parameters\": {\"type\": \"object\", \"properties\": {\"name\": {\"type\": \"string\"}}, \"required\": [\"name\"]}}\n\n\ndef run_greet(name):\n    return \"Hello \" + name\n";
    world.write("work/tools/greet.py", greets);
    let second = node(1, "greet", "").replace("{}", "{\"name\": \"{{STEPS.0.rows[0].name}}\"}");
    let result = run(&world, &[node(0, "first", ""), second], &[]);
    assert_eq!(result["trace"]["final_output"], "Hello Ada", "{result}");
}

#[test]
fn globals_of_a_tool_end_with_its_call() {
    let world = World::new();
    let counts = tool("counts", "", "COUNTED.append(1)\n    return len(COUNTED)");
    world.write("work/tools/counts.py", &format!("{counts}\n\nCOUNTED = []\n"));
    let result = run(&world, &[node(0, "counts", ""), node(1, "counts", "")], &[]);
    let nodes = &result["trace"]["nodes"];
    assert_eq!((&nodes[0]["output"], &nodes[1]["output"]), (&json!(1), &json!(1)), "{result}");
}

#[test]
fn an_output_that_json_cannot_hold_is_an_error() {
    let world = world(&[("today", "", "return {'when': __import__('datetime').date(2024, 5, 1)}")]);
    let answer = call(&world, &PYTHON, "today", &json!({}));
    assert_eq!(code(&answer), "TOOL_BAD_OUTPUT");
    assert!(answer["error_text"].as_str().unwrap().contains("result[\"when\"]"), "{answer}");
}

#[test]
fn no_failure_is_silent() {
    let world =
        world(&[("leaves", "", "__import__('os')._exit(0)"), ("fails", "", "raise OSError('x')")]);
    for name in ["leaves", "fails"] {
        assert_ne!(code(&call(&world, &PYTHON, name, &json!({}))), "none", "{name}");
    }
}

#[test]
fn inputs_are_held_to_their_types() {
    let world = World::new();
    let source = tool("look_up", "", "return 1")
        .replace("\"properties\": {}", "\"properties\": {\"city\": {\"type\": \"string\"}}")
        .replace("run_look_up()", "run_look_up(city='')");
    world.write("work/tools/look_up.py", &source);
    for input in [json!({"city": 1}), json!({"town": "x"})] {
        assert_eq!(code(&call(&world, &PYTHON, "look_up", &input)), "INVALID_INPUT", "{input}");
    }
}

/// Has a model make a plan, and returns what it was asked.
fn planned(world: &World, reply: &str) -> String {
    let server = ModelServer::start(WireProtocol::OpenAi, [ScriptedReply::new().text(reply)]);
    let args = [&["plan", "make", "Look it up"], &PYTHON[..]].concat();
    server.haft(world, &args).output().unwrap();
    server.asked()[0].text()
}

const PLAN: &str = r#"{"nodes":[{"id":0,"tool":"look_up","inputs":{"city":"Berlin"},"depends_on":[]}],"final_output_node":0}"#;

fn with_parameter() -> World {
    let world = World::new();
    let source = tool("look_up", "", "return city")
        .replace("\"properties\": {}", "\"properties\": {\"city\": {\"type\": \"string\"}}")
        .replace("run_look_up()", "run_look_up(city='')");
    world.write("work/tools/look_up.py", &source);
    world
}

#[test]
fn the_planner_is_told_the_schema_of_each_tool() {
    let asked = planned(&with_parameter(), PLAN);
    assert!(asked.contains("look_up") && asked.contains("city"), "{asked}");
}

#[test]
fn the_planner_is_not_told_of_a_file_that_is_no_tool() {
    let world = with_parameter();
    let vague = "METADATA = {\"name\": \"finance\", \"function\": \"run\", \"parameters\": {}}\n\n\ndef run(payload):\n    pass\n";
    world.write("work/tools/finance.py", vague);
    let asked = planned(&world, PLAN);
    assert!(asked.contains("look_up") && !asked.contains("finance"), "{asked}");
}

#[test]
fn a_request_becomes_a_plan_that_is_run_and_answered() {
    let world = with_parameter();
    let server = ModelServer::saying(WireProtocol::OpenAi, &[PLAN, "It is Berlin."]);
    let args = [&["do", "Look it up", "--yes"], &PYTHON[..]].concat();
    let output = server.haft(&world, &args).output().unwrap();
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "It is Berlin.\n",
        "{}",
        world.shown(&output)
    );
    let asked = server.asked();
    assert!(asked[1].text().contains("Berlin"), "the trace is part of the question for the answer");
}

#[test]
fn equal_plans_have_equal_traces() {
    let world =
        world(&[("first", "", "return 1"), ("second", "", "return 2"), ("third", "", "return 3")]);
    let nodes = [
        node(0, "first", ""),
        node(1, "second", "").replace("[0]", "[]"),
        node(2, "third", "").replace("[1]", "[0, 1]"),
    ];
    let one = run(&world, &nodes, &["--parallel", "1"]);
    let many = run(&world, &nodes, &["--parallel", "4"]);
    assert_eq!(one["trace"], many["trace"]);
}
