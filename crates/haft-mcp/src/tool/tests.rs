//! A contract as MCP lists it.

use expect_test::expect;
use haft_contract::{
    NetRequirement, RequirementSet, ShellRequirement, Tool, ToolBuilder, ToolError,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::*;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only the schema is used")]
struct Order {
    /// What to order.
    sku: String,
}

#[derive(Serialize, JsonSchema)]
struct Receipt {
    number: u32,
}

fn contract(builder: ToolBuilder) -> Contract {
    let tool = builder.execute_with(|_: Order, _| async { Ok::<_, ToolError>("ordered") });
    Contract::clone(tool.checked_contract().unwrap())
}

#[test]
fn a_tool_has_everything_that_a_client_shows() {
    let builder = Tool::new("shop.place_order").description("Places an order").effect(Effect::Once);
    let text = serde_json::to_string_pretty(&tool_json(&contract(builder.output::<Receipt>())));
    expect![[r#"
        {
          "name": "shop__place_order",
          "title": "Shop place order",
          "description": "Places an order",
          "inputSchema": {
            "type": "object",
            "additionalProperties": false,
            "properties": {
              "sku": {
                "type": "string",
                "description": "What to order."
              }
            },
            "required": [
              "sku"
            ]
          },
          "outputSchema": {
            "type": "object",
            "properties": {
              "number": {
                "type": "integer",
                "minimum": 0
              }
            },
            "required": [
              "number"
            ]
          },
          "annotations": {
            "readOnlyHint": false,
            "destructiveHint": true,
            "idempotentHint": false,
            "openWorldHint": false
          }
        }"#]]
    .assert_eq(&text.unwrap());
}

#[test]
fn an_output_that_is_no_object_is_not_promised() {
    let tool = tool_json(&contract(Tool::new("count").output::<u32>()));
    assert_eq!(tool.get("outputSchema"), None);
}

#[test]
fn hints_follow_from_the_contract() {
    let net = NetRequirement { hosts: vec!["*".to_owned()] };
    let reaching = RequirementSet { net, ..RequirementSet::default() };
    let any = ShellRequirement { cmd: "*".to_owned(), args: None };
    let running = RequirementSet { shell: vec![any], ..RequirementSet::default() };
    let tool = || Tool::new("t");
    // Read only, destructive, idempotent, open world.
    let cases = [
        (tool(), [true, false, true, false]),
        (tool().dangerous(), [true, false, true, false]),
        (tool().requires(reaching), [true, false, true, true]),
        (tool().effect(Effect::Idempotent), [false, false, true, false]),
        (tool().effect(Effect::Idempotent).kind(Kind::Delete), [false, true, true, false]),
        (tool().effect(Effect::Idempotent).dangerous(), [false, true, true, false]),
        (tool().effect(Effect::Once), [false, true, false, false]),
        (tool().effect(Effect::Once).requires(running), [false, true, false, true]),
    ];
    for (builder, expect) in cases {
        let contract = contract(builder);
        let hints = annotations(&contract);
        let found = [
            hints.read_only_hint,
            hints.destructive_hint,
            hints.idempotent_hint,
            hints.open_world_hint,
        ];
        assert_eq!(found, expect.map(Some), "for {contract:?}");
    }
}

#[test]
fn titles_are_words() {
    assert_eq!(title("apply_patch"), "Apply patch");
    assert_eq!(title("shop.place_order"), "Shop place order");
    assert_eq!(title("read"), "Read");
}
