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
    /// The item to order.
    sku: String,
}

#[derive(Serialize, JsonSchema)]
struct Receipt {
    number: u32,
}

fn contract(builder: ToolBuilder) -> Contract {
    let tool = builder.execute_with(|_: Order, _| async { Ok::<_, ToolError>("ordered") });
    Contract::clone(tool.valid_contract().unwrap())
}

#[test]
fn a_tool_has_everything_that_a_client_shows() {
    let builder = Tool::new("shop.place_order").description("Places an order").effect(Effect::Once);
    let text = serde_json::to_string_pretty(&tool_json(&contract(builder.output::<Receipt>())));
    expect![[r#"
        {
          "name": "shop__place_order",
          "description": "Places an order",
          "inputSchema": {
            "type": "object",
            "additionalProperties": false,
            "properties": {
              "sku": {
                "type": "string",
                "description": "The item to order."
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
            "openWorldHint": false
          },
          "_meta": {
            "haft/effect": {
              "sideEffect": true,
              "idempotent": false
            }
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
    let check = |builder: ToolBuilder, expect: Option<Value>| {
        let listed = tool_json(&contract(builder));
        assert_eq!(listed.get("annotations"), expect.as_ref(), "in {listed}");
    };
    let reads = json!({"readOnlyHint": true, "destructiveHint": false, "openWorldHint": false});
    check(tool(), Some(reads.clone()));
    check(tool().dangerous(), Some(reads));
    let fetches = json!({"readOnlyHint": true, "destructiveHint": false});
    check(tool().requires(reaching), Some(fetches));
    let adds = json!({"destructiveHint": false, "idempotentHint": true, "openWorldHint": false});
    check(tool().effect(Effect::Idempotent), Some(adds));
    let replaces = json!({"idempotentHint": true, "openWorldHint": false});
    check(tool().effect(Effect::Idempotent).kind(ToolKind::Delete), Some(replaces.clone()));
    check(tool().effect(Effect::Idempotent).dangerous(), Some(replaces));
    check(tool().effect(Effect::Once), Some(json!({"openWorldHint": false})));
    check(tool().effect(Effect::Once).requires(running), None);
}
