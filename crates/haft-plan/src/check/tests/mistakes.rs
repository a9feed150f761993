//! Mistakes that are planted in a valid plan, one in a node: each is reported, and nothing else is.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::tools;
use crate::check::check_text;
use crate::checked::PlanInput;
use crate::problem::PlanProblem;

/// Nodes of the plan; the first stays as it is, because all others use it.
const NODES: usize = 9;
/// Makes `"tool"` stand twice in the text.
const TWICE: &str = "\"twice\":0";

/// A mistake in a node, and the codes and fields of its problems. A `#` stands for the node's place.
type Mistake = (fn(&mut Value, usize), &'static [(&'static str, &'static str)]);

fn set(node: &mut Value, name: &str, value: Value) {
    node.as_object_mut().unwrap().insert(name.to_owned(), value);
}

fn rename(node: &mut Value, name: &str, other: &str) {
    let value = node.as_object_mut().unwrap().shift_remove(name).unwrap();
    set(node, other, value);
}

const MISTAKES: &[Mistake] = &[
    (|node, _| *node = json!(7), &[("wrong_type", "nodes[#]")]),
    (|node, _| *node = json!([1]), &[("wrong_type", "nodes[#]")]),
    (|node, _| set(node, "id", json!(null)), &[("missing_field", "# id")]),
    (|node, _| set(node, "id", json!("first")), &[("wrong_type", "# id")]),
    (|node, _| set(node, "id", json!(1e9)), &[("out_of_range", "# id")]),
    (|node, place| set(node, "id", json!(1000 + place)), &[("bad_id", "nodes[#].id")]),
    (|node, _| set(node, "id", json!(0)), &[("duplicate_id", "nodes[#].id")]),
    (|node, _| set(node, "tool", json!("zzz")), &[("unknown_tool", "# tool")]),
    (|node, _| rename(node, "tool", "tool_name"), &[("missing_field", "# tool")]),
    (|node, _| set(node, "twice", json!(0)), &[("duplicate_field", "# tool")]),
    (|node, _| set(node, "function", json!("f")), &[("wrong_function", "# function")]),
    (|node, _| set(node, "if", json!(true)), &[("unknown_field", "# if")]),
    (|node, _| set(node, "inputs", json!({})), &[("missing_parameter", "# inputs.path")]),
    (|node, _| set(node, "inputs", json!("x")), &[("wrong_type", "# inputs")]),
    (|node, _| rename(node, "inputs", "args"), &[("misspelt_field", "# args")]),
    (
        |node, _| set(node, "inputs", json!({"path": "{{TODO}}", "limit": 0, "colour": 1})),
        &[
            ("placeholder", "# inputs.path"),
            ("bad_input", "# inputs.limit"),
            ("invented_parameter", "# inputs.colour"),
        ],
    ),
    (|node, _| rename(node, "depends_on", "dependsOn"), &[("misspelt_field", "# dependsOn")]),
    (|node, _| set(node, "depends_on", json!("0")), &[("wrong_type", "# depends_on")]),
    (|node, _| set(node, "depends_on", json!([])), &[("undeclared_reference", "# inputs.path")]),
    (
        |node, _| set(node, "depends_on", json!(["zero", 999, 0, -1])),
        &[
            ("wrong_type", "# depends_on[0]"),
            ("unknown_dependency", "# depends_on[1]"),
            ("out_of_range", "# depends_on[3]"),
        ],
    ),
    (
        |node, place| set(node, "depends_on", json!([0, place])),
        &[("self_dependency", "# depends_on[1]")],
    ),
    (
        |node, _| set(node, "depends_on", json!([0, 0])),
        &[("duplicate_dependency", "# depends_on[1]")],
    ),
    (|node, _| set(node, "retry", json!(11)), &[("out_of_range", "# retry")]),
    (|node, _| set(node, "timeout", json!(1e300)), &[("out_of_range", "# timeout")]),
    (|node, _| set(node, "on_fail", json!("stop")), &[("wrong_type", "# on_fail")]),
    (
        |node, _| set(node, "resources", json!([5, " "])),
        &[("wrong_type", "# resources[0]"), ("bad_name", "# resources[1]")],
    ),
];

fn valid_node(place: usize) -> Value {
    match place {
        0 => json!({"id": 0, "tool": "read", "inputs": {"path": "a"}, "depends_on": []}),
        _ => {
            json!({"id": place, "tool": "read", "inputs": {"path": "{{STEPS.0}}"}, "depends_on": [0]})
        }
    }
}

/// Returns a plan in which these mistakes are made, by the places of their nodes, and what is to be reported.
fn planted(mistakes: &[Option<usize>]) -> (String, Vec<(String, String)>) {
    let mut expected = Vec::new();
    let mut nodes = vec![valid_node(0)];
    for (place, mistake) in mistakes.iter().enumerate() {
        let place = place + 1;
        let mut node = valid_node(place);
        if let Some((plant, found)) = mistake.map(|mistake| MISTAKES[mistake]) {
            plant(&mut node, place);
            let found = found
                .iter()
                .map(|(code, field)| ((*code).to_owned(), field.replace('#', &place.to_string())));
            expected.extend(found);
        }
        nodes.push(node);
    }
    let text = json!({"nodes": nodes, "final_output_node": NODES - 1}).to_string();
    expected.sort();
    (text.replace(TWICE, "\"tool\":\"read\""), expected)
}

fn reported(text: &str) -> Vec<(String, String)> {
    let told = |problem: PlanProblem| {
        let node = problem.node.map(|node| format!("{node} ")).unwrap_or_default();
        (problem.code.to_string(), node + &problem.field)
    };
    let problems = check_text(text, &tools(), PlanInput::Unknown).err().unwrap_or_default();
    let mut told: Vec<(String, String)> = problems.into_iter().map(told).collect();
    told.sort();
    told
}

#[test]
fn every_mistake_alone_is_reported_and_nothing_else() {
    for mistake in 0..MISTAKES.len() {
        let mut mistakes = vec![None; NODES - 1];
        mistakes[3] = Some(mistake);
        let (text, expected) = planted(&mistakes);
        assert_eq!(reported(&text), expected, "{text}");
    }
}

proptest! {
    #[test]
    fn all_mistakes_are_reported_and_none_is_invented(
        mistakes in prop::collection::vec(prop::option::of(0..MISTAKES.len()), NODES - 1)
    ) {
        let (text, expected) = planted(&mistakes);
        prop_assert_eq!(reported(&text), expected, "{}", text);
    }
}

#[test]
fn nodes_that_cannot_be_read_leave_room_for_what_is_wrong_elsewhere() {
    let text = json!({"final_output_node": 77, "allow": ["zzz", 5, "write", "yyy"], "nodes": [
        {"id": 1, "tool": "read", "inputs": {"path": "a"}},
        "second",
        {"id": 3, "tool": "read", "inputs": {"path": "{{STEPS.2}}"}, "depends_on": [2, 4]},
        {"id": 4, "tool": "read", "inputs": {"path": "a"}, "depends_on": [9]},
    ]});
    let lines: Vec<String> = reported(&text.to_string())
        .into_iter()
        .map(|(code, field)| format!("{code} {field}\n"))
        .collect();
    expect_test::expect![[r#"
        bad_id nodes[0].id
        later_dependency 3 depends_on[1]
        unknown_dependency 4 depends_on[0]
        unknown_final_node final_output_node
        unknown_tool allow[0]
        unknown_tool allow[3]
        wrong_type allow[1]
        wrong_type nodes[1]
    "#]]
    .assert_eq(&lines.concat());
}
