//! Going on with a plan whose node failed, and what others may do in its run.

use expect_test::expect;

use crate::world::World;

const NEEDS: &str = r#"{
  "nodes": [
    {"id": 0, "tool": "bash", "inputs": {"cmd": "echo begun >> log"}, "depends_on": []},
    {"id": 1, "tool": "bash", "inputs": {"cmd": "test -e cause && cat cause >> log"}, "depends_on": [0]},
    {"id": 2, "tool": "read", "inputs": {"path": "log"}, "depends_on": [1]}
  ],
  "final_output_node": 2
}"#;

#[test]
fn what_failed_is_tried_anew_once_its_cause_is_mended() {
    let world = World::with_files();
    world.write("work/needs.json", NEEDS);
    world.check(
        &["run", "needs.json", "--run", "r1", "--allow", "bash"],
        &expect![[r#"
        --- stderr
        run r1: 3 nodes
        0 bash succeeded in 0 ms
        1 bash failed in 0 ms: TOOL_COMMAND_FAILED: bash exited with status 1
        2 read skipped because of node 1
        error: run r1 was halted, because node 1 failed; 1 of 3 nodes succeeded, 1 failed, 1 skipped
          node 1: bash: TOOL_COMMAND_FAILED: bash exited with status 1

        hint: haft resume r1 --allow bash --retry-failed
        --- status 1
    "#]],
    );
    world.write("work/cause", "mended\n");
    world.check(
        &["resume", "r1", "--allow", "bash"],
        &expect![[r#"
        --- stderr
        run r1: 3 nodes
        0 bash succeeded, recalled
        1 bash failed, recalled: TOOL_COMMAND_FAILED: bash exited with status 1
        2 read skipped because of node 1
        error: run r1 was halted, because node 1 failed; 1 of 3 nodes succeeded, 1 failed, 1 skipped
          node 1: bash: TOOL_COMMAND_FAILED: bash exited with status 1

        hint: haft resume r1 --allow bash --retry-failed
        --- status 1
    "#]],
    );
    world.check(
        &["resume", "r1", "--allow", "bash", "--retry-failed"],
        &expect![[r#"
        begun
        mended
        --- stderr
        run r1: 3 nodes
        0 bash succeeded, recalled
        1 bash succeeded in 0 ms
        2 read succeeded in 0 ms
        run r1 finished in 0 ms: 3 of 3 nodes succeeded
        --- status 0
    "#]],
    );
    assert_eq!(world.run(&["resume", "r1"]), "begun\nmended\n");
}

#[test]
fn nobody_else_makes_calls_in_the_run_of_a_plan() {
    let world = World::with_files();
    world.write("work/needs.json", NEEDS);
    world.haft(&["run", "needs.json", "--run", "r1", "--allow", "bash"]).output().unwrap();
    let call = ["call", "read", r#"{"path":"notes.txt"}"#, "--run", "r1", "--node", "n2"];
    world.check(&call, &expect![[r#"
        --- stderr
        error: the calls of run r1 are the nodes of a plan, so no other front end makes calls in it: nothing was executed; make this call in another run

        hint: haft resume r1
        --- status 2
    "#]]);
}

#[test]
fn an_answer_that_nodes_use_is_said_with_what_happened() {
    let world = World::with_files();
    let used = r#"{
      "nodes": [
        {"id": 0, "tool": "bash", "inputs": {"cmd": "echo begun; sleep 60"}, "depends_on": [], "timeout": 1},
        {"id": 1, "tool": "grep", "inputs": {"pattern": "{{STEPS.0.output}}"}, "depends_on": [0]}
      ],
      "final_output_node": 1
    }"#;
    world.write("work/used.json", used);
    world.haft(&["run", "used.json", "--run", "r1", "--allow", "bash"]).output().unwrap();
    world.check(&["runs", "settle", "r1/n0/0/1/1", "happened"], &expect![[r#"
        --- stderr
        error: node 1 of its plan uses what call r1/n0/0/1/1 answered: say what that was with --result, as JSON

        hint: haft runs settle r1/n0/0/1/1 happened --result JSON
        --- status 2
    "#]]);
    world.run(&["runs", "settle", "r1/n0/0/1/1", "happened", "--result", r#"{"output":"two"}"#]);
    assert!(world.run(&["resume", "r1"]).contains("notes.txt:2:two"));
}
