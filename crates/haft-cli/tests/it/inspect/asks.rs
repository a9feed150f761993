//! Asks that people answer in browsers: every kind of answer by keyboard, two people at one ask, an answer from elsewhere.

use std::process::Child;

use expect_test::expect;
use serde_json::{Value, json};

use super::{Inspecting, step, views};
use crate::terminal::Terminal;
use crate::world::World;

/// A call that waits for an answer, at a terminal where no person answers.
struct WaitingCall {
    terminal: Terminal,
    child: Child,
}

impl WaitingCall {
    fn begin(world: &World, run: &str, tool: &str, input: &Value) -> Self {
        let mut terminal = Terminal::new();
        let input = input.to_string();
        let args = ["call", "--preset", "ask", "--run", run, tool, &input];
        let child = terminal.start(&mut world.haft(&args));
        terminal.wait_for("[r]eject: ");
        Self { terminal, child }
    }

    /// Returns what the terminal showed, and the status of the command.
    fn end(self) -> (String, Option<i32>) {
        let (shown, _, status) = self.terminal.finish(self.child);
        (shown, status)
    }
}

#[test]
fn people_answer_asks() {
    let world = World::with_files();
    let begin = |run: &str, tool: &str, input: Value| WaitingCall::begin(&world, run, tool, &input);
    let edit = json!({"path": "src/main.rs", "old_string": "\"two\"", "new_string": "\"three\""});
    let once = begin("once", "edit", edit);
    let edited = begin("edited", "write", json!({"path": "new.txt", "content": "hello\n"}));
    let rejected = begin("rejected", "bash", json!({"cmd": "cargo test"}));
    let always = begin("always", "bash", json!({"cmd": "cargo build --release"}));
    let both = begin("both", "bash", json!({"cmd": "echo both"}));
    let elsewhere = begin("elsewhere", "bash", json!({"cmd": "echo elsewhere"}));
    let mut steps = vec![json!({"step": "asks", "count": 6})];
    steps.extend(views(["/asks"]));
    steps.extend([
        json!({"step": "picture", "name": "ask", "path": "/asks", "height": 760}),
        json!({"step": "answer", "run": "once", "button": "Allow once"}),
        json!({"step": "answer", "run": "edited", "button": "Allow the edited input", "open": "Edit the input",
            "input": {"path": "docs.txt", "content": "bye\n"}}),
        json!({"step": "answer", "run": "rejected", "button": "Reject", "words": "use cargo nextest"}),
        json!({"step": "answer", "run": "always", "button": "Exactly this, for the project", "open": "Allow it from now on"}),
        step("second_person"),
        json!({"step": "ask_of_two", "run": "both"}),
        json!({"step": "withdrawn", "run": "elsewhere"}),
    ]);
    steps.extend(views(["/asks"]));
    steps.push(step("faults"));
    let act = |_: &Value| {
        let asks = world.json(&["asks", "list", "--json"]);
        world.run(&["asks", "reject", asks[0]["id"].as_str().unwrap()]);
    };
    Inspecting::start(&world).people(
        &steps,
        act,
        &expect![[r#"
            {"step":"asks","cards":6,"icon":"/assets/icon-ask.svg"}
            {"step":"view","path":"/asks","findings":[]}
            {"step":"answer","run":"once","marks":["two","three"],"how":"Allowed once by … through inspector"}
            {"step":"answer","run":"edited","how":"Allowed with another input by … through inspector"}
            {"step":"answer","run":"rejected","how":"Rejected by … through inspector"}
            {"step":"answer","run":"always","rules":["allow bash \"cargo build --release $\"\n","allow bash \"cargo build *\"\n"],"how":"Allowed for the project by … through inspector"}
            {"step":"second_person"}
            {"step":"ask_of_two","run":"both","how":"Allowed once by … through inspector","other":"Allowed once by … through inspector","late":"Nothing was changed: Allowed once by … through inspector."}
            {"step":"begin","elsewhere":"elsewhere"}
            {"step":"withdrawn","run":"elsewhere","how":"Rejected by … through asks"}
            {"step":"view","path":"/asks","findings":[]}
            {"step":"faults","faults":[]}
        "#]],
    );
    let check = |call: WaitingCall, status: i32, expect: &str| {
        let (shown, found) = call.end();
        assert!(shown.contains(expect) && found == Some(status), "{found:?}: {shown}");
    };
    check(once, 0, "through inspector");
    check(edited, 0, "the user changed the input of this call");
    check(rejected, 3, "and says: use cargo nextest");
    check(elsewhere, 3, "through asks");
    // Programs that are not there fail, but they were allowed.
    drop((always.end(), both.end()));
    assert!(world.read("work/src/main.rs").contains("\"three\""));
    assert_eq!(world.read("work/docs.txt"), "bye\n");
    assert!(!world.path("work/new.txt").exists());
    let rules = world.run(&["permissions", "list"]);
    assert!(
        rules.contains("cargo build --release $") && !rules.contains("cargo build *"),
        "{rules}"
    );
}
