//! `haft inspect` and the inspector of `haft serve`: the printed link, and a person at the pages in a real browser.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use expect_test::expect;
use serde_json::{Value, json};

use crate::mcp_clients::client;
use crate::world::World;

/// A running inspector.
struct Inspecting {
    child: Child,
    link: String,
}

impl Inspecting {
    fn start(world: &World) -> Self {
        let mut command = world.haft(&["inspect", "--json"]);
        command.stdout(Stdio::piped()).stdin(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap_or_else(|err| panic!("{err}: {line}"));
        Self { child, link: said["url"].as_str().unwrap().to_owned() }
    }
}

impl Drop for Inspecting {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_link_holds_its_secret_behind_the_hash() {
    let world = World::new();
    let inspecting = Inspecting::start(&world);
    let (address, token) = inspecting.link.split_once("/#token=").unwrap();
    assert!(address.starts_with("http://127.0.0.1:"), "{address}");
    assert_eq!(token.len(), 64, "{token}");
    let port = address.rsplit_once(':').unwrap().1;
    let taken = world.haft(&["inspect", "--no-open", "--port", port]).output().unwrap();
    assert_eq!(taken.status.code(), Some(1), "{taken:?}");
}

#[test]
fn a_person_at_the_inspector() {
    let world = World::new();
    world.write("work/a.txt", "one two\n");
    for (run, tool, input) in [
        ("written", "write", json!({"path": "a.txt", "content": "one three\n"})),
        ("refused", "read", json!({"path": "/etc/shadow"})),
        ("hostile", "glob", json!({"pattern": "<img src=x onerror=alert(1)>\u{202e}"})),
    ] {
        // One of the calls is refused.
        world.haft(&["call", "--run", run, tool, &input.to_string()]).output().unwrap();
    }
    let inspecting = Inspecting::start(&world);
    let order = json!({
        "link": inspecting.link,
        "chromium": client("HAFT_TEST_CHROMIUM"),
        "packages": client("HAFT_TEST_NODE_PACKAGES"),
        "pictures": std::env::var("HAFT_PICTURES").ok(),
        "paths": [
            "/runs", "/runs/written", "/runs/refused?view=tree", "/calls/written/main/0/1/1",
            "/calls/refused/main/0/1/1", "/calls/hostile/main/0/1/1", "/changes?call=written/main/0/1/1",
            "/doubts", "/sessions", "/plans",
            "/permissions?tool=read&input=%7B%22path%22%3A%22a.txt%22%7D&permission=bash&pattern=ls", "/nowhere",
        ],
        "changes": "/changes?call=written/main/0/1/1",
        "later": "later",
    });
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/inspector");
    let mut person = Command::new(client("HAFT_TEST_NODE"))
        .arg(scripts.join("look.mjs"))
        .arg(order.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = String::new();
    for line in BufReader::new(person.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        if line == r#"{"step":"ready"}"# {
            world.run(&["call", "--run", "later", "glob", r#"{"pattern":"*"}"#]);
        }
        told.push_str(&line);
        told.push('\n');
    }
    assert!(person.wait().unwrap().success(), "{told}");
    expect![[r#"
        {"step":"login","address":true}
        {"step":"second login","title":"This browser is not logged in"}
        {"step":"view","path":"/runs","findings":[]}
        {"step":"view","path":"/runs/written","findings":[]}
        {"step":"view","path":"/runs/refused?view=tree","findings":[]}
        {"step":"view","path":"/calls/written/main/0/1/1","findings":[]}
        {"step":"view","path":"/calls/refused/main/0/1/1","findings":[]}
        {"step":"view","path":"/calls/hostile/main/0/1/1","findings":[]}
        {"step":"view","path":"/changes?call=written/main/0/1/1","findings":[]}
        {"step":"view","path":"/doubts","findings":[]}
        {"step":"view","path":"/sessions","findings":[]}
        {"step":"view","path":"/plans","findings":[]}
        {"step":"view","path":"/permissions?tool=read&input=%7B%22path%22%3A%22a.txt%22%7D&permission=bash&pattern=ls","findings":[]}
        {"step":"view","path":"/nowhere","findings":[]}
        {"step":"keys","open":true}
        {"step":"armed at once","enabled":false}
        {"step":"undone","title":"undo done"}
        {"step":"rule","rows":1}
        {"step":"ready"}
        {"step":"live"}
        {"step":"faults","faults":[]}
    "#]]
    .assert_eq(&told);
    assert_eq!(world.read("work/a.txt"), "one two\n");
}
