//! `haft diff` and `haft undo`, as a user meets them: each command is a process of its own, and so was each call.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use expect_test::expect;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::world::World;

/// Everything in the working directory, with every byte and bit.
fn listing(world: &World) -> BTreeMap<PathBuf, String> {
    let top = world.path("work");
    let mut listed = BTreeMap::new();
    let mut pending = vec![top.clone()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let metadata = fs::symlink_metadata(&path).unwrap();
            let mode = metadata.permissions().mode() & 0o7777;
            let text = if metadata.is_dir() {
                pending.push(path.clone());
                format!("directory {mode:o}")
            } else if metadata.is_symlink() {
                format!("link to {:?}", fs::read_link(&path).unwrap())
            } else {
                format!("file {mode:o} {:?}", fs::read_to_string(&path).unwrap())
            };
            listed.insert(path.strip_prefix(&top).unwrap().to_path_buf(), text);
        }
    }
    listed
}

fn call(world: &World, tool: &str, input: &str) {
    world.run(&["call", "--run", "r1", tool, input]);
}

const EDIT: &str = r#"{"path":"notes.txt","old_string":"two","new_string":"2"}"#;

/// Deletes, moves, makes and closes things.
const COMMAND: &str = r#"{"cmd":"rm -r src && mv notes.txt moved && mkdir -p made/empty && chmod 700 made && ln -s moved link && printf x > made/x"}"#;

const PATCH: &str = r#"{"patch":"--- a/notes.txt\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-one\n-two\n-three\n--- /dev/null\n+++ b/added\n@@ -0,0 +1 @@\n+new\n"}"#;

/// Undoes what an undo did, whose answer on standard error names it.
fn undo_last(world: &World, args: &[&str]) -> String {
    let undone: Value = world.json(&[&["undo", "--json"], args].concat());
    undone["call"].as_str().unwrap().to_owned()
}

#[test]
fn every_tool_is_undone_and_done_again() {
    let write = r#"{"path":"a/b.txt","content":"x\n"}"#;
    for (tool, input) in
        [("edit", EDIT), ("write", write), ("apply_patch", PATCH), ("bash", COMMAND)]
    {
        let world = World::with_files();
        let before = listing(&world);
        call(&world, tool, input);
        let after = listing(&world);
        assert_ne!(before, after, "{tool}");
        let undo = undo_last(&world, &["r1/main/0/1/1"]);
        assert_eq!(listing(&world), before, "{tool}");
        let redo = undo_last(&world, &[&undo]);
        assert_eq!(listing(&world), after, "{tool}");
        undo_last(&world, &[&redo]);
        assert_eq!(listing(&world), before, "{tool}");
    }
}

