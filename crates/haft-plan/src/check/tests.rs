mod mistakes;

use expect_test::{Expect, expect};
use haft_contract::{
    Contract, Effect, OutputLimit, RequirementSet, ShellParameter, SubagentSummary, ToolId,
    ToolKind,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::limits::{PROBLEMS_MAX, RESOURCE_CHARS_MAX, RESOURCES_MAX, RETRIES_MAX};
use crate::plan::PlanNode;
use crate::tools::PlanToolCatalogue;

fn contract(id: &str, effect: Effect, parameters: Value) -> Contract {
    Contract {
        id: ToolId::parse(id).unwrap(),
        description: String::new(),
        parameters,
        output: None,
        example_output: None,
        requires: RequirementSet::default(),
        effect,
        dangerous: effect == Effect::Once,
        kind: ToolKind::Other,
        origin: haft_contract::ToolOrigin::Native,
        output_limit: OutputLimit::Configured,
        redacted: Vec::new(),
        accepts_key: id == "shop.order",
        function: None,
        shell_line: None,
        calls_at_once_max: None,
        only_changes_files: false,
        delegates: false,
        is_internal: false,
        only_if_named: false,
        connection_store: None,
        listed_if: haft_contract::ListingCondition::Always,
    }
}

fn tools() -> PlanToolCatalogue {
    let read = json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "maxLength": 40},
            "limit": {"type": "integer", "minimum": 1},
            "mode": {"enum": ["text", "bytes"]},
            "ranges": {"type": "array", "minItems": 1, "uniqueItems": true, "items": {
                "type": "object", "properties": {"from": {"type": "integer"}, "to": {"type": "integer"}},
                "required": ["from"], "additionalProperties": false
            }},
            "shape": {"oneOf": [
                {"type": "object", "properties": {"kind": {"const": "circle"}, "radius": {"type": "number"}},
                 "required": ["kind", "radius"], "additionalProperties": false},
                {"type": "object", "properties": {"kind": {"const": "square"}, "side": {"type": "number"}},
                 "required": ["kind", "side"], "additionalProperties": false}
            ]}
        },
        "required": ["path"],
        "additionalProperties": false
    });
    let city =
        json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    let open = json!({"type": "object"});
    let bad = json!({"type": "object", "properties": {"x": {"type": "string", "pattern": "("}}});
    PlanToolCatalogue::new([
        contract("read", Effect::Read, read),
        contract("write", Effect::Once, open.clone()),
        Contract {
            function: Some("run_weather".to_owned()),
            ..contract("weather_fetcher", Effect::Read, city)
        },
        contract("shop.order", Effect::Once, open.clone()),
        contract("any", Effect::Read, open.clone()),
        Contract {
            shell_line: Some(ShellParameter { parameter: "cmd", words: "args" }),
            ..contract("bash", Effect::Once, open)
        },
        contract("broken", Effect::Read, bad),
        Contract { delegates: true, ..contract("task", Effect::Once, json!({"type": "object"})) },
    ])
    .with_agents([SubagentSummary { name: "explore".to_owned(), description: "Finds".to_owned() }])
}

