//! Servers that fail in every way: a failure affects only its own call, the answer says what
//! happened, and the next call starts a new server.

use std::sync::Arc;
use std::time::Duration;

use expect_test::{Expect, expect};
use haft_lsp::limits::REPEATS_MAX;
use serde_json::{Value, json};

use crate::stage::{Found, Setting, Stage};

/// Maximum number of checks of a condition, and the pause between them.
const LOOKS_MAX: u32 = 1_000;
const LOOK_MS: u64 = 20;
const CODE: &str = "def a(): pass\n";

fn stage(mode: &str, timeout_ms: u64) -> Stage {
    let setting = Setting { timeout_ms, ..Setting::of_fixture(mode) };
    Stage::new(setting, &[("app.py", CODE)])
}

fn ask() -> Value {
    json!({ "operation": "definitions", "path": "app.py", "line": 1, "query": "a" })
}

async fn check(mode: &str, expect: Expect) {
    let stage = stage(mode, 30_000);
    expect.assert_eq(&stage.shown(ask()).await);
    stage.end().await;
}

#[tokio::test]
async fn what_is_no_message_ends_the_server() {
    check("huge", expect!["UNAVAILABLE: the python server failed: it began a message of 9999999999 bytes, but the limit is 33554432; work without it, or ask again in 1 s, which starts another one"]).await;
    check("noise", expect!["UNAVAILABLE: the python server failed: it wrote something else than a message of the protocol; work without it, or ask again in 1 s, which starts another one"]).await;
    check("endless_line", expect!["UNAVAILABLE: the python server failed: it began a message with a line of more than 1024 bytes; work without it, or ask again in 1 s, which starts another one"]).await;
    check("not_json", expect!["UNAVAILABLE: the python server failed: it sent a message that is not JSON; work without it, or ask again in 1 s, which starts another one"]).await;
    check("lies_short", expect!["UNAVAILABLE: the python server failed: it sent a message that is not JSON; work without it, or ask again in 1 s, which starts another one"]).await;
    check("wrong_id", expect!["UNAVAILABLE: the python server failed: it answered request 999, which was never sent; work without it, or ask again in 1 s, which starts another one"]).await;
}

#[tokio::test]
async fn a_death_in_the_middle_is_told_with_the_last_words() {
    let stage = stage("dies", 30_000);
    expect!["UNAVAILABLE: the python server failed: it exited with status 3; it wrote: out of [31mcheese; work without it, or ask again in 1 s, which starts another one"].assert_eq(&stage.shown(ask()).await);
    let again = stage.shown(ask()).await;
    assert!(again.contains("failed just now and is left alone for 1 more seconds"), "{again}");
}

#[tokio::test]
async fn another_one_is_started_after_a_while() {
    let stage = stage("dies", 30_000);
    let mut shown = stage.shown(ask()).await;
    for _ in 0..LOOKS_MAX {
        shown = stage.shown(ask()).await;
        if !shown.contains("left alone") {
            break;
        }
        tokio::time::sleep(Duration::from_millis(LOOK_MS)).await;
    }
    assert!(shown.contains("exited with status 3"), "{shown}");
    assert!(shown.contains("ask again in 2 s"), "{shown}");
}

