//! `haft inspect` and the inspector of `haft serve`: the printed links, people at the pages in real browsers, and agents that
//! try to get there.

mod asks;
mod intruders;

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use expect_test::{Expect, expect};
use haft_scripted_model::ScriptedReply;
use serde_json::{Value, json};

use crate::agent::Stage;
use crate::durability::Ordering;
use crate::mcp_clients::client;
use crate::postgres::world_on;
use crate::postgres_server::Server;
use crate::world::World;

/// A running inspector.
struct Inspecting {
    child: Child,
    said: Lines<BufReader<ChildStdout>>,
    asked: ChildStdin,
    link: String,
}

impl Inspecting {
    fn start(world: &World) -> Self {
        let mut command = world.haft(&["inspect", "--json"]);
        let mut child = command.stdout(Stdio::piped()).stdin(Stdio::piped()).spawn().unwrap();
        let said = BufReader::new(child.stdout.take().unwrap()).lines();
        let asked = child.stdin.take().unwrap();
        let mut inspecting = Self { child, said, asked, link: String::new() };
        inspecting.link = inspecting.next_link();
        inspecting
    }

    fn next_link(&mut self) -> String {
        let line = self.said.next().unwrap().unwrap();
        let said: Value = serde_json::from_str(&line).unwrap_or_else(|err| panic!("{err}: {line}"));
        said["url"].as_str().unwrap().to_owned()
    }

    /// Returns a link for another browser.
    fn further_link(&mut self) -> String {
        self.asked.write_all(b"\n").unwrap();
        self.next_link()
    }

    fn address(&self) -> &str {
        self.link.split_once("/#").unwrap().0
    }

    /// Has people take steps in browsers, and compares what they tell. `act` does what they wait for.
    fn people(&mut self, steps: &[Value], act: impl FnMut(&Value), expect: &Expect) {
        let links = [self.link.clone(), self.further_link()];
        let told = people(&links, steps, act);
        expect.assert_eq(&told);
    }
}

