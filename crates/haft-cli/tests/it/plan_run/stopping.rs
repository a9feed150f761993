//! Plans that are stopped, cancelled and killed, and how they resume.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Stdio};

use expect_test::expect;
use rustix::process::{Pid, Signal, kill_process};

use crate::world::World;

/// A plan whose second node places an order and waits until a process writes into a FIFO.
const ORDER: &str = r#"{
  "nodes": [
    {"id": 0, "tool": "bash", "inputs": {"cmd": "echo first >> log"}, "depends_on": []},
    {"id": 1, "tool": "bash", "inputs": {"cmd": "echo ordered >> log; echo begun > begun; read line < go; echo $line"},
     "depends_on": [0]},
    {"id": 2, "tool": "bash", "inputs": {"cmd": "echo last >> log; cat log"}, "depends_on": [1]}
  ],
  "final_output_node": 2
}"#;

/// A plan whose second node runs.
pub(super) struct Ordering {
    world: World,
    child: Child,
}

impl Ordering {
    pub(super) fn begin() -> Self {
        let world = World::with_files();
        world.write("work/order.json", ORDER);
        let begun = world.fifo("work/begun");
        world.fifo("work/go");
        let mut command = world.haft(&["run", "order.json", "--run", "r1", "--allow", "bash"]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(std::fs::File::open(begun).unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "begun\n");
        Self { world, child }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits until a line is said that begins like this.
    fn wait_for(&mut self, beginning: &str) -> String {
        let mut said = String::new();
        let stderr = self.child.stderr.as_mut().unwrap();
        // Byte by byte, so that no byte for another reader is taken.
        while !said.lines().any(|line| line.starts_with(beginning)) || !said.ends_with('\n') {
            let mut byte = [0];
            assert_eq!(stderr.read(&mut byte).unwrap(), 1, "it ended after {said}");
            said.push(char::from(byte[0]));
        }
        said
    }

    /// Kills it, and returns the world that it left behind.
    pub(super) fn kill(mut self) -> World {
        self.child.kill().unwrap();
        self.end("").0
    }

    /// Lets the second node end.
    fn let_go(&self) {
        let mut go = OpenOptions::new().write(true).open(self.world.path("work/go")).unwrap();
        writeln!(go, "gone").unwrap();
    }

    /// Returns everything that can be seen of the end.
    fn end(self, said: &str) -> (World, String) {
        let mut output = self.child.wait_with_output().unwrap();
        output.stderr.splice(0..0, said.bytes());
        let shown = self.world.shown(&output);
        (self.world, shown)
    }
}

#[test]
fn an_interrupt_lets_what_runs_end_and_begins_nothing_more() {
    let mut ordering = Ordering::begin();
    ordering.signal(Signal::INT);
    let said = ordering.wait_for("stopping");
    ordering.let_go();
    let (world, shown) = ordering.end(&said);
    expect![[r#"
        --- stderr
        run r1: 3 nodes
        0 bash succeeded in 0 ms
        stopping r1: nothing more begins, what runs may end; interrupt again to cancel it
        1 bash succeeded in 0 ms
        error: run r1 was stopped; 2 of 3 nodes succeeded, 1 left to do

        hint: haft resume r1 --allow bash
        --- status 1
    "#]]
    .assert_eq(&shown);
    assert_eq!(world.read("work/log"), "first\nordered\n");
    world.check(
        &["resume", "r1", "--allow", "bash"],
        &expect![[r#"
        first
        ordered
        last
        --- stderr
        run r1: 3 nodes
        0 bash succeeded, recalled
        1 bash succeeded, recalled
        2 bash succeeded in 0 ms
        run r1 finished in 0 ms: 3 of 3 nodes succeeded
        --- status 0
    "#]],
    );
}

#[test]
fn a_second_interrupt_cancels_what_runs() {
    let mut ordering = Ordering::begin();
    ordering.signal(Signal::TERM);
    let said = ordering.wait_for("stopping");
    ordering.signal(Signal::INT);
    let (world, shown) = ordering.end(&said);
    expect![[r#"
        --- stderr
        run r1: 3 nodes
        0 bash succeeded in 0 ms
        stopping r1: nothing more begins, what runs may end; interrupt again to cancel it
        cancelling what runs of r1
        1 bash cancelled in 0 ms: PROCESS_ABORTED: the call was cancelled, and bash was killed with everything it started; its effect may or may not have happened: check before repeating
        error: run r1 was stopped, and what ran was cancelled; 1 of 3 nodes succeeded, 1 cancelled, 1 left to do
          node 1: call r1/n1/0/1/1 was cancelled while it ran, so it may or may not have happened. It is not repeated. Find out which, then say so with: haft runs settle r1/n1/0/1/1 happened|not-happened|retry

        hint: haft runs show r1
        --- status 4
    "#]].assert_eq(&shown);
    world.check(&["resume", "r1", "--allow", "bash"], &expect![[r#"
        --- stderr
        run r1: 3 nodes
        0 bash succeeded, recalled
        1 bash in doubt: IN_DOUBT: bash was begun and its end is unknown, so it may or may not have happened
        error: run r1 stopped, because a call is in doubt; 1 of 3 nodes succeeded, 1 in doubt, 1 left to do
          node 1: in doubt: bash was begun as call r1/n1/0/1/1 and was stopped before its end, so it may or may not have happened. It is not repeated. Find out which, then say so with: haft runs settle r1/n1/0/1/1 happened|not-happened|retry

        hint: haft runs show r1
        --- status 4
    "#]]);
    world.run(&["runs", "settle", "r1/n1/0/1/1", "happened"]);
    world.check(
        &["resume", "r1", "--allow", "bash"],
        &expect![[r#"
        first
        ordered
        last
        --- stderr
        run r1: 3 nodes
        0 bash succeeded, recalled
        1 bash succeeded, recalled
        2 bash succeeded in 0 ms
        run r1 finished in 0 ms: 3 of 3 nodes succeeded
        --- status 0
    "#]],
    );
}

#[test]
fn what_was_killed_is_gone_on_with_and_nothing_is_repeated() {
    let world = Ordering::begin().kill();
    world.check(&["resume", "r1", "--allow", "bash"], &expect![[r#"
        --- stderr
        run r1: 3 nodes
        0 bash succeeded, recalled
        1 bash in doubt: IN_DOUBT: bash was begun and its end is unknown, so it may or may not have happened
        error: run r1 stopped, because a call is in doubt; 1 of 3 nodes succeeded, 1 in doubt, 1 left to do
          node 1: in doubt: bash was begun as call r1/n1/0/1/1 and its end was never recorded, so it may or may not have happened. It is not repeated. Find out which, then say so with: haft runs settle r1/n1/0/1/1 happened|not-happened|retry

        hint: haft runs show r1
        --- status 4
    "#]]);
    world.check(&["resume", "r1", "--json", "--allow", "bash"], &expect![[r#"
        {"event":"plan_started","run":"r1","nodes":3}
        {"event":"node_started","node":0,"tool":"bash","attempt":1}
        {"event":"node_finished","node":0,"status":"succeeded","duration_ms":0,"replayed":true}
        {"event":"node_started","node":1,"tool":"bash","attempt":1}
        {"event":"node_finished","node":1,"status":"in_doubt","duration_ms":0,"replayed":false,"error":{"code":"IN_DOUBT","text":"bash was begun and its end is unknown, so it may or may not have happened"}}
        {"event":"plan_finished","ending":"in_doubt"}
        {"event":"result","run":"r1","trace":{"ending":"in_doubt","final_output_node":2,"nodes":[{"id":0,"tool":"bash","status":"succeeded","attempts":1,"inputs":{"cmd":"echo first >> log"},"output":{"output":""}},{"id":1,"tool":"bash","status":"in_doubt","attempts":0,"inputs":{"cmd":"echo ordered >> log; echo begun > begun; read line < go; echo $line"},"error":{"code":"IN_DOUBT","text":"bash was begun and its end is unknown, so it may or may not have happened"}},{"id":2,"tool":"bash","status":"pending","attempts":0}],"has_output":false,"final_output":null},"doubts":[{"node":1,"call":"r1/n1/0/1/1","text":"in doubt: bash was begun as call r1/n1/0/1/1 and its end was never recorded, so it may or may not have happened. It is not repeated.","refusal":{"code":"IN_DOUBT","decided_by":"journal","because":"in doubt: bash was begun as call r1/n1/0/1/1 and its end was never recorded, so it may or may not have happened. It is not repeated.","remedies":[{"settle":"r1/n1/0/1/1"}]}}],"timings":{"duration_ms":0,"nodes":[{"id":0,"call":"r1/n0/0/1/1","duration_ms":0,"replayed":true},{"id":1,"call":"r1/n1/0/1/1","duration_ms":0}]}}
        --- stderr
        error: run r1 stopped, because a call is in doubt; 1 of 3 nodes succeeded, 1 in doubt, 1 left to do
          node 1: in doubt: bash was begun as call r1/n1/0/1/1 and its end was never recorded, so it may or may not have happened. It is not repeated. Find out which, then say so with: haft runs settle r1/n1/0/1/1 happened|not-happened|retry

        hint: haft runs show r1
        --- status 4
    "#]]);
    assert_eq!(world.read("work/log"), "first\nordered\n");
    let shown = world.run(&["runs", "show", "r1"]);
    assert!(shown.contains("Then go on with the plan, and name again what you allowed with --allow or --allow-host:\n  haft resume r1\n"), "{shown}");
    world.run(&["runs", "settle", "r1/n1/0/1/1", "happened"]);
    assert_eq!(world.run(&["resume", "r1", "--allow", "bash"]), "first\nordered\nlast\n");
    assert_eq!(world.read("work/log"), "first\nordered\nlast\n");
}

/// A plan whose first node orders something, runs into its time, and halts it or not.
fn late(on_fail: &str) -> World {
    let world = World::with_files();
    let plan = r#"{
      "nodes": [
        {"id": 0, "tool": "bash", "inputs": {"cmd": "echo ordered >> log; read line < go"}, "depends_on": [],
         "timeout": 1, "on_fail": "HOW"},
        {"id": 1, "tool": "read", "inputs": {"path": "notes.txt"}, "depends_on": []}
      ],
      "final_output_node": 1
    }"#;
    world.write("work/late.json", &plan.replace("HOW", on_fail));
    world.fifo("work/go");
    world
}

#[test]
fn what_halted_the_plan_in_the_middle_of_its_effect_is_in_doubt_at_once() {
    let world = late("halt");
    let run = ["run", "late.json", "--run", "r1", "--allow", "bash", "--parallel", "1"];
    world.check(&run, &expect![[r#"
        --- stderr
        run r1: 2 nodes
        0 bash failed in 0 ms: TOOL_TIMEOUT: node 0 took longer than its timeout of 1 s and was stopped; its effect may or may not have happened: check before repeating
        error: run r1 was halted, because node 0 failed; 0 of 2 nodes succeeded, 1 failed, 1 cancelled
          node 0: bash: TOOL_TIMEOUT: node 0 took longer than its timeout of 1 s and was stopped; its effect may or may not have happened: check before repeating
          node 0: call r1/n0/0/1/1 was begun and did not come to its end, so it may or may not have happened. It is not repeated. Find out which, then say so with: haft runs settle r1/n0/0/1/1 happened|not-happened|retry

        hint: haft runs show r1
        --- status 4
    "#]]);
    let shown = world.run(&["runs", "show", "r1", "n0/0/1/1"]);
    for text in [
        "\nstatus    unknown; in doubt\n",
        "\nerror:\n  bash did not end within 1000 ms",
        "\n    \"timeout_ms\": 1000,\n",
        "\n  haft runs settle r1/n0/0/1/1 happened ",
        "\n  haft resume r1\n",
    ] {
        assert!(shown.contains(text), "{text:?} in {shown}");
    }
    world.check(&["resume", "r1", "--allow", "bash"], &expect![[r#"
        --- stderr
        run r1: 2 nodes
        0 bash in doubt: IN_DOUBT: bash was begun and its end is unknown, so it may or may not have happened
        error: run r1 stopped, because a call is in doubt; 0 of 2 nodes succeeded, 1 in doubt, 1 left to do
          node 0: in doubt: bash was begun as call r1/n0/0/1/1 and was stopped before its end, so it may or may not have happened. It is not repeated. Find out which, then say so with: haft runs settle r1/n0/0/1/1 happened|not-happened|retry

        hint: haft runs show r1
        --- status 4
    "#]]);
    world.run(&["runs", "settle", "r1/n0/0/1/1", "happened"]);
    assert_eq!(world.run(&["resume", "r1", "--allow", "bash"]), "one\ntwo\nthree\n");
    assert_eq!(world.read("work/log"), "ordered\n");
}

#[test]
fn what_the_plan_went_on_from_in_the_middle_of_its_effect_stays_a_failure() {
    let world = late("continue");
    let run = ["run", "late.json", "--run", "r1", "--allow", "bash", "--parallel", "1"];
    assert_eq!(world.run(&run), "one\ntwo\nthree\n");
    assert_eq!(world.run(&["resume", "r1", "--allow", "bash"]), "one\ntwo\nthree\n");
}
