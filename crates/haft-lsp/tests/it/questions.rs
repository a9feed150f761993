//! The questions of callers, the messages to a server, and the formatted answers.

use expect_test::{Expect, expect};
use haft_lsp::limits::{
    DOCUMENT_BYTES_MAX, DOCUMENTS_MAX, QUERY_CHARS_MAX, QUOTED_FILES_MAX, SERVERS_MAX,
};
use haft_policy::{Rule, RuleAction};
use serde_json::{Value, json};

use crate::stage::{Setting, Stage};

const CODE: &str = "import other\ndef ärger(x):\n    return 😀(ärger, x)\n";

fn stage(mode: &str) -> Stage {
    Stage::new(Setting::of_fixture(mode), &[("app.py", CODE), ("other.py", "def other(): pass\n")])
}

async fn check(mode: &str, input: Value, expect: Expect) {
    expect.assert_eq(&stage(mode).shown(input).await);
}

fn at(operation: &str, line: u32, query: &str) -> Value {
    json!({ "operation": operation, "path": "app.py", "line": line, "query": query })
}

#[tokio::test]
async fn places_are_shown_with_their_lines_and_others_are_only_named() {
    check(
        "works",
        at("definitions", 3, "ärger"),
        expect![[r#"
        {
          "definitions": [
            "/etc/hostname:1:1: (not in the workspace)",
            "app.py:2:5: def ärger(x):",
            "app.py:10000:1: (there is no such line)",
            "/usr/lib/elsewhere.py:7:3: (not in the workspace)"
          ],
          "server": "fake"
        }"#]],
    )
    .await;
}

#[tokio::test]
async fn an_answer_has_so_many_entries_and_counts_the_rest() {
    let stage = stage("works");
    let envelope = stage.call(at("references", 2, "ärger")).await;
    let haft_contract::Envelope::Output { data, metadata } = envelope else { panic!() };
    assert_eq!(data["references"].as_array().unwrap().len(), 200);
    assert_eq!(data["more"], 100);
    assert!(metadata.enforced.is_some(), "the server was confined, and the envelope says so");
}

#[tokio::test]
async fn symbols_are_those_of_a_file_or_of_the_project() {
    check(
        "works",
        json!({ "operation": "symbols", "path": "app.py" }),
        expect![[r#"
        {
          "symbols": [
            "app.py:1:5: class outer",
            "app.py:1:5:   method inner"
          ],
          "server": "fake"
        }"#]],
    )
    .await;
    let input = json!({ "operation": "symbols", "path": "app.py", "query": "ot" });
    check(
        "works",
        input,
        expect![[r#"
        {
          "symbols": [
            "other.py:1:5: function ot_found (in m)"
          ],
          "server": "fake"
        }"#]],
    )
    .await;
}

#[tokio::test]
async fn columns_are_characters_whatever_the_server_counts() {
    let check = async |mode: &str, input: Value, expect: [u64; 2]| {
        let stage = stage(mode);
        let envelope = stage.call(input).await;
        let haft_contract::Envelope::Output { data, .. } = &envelope else {
            panic!("{}", envelope.text())
        };
        let found: Value = serde_json::from_str(data["hover"].as_str().unwrap()).unwrap();
        assert_eq!(found["position"], json!(expect), "{mode}");
    };
    // The name in line 3 is preceded by eleven characters, an emoji and a bracket.
    check("works", at("hover", 3, "ärger"), [2, 16]).await;
    check("utf16", at("hover", 3, "ärger"), [2, 14]).await;
    let input = json!({ "operation": "hover", "path": "app.py", "line": 3, "column": 14 });
    check("utf16", input, [2, 14]).await;
}

#[tokio::test]
async fn a_server_is_told_of_every_change_and_reads_files_as_they_are() {
    let stage = stage("works");
    let first = stage.record("app.py").await;
    assert_eq!(first["opened"], json!([["app.py", "python"]]));
    assert_eq!(first["events"], json!([]));
    stage.write("app.py", "x = 1\n");
    stage.write("new.py", "y = 1\n");
    stage.write("notes.txt", "of no interest");
    stage.write(".hidden/a.py", "");
    let second = stage.record("app.py").await;
    assert_eq!(second["opened"], json!([["app.py", "python"]]));
    assert_eq!(second["changed"], json!([["app.py", 2]]));
    assert_eq!(second["events"], json!([["app.py", 2], ["new.py", 1]]));
    assert_eq!(second["born"], first["born"], "it is the same server");
    stage.remove("other.py");
    stage.write("app.py", "x = 2\n");
    let third = stage.record("new.py").await;
    assert_eq!(
        third["closed"],
        json!(["app.py"]),
        "what changed and is not asked about is read again"
    );
    assert_eq!(third["opened"], json!([["app.py", "python"], ["new.py", "python"]]));
    let events = json!([["app.py", 2], ["new.py", 1], ["app.py", 2], ["other.py", 3]]);
    assert_eq!(third["events"], events);
}

#[tokio::test]
async fn a_server_changes_nothing_and_reaches_nobody() {
    let stage = stage("works");
    // Its request came before its first answer, so it had our answer before the second question.
    stage.record("app.py").await;
    let record = stage.record("app.py").await;
    assert_eq!(record["writes_root"], "OSError", "the root is read-only");
    assert_eq!(record["writes_temp"], "done");
    assert_eq!(record["connects"], "OSError");
    assert_eq!(record["answers"][0], json!([{ "answer": 42 }]));
    assert_eq!(record["answers"][1]["applied"], json!(false));
    assert_eq!(record["answers"][2]["code"], json!(-32601));
    stage.end().await;
}

#[tokio::test]
async fn diagnostics_are_waited_for_and_are_those_of_the_file_as_it_is() {
    let stage = stage("works");
    let ask = || json!({ "operation": "diagnostics", "path": "app.py" });
    let lines = async || {
        let envelope = stage.call(ask()).await;
        let haft_contract::Envelope::Output { data, .. } = &envelope else {
            panic!("{}", envelope.text())
        };
        assert_eq!(data.get("note"), None);
        data["diagnostics"].clone()
    };
    assert_eq!(lines().await, json!([]));
    stage.write("app.py", "fine\nbad ä\nbad\n");
    let two = json!([
        "app.py:2:1: error[E1]: line 2 is bad (fake)",
        "app.py:3:1: error[E1]: line 3 is bad (fake)"
    ]);
    assert_eq!(lines().await, two);
    assert_eq!(lines().await, two, "nothing changed, so nothing is waited for");
    stage.write("app.py", "fine\n");
    assert_eq!(lines().await, json!([]));
}

#[tokio::test]
async fn one_server_serves_a_project_however_deep_its_files_are() {
    let stage = stage("works");
    stage.write("project/pyproject.toml", "");
    stage.write("project/a.py", "");
    stage.write("project/deep/setup.py", "");
    stage.write("project/deep/b.py", "");
    let outer = stage.record("app.py").await;
    let inner = stage.record("project/a.py").await;
    let deep = stage.record("project/deep/b.py").await;
    assert_eq!(inner["born"], deep["born"]);
    assert_eq!(deep["opened"], json!([["a.py", "python"], ["b.py", "python"]]));
    assert_eq!(outer["opened"], json!([["app.py", "python"]]));
}

#[tokio::test]
async fn there_are_so_many_servers_and_the_longest_idle_one_makes_room() {
    let stage = stage("works");
    let projects = ["a", "b", "c", "d", "e"];
    assert_eq!(projects.len(), SERVERS_MAX + 1);
    let mut born = Vec::new();
    for project in projects {
        stage.write(&format!("{project}/setup.py"), "");
        born.push(stage.record(&format!("{project}/setup.py")).await["born"].clone());
    }
    assert_eq!(stage.record("e/setup.py").await["born"], born[4]);
    assert_eq!(stage.record("b/setup.py").await["born"], born[1]);
    assert_ne!(stage.record("a/setup.py").await["born"], born[0], "it made room for the fifth");
    assert_eq!(stage.record("b/setup.py").await["born"], born[1], "it was asked later than others");
}

#[tokio::test]
async fn calls_of_one_project_wait_for_each_other() {
    let stage = stage("works");
    let ask = || stage.call(at("definitions", 2, "ärger"));
    let (one, two, three) = tokio::join!(ask(), ask(), ask());
    assert!([one, two, three].iter().all(|envelope| envelope.code().is_none()));
    assert_eq!(stage.record("app.py").await["opened"], json!([["app.py", "python"]]));
}

#[tokio::test]
async fn inputs_that_cannot_be_are_refused_with_what_would_be_right() {
    check(
        "works",
        at("hover", 9, "x"),
        expect!["INVALID_INPUT: line: app.py has 3 lines, and there is no line 9"],
    )
    .await;
    check(
        "works",
        at("hover", 2, "absent"),
        expect![[
            r#"INVALID_INPUT: query: "absent" is not a name in line 2 of app.py: "def ärger(x):""#
        ]],
    )
    .await;
    let input = json!({ "operation": "hover", "path": "app.py", "line": 1 });
    check("works", input, expect!["INVALID_INPUT: expected query, the name in that line, or column, its first character from 1"]).await;
    let input = json!({ "operation": "hover", "path": "app.py", "line": 1, "column": 99 });
    check(
        "works",
        input,
        expect!["INVALID_INPUT: column: line 1 of app.py has 12 characters, found 99"],
    )
    .await;
    check(
        "works",
        json!({ "operation": "hover", "path": "app.py" }),
        expect!["INVALID_INPUT: expected line, from 1: the line that contains the name"],
    )
    .await;
    check("works", json!({ "operation": "symbols", "path": "a.cobol" }), expect![[r#"INVALID_INPUT: path: there is no language server for "a.cobol": expected a file that ends in .py, .pyi; others can be named under [lsp.NAME] in haft.toml"#]]).await;
    check(
        "works",
        json!({ "operation": "symbols", "path": "none.py" }),
        expect![[
            r#"TOOL_PATH_INVALID: "none.py" cannot be used: it does not exist: use glob to find it"#
        ]],
    )
    .await;
    check(
        "works",
        json!({ "operation": "symbols", "path": "../x.py" }),
        expect![[
            r#"TOOL_PATH_ESCAPE: path "../x.py" is outside the workspace: use a path within …"#
        ]],
    )
    .await;
    check(
        "offers_nothing",
        at("references", 2, "x"),
        expect!["UNAVAILABLE: fake does not answer textDocument/references: work with grep"],
    )
    .await;
}

#[tokio::test]
async fn a_rule_on_the_tool_or_on_a_file_decides() {
    let mut setting = Setting::of_fixture("works");
    setting.rules = vec![Rule::new("lsp", "*", RuleAction::Deny)];
    let stage = Stage::new(setting, &[("app.py", CODE)]);
    let shown = stage.shown(json!({ "operation": "symbols", "path": "app.py" })).await;
    assert!(shown.starts_with("PERMISSION_DENIED"), "{shown}");
}

#[tokio::test]
async fn a_server_is_shown_files_up_to_the_bound() {
    let most = usize::try_from(DOCUMENT_BYTES_MAX).unwrap();
    let shown = async |bytes: usize| {
        let stage = Stage::new(Setting::of_fixture("works"), &[("app.py", &"#".repeat(bytes))]);
        stage.shown(json!({ "operation": "symbols", "path": "app.py" })).await
    };
    let within = shown(most).await;
    assert!(within.contains("class outer"), "{within}");
    expect![[r#"TOOL_FILE_TOO_LARGE: "app.py" has more than 4194304 bytes, which is more than a language server is shown: use grep"#]].assert_eq(&shown(most + 1).await);
}

#[tokio::test]
async fn a_query_is_no_longer_than_it_may_be() {
    let shown = async |chars: usize| {
        let input = json!({ "operation": "symbols", "path": "app.py", "query": "é".repeat(chars) });
        stage("works").shown(input).await
    };
    let within = shown(QUERY_CHARS_MAX).await;
    assert!(within.contains("function é"), "{within}");
    expect!["INVALID_INPUT: query has more than 200 characters"]
        .assert_eq(&shown(QUERY_CHARS_MAX + 1).await);
}

#[tokio::test]
async fn a_server_is_shown_so_many_files_at_one_time() {
    let stage = stage("works");
    let name = |number: usize| format!("f{number:02}.py");
    let mut closed = json!(null);
    for number in 0..=DOCUMENTS_MAX {
        assert_ne!(closed, json!(["f00.py"]), "{number} files are not too many");
        stage.write(&name(number), "x = 1\n");
        closed = stage.record(&name(number)).await["closed"].clone();
    }
    assert_eq!(closed, json!(["f00.py"]), "it was shown longest ago");
}

#[tokio::test]
async fn so_many_files_are_quoted_and_the_others_named() {
    let most = QUOTED_FILES_MAX;
    let stage = stage(&format!("files:{}", most + 1));
    for number in 0..=most {
        stage.write(&format!("f{number:03}.py"), "x = 1\nä = 2\n");
    }
    let envelope = stage.call(at("references", 2, "ärger")).await;
    let haft_contract::Envelope::Output { data, .. } = &envelope else {
        panic!("{}", envelope.text())
    };
    let lines = data["references"].as_array().unwrap();
    assert_eq!(lines.len(), most + 1);
    assert!(lines[..most].iter().all(|line| line.as_str().unwrap().ends_with(".py:2:2: ä = 2")));
    assert_eq!(lines[most], format!("f{most:03}.py:2:3: (not quoted: read it)"));
}
