//! Providers that fail: what is said while a model is asked again, and what in the end.

use expect_test::{Expect, expect};
use haft_scripted_model::{ModelScript, ScriptedReply};
use serde_json::{Value, json};

use super::Stage;
use crate::world::World;

/// Returns a reply that fails so.
fn failing(status: u16, message: &str, headers: &[(&str, &str)]) -> ScriptedReply {
    let failure = json!({"status": status, "message": message, "headers": headers});
    let script = json!({"replies": [{"failure": failure}]}).to_string();
    ModelScript::parse(&script).unwrap().replies.remove(0)
}

#[test]
fn a_model_that_is_asked_again_is_told_of() {
    let replies = || [failing(503, "come back", &[]), ScriptedReply::new().text("Here I am.")];
    let stage = Stage::new(World::new(), replies());
    expect![[r#"
        Here I am.
        --- stderr
        session ses_1 · build · openai/test
        openai cannot answer at the moment (HTTP 503: come back): trying again in 0 ms (attempt 2 of 4)
        --- status 0
    "#]].assert_eq(&stage.shown(&["agent", "Hello"]));
    let stage = Stage::new(World::new(), replies());
    let output = stage.haft(&["agent", "--json", "Hello"]).output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    let events = stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let types: Vec<String> =
        events.map(|event| event["type"].as_str().unwrap().to_owned()).collect();
    let expected = ["session", "turn_started", "step_started", "retry", "text"];
    assert_eq!(types[..expected.len()], expected, "{stdout}");
}

fn check(reply: ScriptedReply, expect: &Expect) {
    let stage = Stage::new(World::new(), [reply]);
    expect.assert_eq(&stage.shown(&["agent", "Hello"]));
}

#[test]
fn what_a_provider_refuses_is_said_with_what_to_do() {
    check(
        failing(401, "Incorrect API key", &[]),
        &expect![[r#"
        --- stderr
        session ses_1 · build · openai/test
        error: openai did not accept the key: check that TEST_KEY is set and valid (HTTP 401: Incorrect API key)

        hint: haft agent --resume ses_1
        --- status 2
    "#]],
    );
    check(
        failing(403, "No access to this model", &[]),
        &expect![[r#"
        --- stderr
        session ses_1 · build · openai/test
        error: openai does not permit this with the key in TEST_KEY: check what that key may do, and whether it may use this model (HTTP 403: No access to this model)

        hint: haft agent --resume ses_1
        --- status 2
    "#]],
    );
    check(
        failing(404, "The model does not exist", &[]),
        &expect![[r#"
        --- stderr
        session ses_1 · build · openai/test
        error: openai knows no model test: check its name and base_url (HTTP 404: The model does not exist)

        hint: haft agent --resume ses_1
        --- status 1
    "#]],
    );
    check(
        failing(429, "Rate limit reached", &[("retry-after", "3600")]),
        &expect![[r#"
        --- stderr
        session ses_1 · build · openai/test
        error: openai limits the request rate, and asks for a pause of 3600 s: wait and try again, or ask less (HTTP 429: Rate limit reached)

        hint: haft agent --resume ses_1
        --- status 1
    "#]],
    );
    check(
        failing(402, "Insufficient credits", &[]),
        &expect![[r#"
        --- stderr
        session ses_1 · build · openai/test
        error: the quota or credit of the key for openai is used up: raise it there, or take another key or model (HTTP 402: Insufficient credits)

        hint: haft agent --resume ses_1
        --- status 1
    "#]],
    );
}
