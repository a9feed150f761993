//! A session as the run that it is: what `haft runs` says of it, how its calls in doubt are settled, and what goes when it is
//! removed.

use std::io::Read as _;
use std::process::Stdio;

use expect_test::expect;
use haft_scripted_model::{ReplyCondition, ScriptedReply};
use serde_json::json;

use super::Stage;
use super::repository::{PROMPT, replies, with_bug};
use crate::world::World;

/// Returns what is shown without how wide columns are, which depends on how long calls took.
fn squeezed(shown: &str) -> String {
    let line = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n";
    shown.lines().map(line).collect()
}

/// Returns what is shown with the two reads in the order of their paths. They are calls of one answer, which are made at the
/// same time, so either may be numbered first.
fn with_reads_in_order(shown: &str) -> String {
    let is_read = |line: &&str| line.contains(" read ");
    let path = |line: &str| line.rsplit(' ').next().unwrap_or_default().to_owned();
    let mut paths: Vec<String> = shown.lines().filter(is_read).map(path).collect();
    paths.sort();
    let mut paths = paths.into_iter();
    let line = |line: &str| match line.rsplit_once(' ').filter(|_| is_read(&line)) {
        Some((kept, _)) => format!("{kept} {}\n", paths.next().unwrap_or_default()),
        None => format!("{line}\n"),
    };
    shown.lines().map(line).collect()
}

