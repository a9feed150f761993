//! `haft diff` and `haft undo`, as a user meets them: each command is a separate process, and so was each call.

mod partly;
mod repositories;

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

            hint: haft log
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
            error: there is no call r1/main/0/1/3 in the journal

            hint: haft runs show r1
            --- status 2
        "#]],
    );
    world.check(
        &["undo", "r1"],
        &expect![[r#"
            --- stderr
            warning: nothing was recorded of what call r1/main/0/1/2 changed: snapshots were off, or haft died before it could record what it did
            warning: nothing can be undone: nothing is known of what 1 call changed
            --- status 5
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

            hint: haft undo --force r1
            --- status 1
        "#]],
    );
    world.check(
        &["undo", "--force", "--dry-run", "r1"],
        &expect![[r#"
            would restore notes.txt
            would restore src/main.rs
            --- stderr
            nothing was changed yet: this is what `haft undo --force r1` would do
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
            brought back notes.txt
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
            it is compared with the present files, which anything may have changed
            --- status 0
        "#]],
    );
    let refused = world.haft(&["undo", "r1/main/0/1/1"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    // The pipe was there before, and haft cannot bring it back.
    let undone = world.haft(&["undo", "--force", "r1/main/0/1/1"]).output().unwrap();
    assert_eq!(undone.status.code(), Some(5), "{}", world.shown(&undone));
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

#[test]
fn a_journal_in_the_root_is_neither_recorded_nor_undone() {
    let world = World::with_files();
    let db = ["--db", "log/j.sqlite"];
    let run = |args: &[&str]| world.run(&[args, &db].concat());
    run(&["call", "--run", "r1", "bash", r#"{"cmd":"echo > log/plain"}"#]);
    run(&["call", "--run", "r1", "edit", EDIT]);
    let shown = run(&["diff", "--stat", "r1"]);
    assert_eq!(shown, "added log/plain  +1 -0\nmodified notes.txt  +1 -1\n");
    // If the end of a call is not recorded, the call is compared with the present files, the journal's own growth included.
    let fifo = world.fifo("work/fifo");
    let input = r#"{"cmd":"rm src/main.rs; echo > fifo; sleep 1000"}"#;
    let args = [&["call", "--run", "r1", "bash", input], db.as_slice()].concat();
    let mut child = world.haft(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    fs::read(&fifo).unwrap();
    kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
    child.wait().unwrap();
    run(&["undo", "--force", "r1/main/0/1/3"]);
    assert!(world.path("work/src/main.rs").exists());
    let rows = run(&["runs", "show", "r1", "--json"]);
    let rows: Value = serde_json::from_str(&rows).unwrap();
    assert_eq!(rows["calls"].as_array().unwrap().len(), 3);
    run(&["runs", "verify"]);
}

/// Whether any file beneath a directory holds these bytes.
fn is_kept(directory: &Path, bytes: &[u8]) -> bool {
    let mut pending = vec![directory.to_path_buf()];
    while let Some(path) = pending.pop() {
        if path.is_dir() {
            pending.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else if fs::read(path).unwrap().windows(bytes.len()).any(|found| found == bytes) {
            return true;
        }
    }
    false
}

#[test]
fn no_credentials_are_copied_when_the_root_is_the_home_directory() {
    let world = World::with_files();
    for path in ["home/.ssh/id_ed25519", "home/.aws/credentials", "home/plain"] {
        world.write(path, &format!("the text of {path}"));
    }
    world.run(&["call", "--root", "../home", "--run", "r1", "bash", r#"{"cmd":"echo > made"}"#]);
    let stores = world.path("state/snapshots");
    assert!(is_kept(&stores, b"the text of home/plain"));
    assert!(
        !is_kept(&stores, b"the text of home/.ssh") && !is_kept(&stores, b"the text of home/.aws")
    );
}

#[test]
fn what_the_settings_record_is_kept_through_an_undo_as_well() {
    let world = World::with_files();
    world.write("work/.gitignore", "*.log\n");
    world.write("work/haft.toml", "[snapshots]\nignored_bytes = 20000000\n");
    world.run(&["trust", "haft.toml"]);
    let before = listing(&world);
    // More than is recorded of ignored files by itself.
    call(&world, "bash", r#"{"cmd":"head -c 9000000 /dev/zero > a.log; rm notes.txt"}"#);
    let size = || fs::metadata(world.path("work/a.log")).unwrap().len();
    assert_eq!(size(), 9_000_000);
    let undo = undo_last(&world, &["r1"]);
    assert_eq!(listing(&world), before);
    undo_last(&world, &[&undo]);
    assert_eq!(size(), 9_000_000);
}

#[test]
fn what_cannot_be_recorded_is_not_overwritten() {
    let world = World::with_files();
    call(&world, "edit", EDIT);
    world.write("work/haft.toml", "[snapshots]\nfile_bytes = 4\n");
    world.run(&["trust", "haft.toml"]);
    let text = "longer by hand than any state of it that was recorded\n";
    world.write("work/notes.txt", text);
    world.check(
        &["undo", "--force", "r1"],
        &expect![[r#"
            --- stderr
            error: nothing was undone, because what is at these paths now cannot be recorded, and would be lost for good; move it away, or raise file_bytes in [snapshots] of a trusted manifest if it is too large:
              notes.txt: larger than files may be
            --- status 1
        "#]],
    );
    assert_eq!(world.read("work/notes.txt"), text);
    // A path that was recorded once is recorded again, whatever the settings say by now.
    world.write("work/notes.txt", "one\n2\nthree\n");
    let undo = undo_last(&world, &["r1"]);
    assert_eq!(world.read("work/notes.txt"), "one\ntwo\nthree\n");
    undo_last(&world, &[&undo]);
    assert_eq!(world.read("work/notes.txt"), "one\n2\nthree\n");
}

#[test]
fn a_run_with_a_call_in_doubt_is_removed_only_if_that_is_said() {
    let world = World::with_files();
    call(&world, "edit", EDIT);
    let fifo = world.fifo("work/fifo");
    let input = r#"{"cmd":"rm notes.txt; echo > fifo; sleep 1000"}"#;
    let mut killed = world.haft(&["call", "--run", "r2", "bash", input]);
    let mut child = killed.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    fs::read(&fifo).unwrap();
    kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
    child.wait().unwrap();
    let prune = ["runs", "prune", "--older-than", "0s"];
    world.check(
        &prune,
        &expect![[r#"
            r1
            --- stderr
            kept 1 run with calls in doubt, which haft runs show lists and --in-doubt removes: r2
            removed 1 run with 1 call and 0 kept outputs
            --- status 0
        "#]],
    );
    let kept = world.json(&[prune.as_slice(), &["--dry-run", "--json"]].concat());
    assert_eq!(
        (&kept["runs"], &kept["kept_in_doubt"]),
        (&serde_json::json!([]), &serde_json::json!(["r2"]))
    );
    // Calls whose records are kept can still be undone.
    fs::remove_file(&fifo).unwrap();
    let undone = world.haft(&["undo", "--force", "r2"]).output().unwrap();
    assert_eq!(undone.status.code(), Some(5), "{}", world.shown(&undone));
    assert!(world.path("work/notes.txt").exists());
    let gone: Value = world.json(&[prune.as_slice(), &["--in-doubt", "--json"]].concat());
    assert!(gone["runs"].as_array().unwrap().contains(&Value::from("r2")), "{gone}");
}
