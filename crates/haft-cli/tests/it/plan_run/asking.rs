//! Plans at a terminal: what is asked, what an answer holds for, and that the view makes way for it.

use std::process::Command;

use super::stopping::Ordering;
use super::world;
use crate::redaction::redact;
use crate::terminal::Terminal;
use crate::world::World;

/// A plan that calls a dangerous tool twice.
const TWICE: &str = r#"{
  "nodes": [
    {"id": 0, "tool": "bash", "inputs": {"cmd": "echo one >> log"}, "depends_on": []},
    {"id": 1, "tool": "bash", "inputs": {"cmd": "echo two >> log; cat log"}, "depends_on": [0]}
  ],
  "final_output_node": 1
}"#;

fn twice() -> World {
    let world = world();
    world.write("work/twice.json", TWICE);
    world.write("work/listed.json", &TWICE.replace("\"final", "\"allow\": [\"bash\"], \"final"));
    world
}

/// Types these answers, each when it is asked for; returns all that can be seen.
fn answered(world: &World, command: &mut Command, answers: &[&str]) -> String {
    let mut terminal = Terminal::new();
    let child = terminal.start(command);
    for answer in answers {
        terminal.wait_for(": ");
        terminal.type_text(answer);
    }
    let (shown, stdout, status) = terminal.finish(child);
    let text = format!("{shown}--- stdout\n{stdout}--- status {}\n", status.unwrap_or(-1));
    redact(&text, &world.path(""))
}

