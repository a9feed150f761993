//! The context that a tool gets with a call, one field each.

use serde_json::{Value, json};

use super::call;
use crate::world::World;

/// A tool with a side effect that answers with its context. A repeat is safe, so no retry holds it back.
pub(super) const TOOL: &str = r#"METADATA = {
    "name": "tell",
    "function": "run_tell",
    "description": "Answers with the context of the call.",
    "side_effect": True,
    "idempotent": True,
    "context": True,
    "parameters": {"type": "object", "properties": {"note": {"type": "string"}}},
}


def run_tell(context, note=""):
    return context
"#;

fn world() -> World {
    let world = World::with_files();
    world.write("work/tools/context.py", TOOL);
    world
}

/// Returns the context of a call that is made with these arguments.
fn told(world: &World, args: &[&str]) -> Value {
    call(world, &[&["--python", "tools"], args].concat(), "tell", &json!({}))["data"].clone()
}

/// Returns one field of the context of a call.
fn field(name: &str, args: &[&str]) -> Value {
    told(&world(), args)[name].clone()
}

#[test]
fn the_context_has_the_tool() {
    assert_eq!(field("tool", &[]), "tell");
}

#[test]
fn the_context_says_that_the_tool_has_a_side_effect() {
    assert_eq!(field("side_effect", &[]), true);
    let world = world();
    world.write("work/tools/context.py", &TOOL.replace("    \"side_effect\": True,\n", ""));
    world.write(
        "work/tools/context.py",
        &world.read("work/tools/context.py").replace("    \"idempotent\": True,\n", ""),
    );
    assert_eq!(told(&world, &[])["side_effect"], false);
}

#[test]
fn the_context_says_whether_a_repeat_is_safe() {
    assert_eq!(field("idempotent", &[]), true);
    let world = world();
    world.write("work/tools/context.py", &TOOL.replace("    \"idempotent\": True,\n", ""));
    assert_eq!(told(&world, &[])["idempotent"], false);
}

#[test]
fn the_context_has_the_run() {
    assert_eq!(field("run", &["--run", "r1"]), "r1");
}

#[test]
fn the_context_has_the_node() {
    assert_eq!(field("node", &["--run", "r1", "--node", "n1"]), "n1");
}

#[test]
fn the_context_has_the_iteration() {
    assert_eq!(field("iteration", &["--run", "r1"]), 0);
    assert_eq!(field("iteration", &["--run", "r1", "--iteration", "4"]), 4);
}

#[test]
fn the_context_has_the_attempt() {
    assert_eq!(field("attempt", &["--run", "r1"]), 1);
    assert_eq!(field("attempt", &["--run", "r1", "--attempt", "2"]), 2);
}

#[test]
fn the_context_counts_the_calls_of_a_task() {
    let world = world();
    let at = ["--run", "r1", "--node", "n1"];
    assert_eq!((&told(&world, &at)["seq"], &told(&world, &at)["seq"]), (&json!(1), &json!(2)));
}

#[test]
fn the_context_has_the_root() {
    let world = world();
    let root = world.path("work");
    assert_eq!(told(&world, &[])["root"], root.to_str().unwrap());
    world.write("work/src/tools/context.py", TOOL);
    let args = ["--root", "src", "--python", "src/tools"];
    let answer = call(&world, &args, "tell", &json!({}));
    assert_eq!(answer["data"]["root"], root.join("src").to_str().unwrap(), "{answer}");
}

#[test]
fn the_context_says_whether_the_network_is_allowed() {
    assert_eq!(field("allow_network", &[]), false);
    assert_eq!(field("allow_network", &["--allow-network", "--allow", "tell"]), true);
}

#[test]
fn the_context_has_the_limit_on_outputs() {
    assert_eq!(field("max_output_bytes", &[]), 200_000);
    assert_eq!(field("max_output_bytes", &["--output-bytes", "500000"]), 500_000);
}

#[test]
fn the_context_has_the_time_of_the_call() {
    assert_eq!(field("timeout_ms", &[]), 60_000);
    assert_eq!(field("timeout_ms", &["--timeout-ms", "120000"]), 120_000);
}

#[test]
fn the_key_of_a_task_is_that_of_its_node_and_iteration() {
    let world = world();
    let key = |iteration: &str, attempt: &str, name: &str| {
        let at = ["--run", "r1", "--node", "n1", "--iteration", iteration, "--attempt", attempt];
        told(&world, &at)[name].as_str().unwrap().to_owned()
    };
    let (first, second) = (key("0", "1", "task_key"), key("0", "2", "task_key"));
    assert_eq!(first, second);
    assert_ne!(first, key("1", "1", "task_key"));
}

#[test]
fn two_calls_of_a_task_have_two_keys() {
    let world = world();
    let at = ["--run", "r1", "--node", "n1"];
    let (first, second) = (told(&world, &at), told(&world, &at));
    assert_ne!(first["idempotency_key"], second["idempotency_key"]);
    assert_eq!(first["task_key"], second["task_key"]);
}

#[test]
fn a_key_is_the_same_in_a_retry_and_a_resume() {
    let world = world();
    let at = ["--run", "r1", "--node", "n1"];
    let first = told(&world, &at)["idempotency_key"].clone();
    assert!(first.as_str().is_some_and(|key| !key.is_empty()), "{first}");
    assert_eq!(told(&world, &[&at[..], &["--attempt", "2"]].concat())["idempotency_key"], first);
    assert_eq!(
        told(&world, &[&at[..], &["--resume", "replay"]].concat())["idempotency_key"],
        first
    );
}
