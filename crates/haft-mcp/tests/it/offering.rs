//! Resources, prompts and completions of an embedding program, up to the bounds: prompts that ask, completions, and
//! notifications that a resource changed.

use std::sync::Arc;

use expect_test::expect;
use haft_contract::{ClientRequest, ClientRequestMethod, ContentPart, ResourceBody};
use haft_mcp::limits::{CACHE_MS, COMPLETIONS_MAX, PROMPT_ROUNDS_MAX, SUBSCRIPTIONS_MAX};
use haft_mcp::{
    McpCompletion, McpPrompt, McpPromptResult, McpResource, McpResourceContents,
    McpResourceProvider,
};
use serde_json::{Map, Value, json};
use tokio::sync::broadcast;

use crate::client::Client;

/// A prompt that asks as often as its name says before it is filled in, a value for each character that was typed times
/// a thousand, and changes that the test tells.
struct Stall {
    changes: broadcast::Sender<String>,
}

impl McpResourceProvider for Stall {
    fn resources(&self) -> Vec<McpResource> {
        Vec::new()
    }

    fn templates(&self) -> Vec<McpResource> {
        Vec::new()
    }

    fn read(&self, uri: &str) -> Option<McpResourceContents> {
        let body = ResourceBody::Text(uri.to_owned());
        Some(McpResourceContents { mime_type: "text/plain".to_owned(), body })
    }

    fn changes(&self) -> broadcast::Receiver<String> {
        self.changes.subscribe()
    }

    fn prompts(&self) -> Vec<McpPrompt> {
        let prompt = |rounds: usize| McpPrompt {
            name: rounds.to_string(),
            description: format!("asks {rounds} times"),
            arguments: Vec::new(),
        };
        vec![prompt(PROMPT_ROUNDS_MAX), prompt(PROMPT_ROUNDS_MAX + 1)]
    }

    fn prompt(
        &self,
        name: &str,
        _: &Map<String, Value>,
        answers: &Map<String, Value>,
    ) -> Option<McpPromptResult> {
        let rounds: usize = name.parse().ok()?;
        if answers.len() == rounds {
            return Some(McpPromptResult::Messages(vec![ContentPart::Text {
                text: "filled in".to_owned(),
            }]));
        }
        let params = json!({
            "message": "which?",
            "requestedSchema": {"type": "object", "properties": {"which": {"type": "string"}}},
        });
        let name = format!("question {}", answers.len());
        Some(McpPromptResult::Requests(vec![ClientRequest {
            name,
            method: ClientRequestMethod::Form,
            params,
        }]))
    }

    fn complete(&self, completed: McpCompletion<'_>) -> Vec<String> {
        let (McpCompletion::Prompt { typed, .. } | McpCompletion::Template { typed, .. }) =
            completed;
        let count: usize = typed.parse().unwrap();
        (0..count).map(|number| number.to_string()).collect()
    }
}

/// Returns a client of such a server that has shaken hands, and what tells of changes.
async fn connect() -> (Client, broadcast::Sender<String>) {
    let changes = broadcast::Sender::new(16);
    let stall = Stall { changes: changes.clone() };
    let mut client = Client::offered([], Vec::new(), Some(Arc::new(stall)));
    client.initialize("2025-11-25", json!({"elicitation": {}})).await;
    (client, changes)
}

/// Returns what requests of the era without handshakes say of their sender.
fn newer_era() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "0"},
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