#[test]
fn a_dangerous_tool_is_asked_about_once() {
    let world = twice();
    let mut dumb = world.haft(&["run", "twice.json", "--run", "r1"]);
    let shown = answered(&world, dumb.env("TERM", "dumb"), &["o\n"]);
    expect_test::expect![[r#"
        run r1: 2 nodes

        The tool bash needs approval.

        Input:
          {"cmd":"echo one >> log"}

        Why you are asked:
          the plan calls bash, which is dangerous; the answer holds for all its calls
            in this run

        Allow it? [y]es, [n]o: o
        0 bash succeeded in 0 ms
        1 bash succeeded in 0 ms
        run r1 finished in 0 ms: 2 of 2 nodes succeeded
        --- stdout
        one
        two
        --- status 0
    "#]]
    .assert_eq(&shown);
}

#[test]
fn who_rejects_a_dangerous_tool_stops_the_plan() {
    let world = twice();
    let mut dumb = world.haft(&["run", "twice.json", "--run", "r1"]);
    let shown = answered(&world, dumb.env("TERM", "dumb"), &["r\n"]);
    assert!(shown.ends_with("--- stdout\n--- status 3\n"), "{shown}");
    assert!(!world.path("work/log").exists());
}

#[test]
fn nobody_is_asked_who_said_headless() {
    let world = twice();
    let shown = answered(&world, &mut world.haft(&["run", "twice.json", "--headless"]), &[]);
    assert!(shown.ends_with("--- status 3\n"), "{shown}");
}

#[test]
fn the_list_of_a_plan_is_confirmed_once_for_this_very_plan_in_this_workspace() {
    let world = twice();
    let run = |file: &str, root: &str, answers: &[&str]| {
        let mut command =
            world.haft(&["run", file, "--root", root, "--run", &format!("{file}{}", root.len())]);
        answered(&world, command.env("TERM", "dumb"), answers)
    };
    let shown = run("listed.json", "src", &["n\n"]);
    expect_test::expect![[r#"

        The plan asks to be allowed tools that are dangerous (bash). It would call:

        node 0: bash
          {"cmd":"echo one >> log"}
        node 1: bash
          {"cmd":"echo two >> log; cat log"}

        Your answer is kept for this very plan in this workspace.
        Allow them? [y]es, [n]o: n
        error: the user did not allow what the plan asks for, so nothing was run
        --- stdout
        --- status 3
    "#]]
    .assert_eq(&shown);
    let shown = run("listed.json", ".", &["yes\n"]);
    assert!(shown.ends_with("--- stdout\none\ntwo\n--- status 0\n"), "{shown}");
    world.run(&["run", "listed.json", "--run", "again"]);
    world.run(&["resume", "again"]);
    let elsewhere = world.haft(&["run", "listed.json", "--root", "src"]).output().unwrap();
    assert_eq!(elsewhere.status.code(), Some(3));
    let with_input = world.haft(&["run", "listed.json", "--input", "1"]).output().unwrap();
    assert_eq!(with_input.status.code(), Some(3));
    world.write("work/listed.json", &world.read("work/listed.json").replace("echo one", "echo 1"));
    let changed = world.haft(&["run", "listed.json"]).output().unwrap();
    assert_eq!(changed.status.code(), Some(3));
}

#[test]
fn what_the_list_of_a_plan_is_confirmed_for_is_shown_with_the_input_of_the_plan() {
    let world = world();
    let plan = r#"{
      "nodes": [
        {"id": 0, "tool": "write", "inputs": {"path": "{{INPUT.path}}", "content": "x"}, "depends_on": []},
        {"id": 1, "tool": "read", "inputs": {"path": "{{INPUT.path}}"}, "depends_on": [0]},
        {"id": 2, "tool": "write", "inputs": {"path": "b", "content": "{{STEPS.1}}"}, "depends_on": [1]}
      ],
      "final_output_node": 0, "allow": ["write"]
    }"#;
    world.write("work/plan.json", plan);
    let input = r#"{"path": "a\u001b[2J"}"#;
    let mut command = world.haft(&["run", "plan.json", "--input", input]);
    let shown = answered(&world, command.env("TERM", "dumb"), &["n\n"]);
    expect_test::expect![[r#"

        The plan asks to be allowed tools that are dangerous (write). It would call:

        node 0: write
          {"path":"a\u001b[2J","content":"x"}
        node 2: write
          {"path":"b","content":"{{STEPS.1}}"}

        Your answer is kept for this very plan with this very input in this workspace.
        Allow them? [y]es, [n]o: n
        error: the user did not allow what the plan asks for, so nothing was run
        --- stdout
        --- status 3
    "#]]
    .assert_eq(&shown);
}

#[test]
fn a_live_view_makes_way_for_questions_and_leaves_only_lines() {
    let world = twice();
    let mut command = world.haft(&["run", "twice.json", "--run", "r1"]);
    command.env("TERM", "xterm").env("NO_COLOR", "1");
    let shown = answered(&world, &mut command, &["o\n"]);
    assert!(shown.ends_with("--- stdout\none\ntwo\n--- status 0\n"), "{shown}");
    let is_drawn = shown.contains("0/2 nodes") && shown.contains("1 bash running");
    assert!(is_drawn && shown.contains("0 bash succeeded in 0 ms"), "{shown}");
    // From the question to its answer nothing is drawn.
    let (_, asked) = shown.split_once("The tool bash needs approval").unwrap();
    let (question, _) = asked.split_once("[n]o: ").unwrap();
    assert!(!question.contains("nodes,"), "{question}");
}

#[test]
fn what_a_rule_asks_is_asked_in_a_plan_too_and_can_be_allowed_for_all_of_it() {
    let world = twice();
    let rule = "[[permissions]]\npermission = \"read\"\npattern = \"*\"\naction = \"ask\"\n";
    world.write("work/haft.toml", rule);
    let node = |id: u32| {
        format!(
            r#"{{"id": {id}, "tool": "read", "inputs": {{"path": "notes.txt"}}, "depends_on": []}}"#
        )
    };
    let nodes = [node(0), node(1), node(2)].join(",");
    world.write("work/reads.json", &format!(r#"{{"nodes": [{nodes}], "final_output_node": 2}}"#));
    let headless = world.haft(&["run", "reads.json"]).output().unwrap();
    assert_eq!(headless.status.code(), Some(3), "{}", world.shown(&headless));
    let mut dumb = world.haft(&["run", "reads.json", "--parallel", "1", "--run", "r1"]);
    let shown = answered(&world, dumb.env("TERM", "dumb"), &["s\n"]);
    assert_eq!(shown.matches("Allow it?").count(), 1, "{shown}");
    assert!(shown.ends_with("--- stdout\none\ntwo\nthree\n--- status 0\n"), "{shown}");
}

#[test]
fn who_resumes_is_asked_what_became_of_a_call_in_doubt() {
    let world = Ordering::begin().kill();
    let resume = |answer: &str| {
        let mut command = world.haft(&["resume", "r1", "--allow", "bash"]);
        answered(&world, command.env("TERM", "dumb"), &[answer])
    };
    let left = resume("leave it\n");
    assert!(left.ends_with("hint: haft runs show r1\n--- stdout\n--- status 4\n"), "{left}");
    expect_test::expect![[r#"
        run r1: 3 nodes
        0 bash succeeded, recalled
        1 bash in doubt: IN_DOUBT: bash was begun and its end is unknown, so it may or may not have happened

        Node 1 called bash, and haft does not know whether it happened: call r1/n1/0/1/1.

        Input:
          {"cmd":"echo ordered >> log; echo begun > begun; read line < go; echo $line"}

        What happened is not executed again, and its answer stays unknown unless you say it
        with haft runs settle --result. What did not happen is executed, and so is what
        you want repeated.

        What became of it? [h]appened, [n]ot happened, [r]epeat it, [l]eave it: h
        run r1: 3 nodes
        0 bash succeeded, recalled
        1 bash succeeded, recalled
        2 bash succeeded in 0 ms
        run r1 finished in 0 ms: 3 of 3 nodes succeeded
        --- stdout
        first
        ordered
        last
        --- status 0
    "#]].assert_eq(&resume("h\n"));
    assert_eq!(world.read("work/log"), "first\nordered\nlast\n");
}

#[test]
fn an_interrupt_at_that_question_leaves_all_as_it_is() {
    let world = Ordering::begin().kill();
    let mut terminal = Terminal::new();
    let mut command = world.haft(&["resume", "r1", "--allow", "bash"]);
    let child = terminal.start(command.env("TERM", "dumb"));
    terminal.wait_for("[l]eave it: ");
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let (shown, _, status) = terminal.finish(child);
    assert!(shown.ends_with("hint: haft runs show r1\n"), "{shown}");
    assert_eq!(status, Some(4));
}

/// Two nodes that may not run at the same time, and a third that waits for the rate of its tool.
const WAITING: &str = r#"{
  "nodes": [
    {"id": 0, "tool": "bash", "inputs": {"cmd": "echo begun > begun; read line < go"}, "depends_on": [], "resources": ["db"]},
    {"id": 1, "tool": "read", "inputs": {"path": "notes.txt"}, "depends_on": [], "resources": ["db"]},
    {"id": 2, "tool": "read", "inputs": {"path": "missing"}, "depends_on": [], "on_fail": "continue"},
    {"id": 3, "tool": "bash", "inputs": {"cmd": "true"}, "depends_on": []}
  ],
  "final_output_node": 1
}"#;

/// Drives that plan on a separate terminal, and returns all that was drawn.
fn drawn(variables: &[(&str, &str)]) -> String {
    let world = world();
    world.write("work/waiting.json", WAITING);
    world.write("work/haft.toml", "[plan.tools.bash]\nconcurrency = 1\n");
    let begun = world.fifo("work/begun");
    world.fifo("work/go");
    let mut terminal = Terminal::new();
    let mut command = world.haft(&["run", "waiting.json", "--run", "r1", "--allow", "bash"]);
    command.env("TERM", "xterm").envs(variables.iter().copied());
    let child = terminal.start(&mut command);
    assert_eq!(std::fs::read_to_string(begun).unwrap(), "begun\n");
    terminal.wait_for_any("1 call of it at a time");
    std::fs::write(world.path("work/go"), "go\n").unwrap();
    let (shown, stdout, status) = terminal.finish(child);
    assert_eq!((stdout.as_str(), status), ("one\ntwo\nthree\n", Some(0)), "{shown}");
    shown
}

#[test]
fn a_live_view_shows_what_waits_and_for_what_in_colours() {
    let shown = drawn(&[]);
    for text in [
        "1 read \u{1b}[2mwaiting for db, used by node 0\u{1b}[0m",
        "3 bash \u{1b}[2mwaiting: 1 call of it at a time\u{1b}[0m",
        "0 bash \u{1b}[36mrunning ",
        "1 read \u{1b}[32msucceeded\u{1b}[0m in ",
        "2 read \u{1b}[31mfailed\u{1b}[0m in ",
    ] {
        assert!(shown.contains(text), "{text:?} in {shown:?}");
    }
}

#[test]
fn a_live_view_has_no_colours_for_whoever_wants_none() {
    let shown = drawn(&[("NO_COLOR", "1")]);
    assert!(shown.contains("1 read waiting for db, used by node 0"), "{shown:?}");
    assert!(shown.contains("2 read failed in "), "{shown:?}");
    let coloured = shown.split("\u{1b}[").skip(1).any(|rest| {
        rest.split_once('m')
            .is_some_and(|(code, _)| code.chars().all(|it| it.is_ascii_digit() || it == ';'))
    });
    assert!(!coloured, "{shown:?}");
}

#[test]
fn a_question_of_a_plan_is_answered_once_at_the_terminal() {
    let world = world();
    let plan = r#"{"nodes": [
        {"id": 0, "question": "Ship it?", "options": ["yes", "no"], "depends_on": []},
        {"id": 1, "tool": "grep", "inputs": {"pattern": "{{STEPS.0}}", "path": "."}, "depends_on": [0]}
    ], "final_output_node": 0}"#;
    world.write("work/ask.json", plan);
    let mut dumb = world.haft(&["run", "ask.json", "--run", "r1"]);
    let shown = answered(&world, dumb.env("TERM", "dumb"), &["2\n"]);
    expect_test::expect![[r#"
        run r1: 2 nodes

        The plan has a question; what you answer allows nothing.

          Ship it?

           1. yes
           2. no

        Your answer (a number, or your own words): 2
        0 person succeeded in 0 ms
        1 grep   succeeded in 0 ms
        run r1 finished in 0 ms: 2 of 2 nodes succeeded
        --- stdout
        no
        --- status 0
    "#]]
    .assert_eq(&shown);
    let again = world.run(&["resume", "r1"]);
    assert_eq!(again, "no\n");
}
