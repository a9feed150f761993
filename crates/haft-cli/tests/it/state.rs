//! The journal and the state directory: where they are, and what happens when they are not usable.

use expect_test::expect;

use crate::world::{World, names};

const READ: [&str; 3] = ["call", "read", r#"{"path":"notes.txt"}"#];

#[test]
fn the_journal_can_be_elsewhere() {
    let world = World::with_files();
    world.run(&[READ.as_slice(), &["--db", "../mine.sqlite"]].concat());
    assert!(world.path("mine.sqlite").is_file());
    let output = world.haft(&READ).env("HAFT_DB", world.path("yours.sqlite")).output().unwrap();
    assert!(output.status.success());
    assert!(world.path("yours.sqlite").is_file());
    assert_eq!(names(&world.path("state")), Vec::<String>::new());
    world.run(&READ);
    assert!(names(&world.path("state")).contains(&"journal.sqlite".to_owned()));
}

#[test]
fn the_state_is_found_from_the_environment() {
    let world = World::with_files();
    let run = |name: &str, value: &str| {
        let mut command = world.haft(&READ);
        command.env_remove("HAFT_STATE_DIR").env(name, value);
        assert!(command.output().unwrap().status.success());
    };
    run("XDG_STATE_HOME", &world.path("xdg").to_string_lossy());
    assert!(world.path("xdg/haft/journal.sqlite").is_file());
    run("XDG_STATE_HOME", "relative");
    assert!(world.path("home/.local/state/haft/journal.sqlite").is_file());
}

#[test]
fn a_file_that_is_no_journal_is_left_alone() {
    let world = World::with_files();
    world
        .write("state/journal.sqlite", "this is something else entirely, and longer than a header");
    world.check(&READ, &expect![[r#"
        --- stderr
        error: /world/state/journal.sqlite is not a haft journal: it is no SQLite database; name another file
        --- status 2
    "#]]);
    world.check(
        &["runs", "list", "--db", "notes.txt"],
        &expect![[r#"
        --- stderr
        error: notes.txt is not a haft journal: it is no SQLite database; name another file
        --- status 2
    "#]],
    );
    assert_eq!(world.read("work/notes.txt"), "one\ntwo\nthree\n");
}

#[test]
fn nothing_runs_that_cannot_be_recorded() {
    let world = World::with_files();
    world.write("state", "a file where a directory should be");
    world.check(&["call", "write", r#"{"path":"a","content":""}"#], &expect![[r#"
        --- stderr
        error: cannot open journal /world/state/journal.sqlite: Not a directory (os error 20); check that its directory exists and can be written

        hint: export HAFT_STATE_DIR=/path/to/a/writable/directory
        --- status 2
    "#]]);
    assert_eq!(names(&world.path("work")), ["notes.txt", "src"]);
    world.check(&["init"], &expect![[r#"
        --- stderr
        error: the record of trust in /world/state/trust cannot be changed: Not a directory (os error 20)

        hint: export HAFT_STATE_DIR=/path/to/a/writable/directory
        --- status 2
    "#]]);
}

#[test]
fn a_journal_elsewhere_is_kept_from_the_tools_as_well() {
    let world = World::with_files();
    let args = ["call", "--db", "log/j.sqlite", "--allow", "read", "read"];
    let mut wal = world.haft(&[args.as_slice(), &[r#"{"path":"log/j.sqlite-wal"}"#]].concat());
    world.check_command(&mut wal, &expect![[r#"
        --- stderr
        error: log/j.sqlite-wal holds credentials or haft's own state, which no call reads: work without it
        --- status 3
    "#]]);
}

#[test]
fn haft_keeps_its_own_files_from_the_tools() {
    let world = World::with_files();
    world.write("work/haft.toml", "");
    world.run(&READ);
    let of_world = |args: &[&'static str]| {
        let args: Vec<&str> =
            ["call", "--root", "..", "--allow"].iter().chain(args).copied().collect();
        world.haft(&args)
    };
    let read = ["read", "read", r#"{"path":"state/journal.sqlite"}"#];
    world.check_command(&mut of_world(&read), &expect![[r#"
        --- stderr
        error: state/journal.sqlite holds credentials or haft's own state, which no call reads: work without it
        --- status 3
    "#]]);
    let write = ["write", "write", r#"{"path":"state/trust/x","content":""}"#];
    world.check_command(&mut of_world(&write), &expect![[r#"
        --- stderr
        error: state/trust/x holds credentials or haft's own state, which no call reads: work without it
        --- status 3
    "#]]);
    let grep = ["grep", "grep", r#"{"pattern":"x","path":"state"}"#];
    world.check_command(
        &mut of_world(&grep),
        &expect![[r#"
        --- stderr
        error: state holds credentials or haft's own state, which no call reads: work without it
        --- status 3
    "#]],
    );
    let edit = ["write", "write", r#"{"path":"work/haft.toml","content":"preset = \"full\""}"#];
    world.check_command(&mut of_world(&edit), &expect![[r#"
        --- stderr
        error: work/haft.toml is protected by "haft.toml", because others run or obey what it says: leave it, or tell the user what to change
        --- status 3
    "#]]);
    let input = r#"{"path":"work/src/haft.toml","content":""}"#;
    world.check_command(&mut of_world(&["write", "write", input]), &expect![[r#"
        --- stderr
        error: work/src/haft.toml is protected by "haft.toml", because others run or obey what it says: leave it, or tell the user what to change
        --- status 3
    "#]]);
    world.write("work/agent.toml", "");
    let input = r#"{"path":"agent.toml","content":""}"#;
    world.check(&["call", "--config", "agent.toml", "write", input], &expect![[r#"
        --- stderr
        error: agent.toml is protected, because others run or obey what it says: leave it, or tell the user what to change
        --- status 3
    "#]]);
    world.check(&["call", "write", r#"{"path":"haft.toml","content":""}"#], &expect![[r#"
        --- stderr
        error: haft.toml is protected, because others run or obey what it says: leave it, or tell the user what to change
        --- status 3
    "#]]);
}
