//! Plans as texts: what is wrong with them, what they look like, and what they would do.

use expect_test::expect;

use crate::world::World;

/// A plan that finds a file and shows it.
const SHOW_NOTES: &str = r#"{
  "nodes": [
    {"id": 0, "tool": "glob", "inputs": {"pattern": "{{INPUT.pattern}}"}, "depends_on": [],
     "metadata": {"purpose": "find the notes"}},
    {"id": 1, "tool": "read", "inputs": {"path": "{{STEPS.0.paths[0]}}"}, "depends_on": [0]},
    {"id": 2, "tool": "bash", "inputs": {"cmd": "wc -l notes.txt"}, "depends_on": []}
  ],
  "final_output_node": 1
}"#;

/// A plan with more than one thing wrong.
const WRONG: &str = r#"{
  "nodes": [
    {"id": 0, "tool": "raed", "inputs": {"path": "a"}, "depends_on": []},
    {"id": 1, "tool": "read", "inputs": {"file": "a"}, "depends_on": [2]},
    {"id": 2, "tool": "write", "inputs": {"path": "a", "content": "{{STEPS.0}}"}, "depends_on": [], "retry": 2}
  ],
  "final_output_node": 7
}"#;

fn world() -> World {
    let world = World::with_files();
    world.write("work/plan.json", SHOW_NOTES);
    world.write("work/wrong.json", WRONG);
    world
}

