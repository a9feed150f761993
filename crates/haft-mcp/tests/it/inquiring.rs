//! The questions of a tool to the person behind a client, in both eras: what the client is sent, what the tool gets of each
//! answer, and that an answer counts once.

use expect_test::{Expect, expect};
use haft_contract::UserQuestion;
use haft_policy::{Rule, RuleAction};

use super::*;

#[derive(Deserialize, JsonSchema)]
struct Questions {
    questions: Vec<UserQuestion>,
}

/// A tool that asks what it is told to, and answers with what was said.
fn curious() -> Tool {
    Tool::new("curious").execute_with(|input: Questions, cx: Cx| async move {
        let answers = cx.questions().ask(input.questions).await?;
        Ok::<_, ToolError>(format!("{answers:?}"))
    })
}

fn questions() -> Value {
    json!({"name": "curious", "arguments": {"questions": [
        {"question": "Which database?", "header": "Storage", "options": [
            {"label": "SQLite", "description": "one file"}, {"label": "PostgreSQL"}]},
        {"question": "Which platforms?", "multi_select": true, "options": [
            {"label": "Linux"}, {"label": "macOS"}]},
        {"question": "What is it called?"},
    ]}})
}

fn answers() -> Value {
    json!({"action": "accept", "content": {
        "q01_other": "neither", "q02": ["macOS", "Linux"], "q03": "haft",
    }})
}

async fn older(version: &str, capabilities: Value) -> Client {
    let mut client = Client::open([curious()], vec![Rule::new("*", "*", RuleAction::Allow)]);
    client.initialize(version, capabilities).await;
    client
}

async fn newer() -> Client {
    let mut client = Client::open([curious()], vec![Rule::new("*", "*", RuleAction::Allow)]);
    client.request("server/discover", modern(json!({}))).await;
    client
}