#[test]
fn a_change_is_shown() {
    let world = World::with_files();
    call(&world, "edit", EDIT);
    world.check(
        &["diff", "r1/main/0/1/1"],
        &expect![[r#"
            modified notes.txt
            --- a/notes.txt
            +++ b/notes.txt
            @@ -1,3 +1,3 @@
             one
            -two
            +2
             three
            --- status 0
        "#]],
    );
    call(&world, "bash", COMMAND);
    world.check(
        &["diff", "--stat", "r1/main/0/1/2"],
        &expect![[r#"
            added link -> moved  +1 -0
            added made/
            added made/empty/
            added made/x  +1 -0
            added moved  +3 -0
            removed notes.txt  +0 -3
            removed src/
            removed src/main.rs  +0 -3
            --- status 0
        "#]],
    );
    let shown = world.json(&["diff", "--json", "r1/main/0/1/1"]);
    assert_eq!(shown[0]["calls"], serde_json::json!(["r1/main/0/1/1"]));
    assert_eq!(shown[0]["changes"][0]["before"]["mode"], "644");
}

#[test]
fn what_cannot_be_shown_says_why() {
    let world = World::with_files();
    world.check(
        &["diff", "r1"],
        &expect![[r#"
            --- stderr
            error: nothing was recorded yet

            hint: haft runs list
            --- status 2
        "#]],
    );
    call(&world, "read", r#"{"path":"notes.txt"}"#);
    world.run(&["call", "--no-snapshots", "--run", "r1", "edit", EDIT]);
    world.check(
        &["diff", "r1/main/0/1/1"],
        &expect![[r#"
            --- stderr
            error: nothing was recorded of what call r1/main/0/1/1 changed: it only read
            --- status 1
        "#]],
    );
    world.check(
        &["undo", "r1/main/0/1/2"],
        &expect![[r#"
            --- stderr
            error: nothing was recorded of what call r1/main/0/1/2 changed: snapshots were off, or haft died before it could record what it did
            --- status 1
        "#]],
    );
    world.check(
        &["diff", "r1/main/0/1/3"],
        &expect![[r#"
            --- stderr
            error: there is no call r1/main/0/1/3: expected one that haft runs show shows

            hint: haft runs show r1
            --- status 2
        "#]],
    );
    world.check(
        &["undo", "r1"],
        &expect![[r#"
            --- stderr
            nothing was changed, so there is nothing to undo
            --- status 0
        "#]],
    );
}

#[test]
fn what_changed_since_is_in_the_way_unless_it_is_forced() {
    let world = World::with_files();
    let before = listing(&world);
    call(&world, "edit", EDIT);
    call(&world, "write", r#"{"path":"src/main.rs","content":"x\n"}"#);
    world.write("work/notes.txt", "by hand\n");
    fs::remove_file(world.path("work/src/main.rs")).unwrap();
    let changed = listing(&world);
    world.check(
        &["undo", "r1"],
        &expect![[r#"
            --- stderr
            error: nothing was undone, because of these paths:
              notes.txt: it changed since
              src/main.rs: it changed since

            hint: haft undo --force, which overwrites what was changed since
            --- status 1
        "#]],
    );
    world.check(
        &["undo", "--force", "--dry-run", "r1"],
        &expect![[r#"
            undo modified notes.txt
            undo modified src/main.rs
            --- stderr
            nothing was changed: this was a rehearsal
            --- status 0
        "#]],
    );
    assert_eq!(listing(&world), changed);
    let undo = undo_last(&world, &["--force", "r1"]);
    assert_eq!(listing(&world), before);
    // Not even what was overwritten is lost.
    undo_last(&world, &[&undo]);
    assert_eq!(listing(&world), changed);
}

#[test]
fn a_run_goes_back_to_where_it_was() {
    let world = World::with_files();
    let mut states = vec![listing(&world)];
    for (tool, input) in
        [("edit", EDIT), ("bash", COMMAND), ("write", r#"{"path":"moved","content":"y"}"#)]
    {
        call(&world, tool, input);
        states.push(listing(&world));
    }
    undo_last(&world, &["--to", "r1/main/0/1/1"]);
    assert_eq!(listing(&world), states[1]);
    world.check(
        &["undo", "r1"],
        &expect![[r#"
            undo added link -> moved
            undo added made/
            undo added made/empty/
            undo added made/x
            undo added moved
            undo removed notes.txt
            undo removed src/
            undo removed src/main.rs
            --- stderr
            undone by call run_XXXXXXXXXXXXXXXXXXXXXXXXXX/main/0/1/1; to take that back: haft undo run_XXXXXXXXXXXXXXXXXXXXXXXXXX/main/0/1/1
            --- status 0
        "#]],
    );
    assert_eq!(listing(&world), states[0]);
}

#[test]
fn a_command_whose_haft_was_killed_can_be_undone() {
    let world = World::with_files();
    let before = listing(&world);
    let fifo = world.fifo("work/fifo");
    let mut child = world
        .haft(&[
            "call",
            "--run",
            "r1",
            "bash",
            r#"{"cmd":"rm notes.txt; echo > fifo; sleep 1000"}"#,
        ])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // It was opened when the first file was gone.
    fs::read(&fifo).unwrap();
    kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
    child.wait().unwrap();
    fs::remove_file(&fifo).unwrap();
    world.check(
        &["diff", "--stat", "r1/main/0/1/1"],
        &expect![[r#"
            removed fifo (neither a file nor a directory nor a link)  not recorded
            removed notes.txt  +0 -3
            --- stderr
            call r1/main/0/1/1: the state after it is not known: it is not over, or haft died in it
            it is compared with what is there now, whoever changed that
            --- status 0
        "#]],
    );
    let refused = world.haft(&["undo", "r1/main/0/1/1"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    undo_last(&world, &["--force", "r1/main/0/1/1"]);
    assert_eq!(listing(&world), before);
}

#[test]
fn what_was_recorded_is_hidden_and_of_a_place() {
    let world = World::with_files();
    call(&world, "edit", EDIT);
    let stores = world.path("state/snapshots");
    assert_eq!(fs::metadata(&stores).unwrap().permissions().mode() & 0o7777, 0o700);
    let input = format!(r#"{{"cmd":"ls {}"}}"#, stores.display());
    let listed = world.haft(&["call", "--run", "r1", "bash", &input]).output().unwrap();
    assert_ne!(listed.status.code(), Some(0), "{}", world.shown(&listed));

    // In the name of another place, under the same journal.
    fs::rename(world.path("work"), world.path("elsewhere")).unwrap();
    let mut moved = world.haft(&["undo", "r1"]);
    moved.current_dir(world.path("elsewhere"));
    let refused = moved.output().unwrap();
    let shown = world.shown(&refused);
    assert!(shown.contains("if it was moved, move it back"), "{shown}");
}

#[test]
fn only_a_trusted_manifest_decides_what_is_recorded() {
    let world = World::with_files();
    world.write("work/haft.toml", "[snapshots]\nenabled = false\nexclude = [\"notes.txt\"]\n");
    let shown = world.haft(&["call", "--run", "r1", "edit", EDIT]).output().unwrap();
    let shown = world.shown(&shown);
    for words in ["snapshots.enabled = false", r#"snapshots.exclude = ["notes.txt"]"#] {
        assert!(shown.contains(words), "{shown}");
    }
    undo_last(&world, &["r1"]);
    assert_eq!(world.read("work/notes.txt"), "one\ntwo\nthree\n");

    world.run(&["trust", "haft.toml"]);
    world.run(&["call", "--run", "r2", "edit", EDIT]);
    let refused = world.haft(&["undo", "r2/main/0/1/1"]).output().unwrap();
    assert!(world.shown(&refused).contains("snapshots were off"), "{}", world.shown(&refused));
    assert!(Path::new(&world.path("work/notes.txt")).exists());
}
