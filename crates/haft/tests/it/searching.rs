//! Tools that are found instead of listed, where there are many.

use haft::{Call, CallLimits, Connection, ConnectionOptions, Registry, ResumeMode, ToolListing};
use haft_contract::{
    ConnectionStore, Contract, Cx, Envelope, ErrorCode, RunId, Tool, ToolError, ToolOrigin,
};
use serde_json::json;

use crate::stage::{Setting, Stage, Text};

/// The tool that finds tools, with the shape that it has everywhere.
fn tool_search() -> Tool {
    Tool::new("tool_search").keeps(ConnectionStore::FoundTools).execute_with(
        |input: Text, cx: Cx| async move {
            let matches = cx.tool_index().find(&input.text, 10);
            Ok::<_, ToolError>(json!({ "matches": matches }))
        },
    )
}

fn tool(id: &str, origin: ToolOrigin) -> Tool {
    let builder = Tool::new(id).description(format!("Does {id}")).origin(origin);
    builder.execute(|input: Text| async move { Ok::<_, ToolError>(input.text) })
}

fn of_server(id: &str) -> Tool {
    tool(id, ToolOrigin::Mcp { server: "far".to_owned(), tool: id.to_owned() })
}

/// Returns a native tool, a declared one, and as many others, with the tool that finds them.
fn tools(others: usize) -> Vec<Tool> {
    let mut tools = vec![
        tool_search(),
        tool("native", ToolOrigin::Native),
        tool("declared", ToolOrigin::Declared),
        tool("snake", ToolOrigin::Python),
    ];
    tools.extend((1..others).map(|number| of_server(&format!("far_number{number}"))));
    tools
}

/// Returns a stage on which no tool is listed that can be found.
async fn stage(tools: Vec<Tool>) -> Stage {
    stage_listing(0, tools).await
}

async fn stage_listing(listed_tools: usize, tools: Vec<Tool>) -> Stage {
    let limits = CallLimits { listed_tools, ..CallLimits::default() };
    Stage::new(Setting { tools, limits, ..Setting::default() }).await
}

fn searched(stage: &Stage, id: &str) -> Connection {
    let options = ConnectionOptions {
        listing: ToolListing::Searched,
        ..ConnectionOptions::headless(id, "test")
    };
    stage.runtime.open_connection(options).unwrap()
}

fn ids(session: &Connection) -> Vec<String> {
    session
        .listed_tools()
        .iter()
        .map(|contract: &std::sync::Arc<Contract>| contract.id.to_string())
        .collect()
}

async fn call(session: &Connection, run: &str, tool: &str, text: &str) -> Envelope {
    let run = session.run(RunId::parse(run).unwrap());
    run.call(Call::new(tool, json!({ "text": text }))).await.unwrap()
}

#[tokio::test]
async fn a_tool_that_was_found_is_listed_and_callable_in_its_session() {
    let stage = stage(tools(18)).await;
    let session = searched(&stage, "one");
    let mut changes = session.listing_changes();
    assert_eq!(ids(&session), ["declared", "native", "tool_search"]);

    let refused = call(&session, "a", "far_number7", "x").await;
    let Envelope::Error { error_text, .. } = &refused else { panic!("it was not found yet") };
    assert_eq!(refused.code(), Some(ErrorCode::ToolNotFound));
    assert_eq!(
        error_text,
        "tool far_number7 cannot be called yet, because there are too many tools to list: find it with tool_search first"
    );
    assert_eq!(call(&session, "a", "native", "x").await.code(), None);

    let found = call(&session, "a", "tool_search", "number7, please").await;
    assert!(
        found.text().contains(r#"{"id":"far_number7","description":"Does far_number7"}"#),
        "{found:?}"
    );
    changes.changed().await;
    assert!(ids(&session).contains(&"far_number7".to_owned()));
    assert_eq!(call(&session, "a", "far_number7", "x").await.text(), "x");
    // So it is in every run of the session, and in no other session.
    assert_eq!(call(&session, "b", "far_number7", "x").await.code(), None);
    let other = searched(&stage, "two");
    assert_eq!(call(&other, "c", "far_number7", "x").await.code(), Some(ErrorCode::ToolNotFound));
}

#[tokio::test]
async fn some_tools_of_each_server_are_listed_and_all_where_no_tool_searches() {
    // The search itself is not listed, because it has nothing to find.
    let few = stage_listing(18, tools(18)).await;
    assert_eq!(ids(&searched(&few, "one")).len(), 20);
    assert!(!ids(&searched(&few, "one")).contains(&"tool_search".to_owned()));
    let other_server =
        |id: &str| tool(id, ToolOrigin::Mcp { server: "near".to_owned(), tool: id.to_owned() });
    let tools_of_three =
        || tools(18).into_iter().chain([other_server("near_one"), other_server("near_two")]);
    let many = stage_listing(5, tools_of_three().collect()).await;
    let session = searched(&many, "one");
    let listed = ["declared", "far_number1", "far_number10", "native", "near_one", "near_two"];
    assert_eq!(ids(&session), [&listed[..], &["snake", "tool_search"]].concat());
    assert_eq!(call(&session, "r1", "near_two", "x").await.code(), None);
    assert_eq!(
        call(&session, "r1", "far_number7", "x").await.code(),
        Some(ErrorCode::ToolNotFound)
    );
    assert_eq!(ids(&many.session).len(), 23);
    assert_eq!(call(&many.session, "r1", "far_number7", "x").await.text(), "x");
    let unsearchable = stage(tools(25).into_iter().skip(1).collect()).await;
    assert_eq!(ids(&searched(&unsearchable, "one")).len(), 27);
}

#[tokio::test]
async fn what_a_recalled_search_found_is_callable_again() {
    let stage = stage(tools(18)).await;
    let first = searched(&stage, "one");
    call(&first, "a", "tool_search", "snake").await;
    assert_eq!(call(&first, "a", "snake", "x").await.code(), None);

    let second = searched(&stage, "two");
    let again = second.resume(RunId::parse("a").unwrap(), ResumeMode::Replay);
    let replayed = again.call(Call::new("tool_search", json!({"text": "snake"}))).await.unwrap();
    assert!(replayed.metadata().replayed, "{replayed:?}");
    assert_eq!(ids(&second), ["declared", "native", "snake", "tool_search"]);
    let fresh = again.call(Call::new("snake", json!({"text": "another"}))).await.unwrap();
    assert_eq!(fresh.text(), "another");
}

#[tokio::test]
async fn a_search_sees_the_tools_there_are_now() {
    let stage = stage(tools(18)).await;
    let session = searched(&stage, "one");
    let before = call(&session, "a", "tool_search", "walrus").await;
    let Envelope::Output { data, .. } = before else { panic!("it found nothing: {before:?}") };
    assert_eq!(data, json!({"matches": []}));

    let mut changes = session.listing_changes();
    let more = tools(18).into_iter().chain([of_server("far_walrus")]);
    stage.runtime.catalog().replace(Registry::new(more).unwrap()).unwrap();
    changes.changed().await;
    let after = call(&session, "a", "tool_search", "find the walrus").await;
    assert!(after.text().contains("far_walrus"), "{after:?}");
    assert_eq!(call(&session, "a", "far_walrus", "x").await.text(), "x");
}
