//! Undoing what cannot be undone in full, or not at all: what is said of it, and the status that says so.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Stdio;

use expect_test::expect;
use serde_json::Value;

use super::{EDIT, call, listing, undo_last};
use crate::world::World;

#[test]
fn a_run_that_a_living_process_executes_is_not_undone() {
    let world = World::with_files();
    call(&world, "edit", EDIT);
    let fifo = world.fifo("work/fifo");
    let input = r#"{"cmd":"echo > fifo; read line < fifo"}"#;
    let mut running = world.haft(&["call", "--run", "r1", "bash", input]);
    let mut child = running.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    fs::read(&fifo).unwrap();
    for args in [
        ["undo", "--force", "r1"].as_slice(),
        &["undo", "--force", "r1/main/0/1/1"],
        &["undo", "--to", "r1/main/0/1/1"],
    ] {
        let refused = world.haft(args).output().unwrap();
        let shown = world.shown(&refused);
        let text = String::from_utf8_lossy(&refused.stderr);
        let holder = format!("process {} on ", child.id());
        assert!(text.contains(&holder) && text.contains("has run r1"), "{shown}");
        assert_eq!(refused.status.code(), Some(1), "{shown}");
    }
    assert_eq!(world.read("work/notes.txt"), "one\n2\nthree\n");
    fs::write(&fifo, "go on\n").unwrap();
    assert!(child.wait().unwrap().success());
    undo_last(&world, &["r1"]);
    assert_eq!(world.read("work/notes.txt"), "one\ntwo\nthree\n");
}

