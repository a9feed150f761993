//! `haft log`, and the names of runs and calls: short ids, `last`, `last~1` and `last/5`, wherever a run or a call is named.

use expect_test::expect;
use serde_json::{Value, json};

use crate::mcp_wire::driver::{Place, Server};
use crate::world::World;

/// Makes a call in a new run, and returns the run.
fn call(world: &World, args: &[&str]) -> String {
    let args: Vec<&str> = ["call", "--json"].iter().chain(args).copied().collect();
    let output = world.haft(&args).output().unwrap();
    let envelope: Value = serde_json::from_slice(&output.stdout).unwrap();
    let call = envelope["metadata"]["call_id"].as_str().unwrap();
    call.split('/').next().unwrap().to_owned()
}

/// Returns the fields of each listed run.
fn log(world: &World, args: &[&str]) -> Vec<Value> {
    let args: Vec<&str> = ["log", "--json"].iter().chain(args).copied().collect();
    world.json(&args).as_array().unwrap().clone()
}

fn runs(listed: &[Value]) -> Vec<&str> {
    listed.iter().map(|run| run["run"].as_str().unwrap()).collect()
}

#[test]
fn a_run_is_one_line_with_its_files_and_refusals() {
    let world = World::with_files();
    let in_run = |args: &[&str]| {
        let args: Vec<&str> = ["call", "--run", "r1"].iter().chain(args).copied().collect();
        world.haft(&args).output().unwrap();
    };
    in_run(&["write", "path=one.txt", "content=a\nb\n"]);
    in_run(&["edit", "path=notes.txt", "old_string=two", "new_string=2"]);
    in_run(&["bash", "cmd=ls", "--preset", "ask"]);
    in_run(&["read", "path=missing"]);
    let shown = world.run(&["log"]);
    assert!(
        shown.contains("  cli  4 calls  1 refused 1 failed  notes.txt one.txt  +3 \u{2212}1  r1\n"),
        "{shown}"
    );
    assert_eq!(shown.lines().count(), 1, "{shown}");
    let listed = log(&world, &[]);
    let run = &listed[0];
    assert_eq!(run["files"], serde_json::json!(["notes.txt", "one.txt"]));
    assert_eq!((&run["lines_added"], &run["lines_removed"]), (&3.into(), &1.into()));
    assert_eq!((&run["calls"], &run["refused"], &run["failed"]), (&4.into(), &1.into(), &1.into()));
    assert_eq!(run["undone"], false);
}

