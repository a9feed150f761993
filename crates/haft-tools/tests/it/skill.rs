//! The files that a loaded skill makes readable, except protected paths and paths that rules deny.

use std::fs;

use haft_policy::{Rule, RuleAction};
use serde_json::json;

use crate::workspace::{Keeping, Workspace};

#[tokio::test]
async fn a_loaded_skill_lends_its_files_and_lifts_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let skill = directory.path().canonicalize().unwrap().join("skills/mail");
    fs::create_dir_all(skill.join("state")).unwrap();
    fs::write(skill.join("SKILL.md"), "---\nname: mail\ndescription: x\n---\nWrite.\n").unwrap();
    for name in ["signature", "state/key", "password"] {
        fs::write(skill.join(name), name).unwrap();
    }
    let denied = skill.join("password").to_string_lossy().into_owned();
    let keeping = Keeping {
        rules: vec![Rule::new("fs.read", denied, RuleAction::Deny)],
        hidden: vec![skill.join("state")],
    };
    let workspace = Workspace::with_skills(directory, keeping);
    let read = async |name: &str| workspace.text("read", json!({"path": skill.join(name)})).await;
    let unloaded = read("signature").await;
    assert!(unloaded.contains("PATH_ESCAPE"), "{unloaded}");
    let loaded = workspace.text("skill", json!({"name": "mail"})).await;
    assert!(loaded.contains("- signature"), "{loaded}");
    assert_eq!(read("signature").await, "signature");
    for kept in ["state/key", "password"] {
        let refused = read(kept).await;
        assert!(refused.contains("outside what this call was granted"), "{kept}: {refused}");
    }
}
