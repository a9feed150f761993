//! Outputs that were too long for an answer: who reads the rest, by which tool, and when.

use serde_json::{Value, json};

use crate::mcp_wire::driver::{Place, Server};
use crate::world::World;

const LONG: &str = r#"{"cmd":"seq 1 2000"}"#;

/// Makes a call with a small limit in a run, and returns its envelope.
fn call(world: &World, run: &str, tool: &str, input: &Value) -> Value {
    let input = input.to_string();
    let args = ["--output-bytes", "1000", "--json", "call", "--run", run, tool, &input];
    let output = world.haft(&args).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_later_call_of_the_run_reads_a_long_output() {
    let world = World::with_files();
    let long = call(&world, "r1", "bash", &serde_json::from_str(LONG).unwrap());
    let path = long["metadata"]["output_path"].as_str().unwrap();
    let read = json!({"path": path, "start_line": 1500, "end_line": 1501});
    assert_eq!(call(&world, "r1", "read", &read)["data"], "1500\n1501\n");
    let sed = json!({"cmd": format!("sed -n 1500,1501p {path}")});
    assert_eq!(call(&world, "r1", "bash", &sed)["data"]["output"], "1500\n1501\n");
    // The state directory around it stays hidden, and so does the output from other runs.
    let state = world.path("state");
    let list = json!({"cmd": format!("ls {}", state.display())});
    assert!(!call(&world, "r1", "bash", &list).to_string().contains("journal.sqlite"));
    let other = call(&world, "r2", "read", &read);
    assert_eq!(other["metadata"]["code"], "TOOL_PATH_ESCAPE", "{other}");
    let write = json!({"path": path, "content": "changed"});
    assert_eq!(call(&world, "r1", "write", &write)["type"], "error");
    assert!(
        world.read(&format!("state{}", path.split_once("state").unwrap().1)).ends_with("2000\n")
    );
}

#[test]
fn the_profile_smithers_says_how_its_tools_read_the_rest() {
    let place = Place::new();
    let args = ["--profile", "smithers", "--output-bytes", "1000"];
    let mut server = Server::start_legacy(&place, &args);
    let text = |answer: &Value| answer["result"]["content"][0]["text"].as_str().unwrap().to_owned();
    let long = server.call("bash", json!({"cmd": "seq", "args": ["1", "2000"]}));
    let shown = text(&long);
    assert!(shown.contains("(use bash with the command sed"), "{shown}");
    let path = shown.split_once("all of it: ").unwrap().1.split_once(" (use").unwrap().0;
    let args = ["-n", "1500,1501p", path];
    let part = server.call("bash", json!({"cmd": "sed", "args": args}));
    assert!(text(&part).contains("1500\n1501"), "{part}");
    // Its read has no range, and says that the file is too long.
    let read = server.call("read", json!({ "path": path }));
    assert_eq!(read["result"]["isError"], true, "{read}");
}