#[test]
fn the_list_is_about_this_workspace_and_can_be_narrowed() {
    let world = World::with_files();
    let wrote = call(&world, &["write", "path=src/new.rs", "content=x\n"]);
    let read = call(&world, &["read", "path=notes.txt"]);
    world.write("other/a.txt", "a\n");
    let mut elsewhere = world.haft(&["call", "read", "path=a.txt"]);
    assert!(elsewhere.current_dir(world.path("other")).output().unwrap().status.success());
    assert_eq!(runs(&log(&world, &[])), [read.as_str(), wrote.as_str()]);
    assert_eq!(log(&world, &["--all"]).len(), 3);
    assert_eq!(runs(&log(&world, &["--limit", "1"])), [read.as_str()]);
    assert_eq!(runs(&log(&world, &["src"])), [wrote.as_str()]);
    assert_eq!(runs(&log(&world, &["src/new.rs", "--agent", "cli"])), [wrote.as_str()]);
    assert!(log(&world, &["notes.txt"]).is_empty());
    assert!(log(&world, &["--agent", "claude"]).is_empty());
    assert!(log(&world, &["--since", "2100-01-01"]).is_empty());
    assert_eq!(log(&world, &["--since", "yesterday"]).len(), 2);
    world.check(
        &["log", "--agent", "claude"],
        &expect![[r#"
            --- stderr
            no such run of this workspace is in the journal /world/state/journal.sqlite; other workspaces: haft log --all
            --- status 0
        "#]],
    );
}

#[test]
fn a_run_is_known_by_the_beginning_of_its_id() {
    let world = World::with_files();
    let run = call(&world, &["read", "path=notes.txt"]);
    let other = call(&world, &["write", "path=a", "content=b"]);
    let short = |run: &str| {
        let listed = log(&world, &[]);
        let found = listed.iter().find(|it| it["run"] == run).unwrap();
        found["id"].as_str().unwrap().to_owned()
    };
    for known in [&run, &other] {
        let short = short(known);
        assert!(short.len() < 6 && known.contains(&short), "{short} of {known}");
        assert_eq!(world.json(&["show", &short, "--json"])["run"]["id"], known.as_str());
        assert_eq!(world.json(&["runs", "show", &short, "--json"])["run"]["id"], known.as_str());
        assert_eq!(
            world.json(&["show", &format!("{short}/1"), "--json"])["call"],
            format!("{known}/main/0/1/1")
        );
        let exported = world.run(&["runs", "export", &short]);
        assert!(exported.lines().count() >= 2 && !exported.contains("\"status\":\"failed\""));
    }
    let diff = world.run(&["diff", &short(&other)]);
    assert!(diff.contains("added a"), "{diff}");
    world.run(&["undo", &format!("{}/1", short(&other))]);
    assert!(!world.path("work/a").exists());
    world.check(
        &["show", "zzzz"],
        &expect![[r#"
            --- stderr
            error: no run is called "zzzz"

            hint: haft log
            --- status 2
        "#]],
    );
}

#[test]
fn an_ambiguous_name_lists_what_it_may_mean() {
    let world = World::with_files();
    for run in ["nightly-a", "nightly-b"] {
        world.run(&["call", "--run", run, "read", "path=notes.txt"]);
    }
    world.check(
        &["show", "night"],
        &expect![[r#"
            --- stderr
            error: run "night" is ambiguous, because 2 ids begin so:
              nightly-a
              nightly-b

            hint: haft log
            --- status 2
        "#]],
    );
    // A whole id is never ambiguous.
    world.run(&["call", "--run", "nightly", "read", "path=notes.txt"]);
    assert_eq!(world.json(&["show", "nightly", "--json"])["run"]["id"], "nightly");
}

#[test]
fn last_counts_back_and_skips_undos() {
    let world = World::with_files();
    let first = call(&world, &["write", "path=a", "content=1"]);
    let second = call(&world, &["write", "path=b", "content=2"]);
    let run_of = |name: &str| world.json(&["show", name, "--json"])["run"]["id"].clone();
    assert_eq!(world.json(&["show", "--json"])["run"]["id"], second.as_str());
    assert_eq!(
        (run_of("last"), run_of("last~0"), run_of("last~1")),
        (second.clone().into(), second.clone().into(), first.clone().into())
    );
    assert_eq!(world.json(&["show", "last~1/1", "--json"])["call"], format!("{first}/main/0/1/1"));
    // Without a name, the last run is meant.
    assert!(world.run(&["diff", "--stat"]).starts_with("added b"));
    world.run(&["undo"]);
    assert!(!world.path("work/b").exists() && world.path("work/a").exists());
    // An undo is no work: the same run is still the last.
    assert_eq!(run_of("last"), second.as_str());
    let listed = log(&world, &[]);
    assert_eq!(runs(&listed), [second.as_str(), first.as_str()]);
    assert_eq!((&listed[0]["undone"], &listed[1]["undone"]), (&true.into(), &false.into()));
    assert_eq!(log(&world, &["--internal"]).len(), 3);
    let shown = world.run(&["log"]);
    assert!(shown.lines().next().unwrap().contains("  undone  "), "{shown}");
    world.check(
        &["show", "last~7"],
        &expect![[r#"
            --- stderr
            error: there is no run last~7 in this workspace: it has fewer

            hint: haft log
            --- status 2
        "#]],
    );
    world.check(
        &["show", "last~x"],
        &expect![[r#"
            --- stderr
            error: "last~x" is not valid: expected last~ and a number, such as last~1

            hint: haft log
            --- status 2
        "#]],
    );
    world.check(
        &["undo", "last/9"],
        &expect![[r#"
            --- stderr
            error: run run_XXXXXXXXXXXXXXXXXXXXXXXXXX has no call 9

            hint: haft show run_XXXXXXXXXXXXXXXXXXXXXXXXXX
            --- status 2
        "#]],
    );
}

#[test]
fn nothing_recorded_yet_is_said_with_the_journal() {
    let world = World::with_files();
    world.check(
        &["log"],
        &expect![[r#"
            --- stderr
            no such run of this workspace is in the journal /world/state/journal.sqlite; other workspaces: haft log --all
            --- status 0
        "#]],
    );
    assert!(!world.path("state/journal.sqlite").exists());
    world.check(
        &["show"],
        &expect![[r#"
            --- stderr
            error: there is no run in this workspace yet

            hint: haft log
            --- status 2
        "#]],
    );
}

#[test]
fn the_client_of_a_connection_is_named() {
    let place = Place::new();
    place.write("a.txt", "x\n");
    let mut server = Server::start_legacy(&place, &[]);
    server.call("read", json!({"path": "a.txt"}));
    server.end();
    let listed = place.haft_json(&["log", "--json"]);
    assert_eq!((&listed[0]["client"], &listed[0]["front_end"]), (&"lines".into(), &"mcp".into()));
    assert_eq!(place.haft_json(&["log", "--json", "--agent", "li"]), listed);
    let run = listed[0]["id"].as_str().unwrap();
    let shown = place.haft_json(&["show", run, "--json"]);
    assert_eq!(shown["run"]["settings"]["client"], "lines");
}