fn lines(problems: &[PlanProblem]) -> String {
    let line = |problem: &PlanProblem| format!("[{}] {problem}", problem.code);
    problems.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Checks a plan and writes everything that is wrong with it.
fn check_plan(plan: &Value, expect: Expect) {
    let result = check_text(&plan.to_string(), &tools(), PlanInput::Unknown);
    expect.assert_eq(&result.err().map(|problems| lines(&problems)).unwrap_or_default());
}

/// Checks the inputs of a node that reads, and waits for another one.
fn check_inputs(inputs: &Value, expect: Expect) {
    let plan = json!({"final_output_node": 1, "nodes": [
        {"id": 0, "tool": "any"},
        {"id": 1, "tool": "read", "inputs": inputs, "depends_on": [0]},
    ]});
    check_plan(&plan, expect);
}

#[test]
fn a_valid_plan_is_ready_to_be_executed() {
    let plan = json!({"final_output_node": 2, "allow": ["shop__order", "shop.order"], "nodes": [
        {"id": 0, "tool": "weather_fetcher", "function": "run_weather", "inputs": {"city": "{{INPUT.city}}"}},
        {"id": 1, "tool": "read", "function": "read", "inputs": {"path": "a.txt"}, "retry": 2, "timeout": 5},
        {"id": 2, "tool": "shop__order", "inputs": {"text": "{{STEPS.0.response}}"}, "depends_on": [1, 0], "retry": 1,
         "on_fail": "continue", "resources": ["b", "a"]},
    ]});
    let checked = check_text(&plan.to_string(), &tools(), PlanInput::Unknown).unwrap();
    let line = |node: &CheckedNode| {
        format!(
            "{} {} after {:?} before {:?}, {} attempts of {} ms, {}, {:?}",
            node.id(),
            node.contract().id,
            node.depends_on(),
            node.dependents,
            node.attempts_max(),
            node.timeout_ms,
            node.on_fail().as_str(),
            node.resources
        )
    };
    let text = checked.nodes().iter().map(line).collect::<Vec<_>>().join("\n");
    expect![[r#"
        0 weather_fetcher after [] before [NodeId(2)], 1 attempts of 60000 ms, halt, []
        1 read after [] before [NodeId(2)], 3 attempts of 5000 ms, halt, []
        2 shop.order after [NodeId(0), NodeId(1)] before [], 2 attempts of 60000 ms, continue, ["a", "b"]"#]].assert_eq(&text);
    let dangerous: Vec<&str> =
        checked.dangerous_tools().iter().map(|tool| tool.id.as_str()).collect();
    assert_eq!(dangerous, ["shop.order"]);
    assert_eq!(checked.allow(), [ToolId::parse("shop.order").unwrap()]);
    assert_eq!(checked.plan.final_output_node, NodeId::new(2));
    assert_eq!(
        serde_json::to_value(checked.plan()).unwrap()["nodes"][2]["depends_on"],
        json!([1, 0])
    );

    let given = json!({"city": "Bonn"});
    assert_eq!(checked.check_input(Some(&given)), Ok(()));
    let missing = |input: Option<&Value>| lines(&checked.check_input(input).unwrap_err());
    expect![
        "[no_input] node 0: inputs.city: {{INPUT.city}} names nothing: the plan was given no input"
    ]
    .assert_eq(&missing(None));
    expect![
        "[no_input] node 0: inputs.city: {{INPUT.city}} names nothing: INPUT is an object with town"
    ]
    .assert_eq(&missing(Some(&json!({"town": 1}))));
}

#[test]
fn nothing_is_put_into_a_line_that_a_shell_reads() {
    check_plan(
        &json!({"final_output_node": 3, "nodes": [
            {"id": 0, "tool": "any"},
            {"id": 1, "tool": "bash", "inputs": {"cmd": "echo '{{STEPS.0.tag}}'; date"}, "depends_on": [0]},
            {"id": 2, "tool": "bash", "inputs": {"cmd": "{{INPUT.line}}", "args": null}},
            {"id": 3, "tool": "bash", "inputs": {"cmd": "echo", "args": ["{{STEPS.0}}"], "opts": {"cwd": "{{INPUT.at}}"}}, "depends_on": [0]},
            {"id": 4, "tool": "bash", "inputs": {"cmd": "ls", "opts": {"cmd": "{{INPUT.at}}"}}},
            {"id": 5, "tool": "any", "inputs": {"cmd": "{{INPUT.line}}"}},
        ]}),
        expect![[r#"
            [shell_line] node 1: inputs.cmd: {{STEPS.0.tag}} would become part of a line that a shell reads, and so could be code: give the program alone in cmd and its words in args, as {"cmd": "grep", "args": ["-c", "{{STEPS.0.tag}}", "notes.txt"]}
            [shell_line] node 2: inputs.cmd: {{INPUT.line}} would become part of a line that a shell reads, and so could be code: give the program alone in cmd and its words in args, as {"cmd": "grep", "args": ["-c", "{{INPUT.line}}", "notes.txt"]}"#]],
    );
}

#[test]
fn nothing_is_put_where_a_program_reads_code() {
    let refused = |cmd: &str, args: Value| {
        let plan = json!({"final_output_node": 1, "nodes": [
            {"id": 0, "tool": "any"},
            {"id": 1, "tool": "bash", "inputs": {"cmd": cmd, "args": args}, "depends_on": [0]},
        ]});
        let problems = check_text(&plan.to_string(), &tools(), PlanInput::Unknown).err();
        let problems = problems.unwrap_or_default();
        assert!(problems.iter().all(|problem| problem.code == Code::ShellLine), "{problems:?}");
        problems.into_iter().map(|problem| problem.field).collect::<Vec<_>>().join(" ")
    };
    let last = |cmd: &str, args: &[&str]| refused(cmd, json!(args));
    assert_eq!(last("sh", &["-c", "echo {{STEPS.0}}"]), "inputs.args[1]");
    assert_eq!(last("bash", &["-c", "{{STEPS.0}}"]), "inputs.args[1]");
    assert_eq!(last("env", &["sh", "-c", "{{STEPS.0}}"]), "inputs.args[2]");
    assert_eq!(last("env", &["-S", "{{STEPS.0}}"]), "inputs.args[1]");
    assert_eq!(last("timeout", &["5", "bash", "-c", "{{STEPS.0}}"]), "inputs.args[3]");
    assert_eq!(last("python3", &["-c", "{{STEPS.0}}"]), "inputs.args[1]");
    assert_eq!(last("node", &["-e", "{{STEPS.0}}"]), "inputs.args[1]");
    assert_eq!(last("awk", &["{{STEPS.0}}", "notes.txt"]), "inputs.args[0]");
    assert_eq!(last("sed", &["{{STEPS.0}}", "notes.txt"]), "inputs.args[0]");
    assert_eq!(last("{{STEPS.0}}", &["pwned"]), "inputs.cmd");
    assert_eq!(last("./{{STEPS.0.name}}", &[]), "inputs.cmd");
    assert_eq!(refused("sh", json!("{{STEPS.0.words}}")), "inputs.args");
    assert_eq!(last("grep", &["-c", "{{STEPS.0}}", "notes.txt"]), "");
    assert_eq!(last("sh", &["-c", "wc -l < \"$1\"", "sh", "{{STEPS.0}}"]), "");
    assert_eq!(last("sed", &["-n", "1p", "{{STEPS.0}}"]), "");
    assert_eq!(refused("ls", json!("{{STEPS.0.words}}")), "");
}

#[test]
fn no_value_becomes_an_option() {
    let resolved = |args: Value, output: Value| {
        let plan = json!({"final_output_node": 1, "nodes": [
            {"id": 0, "tool": "any"},
            {"id": 1, "tool": "bash", "inputs": {"cmd": "cat", "args": args}, "depends_on": [0]},
        ]});
        let checked = check_text(&plan.to_string(), &tools(), PlanInput::Unknown).unwrap();
        let node = checked.nodes().last().unwrap();
        match node.resolve(&|_| Some(&output), None) {
            Ok(inputs) => inputs["args"].to_string(),
            Err(err) => err.to_string(),
        }
    };
    let is_refused = |args: Value, output: Value| {
        resolved(args, output).contains("begins with a dash, so that the program")
    };
    assert!(is_refused(json!(["{{STEPS.0}}"]), json!("-delete")));
    assert!(is_refused(json!("{{STEPS.0}}"), json!([".", "-exec", "sh", "-c", "date", ";"])));
    assert!(is_refused(json!(["{{STEPS.0}}", "--"]), json!("-delete")));
    assert_eq!(resolved(json!(["--", "{{STEPS.0}}"]), json!("-x")), r#"["--","-x"]"#);
    assert_eq!(resolved(json!(["-n{{STEPS.0}}"]), json!("-1")), r#"["-n-1"]"#);
    assert_eq!(resolved(json!("{{STEPS.0}}"), json!(["a", "b-c"])), r#"["a","b-c"]"#);
}

#[test]
fn everything_is_told_at_once() {
    check_plan(
        &json!({"final_output_node": 9, "allow": ["wirte"], "nodes": [
            {"id": 0, "tool": "raed", "inputs": {"path": "{{TODAY}}"}, "retry": 11, "timeout": 4000},
            {"id": 1, "tool": "weather_fetcher", "function": "run", "inputs": {"town": 3}, "depends_on": [1, 0, 0, 7, 2]},
            {"id": 2, "tool": "write", "function": "go", "inputs": {"text": "{{STEPS.1.x}} {{STEPS.2}} {{STEPS.3}} {{STEPS.8}}"},
             "retry": 1, "resources": ["", "a", "a"]},
            {"id": 3, "tool": "broken"},
        ]}),
        expect![[r#"
            [out_of_range] node 0: retry: expected a whole number from 0 to 10, found 11
            [out_of_range] node 0: timeout: expected a whole number from 1 to 3600, found 4000
            [unknown_tool] node 0: tool: there is no tool "raed"; did you mean read?
            [placeholder] node 0: inputs.path: {{TODAY}} is a placeholder that nothing fills: a reference is {{STEPS.<id>.<path>}} or {{INPUT.<path>}}, and two literal braces are written \{{ (inside JSON: "\\{{")
            [wrong_function] node 1: function: expected "run_weather", the function of weather_fetcher, found "run"
            [duplicate_dependency] node 1: depends_on[2]: node 0 is named already: name it once
            [self_dependency] node 1: depends_on[0]: a node cannot depend on itself: remove it
            [later_dependency] node 1: depends_on[4]: node 2 comes later: a node depends on earlier ones only, so move node 2 before this one and number the nodes anew
            [unknown_dependency] node 1: depends_on[3]: there is no node 7: the plan has 4 nodes
            [invented_parameter] node 1: inputs.town: no such parameter: the tool has city
            [missing_parameter] node 1: inputs.city: the tool requires it, and it is missing: add it, or refer to an output
            [wrong_function] node 2: function: write has no functions, found "go": leave function out
            [retry_of_once] node 2: retry: write changes something each time it is called, and a failed attempt may have done so already: leave retry out, or use a tool that is safe to repeat
            [bad_name] node 2: resources[0]: expected 1 to 128 characters, found ""
            [bad_name] node 2: resources[2]: "a" is named already: name it once
            [undeclared_reference] node 2: inputs.text: {{STEPS.1.x}} refers to a node that is not waited for: add 1 to depends_on
            [self_reference] node 2: inputs.text: {{STEPS.2}} refers to the node itself, whose output is not there yet
            [later_reference] node 2: inputs.text: {{STEPS.3}} refers to a later node: only outputs of earlier ones are there
            [unknown_reference] node 2: inputs.text: {{STEPS.8}} refers to no node: the plan has 4 nodes
            [bad_schema] node 3: tool: the schema of broken cannot be used: "(" is not a "regex"
            [unknown_final_node] final_output_node: there is no node 9: the plan has 4 nodes
            [unknown_tool] allow[0]: there is no tool "wirte"; did you mean write?"#]],
    );
}

#[test]
fn what_stands_in_for_a_field_of_the_wrong_form_is_not_told_of() {
    check_plan(
        &json!({"nodes": [
            {"id": 0, "inputs": 3},
            {"id": "one", "tool": "read", "inputs": "path"},
            {"id": 2, "tool": "weather_fetcher", "inputs": {"city": 1}},
        ]}),
        expect![[r#"
            [missing_field] final_output_node: a plan must have it, and it is missing: add the id of the node whose output is the plan's
            [missing_field] node 0: tool: a node must have it, and it is missing: add the id of a tool (or agent and prompt, or a question, in place of the tool)
            [wrong_type] node 0: inputs: expected an object of parameters, as {"path": "README.md"}, found 3
            [wrong_type] node 1: id: expected the number of a node, as 0, found "one"
            [wrong_type] node 1: inputs: expected an object of parameters, as {"path": "README.md"}, found "path"
            [bad_input] node 2: inputs.city: expected string, found 1"#]],
    );
}

#[test]
fn ids_count_from_zero() {
    let nodes = |ids: &[u32]| {
        let nodes: Vec<Value> = ids.iter().map(|id| json!({"id": id, "tool": "any"})).collect();
        json!({"nodes": nodes, "final_output_node": ids.first().unwrap_or(&0)})
    };
    check_plan(&nodes(&[]), expect!["[no_nodes] nodes: a plan has at least one node: add one"]);
    check_plan(
        &nodes(&[1, 2, 3]),
        expect![
            "[bad_id] nodes[0].id: ids begin with 1, expected 0: count all ids from 0, and change depends_on, references and final_output_node with them"
        ],
    );
    check_plan(
        &nodes(&[0, 2, 2, 1]),
        expect![[r#"
        [bad_id] nodes[1].id: expected 1, found 2: ids count from 0 in the order of the nodes, without gaps
        [duplicate_id] nodes[2].id: id 2 is taken by nodes[1]: ids count from 0 in the order of the nodes, so this one is 2
        [bad_id] nodes[3].id: expected 3, found 1: ids count from 0 in the order of the nodes, without gaps"#]],
    );
    check_plan(
        &nodes(&[4_000_000_000, 0]),
        expect![[r#"
            [out_of_range] final_output_node: a plan has at most 20000 nodes, so ids go from 0 to 19999, found 4000000000
            [out_of_range] node 0: id: a plan has at most 20000 nodes, so ids go from 0 to 19999, found 4000000000
            [bad_id] nodes[1].id: expected 1, found 0: ids count from 0 in the order of the nodes, without gaps"#]],
    );
}

#[test]
fn circles_are_shown() {
    let nodes = |edges: &[&[u32]]| {
        let node =
            |(id, edges): (usize, &&[u32])| json!({"id": id, "tool": "any", "depends_on": edges});
        json!({"nodes": edges.iter().enumerate().map(node).collect::<Vec<_>>(), "final_output_node": 0})
    };
    check_plan(
        &nodes(&[&[], &[2], &[1]]),
        expect![
            "[cycle] nodes: nodes wait for one another in a circle: 1 -> 2 -> 1 (each waits for the next): remove one of these dependencies"
        ],
    );
    check_plan(
        &nodes(&[&[1, 2], &[2], &[0], &[4], &[]]),
        expect![[r#"
        [cycle] nodes: nodes wait for one another in a circle: 0 -> 1 -> 2 -> 0 (each waits for the next): remove one of these dependencies
        [later_dependency] node 0: depends_on[1]: node 2 comes later: a node depends on earlier ones only, so move node 2 before this one and number the nodes anew
        [later_dependency] node 3: depends_on[0]: node 4 comes later: a node depends on earlier ones only, so move node 4 before this one and number the nodes anew"#]],
    );
    check_plan(
        &nodes(&[&[1], &[]]),
        expect![
            "[later_dependency] node 0: depends_on[0]: node 1 comes later: a node depends on earlier ones only, so move node 1 before this one and number the nodes anew"
        ],
    );
    let ring: Vec<Vec<u32>> = (0..20).map(|id| vec![(id + 1) % 20]).collect();
    let ring: Vec<&[u32]> = ring.iter().map(Vec::as_slice).collect();
    check_plan(
        &nodes(&ring),
        expect![
            "[cycle] nodes: nodes wait for one another in a circle: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 9 more (each waits for the next): remove one of these dependencies"
        ],
    );
}

#[test]
fn inputs_satisfy_the_schema() {
    check_inputs(
        &json!({"path": "a", "limit": 3.0, "mode": null}),
        expect![[
            r#"[bad_input] node 1: inputs.mode: expected one of ["text","bytes"], found null"#
        ]],
    );
    check_inputs(
        &json!({"limit": 0, "pth": "x", "mode": "txt"}),
        expect![[r#"
            [bad_input] node 1: inputs.limit: expected at least 1, found 0
            [bad_input] node 1: inputs.mode: expected one of ["text","bytes"], found "txt"
            [invented_parameter] node 1: inputs.pth: no such parameter: the tool has path, limit, mode, ranges, shape; did you mean path?
            [missing_parameter] node 1: inputs.path: the tool requires it, and it is missing: add it, or refer to an output"#]],
    );
    check_inputs(
        &json!({"path": "a".repeat(50), "ranges": [{"form": 1}, 7]}),
        expect![[r#"
        [bad_input] node 1: inputs.path: expected at most 40 characters, found "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
        [invented_parameter] node 1: inputs.ranges[0].form: no such parameter: leave it out
        [missing_parameter] node 1: inputs.ranges[0].from: the tool requires it, and it is missing: add it, or refer to an output
        [bad_input] node 1: inputs.ranges[1]: expected object, found 7"#]],
    );
    check_inputs(
        &json!({"path": "a", "shape": {"kind": "square", "side": "wide"}}),
        expect![[r#"[bad_input] node 1: inputs.shape.side: expected number, found "wide""#]],
    );
    check_inputs(
        &json!({"path": "\\{{\\{{\\{{\\{{\\{{\\{{\\{{\\{{\\{{\\{{\\{{\\{{\\{{\\{{\\{{\\{{\\{{\\{{\\{{\\{{"}),
        expect![],
    );
}

#[test]
fn what_a_reference_becomes_is_not_guessed() {
    // A whole value may become anything, wherever it stands.
    check_inputs(
        &json!({"path": "{{STEPS.0}}", "limit": "{{STEPS.0.n}}", "mode": "{{STEPS.0.m}}"}),
        expect![],
    );
    check_inputs(
        &json!({"path": "a", "ranges": ["{{STEPS.0}}", {"from": "{{STEPS.0.a}}"}]}),
        expect![],
    );
    check_inputs(
        &json!({"path": "a", "shape": {"kind": "{{STEPS.0.kind}}", "side": 2}}),
        expect![],
    );
    check_inputs(&json!({"path": "a", "shape": "{{STEPS.0}}"}), expect![]);
    // A text stays a text.
    check_inputs(
        &json!({"path": "dir/{{STEPS.0.name}} and a long text after it, longer than forty"}),
        expect![],
    );
    check_inputs(
        &json!({"path": "a", "limit": "{{STEPS.0.n}}0", "mode": "{{STEPS.0.m}}s"}),
        expect![[r#"[bad_input] node 1: inputs.limit: expected integer, found "{{STEPS.0.n}}0""#]],
    );
    // Problems that do not depend on it are reported.
    check_inputs(
        &json!({"limit": "{{STEPS.0.n}}", "lines": "{{STEPS.0.n}}"}),
        expect![[r#"
            [invented_parameter] node 1: inputs.lines: no such parameter: the tool has path, limit, mode, ranges, shape
            [missing_parameter] node 1: inputs.path: the tool requires it, and it is missing: add it, or refer to an output"#]],
    );
    check_inputs(
        &json!({"path": "a", "ranges": ["{{STEPS.0}}", "{{ STEPS.0 }}"]}),
        expect![
            "[bad_input] node 1: inputs.ranges: expected a value where it has non-unique elements, found an array of 2 items"
        ],
    );
    check_inputs(
        &json!({"path": "a", "ranges": [{"to": "{{STEPS.0}}", "by": 1}]}),
        expect![[r#"
        [invented_parameter] node 1: inputs.ranges[0].by: no such parameter: leave it out
        [missing_parameter] node 1: inputs.ranges[0].from: the tool requires it, and it is missing: add it, or refer to an output"#]],
    );
    check_inputs(
        &json!({"path": "a", "shape": {"kind": "circle", "side": "{{STEPS.0}}"}}),
        expect![[r#"
            [missing_parameter] node 1: inputs.shape.radius: the tool requires it, and it is missing: add it, or refer to an output
            [invented_parameter] node 1: inputs.shape.side: no such parameter: leave it out"#]],
    );
}

#[test]
fn a_given_input_is_looked_into() {
    let plan = json!({"final_output_node": 0, "nodes": [
        {"id": 0, "tool": "read", "inputs": {"path": "{{INPUT.path}}", "limit": "{{INPUT.limit}}"}},
    ]});
    let check = |input: PlanInput<'_>, expect: Expect| {
        let result = check_text(&plan.to_string(), &tools(), input);
        expect.assert_eq(&result.err().map(|problems| lines(&problems)).unwrap_or_default());
    };
    check(PlanInput::Unknown, expect![]);
    check(
        PlanInput::Absent,
        expect![[r#"
            [no_input] node 0: inputs.path: {{INPUT.path}} names nothing: the plan was given no input
            [no_input] node 0: inputs.limit: {{INPUT.limit}} names nothing: the plan was given no input"#]],
    );
    check(PlanInput::Given(&json!({"path": "a", "limit": 2})), expect![]);
    check(
        PlanInput::Given(&json!({"path": 1, "limt": 2})),
        expect![[r#"
            [no_input] node 0: inputs.limit: {{INPUT.limit}} names nothing: INPUT is an object with path, limt; did you mean limt?
            [bad_input] node 0: inputs.path: expected string, found 1"#]],
    );
}

#[test]
fn numbers_are_bounded_also_in_plans_that_were_not_parsed() {
    let check_node = |change: &dyn Fn(&mut PlanNode)| {
        let mut node = PlanNode::new(NodeId::new(0), "any", json!({}));
        change(&mut node);
        let plan = Plan {
            nodes: vec![node],
            final_output_node: NodeId::new(0),
            allow: Vec::new(),
            extras: serde_json::Map::new(),
        };
        check(&plan, &tools(), PlanInput::Unknown)
            .err()
            .map(|problems| lines(&problems))
            .unwrap_or_default()
    };
    assert_eq!(check_node(&|node| (node.retry, node.timeout_s) = (RETRIES_MAX, Some(3_600))), "");
    expect![[r#"
        [out_of_range] node 0: retry: expected a whole number from 0 to 10, found 11
        [out_of_range] node 0: timeout: expected a whole number from 1 to 3600, found 3601"#]]
    .assert_eq(&check_node(&|node| (node.retry, node.timeout_s) = (RETRIES_MAX + 1, Some(3_601))));
    expect!["[out_of_range] node 0: timeout: expected a whole number from 1 to 3600, found 0"]
        .assert_eq(&check_node(&|node| node.timeout_s = Some(0)));
    expect![
        "[wrong_type] node 0: inputs: expected an object of parameters, found an array of 0 items"
    ]
    .assert_eq(&check_node(&|node| {
        node.work = PlanNode::new(NodeId::new(0), "any", json!([])).work
    }));
    let names = |count: usize| (0..count).map(|number| number.to_string()).collect::<Vec<_>>();
    assert_eq!(check_node(&|node| node.resources = names(RESOURCES_MAX)), "");
    expect!["[too_large] node 0: resources: a node names at most 16 resources, found 17"]
        .assert_eq(&check_node(&|node| node.resources = names(RESOURCES_MAX + 1)));
    assert_eq!(check_node(&|node| node.resources = vec!["ä".repeat(RESOURCE_CHARS_MAX)]), "");
    expect![[r#"[bad_name] node 0: resources[0]: expected 1 to 128 characters, found "äääääääääääääääääääääääääääääääääääääääääääääääääääääääääää…"#]]
        .assert_eq(&check_node(&|node| node.resources = vec!["ä".repeat(RESOURCE_CHARS_MAX + 1)]));
}

#[test]
fn the_number_of_nodes_is_bounded() {
    let plan = |count: usize| Plan {
        nodes: (0..count).map(|place| PlanNode::new(NodeId::at(place), "any", json!({}))).collect(),
        final_output_node: NodeId::new(0),
        allow: Vec::new(),
        extras: serde_json::Map::new(),
    };
    assert!(check(&plan(PLAN_NODES_MAX), &tools(), PlanInput::Unknown).is_ok());
    let problems = check(&plan(PLAN_NODES_MAX + 1), &tools(), PlanInput::Unknown).unwrap_err();
    expect!["[too_large] nodes: a plan has at most 20000 nodes, this one has 20001"]
        .assert_eq(&lines(&problems));
}

/// A plan of which each node waits for earlier ones, with references to some of them.
fn any_plan() -> impl Strategy<Value = Value> {
    let node = (prop::collection::btree_set(0..12_u32, 0..4), any::<bool>());
    prop::collection::vec(node, 1..12).prop_map(|nodes| {
        let node = |(id, (others, refers)): (usize, &(std::collections::BTreeSet<u32>, bool))| {
            let earlier: Vec<u32> =
                others.iter().copied().filter(|other| usize::try_from(*other).unwrap() < id).collect();
            let texts: Vec<String> = earlier.iter().map(|other| format!("{{{{STEPS.{other}}}}}")).collect();
            let inputs = if *refers { json!({"texts": texts}) } else { json!({}) };
            json!({"id": id, "tool": "any", "depends_on": earlier, "inputs": inputs})
        };
        let last = nodes.len() - 1;
        json!({"nodes": nodes.iter().enumerate().map(node).collect::<Vec<_>>(), "final_output_node": last})
    })
}

proptest! {
    #[test]
    fn plans_that_only_look_back_are_valid(plan in any_plan()) {
        let checked = check_text(&plan.to_string(), &tools(), PlanInput::Absent).map_err(|problems| lines(&problems));
        let checked = checked.map_err(TestCaseError::fail)?;
        for node in checked.nodes() {
            for earlier in node.depends_on() {
                prop_assert!(checked.node(*earlier).is_some_and(|one| one.dependents.contains(&node.id())));
            }
        }
    }

    #[test]
    fn one_wrong_edge_is_found(plan in any_plan(), at in any::<prop::sample::Index>(), edge in 0..20_u32) {
        let mut plan = plan;
        let nodes = plan["nodes"].as_array_mut().unwrap();
        let id = at.index(nodes.len());
        let edges = nodes[id]["depends_on"].as_array_mut().unwrap();
        let is_valid = usize::try_from(edge).unwrap() < id && !edges.contains(&json!(edge));
        edges.push(json!(edge));
        let result = check_text(&plan.to_string(), &tools(), PlanInput::Absent);
        prop_assert_eq!(result.is_ok(), is_valid);
    }

    #[test]
    fn any_edges_and_references_are_checked_without_a_panic(
        nodes in prop::collection::vec((0..8_u32, prop::collection::vec(0..8_u32, 0..4), "\\{\\{STEPS\\.[0-9]{1,2}\\}\\}"), 0..8),
        last in 0..8_u32,
    ) {
        let node = |(id, edges, text): &(u32, Vec<u32>, String)| {
            json!({"id": id, "tool": "any", "depends_on": edges, "inputs": {"text": text}})
        };
        let plan = json!({"nodes": nodes.iter().map(node).collect::<Vec<_>>(), "final_output_node": last});
        if let Err(problems) = check_text(&plan.to_string(), &tools(), PlanInput::Absent) {
            prop_assert!(!problems.is_empty() && problems.len() <= PROBLEMS_MAX + 1);
        }
    }
}

#[test]
fn mistakes_in_agent_and_person_nodes_are_all_reported() {
    let plan = json!({"final_output_node": 6, "nodes": [
        {"id": 0, "agent": "explroe", "prompt": "", "tools": ["read", "raed"], "output": {"type": "objekt"}, "max_steps": 0},
        {"id": 1, "agent": "explore", "prompt": "See {{STEPS.0}} and {{STEPS.9.x}}", "retry": 3, "timeout": 4000},
        {"id": 2, "agent": "explore", "tool": "read", "prompt": "Look."},
        {"id": 3, "question": " ", "options": ["yes", "yes ", ""]},
        {"id": 4, "tool": "task", "inputs": {"subagent_type": "explore", "prompt": "Look."}},
        {"id": 5, "agent": "explore", "repeat_until": {"equals": 1, "max_iterations": 101, "times": 3}, "prompt": "Look."},
        {"id": 6, "tool": "any", "until": "done", "repeat_until": {"path": "a b", "equals": true, "max_iterations": 2}},
    ]});
    check_plan(
        &plan,
        expect![[r#"
        [out_of_range] node 0: max_steps: expected a whole number from 1 to 10000, found 0
        [out_of_range] node 1: timeout: expected a whole number from 1 to 3600, found 4000
        [unknown_field] node 2: agent: a node calls a tool, gives a task to an agent or asks a person, and this one has tool and agent: make a node of each
        [unknown_field] node 5: repeat_until.times: there is no such field: it is written as {"path": "done", "equals": true, "max_iterations": 5}
        [out_of_range] node 5: repeat_until.max_iterations: expected a whole number from 1 to 100, found 101
        [unknown_field] node 6: until: plans have no such field: a node that is repeated has repeat_until, as {"path": "done", "equals": true, "max_iterations": 5}
        [unknown_agent] node 0: agent: there is no agent "explroe"; did you mean explore?
        [missing_parameter] node 0: prompt: the prompt is blank: say what the agent is to do
        [unknown_tool] node 0: tools[1]: there is no tool "raed"; did you mean read?
        [bad_schema] node 0: output: it is not a JSON Schema that can be used: "objekt" is not valid under any of the schemas listed in the 'anyOf' keyword
        [undeclared_reference] node 1: prompt: {{STEPS.0}} refers to a node that is not waited for: add 0 to depends_on
        [unknown_reference] node 1: prompt: {{STEPS.9.x}} refers to no node: the plan has 7 nodes
        [missing_parameter] node 2: inputs.path: the tool requires it, and it is missing: add it, or refer to an output
        [missing_parameter] node 3: question: the question is blank: say what the person is to answer
        [bad_name] node 3: options[1]: "yes " is an option already: name it once
        [bad_name] node 3: options[2]: expected 1 to 200 characters
        [agent_node] node 4: tool: task gives a task to an agent: write an agent node in its place, as {"id": 4, "agent": "NAME", "prompt": "the task"}
        [bad_reference] node 6: repeat_until.path: it is not a path that can be read: ' ' is not expected there; a name with such a character stands in quotes, as in ["total sum"]"#]],
    );
}

#[test]
fn an_agent_may_be_tried_again_and_has_more_time() {
    let plan = json!({"final_output_node": 0, "nodes": [
        {"id": 0, "agent": "explore", "prompt": "Look.", "retry": 2, "output": {"type": "string"}},
    ]});
    let checked = check_text(&plan.to_string(), &tools(), PlanInput::Unknown).unwrap();
    let node = &checked.nodes()[0];
    assert_eq!((node.attempts_max(), node.timeout_ms, node.iterations_max()), (3, 600_000, 1));
}

#[test]
fn the_tools_of_an_agent_may_have_their_wire_names() {
    let plan = json!({"final_output_node": 0, "nodes": [
        {"id": 0, "agent": "explore", "prompt": "Look.", "tools": ["shop__order", "read"],
            "repeat_until": {"equals": "done", "max_iterations": 5.0}},
    ]});
    let checked = check_text(&plan.to_string(), &tools(), PlanInput::Unknown).unwrap();
    let node = &checked.nodes()[0];
    let input = node.resolve(&|_| None, None).unwrap();
    assert_eq!(input["tools"], json!(["shop.order", "read"]));
    assert_eq!(node.iterations_max(), 5);
}

#[test]
fn a_field_of_another_kind_of_node_is_reported() {
    let plan = json!({"final_output_node": 1, "nodes": [
        {"id": 0, "tool": "read", "inputs": {"path": "a"}, "max_steps": 3},
        {"id": 1, "agent": "explore", "prompt": "Look.", "options": ["yes"]},
    ]});
    let problems = check_text(&plan.to_string(), &tools(), PlanInput::Unknown).unwrap_err();
    let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
    let why = "another kind of node has this field, and this one has not: leave it out";
    assert_eq!(texts, [format!("node 0: max_steps: {why}"), format!("node 1: options: {why}")]);
}
