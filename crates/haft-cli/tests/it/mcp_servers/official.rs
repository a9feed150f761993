//! Servers that people use, confined and doing real work: those of the protocol's own project for Node and for Python.
//! `cargo xtask test` installs them and says where they are.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{call, said};
use crate::mcp_clients::client;
use crate::world::World;

/// Returns a world that uses one server.
fn world(table: &str) -> World {
    let world = World::with_files();
    world.write("work/haft.toml", table);
    world.run(&["trust"]);
    world
}

/// Returns the words that start an official server for Node.
fn node_server(name: &str) -> String {
    let packages = client("HAFT_TEST_NODE_PACKAGES").join("node_modules");
    let script = packages.join(format!("@modelcontextprotocol/server-{name}/dist/index.js"));
    let node = client("HAFT_TEST_NODE");
    format!("{node:?}, {script:?}")
}

fn text(envelope: &Value) -> String {
    envelope["data"].as_str().map_or_else(|| said(envelope), str::to_owned)
}

#[test]
fn the_file_system_server_reads_and_writes_its_root() {
    let command = node_server("filesystem");
    let world = world("");
    let root = world.path("work");
    let grants = "requires.fs.write = [\"{workspace}/**\"]";
    world.write(
        "work/haft.toml",
        &format!("[mcp.files]\ncommand = [{command}, {root:?}]\n{grants}\n"),
    );
    world.run(&["trust"]);
    let notes = world.path("work/notes.txt");
    let read = call(&world, "files_read_text_file", &json!({"path": notes}));
    assert_eq!(text(&read), "one\ntwo\nthree\n");
    let new = world.path("work/new.txt");
    let written = call(&world, "files_write_file", &json!({"path": new, "content": "hello"}));
    assert!(text(&written).contains("Successfully wrote"), "{written}");
    assert_eq!(world.read("work/new.txt"), "hello");
    let outside = call(&world, "files_read_text_file", &json!({"path": "/etc/passwd"}));
    assert!(said(&outside).contains("Access denied"), "{outside}");
}

#[test]
fn the_memory_server_keeps_a_graph_where_it_may_write() {
    let command = node_server("memory");
    let world = world("");
    std::fs::create_dir(world.path("work/memory")).unwrap();
    let file = world.path("work/memory/graph.jsonl");
    let table = format!(
        "[mcp.memory]\ncommand = [{command}]\nenv = {{ MEMORY_FILE_PATH = {file:?} }}\n\
         requires.fs.write = [\"memory/**\"]\n"
    );
    world.write("work/haft.toml", &table);
    world.run(&["trust"]);
    let entity = json!({"name": "haft", "entityType": "runtime", "observations": ["holds tools"]});
    let created = call(&world, "memory_create_entities", &json!({"entities": [entity]}));
    assert_eq!(created["type"], "output", "{created}");
    let graph = call(&world, "memory_read_graph", &json!({}));
    assert!(graph["data"].to_string().contains("holds tools"), "{graph}");
    assert!(world.read("work/memory/graph.jsonl").contains("haft"));
}

#[test]
fn the_everything_server_answers_with_everything() {
    let command = node_server("everything");
    let world = world(&format!("[mcp.every]\ncommand = [{command}]\n"));
    let echoed = call(&world, "every_echo", &json!({"message": "hi"}));
    assert_eq!(text(&echoed), "Echo: hi");
    let image = call(&world, "every_get_tiny_image", &json!({}));
    assert!(image.to_string().contains("image/png"), "{image}");
}

#[test]
fn python_servers_tell_the_time_and_read_repositories() {
    let python = client("HAFT_TEST_PYTHON");
    let bin = |name: &str| -> PathBuf { Path::new(&python).with_file_name(name) };
    let time = world(&format!("[mcp.clock]\ncommand = {:?}\n", bin("mcp-server-time")));
    let now = call(&time, "clock_get_current_time", &json!({"timezone": "Europe/Berlin"}));
    assert!(now.to_string().contains("Europe/Berlin"), "{now}");

    let git = world("");
    let root = git.path("work");
    for words in [vec!["init", "-q"], vec!["add", "notes.txt"]] {
        let done = std::process::Command::new("git").args(words).current_dir(&root).status();
        assert!(done.unwrap().success());
    }
    let table = format!(
        "[mcp.git]\ncommand = [{:?}, \"--repository\", {root:?}]\nrequires.fs.read = [\"{{workspace}}/**\"]\n",
        bin("mcp-server-git")
    );
    git.write("work/haft.toml", &table);
    git.run(&["trust"]);
    let status = call(&git, "git_git_status", &json!({"repo_path": root}));
    assert!(text(&status).contains("notes.txt"), "{status}");
}
