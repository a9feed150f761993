//! The accepted forms of a registry.

use expect_test::{Expect, expect};

use super::*;

fn check(text: &str, expect: Expect) {
    expect.assert_eq(&match RegistryFile::parse(text) {
        Ok(registry) => format!("{} entries", registry.entries.len()),
        Err(err) => err.to_string(),
    });
}

#[test]
fn a_registry_is_an_object_with_tools_or_a_list() {
    check(r#"{"version": "1.0", "tools": [{"name": "a"}]}"#, expect!["1 entries"]);
    check(r#"[{"name": "a"}, {}]"#, expect!["2 entries"]);
    check(
        "[1]",
        expect![[
            r#"the registry has an entry that is not an object, expected {"tools": [...]} or a list, each entry an object"#
        ]],
    );
    check(
        "{}",
        expect![[
            r#"the registry has an object without tools, expected {"tools": [...]} or a list, each entry an object"#
        ]],
    );
    check(
        r#"{"tools": {}}"#,
        expect![[
            r#"the registry has tools that are not a list, expected {"tools": [...]} or a list, each entry an object"#
        ]],
    );
    check(
        "3",
        expect![[
            r#"the registry has a single value, expected {"tools": [...]} or a list, each entry an object"#
        ]],
    );
    check("[", expect!["the registry is not JSON: EOF while parsing a list at line 1 column 1"]);
}

#[test]
fn keys_of_schemas_are_in_order_and_names_of_parameters_are_not_taken_for_keys() {
    let text = r#"[{"module": "m", "zeta": 1, "parameters": {"required": [], "properties": {"type": {"enum": ["a"],
                   "type": "string"}, "description": {"default": 1, "type": "integer"}}, "type": "object"}, "name": "a"}]"#;
    expect![[r#"
        {
          "version": "1.0",
          "auto_generated": true,
          "tools": [
            {
              "name": "a",
              "zeta": 1,
              "parameters": {
                "type": "object",
                "properties": {
                  "type": {
                    "type": "string",
                    "enum": [
                      "a"
                    ]
                  },
                  "description": {
                    "type": "integer",
                    "default": 1
                  }
                },
                "required": []
              },
              "module": "m"
            }
          ]
        }
    "#]]
    .assert_eq(&RegistryFile::parse(text).unwrap().render());
}