fn people(links: &[String], steps: &[Value], mut act: impl FnMut(&Value)) -> String {
    let directory = |name| std::env::var(name).ok();
    let order = json!({
        "links": links,
        "steps": steps,
        "chromium": client("HAFT_TEST_CHROMIUM"),
        "packages": client("HAFT_TEST_NODE_PACKAGES"),
        // Every view in both themes and widths, for those who work on the pages.
        "looks": directory("HAFT_LOOKS"),
        "pictures": directory("HAFT_PICTURES"),
    });
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/inspector");
    let mut person = Command::new(client("HAFT_TEST_NODE"))
        .arg(scripts.join("look.mjs"))
        .arg(order.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut done = person.stdin.take().unwrap();
    let mut told = String::new();
    for line in BufReader::new(person.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        let step: Value = serde_json::from_str(&line).unwrap();
        told.push_str(&line);
        told.push('\n');
        if step["step"] == "begin" {
            act(&step);
            done.write_all(b"\n").unwrap();
        }
    }
    assert!(person.wait().unwrap().success(), "{told}");
    told
}

fn views<const COUNT: usize>(paths: [&str; COUNT]) -> Vec<Value> {
    paths.iter().map(|path| json!({"step": "view", "path": path})).collect()
}

fn step(name: &str) -> Value {
    json!({ "step": name })
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
    let mut inspecting = Inspecting::start(&world);
    let link = inspecting.link.clone();
    let (address, token) = link.split_once("/#token=").unwrap();
    assert!(address.starts_with("http://127.0.0.1:"), "{address}");
    assert_eq!(token.len(), 64, "{token}");
    let port = address.rsplit_once(':').unwrap().1;
    let further = inspecting.further_link();
    assert_ne!(further, inspecting.link);
    assert!(further.starts_with(address), "{further}");
    let taken = world.haft(&["inspect", "--no-open", "--port", port]).output().unwrap();
    assert_eq!(taken.status.code(), Some(1), "{taken:?}");
}

/// Makes calls of one run, one after the other, some of which are refused.
fn make_calls(world: &World, run: &str, calls: &[(&str, Value)]) {
    for (tool, input) in calls {
        world.haft(&["call", "--run", run, tool, &input.to_string()]).output().unwrap();
    }
}

#[test]
fn people_at_the_inspector() {
    let world = World::with_files();
    world.write("work/a.txt", "one two\n");
    make_calls(&world, "written", &[("write", json!({"path": "a.txt", "content": "one three\n"}))]);
    make_calls(&world, "refused", &[("read", json!({"path": "/etc/shadow"}))]);
    let hostile = json!({"pattern": "<img src=x onerror=alert(1)>\u{202e}"});
    make_calls(&world, "hostile", &[("glob", hostile)]);
    let lines = json!({"cmd": "seq 1 300000; echo the-very-last-line"});
    make_calls(&world, "large", &[("bash", lines)]);
    Ordering::begin(&world, "killed").kill();
    let mut steps = vec![step("used_link")];
    steps.extend(views([
        "/runs",
        "/runs?state=failed&text=nothing",
        "/runs/written",
        "/runs/refused?view=tree",
        "/calls/written/main/0/1/1",
        "/calls/refused/main/0/1/1",
        "/calls/hostile/main/0/1/1",
        "/calls/large/main/0/1/1",
        "/changes?call=written/main/0/1/1",
        "/doubts",
        "/sessions",
        "/plans",
        "/permissions",
        "/permissions?tool=read&input=%7B%22path%22%3A%22a.txt%22%7D&permission=bash&pattern=ls",
        "/permissions?tool=read&input=%7B%22path%22%3A%22/etc/shadow%22%7D&permission=nonsense",
        "/nowhere",
    ]));
    steps.extend([
        step("keys"),
        json!({"step": "filter", "text": "a.txt", "expect": "written"}),
        json!({"step": "undo", "path": "/changes?call=written/main/0/1/1"}),
        json!({"step": "rule", "permission": "bash", "pattern": "cargo test *"}),
        json!({"step": "large", "path": "/calls/large/main/0/1/1", "end": "the-very-last-line"}),
        step("second_person"),
        step("doubt_of_two"),
        json!({"step": "live", "run": "later"}),
        json!({"step": "live_runs", "count": 50}),
        step("work"),
    ]);
    steps.extend(views(["/runs/working", "/runs/working/stop"]));
    steps.extend([json!({"step": "stop", "run": "working"}), step("faults")]);
    let mut working = None;
    let act = |step: &Value| match step["count"].as_u64() {
        _ if step["work"] == true => working = Some(Ordering::begin(&world, "working")),
        None => drop(world.run(&["call", "--run", "later", "glob", r#"{"pattern":"*"}"#])),
        Some(count) => {
            // They work at the same time.
            let call = |number| {
                let run = format!("many-{number}");
                let input = r#"{"pattern":"*"}"#;
                let mut command = world.haft(&["call", "--run", &run, "glob", input]);
                command.stdout(Stdio::null()).spawn().unwrap()
            };
            let calls: Vec<Child> = (0..count).map(call).collect();
            for mut call in calls {
                assert!(call.wait().unwrap().success());
            }
        }
    };
    Inspecting::start(&world).people(&steps, act, &expect![[r#"
        {"step":"used_link","title":"This browser is not logged in"}
        {"step":"view","path":"/runs","findings":[]}
        {"step":"view","path":"/runs?state=failed&text=nothing","findings":[]}
        {"step":"view","path":"/runs/written","findings":[]}
        {"step":"view","path":"/runs/refused?view=tree","findings":[]}
        {"step":"view","path":"/calls/written/main/0/1/1","findings":[]}
        {"step":"view","path":"/calls/refused/main/0/1/1","findings":[]}
        {"step":"view","path":"/calls/hostile/main/0/1/1","findings":[]}
        {"step":"view","path":"/calls/large/main/0/1/1","findings":[]}
        {"step":"view","path":"/changes?call=written/main/0/1/1","findings":[]}
        {"step":"view","path":"/doubts","findings":[]}
        {"step":"view","path":"/sessions","findings":[]}
        {"step":"view","path":"/plans","findings":[]}
        {"step":"view","path":"/permissions","findings":[]}
        {"step":"view","path":"/permissions?tool=read&input=%7B%22path%22%3A%22a.txt%22%7D&permission=bash&pattern=ls","findings":[]}
        {"step":"view","path":"/permissions?tool=read&input=%7B%22path%22%3A%22/etc/shadow%22%7D&permission=nonsense","findings":[]}
        {"step":"view","path":"/nowhere","findings":[]}
        {"step":"keys","open":true}
        {"step":"filter","runs":1,"first":1}
        {"step":"undo","enabled_at_once":false,"title":"undo done"}
        {"step":"rule","rows":1}
        {"step":"large","is_quick":true,"shows_end":true}
        {"step":"second_person"}
        {"step":"doubt_of_two","settled":true,"late":true,"other":"No call is in doubt"}
        {"step":"begin","run":"later"}
        {"step":"live"}
        {"step":"begin","count":50}
        {"step":"live_runs","rows":50,"is_first_page":true}
        {"step":"begin","work":true}
        {"step":"view","path":"/runs/working","findings":[]}
        {"step":"view","path":"/runs/working/stop","findings":[]}
        {"step":"stop","state":"in doubt"}
        {"step":"faults","faults":[]}
    "#]]);
    assert_eq!(world.read("work/a.txt"), "one two\n");
    assert!(!working.unwrap().wait().success());
}

#[test]
fn a_journal_on_a_server_is_inspected_as_a_file_is() {
    let server = Server::shared();
    let world = world_on(&server.url());
    make_calls(&world, "written", &[("write", json!({"path": "notes.txt", "content": "four\n"}))]);
    make_calls(&world, "refused", &[("read", json!({"path": "/etc/shadow"}))]);
    Ordering::begin(&world, "killed").kill();
    let mut steps = views([
        "/runs",
        "/runs/written",
        "/runs/refused?view=tree",
        "/calls/refused/main/0/1/1",
        "/changes?run=written",
        "/doubts",
    ]);
    steps.extend([
        json!({"step": "undo", "path": "/changes?call=written/main/0/1/1"}),
        step("second_person"),
        step("doubt_of_two"),
        json!({"step": "live", "run": "later"}),
        step("faults"),
    ]);
    let act =
        |_: &Value| drop(world.run(&["call", "--run", "later", "glob", r#"{"pattern":"*"}"#]));
    Inspecting::start(&world).people(
        &steps,
        act,
        &expect![[r#"
        {"step":"view","path":"/runs","findings":[]}
        {"step":"view","path":"/runs/written","findings":[]}
        {"step":"view","path":"/runs/refused?view=tree","findings":[]}
        {"step":"view","path":"/calls/refused/main/0/1/1","findings":[]}
        {"step":"view","path":"/changes?run=written","findings":[]}
        {"step":"view","path":"/doubts","findings":[]}
        {"step":"undo","enabled_at_once":false,"title":"undo done"}
        {"step":"second_person"}
        {"step":"doubt_of_two","settled":true,"late":true,"other":"No call is in doubt"}
        {"step":"begin","run":"later"}
        {"step":"live"}
        {"step":"faults","faults":[]}
    "#]],
    );
    assert_eq!(world.read("work/notes.txt"), "one\ntwo\nthree\n");
}

/// A plan of four nodes, of which two run at the same time.
const REPORT: &str = r#"{
  "nodes": [
    {"id": 0, "tool": "glob", "inputs": {"pattern": "**/*"}, "depends_on": [], "metadata": {"purpose": "list the files"}},
    {"id": 1, "tool": "read", "inputs": {"path": "notes.txt"}, "depends_on": [0], "metadata": {"purpose": "read the notes"}},
    {"id": 2, "tool": "bash", "inputs": {"cmd": "wc -l src/main.rs"}, "depends_on": [0], "metadata": {"purpose": "count lines"}},
    {"id": 3, "tool": "write", "inputs": {"path": "report.txt", "content": "{{STEPS.2.output}}"}, "depends_on": [1, 2],
     "metadata": {"purpose": "write the report"}}
  ],
  "final_output_node": 3
}"#;

/// The work of an agent, as the pictures in the documentation show it.
#[test]
fn the_work_of_an_agent_is_shown() {
    let replies = [
        ScriptedReply::new()
            .text("I look at the notes and the program first.")
            .call("read", json!({"path": "notes.txt"}))
            .call("read", json!({"path": "src/main.rs"})),
        ScriptedReply::new()
            .call("edit", json!({"path": "src/main.rs", "old_string": "two", "new_string": "three"}))
            .call("bash", json!({"cmd": "printf '\\033[32mok\\033[0m 12 tests passed in \\033[1m0.4 s\\033[0m\\n'"})),
        ScriptedReply::new().call("read", json!({"path": "/etc/shadow"})),
        ScriptedReply::new().text("The program prints «three» now, and the tests pass."),
    ];
    let stage = Stage::new(World::with_files(), replies);
    let world = &stage.world;
    world.write("work/report.json", REPORT);
    world.run(&["run", "report.json", "--run", "report", "--allow-dangerous"]);
    stage.haft(&["agent", "Make the program print «three»."]).output().unwrap();
    Ordering::begin(world, "order").kill();
    let session = stage.latest();
    let of = |path: &str| format!("/{path}/{session}");
    let edit = format!("/changes?call={session}/main/0/1/3");
    let picture = |name: &str, path: &str| json!({"step": "picture", "name": name, "path": path});
    let mut steps =
        views([&of("sessions"), &of("runs"), "/plans", "/plans/report", "/sessions", &edit]);
    steps.extend([
        picture("runs", "/runs"),
        picture("run", &of("runs")),
        picture("session", &of("sessions")),
        picture("call", &format!("/calls/{session}/main/0/1/5")),
        picture("changes", &edit),
        picture("doubts", "/doubts"),
        picture("plan", "/plans/report"),
        picture("permissions", "/permissions?tool=bash&input=%7B%22cmd%22%3A%22sudo%20true%22%7D"),
        json!({"step": "picture", "name": "phone", "path": "/doubts", "width": 390, "height": 760, "theme": "dark"}),
        step("faults"),
    ]);
    let inspecting = Inspecting::start(world);
    let told = people(std::slice::from_ref(&inspecting.link), &steps, |_| {});
    expect![[r#"
        {"step":"view","path":"/sessions/[session]","findings":[]}
        {"step":"view","path":"/runs/[session]","findings":[]}
        {"step":"view","path":"/plans","findings":[]}
        {"step":"view","path":"/plans/report","findings":[]}
        {"step":"view","path":"/sessions","findings":[]}
        {"step":"view","path":"/changes?call=[session]/main/0/1/3","findings":[]}
        {"step":"faults","faults":[]}
    "#]]
    .assert_eq(&told.replace(&session, "[session]"));
}
