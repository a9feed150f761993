//! The commands of an operator on a journal that a PostgreSQL server holds: calls, resuming, settling, retries, looking, exporting,
//! undoing, removing; and what a call is told whose server goes away in the middle of it.

use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::durability::{ORDER, Ordering, QUICK};
use crate::mcp_wire::driver::{Place, Server as McpProcess};
use crate::postgres_server::Server;
use crate::world::World;

/// Returns a world whose journal is this database.
pub(crate) fn world_on(url: &str) -> World {
    let world = World::with_files();
    world.write("work/haft.toml", &format!("[durability]\njournal = \"{url}\"\n"));
    world.run(&["trust"]);
    world
}

/// Runs haft and compares everything that can be seen of it but how wide columns are.
fn check(world: &World, args: &[&str], expect: &Expect) {
    crate::durability::check_squeezed(world, args, expect);
}

/// Returns what an export holds of a run: each record's kind, and of calls the tool and the status.
fn exported(world: &World, run: &str) -> Vec<String> {
    let line = |line: &str| {
        let value: Value = serde_json::from_str(line).unwrap();
        let of = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
        [of("record"), of("tool"), of("status")].join(" ").trim_end().to_owned()
    };
    world.run(&["runs", "export", run]).lines().map(line).collect()
}

#[test]
fn runs_are_operated_on_a_server_as_in_a_file() {
    let server = Server::shared();
    let world = world_on(&server.url());
    world.run(&["call", "--run", "r1", "read", r#"{"path":"notes.txt"}"#]);
    world.run(&["call", "--run", "r1", "write", r#"{"path":"a","content":"new\n"}"#]);
    Ordering::begin(&world, "r1").kill();
    assert!(!world.path("state/journal.sqlite").exists());

    check(
        &world,
        &["runs", "list"],
        &expect![[r#"
        RUN  STARTED  BY  CALLS  FAILED  REFUSED  OPEN  UNKNOWN  HOLDER  ROOT
        r1  2000-01-01T00:00:00.000Z  cli  3  0  0  1  0  process 7 on host, which is gone  /world/work
        --- status 0
    "#]],
    );
    let replay = ["call", "--run", "r1", "--resume", "replay", "bash", ORDER];
    check(
        &world,
        &replay,
        &expect![[r#"
        --- stderr
        error: in doubt: bash was begun as call r1/main/0/1/3 and its end was never recorded, so it may or may not have happened. It is not repeated. Find out which, then say so with: haft runs settle r1/main/0/1/3 happened|not-happened|retry

        hint: haft runs show r1
        --- status 4
    "#]],
    );
    check(
        &world,
        &["runs", "settle", "r1/main/0/1/3", "happened", "--result", "\"ordered\""],
        &expect![[r#"
            r1/main/0/1/3 (bash) counts as succeeded: a resume answers it from the record and does not execute it
            --- status 0
        "#]],
    );
    check(
        &world,
        &replay,
        &expect![[r#"
            ordered
            --- stderr
            recalled: this is what call r1/main/0/1/3 answered, and nothing was executed now
            --- status 0
        "#]],
    );
    assert_eq!(world.read("work/orders"), "ordered\n");
    retry_and_look(&world);
    undo_and_prune(&world);
}

fn retry_and_look(world: &World) {
    let again = ["call", "--run", "r1", "--attempt", "2", "bash", QUICK];
    let held = world.haft(&again).output().unwrap();
    assert_eq!(held.status.code(), Some(4), "{}", world.shown(&held));
    check(
        world,
        &again,
        &expect![[r#"
            done
            --- stderr
            warning: This is attempt 2 of this task. Earlier attempts made 2 calls whose effect is not safe to repeat and may already have happened:
            - write, attempt 1, call 2: succeeded: {"content":{"bytes":4,"sha256":"7aa7a5359173d05b63cfd682e3c38487f3cb4f7f1d60659fe59fab1505977d4c"},"path":"a"}
            - bash, attempt 1, call 3: succeeded: {"cmd":"echo ordered >> orders; echo $$ > begun; sleep 1000"}
            Look whether they happened before you repeat one. A repeated call has the same idempotency key as before.
            --- status 0
        "#]],
    );
    check(
        world,
        &["runs", "show", "r1"],
        &expect![[r#"
            run  r1
            root  /world/work
            begun  2000-01-01T00:00:00.000Z by cli, haft VERSION
            retry  attempt 3 of main/0 would be warned of 3 calls not safe to repeat

            CALL  TOOL  STATUS  STARTED  MS  CODE  INPUT
            r1/main/0/1/1  read  succeeded  2000-01-01T00:00:00.000Z  0  -  notes.txt
            r1/main/0/1/2  write  succeeded  2000-01-01T00:00:00.000Z  0  -  a  content=4 bytes
            r1/main/0/1/3  bash  succeeded (happened, says operator)  2000-01-01T00:00:00.000Z  0  -  echo ordered >> orders; echo $$ > begun; sleep 1000
            r1/main/0/2/1  bash  refused  2000-01-01T00:00:00.000Z  0  IN_DOUBT  echo ordered >> orders; echo done
            r1/main/0/2/2  bash  succeeded  2000-01-01T00:00:00.000Z  0  -  echo ordered >> orders; echo done
            --- status 0
        "#]],
    );
    let calls = [
        "call read succeeded",
        "call write succeeded",
        "call bash succeeded",
        "call bash refused",
        "call bash succeeded",
    ];
    let calls = calls.map(str::to_owned).to_vec();
    let records = ["run", "snapshot", "snapshot", "snapshot"].map(str::to_owned);
    assert_eq!(exported(world, "r1"), [records.to_vec(), calls].concat());
    check(
        world,
        &["runs", "verify"],
        &expect![[r#"
        --- stderr
        the journal is sound
        --- status 0
    "#]],
    );
}

fn undo_and_prune(world: &World) {
    check(
        world,
        &["diff", "r1/main/0/1/2"],
        &expect![[r#"
        added a
        --- /dev/null
        +++ b/a
        @@ -0,0 +1 @@
        +new
        --- status 0
    "#]],
    );
    world.run(&["undo", "r1/main/0/1/2"]);
    assert!(!world.path("work/a").exists());
    let rehearsed = world.json(&["runs", "prune", "--older-than", "0s", "--dry-run", "--json"]);
    assert_eq!(rehearsed["runs"].as_array().map(Vec::len), Some(2), "{rehearsed}");
    assert_eq!(rehearsed["due"][0]["because"], "age");
    world.run(&["runs", "prune", "--older-than", "0s"]);
    assert_eq!(world.json(&["runs", "list", "--json"]), serde_json::json!([]));
}

#[test]
fn a_run_of_another_process_on_the_server_is_not_touched() {
    let url = Server::shared().url();
    let world = world_on(&url);
    let ordering = Ordering::begin(&world, "r1");
    check(
        &world,
        &["call", "--run", "r1", "write", r#"{"path":"a","content":""}"#],
        &expect![[r#"
        --- stderr
        error: run r1 is held by process 7 on host, until 2000-01-01T00:00:00.000Z at least: nothing was executed; wait for that process, end it, or name another run

        hint: haft runs show r1
        --- status 1
    "#]],
    );
    ordering.kill();
    world.run(&["call", "--run", "r1", "write", r#"{"path":"a","content":""}"#]);
}

#[test]
fn a_tail_follows_a_server() {
    use std::io::{BufRead as _, BufReader};
    let world = world_on(&Server::shared().url());
    world.run(&["call", "--run", "r1", "read", r#"{"path":"notes.txt"}"#]);
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
    assert_eq!(next(), "read succeeded");
    world.run(&["call", "--run", "r1", "glob", r#"{"pattern":"*"}"#]);
    assert_eq!(next(), "glob succeeded");
    drop(lines);
    // No reader is left; the next call shows it.
    world.run(&["call", "--run", "r1", "glob", r#"{"pattern":"*.txt"}"#]);
    tail.wait().unwrap();
}

#[test]
fn a_server_that_is_started_again_during_a_command_keeps_its_outcome() {
    let server = Arc::new(Server::start("fsync = on"));
    let world = world_on(&server.url());
    world.fifo("work/begun");
    let go = world.fifo("work/go");
    let input = r#"{"cmd":"echo $$ > begun; cat go; echo ordered >> orders; echo done"}"#;
    let call = world
        .haft(&["call", "--run", "r1", "bash", input])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::fs::read(world.path("work/begun")).unwrap();
    server.crash();
    server.restart();
    std::fs::write(go, "").unwrap();
    let shown = world.shown(&call.wait_with_output().unwrap());
    assert_eq!(shown, "done\n--- status 0\n");
    let replay = ["call", "--run", "r1", "--resume", "replay", "bash", input];
    assert_eq!(world.run(&replay), "done\n");
    assert_eq!(world.read("work/orders"), "ordered\n");
    check(
        &world,
        &["runs", "verify"],
        &expect![[r#"
        --- stderr
        the journal is sound
        --- status 0
    "#]],
    );
}

#[test]
fn a_call_that_waits_for_the_server_says_so_and_goes_on_when_it_is_back() {
    let server = Server::start("");
    let (place, url) = (Place::new(), server.url());
    place.write("a.txt", "one\n");
    let mut client = McpProcess::start_legacy(&place, &["--db", &url]);
    let read = |token: u32| json!({"name": "read", "arguments": {"path": "a.txt"}, "_meta": {"progressToken": token}});
    let first = client.request("tools/call", read(1));
    assert_eq!(first["result"]["isError"], false, "{first}");
    server.crash();
    let asked = Instant::now();
    client.begin("tools/call", read(2));
    let progress = client.receive();
    assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
    assert_eq!(progress["method"], "notifications/progress", "{progress}");
    let message = progress["params"]["message"].as_str().unwrap();
    assert!(message.contains("cannot be reached"), "{message}");
    assert!(message.contains("127.0.0.1"), "{message}");
    server.restart();
    let answer = client.receive();
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    client.end();
}
