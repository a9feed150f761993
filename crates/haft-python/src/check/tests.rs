//! Rules about single fields. Each case uses METADATA that is otherwise valid.

use expect_test::{Expect, expect};
use haft_contract::{Effect, sha256_hex};
use serde_json::json;

use super::*;
use crate::parsed_file::{ParameterKind, PythonFunction, PythonParameter};

/// Returns METADATA whose fields are replaced by those of `fields`; null removes one.
fn metadata(fields: Value) -> Map<String, Value> {
    let mut metadata = json!({
        "name": "city_weather",
        "function": "city_weather",
        "description": "Answers the weather of a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    });
    let all = metadata.as_object_mut().unwrap();
    for (name, value) in fields.as_object().unwrap() {
        match value {
            Value::Null => drop(all.remove(name)),
            value => drop(all.insert(name.clone(), value.clone())),
        }
    }
    all.clone()
}

/// Returns a function with these parameters; `*` before a name stands for any others, `=` after it
/// for a default.
fn function(parameters: &[&str]) -> PythonFunction {
    let parameter = |text: &&str| PythonParameter {
        name: text.trim_matches(['*', '=']).to_owned(),
        kind: match text.starts_with('*') {
            true => ParameterKind::Keywords,
            false => ParameterKind::Ordinary,
        },
        has_default: text.ends_with('=') || text.starts_with('*'),
        annotation: None,
        line: 20,
    };
    PythonFunction {
        line: 20,
        is_decorated: false,
        parameters: parameters.iter().map(parameter).collect(),
        summary: String::new(),
    }
}

fn source() -> SourceFile {
    let bytes = Vec::new();
    SourceFile {
        name: "weather.py".to_owned(),
        path: "/tools/weather.py".into(),
        module: "weather".to_owned(),
        sha256: sha256_hex(&bytes),
        bytes,
    }
}

fn checked(fields: Value, parameters: &[&str]) -> CheckedDirectory {
    let reading = ParsedToolFile {
        metadata: Some(metadata(fields)),
        metadata_line: Some(1),
        function: Some(function(parameters)),
        ..ParsedToolFile::default()
    };
    check_tool_files(
        &ToolDirectory::new("/tools"),
        vec![(source(), reading)],
        &[ToolId::parse("read").unwrap()],
    )
}

/// Checks a tool whose function takes `city`.
fn check_fields(fields: Value, expect: Expect) {
    expect.assert_eq(&checked(fields, &["city"]).report());
}

/// Checks a tool whose only parameter is `city` with this schema.
fn check_property(property: Value, expect: Expect) {
    let parameters = json!({"type": "object", "properties": {"city": property}});
    expect.assert_eq(&checked(json!({ "parameters": parameters }), &["city="]).report());
}

#[test]
fn what_is_right_is_a_tool() {
    check_fields(
        json!({}),
        expect![[r#"
        1 tool, 0 errors, 0 warnings
    "#]],
    );
    check_fields(
        json!({"domain": "data", "output_type": "text", "module": "x", "prohibited_outputs": [], "notes": 1}),
        expect![[r#"
            1 tool, 0 errors, 0 warnings
        "#]],
    );
}

#[test]
fn names_are_ids() {
    check_fields(
        json!({"name": null}),
        expect![[r#"
        weather.py:1: error: METADATA has no name [field]
          mend: add "name": "..."
        0 tools, 1 error, 0 warnings
    "#]],
    );
    check_fields(
        json!({"name": 3}),
        expect![[r#"
        weather.py:1: error: name is 3, expected a text [field]
          mend: add "name": "..."
        0 tools, 1 error, 0 warnings
    "#]],
    );
    check_fields(
        json!({"name": "CityWeather v2"}),
        expect![[r#"
        weather.py:1: error: the name "CityWeather v2" cannot be a tool's id: expected lower-case words of letters, digits and underscores, joined by dots, at most 64 characters [name_invalid]
          mend: call it "city_weather_v2"
        0 tools, 1 error, 0 warnings
    "#]],
    );
    check_fields(
        json!({"name": "!!"}),
        expect![[r#"
        weather.py:1: error: the name "!!" cannot be a tool's id: expected lower-case words of letters, digits and underscores, joined by dots, at most 64 characters [name_invalid]
          mend: give it a name of that form
        0 tools, 1 error, 0 warnings
    "#]],
    );
    check_fields(
        json!({"name": "read"}),
        expect![[r#"
            weather.py:1: error: the name read is that of another tool, read [name_taken]
              mend: give one of them another name
            0 tools, 1 error, 0 warnings
        "#]],
    );
}

#[test]
fn functions_have_names_that_say_something() {
    check_fields(
        json!({"function": "weather.run"}),
        expect![[r#"
        weather.py:1: error: function is "weather.run", which cannot be the name of a function [field]
          mend: write the exact name of a function of this file, without module and parentheses
        0 tools, 1 error, 0 warnings
    "#]],
    );
    check_fields(
        json!({"function": "main"}),
        expect![[r#"
        weather.py:1: error: the function's name "main" does not say what it does [function_vague]
          mend: name it after its single purpose, such as run_finance_price, there and in METADATA
        0 tools, 1 error, 0 warnings
    "#]],
    );
}

#[test]
fn marks_are_true_or_false() {
    check_fields(
        json!({"dangerous": 1, "context": "yes"}),
        expect![[r#"
        weather.py:1: error: context is "yes", expected True or False [field]
          mend: write "context": True or "context": False
        weather.py:1: error: dangerous is 1, expected True or False [field]
          mend: write "dangerous": True or "dangerous": False
        0 tools, 2 errors, 0 warnings
    "#]],
    );
}

#[test]
fn times_are_bounded() {
    check_fields(
        json!({"timeout": 3600}),
        expect![[r#"
        1 tool, 0 errors, 0 warnings
    "#]],
    );
    check_fields(
        json!({"timeout": 3600.5}),
        expect![[r#"
        weather.py:1: error: timeout is 3600.5, expected seconds, more than 0 and at most 3600 [field]
          mend: write the number of seconds that one call may take
        0 tools, 1 error, 0 warnings
    "#]],
    );
    check_fields(
        json!({"timeout": "3"}),
        expect![[r#"
        weather.py:1: error: timeout is "3", expected seconds, more than 0 and at most 3600 [field]
          mend: write the number of seconds that one call may take
        0 tools, 1 error, 0 warnings
    "#]],
    );
}

#[test]
fn parameters_are_a_schema_of_an_object() {
    check_fields(
        json!({"parameters": null}),
        expect![[r#"
        weather.py:1: error: METADATA has no parameters [schema]
          mend: write "parameters": {"type": "object", "properties": {...}, "required": [...]}; a tool that takes nothing has "properties": {}
        0 tools, 1 error, 0 warnings
    "#]],
    );
    check_fields(
        json!({"parameters": []}),
        expect![[r#"
        weather.py:1: error: parameters is a list of 0, expected a dictionary [schema]
          mend: write "parameters": {"type": "object", "properties": {...}, "required": [...]}; a tool that takes nothing has "properties": {}
        0 tools, 1 error, 0 warnings
    "#]],
    );
    check_fields(
        json!({"parameters": {"properties": {}}}),
        expect![[r#"
            weather.py:1: error: parameters has no type, expected "object" [schema]
              mend: write "parameters": {"type": "object", "properties": {...}, "required": [...]}; a tool that takes nothing has "properties": {}
            weather.py:20: error: city_weather cannot be called without city, which the schema does not know [not_in_schema]
              mend: add "city" to properties and required, or give it a default
            0 tools, 2 errors, 0 warnings
        "#]],
    );
    check_fields(
        json!({"parameters": {"type": "array"}}),
        expect![[r#"
        weather.py:1: error: parameters has the type "array", expected "object" [schema]
          mend: write "parameters": {"type": "object", "properties": {...}, "required": [...]}; a tool that takes nothing has "properties": {}
        0 tools, 1 error, 0 warnings
    "#]],
    );
    check_fields(
        json!({"parameters": {"type": "object"}}),
        expect![[r#"
        weather.py:1: error: parameters has no properties [schema]
          mend: add "properties": {...} with each parameter and its type, or "properties": {} if there are none
        0 tools, 1 error, 0 warnings
    "#]],
    );
    check_fields(
        json!({"parameters": {"type": "object", "properties": {}, "required": "city"}}),
        expect![[r#"
            weather.py:1: error: parameters is not a valid JSON Schema: "city" is not of type "array" [schema]
              mend: fix the error in the message; references to files and hosts are not followed
            weather.py:1: error: required is "city", expected a list of names [required]
              mend: write the names of the parameters that cannot be left out
            weather.py:20: error: city_weather cannot be called without city, which the schema does not know [not_in_schema]
              mend: add "city" to properties and required, or give it a default
            0 tools, 3 errors, 0 warnings
        "#]],
    );
    let nothing = json!({"parameters": {"type": "object", "properties": {}}});
    expect![[r#"
        1 tool, 0 errors, 0 warnings
    "#]]
    .assert_eq(&checked(nothing, &[]).report());
}

#[test]
fn every_parameter_is_typed() {
    check_property(
        json!({"type": ["string", "null"]}),
        expect![[r#"
        1 tool, 0 errors, 0 warnings
    "#]],
    );
    check_property(
        json!({"type": "array", "items": {"type": "object"}}),
        expect![[r#"
        1 tool, 0 errors, 0 warnings
    "#]],
    );
    check_property(
        json!({}),
        expect![[r#"
        weather.py:1: error: the parameter "city" has no type [untyped]
          mend: add "type": one of string, number, integer, boolean, object, array, or a list of them
        0 tools, 1 error, 0 warnings
    "#]],
    );
    check_property(
        json!("string"),
        expect![[r#"
        weather.py:1: error: the parameter "city" is "string", expected a dictionary with a type [untyped]
          mend: add "type": one of string, number, integer, boolean, object, array, or a list of them
        0 tools, 1 error, 0 warnings
    "#]],
    );
    check_property(
        json!({"type": "null"}),
        expect![[r#"
        weather.py:1: error: the parameter "city" has the type "null", which JSON Schema does not know [untyped]
          mend: use one of string, number, integer, boolean, object, array
        0 tools, 1 error, 0 warnings
    "#]],
    );
    check_property(
        json!({"type": []}),
        expect![[r#"
        weather.py:1: error: the parameter "city" has the type a list of 0 [untyped]
          mend: add "type": one of string, number, integer, boolean, object, array, or a list of them
        0 tools, 1 error, 0 warnings
    "#]],
    );
    check_property(
        json!({"type": "float"}),
        expect![[r#"
        weather.py:1: error: the parameter "city" has the type "float", which JSON Schema does not know [untyped]
          mend: write "type": "number"
        0 tools, 1 error, 0 warnings
    "#]],
    );
}

#[test]
fn values_do_not_stand_for_a_type() {
    check_property(
        json!({"const": 3}),
        expect![[r#"
        weather.py:1: error: the parameter "city" has const and no type [untyped]
          mend: add "type": "integer" beside const
        0 tools, 1 error, 0 warnings
    "#]],
    );
    check_property(
        json!({"enum": [1, "a"]}),
        expect![[r#"
        weather.py:1: error: the parameter "city" has enum and no type [untyped]
          mend: add "type": one of string, number, integer, boolean, object, array, or a list of them
        0 tools, 1 error, 0 warnings
    "#]],
    );
}

#[test]
fn a_schema_is_valid_and_whole() {
    check_property(
        json!({"$ref": "https://example.com/schema", "type": "string"}),
        expect![[r#"
            weather.py:1: error: parameters is not a valid JSON Schema: Resource 'https://example.com/schema' is not present in a registry and retrieving it failed: `resolve-http` feature or a custom resolver is required to resolve external schemas via HTTP [schema]
              mend: fix the error in the message; references to files and hosts are not followed
            0 tools, 1 error, 0 warnings
        "#]],
    );
    check_property(
        json!({"type": "string", "pattern": "("}),
        expect![[r#"
        weather.py:1: error: parameters is not a valid JSON Schema: "(" is not a "regex" [schema]
          mend: fix the error in the message; references to files and hosts are not followed
        0 tools, 1 error, 0 warnings
    "#]],
    );
}

#[test]
fn one_object_of_any_form_is_no_parameter() {
    check_property(
        json!({"type": "object"}),
        expect![[r#"
        weather.py:1: error: the only parameter, "city", is an object of any form: nothing tells a model what to put into it, and nothing checks what it did [free_form]
          mend: make each thing in it a separate parameter with a type, or list its properties
        0 tools, 1 error, 0 warnings
    "#]],
    );
    check_property(
        json!({"type": "object", "properties": {"a": {"type": "string"}}}),
        expect![[r#"
            weather.py:1: warning: the parameter "city" is an object, whose parts models often put in the wrong place [nested]
              mend: make each part of it a separate parameter, unless the parts belong together
            1 tool, 0 errors, 1 warning
        "#]],
    );
    check_property(
        json!({"type": "object", "additionalProperties": {"type": "number"}}),
        expect![[r#"
            1 tool, 0 errors, 0 warnings
        "#]],
    );
}

#[test]
fn functions_take_what_the_schema_promises() {
    let check_parameters = |parameters: &[&str], expect: Expect| {
        expect.assert_eq(&checked(json!({}), parameters).report());
    };
    check_parameters(
        &["city", "days="],
        expect![[r#"
        1 tool, 0 errors, 0 warnings
    "#]],
    );
    check_parameters(
        &["**rest"],
        expect![[r#"
        1 tool, 0 errors, 0 warnings
    "#]],
    );
    check_parameters(
        &["town"],
        expect![[r#"
        weather.py:1: error: city_weather takes no parameter city [not_in_function]
          mend: add city to the function, or take it out of the properties
        weather.py:20: error: city_weather cannot be called without town, which the schema does not know [not_in_schema]
          mend: add "town" to properties and required, or give it a default
        0 tools, 2 errors, 0 warnings
    "#]],
    );
    check_parameters(
        &["city", "context"],
        expect![[r#"
        weather.py:20: error: city_weather cannot be called without context, which the schema does not know [not_in_schema]
          mend: add "context": True to METADATA if it is to say which call it is
        0 tools, 1 error, 0 warnings
    "#]],
    );
    expect![[r#"
        1 tool, 0 errors, 0 warnings
    "#]]
    .assert_eq(&checked(json!({"context": true}), &["city", "context"]).report());
    expect![[r#"
        weather.py:1: error: METADATA asks for the context, and city_weather takes no parameter context [not_in_function]
          mend: add the parameter context to the function, or take "context" out of METADATA
        0 tools, 1 error, 0 warnings
    "#]].assert_eq(&checked(json!({"context": true}), &["city"]).report());
}

#[test]
fn an_open_function_has_an_open_schema() {
    let published =
        |parameters: &[&str]| checked(json!({}), parameters).tools[0].parameters.clone();
    assert_eq!(published(&["city"])["additionalProperties"], json!(false));
    assert_eq!(published(&["**rest"]).get("additionalProperties"), None);
}

#[test]
fn marks_decide_the_effect() {
    let effect = |fields: Value| checked(fields, &["city", "context="]).tools[0].effect;
    assert_eq!(effect(json!({})), Effect::Read);
    assert_eq!(effect(json!({"idempotent": true})), Effect::Read);
    assert_eq!(effect(json!({"dangerous": true})), Effect::Once);
    assert_eq!(effect(json!({"side_effect": true})), Effect::Once);
    assert_eq!(effect(json!({"side_effect": true, "idempotent": true})), Effect::Idempotent);
    assert_eq!(effect(json!({"dangerous": true, "idempotent": true})), Effect::Idempotent);
    let writing = json!({"fs": {"write": ["out/**"]}});
    assert_eq!(effect(json!({"requires": writing})), Effect::Once);
    assert_eq!(effect(json!({"requires": writing, "side_effect": false})), Effect::Once);
    assert_eq!(effect(json!({"requires": writing, "idempotent": true})), Effect::Idempotent);
    let reaching = json!({"net": {"hosts": ["api.example.com"]}});
    assert_eq!(effect(json!({"requires": reaching})), Effect::Read);
    check_fields(
        json!({"requires": writing}),
        expect![[r#"
        weather.py:1: warning: the tool may change files and says neither side_effect nor dangerous: it counts as one with a side effect, and plans run it without anybody having named it [not_dangerous]
          mend: add "dangerous": True, or "side_effect": True if its changes are harmless; leave fs.write out if it changes nothing
        weather.py:1: warning: a repeat of this tool's effect cannot be distinguished from a new call, because it does not take its key [no_key]
          mend: add "context": True and hand context["idempotency_key"] on, or add "idempotent": True if a repeat changes nothing
        1 tool, 0 errors, 2 warnings
    "#]],
    );
    check_fields(
        json!({"side_effect": true, "idempotent": true}),
        expect![[r#"
        weather.py:1: warning: the tool has a side effect and is not marked dangerous, so plans run it without anybody having named it [not_dangerous]
          mend: add "dangerous": True if it changes files or data, sends anything or costs anything
        1 tool, 0 errors, 1 warning
    "#]],
    );
    check_fields(
        json!({"dangerous": true}),
        expect![[r#"
        weather.py:1: warning: a repeat of this tool's effect cannot be distinguished from a new call, because it does not take its key [no_key]
          mend: add "context": True and hand context["idempotency_key"] on, or add "idempotent": True if a repeat changes nothing
        1 tool, 0 errors, 1 warning
    "#]],
    );
}

#[test]
fn requirements_are_those_that_a_process_can_be_held_to() {
    let permissions = |requires: Value| {
        let checked = checked(json!({ "requires": requires }), &["city"]);
        let Some(tool) = checked.tools.first() else { return checked.report() };
        format!("{:?}\n{:?}", tool.permissions.accesses, tool.permissions.writable)
    };
    expect![[r#"
        [Read { path: "." }]
        Nothing"#]]
    .assert_eq(&permissions(json!({})));
    expect![[r#"
        [Read { path: "." }, Write { path: "out/a b" }]
        Directories(["out/a b"])"#]]
    .assert_eq(&permissions(json!({"fs": {"write": ["out/a b/**", "out/a b/**"]}})));
    expect![[r#"
        [Read { path: "." }, Write { path: "." }]
        Roots"#]]
    .assert_eq(&permissions(json!({"fs": {"write": ["{workspace}/out/**", "**"]}})));
    expect![[r#"
        weather.py:1: error: "[::1]" is not a host [requires]
          mend: name the host alone, such as "api.example.com" or "*.example.com", without scheme, port and path
        0 tools, 1 error, 0 warnings
    "#]]
        .assert_eq(&permissions(json!({"net": {"hosts": ["*", "[::1]", "::1", "a_b.example"]}})));
    expect![[r#"
        [Read { path: "." }, Net { host: "*" }, Net { host: "::1" }, Named { name: "mail" }]
        Nothing"#]]
    .assert_eq(&permissions(json!({"net": {"hosts": ["*", "::1"]}, "capabilities": ["mail"]})));
    expect![[r#"
        weather.py:1: error: requires has no part "files", expected fs, net, shell, capabilities [requires]
          mend: write {"fs": {"write": ["out/**"]}, "net": {"hosts": ["api.example.com"]}}, each part if it is needed
        0 tools, 1 error, 0 warnings
    "#]].assert_eq(&permissions(json!({"files": []})));
    let patterns = ["out", "out/*", "/out/**", "{user-data}/**", "a/../**", "{workspace}", "./**"];
    expect![[r#"
        weather.py:1: error: a process cannot be restricted to writing "out": only whole directories can be confined [requires]
          mend: name a directory of the workspace and all in it, such as "out/**" or "{workspace}/**"
        weather.py:1: error: a process cannot be restricted to writing "out/*": only whole directories can be confined [requires]
          mend: name a directory of the workspace and all in it, such as "out/**" or "{workspace}/**"
        weather.py:1: error: "/out/**" is outside the workspace, where tools change nothing [requires]
          mend: name a directory of the workspace and all in it, such as "out/**" or "{workspace}/**"
        weather.py:1: error: "{user-data}/**" is outside the workspace, where tools change nothing [requires]
          mend: name a directory of the workspace and all in it, such as "out/**" or "{workspace}/**"
        weather.py:1: error: "a/../**" is outside the workspace, where tools change nothing [requires]
          mend: name a directory of the workspace and all in it, such as "out/**" or "{workspace}/**"
        weather.py:1: error: a process cannot be restricted to writing "{workspace}": only whole directories can be confined [requires]
          mend: name a directory of the workspace and all in it, such as "out/**" or "{workspace}/**"
        weather.py:1: error: a process cannot be restricted to writing "./**": only whole directories can be confined [requires]
          mend: name a directory of the workspace and all in it, such as "out/**" or "{workspace}/**"
        0 tools, 7 errors, 0 warnings
    "#]].assert_eq(&permissions(json!({"fs": {"write": patterns}})));
}

#[test]
fn every_mistake_in_what_is_required_is_reported_at_once() {
    check_fields(
        json!({"requires": {
            "fs": {"read": "data", "write": ["/etc/**", 5], "delete": []},
            "net": {"hosts": ["https://a.example"], "ports": [1]},
            "capabilities": "mail",
            "shell": [{"args": 1}],
            "disk": true,
        }}),
        expect![[r#"
            weather.py:1: error: requires.capabilities is "mail", expected a list of texts [requires]
              mend: put square brackets around it, and quotation marks around each text in it
            weather.py:1: error: requires has no part "disk", expected fs, net, shell, capabilities [requires]
              mend: write {"fs": {"write": ["out/**"]}, "net": {"hosts": ["api.example.com"]}}, each part if it is needed
            weather.py:1: error: requires.fs has no part "delete", expected read, write [requires]
              mend: write {"fs": {"write": ["out/**"]}, "net": {"hosts": ["api.example.com"]}}, each part if it is needed
            weather.py:1: error: requires.fs.read is "data", expected a list of texts [requires]
              mend: put square brackets around it, and quotation marks around each text in it
            weather.py:1: error: "/etc/**" is outside the workspace, where tools change nothing [requires]
              mend: name a directory of the workspace and all in it, such as "out/**" or "{workspace}/**"
            weather.py:1: error: requires.fs.write holds 5, expected texts alone [requires]
              mend: write it as a text in quotation marks, or take it out
            weather.py:1: error: "https://a.example" is not a host [requires]
              mend: name the host alone, such as "api.example.com" or "*.example.com", without scheme, port and path
            weather.py:1: error: requires.net has no part "ports", expected hosts [requires]
              mend: write {"fs": {"write": ["out/**"]}, "net": {"hosts": ["api.example.com"]}}, each part if it is needed
            weather.py:1: error: shell cannot be understood: invalid type: integer `1`, expected a sequence [requires]
              mend: leave it out: what a Python tool starts is confined with it
            0 tools, 9 errors, 0 warnings
        "#]],
    );
    check_fields(
        json!({"requires": ["fs"]}),
        expect![[r#"
        weather.py:1: error: requires is a list of 1, expected a dictionary [requires]
          mend: write {"fs": {"write": ["out/**"]}, "net": {"hosts": ["api.example.com"]}}, each part if it is needed
        0 tools, 1 error, 0 warnings
    "#]],
    );
}

#[test]
fn a_schema_without_a_type_hides_neither_its_parameters_nor_a_missing_function() {
    let parameters = json!({"properties": {"city": {}, "class": {"type": "str"}}});
    check_fields(
        json!({ "parameters": parameters }),
        expect![[r#"
        weather.py:1: error: parameters has no type, expected "object" [schema]
          mend: write "parameters": {"type": "object", "properties": {...}, "required": [...]}; a tool that takes nothing has "properties": {}
        weather.py:1: error: the parameter "city" has no type [untyped]
          mend: add "type": one of string, number, integer, boolean, object, array, or a list of them
        weather.py:1: error: the parameter "class" has the type "str", which JSON Schema does not know [untyped]
          mend: write "type": "string"
        weather.py:1: error: city_weather takes no parameter class [not_in_function]
          mend: add class to the function, or take it out of the properties
        weather.py:1: error: the parameter "class" cannot be the name of an argument in Python [not_in_function]
          mend: use letters, digits and underscores, and no word of the language
        weather.py:20: error: city_weather cannot be called without city, which the schema lets callers leave out [not_in_schema]
          mend: add "city" to required, or give it a default
        0 tools, 6 errors, 0 warnings
    "#]],
    );
    let fields = json!({"parameters": {}});
    let reading = ParsedToolFile {
        metadata: Some(metadata(fields)),
        metadata_line: Some(1),
        functions: vec!["run_city_weather".to_owned()],
        ..ParsedToolFile::default()
    };
    let checked = check_tool_files(&ToolDirectory::new("/tools"), vec![(source(), reading)], &[]);
    expect![[r#"
        weather.py:1: error: the file has no function city_weather [function_missing]
          mend: write "function": "run_city_weather", or rename that function to city_weather
        weather.py:1: error: parameters is empty, so the tool's parameters are unknown [schema]
          mend: write "parameters": {"type": "object", "properties": {...}, "required": [...]}; a tool that takes nothing has "properties": {}
        0 tools, 2 errors, 0 warnings
    "#]].assert_eq(&checked.report());
}

/// Checks a tool with this name and these parameters, each with a type.
fn check_names(name: &str, parameters: &[(&str, &str)], expect: Expect) {
    let properties: Map<String, Value> = parameters
        .iter()
        .map(|(name, kind)| ((*name).to_owned(), json!({ "type": kind })))
        .collect();
    let fields = json!({
        "name": name, "function": name,
        "parameters": {"type": "object", "properties": properties},
    });
    let taken: Vec<String> = parameters.iter().map(|(name, _)| format!("{name}=")).collect();
    let taken: Vec<&str> = taken.iter().map(String::as_str).collect();
    expect.assert_eq(&checked(fields, &taken).report());
}

#[test]
fn tools_and_functions_are_named_after_what_they_do() {
    check_names(
        "run",
        &[],
        expect![[r#"
        weather.py:1: error: the function's name "run" does not say what it does [function_vague]
          mend: name it after its single purpose, such as run_finance_price, there and in METADATA
        weather.py:1: error: the tool's name "run" does not say what it does [name_vague]
          mend: name it after its single purpose, such as finance_price
        0 tools, 2 errors, 0 warnings
    "#]],
    );
    check_names(
        "do_everything",
        &[],
        expect![[r#"
        weather.py:1: error: the function's name "do_everything" does not say what it does [function_vague]
          mend: name it after its single purpose, such as run_finance_price, there and in METADATA
        weather.py:1: error: the tool's name "do_everything" does not say what it does [name_vague]
          mend: name it after its single purpose, such as finance_price
        0 tools, 2 errors, 0 warnings
    "#]],
    );
    check_names(
        "run_all_the_things",
        &[],
        expect![[r#"
        weather.py:1: error: the function's name "run_all_the_things" does not say what it does [function_vague]
          mend: name it after its single purpose, such as run_finance_price, there and in METADATA
        weather.py:1: error: the tool's name "run_all_the_things" does not say what it does [name_vague]
          mend: name it after its single purpose, such as finance_price
        0 tools, 2 errors, 0 warnings
    "#]],
    );
    check_names(
        "fx",
        &[],
        expect![[r#"
        weather.py:1: warning: the tool's name "fx" is an unclear abbreviation [name_vague]
          mend: name it after its single purpose, such as finance_price
        1 tool, 0 errors, 1 warning
    "#]],
    );
}

#[test]
fn parameters_are_named_after_what_they_hold() {
    check_names(
        "run_finance_price",
        &[("id", "string"), ("x", "number")],
        expect![[r#"
        1 tool, 0 errors, 0 warnings
    "#]],
    );
    check_names(
        "finance_price",
        &[("s", "string"), ("dt", "string")],
        expect![[r#"
        weather.py:1: warning: the parameter "dt" does not say what it is: a model guesses what to put into it [parameter_vague]
          mend: spell it out, there and in the function, such as "symbol" for "s"
        weather.py:1: warning: the parameter "s" does not say what it is: a model guesses what to put into it [parameter_vague]
          mend: spell it out, there and in the function, such as "symbol" for "s"
        1 tool, 0 errors, 2 warnings
    "#]],
    );
}

#[test]
fn no_parameter_is_a_payload_of_any_form() {
    check_names(
        "finance_price",
        &[("data", "object")],
        expect![[r#"
        weather.py:1: error: the only parameter, "data", is an object of any form: nothing tells a model what to put into it, and nothing checks what it did [free_form]
          mend: make each thing in it a separate parameter with a type, or list its properties
        0 tools, 1 error, 0 warnings
    "#]],
    );
    check_names(
        "finance_price",
        &[("data", "object"), ("symbol", "string")],
        expect![[r#"
        weather.py:1: warning: the parameter "data" is an object of any form: nothing checks what a model puts into it [free_form]
          mend: list its properties, or give additionalProperties a type
        1 tool, 0 errors, 1 warning
    "#]],
    );
    check_names(
        "finance_price",
        &[("payload", "string")],
        expect![[r#"
        weather.py:1: error: the only parameter, "payload", is a text of any form under a name that says nothing: nothing tells a model what to put into it, and nothing checks what it did [free_form]
          mend: name it after what it holds, or make each thing in it a separate parameter with a type
        0 tools, 1 error, 0 warnings
    "#]],
    );
    check_names(
        "finance_price",
        &[("payload", "string"), ("symbol", "string")],
        expect![[r#"
        1 tool, 0 errors, 0 warnings
    "#]],
    );
    check_names(
        "finance_price",
        &[("prompt", "string")],
        expect![[r#"
        weather.py:1: warning: the only parameter, "prompt", is prose, which the tool has to make sense of [free_form]
          mend: make each thing that the tool needs to know a separate parameter with a type, where that is possible
        1 tool, 0 errors, 1 warning
    "#]],
    );
    check_names(
        "finance_price",
        &[("query", "string")],
        expect![[r#"
        1 tool, 0 errors, 0 warnings
    "#]],
    );
}