#[test]
fn calls_of_which_nothing_was_recorded_are_named_and_make_an_undo_partial() {
    let world = World::with_files();
    call(&world, "edit", EDIT);
    let unseen = r#"{"path":"unseen","content":"x\n"}"#;
    world.run(&["call", "--no-snapshots", "--run", "r1", "write", unseen]);
    call(&world, "read", r#"{"path":"notes.txt"}"#);
    world.check(
        &["diff", "--stat", "r1"],
        &expect![[r#"
            modified notes.txt  +1 -1
            --- stderr
            warning: nothing was recorded of what call r1/main/0/1/2 changed: snapshots were off, or haft died before it could record what it did
            --- status 0
        "#]],
    );
    let rehearsed = world.haft(&["undo", "--dry-run", "--json", "r1"]).output().unwrap();
    assert_eq!(rehearsed.status.code(), Some(5));
    let told: Value = serde_json::from_slice(&rehearsed.stdout).unwrap();
    assert_eq!(
        (&told["complete"], &told["unrecorded"][0]["call"]),
        (&Value::from(false), &Value::from("r1/main/0/1/2"))
    );
    world.check(
        &["undo", "r1"],
        &expect![[r#"
            restored notes.txt
            --- stderr
            warning: nothing was recorded of what call r1/main/0/1/2 changed: snapshots were off, or haft died before it could record what it did
            warning: partly undone: nothing is known of what 1 call changed
            undone by call run_XXXXXXXXXXXXXXXXXXXXXXXXXX/main/0/1/1; to take that back: haft undo run_XXXXXXXXXXXXXXXXXXXXXXXXXX/main/0/1/1
            --- status 5
        "#]],
    );
    // All later changes are known in full.
    assert_eq!(world.run(&["undo", "--to", "r1/main/0/1/2"]), "");
}

#[test]
fn only_what_is_brought_back_is_listed_as_undone() {
    let world = World::with_files();
    world.fifo("work/pipe");
    world.write("work/haft.toml", "[snapshots]\nfile_bytes = 20\n");
    world.run(&["trust", "haft.toml"]);
    let large = "a line that is longer than what is recorded\n";
    world.write("work/large", large);
    let input = r#"{"cmd":"rm pipe notes.txt; echo more >> large; mkdir made; echo x > made/x"}"#;
    call(&world, "bash", input);
    world.write("work/made/other", "by hand");
    for args in [["undo", "--dry-run", "r1"].as_slice(), &["undo", "r1"]] {
        world.check(
            args,
            &if args.len() == 3 {
                expect![[r#"
                    would remove made/x
                    would bring back notes.txt
                    --- stderr
                    warning: would be partly undone: 3 of 5 paths are not as before
                    large stays: it was not recorded: larger than files may be
                    pipe does not come back: it was not recorded: neither a file nor a directory nor a link
                    made stays: something that is not to be removed is in it
                    nothing was changed yet: this is what `haft undo r1` would do
                    --- status 5
                "#]]
            } else {
                expect![[r#"
                    removed made/x
                    brought back notes.txt
                    --- stderr
                    warning: partly undone: 3 of 5 paths are not as before
                    large stays: it was not recorded: larger than files may be
                    pipe does not come back: it was not recorded: neither a file nor a directory nor a link
                    made stays: something that is not to be removed is in it
                    undone by call run_XXXXXXXXXXXXXXXXXXXXXXXXXX/main/0/1/1; to take that back: haft undo run_XXXXXXXXXXXXXXXXXXXXXXXXXX/main/0/1/1
                    --- status 5
                "#]]
            },
        );
    }
    assert_eq!(world.read("work/large"), format!("{large}more\n"));
    assert!(world.path("work/made/other").exists() && !world.path("work/pipe").exists());
}

#[test]
fn what_is_as_before_already_is_no_undo() {
    let world = World::with_files();
    call(&world, "edit", EDIT);
    undo_last(&world, &["r1"]);
    let runs = world.run(&["runs", "list"]);
    world.check(
        &["undo", "r1"],
        &expect![[r#"
            --- stderr
            all of it is as before already
            --- status 0
        "#]],
    );
    assert_eq!(world.run(&["runs", "list"]), runs);
}

#[test]
fn what_was_recorded_of_a_directory_that_grew_too_large_comes_back() {
    let world = World::with_files();
    world.write("work/.gitignore", "ign/\n");
    world.write("work/ign/i", "old\n");
    world.write("work/ign/gone", "old\n");
    world.write("work/ign/same", "same\n");
    let input =
        r#"{"cmd":"echo new > ign/i; rm ign/gone; for n in $(seq 1200); do : > ign/n$n; done"}"#;
    call(&world, "bash", input);
    let after = listing(&world);
    world.check(
        &["diff", "r1"],
        &expect![[r#"
            unknown ign: after the call it was not recorded (ignored, and larger than ignored things may be)
            --- status 0
        "#]],
    );
    world.check(
        &["undo", "r1"],
        &expect![[r#"
            brought back ign/gone
            brought back ign/i
            --- stderr
            warning: partly undone: 1 of 3 paths is not as before
            ign keeps what came into it: it became too large to be recorded
            undone by call run_XXXXXXXXXXXXXXXXXXXXXXXXXX/main/0/1/1; to take that back: haft undo run_XXXXXXXXXXXXXXXXXXXXXXXXXX/main/0/1/1
            --- status 5
        "#]],
    );
    assert_eq!(
        (world.read("work/ign/i"), world.read("work/ign/gone")),
        ("old\n".into(), "old\n".into())
    );
    assert!(world.path("work/ign/n7").exists());
    let listed: Value = world.json(&["runs", "list", "--json"]);
    let undo = listed
        .as_array()
        .unwrap()
        .iter()
        .find_map(|run| run["id"].as_str().filter(|id| id.starts_with("run_")));
    undo_last(&world, &[undo.unwrap()]);
    assert_eq!(listing(&world), after);
}

#[test]
fn names_that_break_lines_are_quoted() {
    let world = World::with_files();
    call(
        &world,
        "bash",
        r#"{"cmd":"printf x > \"$(printf 'a\\nremoved b\\033')\"; ln -s \"$(printf 'x\\ny')\" link"}"#,
    );
    world.check(
        &["diff", "r1"],
        &expect![[r#"
            added "a\nremoved b\033"
            --- /dev/null
            +++ "b/a\nremoved b\033"
            @@ -0,0 +1 @@
            +x
            \ No newline at end of file
            added link -> "x\ny"
            --- /dev/null
            +++ b/link
            @@ -0,0 +1,2 @@
            +x
            +y
            \ No newline at end of file
            --- status 0
        "#]],
    );
    fs::write(world.path("work/a\nremoved b\u{1b}"), "changed").unwrap();
    world.check(
        &["undo", "r1"],
        &expect![[r#"
            --- stderr
            error: nothing was undone, because of these paths:
              "a\nremoved b\033": it changed since

            hint: haft undo --force r1
            --- status 1
        "#]],
    );
}

#[test]
fn a_root_that_is_reached_by_a_link_is_another_place() {
    let world = World::with_files();
    call(&world, "edit", EDIT);
    fs::rename(world.path("work"), world.path("elsewhere")).unwrap();
    symlink("elsewhere", world.path("work")).unwrap();
    let refused = world.haft(&["undo", "r1"]).output().unwrap();
    let shown = world.shown(&refused);
    assert!(shown.contains("reached by a link") && refused.status.code() == Some(1), "{shown}");
    assert_eq!(world.read("elsewhere/notes.txt"), "one\n2\nthree\n");
}

#[test]
fn what_git_changed_for_itself_is_named_and_not_undone() {
    let world = World::with_files();
    let git = |args: &[&str]| {
        let command = std::process::Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@example.org"])
            .args(args)
            .current_dir(world.path("work"))
            .output()
            .unwrap();
        assert!(command.status.success(), "{command:?}");
        String::from_utf8(command.stdout).unwrap()
    };
    git(&["init", "-q", "-b", "main"]);
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "first"]);
    let commit = r#"{"cmd":"echo four >> notes.txt && git -c user.name=a -c user.email=a@example.org commit -qam second"}"#;
    world.run(&["call", "--run", "r1", "bash", commit]);
    world.check(
        &["diff", "r1/main/0/1/1"],
        &expect![[r#"
        unknown .git was changed and is not recorded (refs, the index, objects)
        modified notes.txt
        --- a/notes.txt
        +++ b/notes.txt
        @@ -1,3 +1,4 @@
         one
         two
         three
        +four
        --- status 0
    "#]],
    );
    world.check(&["undo", "r1/main/0/1/1"], &expect![[r#"
        restored notes.txt
        --- stderr
        warning: partly undone: git's own files were changed, which are not recorded
        .git was changed and is not recorded (refs, the index, objects): it stays as it is
        undone by call run_XXXXXXXXXXXXXXXXXXXXXXXXXX/main/0/1/1; to take that back: haft undo run_XXXXXXXXXXXXXXXXXXXXXXXXXX/main/0/1/1
        --- status 5
    "#]]);
    assert_eq!(git(&["log", "--format=%s"]), "second\nfirst\n");
    assert_eq!(world.read("work/notes.txt"), "one\ntwo\nthree\n");
    // A command that only looks changes nothing.
    world.run(&["call", "--run", "r2", "bash", r#"{"cmd":"git status && git log && git diff"}"#]);
    let output = world.haft(&["diff", "r2"]).output().unwrap();
    let shown = world.shown(&output);
    assert!(!shown.contains("not recorded"), "{shown}");
}
