//! Plans that are run: what is printed, how they end, and going on with them.

mod again;
mod asking;
mod grants;
mod stopping;

use expect_test::expect;
use serde_json::Value;

use crate::world::World;

/// A plan that reads, runs a command and puts both together.
const COUNT: &str = r#"{
  "nodes": [
    {"id": 0, "tool": "read", "inputs": {"path": "{{INPUT.path}}"}, "depends_on": [],
     "metadata": {"purpose": "look at the notes"}},
    {"id": 1, "tool": "bash", "inputs": {"cmd": "echo once >> log; wc -l < notes.txt"}, "depends_on": []},
    {"id": 2, "tool": "grep", "inputs": {"pattern": "two", "path": "{{INPUT.path}}"}, "depends_on": [0, 1]}
  ],
  "final_output_node": 2
}"#;
const INPUT: &str = r#"{"path": "notes.txt"}"#;

pub(crate) fn world() -> World {
    let world = World::with_files();
    world.write("work/count.json", COUNT);
    world
}

/// The arguments of a run whose nodes come one after the other, so that its lines have an order.
fn count<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["run", "count.json", "--input", INPUT, "--parallel", "1", "--run", "r1"][..], more].concat()
}

#[test]
fn a_plan_prints_its_output() {
    let world = world();
    world.check(
        &count(&["--allow", "bash"]),
        &expect![[r#"
        notes.txt:2:two
        --- stderr
        run r1: 3 nodes
        0 read succeeded in 0 ms (look at the notes)
        1 bash succeeded in 0 ms
        2 grep succeeded in 0 ms
        run r1 finished in 0 ms: 3 of 3 nodes succeeded
        --- status 0
    "#]],
    );
    assert_eq!(world.read("work/log"), "once\n");
    world.check(
        &count(&["--allow", "bash"]),
        &expect![[r#"
        --- stderr
        error: there is a run r1 already: go on with it, or begin one of another name

        hint: haft resume r1
        --- status 2
    "#]],
    );
    world.check(
        &["resume", "r1"],
        &expect![[r#"
        notes.txt:2:two
        --- stderr
        run r1: 3 nodes
        0 read succeeded, recalled (look at the notes)
        1 bash succeeded, recalled
        2 grep succeeded, recalled
        run r1 finished in 0 ms: 3 of 3 nodes succeeded
        --- status 0
    "#]],
    );
    assert_eq!(world.read("work/log"), "once\n");
    let all = ["run", "count.json", "--input", INPUT, "--allow-dangerous"];
    assert!(world.run(&all).contains("two"));
}

#[test]
fn what_happens_is_told_as_lines_of_json() {
    let world = world();
    world.check(&count(&["--allow", "bash", "--json"]), &expect![[r#"
        {"event":"plan_started","run":"r1","nodes":3}
        {"event":"node_started","node":0,"tool":"read","attempt":1}
        {"event":"node_finished","node":0,"status":"succeeded","duration_ms":0,"replayed":false}
        {"event":"node_started","node":1,"tool":"bash","attempt":1}
        {"event":"node_finished","node":1,"status":"succeeded","duration_ms":0,"replayed":false}
        {"event":"node_started","node":2,"tool":"grep","attempt":1}
        {"event":"node_finished","node":2,"status":"succeeded","duration_ms":0,"replayed":false}
        {"event":"plan_finished","ending":"finished"}
        {"event":"result","run":"r1","trace":{"ending":"finished","final_output_node":2,"nodes":[{"id":0,"tool":"read","status":"succeeded","attempts":1,"inputs":{"path":"notes.txt"},"output":"one\ntwo\nthree\n"},{"id":1,"tool":"bash","status":"succeeded","attempts":1,"inputs":{"cmd":"echo once >> log; wc -l < notes.txt"},"output":{"output":"3\n"}},{"id":2,"tool":"grep","status":"succeeded","attempts":1,"inputs":{"pattern":"two","path":"notes.txt"},"output":{"matches":["notes.txt:2:two"]}}],"has_output":true,"final_output":{"matches":["notes.txt:2:two"]}},"doubts":[],"timings":{"duration_ms":0,"nodes":[{"id":0,"call":"r1/n0/0/1/1","duration_ms":0},{"id":1,"call":"r1/n1/0/1/1","duration_ms":0},{"id":2,"call":"r1/n2/0/1/1","duration_ms":0}]}}
        --- stderr
        run r1 finished in 0 ms: 3 of 3 nodes succeeded
        --- status 0
    "#]]);
}

#[test]
fn a_dangerous_tool_runs_only_if_it_was_named() {
    let world = world();
    world.check(&count(&[]), &expect![[r#"
        --- stderr
        run r1: 3 nodes
        0 read succeeded in 0 ms (look at the notes)
        1 bash failed in 0 ms: PERMISSION_DENIED: bash is dangerous, and the user did not name it
        2 grep skipped because of node 1
        error: run r1 was halted, because node 1 failed; 1 of 3 nodes succeeded, 1 failed, 1 skipped
          node 1: bash: PERMISSION_DENIED: bash is dangerous, and the user did not name it; to allow it, start haft with `--allow bash` (all dangerous tools: `--allow-dangerous`)

        hint: haft resume r1 --allow bash
        --- status 3
    "#]]);
    assert!(!world.path("work/log").exists());
    world.check(
        &["resume", "r1", "--allow", "bash", "--parallel", "1"],
        &expect![[r#"
        notes.txt:2:two
        --- stderr
        run r1: 3 nodes
        0 read succeeded, recalled (look at the notes)
        1 bash succeeded in 0 ms
        2 grep succeeded in 0 ms
        run r1 finished in 0 ms: 3 of 3 nodes succeeded
        --- status 0
    "#]],
    );
    assert_eq!(world.read("work/log"), "once\n");
}

#[test]
fn all_dangerous_tools_that_are_left_are_named_at_once() {
    let world = world();
    world.write(
        "work/two.json",
        r#"{"nodes": [
            {"id": 0, "tool": "bash", "inputs": {"cmd": "echo a"}, "depends_on": []},
            {"id": 1, "tool": "write", "inputs": {"path": "a", "content": "{{STEPS.0.output}}"}, "depends_on": [0]},
            {"id": 2, "tool": "apply_patch", "inputs": {"patch": "{{STEPS.0.output}}"}, "depends_on": [0, 1]}
        ], "final_output_node": 1}"#,
    );
    let hint = |args: &[&str]| {
        let shown = world.shown(&world.haft(args).output().unwrap());
        let hint = shown.lines().find_map(|line| line.strip_prefix("hint: ")).map(str::to_owned);
        hint.unwrap_or_else(|| panic!("{shown}"))
    };
    let first = hint(&["run", "two.json", "--run", "r1"]);
    assert_eq!(first, "haft resume r1 --allow bash --allow write --allow apply_patch");
    let some = hint(&["run", "two.json", "--run", "r2", "--allow", "write"]);
    assert_eq!(some, "haft resume r2 --allow write --allow bash --allow apply_patch");
    let words: Vec<&str> = first.split(' ').skip(1).collect();
    world.haft(&words).output().unwrap();
    assert_eq!(world.read("work/a"), "a\n");
}

#[test]
fn what_rules_deny_is_denied_in_a_plan_too() {
    let world = world();
    let rule = "[[permissions]]\npermission = \"bash\"\npattern = \"echo *\"\naction = \"deny\"\n";
    world.write("work/haft.toml", rule);
    world.check(&count(&["--allow", "bash"]), &expect![[r#"
        --- stderr
        run r1: 3 nodes
        0 read succeeded in 0 ms (look at the notes)
        1 bash failed in 0 ms: PERMISSION_DENIED: bash is denied shell.run of "echo once": the manifest rule `deny bash "echo *"` decides; what the manifest denies only the manifest can allow
        2 grep skipped because of node 1
        error: run r1 was halted, because node 1 failed; 1 of 3 nodes succeeded, 1 failed, 1 skipped
          node 1: bash: PERMISSION_DENIED: bash is denied shell.run of "echo once": the manifest rule `deny bash "echo *"` decides; what the manifest denies only the manifest can allow

        hint: haft runs show r1
        --- status 3
    "#]]);
    let everything = "[[permissions]]\npermission = \"*\"\npattern = \"*\"\naction = \"deny\"\n";
    world.write("work/haft.toml", everything);
    let args = ["run", "count.json", "--input", INPUT, "--parallel", "1", "--run", "r2"];
    world.check(&args, &expect![[r#"
        --- stderr
        run r2: 3 nodes
        0 read failed in 0 ms (look at the notes): PERMISSION_DENIED: read is denied fs.read of "notes.txt": the manifest rule `deny * "*"` decides; what the manifest denies only the manifest can allow
        2 grep skipped because of node 0
        error: run r2 was halted, because node 0 failed; 0 of 3 nodes succeeded, 1 failed, 1 skipped, 1 cancelled
          node 0: read: PERMISSION_DENIED: read is denied fs.read of "notes.txt": the manifest rule `deny * "*"` decides; what the manifest denies only the manifest can allow

        hint: haft runs show r2
        --- status 3
    "#]]);
}

#[test]
fn a_list_that_nobody_confirmed_does_not_hold() {
    let world = world();
    world.write("work/count.json", &COUNT.replace("\"final", "\"allow\": [\"bash\"], \"final"));
    world.check(&count(&[]), &expect![[r#"
        --- stderr
        warning: the plan asks to be allowed bash, which you have not confirmed, so it is not: confirm it at a terminal, or start haft with --allow bash
        run r1: 3 nodes
        0 read succeeded in 0 ms (look at the notes)
        1 bash failed in 0 ms: PERMISSION_DENIED: bash is dangerous, and the user did not name it
        2 grep skipped because of node 1
        error: run r1 was halted, because node 1 failed; 1 of 3 nodes succeeded, 1 failed, 1 skipped
          node 1: bash: PERMISSION_DENIED: bash is dangerous, and the user did not name it; to allow it, start haft with `--allow bash` (all dangerous tools: `--allow-dangerous`)

        hint: haft resume r1 --allow bash
        --- status 3
    "#]]);
}

#[test]
fn a_plan_needs_its_input() {
    let world = world();
    world.check(
        &["run", "count.json"],
        &expect![[r#"
            --- stderr
            error: plan count.json cannot be run as it is:
              node 0: inputs.path: {{INPUT.path}} names nothing: the plan was given no input [no_input]
              node 2: inputs.path: {{INPUT.path}} names nothing: the plan was given no input [no_input]

            hint: haft run count.json --input @input.json
            --- status 2
        "#]],
    );
    assert!(!world.path("state/journal.sqlite").exists());
}

#[test]
fn nodes_that_may_fail_fail_no_plan_that_has_an_output() {
    let world = world();
    let plan = |last: u32| {
        format!(
            r#"{{"nodes": [
                {{"id": 0, "tool": "read", "inputs": {{"path": "gone.txt"}}, "depends_on": [], "on_fail": "continue"}},
                {{"id": 1, "tool": "glob", "inputs": {{"pattern": "*.txt"}}, "depends_on": []}},
                {{"id": 2, "tool": "glob", "inputs": {{"pattern": "*"}}, "depends_on": [0]}}
            ], "final_output_node": {last}}}"#
        )
    };
    world.write("work/good.json", &plan(1));
    world.check(&["run", "good.json", "--parallel", "1", "--run", "g"], &expect![[r#"
        notes.txt
        --- stderr
        run g: 3 nodes
        0 read failed in 0 ms: TOOL_PATH_INVALID: path "gone.txt" does not exist: did you mean notes.txt?
        2 glob skipped because of node 0
        1 glob succeeded in 0 ms
        run g finished in 0 ms: 1 of 3 nodes succeeded, 1 failed, 1 skipped
        --- status 0
    "#]]);
    world.write("work/bad.json", &plan(2));
    world.check(&["run", "bad.json", "--parallel", "1", "--run", "b"], &expect![[r#"
        --- stderr
        run b: 3 nodes
        0 read failed in 0 ms: TOOL_PATH_INVALID: path "gone.txt" does not exist: did you mean notes.txt?
        2 glob skipped because of node 0
        1 glob succeeded in 0 ms
        error: run b finished without an output; 1 of 3 nodes succeeded, 1 failed, 1 skipped
          node 0: read: TOOL_PATH_INVALID: path "gone.txt" does not exist: did you mean notes.txt?

        hint: haft resume b --retry-failed
        --- status 1
    "#]]);
}

#[test]
fn only_runs_of_plans_are_resumed() {
    let world = world();
    world.check(
        &["resume", "nothing"],
        &expect![[r#"
        --- stderr
        error: there is no run nothing in the journal

        hint: haft log
        --- status 2
    "#]],
    );
    world.run(&["call", "--run", "c1", "read", r#"{"path":"notes.txt"}"#]);
    world.check(
        &["resume", "nothing"],
        &expect![[r#"
        --- stderr
        error: there is no run nothing in the journal

        hint: haft log
        --- status 2
    "#]],
    );
    world.check(
        &["resume", "c1"],
        &expect![[r#"
            --- stderr
            error: run c1 was begun by cli and keeps no plan: only the client that made its calls can resume it

            hint: haft call --run c1 --resume replay TOOL INPUT
            --- status 2
        "#]],
    );
}

#[test]
fn a_plan_goes_on_where_it_was_begun_and_with_tools_that_fit() {
    let world = world();
    world.haft(&count(&[])).output().unwrap();
    world.check(
        &["resume", "r1", "--root", "src"],
        &expect![[r#"
        --- stderr
        error: run r1 was begun in /world/work, and this is /world/work/src: go on with it there

        hint: cd /world/work && haft resume r1
        --- status 2
    "#]],
    );
    world.check(
        &["resume", "r1", "--tools", "read,grep"],
        &expect![[r#"
            --- stderr
            error: plan of run r1 cannot be run as it is:
              node 1: tool: there is no tool "bash"; use one of grep, read [unknown_tool]

            hint: haft tools list
            --- status 2
        "#]],
    );
}

#[test]
fn a_manifest_bounds_plans() {
    let world = world();
    let check = |text: &str, expect: &expect_test::Expect| {
        world.write("work/haft.toml", text);
        let args = ["run", "count.json", "--input", INPUT, "--dry-run", "--json"];
        let shown = world.shown(&world.haft(&args).output().unwrap());
        let (_, told) = shown.split_once("--- stderr\n").unwrap_or_default();
        expect.assert_eq(told);
    };
    check(
        "[plan]\nparallel = 16\n[plan.tools.bash]\nconcurrency = 1\nper_minute = 9\n",
        &expect![[""]],
    );
    check(
        "[plan]\nparallel = 17\n",
        &expect![[r#"
        warning: /world/work/haft.toml is not trusted yet. haft ignores these settings of it:
          plan.parallel = 17

        hint: haft trust /world/work/haft.toml

        --- status 0
    "#]],
    );
    check(
        "[plan]\nparallel = 257\n[plan.tools.bash]\nconcurrency = 0\nevery = 1\n",
        &expect![[r#"
            error: manifest /world/work/haft.toml has 1 problem

            /world/work/haft.toml:5:1: unknown key "every": expected one of concurrency, per_minute
              |
            5 | every = 1
              | ^^^^^
            --- status 2
        "#]],
    );
    check(
        "[plan.tools.bahs]\nconcurrency = 1\n",
        &expect![[r#"
            warning: [plan.tools.bahs] bounds nothing: no tool is called "bahs": did you mean bash?
            --- status 0
        "#]],
    );
    world.check(
        &count(&["--allow", "bash"]),
        &expect![[r#"
        notes.txt:2:two
        --- stderr
        warning: [plan.tools.bahs] bounds nothing: no tool is called "bahs": did you mean bash?
        run r1: 3 nodes
        0 read succeeded in 0 ms (look at the notes)
        1 bash succeeded in 0 ms
        2 grep succeeded in 0 ms
        run r1 finished in 0 ms: 3 of 3 nodes succeeded
        --- status 0
    "#]],
    );
}

#[test]
fn a_large_plan_floods_nothing() {
    let world = world();
    let node = |id: u32| {
        format!(r#"{{"id": {id}, "tool": "todo", "inputs": {{"todos": []}}, "depends_on": []}}"#)
    };
    let nodes: Vec<String> = (0..400).map(node).collect();
    let plan = format!(r#"{{"nodes": [{}], "final_output_node": 0}}"#, nodes.join(","));
    world.write("work/large.json", &plan);
    world.check(
        &["run", "large.json", "--run", "l"],
        &expect![[r#"
        --- stderr
        run l: 400 nodes
        40 of 400 nodes
        80 of 400 nodes
        120 of 400 nodes
        160 of 400 nodes
        200 of 400 nodes
        240 of 400 nodes
        280 of 400 nodes
        320 of 400 nodes
        360 of 400 nodes
        400 of 400 nodes
        run l finished in 0 ms: 400 of 400 nodes succeeded
        --- status 0
    "#]],
    );
    let events = world.run(&["run", "large.json", "--json"]);
    let result: Value = serde_json::from_str(events.lines().last().unwrap()).unwrap();
    assert_eq!(result["trace"]["nodes"].as_array().map(Vec::len), Some(400));
}

#[test]
fn failures_are_told_one_by_one_up_to_a_bound() {
    let world = world();
    let node = |id: u32| {
        format!(
            r#"{{"id": {id}, "tool": "read", "inputs": {{"path": "gone"}}, "depends_on": [], "on_fail": "continue"}}"#
        )
    };
    let nodes: Vec<String> = (0..300).map(node).collect();
    let plan = format!(r#"{{"nodes": [{}], "final_output_node": 0}}"#, nodes.join(","));
    world.write("work/failing.json", &plan);
    let shown = world.shown(&world.haft(&["run", "failing.json", "--run", "f"]).output().unwrap());
    let told = shown.lines().filter(|line| line.contains("read failed in")).count();
    assert_eq!(told, 200, "{shown}");
    assert!(
        shown.contains("run f finished without an output; 0 of 300 nodes succeeded, 300 failed")
    );
}

#[test]
fn a_tool_is_called_as_often_as_the_manifest_lets_it() {
    let world = world();
    // Two of them at the same time would meet.
    let cmd = "mkdir lock && ls -R /usr/include | wc -c > lock.size && rmdir lock";
    let node = |id: u32| {
        format!(r#"{{"id": {id}, "tool": "bash", "inputs": {{"cmd": "{cmd}"}}, "depends_on": []}}"#)
    };
    let nodes: Vec<String> = (0..6).map(node).collect();
    let plan = format!(r#"{{"nodes": [{}], "final_output_node": 0}}"#, nodes.join(","));
    world.write("work/meeting.json", &plan);
    world.write("work/haft.toml", "[plan.tools.bash]\nconcurrency = 1\n");
    world.run(&["run", "meeting.json", "--allow", "bash"]);
}

#[test]
fn a_plan_begins_no_more_calls_of_a_tool_than_it_works_on() {
    const SUM: &str = r#"
METADATA = {
    "name": "whole_sum", "function": "whole_sum", "description": "Adds two whole numbers.",
    "parameters": {
        "type": "object",
        "properties": {"first_number": {"type": "integer"}, "second_number": {"type": "integer"}},
        "required": ["first_number", "second_number"],
    },
}

def whole_sum(first_number: int, second_number: int):
    return first_number + second_number
"#;
    let world = world();
    world.write("work/sums/whole_sum.py", SUM);
    let node = |id: u32| {
        format!(
            r#"{{"id": {id}, "tool": "whole_sum", "function": "whole_sum", "depends_on": [],
                "inputs": {{"first_number": {id}, "second_number": 1}}}}"#
        )
    };
    let nodes: Vec<String> = (0..5).map(node).collect();
    let plan = format!(r#"{{"nodes": [{}], "final_output_node": 4}}"#, nodes.join(","));
    world.write("work/sums.json", &plan);
    let events = world.run(&["run", "sums.json", "--python", "sums", "--json"]);
    let events: Vec<Value> =
        events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names: Vec<&str> = events.iter().filter_map(|event| event["event"].as_str()).collect();
    let waits = |name: &&str| *name == "node_waiting";
    assert_eq!(names.iter().copied().filter(waits).count(), 4, "{events:?}");
    let names: Vec<&str> = names.into_iter().filter(|name| !waits(name)).collect();
    let under_way = ["node_started", "node_finished"].repeat(5);
    assert_eq!(names[1..11], under_way, "{events:?}");
    assert_eq!(events.last().unwrap()["trace"]["final_output"], 5);
    // The function that a node names must be the one behind the tool.
    world.write(
        "work/sums.json",
        &plan.replace("\"function\": \"whole_sum\"", "\"function\": \"sum\""),
    );
    let shown = world
        .shown(&world.haft(&["plan", "check", "sums.json", "--python", "sums"]).output().unwrap());
    assert!(shown.contains("[wrong_function]"), "{shown}");
}