#[test]
fn a_session_is_a_run_that_says_so() {
    let stage = Stage::new(with_bug(), replies());
    stage.shown(&["agent", PROMPT]);
    let session = stage.latest();
    expect![[r#"
        RUN STARTED BY CALLS FAILED REFUSED OPEN UNKNOWN HOLDER ROOT
        ses_1 2000-01-01T00:00:00.000Z agent 1 0 0 0 0 - /world/work
        ses_2 2000-01-01T00:00:00.000Z agent 6 1 0 0 0 - /world/work
        --- status 0
    "#]]
    .assert_eq(&squeezed(&stage.shown(&["runs", "list"])));
    expect![[r#"
        run ses_1
        root /world/work
        begun 2000-01-01T00:00:00.000Z by agent, haft VERSION
        session what was said in it is shown by: haft sessions show ses_1

        CALL TOOL STATUS STARTED MS CODE INPUT
        ses_1/main/0/1/1 task succeeded 2000-01-01T00:00:00.000Z 0 - prompt=Where is the sum of two numbers computed? subagent_t…
        ses_1/main/0/1/2 read succeeded 2000-01-01T00:00:00.000Z 0 - src/sum.sh
        ses_1/main/0/1/3 read succeeded 2000-01-01T00:00:00.000Z 0 - test.sh
        ses_1/main/0/1/4 bash failed 2000-01-01T00:00:00.000Z 0 TOOL_COMMAND_FAILED sh test.sh
        ses_1/main/0/1/5 edit succeeded 2000-01-01T00:00:00.000Z 0 - src/sum.sh new_string=7 bytes old_string=7 bytes
        ses_1/main/0/1/6 bash succeeded 2000-01-01T00:00:00.000Z 0 - sh test.sh
        --- status 0
    "#]].assert_eq(&with_reads_in_order(&squeezed(&stage.shown(&["runs", "show", &session]))));
    let shown = stage.world.json(&["runs", "show", &session, "--json"]);
    assert_eq!((&shown["session"]["id"], &shown["retries"]), (&json!(session), &json!([])));
    expect![[r#"
        --- stderr
        the journal is sound
        --- status 0
    "#]]
    .assert_eq(&stage.shown(&["runs", "verify"]));
}

#[test]
fn a_session_goes_with_its_run_and_the_sessions_of_its_subagents() {
    let stage = Stage::new(with_bug(), replies());
    stage.shown(&["agent", PROMPT]);
    let rehearsed =
        stage.world.json(&["runs", "prune", "--older-than", "0d", "--dry-run", "--json"]);
    assert_eq!(rehearsed["runs"].as_array().unwrap().len(), 2);
    let removed = stage.shown(&["runs", "prune", "--older-than", "0d"]);
    assert!(removed.contains("removed 2 runs, 2 sessions among them, with 7 calls"), "{removed}");
    expect![[r#"
        --- stderr
        there are no sessions yet
        --- status 0
    "#]]
    .assert_eq(&stage.shown(&["sessions", "list", "--subagents", "--all"]));
}

#[test]
fn what_was_said_counts() {
    let stage = Stage::new(World::new(), [ScriptedReply::new().text("Hello, you.")]);
    stage.shown(&["agent", "Hello"]);
    let rehearsed = ["runs", "prune", "--keep-bytes", "1", "--dry-run"];
    let due = &stage.world.json(&[&rehearsed[..], &["--json"]].concat())["due"][0];
    let said = "HelloHello, you.".len();
    assert_eq!((&due["calls"], &due["bytes"]), (&json!(0), &json!(said)));
    let shown = stage.shown(&rehearsed);
    assert!(shown.contains("ses_1 (Hello): 0 calls, 16 bytes, quiet for "), "{shown}");
    assert!(shown.contains("would remove 1 run, 1 session among them, with 0 calls"), "{shown}");
}

/// Has haft killed while a subagent runs a command, and returns the subagent's session.
fn killed(stage: &Stage) -> String {
    let path = stage.world.fifo("work/fifo");
    let mut command = stage.haft(&["agent", "Order it"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut lifeline = std::fs::File::open(path).unwrap();
    lifeline.read_exact(&mut [0; 6]).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let listed = stage.world.json(&["sessions", "list", "--subagents", "--json"]);
    let listed = listed.as_array().unwrap();
    assert!(listed.iter().all(|session| session["status"] == "interrupted"), "{listed:?}");
    let subagent = listed.iter().find(|session| session["agent"] == "general").unwrap();
    subagent["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_call_in_doubt_of_a_subagent_is_settled_and_its_session_gone_on_with() {
    let of_subagent =
        || ReplyCondition { last: Some("Order one".to_owned()), ..ReplyCondition::default() };
    let task = json!({"subagent_type": "general", "prompt": "Order one."});
    let order = "exec > fifo; echo begun; sleep 1000";
    let replies = [
        ScriptedReply::new().call("bash", json!({"cmd": order})).when(of_subagent()),
        ScriptedReply::new().call("task", task),
        ScriptedReply::new().text("It was ordered."),
        ScriptedReply::new().text("All is done."),
    ];
    let stage = Stage::new(World::new(), replies);
    let subagent = killed(&stage);
    expect![[r#"
        run ses_1
        root /world/work
        begun 2000-01-01T00:00:00.000Z by agent, haft VERSION
        session what was said in it is shown by: haft sessions show ses_1
        holder process 7 on host, which is gone (since 2000-01-01T00:00:00.000Z, epoch 1)

        1 call is in doubt: it was begun, and it may or may not have happened:
        ses_1/main/0/1/1 bash exec > fifo; echo begun; sleep 1000
        idempotency key haft_KEY
        Find out, then say so:
        haft runs settle ses_1/main/0/1/1 happened # it is not executed again
        haft runs settle ses_1/main/0/1/1 not-happened # a resume executes it
        haft runs settle ses_1/main/0/1/1 retry # a resume executes it although it may have happened
        Then go on with the session:
        haft agent --resume ses_2

        CALL TOOL STATUS STARTED MS CODE INPUT
        ses_1/main/0/1/1 bash begun, end not recorded; in doubt 2000-01-01T00:00:00.000Z - - exec > fifo; echo begun; sleep 1000
        --- status 0
    "#]].assert_eq(&squeezed(&stage.shown(&["runs", "show", &subagent])));
    let call = format!("{subagent}/main/0/1/1");
    let call_shown = stage.shown(&["runs", "show", &call]);
    assert!(call_shown.contains("Then go on with the session:\n  haft agent --resume"));
    stage.world.run(&["runs", "settle", &call, "happened"]);
    let top = stage.latest();
    let output = stage.haft(&["agent", "--resume", &top, "--headless"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "All is done.\n");
    expect![[r#"
        session ses_1
        title Order one.
        root /world/work
        agent general
        model openai/test
        status completed
        begun 2000-01-01T00:00:00.000Z
        changed 2000-01-01T00:00:00.000Z
        tokens 60 read, 8 written
        parent ses_2

        [msg_1] you
        Order one.

        [msg_2] general
        → bash exec > fifo; echo begun; sleep 1000 · 1 line · recalled · 0 ms

        [msg_3] general
        It was ordered.
        --- status 0
    "#]]
    .assert_eq(&squeezed(&stage.shown(&["sessions", "show", &subagent])));
}
