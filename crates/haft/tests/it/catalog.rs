//! Tools that change while a runtime runs: calls that have begun keep theirs, later ones have the new.

use std::sync::Arc;

use haft::{Call, Registry};
use haft_contract::{Access, RequirementSet, Tool, ToolError};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::stage::{Setting, Stage, shown};

/// Returns a tool that needs the named capability.
fn tool(id: &str, capability: &str) -> Tool {
    let requires =
        RequirementSet { capabilities: vec![capability.to_owned()], ..RequirementSet::default() };
    let name = capability.to_owned();
    let builder = Tool::new(id)
        .requires(requires)
        .accesses(move |_: &Value| vec![Access::Named { name: name.clone() }]);
    let answer = id.to_owned();
    builder.execute_json(json!({"type": "object"}), move |_, _| {
        let answer = answer.clone();
        async move { Ok::<_, ToolError>(answer) }
    })
}

#[tokio::test]
async fn later_calls_have_the_tools_of_later() {
    let stage =
        Stage::new(Setting { tools: vec![tool("one", "use-one")], ..Setting::default() }).await;
    assert!(shown(&stage.call("one", json!({})).await).contains("\"one\""));
    let held = stage.runtime.registry();

    let changed = Registry::new([tool("two", "use-two")]).unwrap();
    stage.runtime.catalog().replace(changed).unwrap();

    // The agent's capabilities include the requirements of a tool exactly while the tool exists.
    assert!(shown(&stage.call("two", json!({})).await).contains("\"two\""));
    assert!(shown(&stage.call("one", json!({})).await).contains("TOOL_NOT_FOUND"));
    assert!(held.contract("one").is_some() && held.contract("two").is_none());
}

#[tokio::test]
async fn a_call_that_runs_keeps_the_tool_that_it_began_with() {
    let (begun, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let slow = {
        let (begun, go_on) = (Arc::clone(&begun), Arc::clone(&go_on));
        Tool::new("slow").execute_json(json!({"type": "object"}), move |_, _| {
            let (begun, go_on) = (Arc::clone(&begun), Arc::clone(&go_on));
            async move {
                begun.notify_one();
                go_on.notified().await;
                Ok::<_, ToolError>("the old one")
            }
        })
    };
    let stage = Stage::new(Setting { tools: vec![slow], ..Setting::default() }).await;
    let run = stage.run.clone();
    let call = tokio::spawn(async move { run.call(Call::new("slow", json!({}))).await.unwrap() });
    begun.notified().await;
    stage.runtime.catalog().replace(Registry::default()).unwrap();
    go_on.notify_one();
    assert!(shown(&call.await.unwrap()).contains("the old one"));
    assert_eq!(stage.journal().await, "1 slow succeeded {}\n");
}