#[test]
fn a_valid_plan_is_told_so() {
    let world = world();
    world.check(
        &["plan", "check", "plan.json"],
        &expect![[r#"
        plan.json is valid: 3 nodes, dangerous tools: bash
        --- status 0
    "#]],
    );
    world.check(
        &["plan", "check", "plan.json", "--json"],
        &expect![[r#"
        {"valid":true,"nodes":3,"dangerous":["bash"],"problems":[]}
        --- status 0
    "#]],
    );
    world.check_with_input(
        &["plan", "check", "-"],
        SHOW_NOTES,
        &expect![[r#"
        standard input is valid: 3 nodes, dangerous tools: bash
        --- status 0
    "#]],
    );
    let input = ["plan", "check", "plan.json", "--input", r#"{"path": "x"}"#];
    world.check(&input, &expect![[r#"
        node 0: inputs.pattern: {{INPUT.pattern}} names nothing: INPUT is an object with path [no_input]
        --- status 1
    "#]]);
    assert!(!world.path("state").exists());
}

#[test]
fn everything_that_is_wrong_is_said_at_once() {
    let world = world();
    world.check(&["plan", "check", "wrong.json"], &expect![[r#"
        node 0: tool: there is no tool "raed"; did you mean read? [unknown_tool]
        node 1: depends_on[0]: node 2 comes later: a node depends on earlier ones only, so move node 2 before this one and number the nodes anew [later_dependency]
        node 1: inputs.file: no such parameter: the tool has path, offset, limit, start_line, end_line, byte_offset, byte_limit [invented_parameter]
        node 1: inputs.path: the tool requires it, and it is missing: add it, or refer to an output [missing_parameter]
        node 2: retry: write changes something each time it is called, and a failed attempt may have done so already: leave retry out, or use a tool that is safe to repeat [retry_of_once]
        node 2: inputs.content: {{STEPS.0}} refers to a node that is not waited for: add 0 to depends_on [undeclared_reference]
        final_output_node: there is no node 7: the plan has 3 nodes [unknown_final_node]
        --- status 1
    "#]]);
    world.check(&["plan", "check", "wrong.json", "--json"], &expect![[r#"
        {"valid":false,"problems":[{"node":0,"field":"tool","code":"unknown_tool","message":"there is no tool \"raed\"; did you mean read?"},{"node":1,"field":"depends_on[0]","code":"later_dependency","message":"node 2 comes later: a node depends on earlier ones only, so move node 2 before this one and number the nodes anew"},{"node":1,"field":"inputs.file","code":"invented_parameter","message":"no such parameter: the tool has path, offset, limit, start_line, end_line, byte_offset, byte_limit"},{"node":1,"field":"inputs.path","code":"missing_parameter","message":"the tool requires it, and it is missing: add it, or refer to an output"},{"node":2,"field":"retry","code":"retry_of_once","message":"write changes something each time it is called, and a failed attempt may have done so already: leave retry out, or use a tool that is safe to repeat"},{"node":2,"field":"inputs.content","code":"undeclared_reference","message":"{{STEPS.0}} refers to a node that is not waited for: add 0 to depends_on"},{"field":"final_output_node","code":"unknown_final_node","message":"there is no node 7: the plan has 3 nodes"}]}
        --- status 1
    "#]]);
    world.check(&["run", "wrong.json"], &expect![[r#"
        --- stderr
        error: plan wrong.json cannot be run as it is:
          node 0: tool: there is no tool "raed"; did you mean read? [unknown_tool]
          node 1: depends_on[0]: node 2 comes later: a node depends on earlier ones only, so move node 2 before this one and number the nodes anew [later_dependency]
          node 1: inputs.file: no such parameter: the tool has path, offset, limit, start_line, end_line, byte_offset, byte_limit [invented_parameter]
          node 1: inputs.path: the tool requires it, and it is missing: add it, or refer to an output [missing_parameter]
          node 2: retry: write changes something each time it is called, and a failed attempt may have done so already: leave retry out, or use a tool that is safe to repeat [retry_of_once]
          node 2: inputs.content: {{STEPS.0}} refers to a node that is not waited for: add 0 to depends_on [undeclared_reference]
          final_output_node: there is no node 7: the plan has 3 nodes [unknown_final_node]

        hint: haft tools list
        --- status 2
    "#]]);
    world.check_with_input(
        &["plan", "check", "-"],
        "{\"nodes\": [",
        &expect![[r#"
        not valid JSON, line 1, column 11, near "{\"nodes\": [": eof while parsing a list [bad_json]
        --- status 1
    "#]],
    );
}

#[test]
fn a_command_that_is_to_be_retried_is_to_be_declared() {
    let world = world();
    let plan = r#"{"nodes": [{"id": 0, "tool": "bash", "inputs": {"cmd": "make"}, "depends_on": [], "retry": 1}], "final_output_node": 0}"#;
    world.check_with_input(&["plan", "check", "-"], plan, &expect![[r#"
        node 0: retry: bash changes something each time it is called, and a failed attempt may have done so already: leave retry out, or if the command is safe to repeat, declare it under [[commands]] of the manifest with effect = "idempotent", and call that [retry_of_once]
        --- status 1
    "#]]);
}

#[test]
fn the_plan_in_the_help_is_valid() {
    let world = world();
    for args in [&["plan", "--help"][..], &["plan", "check", "--help"]] {
        let help = world.run(args);
        let plan = help.split("A plan:\n").nth(1).and_then(|rest| rest.split("\n\n").next());
        world.check_with_input(
            &["plan", "check", "-"],
            plan.unwrap_or_else(|| panic!("{help}")),
            &expect![[r#"
                standard input is valid: 2 nodes, dangerous tools: write
                --- status 0
            "#]],
        );
    }
}

#[test]
fn a_file_that_is_no_plan_says_why() {
    let world = world();
    world.check(
        &["plan", "check", "none.json"],
        &expect![[r#"
        --- stderr
        error: plan none.json cannot be read: No such file or directory (os error 2)
        --- status 2
    "#]],
    );
    world.check(
        &["plan", "check", "src"],
        &expect![[r#"
        --- stderr
        error: plan src cannot be read: it is a directory, expected a file
        --- status 2
    "#]],
    );
    world.check(&["plan", "show", "notes.txt"], &expect![[r#"
        --- stderr
        error: notes.txt is no plan that can be read:
          not valid JSON, line 1, column 1, near "one": expected value; give the JSON alone, without words around it [bad_json]
        --- status 2
    "#]]);
    world.check(
        &["run", "plan.json", "--input", "-"],
        &expect![[r#"
        --- stderr
        error: --input: expected JSON or @FILE, found -
        --- status 2
    "#]],
    );
}

#[test]
fn a_plan_is_drawn() {
    let world = world();
    world.check(
        &["plan", "show", "plan.json"],
        &expect![[r#"
        ┌─────────┐  ┌─────────┐
        │ 0 glob  │  │ 2 bash  │
        └────┬────┘  └─────────┘
             │
        ╔════▼════╗
        ║ 1 read  ║
        ╚═════════╝
        ╔═╗ the final output
        --- status 0
    "#]],
    );
    let mut plain = world.haft(&["plan", "show", "plan.json"]);
    world.check_command(
        plain.env("LC_ALL", "C"),
        &expect![[r#"
        +---------+  +---------+
        | 0 glob  |  | 2 bash  |
        +----+----+  +---------+
             |
        #====v====#
        # 1 read  #
        #=========#
        #=# the final output
        --- status 0
    "#]],
    );
    world.check(
        &["plan", "show", "plan.json", "--format", "dot"],
        &expect![[r#"
        digraph plan {
          node [shape=box, fontname="monospace"];
          n0 [label="0 glob", tooltip="find the notes"];
          n1 [label="1 read", peripheries=2];
          n2 [label="2 bash"];
          n0 -> n1;
        }
        --- status 0
    "#]],
    );
    world.check(
        &["plan", "show", "plan.json", "--format", "mermaid"],
        &expect![[r#"
        flowchart TD
          n0["0 glob"]
          n1[["1 read"]]
          n2["2 bash"]
          n0 --> n1
        --- status 0
    "#]],
    );
    let svg = world.run(&["plan", "show", "plan.json", "--format", "svg"]);
    assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"), "{svg}");
    let told = world.json(&["plan", "show", "plan.json", "--format", "dot", "--json"]);
    assert_eq!(told["format"], "dot");
    // A plan that is not valid yet can be drawn, too.
    world.run(&["plan", "show", "wrong.json"]);
}

#[test]
fn a_dry_run_says_what_would_run_and_does_nothing() {
    let world = world();
    let input = r#"{"pattern": "*.txt"}"#;
    let dry = ["run", "plan.json", "--input", input, "--dry-run"];
    world.check(&dry, &expect![[r#"
        STAGE  NODE  TOOL  EFFECT           AFTER  WOULD      WHY
        1      0     glob  read             -      run        -
        1      2     bash  once, dangerous  -      be asked   bash is dangerous and --allow does not name it
        2      1     read  read             0      be judged  its input is made of outputs
        --- stderr
        dry run: 3 nodes, 1 would be asked about, 1 judged when the input is known; nothing was executed or recorded
        --- status 0
    "#]]);
    world.check(
        &[&dry[..], &["--allow", "bash"]].concat(),
        &expect![[r#"
            STAGE  NODE  TOOL  EFFECT           AFTER  WOULD      WHY
            1      0     glob  read             -      run        -
            1      2     bash  once, dangerous  -      run        -
            2      1     read  read             0      be judged  its input is made of outputs
            --- stderr
            dry run: 3 nodes, 1 judged when the input is known; nothing was executed or recorded
            --- status 0
        "#]],
    );
    world.check(
        &[&dry[..], &["--preset", "read-only", "--allow", "bash", "--json"]].concat(),
        &expect![[r#"
            {"dry_run":true,"nodes":[{"node":0,"stage":1,"tool":"glob","effect":"read","dangerous":false,"depends_on":[],"would":"run"},{"node":2,"stage":1,"tool":"bash","effect":"once","dangerous":true,"depends_on":[],"would":"run"},{"node":1,"stage":2,"tool":"read","effect":"read","dangerous":false,"depends_on":[0],"would":"be_judged","why":"its input is made of outputs"}]}
            --- status 0
        "#]],
    );
    assert!(!world.path("state/journal.sqlite").exists());
}

#[test]
fn programs_are_told_what_is_wrong_as_data() {
    let world = World::with_files();
    let check = |command: &[&str], plan: &str, node: Option<u64>, code: &str| {
        world.write("work/plan.json", plan);
        let output = world.haft(&[command, &["plan.json", "--json"]].concat()).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let failure: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let problem = &failure["problems"][0];
        assert_eq!((problem["node"].as_u64(), problem["code"].as_str()), (node, Some(code)));
    };
    let unknown = r#"{"nodes": [{"id": 0, "tool": "raed", "inputs": {}, "depends_on": []}], "final_output_node": 0}"#;
    check(&["run"], unknown, Some(0), "unknown_tool");
    check(&["plan", "show"], "{", None, "bad_json");
}

#[test]
fn no_output_becomes_code() {
    let world = World::with_files();
    world.write("work/evil.txt", "x; touch pwned");
    let plan = |cmd: &str, args: &str| {
        let text = format!(
            r#"{{"nodes": [
              {{"id": 0, "tool": "read", "inputs": {{"path": "evil.txt"}}, "depends_on": []}},
              {{"id": 1, "tool": "bash", "inputs": {{"cmd": "{cmd}", "args": {args}}}, "depends_on": [0]}}
            ], "final_output_node": 1}}"#
        );
        world.write("work/plan.json", &text);
    };
    for (cmd, args, field) in [
        ("sh", r#"["-c", "echo {{STEPS.0}}"]"#, "inputs.args[1]"),
        ("timeout", r#"["5", "bash", "-c", "echo {{STEPS.0}}"]"#, "inputs.args[3]"),
        ("{{STEPS.0}}", r#"["pwned"]"#, "inputs.cmd"),
    ] {
        plan(cmd, args);
        for command in
            [&["plan", "check", "plan.json"][..], &["run", "plan.json", "--allow", "bash"]]
        {
            let shown = world.shown(&world.haft(command).output().unwrap());
            assert!(shown.contains(field) && shown.contains("node 1"), "{command:?}: {shown}");
        }
    }
    // The same value as a further word is data.
    plan("sh", r#"["-c", "printf '%s' \"$1\"", "sh", "{{STEPS.0}}"]"#);
    let shown = world.run(&["run", "plan.json", "--allow", "bash"]);
    assert!(shown.contains("x; touch pwned"), "{shown}");
    world.write("work/evil.txt", "-delete");
    plan("ls", r#"["{{STEPS.0}}"]"#);
    let shown =
        world.shown(&world.haft(&["run", "plan.json", "--allow", "bash"]).output().unwrap());
    assert!(shown.contains("begins with a dash"), "{shown}");
    assert!(!world.path("work/pwned").exists() && world.path("work/notes.txt").exists());
}
