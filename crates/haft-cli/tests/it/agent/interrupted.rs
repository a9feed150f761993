//! Being stopped by signals, and two processes that want one session.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use expect_test::expect;
use haft_scripted_model::{ReplyEnd, ScriptedReply};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::Stage;
use crate::world::World;

#[test]
fn a_signal_stops_the_turn_and_what_was_said_is_kept() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let reply = ScriptedReply::new().text("It begins").waiting_for("go").text(" and ends.");
        let stage =
            Stage::new(World::new(), [reply, ScriptedReply::new().text("Here is the rest.")]);
        let mut command = stage.haft(&["agent", "Tell me", "--json"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // A message that was sent and did not arrive is not kept.
        let stream = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let mut stream = stream.skip_while(|line| !line.contains("It begins"));
        assert!(stream.next().is_some());
        kill_process(Pid::from_child(&child), signal).unwrap();
        assert!(stream.last().unwrap().contains(r#""end":"aborted""#));
        let shown = stage.world.shown(&child.wait_with_output().unwrap());
        assert!(shown.contains("stopping the turn"), "{shown}");
        assert!(shown.contains("error: the turn was stopped"), "{shown}");
        assert!(shown.contains("hint: haft agent --resume ses_"), "{shown}");
        assert!(shown.ends_with("--- status 1\n"), "{shown}");
        assert_eq!(stage.model.requests()[0].ended, Some(ReplyEnd::HungUp));
        let kept = stage.world.run(&["sessions", "show", "last"]);
        assert!(kept.contains("(aborted)\nIt begins\n"), "{kept}");
        let output = stage.haft(&["agent", "--resume", "last"]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "Here is the rest.\n");
    }
}

#[test]
fn the_prompt_is_recorded_before_a_program_learns_of_the_session() {
    for _ in 0..10 {
        let stage = Stage::new(World::new(), [ScriptedReply::new().waiting_for("go").text("Hi.")]);
        let mut command = stage.haft(&["agent", "Remember this prompt", "--json"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut event = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut event).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(event.contains(r#""type":"session""#), "{event}");
        let shown = stage.world.run(&["sessions", "show", "last"]);
        assert!(shown.contains("Remember this prompt"), "{shown}");
    }
}

#[test]
fn a_session_in_which_nothing_was_said_is_not_done() {
    let stage = Stage::new(World::new(), [ScriptedReply::new().text("Hello.")]);
    stage.shown(&["agent", "Hello"]);
    let shown = stage.world.json(&["sessions", "show", "last", "--json"]);
    let first = shown["messages"][0]["id"].as_str().unwrap();
    stage.world.run(&["sessions", "rewind", "last", first]);
    expect![[r#"
        --- stderr
        session ses_1 · build · openai/test
        error: nothing was said in session ses_1, so it cannot go on: give it a prompt

        hint: haft agent --resume ses_1 'What is to be done'
        --- status 2
    "#]]
    .assert_eq(&stage.shown(&["agent", "--resume", "last"]));
    let events = stage.shown(&["agent", "--resume", "last", "--json"]);
    assert!(events.contains(r#""type":"turn_ended","end":"failed""#), "{events}");
    assert!(events.ends_with("--- status 2\n"), "{events}");
}

#[test]
fn a_command_that_runs_is_stopped_with_its_turn() {
    let fifo = "exec > fifo; echo begun; sleep 1000";
    let replies = [ScriptedReply::new()
        .call("bash", json!({"cmd": fifo}))
        .call("write", json!({"path": "a", "content": "b"}))];
    let stage = Stage::new(World::new(), replies);
    let path = stage.world.fifo("work/fifo");
    let child = stage
        .haft(&["agent", "Run it", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lifeline = std::fs::File::open(path).unwrap();
    std::io::Read::read_exact(&mut lifeline, &mut [0; 6]).unwrap();
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    let stream = String::from_utf8(output.stdout).unwrap();
    assert!(stream.lines().last().unwrap().contains(r#""end":"aborted""#), "{stream}");
    assert!(stream.contains("this call was not made: the turn was stopped"), "{stream}");
    assert!(!stage.world.path("work/a").exists());
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_session_that_another_process_has_can_be_forked() {
    let reply = ScriptedReply::new().waiting_for("go").text("Done.");
    let stage = Stage::new(
        World::new(),
        [ScriptedReply::new().text("Hello."), reply, ScriptedReply::new().text("In the copy.")],
    );
    stage.shown(&["agent", "Hello"]);
    let mut first = stage.haft(&["agent", "--resume", "last", "Wait"]);
    let first = first.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    stage.model.wait_until_held("go");
    let second = stage.shown(&["agent", "--resume", "last", "Me too"]);
    assert!(second.contains("error: session ses_1 is held by process 7 on host"), "{second}");
    assert!(second.contains("hint: haft sessions fork ses_1"), "{second}");
    assert!(second.ends_with("--- status 1\n"), "{second}");
    let fork = stage.world.run(&["sessions", "fork", "last"]);
    let answered = stage.haft(&["agent", "--resume", fork.trim(), "And here?"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&answered.stdout), "In the copy.\n");
    stage.model.release("go");
    let output = first.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "Done.\n");
}
