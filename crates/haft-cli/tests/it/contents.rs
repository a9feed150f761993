//! The contents that `write`, `edit` and `apply_patch` are given lie in no file of haft but the content store, and no longer than
//! their run needs them. The tests search every file of the state directory, the journal and its log among them.

use std::path::{Path, PathBuf};

use haft_scripted_model::ScriptedReply;
use serde_json::{Value, json};

use crate::agent::Stage;
use crate::postgres::world_on;
use crate::postgres_server::Server;
use crate::world::World;

/// A text that only the contents of calls hold.
const MARKER: &str = "a-content-that-no-row-holds";
/// The directory of the content store in the state directory.
const STORE: &str = "journal.sqlite-contents";

/// Returns the files below a directory that hold the marker, by their paths in it.
fn holders(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![directory.to_path_buf()];
    while let Some(next) = pending.pop() {
        for entry in std::fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
            } else if path.is_file()
                && String::from_utf8_lossy(&std::fs::read(&path).unwrap()).contains(MARKER)
            {
                found.push(path.strip_prefix(directory).unwrap().to_path_buf());
            }
        }
    }
    found
}

/// Checks which part of the state directory holds the marker: the content store, or nothing.
fn check_holders(world: &World, is_kept: bool) {
    let found = holders(&world.path("state"));
    assert!(found.iter().all(|path| path.starts_with(STORE)), "{found:?}");
    assert_eq!(!found.is_empty(), is_kept, "{found:?}");
}

/// A plan that writes, edits and patches, and then needs a file that is not there yet. Two of its texts come from the input and
/// from another node.
fn plan() -> String {
    let node = |id: u32, tool: &str, inputs: Value| {
        let before: Vec<u32> = (0..id).collect();
        json!({"id": id, "tool": tool, "inputs": inputs, "depends_on": before})
    };
    let patch = format!("*** Begin Patch\n*** Add File: patched\n+{MARKER}\n*** End Patch\n");
    json!({
        "nodes": [
            node(0, "write", json!({"path": "a", "content": format!("one\n{MARKER}\n")})),
            node(1, "edit", json!({"path": "a", "old_string": "one", "new_string": MARKER})),
            node(2, "apply_patch", json!({ "patch": patch })),
            node(3, "write", json!({"path": "b", "content": "{{INPUT.body}}"})),
            node(4, "read", json!({"path": "cause"})),
            node(5, "write", json!({"path": "c", "content": format!("{MARKER} {{{{STEPS.4}}}}")})),
            node(6, "read", json!({"path": "notes.txt"})),
        ],
        "final_output_node": 6,
    })
    .to_string()
}

const ALLOW: [&str; 7] =
    ["--no-snapshots", "--allow", "write", "--allow", "edit", "--allow", "apply_patch"];

fn begin_plan(world: &World) -> String {
    world.write("work/plan.json", &plan());
    let input = json!({ "body": format!("{MARKER} of the input") }).to_string();
    let run = ["run", "plan.json", "--run", "r1", "--input", &input];
    let output = world.haft(&[&run[..], &ALLOW].concat()).output().unwrap();
    world.shown(&output)
}

#[test]
fn contents_of_a_plan_are_kept_until_it_has_ended() {
    let world = World::with_files();
    let shown = begin_plan(&world);
    assert!(shown.contains("node 4 failed"), "{shown}");
    check_holders(&world, true);
    let row = world.run(&["runs", "show", "r1", "--json"]);
    assert!(row.contains(" bytes, SHA-256 ") && row.contains("{{STEPS.4}}"), "{row}");

    // Another process goes on from the record alone.
    world.write("work/cause", "mended");
    let resume = [&["resume", "r1", "--retry-failed"][..], &ALLOW].concat();
    let text = world.run(&resume);
    assert_eq!(world.read("work/b"), format!("{MARKER} of the input"));
    assert!(world.read("work/c").starts_with(MARKER));
    check_holders(&world, false);
    assert!(!world.path("state").join(STORE).join("run-r1").exists());

    // The run is only recalled from here on, which needs no contents.
    assert_eq!(world.run(&["resume", "r1"]), text);
    let again = world.haft(&["resume", "r1", "--json"]).output().unwrap();
    let again = String::from_utf8(again.stdout).unwrap();
    let again: Value = serde_json::from_str(again.lines().last().unwrap()).unwrap();
    assert_eq!(again["trace"]["ending"], "finished", "{again}");
    check_holders(&world, false);
}

#[test]
fn contents_go_with_their_run() {
    let world = World::with_files();
    begin_plan(&world);
    check_holders(&world, true);
    world.run(&["runs", "prune", "--keep-bytes", "0"]);
    check_holders(&world, false);
}

#[test]
fn a_plan_whose_contents_are_lost_says_so() {
    let world = World::with_files();
    begin_plan(&world);
    std::fs::remove_dir_all(world.path("state").join(STORE)).unwrap();
    let shown = world.haft(&["resume", "r1", "--retry-failed"]).output().unwrap();
    let shown = world.shown(&shown);
    assert!(shown.contains("missing from the content store"), "{shown}");
    assert!(shown.contains("--- status 1"), "{shown}");
}

#[test]
fn contents_of_a_session_are_kept_as_long_as_the_session() {
    let patch = format!("*** Begin Patch\n*** Add File: patched\n+{MARKER}\n*** End Patch\n");
    let replies = [
        ScriptedReply::new()
            .call("write", json!({"path": "a", "content": format!("one\n{MARKER}\n")})),
        ScriptedReply::new()
            .call("edit", json!({"path": "a", "old_string": "one", "new_string": MARKER})),
        ScriptedReply::new().call("apply_patch", json!({ "patch": patch })),
        // Not found: the answer may quote what was looked for.
        ScriptedReply::new().call(
            "edit",
            json!({"path": "a", "old_string": format!("two {MARKER}"), "new_string": "x"}),
        ),
        // There is no such tool, so what it was given could be for another one.
        ScriptedReply::new().call("Writer", json!({"path": "b", "text": MARKER})),
        ScriptedReply::new().text("Done."),
        ScriptedReply::new().text("Done again."),
    ];
    let stage = Stage::new(World::with_files(), replies);
    stage.shown(&["--no-snapshots", "agent", "--headless", "Write it."]);
    assert!(stage.world.read("work/a").starts_with(MARKER));
    check_holders(&stage.world, true);

    // Another process reads the session, and tells the model all of it.
    let session = stage.latest();
    assert!(stage.world.run(&["sessions", "export", &session]).contains(MARKER));
    stage.shown(&["--no-snapshots", "agent", "--headless", "--resume", &session, "Go on."]);
    assert!(stage.told(6).matches(MARKER).count() >= 5, "{}", stage.told(6));
    check_holders(&stage.world, true);

    // A fork has the contents, too, when the first session is gone.
    stage.world.run(&["runs", "prune", "--keep-bytes", "0"]);
    check_holders(&stage.world, false);
}

#[test]
fn another_machine_resumes_a_plan_with_contents_from_a_server() {
    let server = Server::shared();
    let world = world_on(&server.url());
    begin_plan(&world);
    assert_eq!(holders(&world.path("state")), Vec::<PathBuf>::new());
    world.write("work/cause", "mended");
    // A state directory of another machine, with the same workspace.
    std::fs::rename(world.path("state"), world.path("other-state")).unwrap();
    world.run(&["trust"]);
    world.run(&[&["resume", "r1", "--retry-failed"][..], &ALLOW].concat());
    assert_eq!(world.read("work/b"), format!("{MARKER} of the input"));
}