#[tokio::test]
async fn who_says_nothing_of_a_file_is_not_taken_for_content_with_it() {
    let stage = stage("sends_nothing", 2_000);
    let input = json!({ "operation": "diagnostics", "path": "app.py" });
    expect![[r#"
        {
          "diagnostics": [],
          "server": "fake",
          "note": "fake has sent nothing about the file as it is now: ask again later"
        }"#]]
    .assert_eq(&stage.shown(input).await);
}

#[tokio::test]
async fn a_flood_is_ended() {
    check("floods", expect!["UNAVAILABLE: the python server failed: it sent more than 67108864 bytes without a request; work without it, or ask again in 1 s, which starts another one"]).await;
}

#[tokio::test]
async fn who_does_not_answer_is_waited_for_as_long_as_the_call_may_take() {
    let stage = stage("hangs", 1_500);
    expect!["TOOL_TIMEOUT: fake did not answer textDocument/definition within the call's time: ask again"].assert_eq(&stage.shown(ask()).await);
    expect!["UNAVAILABLE: the python server failed: it left 2 requests in a row without an answer; work without it, or ask again in 1 s, which starts another one"].assert_eq(&stage.shown(ask()).await);
    let stage = self::stage("lies", 1_500);
    expect!["TOOL_TIMEOUT: fake did not answer textDocument/definition within the call's time: ask again"].assert_eq(&stage.shown(ask()).await);
    let stage = self::stage("silent", 1_500);
    expect!["UNAVAILABLE: the python server failed: /usr/bin/python3 could not be started: it did not answer its first request in time (if it is not installed as it should be: npm install -g pyright, or pip install basedpyright); work without it, or ask again in 1 s, which starts another one"].assert_eq(&stage.shown(ask()).await);
}

#[tokio::test]
async fn who_refuses_is_quoted() {
    check("refuses", expect!["TOOL_FAILED: fake refused to answer: no way"]).await;
    check("unwilling", expect!["UNAVAILABLE: the python server failed: /usr/bin/python3 could not be started: it refused to start: no license (if it is not installed as it should be: npm install -g pyright, or pip install basedpyright); work without it, or ask again in 1 s, which starts another one"]).await;
}

#[tokio::test]
async fn a_withdrawn_request_is_made_again_so_often() {
    check(
        &format!("withdraws:{REPEATS_MAX}"),
        expect![[r#"
        {
          "definitions": [],
          "server": "fake"
        }"#]],
    )
    .await;
    check(
        &format!("withdraws:{}", REPEATS_MAX + 1),
        expect!["TOOL_FAILED: fake refused to answer: content modified"],
    )
    .await;
}

#[tokio::test]
async fn who_is_still_indexing_says_how_far_it_is() {
    let stage = stage("indexes", 2_000);
    expect!["UNAVAILABLE: rust-analyzer is still indexing: Indexing, 42 %; ask again"]
        .assert_eq(&stage.shown(ask()).await);
}

#[tokio::test]
async fn what_is_not_installed_is_said_with_how_to_install_it() {
    let mut setting = Setting::of_fixture("works");
    setting.languages = haft_lsp::builtin_languages();
    setting.programs = Arc::new(Found(Vec::new()));
    let stage = Stage::new(setting, &[("app.py", CODE)]);
    expect!["UNAVAILABLE: no language server for python is here: pyright-langserver or basedpyright-langserver or pylsp is not on PATH; install it (npm install -g pyright, or pip install basedpyright), name another one with command under [lsp.python] in haft.toml, or work with grep"].assert_eq(&stage.shown(ask()).await);
}

#[tokio::test]
async fn where_one_server_does_not_start_the_next_one_is_asked() {
    let mut setting = Setting::of_fixture("works");
    for language in &mut setting.languages {
        language.commands.insert(0, vec!["/bin/false".to_owned()]);
    }
    let stage = Stage::new(setting, &[("app.py", "x = 1\n")]);
    let shown = stage.shown(json!({ "operation": "symbols", "path": "app.py" })).await;
    assert!(shown.contains("\"server\": \"fake\""), "{shown}");
}

#[tokio::test]
async fn where_no_server_starts_the_first_one_is_told_of() {
    let mut setting = Setting::of_fixture("works");
    for language in &mut setting.languages {
        language.commands = vec![vec!["/bin/false".to_owned()], vec!["/bin/true".to_owned()]];
    }
    let stage = Stage::new(setting, &[("app.py", "x = 1\n")]);
    let shown = stage.shown(json!({ "operation": "symbols", "path": "app.py" })).await;
    assert!(shown.contains("/bin/false could not be started"), "{shown}");
}
