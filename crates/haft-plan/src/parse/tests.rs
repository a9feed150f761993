use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::limits::PLAN_BYTES_MAX;

/// Parses a text and writes what was read, or everything that is wrong with it.
fn check(text: &str, expect: Expect) {
    let result = match parse(text) {
        Ok(plan) => serde_json::to_string_pretty(&plan).unwrap(),
        Err(problems) => {
            let line = |problem: &PlanProblem| format!("[{}] {problem}", problem.code);
            problems.iter().map(line).collect::<Vec<_>>().join("\n")
        }
    };
    expect.assert_eq(&result);
}

#[test]
fn a_plan_of_smith_is_read_and_kept_as_written() {
    let text = r#"{
        "status": "success",
        "nodes": [
            {"id": 0, "tool": "weather_fetcher", "function": "run_weather", "inputs": {"city": "Bonn"},
             "depends_on": [], "retry": 2, "timeout": 30, "on_fail": "continue", "thought": "look first"},
            {"id": "1", "tool": "mail", "inputs": {"text": "{{STEPS.0.response}}"}, "depends_on": ["0"],
             "timeout": 60.0, "function": null, "metadata": {"purpose": "tell", "by": 7}, "resources": ["smtp"]}
        ],
        "final_output_node": 1,
        "allow": ["mail"]
    }"#;
    check(
        text,
        expect![[r#"
            {
              "nodes": [
                {
                  "id": 0,
                  "tool": "weather_fetcher",
                  "function": "run_weather",
                  "inputs": {
                    "city": "Bonn"
                  },
                  "depends_on": [],
                  "retry": 2,
                  "timeout": 30,
                  "on_fail": "continue",
                  "thought": "look first"
                },
                {
                  "id": 1,
                  "tool": "mail",
                  "inputs": {
                    "text": "{{STEPS.0.response}}"
                  },
                  "depends_on": [
                    0
                  ],
                  "resources": [
                    "smtp"
                  ],
                  "metadata": {
                    "purpose": "tell",
                    "by": 7
                  }
                }
              ],
              "final_output_node": 1,
              "allow": [
                "mail"
              ],
              "status": "success"
            }"#]],
    );
    let plan = parse(text).unwrap();
    let purposes: Vec<_> = plan.nodes.iter().map(PlanNode::purpose).collect();
    assert_eq!(purposes, [Some("look first"), Some("tell")]);
    let again = parse(&serde_json::to_string(&plan).unwrap());
    assert_eq!(again, Ok(plan));
}

#[test]
fn text_that_is_not_json_is_shown() {
    check(
        "",
        expect![[
            r#"[bad_json] not valid JSON, line 1, column 0, near "": eof while parsing a value; the text is empty"#
        ]],
    );
    check(
        "Here is the plan:\n{}",
        expect![[
            r#"[bad_json] not valid JSON, line 1, column 1, near "Here is the plan:": expected value; give the JSON alone, without words around it"#
        ]],
    );
    check(
        "```json\n{\"nodes\": []}\n```",
        expect![[
            r#"[bad_json] not valid JSON, line 1, column 1, near "```json": expected value; the plan stands inside a Markdown fence: give the JSON alone, without ``` and without words around it"#
        ]],
    );
    check(
        "{\n  \"nodes\": [\n    {\"id\": 0,, \"tool\": \"read\"}\n  ]\n}",
        expect![[
            r#"[bad_json] not valid JSON, line 3, column 14, near "    {\"id\": 0,, \"tool\": \"read\"}": key must be a string"#
        ]],
    );
    check(
        "{\"nodes\": [",
        expect![[
            r#"[bad_json] not valid JSON, line 1, column 11, near "{\"nodes\": [": eof while parsing a list"#
        ]],
    );
    check(
        "{} and more",
        expect![[
            r#"[bad_json] not valid JSON, line 1, column 4, near "{} and more": trailing characters"#
        ]],
    );
    check(
        &"[".repeat(1_000),
        expect![[
            r#"[bad_json] not valid JSON, line 1, column 128, near "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[…": objects and lists are nested too deeply; give the JSON alone, without words around it"#
        ]],
    );
    check(
        "\u{feff}[1]",
        expect![
            "[wrong_type] expected an object with nodes and final_output_node, found an array of 1 item"
        ],
    );
}

#[test]
fn other_formats_and_numbers_that_are_none_are_told_in_plain_words() {
    check(
        "# a plan\nnodes:\n  - id: 0\n",
        expect![[
            r#"[bad_json] this is not JSON, it looks like YAML: write the plan as JSON, as {"nodes": [{"id": 0, "tool": "read", "inputs": {"path": "notes.txt"}, "depends_on": []}], "final_output_node": 0}"#
        ]],
    );
    check(
        "---\nnodes: []\n",
        expect![[
            r#"[bad_json] this is not JSON, it looks like YAML: write the plan as JSON, as {"nodes": [{"id": 0, "tool": "read", "inputs": {"path": "notes.txt"}, "depends_on": []}], "final_output_node": 0}"#
        ]],
    );
    check(
        r#"{"nodes": [], "final_output_node": 1e999}"#,
        expect![[
            r#"[bad_json] not valid JSON, line 1, column 40, near "[], \"final_output_node\": 1e999}": the number is too large"#
        ]],
    );
}

#[test]
fn ids_are_whole_numbers_however_they_are_written() {
    let node = |id: &str| format!(r#"{{"id": {id}, "tool": "read", "depends_on": []}}"#);
    let plan = |id: &str| {
        format!(r#"{{"nodes": [{}, {}], "final_output_node": {id}}}"#, node("0"), node(id))
    };
    for id in ["1", "1.0", "1e0", "\"1\""] {
        let plan = parse(&plan(id)).unwrap();
        assert_eq!(plan.nodes.get(1).unwrap().id, NodeId::new(1), "{id}");
    }
    for (id, place) in [("19999", true), ("20000", false)] {
        assert_eq!(parse(&plan(id)).is_ok(), place, "{id}");
    }
    check(
        &plan("1.5"),
        expect![[r#"
        [wrong_type] final_output_node: expected the number of a node, as 0, found 1.5
        [wrong_type] node 1: id: expected the number of a node, as 0, found 1.5"#]],
    );
    check(
        &plan("-1"),
        expect![[r#"
        [out_of_range] final_output_node: ids count from 0, found -1
        [out_of_range] node 1: id: ids count from 0, found -1"#]],
    );
    check(
        &plan("123456789012345678901234567890"),
        expect![[r#"
        [out_of_range] final_output_node: a plan has at most 20000 nodes, so ids go from 0 to 19999, found 1.2345678901234568e+29
        [out_of_range] node 1: id: a plan has at most 20000 nodes, so ids go from 0 to 19999, found 1.2345678901234568e+29"#]],
    );
}

#[test]
fn a_field_that_stands_twice_is_named() {
    check(
        r#"{"nodes": [{"id": 0, "tool": "read", "tool": "write", "inputs": {"a": {"b": 1, "b": 1}}},
                      {"id": 1, "tool": "read", "inputs": {"x y": 1, "x y": [{"c": 1, "c": 2}]}}],
            "final_output_node": 0, "title": "a", "title": "b", "final_output_node": 1}"#,
        expect![[r#"
            [duplicate_field] node 0: tool: it stands twice in the same object: only one of them can be meant, so leave the other out
            [duplicate_field] node 0: inputs.a.b: it stands twice in the same object: only one of them can be meant, so leave the other out
            [duplicate_field] node 1: inputs["x y"]: it stands twice in the same object: only one of them can be meant, so leave the other out
            [duplicate_field] node 1: inputs["x y"][0].c: it stands twice in the same object: only one of them can be meant, so leave the other out
            [duplicate_field] title: it stands twice in the same object: only one of them can be meant, so leave the other out
            [duplicate_field] final_output_node: it stands twice in the same object: only one of them can be meant, so leave the other out"#]],
    );
    use crate::limits::PROBLEMS_MAX;
    let many = vec!["\"a\": 1"; PROBLEMS_MAX + 5].join(", ");
    let problems =
        parse(&format!("{{\"nodes\": [], \"final_output_node\": 0, {many}}}")).unwrap_err();
    assert_eq!(problems.len(), PROBLEMS_MAX + 1);
}

#[test]
fn every_field_of_the_wrong_form_is_named() {
    check(
        "{}",
        expect![[r#"
        [missing_field] final_output_node: a plan must have it, and it is missing: add the id of the node whose output is the plan's
        [missing_field] nodes: a plan must have it, and it is missing: add a list of nodes"#]],
    );
    check(
        r#"{"steps": [], "final_output": 0}"#,
        expect![[r#"
        [missing_field] final_output_node: a plan must have it, and it is missing: write final_output as final_output_node
        [missing_field] nodes: a plan must have it, and it is missing: write steps as nodes"#]],
    );
    check(
        r#"{"nodes": {}, "final_output_node": -1, "allow": "write"}"#,
        expect![[r#"
            [out_of_range] final_output_node: ids count from 0, found -1
            [wrong_type] allow: expected a list of names, as ["database"], found "write"
            [wrong_type] nodes: expected a list of nodes, found an object"#]],
    );
    check(
        &json!({"final_output_node": 0, "nodes": [
            7,
            {"tool": "read"},
            {"id": 2.5, "tool": 3, "function": [], "inputs": "x", "depends_on": 0, "on_fail": "stop",
             "resources": {"a": 1}},
            {"id": 3, "depends_on": [0, "one", -1], "retry": -1, "timeout": 0, "on_fail": "Halt"},
            {"id": 4, "tool": "read", "retry": 300, "timeout": 1e30, "resources": ["a", 2]},
            {"id": 5, "tool": "read", "retry": "twice", "timeout": 2.5},
        ]})
        .to_string(),
        expect![[r#"
            [wrong_type] nodes[0]: expected an object, found 7
            [missing_field] node 1: id: a node must have it, and it is missing: add the node's place, from 0
            [wrong_type] node 2: id: expected the number of a node, as 0, found 2.5
            [wrong_type] node 2: tool: expected text, found 3
            [wrong_type] node 2: function: expected text, found an array of 0 items
            [wrong_type] node 2: inputs: expected an object of parameters, as {"path": "README.md"}, found "x"
            [wrong_type] node 2: depends_on: expected a list of ids of nodes, as [0, 1], found 0
            [wrong_type] node 2: on_fail: expected "halt" or "continue", found "stop"
            [wrong_type] node 2: resources: expected a list of names, as ["database"], found an object
            [missing_field] node 3: tool: a node must have it, and it is missing: add the id of a tool (or agent and prompt, or a question, in place of the tool)
            [wrong_type] node 3: depends_on[1]: expected the number of a node, as 0, found "one"
            [out_of_range] node 3: depends_on[2]: ids count from 0, found -1
            [out_of_range] node 3: retry: expected a whole number from 0 to 10, found -1
            [out_of_range] node 3: timeout: expected a whole number from 1 to 3600, found 0
            [wrong_type] node 3: on_fail: expected "halt" or "continue", found "Halt"
            [out_of_range] node 4: retry: expected a whole number from 0 to 10, found 300
            [out_of_range] node 4: timeout: expected a whole number from 1 to 3600, found 1e+30
            [wrong_type] node 4: resources[1]: expected text, found 2
            [wrong_type] node 5: retry: expected a whole number from 0 to 10, found "twice"
            [wrong_type] node 5: timeout: expected a whole number from 1 to 3600, found 2.5"#]],
    );
}

#[test]
fn what_would_change_what_happens_is_not_taken_for_a_remark() {
    check(
        &json!({"final_output_node": 0, "timeout": 5, "parallel": 2, "title": "kept", "nodes": [
            {"id": 0, "tool": "read", "after": [], "if": "x", "forEach": [], "title": "kept"},
        ]})
        .to_string(),
        expect![[r#"
            [unknown_field] timeout: a plan has no such field, only nodes have: write it in each node that it is for
            [unknown_field] parallel: plans have no such field, and nothing like it: leave it out
            [misspelt_field] node 0: after: there is no such field: write it as depends_on, or leave it out
            [unknown_field] node 0: if: plans have no such field, and nothing like it: leave it out
            [unknown_field] node 0: forEach: plans have no such field, and nothing like it: leave it out"#]],
    );
}

#[test]
fn a_field_that_looks_like_another_is_not_taken_for_a_remark() {
    check(
        &json!({"final_output_node": 0, "nodes": [
            {"id": 0, "tool": "read", "dependsOn": [], "retries": 1, "timeout_ms": 5, "arguments": {}, "onFail": "halt"},
            {"id": 1, "tol": "read", "resource": "x", "note": "kept", "status": "kept"},
            {"id": 2, "tool": "read", "inputs": {}, "input": "kept beside inputs"},
        ]})
        .to_string(),
        expect![[r#"
            [misspelt_field] node 0: dependsOn: there is no such field: write it as depends_on, or leave it out
            [misspelt_field] node 0: retries: there is no such field: write it as retry, or leave it out
            [misspelt_field] node 0: timeout_ms: there is no such field: write it as timeout, or leave it out
            [misspelt_field] node 0: arguments: there is no such field: write it as inputs, or leave it out
            [misspelt_field] node 0: onFail: there is no such field: write it as on_fail, or leave it out
            [missing_field] node 1: tool: a node must have it, and it is missing: add the id of a tool (or agent and prompt, or a question, in place of the tool)
            [misspelt_field] node 1: resource: there is no such field: write it as resources, or leave it out"#]],
    );
}

#[test]
fn size_is_bounded() {
    let at = |bytes: usize| {
        let plan = r#"{"nodes":[],"final_output_node":0}"#;
        format!("{plan}{}", " ".repeat(bytes - plan.len()))
    };
    assert!(parse(&at(PLAN_BYTES_MAX)).is_ok());
    check(
        &at(PLAN_BYTES_MAX + 1),
        expect!["[too_large] a plan is at most 16777216 bytes, this one is 16777217"],
    );
}

#[test]
fn the_list_of_problems_is_bounded() {
    use crate::limits::PROBLEMS_MAX;
    let nodes = |count: usize| json!({"nodes": vec![7; count], "final_output_node": 0}).to_string();
    assert_eq!(parse(&nodes(PROBLEMS_MAX)).unwrap_err().len(), PROBLEMS_MAX);
    let problems = parse(&nodes(PROBLEMS_MAX + 5)).unwrap_err();
    assert_eq!(problems.len(), PROBLEMS_MAX + 1);
    expect!["5 more problems are not listed: mend these first"]
        .assert_eq(&problems.last().unwrap().to_string());
}

#[test]
fn a_plan_is_deserialised_as_it_is_parsed() {
    let value = json!({"nodes": [{"id": 0}], "final_output_node": "x"});
    let message = serde_json::from_value::<Plan>(value).unwrap_err().to_string();
    expect![[r#"final_output_node: expected the number of a node, as 0, found "x"; node 0: tool: a node must have it, and it is missing: add the id of a tool (or agent and prompt, or a question, in place of the tool)"#]].assert_eq(&message);
}

#[test]
fn problems_are_data() {
    let problems = parse(r#"{"nodes": [{"id": 0}]}"#).unwrap_err();
    let text = serde_json::to_string_pretty(&problems).unwrap();
    expect![[r#"
        [
          {
            "field": "final_output_node",
            "code": "missing_field",
            "message": "a plan must have it, and it is missing: add the id of the node whose output is the plan's"
          },
          {
            "node": 0,
            "field": "tool",
            "code": "missing_field",
            "message": "a node must have it, and it is missing: add the id of a tool (or agent and prompt, or a question, in place of the tool)"
          }
        ]"#]].assert_eq(&text);
    assert_eq!(serde_json::from_str::<Vec<PlanProblem>>(&text).unwrap(), problems);
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,5}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let name = prop_oneof![
            prop::sample::select([PLAN_FIELDS, NODE_FIELDS].concat()).prop_map(str::to_owned),
            "[a-z]{0,3}"
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(name, inner, 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_json_is_read_or_refused(nodes in any_json(), node in any_json(), rest in any_json()) {
        for value in [json!({"nodes": nodes, "final_output_node": rest}), json!({"nodes": [node], "final_output_node": 0}), rest] {
            if let Ok(plan) = parse(&value.to_string()) {
                let again = parse(&serde_json::to_string(&plan).unwrap());
                prop_assert_eq!(again, Ok(plan));
            }
        }
    }
}
