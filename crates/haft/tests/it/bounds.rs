//! Tests inputs and names at their bounds: too long, too deep or misnamed.

use haft::{ConnectionOptions, WorkspaceRoots};
use haft_contract::limits::{PATH_BYTES_MAX, PATH_NAMES_MAX, TOOL_ID_CHARS_MAX};
use haft_contract::{Access, Effect, ErrorCode, Tool, ToolError};
use serde_json::json;

use crate::stage::{Setting, Stage, Text};

const ERROR_BYTES_MAX: usize = 64 * 1024;
const RECORDED_BYTES_MAX: usize = 256 * 1024;

fn tools() -> Vec<Tool> {
    vec![
        Tool::new("fails").execute(|input: Text| async move {
            Err::<(), _>(ToolError::new(ErrorCode::ToolFailed, input.text))
        }),
        Tool::new("looks")
            .accesses(|input: &Text| vec![Access::read(&input.text)])
            .requires(haft_contract::RequirementSet {
                fs: haft_contract::FsRequirement { read: vec!["**".to_owned()], write: Vec::new() },
                ..haft_contract::RequirementSet::default()
            })
            .execute(|_: Text| async { Ok::<_, ToolError>("looked") }),
    ]
}

async fn stage() -> Stage {
    Stage::new(Setting { tools: tools(), ..Setting::default() }).await
}

#[tokio::test]
async fn messages_are_cut_beyond_their_bound() {
    let stage = stage().await;
    let bound = ERROR_BYTES_MAX;
    let exact = "x".repeat(bound);
    assert_eq!(stage.call("fails", json!({"text": exact})).await.text(), exact);
    let cut = stage.call("fails", json!({"text": format!("{exact}yy")})).await.text();
    assert_eq!(cut, format!("{exact}… [2 more bytes of this message were cut]"));
}

#[tokio::test]
async fn inputs_beyond_their_bound_are_recorded_as_digest() {
    let stage = stage().await;
    let around = r#"{"text":""}"#.len();
    let bound = RECORDED_BYTES_MAX;
    for (bytes, is_whole) in [(bound - around, true), (bound - around + 1, false)] {
        stage.call("fails", json!({"text": "x".repeat(bytes)})).await;
        let recorded = stage.rows().await.pop().unwrap().input;
        assert_eq!(recorded.contains("xxx"), is_whole);
        assert_eq!(recorded.contains("sha256"), !is_whole);
    }
}

#[tokio::test]
async fn paths_are_followed_to_their_bounds() {
    let stage = stage().await;
    let check = async |path: String, expect: &str| {
        let text = stage.call("looks", json!({"text": path})).await.text();
        assert!(text.contains(expect), "{text}");
    };
    check(vec!["."; PATH_NAMES_MAX].join("/"), "looked").await;
    check(vec!["."; PATH_NAMES_MAX + 1].join("/"), "more than 256 names").await;
    check("x".repeat(PATH_BYTES_MAX), "too long").await;
    check("x".repeat(PATH_BYTES_MAX + 1), "4097 bytes long: at most 4096").await;
}

#[tokio::test]
async fn a_name_longer_than_any_tools_is_cut_before_anything_is_done_with_it() {
    let stage = stage().await;
    let text = stage.call(&"x".repeat(5_000_000), json!({})).await.text();
    assert!(text.len() < 200, "{} bytes", text.len());
    let recorded = stage.rows().await.pop().unwrap().tool;
    assert_eq!(recorded, format!("{}…", "x".repeat(TOOL_ID_CHARS_MAX)));
}

#[tokio::test]
async fn a_session_is_named_so_that_its_directory_is_its_own() {
    let stage = stage().await;
    for name in ["", ".", "..", ".hidden", "a/b", "../x", "/tmp"] {
        let session = stage.runtime.open_connection(ConnectionOptions::headless(name, "test"));
        assert!(session.is_err(), "{name:?} should be refused");
    }
    assert!(stage.runtime.open_connection(ConnectionOptions::headless("s-2.a_b", "test")).is_ok());
}

#[test]
fn roots_lie_apart() {
    let directory = tempfile::tempdir().unwrap();
    let inner = directory.path().join("inner");
    std::fs::create_dir(&inner).unwrap();
    for (first, other) in
        [(directory.path(), inner.as_path()), (&inner, directory.path()), (&inner, &inner)]
    {
        let message =
            WorkspaceRoots::open(first, &[other.to_path_buf()]).err().map(|err| err.to_string());
        assert!(message.is_some_and(|message| message.contains("lies inside root")));
    }
}

#[tokio::test]
async fn a_tool_that_cannot_be_called_is_not_registered() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Bare(#[expect(dead_code, reason = "only its schema is used")] String);
    let bare = Tool::new("bare").execute(|_: Bare| async { Ok::<_, ToolError>("") });
    let typo = Tool::new("typo")
        .effect(Effect::Once)
        .redacted(&["txet"])
        .execute_with(|_: Text, _| async { Ok::<_, ToolError>("") });
    for (tool, expect) in [(bare, "takes no object"), (typo, "has no such parameter")] {
        let message =
            haft::Registry::new([tool]).err().map(|err| err.to_string()).unwrap_or_default();
        assert!(message.contains(expect), "{message}");
    }
}
