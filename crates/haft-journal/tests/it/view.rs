//! The view that readers of Smithers databases know: its columns, what each status becomes there, and where it cuts.

use expect_test::expect;
use haft_contract::Effect;
use haft_journal::limits::VIEW_OUTPUT_BYTES_MAX;
use haft_journal::{CallStatus, Journal, Outcome, SqliteJournal};
use rusqlite::Connection;
use serde_json::{Map, Value, json};

use crate::fixture::{call, open, outcome, output, record, scope};

fn view_rows(db: &Connection) -> Vec<Value> {
    let mut statement = db.prepare("SELECT * FROM _smithers_tool_calls ORDER BY seq").unwrap();
    let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let rows = statement.query_map([], |row| {
        let mut fields = Map::new();
        for (index, name) in names.iter().enumerate() {
            let field = match row.get(index)? {
                rusqlite::types::Value::Null => Value::Null,
                rusqlite::types::Value::Integer(number) => json!(number),
                rusqlite::types::Value::Text(text) => json!(text),
                other => panic!("column {name} holds {other:?}"),
            };
            fields.insert(name.clone(), field);
        }
        Ok(Value::Object(fields))
    });
    rows.unwrap().map(Result::unwrap).collect()
}

#[tokio::test]
async fn every_status_has_its_row() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    let journal = SqliteJournal::open(&path).unwrap();
    open(&journal, "r").await.unwrap();
    record(&journal, call(&scope("r"), 1, Effect::Once), CallStatus::Succeeded).await.unwrap();
    record(&journal, call(&scope("r"), 2, Effect::Read), CallStatus::Failed).await.unwrap();
    let refused = call(&scope("r"), 3, Effect::Once);
    journal.refuse(refused, outcome(CallStatus::Refused)).await.unwrap();
    record(&journal, call(&scope("r"), 4, Effect::Idempotent), CallStatus::Unknown).await.unwrap();
    drop(journal.intend(call(&scope("r"), 5, Effect::Once)).await.unwrap());
    // The owner of this one is gone.
    let lease = open(&journal, "s").await.unwrap();
    drop(journal.intend(call(&scope("s"), 6, Effect::Once)).await.unwrap());
    journal.close_run(lease).await.unwrap();

    let rows = view_rows(&Connection::open(&path).unwrap());
    let text: String = rows.iter().map(|row| format!("{row}\n")).collect();
    expect![[r#"
        {"run_id":"r","node_id":"main","iteration":0,"attempt":1,"seq":1,"tool_name":"write","input_json":"{\"path\":\"file-1\"}","output_json":"\"ok\"","started_at_ms":2010,"finished_at_ms":3000,"status":"success","error_json":null,"runId":"r","nodeId":"main","toolName":"write","inputJson":"{\"path\":\"file-1\"}","outputJson":"\"ok\"","startedAtMs":2010,"finishedAtMs":3000,"errorJson":null}
        {"run_id":"r","node_id":"main","iteration":0,"attempt":1,"seq":2,"tool_name":"read","input_json":"{\"path\":\"file-2\"}","output_json":null,"started_at_ms":2020,"finished_at_ms":3000,"status":"error","error_json":"{\"code\":\"TOOL_PATH_INVALID\",\"message\":\"there is no file \\\"a\\\"\"}","runId":"r","nodeId":"main","toolName":"read","inputJson":"{\"path\":\"file-2\"}","outputJson":null,"startedAtMs":2020,"finishedAtMs":3000,"errorJson":"{\"code\":\"TOOL_PATH_INVALID\",\"message\":\"there is no file \\\"a\\\"\"}"}
        {"run_id":"r","node_id":"main","iteration":0,"attempt":1,"seq":3,"tool_name":"write","input_json":"{\"path\":\"file-3\"}","output_json":null,"started_at_ms":2030,"finished_at_ms":3000,"status":"error","error_json":"{\"code\":\"PERMISSION_DENIED\",\"message\":\"rule 3 denies it\"}","runId":"r","nodeId":"main","toolName":"write","inputJson":"{\"path\":\"file-3\"}","outputJson":null,"startedAtMs":2030,"finishedAtMs":3000,"errorJson":"{\"code\":\"PERMISSION_DENIED\",\"message\":\"rule 3 denies it\"}"}
        {"run_id":"r","node_id":"main","iteration":0,"attempt":1,"seq":4,"tool_name":"todo","input_json":"{\"path\":\"file-4\"}","output_json":null,"started_at_ms":2040,"finished_at_ms":3000,"status":"error","error_json":"{\"code\":\"IN_DOUBT\",\"message\":\"it may have happened\"}","runId":"r","nodeId":"main","toolName":"todo","inputJson":"{\"path\":\"file-4\"}","outputJson":null,"startedAtMs":2040,"finishedAtMs":3000,"errorJson":"{\"code\":\"IN_DOUBT\",\"message\":\"it may have happened\"}"}
        {"run_id":"s","node_id":"main","iteration":0,"attempt":1,"seq":6,"tool_name":"write","input_json":"{\"path\":\"file-6\"}","output_json":null,"started_at_ms":2060,"finished_at_ms":null,"status":"error","error_json":"{\"code\":\"IN_DOUBT\",\"message\":\"haft ended before it was told how the call ended\"}","runId":"s","nodeId":"main","toolName":"write","inputJson":"{\"path\":\"file-6\"}","outputJson":null,"startedAtMs":2060,"finishedAtMs":null,"errorJson":"{\"code\":\"IN_DOUBT\",\"message\":\"haft ended before it was told how the call ended\"}"}
    "#]].assert_eq(&text);
}

/// Records an output of JSON text `text` and returns what the view makes of it.
async fn cut(text: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    let journal = SqliteJournal::open(&path).unwrap();
    open(&journal, "r").await.unwrap();
    let intent = journal.intend(call(&scope("r"), 1, Effect::Read)).await.unwrap();
    let ended = Outcome { envelope: output(json!(text)), ..outcome(CallStatus::Succeeded) };
    journal.settle(intent, ended).await.unwrap();
    let rows = view_rows(&Connection::open(&path).unwrap());
    rows[0]["output_json"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn an_output_is_cut_before_the_character_that_crosses_the_bound() {
    // The quotes of the JSON string count.
    let whole = "x".repeat(VIEW_OUTPUT_BYTES_MAX - 2);
    assert_eq!(cut(&whole).await, format!("\"{whole}\""));
    assert_eq!(cut(&format!("{whole}y")).await, format!("\"{whole}y"));
    for character in ["y", "ä", "€", "\u{1F600}"] {
        for left in 0..=character.len() {
            let start = "x".repeat(VIEW_OUTPUT_BYTES_MAX - 1 - left);
            let text = cut(&format!("{start}{character}zzzz")).await;
            let mut expected = format!("\"{start}{character}");
            if left < character.len() {
                expected.truncate(1 + start.len());
            }
            assert!(text == expected, "{character} with {left} bytes left: {} bytes", text.len());
        }
    }
}
