//! `haft runs`: what is told of what was recorded, and following it.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use expect_test::expect;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::world::{World, names};

fn world_with_run() -> World {
    let world = World::with_files();
    let call = |args: &[&str]| {
        let args: Vec<&str> = ["call", "--run", "r1"].iter().chain(args).copied().collect();
        world.haft(&args).output().unwrap();
    };
    call(&["read", r#"{"path":"notes.txt"}"#]);
    call(&["write", r#"{"path":"a","content":"not to be kept"}"#]);
    call(&["bash", r#"{"cmd":"ls"}"#, "--preset", "ask"]);
    call(&["read", r#"{"path":"missing"}"#]);
    call(&["raed", r#"{"path":"notes.txt"}"#]);
    world
}

#[test]
fn list_and_show() {
    let world = world_with_run();
    world.check(
        &["runs", "list"],
        &expect![[r#"
            RUN  STARTED                   BY   CALLS  FAILED  REFUSED  OPEN  UNKNOWN  HOLDER  ROOT
            r1   2000-01-01T00:00:00.000Z  cli  5      1       2        0     0        -       /world/work
            --- status 0
        "#]],
    );
    world.check(&["runs", "list", "--json"], &expect![[r#"
        [{"id":"r1","front_end":"cli","root":"/world/work","version":"VERSION","started_at_ms":0,"last_call_at_ms":0,"calls":5,"failed":1,"refused":2,"intended":0,"unknown":0,"settings":{},"holder":null}]
        --- status 0
    "#]]);
    world.check(&["runs", "show", "r1"], &expect![[r#"
        A retry (attempt 2 of main/0) would be warned of 1 call not safe to repeat:
          write  main/0/1/2  succeeded

        run       r1
        root      /world/work
        begun     2000-01-01T00:00:00.000Z by cli, haft VERSION

        CALL        TOOL   STATUS     STARTED                   MS  CODE               INPUT
        main/0/1/1  read   succeeded  2000-01-01T00:00:00.000Z  0  -                  {"path":"notes.txt"}
        main/0/1/2  write  succeeded  2000-01-01T00:00:00.000Z  0  -                  {"content":{"bytes":14,"sha256":"af4de786a88392d7380935d8c13…
        main/0/1/3  bash   refused    2000-01-01T00:00:00.000Z  0  PERMISSION_DENIED  {"cmd":"ls"}
        main/0/1/4  read   failed     2000-01-01T00:00:00.000Z  0  TOOL_PATH_INVALID  {"path":"missing"}
        main/0/1/5  raed   refused    2000-01-01T00:00:00.000Z  0  TOOL_NOT_FOUND     {"bytes":20,"sha256":"327e09780c8ca587a9edeb9d363553cc8b785f…
        --- status 0
    "#]]);
    world.check(&["runs", "show", "r1", "--limit", "2"], &expect![[r#"
        A retry (attempt 2 of main/0) would be warned of 1 call not safe to repeat:
          write  main/0/1/2  succeeded

        run       r1
        root      /world/work
        begun     2000-01-01T00:00:00.000Z by cli, haft VERSION

        CALL        TOOL   STATUS     STARTED                   MS  CODE  INPUT
        main/0/1/1  read   succeeded  2000-01-01T00:00:00.000Z  0  -     {"path":"notes.txt"}
        main/0/1/2  write  succeeded  2000-01-01T00:00:00.000Z  0  -     {"content":{"bytes":14,"sha256":"af4de786a88392d7380935d8c13…
        --- stderr
        3 further calls are not shown
        --- status 0
    "#]]);
}

#[test]
fn show_as_json_has_everything_but_bodies() {
    let shown = world_with_run().run(&["runs", "show", "r1", "--json"]);
    assert!(!shown.contains("not to be kept"), "{shown}");
    let shown: Value = serde_json::from_str(&shown).unwrap();
    let tools: Vec<&str> = shown["calls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|call| call["tool"].as_str().unwrap())
        .collect();
    assert_eq!(tools, ["read", "write", "bash", "read", "raed"]);
    assert_eq!(shown["run"]["id"], "r1");
    assert_eq!(shown["calls"][1]["input"]["content"]["bytes"], 14);
}

#[test]
fn nothing_recorded_is_nothing_made() {
    let world = World::new();
    world.check(
        &["runs", "list"],
        &expect![[r#"
        --- stderr
        no runs were recorded yet
        --- status 0
    "#]],
    );
    world.check(
        &["runs", "list", "--json"],
        &expect![[r#"
        []
        --- status 0
    "#]],
    );
    world.check(
        &["runs", "show", "r1"],
        &expect![[r#"
        --- stderr
        error: no run is called "r1"

        hint: haft runs list
        --- status 2
    "#]],
    );
    assert_eq!(names(&world.path("state")), Vec::<String>::new());
}

#[test]
fn a_run_that_is_not_there_is_a_matter_of_usage() {
    let world = world_with_run();
    world.check(
        &["runs", "show", "r2"],
        &expect![[r#"
        --- stderr
        error: no run is called "r2"

        hint: haft runs list
        --- status 2
    "#]],
    );
    world.check(
        &["runs", "show", "r 2"],
        &expect![[r#"
        --- stderr
        error: run "r 2" is not valid: expected 1 to 128 letters, digits and the characters . _ - :
        --- status 2
    "#]],
    );
}

#[test]
fn tail_follows_and_ends_when_interrupted() {
    let world = world_with_run();
    let mut tail = world
        .haft(&["runs", "tail", "r1", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(tail.stdout.take().unwrap()).lines();
    let mut next = || {
        let row: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        format!("{} {}", row["tool"].as_str().unwrap(), row["status"].as_str().unwrap())
    };
    let past: Vec<String> = (0..5).map(|_| next()).collect();
    assert_eq!(
        past,
        ["read succeeded", "write succeeded", "bash refused", "read failed", "raed refused"]
    );
    world.run(&["call", "grep", r#"{"pattern":"two"}"#]);
    world.run(&["call", "glob", r#"{"pattern":"*"}"#, "--run", "r1"]);
    assert_eq!(next(), "glob succeeded");
    kill_process(Pid::from_child(&tail), Signal::INT).unwrap();
    assert_eq!(tail.wait().unwrap().code(), Some(0));
}

#[test]
fn tail_ends_when_nobody_reads() {
    let world = world_with_run();
    let mut tail = world.haft(&["runs", "tail"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let mut stdout = BufReader::new(tail.stdout.take().unwrap());
    stdout.read_line(&mut line).unwrap();
    drop(stdout);
    assert_eq!(tail.wait().unwrap().code(), Some(0));
}