/// The client's metadata in a request of the newer era.
fn modern(mut params: Value) -> Value {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    params["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({"name": "test", "version": "0"});
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
        json!({"elicitation": {"form": {}}});
    params
}

fn text(answer: &Value) -> String {
    let result = &answer["result"];
    let code = result["_meta"]["haft/code"].as_str().unwrap_or("none");
    let texts = result["content"].as_array().unwrap().iter();
    let texts: Vec<&str> = texts.map(|block| block["text"].as_str().unwrap()).collect();
    format!("{code}: {}", texts.join("\n"))
}

/// Compares what the tool gets when an older client responds like this.
async fn check_older(version: &str, response: Value, expect: &Expect) {
    let mut client = older(version, json!({"elicitation": {}})).await;
    client.send("tools/call", questions()).await;
    let question = client.receive().await;
    assert_eq!(question["method"], "elicitation/create", "{question}");
    let line = json!({"jsonrpc": "2.0", "id": question["id"], "result": response});
    client.send_text(&format!("{line}\n")).await;
    expect.assert_eq(&text(&client.receive().await));
}

/// Compares what the tool gets when a newer client responds like this.
async fn check_newer(response: Value, expect: &Expect) {
    let mut client = newer().await;
    let asked = client.request("tools/call", modern(questions())).await;
    let answer = client.request("tools/call", answered(&asked, response)).await;
    expect.assert_eq(&text(&answer));
}

/// Returns the call again, with the response to what it was answered.
fn answered(asked: &Value, response: Value) -> Value {
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let mut params = questions();
    params["requestState"] = asked["result"]["requestState"].clone();
    params["inputResponses"] = json!({"answers": response});
    modern(params)
}

#[tokio::test]
async fn an_older_client_shows_a_form() {
    let form = async |version: &str| {
        let mut client = older(version, json!({"elicitation": {}})).await;
        client.send("tools/call", questions()).await;
        client.receive().await["params"].clone()
    };
    let current = form("2025-11-25").await;
    expect![[r#"
        The agent asks. Your answers are for it to read; they allow nothing.

        1. Storage: Which database?
           - SQLite: one file
           - PostgreSQL

        2. Which platforms?
           - Linux
           - macOS
           (several may be chosen)

        3. What is it called?"#]]
    .assert_eq(current["message"].as_str().unwrap());
    expect![[r#"{"type":"object","properties":{"q01":{"type":"string","title":"Storage","description":"Which database?","oneOf":[{"const":"SQLite","title":"SQLite: one file"},{"const":"PostgreSQL","title":"PostgreSQL"}]},"q01_other":{"type":"string","title":"Other","description":"An answer in your own words","maxLength":10000},"q02":{"type":"array","title":"Question 2","description":"Which platforms?","items":{"anyOf":[{"const":"Linux","title":"Linux"},{"const":"macOS","title":"macOS"}]}},"q02_other":{"type":"string","title":"Other","description":"An answer in your own words","maxLength":10000},"q03":{"type":"string","title":"Question 3","description":"What is it called?","maxLength":10000}},"required":["q03"]}"#]].assert_eq(&current["requestedSchema"].to_string());
    expect![[r#"{"type":"object","properties":{"q01":{"type":"string","title":"Storage","description":"Which database?","enum":["SQLite","PostgreSQL"],"enumNames":["SQLite: one file","PostgreSQL"]},"q01_other":{"type":"string","title":"Other","description":"An answer in your own words","maxLength":10000},"q02_option_01":{"type":"boolean","title":"Linux"},"q02_option_02":{"type":"boolean","title":"macOS"},"q02_other":{"type":"string","title":"Other","description":"An answer in your own words","maxLength":10000},"q03":{"type":"string","title":"Question 3","description":"What is it called?","maxLength":10000}},"required":["q03"]}"#]].assert_eq(&form("2025-06-18").await["requestedSchema"].to_string());
}

#[tokio::test]
async fn an_older_client_answers_or_does_not() {
    check_older(
        "2025-11-25",
        answers(),
        &expect![[r#"none: [["neither"], ["Linux", "macOS"], ["haft"]]"#]],
    )
    .await;
    let ticked = json!({"action": "accept", "content": {"q01": "SQLite", "q02_option_02": true}});
    check_older("2025-06-18", ticked, &expect![[r#"none: [["SQLite"], ["macOS"], []]"#]]).await;
    check_older("2025-11-25", json!({"action": "decline"}), &expect!["TOOL_FAILED: the user did not answer: do not ask the same again; go on with your best assumption and say which one you made"]).await;
    check_older("2025-11-25", json!({"action": "cancel"}), &expect!["TOOL_FAILED: the user did not answer (the client closed the question without an answer): do not ask the same again; go on with your best assumption and say which one you made"]).await;
    check_older("2025-11-25", json!({"action": "accept"}), &expect!["TOOL_FAILED: the user did not answer (the client sent the form back without an answer): do not ask the same again; go on with your best assumption and say which one you made"]).await;
    check_older("2025-11-25", json!({"yes": true}), &expect!["TOOL_FAILED: the user did not answer (the client answered the question in a form that no answer has): do not ask the same again; go on with your best assumption and say which one you made"]).await;
}

#[tokio::test]
async fn a_client_without_forms_has_nobody_to_ask() {
    let mut client = older("2025-11-25", json!({})).await;
    let answer = client.request("tools/call", questions()).await;
    expect!["HEADLESS: No one is here to answer. Do not ask; go on with your best assumption and say which one you made."].assert_eq(&text(&answer));
}

#[tokio::test]
async fn a_newer_client_answers_by_a_request_or_does_not() {
    check_newer(answers(), &expect![[r#"none: [["neither"], ["Linux", "macOS"], ["haft"]]"#]])
        .await;
    check_newer(json!({"action": "decline"}), &expect!["TOOL_FAILED: the user did not answer: do not ask the same again; go on with your best assumption and say which one you made"]).await;
    check_newer(json!({"action": "cancel"}), &expect!["TOOL_FAILED: the user did not answer (the client closed the question without an answer): do not ask the same again; go on with your best assumption and say which one you made"]).await;
    check_newer(json!({"yes": true}), &expect!["TOOL_FAILED: the user did not answer (the client answered the question in a form that no answer has: missing field `action`): do not ask the same again; go on with your best assumption and say which one you made"]).await;
}

#[tokio::test]
async fn a_newer_client_is_asked_again_until_it_answers_and_answers_once() {
    let mut client = newer().await;
    let asked = client.request("tools/call", modern(questions())).await;
    let name = asked["result"]["inputRequests"].as_object().unwrap().keys().next().unwrap();
    assert_eq!(name, "answers");
    // The answer to another question is none to this one.
    let mut other = answered(&asked, answers());
    other["inputResponses"] = json!({"decision": {"action": "accept", "content": {}}});
    let again = client.request("tools/call", other).await;
    assert_eq!(again["result"], asked["result"]);
    let answer = answered(&asked, answers());
    let got = client.request("tools/call", answer.clone()).await;
    expect![[r#"none: [["neither"], ["Linux", "macOS"], ["haft"]]"#]].assert_eq(&text(&got));
    let spent = client.request("tools/call", answer).await;
    expect!["no call waits for this requestState any more: it was answered before, or refused because more than 64 calls waited for answers; nothing was executed now"].assert_eq(spent["error"]["message"].as_str().unwrap());
}

#[tokio::test]
async fn questions_go_with_their_call() {
    let mut client = older("2025-11-25", json!({"elicitation": {}})).await;
    client.send("tools/call", questions()).await;
    let question = client.receive().await;
    let cancel = json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2},
    });
    client.send_text(&format!("{cancel}\n")).await;
    let withdrawn = client.receive().await;
    assert_eq!(withdrawn["method"], "notifications/cancelled", "{withdrawn}");
    assert_eq!(withdrawn["params"]["requestId"], question["id"], "{withdrawn}");
}
