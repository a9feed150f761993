//! Runs whose processes die again and again: haft stops resuming them, says what to type, and resumes them after a person
//! typed it. A process that received a recorded answer counts as one that got further.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use expect_test::expect;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::mcp_wire::driver::{Place, Server};
use crate::python::{ENTRY, tool};
use crate::world::World;

/// Deaths in a row after which haft does not resume a run.
const DEATHS_MAX: usize = 10;

/// Runs haft until it reports that it started a node, and kills it.
fn kill_in_node(world: &World, args: &[&str], node: u64) {
    let mut child = world
        .haft(&[args, &["--json"]].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let events = BufReader::new(child.stdout.take().unwrap()).lines();
    let is_started = |line: String| {
        let event: Value = serde_json::from_str(&line).unwrap();
        event["event"] == "node_started" && event["node"] == node
    };
    assert!(events.map(Result::unwrap).any(is_started), "{args:?} started no node {node}");
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Returns a world with a plan of so many nodes, the last of which begins after the others and never ends.
fn with_endless_plan(nodes: usize) -> World {
    let world = World::with_files();
    world.write("work/haft.toml", ENTRY);
    world.write("work/tools/endless.py", &tool("endless", "", "__import__('time').sleep(1000)"));
    world.run(&["trust"]);
    let node = |id: usize| match id + 1 == nodes {
        true => {
            let before: Vec<usize> = (0..id).collect();
            json!({"id": id, "tool": "endless", "inputs": {}, "depends_on": before, "timeout": 600})
        }
        false => {
            json!({"id": id, "tool": "read", "inputs": {"path": "notes.txt"}, "depends_on": []})
        }
    };
    let nodes: Vec<Value> = (0..nodes).map(node).collect();
    let plan = json!({"nodes": nodes, "final_output_node": nodes.len() - 1});
    world.write("work/plan.json", &plan.to_string());
    world
}

#[test]
fn a_run_that_gets_no_further_is_resumed_if_a_person_says_so() {
    let world = with_endless_plan(1);
    kill_in_node(&world, &["run", "plan.json", "--run", "r1"], 0);
    for _ in 1..DEATHS_MAX {
        kill_in_node(&world, &["resume", "r1"], 0);
    }
    for command in [&["resume", "r1"][..], &["resume", "r1", "--retry-failed"]] {
        world.check(command, &expect![[r#"
            --- stderr
            error: run r1 was resumed 10 times and got no further each time, so it is not resumed again: look at what happens after the last of its calls, or have it resumed all the same

            hint: haft resume r1 --anyway
            --- status 1
        "#]]);
    }
    kill_in_node(&world, &["resume", "r1", "--anyway"], 0);
    // The count begins anew, so that the run needs no person again at once.
    kill_in_node(&world, &["resume", "r1"], 0);
}

#[test]
fn a_plan_whose_answers_are_recalled_gets_further() {
    let world = with_endless_plan(2);
    kill_in_node(&world, &["run", "plan.json", "--run", "r1"], 1);
    world.run(&["runs", "show", "r1"]);
    for _ in 0..DEATHS_MAX + 2 {
        kill_in_node(&world, &["resume", "r1"], 1);
    }
}

/// Reads a file in a run that starts over, and kills the server.
fn read_and_kill(place: &Place, run: &str, path: &str) -> Value {
    let mut server = Server::start_legacy(place, &["--run", run, "--resume", "replay"]);
    let answer = server.call("read", json!({"path": path}));
    kill_process(Pid::from_raw(server.pid().try_into().unwrap()).unwrap(), Signal::KILL).unwrap();
    server.join();
    answer
}

#[test]
fn a_client_that_kills_its_servers_goes_on_with_recalled_answers() {
    let place = Place::new();
    place.write("a.txt", "one\n");
    for life in 0..DEATHS_MAX + 3 {
        let answer = read_and_kill(&place, "r1", "a.txt");
        assert_eq!(answer["result"]["isError"], false, "life {life}: {answer}");
        assert_eq!(
            answer["result"]["_meta"]["haft/replayed"].as_bool(),
            (life > 0).then_some(true)
        );
    }
}
