use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::piece::{InputTemplateError, InputTemplatePiece};
use super::*;
use crate::limits::{INPUTS_DEPTH_MAX, PATH_SEGMENTS_MAX, RESOLVED_BYTES_MAX};
use crate::node_id::NodeId;

fn outputs() -> Value {
    json!([
        {"status": "ok", "response": "sunny", "items": [{"name": "a"}, {"name": "b"}], "a.b": {"c d": 1},
         "empty": {}, "none": [], "count": 2, "0": "zero"},
        "plain text"
    ])
}

/// Resolves `value` against two outputs and an input, and writes the result or everything that went wrong.
fn check(value: &Value, expect: Expect) {
    let (template, errors) = InputTemplate::read(value, "inputs");
    let text = if errors.is_empty() {
        let outputs = outputs();
        let input = json!({"city": "Bonn", "days": 3});
        match template.resolve(&|id| outputs.get(id.index()), Some(&input)) {
            Ok(value) => value.to_string(),
            Err(err) => format!("error: {err}"),
        }
    } else {
        let line = |error: &InputTemplateError| match &error.malformed {
            InputTemplateFault::Placeholder(why) => format!("{}: placeholder: {why}", error.field),
            InputTemplateFault::Reference(why) => format!("{}: reference: {why}", error.field),
            InputTemplateFault::Depth => format!("{}: too deep", error.field),
        };
        errors.iter().map(line).collect::<Vec<_>>().join("\n")
    };
    expect.assert_eq(&text);
}

