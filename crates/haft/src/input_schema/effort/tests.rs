//! Tests that an input that takes too long to check is refused before the check, and that ordinary inputs are not.

use serde_json::json;

use super::super::{InputSchema, ParameterNames};
use super::*;

const REFUSED: &str = "input: expected what can be checked against the schema of the tool in 1000000 steps, found more: give less, \
                       or less within each other";

/// Returns an object within an object, so many deep.
fn nested(levels: usize) -> Value {
    (1..levels).fold(json!({}), |inner, _| json!({"c": inner}))
}

#[track_caller]
fn check(schema: Value, input: &Value, expect: Option<&str>) {
    let compiled = InputSchema::compile(&schema).unwrap();
    assert_eq!(
        compiled.violation_message(input, &ParameterNames::default()).as_deref(),
        expect,
        "{schema}"
    );
}

/// A schema whose part refers to itself twice for the same field, by these references.
fn twice(reference: &Value, more: Value) -> Value {
    let child = json!({"properties": {"c": reference}});
    let mut node = json!({"allOf": [child, child]});
    node.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"$defs": {"node": node}, "$ref": "#/$defs/node"})
}

#[test]
fn a_part_that_refers_to_itself_twice_is_not_gone_through_for_ever() {
    for (reference, more) in [
        (json!({"$ref": "#/$defs/node"}), json!({})),
        (json!({"$ref": "#/%24defs/node"}), json!({})),
        (json!({"$ref": "#"}), json!({})),
        (json!({"$ref": "#here"}), json!({"$anchor": "here"})),
        (json!({"$dynamicRef": "#here"}), json!({"$dynamicAnchor": "here"})),
        (json!({"$ref": "node.json"}), json!({"$id": "https://schemas.example/node.json"})),
    ] {
        check(twice(&reference, more.clone()), &nested(64), Some(REFUSED));
        check(twice(&reference, more), &nested(8), None);
    }
}

#[test]
fn what_is_passed_over_once_more_counts_twice() {
    let node = json!({
        "$defs": {"node": {
            "anyOf": [{"properties": {"c": {"$ref": "#/$defs/node"}}}],
            "unevaluatedProperties": false,
        }},
        "$ref": "#/$defs/node",
    });
    check(node.clone(), &nested(64), Some(REFUSED));
    check(node, &nested(8), None);
}

#[test]
fn what_leads_on_once_for_each_part_of_an_input_is_checked_as_deep_as_it_goes() {
    check(json!({"properties": {"c": {"$ref": "#"}}, "type": "object"}), &nested(120), None);
    let tree = json!({"$defs": {"tree": {"properties": {
        "left": {"$ref": "#/$defs/tree"}, "right": {"$ref": "#/$defs/tree"},
    }}}, "$ref": "#/$defs/tree"});
    let full = (1..12).fold(json!({}), |inner, _| json!({"left": inner, "right": inner}));
    check(tree, &full, None);
    let value = json!({"$defs": {"value": {"anyOf": [
        {"type": ["string", "number", "boolean", "null"]},
        {"type": "array", "items": {"$ref": "#/$defs/value"}},
        {"type": "object", "additionalProperties": {"$ref": "#/$defs/value"}},
    ]}}, "$ref": "#/$defs/value"});
    check(value.clone(), &nested(100), None);
    check(value, &json!({"list": vec![json!({"a": [1, "b", null]}); 5_000]}), None);
    // Kinds of nodes that share the name of a field, as those of a filter.
    let kind = |name: &str| json!({"type": "object", "properties": {"kind": {"const": name}, "of": {"$ref": "#/$defs/filter"}}});
    let filter = json!({"$defs": {"filter": {"oneOf": [kind("not"), kind("any"), kind("all")]}}, "$ref": "#/$defs/filter"});
    let deep = (1..10).fold(json!({"kind": "not"}), |inner, _| json!({"kind": "not", "of": inner}));
    check(filter, &deep, None);
}

#[test]
fn the_bounds_are_those_of_the_table() {
    let steps_max = usize::try_from(INPUT_STEPS_MAX).unwrap();
    // The schema counts as one part, and so does the array around the items.
    let counted = |schema: &Value, input: &Value| {
        let mut counter =
            InputStepCounter { schema, names: Vec::new(), known: HashMap::new(), depth: 0 };
        counter.steps(schema, input)
    };
    let items = json!({"items": true});
    let list = |items: usize| Value::Array(vec![Value::Null; items]);
    let around = counted(&items, &list(0));
    let most = steps_max - usize::try_from(around).unwrap();
    let effort = SchemaEffort { parts: parts(&items), refers: true };
    assert!(!effort.is_too_much(&items, &list(most)), "at the bound");
    assert!(effort.is_too_much(&items, &list(most + 1)));

    let within = |depth: usize| (1..depth).fold(json!({}), |inner, _| json!({"not": inner}));
    assert!(counted(&within(INPUT_DEPTH_MAX), &json!({})) < INPUT_STEPS_MAX);
    assert_eq!(counted(&within(INPUT_DEPTH_MAX + 1), &json!({})), u64::MAX);
}

#[test]
fn many_parts_for_many_items_are_too_much_without_any_reference() {
    let schema = json!({"items": {"allOf": vec![json!({"minimum": 0}); 1_000]}});
    check(schema.clone(), &json!(vec![1; 100]), None);
    check(schema, &json!(vec![1; 2_000]), Some(REFUSED));
}
