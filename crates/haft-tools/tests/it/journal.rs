//! The parts of a call that the journal must not hold.

use haft::CallLimits;
use haft_tools::Profile;
use serde_json::json;

use crate::workspace::Workspace;

#[tokio::test]
async fn no_body_reaches_the_journal_however_the_call_ends() {
    let patch = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-SECRET before\n+SECRET after\n";
    let contract = Workspace::new().await;
    contract.file("f", "one\nline with a Secret\n");
    for (tool, input) in [
        ("write", json!({"path": "new", "content": "SECRET"})),
        ("write", json!({"path": "new", "contents": "SECRET"})),
        ("write", json!({"path": "new", "content": ["SECRET"]})),
        ("write", json!("SECRET")),
        ("write", json!({"path": ".", "content": "SECRET"})),
        ("edit", json!({"path": "f", "old_string": "SECRET", "new_string": "SECRET too"})),
        ("edit", json!({"path": "f", "old_string": "line with a SECRET", "new_string": "x"})),
        ("edit", json!({"path": "f", "old_str": "SECRET", "new_str": "x"})),
        ("apply_patch", json!({"patch": patch})),
        ("apply_patch", json!({"patch": "SECRET\nSECRET"})),
        ("apply_patch", json!({"patch": "--- a/f\n+++ b/f\nSECRET\n"})),
        ("no_such_tool", json!({"password": "SECRET"})),
    ] {
        contract.call(tool, input).await;
    }
    let smithers = Workspace::with(Profile::Smithers, CallLimits::default()).await;
    smithers.file("f", "one\n");
    smithers.call("edit", json!({"path": "f", "patch": patch})).await;
    for workspace in [contract, smithers] {
        let journal = workspace.journal().await;
        assert!(journal.contains("sha256") && !journal.contains("SECRET"), "{journal}");
    }
}