#[test]
fn a_whole_value_keeps_its_type() {
    check(&json!({"x": "{{STEPS.0.response}}"}), expect![[r#"{"x":"sunny"}"#]]);
    check(
        &json!({"x": ["{{STEPS.0.items}}", "{{ STEPS.0.count }}"]}),
        expect![[r#"{"x":[[{"name":"a"},{"name":"b"}],2]}"#]],
    );
    check(
        &json!({"x": "{{STEPS.1}}", "y": "{{INPUT.days}}", "z": "{{INPUT}}"}),
        expect![[r#"{"x":"plain text","y":3,"z":{"city":"Bonn","days":3}}"#]],
    );
}

#[test]
fn inside_text_values_are_written_out() {
    check(
        &json!("It is {{STEPS.0.response}} in {{INPUT.city}}: {{STEPS.0.items}}."),
        expect![[r#""It is sunny in Bonn: [{\"name\":\"a\"},{\"name\":\"b\"}].""#]],
    );
    check(&json!(" {{STEPS.0.count}}"), expect![[r#"" 2""#]]);
}

#[test]
fn paths_reach_everything() {
    check(&json!("{{STEPS.0.items.1.name}}"), expect![[r#""b""#]]);
    check(&json!("{{STEPS.0.items[1].name}}"), expect![[r#""b""#]]);
    check(&json!("{{STEPS[0]['a.b'][\"c d\"]}}"), expect!["1"]);
    check(&json!("{{STEPS.0.0}}"), expect![[r#""zero""#]]);
    check(&json!("{{ STEPS.0[\"0\"]  }}"), expect![[r#""zero""#]]);
}

#[test]
fn braces_can_be_meant() {
    check(&json!("\\{{ x }}"), expect![[r#""{{ x }}""#]]);
    check(&json!("\\\\{{STEPS.0.count}}"), expect![[r#""\\2""#]]);
    check(&json!("{{{STEPS.0.count}}}"), expect![[r#""{2}""#]]);
    check(&json!("{\"a\":{{STEPS.0.count}}}"), expect![[r#""{\"a\":2}""#]]);
    check(&json!("C:\\dir\\{x} }} \\{"), expect![[r#""C:\\dir\\{x} }} \\{""#]]);
}

#[test]
fn what_names_nothing_is_told_with_what_is_there() {
    check(
        &json!({"a": {"b c": ["{{STEPS.0.respnse}}"]}}),
        expect![[
            r#"error: inputs.a["b c"][0]: {{STEPS.0.respnse}} names nothing: STEPS.0 is an object with status, response, items, a.b, empty, none, count, 0; did you mean response?"#
        ]],
    );
    check(
        &json!("{{STEPS.0.items.2.name}}"),
        expect![
            "error: inputs: {{STEPS.0.items.2.name}} names nothing: STEPS.0.items is an array of 2 items, from [0] to [1]"
        ],
    );
    check(
        &json!("{{STEPS.0.items.first}}"),
        expect![
            "error: inputs: {{STEPS.0.items.first}} names nothing: STEPS.0.items is an array of 2 items, from [0] to [1]"
        ],
    );
    check(
        &json!("{{STEPS.0.none.0}}"),
        expect![
            "error: inputs: {{STEPS.0.none.0}} names nothing: STEPS.0.none is an array without items"
        ],
    );
    check(
        &json!("{{STEPS.0.empty.x}}"),
        expect![
            "error: inputs: {{STEPS.0.empty.x}} names nothing: STEPS.0.empty is an object without fields"
        ],
    );
    check(
        &json!("{{STEPS.1.response}}"),
        expect![[
            r#"error: inputs: {{STEPS.1.response}} names nothing: STEPS.1 is text, which has no fields: "plain text""#
        ]],
    );
    check(
        &json!("{{STEPS.0.count.x}}"),
        expect![
            "error: inputs: {{STEPS.0.count.x}} names nothing: STEPS.0.count is 2, which has no fields"
        ],
    );
    check(
        &json!("{{STEPS.0[0]}}"),
        expect![
            "error: inputs: {{STEPS.0[0]}} names nothing: STEPS.0 is an object with status, response, items, a.b, empty, none, count, 0"
        ],
    );
    check(
        &json!("{{STEPS.7.x}}"),
        expect!["error: inputs: {{STEPS.7.x}} names nothing: node 7 has no output"],
    );
    check(
        &json!("{{INPUT.town}}"),
        expect!["error: inputs: {{INPUT.town}} names nothing: INPUT is an object with city, days"],
    );
}

#[test]
fn what_cannot_be_read_is_told_with_how_to_write_it() {
    check(
        &json!({"a": "{{city}}", "b": "{{steps.0}}", "c": "{{Step.0}}", "d": "{{}}"}),
        expect![[r#"
        inputs.a: placeholder: {{city}} is a placeholder that nothing fills: a reference is {{STEPS.<id>.<path>}} or {{INPUT.<path>}}, and two literal braces are written \{{ (inside JSON: "\\{{")
        inputs.b: placeholder: {{steps.0}} is a placeholder that nothing fills: write STEPS in capitals
        inputs.c: placeholder: {{Step.0}} is a placeholder that nothing fills: write STEPS in capitals
        inputs.d: placeholder: {{}} is a placeholder that nothing fills: a reference is {{STEPS.<id>.<path>}} or {{INPUT.<path>}}, and two literal braces are written \{{ (inside JSON: "\\{{")"#]],
    );
    check(
        &json!([
            "{{STEPS}}",
            "{{STEPS.x}}",
            "{{STEPS.-1}}",
            "{{STEPS.01}}",
            "{{STEPS.99999999999}}"
        ]),
        expect![[r#"
            inputs[0]: reference: {{STEPS}} is not a reference that can be read: STEPS is followed by the id of a node, as in {{STEPS.0}}
            inputs[1]: reference: {{STEPS.x}} is not a reference that can be read: STEPS is followed by the id of a node, as in {{STEPS.0}}
            inputs[2]: reference: {{STEPS.-1}} is not a reference that can be read: STEPS is followed by the id of a node, as in {{STEPS.0}}
            inputs[3]: reference: {{STEPS.01}} is not a reference that can be read: STEPS is followed by the id of a node, as in {{STEPS.0}}
            inputs[4]: reference: {{STEPS.99999999999}} is not a reference that can be read: STEPS is followed by the id of a node, as in {{STEPS.0}}"#]],
    );
    check(
        &json!(["{{STEPS.0.total sum}}", "{{STEPS.0..a}}", "{{STEPS.0.a.}}", "{{STEPS.0[-1]}}"]),
        expect![[r#"
            inputs[0]: reference: {{STEPS.0.total sum}} is not a reference that can be read: 's' is not expected there; a name with such a character stands in quotes, as in ["total sum"]
            inputs[1]: reference: {{STEPS.0..a}} is not a reference that can be read: a name is missing after a dot
            inputs[2]: reference: {{STEPS.0.a.}} is not a reference that can be read: a name is missing after a dot
            inputs[3]: reference: {{STEPS.0[-1]}} is not a reference that can be read: [-1] is neither an index from 0 nor a name in quotes"#]],
    );
    check(
        &json!(["{{STEPS.0", "{{STEPS.0}", "{{STEPS.0['a}}", "{{STEPS.0[0}}", "{{"]),
        expect![[r#"
        inputs[0]: reference: {{STEPS.0 is not a reference that can be read: its closing }} is missing
        inputs[1]: reference: {{STEPS.0} is not a reference that can be read: it ends with a single }
        inputs[2]: reference: {{STEPS.0['a}} is not a reference that can be read: a closing quote is missing
        inputs[3]: reference: {{STEPS.0[0}} is not a reference that can be read: a closing ] is missing
        inputs[4]: placeholder: {{ is a placeholder that nothing fills: a reference is {{STEPS.<id>.<path>}} or {{INPUT.<path>}}, and two literal braces are written \{{ (inside JSON: "\\{{")"#]],
    );
    check(
        &json!({"{{STEPS.0}}": 1}),
        expect![[
            r#"inputs: placeholder: the name "{{STEPS.0}}" holds double braces, and names cannot hold references"#
        ]],
    );
}

#[test]
fn depth_is_bounded() {
    let nested = |levels: usize| (0..levels).fold(json!(1), |inside, _| json!([inside]));
    assert_eq!(InputTemplate::read(&nested(INPUTS_DEPTH_MAX), "inputs").1, []);
    let errors = InputTemplate::read(&nested(INPUTS_DEPTH_MAX + 1), "inputs").1;
    assert_eq!(
        errors.into_iter().map(|one| one.malformed).collect::<Vec<_>>(),
        [InputTemplateFault::Depth]
    );
}

#[test]
fn paths_are_bounded() {
    let path = |segments: usize| json!(format!("{{{{INPUT{}}}}}", ".a".repeat(segments)));
    assert_eq!(InputTemplate::read(&path(PATH_SEGMENTS_MAX), "inputs").1, []);
    check(
        &path(PATH_SEGMENTS_MAX + 1),
        expect![
            "inputs: reference: {{INPUT.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.… is not a reference that can be read: its path is longer than 64 names"
        ],
    );
}

#[test]
fn what_references_bring_in_is_bounded() {
    let half = Value::String("x".repeat(RESOLVED_BYTES_MAX / 2));
    let resolve = |text: &str| {
        let (template, _) = InputTemplate::read(&json!({"x": text}), "inputs");
        template.resolve(&|_| Some(&half), None).map_err(|err| err.to_string())
    };
    assert!(resolve("{{STEPS.0}}{{STEPS.0}}").is_ok());
    let message = resolve("{{STEPS.0}}{{STEPS.0}}{{STEPS.0}}").unwrap_err();
    expect!["inputs.x: {{STEPS.0}} brings in too much: the references of one node together are at most 16777216 bytes"].assert_eq(&message);
}

/// Resolves by replacing the text of references, one after the other, for texts whose literals hold no braces.
fn naive(pieces: &[(String, usize)], values: &[Value]) -> String {
    let value = |at: usize| match &values[at % values.len()] {
        Value::String(text) => text.clone(),
        other => serde_json::to_string(other).unwrap(),
    };
    pieces.iter().map(|(literal, at)| format!("{literal}{}", value(*at))).collect()
}

fn any_segment() -> impl Strategy<Value = ReferencePathSegment> {
    prop_oneof![
        "[a-z0-9_é-]{1,6}".prop_map(ReferencePathSegment::Name),
        "\\PC{0,6}".prop_map(ReferencePathSegment::Quoted),
        (0..1_000_usize).prop_map(ReferencePathSegment::Index),
    ]
}

fn any_piece() -> impl Strategy<Value = InputTemplatePiece> {
    let source = prop_oneof![
        (0..50_u32).prop_map(|id| ReferenceSource::Step(NodeId::new(id))),
        Just(ReferenceSource::Input)
    ];
    let path = prop::collection::vec(any_segment(), 0..4).prop_map(ReferencePath);
    let reference = (source, path)
        .prop_map(|(source, path)| InputTemplatePiece::Reference(Reference { source, path }));
    prop_oneof!["[{}\\\\a ]{1,8}".prop_map(InputTemplatePiece::Literal), reference]
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "[{}\\\\.STEPINU0-9\\[\\]\"' a]{0,40}|\\PC{0,40}") {
        let (template, errors) = InputTemplate::read(&json!({"x": text}), "inputs");
        if errors.is_empty() {
            let (again, errors) = InputTemplate::read(&template.to_value(), "inputs");
            prop_assert_eq!(errors, []);
            prop_assert_eq!(again, template);
        }
    }

    #[test]
    fn what_is_written_reads_as_itself(pieces in prop::collection::vec(any_piece(), 0..6)) {
        // Adjacent literals are one.
        let mut merged: Vec<InputTemplatePiece> = Vec::new();
        for piece in pieces {
            match (merged.last_mut(), piece) {
                (Some(InputTemplatePiece::Literal(before)), InputTemplatePiece::Literal(literal)) => before.push_str(&literal),
                (_, piece) => merged.push(piece),
            }
        }
        let text = template::written(&merged);
        prop_assert_eq!(read::pieces(&text), (merged, Vec::new()), "{}", text);
    }

    #[test]
    fn resolution_equals_replacement(
        pieces in prop::collection::vec(("[a-z\\\\]{0,3}[a-z}]", 0..3_usize), 1..6),
        texts in prop::collection::vec("[a-z{}]{0,5}", 3),
    ) {
        let values = [json!(texts[0]), json!({"k": [texts[1], null]}), json!(7)];
        let text: String = pieces.iter().map(|(literal, at)| format!("{literal}{{{{STEPS.{at}}}}}")).collect();
        let (template, errors) = InputTemplate::read(&json!(text), "inputs");
        prop_assert_eq!(errors, []);
        let resolved = template.resolve(&|id| values.get(id.index()), None);
        prop_assert_eq!(resolved, Ok(json!(naive(&pieces, &values))));
    }
}
