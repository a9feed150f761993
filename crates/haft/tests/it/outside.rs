//! Places outside the roots: what requirements name, and what a person attaches.

use std::path::Path;

use haft_contract::{Access, Cx, RequirementSet, Tool, ToolError};
use haft_policy::{RuleAction, RuleScope};
use serde_json::json;

use crate::stage::{Setting, Stage, Text, rule, shown};

/// Returns a built-in tool that reads a file of the workspace.
fn look() -> Tool {
    let mut requires = RequirementSet::default();
    requires.fs.read = vec!["{workspace}/**".to_owned()];
    Tool::new("look")
        .requires(requires)
        .accesses(|input: &Text| vec![Access::read(&input.text)])
        .execute_blocking(|input: Text, cx: &Cx| {
            let (path, _) = cx.fs().resolve(&input.text)?;
            let mut text = String::new();
            std::io::Read::read_to_string(&mut cx.fs().open(&path)?.file, &mut text)?;
            Ok::<_, ToolError>(text)
        })
}

async fn stage(requires: &[String], rules: &[(&str, &str)]) -> Stage {
    let mut required = RequirementSet::default();
    required.fs.read = requires.to_vec();
    let preset = rule(RuleScope::Preset, "fs.read", "{workspace}/**", RuleAction::Allow);
    let of_test = rules.iter().map(|(permission, pattern)| {
        rule(RuleScope::Manifest, permission, pattern, RuleAction::Allow)
    });
    let rules = std::iter::once(preset).chain(of_test).collect();
    let directory = std::sync::Arc::new(tempfile::tempdir().unwrap());
    let setting = Setting { tools: vec![look()], rules, requires: required, ..Setting::default() };
    let stage = Stage::new(Setting { directory: Some(directory), ..setting }).await;
    write(&stage, "notes/a.txt", "a note");
    write(&stage, "notes/deep/b.txt", "another");
    write(&stage, "private.txt", "secret");
    write(&stage, "root/in.txt", "inside");
    stage
}

fn write(stage: &Stage, path: &str, text: &str) {
    let path = stage.directory.path().join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

async fn code_of(stage: &Stage, path: &Path) -> String {
    let envelope = stage.call("look", json!({ "text": path.to_str().unwrap() })).await;
    envelope.code().map_or_else(|| envelope.text(), |code| code.as_str().to_owned())
}

#[tokio::test]
async fn what_requirements_name_is_reached_as_far_as_rules_allow() {
    let directory = tempfile::tempdir().unwrap();
    let notes = directory.path().canonicalize().unwrap().join("notes");
    std::fs::create_dir_all(notes.join("deep")).unwrap();
    std::fs::write(notes.join("a.txt"), "a note").unwrap();
    std::fs::write(directory.path().join("private.txt"), "secret").unwrap();
    std::os::unix::fs::symlink("../private.txt", notes.join("link.txt")).unwrap();
    let required = [format!("{}/**", notes.display())];
    let allowed = stage(&required, &[("fs.read", &required[0])]).await;
    assert_eq!(code_of(&allowed, &notes.join("a.txt")).await, "a note");
    assert_eq!(code_of(&allowed, &notes.join("deep/../a.txt")).await, "a note");
    assert_eq!(code_of(&allowed, &notes.join("none.txt")).await, "TOOL_PATH_INVALID");
    // Neither beside it nor through a link out of it.
    let beside = directory.path().canonicalize().unwrap().join("private.txt");
    assert_eq!(code_of(&allowed, &beside).await, "TOOL_PATH_ESCAPE");
    assert_eq!(code_of(&allowed, &notes.join("link.txt")).await, "TOOL_PATH_ESCAPE");
    assert_eq!(code_of(&allowed, Path::new("in.txt")).await, "inside");
    // A requirement alone allows nothing, and a rule alone grants nothing.
    let unruled = stage(&required, &[]).await;
    assert_eq!(code_of(&unruled, &notes.join("a.txt")).await, "PERMISSION_DENIED");
    let ungranted = stage(&[], &[("fs.read", &required[0])]).await;
    assert_eq!(code_of(&ungranted, &notes.join("a.txt")).await, "TOOL_PATH_ESCAPE");
}

#[tokio::test]
async fn what_is_attached_is_read_and_nothing_beside_it() {
    let stage = stage(&[], &[]).await;
    let outside = stage.directory.path().canonicalize().unwrap();
    let file = outside.join("notes/a.txt");
    assert_eq!(code_of(&stage, &file).await, "TOOL_PATH_ESCAPE");
    assert!(stage.session.add_ad_hoc(&file));
    assert!(stage.session.add_ad_hoc(&file), "adding it again does nothing");
    assert_eq!(code_of(&stage, &file).await, "a note");
    assert_eq!(code_of(&stage, &outside.join("notes/deep/b.txt")).await, "TOOL_PATH_ESCAPE");
    assert_eq!(code_of(&stage, &outside.join("private.txt")).await, "TOOL_PATH_ESCAPE");
    // A directory is attached with all in it.
    assert!(stage.session.add_ad_hoc(&outside.join("notes")));
    assert_eq!(code_of(&stage, &outside.join("notes/deep/b.txt")).await, "another");
    assert!(!stage.session.add_ad_hoc(&outside.join("none")));
    let envelope = stage.call("look", json!({"text": "in.txt"})).await;
    assert!(shown(&envelope).contains("inside"));
}

#[tokio::test]
async fn so_many_files_are_attached_and_no_more() {
    let stage = stage(&[], &[]).await;
    let added = |number: usize| {
        write(&stage, &format!("many/{number}"), "x");
        stage.session.add_ad_hoc(&stage.directory.path().join(format!("many/{number}")))
    };
    assert!((0..64).all(added));
    assert!(!added(64));
}
