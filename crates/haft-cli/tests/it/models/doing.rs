//! `haft do`: a request becomes a plan, the plan is run with real tools, and its outcome becomes an answer.

use std::path::Path;
use std::process::Stdio;

use expect_test::expect;
use haft_scripted_model::ScriptedReply;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::server::{KEY, ModelServer, WireProtocol, silence};
use super::{COMMAND, MISSING, READS};
use crate::terminal::Terminal;
use crate::world::World;

const DO: [&str; 3] = ["do", "What do the notes say?", "--yes"];
const ANSWER: &str = "They count to three.";

#[test]
fn the_answer_is_made_of_what_tools_found() {
    for wire in WireProtocol::ALL {
        let world = World::with_files();
        let server = ModelServer::saying(wire, &[READS, ANSWER]);
        let output = server.haft(&world, &DO).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{ANSWER}\n"));
        let shown = world.shown(&output);
        assert!(shown.ends_with("status 0\n"), "{shown}");
        let [planning, answering] = &server.asked()[..] else { panic!("asked at both ends") };
        assert!(planning.text().contains("You turn a request"), "{}", planning.text());
        assert!(answering.text().contains("You answer a request"), "{}", answering.text());
        assert!(answering.text().contains("one\\\\ntwo\\\\nthree"), "{}", answering.text());
    }
}

