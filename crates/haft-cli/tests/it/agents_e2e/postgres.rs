//! Sessions on a PostgreSQL server: killed, resumed and read as in a file. Tests in the journal's crate cover the statements
//! that the server gets.

use std::io::Read as _;
use std::process::Stdio;

use expect_test::expect;
use haft_scripted_model::{ReplyCondition, ScriptedReply};
use serde_json::json;

use super::killing::{with_background, with_subagent};
use super::worker::{AGENT, HELPER};
use crate::agent::Stage;
use crate::postgres::world_on;
use crate::postgres_server::Server;
use crate::world::World;

fn world() -> World {
    world_on(&Server::shared().url())
}

#[test]
fn a_session_on_a_server_that_is_killed_repeats_no_effect() {
    std::thread::scope(|scope| {
        for kills in [&[2][..], &[7], &[13], &[16, 5], &[20], &[26, 3, 4]] {
            scope.spawn(move || {
                let case = with_subagent().on(world);
                assert!(case.check(kills).is_some(), "{kills:?}");
            });
        }
        for kills in [&[9][..], &[17, 6]] {
            scope.spawn(move || {
                let case = with_background().on(world);
                assert!(case.check(kills).is_some(), "{kills:?}");
            });
        }
    });
}

/// Returns a stage on which an agent was killed while its subagent ran a command.
fn killed() -> Stage {
    let of = |system: &str| ReplyCondition {
        system: Some(system.to_owned()),
        ..ReplyCondition::default()
    };
    let task = json!({"subagent_type": "general", "prompt": "Add it."});
    let run = json!({"cmd": "echo one >> effects.txt; echo begun > fifo; sleep 1000"});
    let replies = [
        ScriptedReply::new().text("Somebody else does this.").call("task", task).when(of(AGENT)),
        ScriptedReply::new().text("It is there.").when(of(AGENT)),
        ScriptedReply::new().call("bash", run).when(of(HELPER)),
        ScriptedReply::new().call("read", json!({"path": "effects.txt"})).when(of(HELPER)),
        ScriptedReply::new().text("I looked, and it is there.").when(of(HELPER)),
    ];
    let stage = Stage::new(world(), replies);
    let fifo = stage.world.fifo("work/fifo");
    let mut command = stage.haft(&["agent", "Have it added.", "--headless", "--allow", "bash"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    std::fs::File::open(fifo).unwrap().read_exact(&mut [0; 6]).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    stage
}

#[test]
fn a_session_on_a_server_is_gone_on_with_and_read() {
    let stage = killed();
    let listed = |stage: &Stage| stage.shown(&["sessions", "list", "--subagents"]);
    expect![[r#"
        SESSION                         CHANGED                   STATUS       AGENT    MODEL        STEPS  READ  WRITTEN  TITLE
        ses_1  2000-01-01T00:00:00.000Z  interrupted  general  openai/test  1      30    4        Add it.
        ses_2  2000-01-01T00:00:00.000Z  interrupted  build    openai/test  1      30    4        Have it added.
        --- status 0
    "#]].assert_eq(&listed(&stage));
    let resumed = stage.haft(&["agent", "--resume", "last", "--headless"]).output().unwrap();
    let shown = stage.world.shown(&resumed);
    assert_eq!(String::from_utf8_lossy(&resumed.stdout), "It is there.\n", "{shown}");
    assert_eq!(stage.world.read("work/effects.txt"), "one\n");
    expect![[r#"
        SESSION                         CHANGED                   STATUS     AGENT    MODEL        STEPS  READ  WRITTEN  TITLE
        ses_1  2000-01-01T00:00:00.000Z  idle       build    openai/test  2      60    8        Have it added.
        ses_2  2000-01-01T00:00:00.000Z  completed  general  openai/test  3      90    12       Add it.
        --- status 0
    "#]].assert_eq(&listed(&stage));
    expect![[r#"
        session   ses_1
        title     Have it added.
        root      /world/work
        agent     build
        model     openai/test
        status    idle
        begun     2000-01-01T00:00:00.000Z
        changed   2000-01-01T00:00:00.000Z
        tokens    60 read, 8 written

        [msg_1] you
        Have it added.

        [msg_2] build
        Somebody else does this.
          → task general · 1 line · recalled · 0 ms
            session ses_2

        [msg_3] build
        It is there.
        --- status 0
    "#]]
    .assert_eq(&stage.shown(&["sessions", "show", "last"]));
    check_subagent(&stage);
}

/// Looks at what is kept of the subagent, and at a fork of the session.
fn check_subagent(stage: &Stage) {
    let session = stage.world.json(&["sessions", "show", "last", "--json"]);
    let subagent = session["subagents"][0]["id"].as_str().unwrap();
    expect![[r#"
        session   ses_1
        title     Add it.
        root      /world/work
        agent     general
        model     openai/test
        status    completed
        begun     2000-01-01T00:00:00.000Z
        changed   2000-01-01T00:00:00.000Z
        tokens    90 read, 12 written
        parent    ses_2

        [msg_1] you
        Add it.

        [msg_2] general
          → bash echo one >> effects.txt; echo begun > fifo; sleep 1000 · IN_DOUBT: in doubt: bash was begun as call ses_1/main/0/1/1 and its end was never recorded, so it may or may not have happened. It is not repeate… · 0 ms

        [msg_3] general
          → read effects.txt · 1 line · 0 ms

        [msg_4] general
        I looked, and it is there.
        --- status 0
    "#]].assert_eq(&stage.shown(&["sessions", "show", subagent]));
    let runs = stage.world.json(&["runs", "show", subagent, "--json"]);
    let calls: Vec<String> = runs["calls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|call| {
            format!("{} {}", call["tool"].as_str().unwrap(), call["status"].as_str().unwrap())
        })
        .collect();
    assert_eq!(calls, ["bash unknown", "read succeeded"]);
    stage.world.run(&["runs", "verify"]);
    assert!(!stage.world.path("state/journal.sqlite").exists());
    // Its beginning is shared with another one, whose calls are not made again.
    let fork = stage.world.run(&["sessions", "fork", "last"]);
    let forked = stage.world.json(&["sessions", "show", fork.trim(), "--json"]);
    assert_eq!(
        forked["messages"].as_array().map(Vec::len),
        session["messages"].as_array().map(Vec::len)
    );
}