#[tokio::test]
async fn a_prompt_may_ask_as_often_as_the_bound_says() {
    for rounds in [PROMPT_ROUNDS_MAX, PROMPT_ROUNDS_MAX + 1] {
        let (mut client, _changes) = connect().await;
        client.send("prompts/get", json!({"name": rounds.to_string()})).await;
        for _ in 0..PROMPT_ROUNDS_MAX {
            let asked = client.receive().await;
            assert_eq!(asked["method"], "elicitation/create", "{asked}");
            let accepted = json!({"action": "accept", "content": {"which": "this"}});
            let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": accepted});
            client.send_text(&format!("{answer}\n")).await;
        }
        let answer = client.receive().await;
        if rounds == PROMPT_ROUNDS_MAX {
            assert_eq!(answer["result"]["messages"][0]["content"]["text"], "filled in", "{answer}");
        } else {
            expect![[r#"{"code":-32603,"message":"the prompt asked more than 8 times"}"#]]
                .assert_eq(&answer["error"].to_string());
        }
    }
}

#[tokio::test]
async fn completions_are_bounded_and_say_so() {
    let (mut client, _changes) = connect().await;
    for (count, has_more) in [(COMPLETIONS_MAX, false), (COMPLETIONS_MAX + 1, true)] {
        let params = json!({
            "ref": {"type": "ref/prompt", "name": "any"},
            "argument": {"name": "which", "value": count.to_string()},
        });
        let answer = client.request("completion/complete", params).await;
        let completion = &answer["result"]["completion"];
        assert_eq!(completion["values"].as_array().unwrap().len(), COMPLETIONS_MAX, "{answer}");
        assert_eq!(completion["total"], count, "{answer}");
        assert_eq!(completion["hasMore"].as_bool().unwrap_or_default(), has_more, "{answer}");
    }
}

#[tokio::test]
async fn who_has_subscribed_hears_of_changes_until_it_has_enough() {
    let (mut client, changes) = connect().await;
    let one = json!({"uri": "test://one"});
    assert_eq!(client.request("resources/subscribe", one.clone()).await["result"], json!({}));
    changes.send("test://other".to_owned()).unwrap();
    changes.send("test://one".to_owned()).unwrap();
    expect![[r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"test://one"}}"#]]
        .assert_eq(&client.receive().await.to_string());
    assert_eq!(client.request("resources/unsubscribe", one).await["result"], json!({}));
    let other = json!({"uri": "test://other"});
    assert_eq!(client.request("resources/subscribe", other).await["result"], json!({}));
    changes.send("test://one".to_owned()).unwrap();
    changes.send("test://other".to_owned()).unwrap();
    assert_eq!(client.receive().await["params"]["uri"], "test://other");
}

#[tokio::test]
async fn subscriptions_are_bounded() {
    let (mut client, _changes) = connect().await;
    let number = |number: usize| json!({"uri": format!("test://{number}")});
    for place in 0..SUBSCRIPTIONS_MAX {
        let answer = client.request("resources/subscribe", number(place)).await;
        assert_eq!(answer["result"], json!({}), "{answer}");
    }
    let refused = client.request("resources/subscribe", number(SUBSCRIPTIONS_MAX)).await;
    expect![[
        r#"{"code":-32602,"message":"1000 resources are subscribed to, which is the limit"}"#
    ]]
    .assert_eq(&refused["error"].to_string());
    // One of them is no further one, and one less makes room.
    assert_eq!(client.request("resources/subscribe", number(0)).await["result"], json!({}));
    assert_eq!(client.request("resources/unsubscribe", number(0)).await["result"], json!({}));
    let answer = client.request("resources/subscribe", number(SUBSCRIPTIONS_MAX)).await;
    assert_eq!(answer["result"], json!({}), "{answer}");
}

#[tokio::test]
async fn who_listens_in_the_newer_era_is_told_what_it_will_hear() {
    let changes = broadcast::Sender::new(16);
    let stall = Stall { changes: changes.clone() };
    let mut client = Client::offered([], Vec::new(), Some(Arc::new(stall)));
    let uris: Vec<String> = (0..=SUBSCRIPTIONS_MAX).map(|one| format!("test://{one}")).collect();
    let meta = newer_era();
    let wanted = json!({"resourceSubscriptions": uris});
    client.send("subscriptions/listen", json!({"notifications": wanted, "_meta": meta})).await;
    let told = client.receive().await;
    assert_eq!(told["method"], "notifications/subscriptions/acknowledged", "{told}");
    let accepted = told["params"]["notifications"]["resourceSubscriptions"].as_array().unwrap();
    assert_eq!(accepted.len(), SUBSCRIPTIONS_MAX);
    changes.send(format!("test://{SUBSCRIPTIONS_MAX}")).unwrap();
    changes.send("test://7".to_owned()).unwrap();
    let update = client.receive().await;
    assert_eq!(update["method"], "notifications/resources/updated", "{update}");
    assert_eq!(update["params"]["uri"], "test://7", "{update}");
}

#[tokio::test]
async fn in_the_newer_era_clients_hear_how_long_they_may_keep_what_does_not_change() {
    let stall = Stall { changes: broadcast::Sender::new(16) };
    let mut client = Client::offered([], Vec::new(), Some(Arc::new(stall)));
    for (method, kept_ms) in [
        ("server/discover", CACHE_MS),
        ("tools/list", CACHE_MS),
        ("prompts/list", CACHE_MS),
        ("resources/templates/list", CACHE_MS),
        // Outputs come with every call.
        ("resources/list", 0),
    ] {
        let answer = client.request(method, json!({"_meta": newer_era()})).await;
        assert_eq!(answer["result"]["ttlMs"], kept_ms, "{method}: {answer}");
    }
}
