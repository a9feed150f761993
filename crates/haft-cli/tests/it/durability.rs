//! Runs that outlive their processes, as a person at a terminal meets them: a command that is killed, what is said of it,
//! settling it, going on; retries; records that are exported, checked and removed.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use expect_test::expect;
use serde_json::Value;

use crate::world::{World, names};

pub(crate) const ORDER: &str = r#"{"cmd":"echo ordered >> orders; echo $$ > begun; sleep 1000"}"#;
pub(crate) const QUICK: &str = r#"{"cmd":"echo ordered >> orders; echo done"}"#;

/// A `haft call` in the middle of a command.
pub(crate) struct Ordering {
    child: Child,
}

impl Ordering {
    pub(crate) fn begin(world: &World, run: &str) -> Self {
        Self::of(world, run, ORDER)
    }

    /// Begins a command that writes a line to the FIFO `begun`.
    fn of(world: &World, run: &str, input: &str) -> Self {
        let fifo = world.path("work/begun");
        if !fifo.exists() {
            world.fifo("work/begun");
        }
        let child = world.haft(&["call", "--run", run, "bash", input]).spawn().unwrap();
        // Opening waits for the command to be there.
        let mut line = String::new();
        BufReader::new(fs::File::open(fifo).unwrap()).read_line(&mut line).unwrap();
        assert!(!line.is_empty());
        Self { child }
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits for the end of the process.
    pub(crate) fn wait(&mut self) -> std::process::ExitStatus {
        self.child.wait().unwrap()
    }
}

/// Runs haft and compares everything that can be seen of it but how wide columns are, which depends on the machine.
pub(crate) fn check_squeezed(world: &World, args: &[&str], expect: &expect_test::Expect) {
    let shown = world.shown(&world.haft(args).output().unwrap());
    let squeeze = |line: &str| {
        let indent = line.len() - line.trim_start_matches(' ').len();
        let fields: Vec<&str> =
            line.split("  ").map(str::trim).filter(|it| !it.is_empty()).collect();
        format!("{}{}\n", " ".repeat(indent), fields.join("  "))
    };
    expect.assert_eq(&shown.lines().map(squeeze).collect::<String>());
}

/// A world in which a command was killed that had ordered something.
fn killed() -> World {
    let world = World::with_files();
    world.run(&["call", "--run", "r1", "read", r#"{"path":"notes.txt"}"#]);
    Ordering::begin(&world, "r1").kill();
    world
}

#[test]
fn what_was_killed_is_in_doubt_and_says_what_to_type() {
    let world = killed();
    check_squeezed(
        &world,
        &["runs", "list"],
        &expect![[r#"
            RUN  STARTED  BY  CALLS  FAILED  REFUSED  OPEN  UNKNOWN  HOLDER  ROOT
            r1  2000-01-01T00:00:00.000Z  cli  2  0  0  1  0  process 7 on host, which is gone  /world/work
            --- status 0
        "#]],
    );
    check_squeezed(
        &world,
        &["runs", "show", "r1"],
        &expect![[r#"
            run  r1
            root  /world/work
            begun  2000-01-01T00:00:00.000Z by cli, haft VERSION
            holder  process 7 on host, which is gone (since 2000-01-01T00:00:00.000Z, epoch 2)
            retry  attempt 2 of main/0 would be warned of 1 call not safe to repeat

            1 call is in doubt: it was begun, and it may or may not have happened:
              r1/main/0/1/2  bash  echo ordered >> orders; echo $$ > begun; sleep 1000
                idempotency key haft_KEY
            Find out, then say so:
              haft runs settle r1/main/0/1/2 happened  # it is not executed again
              haft runs settle r1/main/0/1/2 not-happened  # a resume executes it
              haft runs settle r1/main/0/1/2 retry  # a resume executes it although it may have happened

            CALL  TOOL  STATUS  STARTED  MS  CODE  INPUT
            r1/main/0/1/1  read  succeeded  2000-01-01T00:00:00.000Z  0  -  notes.txt
            r1/main/0/1/2  bash  begun, end not recorded; in doubt  2000-01-01T00:00:00.000Z  -  -  echo ordered >> orders; echo $$ > begun; sleep 1000
            --- status 0
        "#]],
    );
    let shown = world.json(&["runs", "show", "r1", "--json"]);
    assert_eq!(shown["in_doubt"], serde_json::json!(["r1/main/0/1/2"]));
    assert_eq!(shown["holder_is_gone"], true);
    assert_eq!(shown["retries"][0]["first"][0]["status"], "intended");
}

#[test]
fn what_may_have_happened_is_not_repeated_until_somebody_settles_it() {
    let world = killed();
    let replay = ["call", "--run", "r1", "--resume", "replay", "bash", ORDER];
    world.check(&replay, &expect![[r#"
        --- stderr
        error: in doubt: bash was begun as call r1/main/0/1/2 and its end was never recorded, so it may or may not have happened. It is not repeated. Find out which, then say so with: haft runs settle r1/main/0/1/2 happened|not-happened|retry

        hint: haft runs show r1
        --- status 4
    "#]]);
    let settle =
        |more: &[&'static str]| [["runs", "settle", "r1/main/0/1/2"].as_slice(), more].concat();
    world.check(
        &settle(&["retry", "--result", "1"]),
        &expect![[r#"
        --- stderr
        error: --result goes with happened: what did not happen answered nothing
        --- status 2
    "#]],
    );
    world.check(
        &settle(&["happened", "--result", "ordered"]),
        &expect![[r#"
        --- stderr
        error: the result is not JSON: expected value at line 1 column 1
        --- status 2
    "#]],
    );
    world.check(
        &settle(&["happened", "--result", r#"{"output":"ordered\n","exit_code":0}"#]),
        &expect![[r#"
            r1/main/0/1/2 (bash) counts as succeeded: a resume answers it from the record and does not execute it
            --- status 0
        "#]],
    );
    world.check(
        &replay,
        &expect![[r#"
            ordered
            --- stderr
            recalled: this is what call r1/main/0/1/2 answered, and nothing was executed now
            --- status 0
        "#]],
    );
    world.check(&settle(&["not-happened"]), &expect![[r#"
        --- stderr
        error: call r1/main/0/1/2 is not in doubt: it is recorded as succeeded, and only an unknown call can be settled

        hint: haft runs show r1
        --- status 2
    "#]]);
    assert_eq!(world.read("work/orders"), "ordered\n");
    check_squeezed(
        &world,
        &["runs", "show", "r1"],
        &expect![[r#"
            run  r1
            root  /world/work
            begun  2000-01-01T00:00:00.000Z by cli, haft VERSION
            retry  attempt 2 of main/0 would be warned of 1 call not safe to repeat

            CALL  TOOL  STATUS  STARTED  MS  CODE  INPUT
            r1/main/0/1/1  read  succeeded  2000-01-01T00:00:00.000Z  0  -  notes.txt
            r1/main/0/1/2  bash  succeeded (happened, says operator)  2000-01-01T00:00:00.000Z  0  -  echo ordered >> orders; echo $$ > begun; sleep 1000
            --- status 0
        "#]],
    );
}

#[test]
fn what_did_not_happen_is_made_up_for() {
    for verdict in ["not-happened", "retry"] {
        let world = World::with_files();
        // The same call is killed the first time, and comes to its end the second time.
        let once = r#"{"cmd":"if test -e orders; then echo again; else echo 1 > orders; echo $$ > begun; sleep 1000; fi"}"#;
        Ordering::of(&world, "r1", once).kill();
        let said = world.json(&["runs", "settle", "r1/main/0/1/1", verdict, "--json"]);
        assert_eq!(said["settled_by"], "operator");
        let answer = world.run(&["call", "--run", "r1", "--resume", "replay", "bash", once]);
        assert_eq!(answer, "again\n", "{verdict}");
        // From then on it is recalled.
        let recalled =
            world.json(&["call", "--run", "r1", "--resume", "replay", "--json", "bash", once]);
        assert_eq!(recalled["metadata"]["replayed"], true);
        assert_eq!(recalled["metadata"]["call_id"], "r1/main/0/1/2");
    }
}

#[test]
fn only_what_is_in_doubt_can_be_settled() {
    let world = World::with_files();
    world.run(&["call", "--run", "r1", "read", r#"{"path":"notes.txt"}"#]);
    world.check(&["runs", "settle", "r1/main/0/1/1", "happened"], &expect![[r#"
        --- stderr
        error: call r1/main/0/1/1 is not in doubt: it is recorded as succeeded, and only an unknown call can be settled

        hint: haft runs show r1
        --- status 2
    "#]]);
    world.check(
        &["runs", "settle", "r1/main/0/1/7", "happened"],
        &expect![[r#"
            --- stderr
            error: call r1/main/0/1/7 is not in the journal

            hint: haft runs show r1
            --- status 2
        "#]],
    );
    world.check(
        &["runs", "settle", "r1", "happened"],
        &expect![[r#"
            --- stderr
            error: call "r1" is not valid: expected run/number, such as last/5, or run/node/iteration/attempt/seq, found 1 of 5 parts

            hint: haft log
            --- status 2
        "#]],
    );
}

#[test]
fn a_run_that_another_process_has_is_not_touched() {
    let world = World::with_files();
    let ordering = Ordering::begin(&world, "r1");
    world.check(&["call", "--run", "r1", "write", r#"{"path":"a","content":""}"#], &expect![[r#"
        --- stderr
        error: run r1 is held by process 7 on host, until 2000-01-01T00:00:00.000Z at least: nothing was executed; wait for that process, end it, or name another run

        hint: haft runs show r1
        --- status 1
    "#]]);
    assert!(!world.path("work/a").exists());
    world.check(&["runs", "settle", "r1/main/0/1/1", "happened"], &expect![[r#"
        --- stderr
        error: call r1/main/0/1/1 is not in doubt yet: process 7 on host has its run and may still record how it ended; wait for that process, or end it

        hint: haft runs show r1
        --- status 1
    "#]]);
    world.check(
        &["runs", "prune", "--older-than", "0s"],
        &expect![[r#"
            --- stderr
            snapshots that a process is using were left for another time
            removed 0 runs with 0 calls and 0 kept outputs
            --- status 0
        "#]],
    );
    ordering.kill();
    world.run(&["call", "--run", "r1", "write", r#"{"path":"a","content":""}"#]);
}

#[test]
fn a_retry_is_warned_before_anything_is_repeated() {
    let world = World::with_files();
    world.run(&["call", "--run", "r1", "read", r#"{"path":"notes.txt"}"#]);
    // A read is safe to repeat.
    world.check(
        &["call", "--run", "r1", "--attempt", "2", "read", r#"{"path":"notes.txt"}"#],
        &expect![[r#"
            one
            two
            three
            --- status 0
        "#]],
    );
    world.run(&["call", "--run", "r1", "--attempt", "2", "bash", QUICK]);
    let third = ["call", "--run", "r1", "--attempt", "3", "bash", QUICK];
    world.check(&third, &expect![[r#"
        --- stderr
        error: not executed yet, because an earlier attempt called bash too. This is attempt 3 of this task. Earlier attempts made 1 call whose effect is not safe to repeat and may already have happened:
        - bash, attempt 2, call 2: succeeded: {"cmd":"echo ordered >> orders; echo done"}
        Look whether they happened before you repeat one. A repeated call has the same idempotency key as before. If it is right to make this call, make it again: the next one is executed.

        hint: haft runs show r1
        --- status 4
    "#]]);
    assert_eq!(world.read("work/orders"), "ordered\n");
    world.check(&third, &expect![[r#"
        done
        --- stderr
        warning: This is attempt 3 of this task. Earlier attempts made 1 call whose effect is not safe to repeat and may already have happened:
        - bash, attempt 2, call 2: succeeded: {"cmd":"echo ordered >> orders; echo done"}
        Look whether they happened before you repeat one. A repeated call has the same idempotency key as before.
        --- status 0
    "#]]);
    let fourth = ["call", "--run", "r1", "--attempt", "4", "--json", "bash", QUICK];
    let held = world.haft(&fourth).output().unwrap();
    assert_eq!(held.status.code(), Some(4));
    let envelope: Value = serde_json::from_slice(&held.stdout).unwrap();
    assert_eq!(envelope["metadata"]["held_back"], true, "{envelope}");
    assert!(envelope.to_string().contains("attempt 3, call 2"), "{envelope}");
    world.run(&fourth);
    assert_eq!(world.read("work/orders"), "ordered\n".repeat(3));
}

#[test]
fn repeats_are_refused_or_recalled_if_the_manifest_says_so() {
    for (on_repeat, expect) in [
        (
            "refuse",
            expect![[r#"
                --- stderr
                error: bash was called with this very input in attempt 1 (call r1/main/0/1/1) and succeeded; it is not repeated (on_repeat = "refuse")

                hint: haft runs show r1
                --- status 3
            "#]],
        ),
        (
            "recall",
            expect![[r#"
                done
                --- stderr
                recalled: this is what call r1/main/0/1/1 answered, and nothing was executed now
                --- status 0
            "#]],
        ),
    ] {
        let world = World::with_files();
        // The manifest is not trusted; each way is as narrow as the others.
        world.write("work/haft.toml", &format!("[durability]\non_repeat = \"{on_repeat}\"\n"));
        world.run(&["call", "--run", "r1", "bash", QUICK]);
        world.check(&["call", "--run", "r1", "--attempt", "2", "bash", QUICK], &expect);
        assert_eq!(world.read("work/orders"), "ordered\n", "{on_repeat}");
        let settings = &world.json(&["runs", "show", "r1", "--json"])["run"]["settings"];
        assert_eq!(settings["on_repeat"], on_repeat);
    }
}

#[test]
fn a_call_of_the_same_name_is_recalled_and_another_one_refused() {
    let world = World::with_files();
    let call = |input: &'static str| {
        world.haft(&["call", "--run", "r1", "--call", "c1", "bash", input]).output().unwrap()
    };
    assert!(call(QUICK).status.success());
    expect![[r#"
        done
        --- stderr
        recalled: this is what call r1/main/0/1/1 answered, and nothing was executed now
        --- status 0
    "#]]
    .assert_eq(&world.shown(&call(QUICK)));
    assert_eq!(world.read("work/orders"), "ordered\n");
    expect![[r#"
        --- stderr
        error: the run has diverged: call r1/main/0/1/1 was recorded as bash {"cmd":"echo ordered >> orders; echo done"} and came again as bash {"cmd":"true"}; nothing was executed: make the call that was recorded, or begin another attempt

        hint: haft runs show r1
        --- status 2
    "#]].assert_eq(&world.shown(&call(r#"{"cmd":"true"}"#)));
    world.check(
        &["call", "--resume", "replay", "bash", QUICK],
        &expect![[r#"
            --- stderr
            error: --resume replay starts a run over, and no run is named: give --run

            hint: haft log
            --- status 2
        "#]],
    );
}

#[test]
fn what_differs_from_the_defaults_is_recorded_with_a_run() {
    let world = World::with_files();
    world.write("work/haft.toml", "[sandbox]\nunprotect = [\".idea\"]\n");
    world.run(&["trust"]);
    let read = ["read", r#"{"path":"notes.txt"}"#];
    let flags = ["call", "--run", "r1", "--allow-network", "--network-guard", "kernel"];
    let more = ["--preset", "ask", "--allow", "bash", "--unsafe-no-sandbox"];
    world.run(&[flags.as_slice(), &more, &read].concat());
    check_squeezed(
        &world,
        &["runs", "show", "r1"],
        &expect![[r#"
            run  r1
            root  /world/work
            begun  2000-01-01T00:00:00.000Z by cli, haft VERSION
            settings  {"allow":["bash"],"allow_network":true,"network_guard":"kernel","preset":"ask","unprotect":[".idea"],"unsafe_no_sandbox":true}

            CALL  TOOL  STATUS  STARTED  MS  CODE  INPUT
            r1/main/0/1/1  read  succeeded  2000-01-01T00:00:00.000Z  0  -  notes.txt
            --- status 0
        "#]],
    );
    fs::remove_file(world.path("work/haft.toml")).unwrap();
    world.run(&[["call", "--run", "r2"].as_slice(), &read].concat());
    let shown = world.json(&["runs", "show", "r2", "--json"]);
    assert_eq!(shown["run"]["settings"], serde_json::json!({}));
}

#[test]
fn another_journal_is_a_matter_of_trust() {
    let world = World::with_files();
    let manifest = "[durability]\njournal = \"mine.sqlite\"\nkeep_days = 1\n";
    world.write("work/haft.toml", manifest);
    let read = ["call", "read", r#"{"path":"notes.txt"}"#];
    world.check(
        &read,
        &expect![[r#"
        one
        two
        three
        --- stderr
        warning: /world/work/haft.toml is not trusted yet. haft ignores these settings of it:
          durability.journal = "mine.sqlite"
          durability.keep_days = 1

        hint: haft trust /world/work/haft.toml

        --- status 0
    "#]],
    );
    assert!(!world.path("work/mine.sqlite").exists());
    world.run(&["trust"]);
    world.run(&read);
    assert!(world.path("work/mine.sqlite").is_file());
    assert_eq!(world.json(&["runs", "list", "--json"]).as_array().unwrap().len(), 1);
    // No tool reaches it there either.
    world.check(&["call", "read", r#"{"path":"mine.sqlite"}"#], &expect![[r#"
        --- stderr
        error: mine.sqlite holds credentials or haft's own state, which no call reads: work without it
        --- status 3
    "#]]);
}

#[test]
fn no_password_of_a_journal_is_shown() {
    let world = World::with_files();
    let url = "postgres://ada:s3cret@127.0.0.1:1/haft?connect_timeout=1&password=s3cret";
    world.write("work/haft.toml", &format!("[durability]\njournal = {url:?}\n"));
    let read = ["call", "read", r#"{"path":"notes.txt"}"#];
    let mut shown = world.shown(&world.haft(&read).output().unwrap());
    shown += &world.shown(&world.haft(&["trust"]).output().unwrap());
    shown += &world.shown(&world.haft(&read).output().unwrap());
    shown += &world.shown(&world.haft(&["doctor"]).output().unwrap());
    world.write("work/haft.toml", &format!("[durability]\njurnal = {url:?}\n"));
    shown += &world.shown(&world.haft(&read).output().unwrap());
    let flagged = [&["call", "--db", url], &read[1..]].concat();
    shown += &world.shown(&world.haft(&flagged).output().unwrap());
    assert!(!shown.contains("s3cret"), "{shown}");
    assert!(shown.contains("cannot reach journal postgres://127.0.0.1:1/haft"), "{shown}");
}

#[test]
fn an_export_has_every_run_and_call_as_a_line() {
    let world = World::with_files();
    world.check(
        &["runs", "export"],
        &expect![[r#"
        --- status 0
    "#]],
    );
    world.run(&["call", "--run", "r1", "read", r#"{"path":"notes.txt"}"#]);
    world.run(&["call", "--run", "r2", "bash", QUICK]);
    world.run(&["call", "--run", "r1", "glob", r#"{"pattern":"*.txt"}"#]);
    let lines = |args: &[&str]| {
        let text = world.run(&[&["runs", "export"], args].concat());
        let values = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let told = |value: Value| {
            let record = value["record"].as_str().unwrap().to_owned();
            match record.as_str() {
                "run" => format!("run {}", value["id"].as_str().unwrap()),
                "call" => format!(
                    "call {} {}",
                    value["run"].as_str().unwrap(),
                    value["tool"].as_str().unwrap()
                ),
                _ => record,
            }
        };
        let is_of_journal = |line: &String| line != "snapshot";
        values.map(told).filter(is_of_journal).collect::<Vec<_>>()
    };
    assert_eq!(lines(&[]), ["run r2", "run r1", "call r1 read", "call r2 bash", "call r1 glob"]);
    assert_eq!(lines(&["r1"]), ["run r1", "call r1 read", "call r1 glob"]);
    assert_eq!(lines(&["r1", "r2", "r1"]).len(), 5);
    assert_eq!(lines(&["--since", "1h"]).len(), 5);
    assert_eq!(lines(&["--since", "2100-01-01"]), Vec::<String>::new());
    world.check(
        &["runs", "export", "r3"],
        &expect![[r#"
        --- stderr
        error: no run is called "r3"

        hint: haft log
        --- status 2
    "#]],
    );
    world.check(&["runs", "export", "--since", "sometime"], &expect![[r#"
        --- stderr
        error: "sometime" names no moment: expected an age such as 12h or 30d, today, yesterday, or UTC such as 2026-01-31 or 2026-01-31T09:05:00Z
        --- status 2
    "#]]);
}

#[test]
fn verify_says_what_is_not_as_haft_leaves_it() {
    let world = World::with_files();
    world.run(&["call", "--run", "r1", "read", r#"{"path":"notes.txt"}"#]);
    world.check(
        &["runs", "verify"],
        &expect![[r#"
        --- stderr
        the journal is sound
        --- status 0
    "#]],
    );
    let tamper = "import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); \
                  db.execute(\"UPDATE calls SET input = '{'\"); db.commit()";
    let tampered = Command::new("python3")
        .args(["-c", tamper])
        .arg(world.path("state/journal.sqlite"))
        .status()
        .unwrap();
    assert!(tampered.success());
    world.check(
        &["runs", "verify"],
        &expect![[r#"
        not so: inputs are JSON: call r1/main/0/1/1: EOF while parsing an object at line 1 column 1
        --- stderr
        findings: 1
        --- status 1
    "#]],
    );
    let findings: Value = {
        let output = world.haft(&["runs", "verify", "--json"]).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    assert_eq!(findings[0]["rule"], "inputs are JSON");
}

#[test]
fn what_is_pruned_takes_its_outputs_along() {
    let world = World::with_files();
    world.write("work/long.txt", &"a line that is found\n".repeat(20_000));
    let grep = r#"{"pattern":"found"}"#;
    let call = |run: &str| world.json(&["call", "--run", run, "--json", "grep", grep]);
    let outputs = ["r1", "r2"].map(|run| {
        let envelope = call(run);
        envelope["metadata"]["output_path"].as_str().unwrap().to_owned()
    });
    world.check(&["runs", "prune"], &expect![[r#"
        --- stderr
        error: nothing says what may go: expected --older-than or --keep-bytes, or keep_days or keep_bytes in [durability] of a manifest that is trusted

        hint: haft runs prune --older-than 30d --dry-run
        --- status 2
    "#]]);
    world.check(
        &["runs", "prune", "--older-than", "1h"],
        &expect![[r#"
        --- stderr
        removed 0 runs with 0 calls and 0 kept outputs
        --- status 0
    "#]],
    );
    let rehearse = ["runs", "prune", "--older-than", "0s", "--keep-bytes", "1k", "--dry-run"];
    let rehearsed = world.shown(&world.haft(&rehearse).output().unwrap());
    // The content and the age of a call differ from run to run.
    for words in [
        "r1\nr2\n--- stderr\nr1: 1 call, ",
        " bytes, quiet for ",
        ": it is older than what is kept\n",
        "would remove 2 runs with 2 calls and 2 kept outputs\n--- status 0",
    ] {
        assert!(rehearsed.contains(words), "{rehearsed}");
    }
    let rehearse = ["runs", "prune", "--keep-bytes", "1k", "--dry-run", "--json"];
    let due = &world.json(&rehearse)["due"];
    assert_eq!((&due[0]["run"], &due[0]["because"]), (&Value::from("r1"), &Value::from("bytes")));
    let unusable = world.haft(&["runs", "prune", "--older-than", "-1d"]).output().unwrap();
    let unusable = world.shown(&unusable);
    assert!(unusable.contains(r#"age "-1d" is not valid"#), "{unusable}");
    assert!(outputs.iter().all(|output| fs::exists(output).unwrap()));
    world.write("work/haft.toml", "[durability]\nkeep_bytes = 1\n");
    world.check(&["runs", "prune"], &expect![[r#"
        --- stderr
        warning: /world/work/haft.toml is not trusted yet. haft ignores these settings of it:
          durability.keep_bytes = 1

        hint: haft trust /world/work/haft.toml

        error: nothing says what may go: expected --older-than or --keep-bytes, or keep_days or keep_bytes in [durability] of a manifest that is trusted

        hint: haft runs prune --older-than 30d --dry-run
        --- status 2
    "#]]);
    world.run(&["trust"]);
    world.check(
        &["runs", "prune"],
        &expect![[r#"
        r1
        r2
        --- stderr
        removed 2 runs with 2 calls and 2 kept outputs
        --- status 0
    "#]],
    );
    assert!(!outputs.iter().any(|output| fs::exists(output).unwrap()));
    assert_eq!(names(&world.path("state/sessions")), Vec::<String>::new());
    assert_eq!(world.json(&["runs", "list", "--json"]), serde_json::json!([]));
}

#[test]
fn a_recalled_answer_says_that_its_output_is_gone() {
    let world = World::with_files();
    world.write("work/long.txt", &"a line that is found\n".repeat(20_000));
    let call = |resume: &str| {
        let grep = r#"{"pattern":"found"}"#;
        world.json(&["call", "--run", "r1", "--resume", resume, "--json", "grep", grep])
    };
    let output_path =
        |envelope: &Value| envelope["metadata"]["output_path"].as_str().unwrap().to_owned();
    let path = output_path(&call("continue"));
    // Each session has its own name for it.
    let recalled = output_path(&call("replay"));
    assert_ne!(recalled, path);
    assert!(fs::read(&recalled).unwrap() == fs::read(&path).unwrap());
    fs::remove_file(&path).unwrap();
    let recalled = call("replay");
    assert_eq!(recalled["metadata"].get("output_path"), None);
    let lost = recalled["metadata"]["output_lost"].as_str().unwrap();
    assert!(lost.contains(&path) && lost.contains("gone"), "{lost}");
}

#[test]
fn an_effect_whose_end_cannot_be_recorded_is_in_doubt() {
    let world = World::with_files();
    world.fifo("work/begun");
    let go = world.fifo("work/go");
    let input = r#"{"cmd":"echo $$ > begun; cat go; echo ordered >> orders"}"#;
    let child = world
        .haft(&["call", "--run", "r1", "bash", input])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    fs::read(world.path("work/begun")).unwrap();
    fs::remove_file(world.path("state/journal.sqlite")).unwrap();
    fs::write(go, "").unwrap();
    let shown = world.shown(&child.wait_with_output().unwrap());
    // Other things that could not be recorded come as warnings before it.
    let (warnings, error) = shown.split_once("error: ").unwrap();
    assert!(!warnings.contains("WARN"), "{warnings}");
    expect![[r#"
        bash was executed as call r1/main/0/1/1 and its end could not be recorded, so it is in doubt: journal /world/state/journal.sqlite was removed or replaced while haft was using it: nothing more is recorded, so nothing more is executed; start haft again

        hint: haft runs show r1
        --- status 4
    "#]].assert_eq(error);
    assert_eq!(world.read("work/orders"), "ordered\n");
}

#[test]
fn starting_over_with_nothing_is_said_and_is_a_start() {
    let world = World::with_files();
    let replay = ["call", "--run", "r1", "--resume", "replay", "bash", QUICK];
    world.check(
        &replay,
        &expect![[r#"
        done
        --- stderr
        nothing was recorded of run r1, so there is nothing to recall: it begins now
        --- status 0
    "#]],
    );
    // The same call of another process is the same call, unless it has a separate name.
    world.check(
        &replay,
        &expect![[r#"
        done
        --- stderr
        recalled: this is what call r1/main/0/1/1 answered, and nothing was executed now
        --- status 0
    "#]],
    );
    for (name, expect) in [("a", false), ("b", false), ("a", true), ("b", true)] {
        let named = ["call", "--run", "r1", "--call", name, "--json", "bash", QUICK];
        let metadata = world.json(&named)["metadata"].take();
        assert_eq!(metadata["replayed"].as_bool().unwrap_or(false), expect, "{name}");
    }
    assert_eq!(world.read("work/orders"), "ordered\n".repeat(3));
    let elsewhere = [&["call", "--node", "other"], &replay[1..]].concat();
    world.check(&elsewhere, &expect![[r#"
        done
        --- stderr
        nothing was recorded of attempt 1 of other/0 in run r1, so there is nothing to recall: it begins now
        --- status 0
    "#]]);
}

#[test]
fn an_attempt_out_of_turn_is_told() {
    let world = World::with_files();
    let read = |attempt: &'static str| {
        ["call", "--run", "r1", "--attempt", attempt, "read", r#"{"path":"notes.txt"}"#]
    };
    world.check(
        &read("7"),
        &expect![[r#"
        one
        two
        three
        --- stderr
        this is attempt 7 of main/0 in run r1, and none before it was recorded
        --- status 0
    "#]],
    );
    world.check(
        &read("7"),
        &expect![[r#"
        one
        two
        three
        --- status 0
    "#]],
    );
    world.check(
        &read("8"),
        &expect![[r#"
        one
        two
        three
        --- status 0
    "#]],
    );
    world.check(
        &read("7"),
        &expect![[r#"
        one
        two
        three
        --- stderr
        this goes on with attempt 7 of main/0 in run r1, although attempt 8 was begun since
        --- status 0
    "#]],
    );
}

#[test]
fn records_name_their_calls_in_one_word() {
    let world = killed();
    world.run(&["runs", "settle", "r1/main/0/1/2", "happened"]);
    world.run(&["call", "--run", "r1", "write", r#"{"path":"a","content":"1"}"#]);
    let shown = world.json(&["runs", "show", "r1", "--json"]);
    assert_eq!(shown["calls"][0]["call"], "r1/main/0/1/1");
    assert_eq!(shown["calls"][0]["seq"], 1);
    assert_eq!(shown["retries"][0]["first"][0]["call"], "r1/main/0/1/2");
    let calls_of = |snapshots: &Value| -> Vec<String> {
        let snapshots = snapshots.as_array().unwrap().iter();
        snapshots.map(|noted| noted["call"].as_str().unwrap().to_owned()).collect()
    };
    let snapshots = calls_of(&shown["snapshots"]);
    assert!(snapshots.contains(&"r1/main/0/1/3".to_owned()), "{snapshots:?}");
    for line in world.run(&["runs", "export"]).lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        let call = record["call"].as_str().unwrap_or("-");
        assert!(record["record"] == "run" || call.starts_with("r1/main/0/1/"), "{line}");
    }
}

#[test]
fn what_hints_name_is_in_the_journal_of_the_command() {
    let world = World::with_files();
    world.fifo("work/begun");
    let elsewhere = ["--db", "mine.sqlite"];
    let begin = [&elsewhere[..], &["call", "--run", "r1", "bash", ORDER]].concat();
    let mut child = world.haft(&begin).spawn().unwrap();
    fs::read(world.path("work/begun")).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let replay = ["call", "--run", "r1", "--resume", "replay", "bash", ORDER];
    let output = world.haft(&[&elsewhere[..], &replay].concat()).output().unwrap();
    let shown = world.shown(&output);
    let (_, hint) = shown.split_once("hint: ").unwrap();
    let hint = hint.lines().next().unwrap();
    assert_eq!(hint, "haft --db mine.sqlite runs show r1");
    let shown = world.run(&hint.split(' ').skip(1).collect::<Vec<_>>());
    assert!(shown.contains("  haft --db mine.sqlite runs settle r1/main/0/1/1 retry"), "{shown}");
}