#[test]
fn what_happens_is_said_on_standard_error() {
    let world = World::with_files();
    let server = ModelServer::saying(WireProtocol::OpenAi, &[READS, ANSWER]);
    expect![[r#"
        They count to three.
        --- stderr
        asking openai/test for a plan

        ┌─────────┐
        │ 0 glob  │
        └────┬────┘
             │
        ╔════▼════╗
        ║ 1 read  ║
        ╚═════════╝
        ╔═╗ the final output

        0 glob {"pattern":"*.txt"} (find the notes)
        1 read {"path":"{{STEPS.0.paths[0]}}"} (read them)

        made a plan (30 tokens read, 4 written)
        run run_XXXXXXXXXXXXXXXXXXXXXXXXXX: 2 nodes
        0 glob succeeded in 0 ms (find the notes)
        1 read succeeded in 0 ms (read them)
        run run_XXXXXXXXXXXXXXXXXXXXXXXXXX finished in 0 ms: 2 of 2 nodes succeeded
        asking openai/test for the answer
        --- status 0
    "#]]
    .assert_eq(&server.shown(&world, &DO));
}

#[test]
fn a_plan_that_failed_is_answered_honestly_too() {
    let world = World::with_files();
    let plan = READS.replace("*.txt", "*.none");
    let server = ModelServer::saying(WireProtocol::OpenAi, &[&plan, "There are no notes."]);
    expect![[r#"
        There are no notes.
        --- stderr
        asking openai/test for a plan

        ┌─────────┐
        │ 0 glob  │
        └────┬────┘
             │
        ╔════▼════╗
        ║ 1 read  ║
        ╚═════════╝
        ╔═╗ the final output

        0 glob {"pattern":"*.none"} (find the notes)
        1 read {"path":"{{STEPS.0.paths[0]}}"} (read them)

        made a plan (30 tokens read, 4 written)
        run run_XXXXXXXXXXXXXXXXXXXXXXXXXX: 2 nodes
        0 glob succeeded in 0 ms (find the notes)
        1 read failed in 0 ms (read them): INVALID_INPUT: inputs.path: {{STEPS.0.paths[0]}} names nothing: STEPS.0.paths is an array without items
        error: run run_XXXXXXXXXXXXXXXXXXXXXXXXXX was halted, because node 1 failed; 1 of 2 nodes succeeded, 1 failed
          node 1: read: INVALID_INPUT: inputs.path: {{STEPS.0.paths[0]}} names nothing: STEPS.0.paths is an array without items

        hint: haft runs show run_XXXXXXXXXXXXXXXXXXXXXXXXXX
        asking openai/test for the answer
        --- status 1
    "#]].assert_eq(&server.shown(&world, &DO));
    assert!(server.asked()[1].text().contains("failed"), "{}", server.asked()[1].text());
}

#[test]
fn what_is_missing_is_said_and_nothing_is_run() {
    let world = World::with_files();
    let server = ModelServer::saying(WireProtocol::OpenAi, &[MISSING]);
    expect![[r#"
        --- stderr
        asking openai/test for a plan
        error: the tools on offer cannot do this, so there is no plan; the model says what is missing: sending mail

        hint: haft tools list
        --- status 6
    "#]].assert_eq(&server.shown(&world, &DO));
    assert!(!world.path("state/journal.sqlite").exists());
}

#[test]
fn without_anybody_to_ask_no_plan_is_made() {
    let world = World::with_files();
    let server = ModelServer::saying(WireProtocol::OpenAi, &[READS]);
    expect![[r#"
        --- stderr
        error: haft cannot ask here whether to run the plan, so it made none: give --yes, or make a plan, look at it and run it

        hint: haft plan make 'What do the notes say?'
        --- status 3
    "#]].assert_eq(&server.shown(&world, &DO[..2]));
    assert!(server.asked().is_empty());
}

#[test]
fn dangerous_tools_are_named_or_nothing_is_run() {
    let world = World::with_files();
    let server = ModelServer::saying(WireProtocol::OpenAi, &[COMMAND, COMMAND, ANSWER]);
    expect![[r#"
        --- stderr
        asking openai/test for a plan

        ╔═════════╗
        ║ 0 bash  ║
        ╚═════════╝
        ╔═╗ the final output

        0 bash {"cmd":"env; echo ran > ran.txt"}

        made a plan (30 tokens read, 4 written)
        dangerous, so that each runs only when it is allowed: bash
        error: the plan calls dangerous tools that you did not allow, so it was not run: bash; give --allow with each, or offer others with --tools; it is kept in plan.json

        hint: haft run plan.json --allow bash
        --- status 3
    "#]].assert_eq(&server.shown(&world, &DO));
    assert!(!world.path("work/ran.txt").exists());
    let shown = server.shown(&world, &[&DO[..], &["--allow", "bash"]].concat());
    assert!(shown.starts_with(ANSWER) && shown.ends_with("status 0\n"), "{shown}");
    assert_eq!(world.read("work/ran.txt"), "ran\n");
    // The command was shown its environment, and the model what it printed.
    let answering = server.asked()[2].text();
    assert!(answering.contains("PATH=") && !answering.contains(KEY), "{answering}");
}

#[test]
fn a_key_is_kept_nowhere() {
    let world = World::with_files();
    let server = ModelServer::saying(WireProtocol::OpenAi, &[COMMAND, ANSWER]);
    server.shown(&world, &[&DO[..], &["--allow", "bash"]].concat());
    let mut looked_at = 0;
    each_file(&world.path(""), &mut |path, bytes| {
        let holds = |part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
        assert!(!holds(&KEY.as_bytes()[8..16]), "{}", path.display());
        looked_at += 1;
    });
    assert!(looked_at > 3, "{looked_at}");
}

fn each_file(directory: &Path, look: &mut dyn FnMut(&Path, &[u8])) {
    for entry in std::fs::read_dir(directory).unwrap().flatten() {
        let path = entry.path();
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => each_file(&path, look),
            kind if kind.is_file() => look(&path, &std::fs::read(&path).unwrap()),
            _ => {}
        }
    }
}

#[test]
fn without_an_answer_the_output_of_the_plan_is_printed() {
    let world = World::with_files();
    let replies = [ScriptedReply::new().text(READS), ScriptedReply::failure(400, "no")];
    let server = ModelServer::start(WireProtocol::OpenAi, replies);
    expect![[r#"
        one
        two
        three
        --- stderr
        asking openai/test for a plan

        ┌─────────┐
        │ 0 glob  │
        └────┬────┘
             │
        ╔════▼════╗
        ║ 1 read  ║
        ╚═════════╝
        ╔═╗ the final output

        0 glob {"pattern":"*.txt"} (find the notes)
        1 read {"path":"{{STEPS.0.paths[0]}}"} (read them)

        made a plan (30 tokens read, 4 written)
        run run_XXXXXXXXXXXXXXXXXXXXXXXXXX: 2 nodes
        0 glob succeeded in 0 ms (find the notes)
        1 read succeeded in 0 ms (read them)
        run run_XXXXXXXXXXXXXXXXXXXXXXXXXX finished in 0 ms: 2 of 2 nodes succeeded
        asking openai/test for the answer
        error: the plan was run, but its outcome was not put into words: openai did not take the request: check the model's name and base_url (HTTP 400: no)

        hint: haft runs show run_XXXXXXXXXXXXXXXXXXXXXXXXXX
        --- status 1
    "#]].assert_eq(&server.shown(&world, &DO));
}

#[test]
fn programs_are_told_in_lines() {
    let world = World::with_files();
    let server = ModelServer::saying(WireProtocol::OpenAi, &[READS, ANSWER]);
    let output = server.haft(&world, &[&DO[..], &["--json"]].concat()).output().unwrap();
    let lines: Vec<Value> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let first = lines.first().unwrap();
    assert_eq!(
        (&first["event"], &first["plan"]["final_output_node"]),
        (&"plan_made".into(), &1.into())
    );
    let last = lines.last().unwrap();
    assert_eq!((&last["event"], &last["text"]), (&"answered".into(), &ANSWER.into()));
    assert!(lines.iter().any(|line| line["event"] == "node_finished"), "{lines:?}");
}

#[test]
fn a_run_can_be_gone_on_with_without_the_model() {
    let world = World::with_files();
    let server = ModelServer::saying(WireProtocol::OpenAi, &[READS, ANSWER]);
    let output = server.haft(&world, &[&DO[..], &["--json"]].concat()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    let run = last["run"].as_str().unwrap();
    assert_eq!(world.run(&["resume", run]), "one\ntwo\nthree\n");
}

#[test]
fn an_answer_that_takes_too_long_can_be_done_without() {
    let world = World::with_files();
    let server =
        ModelServer::start(WireProtocol::OpenAi, [ScriptedReply::new().text(READS), silence()]);
    let mut command = server.haft(&world, &DO);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    server.wait_for(2);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let shown = world.shown(&child.wait_with_output().unwrap());
    let (_, end) = shown.split_once("for the answer\n").unwrap();
    expect![[r#"
        error: the plan was run, but its outcome was not put into words: the answer was not waited for: it was cancelled

        hint: haft runs show run_XXXXXXXXXXXXXXXXXXXXXXXXXX
        --- status 1
    "#]].assert_eq(end);
    assert!(shown.starts_with("one\ntwo\nthree\n"), "{shown}");
}

fn answered(answer: &str) -> (String, ModelServer) {
    let world = World::with_files();
    let server = ModelServer::saying(WireProtocol::OpenAi, &[READS, ANSWER]);
    let mut terminal = Terminal::new();
    let child = terminal.start(&mut server.haft(&world, &DO[..2]));
    terminal.wait_for("[y]es, [n]o: ");
    terminal.type_text(answer);
    let (_, stdout, status) = terminal.finish(child);
    (format!("{stdout}status {}", status.unwrap()), server)
}

#[test]
fn a_person_is_asked_before_anything_runs() {
    let (told, server) = answered("y\n");
    assert_eq!((told.as_str(), server.asked().len()), ("They count to three.\nstatus 0", 2));
    let (told, server) = answered("n\n");
    assert_eq!((told.as_str(), server.asked().len()), ("status 3", 1));
}
