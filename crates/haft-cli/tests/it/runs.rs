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
        run       r1
        root      /world/work
        begun     2000-01-01T00:00:00.000Z by cli, haft VERSION
        retry     attempt 2 of main/0 would be warned of 1 call not safe to repeat

        CALL           TOOL   STATUS     STARTED                   MS  CODE               INPUT
        r1/main/0/1/1  read   succeeded  2000-01-01T00:00:00.000Z  0  -                  notes.txt
        r1/main/0/1/2  write  succeeded  2000-01-01T00:00:00.000Z  0  -                  a  content=14 bytes
        r1/main/0/1/3  bash   refused    2000-01-01T00:00:00.000Z  0  PERMISSION_DENIED  ls
        r1/main/0/1/4  read   failed     2000-01-01T00:00:00.000Z  0  TOOL_PATH_INVALID  missing
        r1/main/0/1/5  raed   refused    2000-01-01T00:00:00.000Z  0  TOOL_NOT_FOUND     20 bytes
        --- status 0
    "#]]);
    world.check(
        &["runs", "show", "r1", "--limit", "2"],
        &expect![[r#"
            run       r1
            root      /world/work
            begun     2000-01-01T00:00:00.000Z by cli, haft VERSION
            retry     attempt 2 of main/0 would be warned of 1 call not safe to repeat

            CALL           TOOL  STATUS   STARTED                   MS  CODE               INPUT
            r1/main/0/1/4  read  failed   2000-01-01T00:00:00.000Z  0  TOOL_PATH_INVALID  missing
            r1/main/0/1/5  raed  refused  2000-01-01T00:00:00.000Z  0  TOOL_NOT_FOUND     20 bytes

            The run has calls before these: haft runs show r1 --before r1/main/0/1/4
            --- stderr
            3 calls that were recorded before these are not shown
            --- status 0
        "#]],
    );
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
fn one_call_is_shown_with_all_that_was_recorded_of_it() {
    let world = world_with_run();
    let shown = world.run(&["runs", "show", "r1/main/0/1/2"]);
    for text in [
        "\nsnapshot  ",
        " before, ",
        "\naccesses:\n  {\"capability\":",
        "\ndetails:\n",
        "\nanswer:\n  ok\n",
    ] {
        assert!(shown.contains(text), "{text:?} in {shown}");
    }
    assert!(!shown.contains("not to be kept"), "{shown}");
    world.check(
        &["runs", "show", "r1", "main/0/1/4"],
        &expect![[r#"
            call      r1/main/0/1/4
            tool      read
            effect    read
            status    failed
            started   2000-01-01T00:00:00.000Z
            finished  2000-01-01T00:00:00.000Z, in 0 ms
            epoch     4
            key       db5d5549c11ebbf32cb628f2589111d03cd4e7350fb3811cbc74ecbcbb38c58c
            idempotency key haft_KEY

            input:
              {
                "path": "missing"
              }

            accesses:
              {"capability":"fs.read","path":"missing"}

            error:
              path "missing" does not exist: use glob to find it

            metadata:
              {
                "duration_ms": 0,
                "call_id": "r1/main/0/1/4",
                "code": "TOOL_PATH_INVALID"
              }
            --- status 0
        "#]],
    );
    let shown = world.json(&["runs", "show", "r1", "main/0/1/1", "--json"]);
    assert_eq!(shown["call"], "r1/main/0/1/1");
    assert_eq!(shown["envelope"]["data"], "one\ntwo\nthree\n");
    assert_eq!(shown["in_doubt"], false);
}

#[test]
fn a_call_that_is_not_there_says_what_is_missing() {
    let world = world_with_run();
    world.check(
        &["runs", "show", "r1", "main/0/1/9"],
        &expect![[r#"
        --- stderr
        error: run r1 has no call r1/main/0/1/9

        hint: haft runs show r1
        --- status 2
    "#]],
    );
    world.check(
        &["runs", "show", "r2/main/0/1/9"],
        &expect![[r#"
        --- stderr
        error: no run is called "r2"

        hint: haft log
        --- status 2
    "#]],
    );
    world.check(
        &["runs", "show", "r1", "9"],
        &expect![[r#"
        --- stderr
        error: run r1 has no call 9

        hint: haft show r1
        --- status 2
    "#]],
    );
}

#[test]
fn what_was_undone_is_named() {
    let world = World::with_files();
    world.run(&["call", "--run", "r1", "write", r#"{"path":"a","content":"1"}"#]);
    world.run(&["undo", "r1/main/0/1/1"]);
    let undone = world.json(&["runs", "show", "r1", "--json"])["undone"].clone();
    assert_eq!(undone[0]["of"], "r1/main/0/1/1");
    assert_eq!(undone.as_array().unwrap().len(), 1);
    for name in ["r1", "r1/main/0/1/1"] {
        let shown = world.run(&["runs", "show", name]);
        let line = shown.lines().find(|line| line.starts_with("undone")).unwrap();
        assert!(line.contains("r1/main/0/1/1, on ") && line.contains(" by call run_"), "{line}");
    }
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

        hint: haft log
        --- status 2
    "#]],
    );
    world.check(
        &["runs", "settle", "r1/main/0/1/1", "happened"],
        &expect![[r#"
        --- stderr
        error: no run is called "r1"

        hint: haft log
        --- status 2
    "#]],
    );
    world.check(
        &["runs", "tail", "r1"],
        &expect![[r#"
        --- stderr
        error: no run is called "r1"

        hint: haft log
        --- status 2
    "#]],
    );
    world.check(
        &["runs", "verify"],
        &expect![[r#"
        --- stderr
        no runs were recorded yet
        --- status 0
    "#]],
    );
    assert_eq!(names(&world.path("state")), Vec::<String>::new());
    // An empty file is no journal, and is not made one by looking.
    world.write("state/journal.sqlite", "");
    world.run(&["runs", "list"]);
    world.run(&["runs", "verify"]);
    assert_eq!(world.read("state/journal.sqlite"), "");
    assert_eq!(names(&world.path("state")), ["journal.sqlite"]);
}

#[test]
fn a_journal_that_somebody_named_has_to_be_there() {
    let world = World::new();
    for command in [
        &["list"] as &[&str],
        &["show", "r1"],
        &["tail"],
        &["export"],
        &["verify"],
        &["settle", "r1/main/0/1/1", "happened"],
    ] {
        let output =
            world.haft(&["--db", "nowhere.sqlite", "runs"]).args(command).output().unwrap();
        let shown = world.shown(&output);
        assert!(shown.contains("there is no journal at nowhere.sqlite"), "{command:?}: {shown}");
        assert_eq!(output.status.code(), Some(2), "{command:?}");
    }
    let mut by_variable = world.haft(&["runs", "list", "--json"]);
    by_variable.env("HAFT_DB", "nowhere.sqlite");
    world.check_command(&mut by_variable, &expect![[r#"
        {"type":"failure","status":"journal","message":"there is no journal at nowhere.sqlite: expected one there, because --db, HAFT_DB or [durability] of the manifest names it","hint":null}
        --- stderr
        error: there is no journal at nowhere.sqlite: expected one there, because --db, HAFT_DB or [durability] of the manifest names it
        --- status 2
    "#]]);
    world.write("work/haft.toml", "[durability]\njournal = \"nowhere.sqlite\"\n");
    world.run(&["trust"]);
    assert_eq!(world.haft(&["runs", "verify"]).output().unwrap().status.code(), Some(2));
    assert_eq!(names(&world.path("work")), ["haft.toml"]);
}

#[test]
fn a_url_of_another_kind_is_no_file() {
    let world = World::new();
    let url = "mysql://ada:s3cret@db/haft";
    world.check(&["--db", url, "runs", "list"], &expect![[r#"
        --- stderr
        error: durability.journal: expected the path of a file, or a URL that begins with postgres:// or postgresql://; found one that begins with mysql://
        --- status 2
    "#]]);
    world.check(&["--db", url, "call", "glob", r#"{"pattern":"*"}"#], &expect![[r#"
        --- stderr
        error: durability.journal: expected the path of a file, or a URL that begins with postgres:// or postgresql://; found one that begins with mysql://
        --- status 2
    "#]]);
    assert_eq!(names(&world.path("work")), Vec::<String>::new());
}

#[test]
fn the_latest_calls_are_shown_where_not_all_are() {
    let world = world_with_run();
    let shown = world.json(&["runs", "show", "r1", "--limit", "2", "--json"]);
    let calls = shown["calls"].as_array().unwrap().iter();
    let calls: Vec<&str> = calls.map(|call| call["call"].as_str().unwrap()).collect();
    assert_eq!(calls, ["r1/main/0/1/4", "r1/main/0/1/5"]);
}

#[test]
fn failures_are_json_where_json_was_asked_for() {
    let world = world_with_run();
    let told = |args: &[&str]| {
        let output = world.haft(args).output().unwrap();
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(told["type"], "failure");
        assert!(!told["message"].as_str().unwrap().is_empty());
        let status = output.status.code().unwrap();
        format!("{status} {} {}", told["status"].as_str().unwrap(), told["hint"])
    };
    let settle = ["runs", "settle", "r1/main/0/1/1", "happened", "--json"];
    assert_eq!(told(&["runs", "show", "r2", "--json"]), r#"2 unknown_run "haft log""#);
    assert_eq!(told(&settle), r#"2 not_in_doubt "haft runs show r1""#);
    assert_eq!(told(&["--json", "runs", "settle"]), "2 usage null");
    assert_eq!(told(&["--json", "runs", "list", "--limit", "0"]), "2 usage null");
    assert_eq!(told(&["--json", "--db", "none", "runs", "list"]), "2 journal null");
    let one = ["call", "--run", "r1", "--call", "c", "--json", "glob", r#"{"pattern":"*"}"#];
    world.run(&one);
    let other = ["call", "--run", "r1", "--call", "c", "--json", "glob", r#"{"pattern":"?"}"#];
    assert_eq!(told(&other), r#"2 diverged "haft runs show r1""#);
}

#[test]
fn a_variable_is_blamed_by_its_name() {
    let world = World::new();
    let mut command = world.haft(&["call", "read"]);
    world.check_command(
        command.env("HAFT_ATTEMPT", "second"),
        &expect![[r#"
        --- stderr
        error: invalid value 'second' for 'HAFT_ATTEMPT': invalid digit found in string

        For more information, try '--help'.
        --- status 2
    "#]],
    );
    let mut command = world.haft(&["call", "--attempt", "third", "read"]);
    world.check_command(
        command.env("HAFT_ATTEMPT", "2"),
        &expect![[r#"
        --- stderr
        error: invalid value 'third' for '--attempt <ATTEMPT>': invalid digit found in string

        For more information, try '--help'.
        --- status 2
    "#]],
    );
}

#[test]
fn tail_waits_for_the_first_run() {
    let world = World::with_files();
    let mut tail = world
        .haft(&["runs", "tail", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    BufReader::new(tail.stderr.take().unwrap()).read_line(&mut said).unwrap();
    let journal = world.path("state/journal.sqlite");
    let expect = format!(
        "no runs were recorded yet in the journal {}; waiting for the first one\n",
        journal.display()
    );
    assert_eq!(said, expect);
    assert!(!world.path("state").exists());
    world.run(&["call", "--run", "r1", "read", r#"{"path":"notes.txt"}"#]);
    let mut line = String::new();
    BufReader::new(tail.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let row: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(row["call"], "r1/main/0/1/1");
    tail.kill().unwrap();
    tail.wait().unwrap();
}

#[test]
fn a_run_that_is_not_there_is_a_matter_of_usage() {
    let world = world_with_run();
    world.check(
        &["runs", "show", "r2"],
        &expect![[r#"
        --- stderr
        error: no run is called "r2"

        hint: haft log
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
fn tail_shows_this_workspace_unless_all_are_wanted() {
    let world = world_with_run();
    std::fs::create_dir(world.path("other")).unwrap();
    let elsewhere = |args: &[&str]| {
        let output = world.haft(args).current_dir(world.path("other")).output().unwrap();
        assert!(output.status.success(), "{}", world.shown(&output));
    };
    elsewhere(&["call", "--run", "r2", "glob", r#"{"pattern":"*"}"#]);
    let follow = |args: &[&str]| {
        let mut command = world.haft(args);
        let command = command.current_dir(world.path("other")).stdout(Stdio::piped());
        let mut tail = command.stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(tail.stdout.take().unwrap()).lines();
        let calls = lines.map(|line| {
            let row: Value = serde_json::from_str(&line.unwrap()).unwrap();
            row["call"].as_str().unwrap().to_owned()
        });
        (tail, calls)
    };
    let (mut tail, mut calls) = follow(&["runs", "tail", "--json"]);
    assert_eq!(calls.next().unwrap(), "r2/main/0/1/1");
    world.run(&["call", "--run", "r3", "glob", r#"{"pattern":"*"}"#]);
    elsewhere(&["call", "--run", "r2", "glob", r#"{"pattern":"a"}"#]);
    assert_eq!(calls.next().unwrap(), "r2/main/0/1/2", "what other workspaces do is not shown");
    tail.kill().unwrap();
    tail.wait().unwrap();

    let (mut tail, calls) = follow(&["runs", "tail", "--all", "--json"]);
    let last: Vec<String> = calls.take(8).collect();
    assert_eq!(last[5..], ["r2/main/0/1/1", "r3/main/0/1/1", "r2/main/0/1/2"]);
    tail.kill().unwrap();
    tail.wait().unwrap();
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

#[test]
fn a_run_is_gone_on_with_in_its_workspace_and_looked_at_from_anywhere() {
    let world = World::with_files();
    world.run(&["call", "--run", "r1", "glob", r#"{"pattern":"*.txt"}"#]);
    let elsewhere = ["call", "--root", "src", "--run", "r1", "glob", r#"{"pattern":"*.txt"}"#];
    world.check(&elsewhere, &expect![[r#"
        --- stderr
        error: run r1 was begun in /world/work, and this is /world/work/src, where its paths mean other files: nothing was executed or recalled; make this call there, or in another run

        hint: cd /world/work
        --- status 2
    "#]]);
    let mut in_json = elsewhere.to_vec();
    in_json.push("--json");
    world.check(&in_json, &expect![[r#"
        {"type":"failure","status":"usage","message":"run r1 was begun in /world/work, and this is /world/work/src, where its paths mean other files: nothing was executed or recalled; make this call there, or in another run","hint":"cd /world/work"}
        --- stderr
        error: run r1 was begun in /world/work, and this is /world/work/src, where its paths mean other files: nothing was executed or recalled; make this call there, or in another run

        hint: cd /world/work
        --- status 2
    "#]]);
    let shown = world.json(&["runs", "show", "r1", "--root", "src", "--json"]);
    assert_eq!(shown["calls"].as_array().unwrap().len(), 1, "{shown}");
}
