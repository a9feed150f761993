//! `haft acp` driven by clients that were not made for it: the official SDKs of Python and TypeScript. Each has an edit, a
//! call that the person allows, one that is rejected, and a cancelled turn; then it loads the session again. `cargo xtask
//! test` installs the SDKs and passes their paths; without it these tests fail. Tests on the wire cover the parts that the
//! SDKs hide.

mod unprepared;
pub(crate) mod wire;

use std::path::Path;
use std::process::Command;

use expect_test::{Expect, expect};
use haft_scripted_model::ScriptedReply;
use serde_json::{Value, json};

use crate::agent::Stage;
use crate::mcp_clients::client;
use crate::world::World;

fn replies() -> Vec<ScriptedReply> {
    let edit = json!({"path": "notes.txt", "old_string": "two", "new_string": "2"});
    let write = |path: &str| json!({"path": path, "content": "made\n"});
    vec![
        ScriptedReply::new().text("I mend it.").call("edit", edit),
        ScriptedReply::new().text("Mended."),
        ScriptedReply::new().call("write", write("allowed.txt")),
        ScriptedReply::new().text("Written."),
        ScriptedReply::new().call("write", write("rejected.txt")),
        ScriptedReply::new().text("Not written."),
        ScriptedReply::new().text("I begin.").waiting_for("never"),
    ]
}

/// Has an editor work, and compares what it was told.
fn check(editor: &str, program: &str, expect: &Expect) {
    let world = World::with_files();
    // Anybody may narrow what is allowed, so this manifest needs no trust.
    world.write(
        "work/haft.toml",
        "[[permissions]]\npermission = \"write\"\npattern = \"*\"\naction = \"ask\"\n",
    );
    let stage = Stage::new(world, replies());
    let haft = stage.haft(&["acp"]);
    let environment = haft
        .get_envs()
        .filter_map(|(name, value)| Some((name.to_str()?.to_owned(), value?.to_str()?.to_owned())));
    let order = json!({
        "command": haft.get_program().to_str(),
        "args": ["acp"],
        "env": environment.collect::<std::collections::BTreeMap<_, _>>(),
        "cwd": stage.world.path("work"),
        "packages": client("HAFT_TEST_NODE_PACKAGES"),
        "prompts": ["Mend it", "Write it", "Write it again", "cancel this"],
        "answers": ["allow_once", "reject_once"],
    });
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/editors");
    let output = Command::new(client(program))
        .arg(scripts.join(editor))
        .arg(order.to_string())
        .current_dir(stage.world.path("work"))
        .output()
        .unwrap();
    let (stdout, stderr) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}\n{stdout}\n{stderr}", output.status);
    assert_eq!(stderr, "", "haft and its editor have nothing to complain of");
    let mut told = String::new();
    for line in stdout.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        told.push_str(&line.to_string());
        told.push('\n');
    }
    expect.assert_eq(&told);
    assert_eq!(stage.world.read("work/notes.txt"), "one\n2\nthree\n");
    assert_eq!(stage.world.read("work/allowed.txt"), "made\n");
    assert!(!stage.world.path("work/rejected.txt").exists());
    let sessions = stage.world.json(&["sessions", "list", "--json"]);
    assert!(sessions.to_string().contains("Mend it"), "{sessions}");
}

#[test]
fn an_editor_of_the_python_sdk() {
    check(
        "edit.py",
        "HAFT_TEST_PYTHON",
        &expect![[r#"
        {"load":true}
        {"stop":"end_turn","asked":[],"told":["agent_message_chunk","tool_call","tool_call_update 'two' -> '2' in_progress","tool_call_update 'two' -> '2' completed","usage_update","agent_message_chunk","usage_update","session_info_update"]}
        {"stop":"end_turn","asked":[["allow_once","allow_always","reject_once","reject_always"]],"told":["tool_call","tool_call_update None -> 'made\\n' in_progress","tool_call_update pending","tool_call_update in_progress","tool_call_update None -> 'made\\n' completed","usage_update","agent_message_chunk","usage_update","session_info_update"]}
        {"stop":"end_turn","asked":[["allow_once","allow_always","reject_once","reject_always"]],"told":["tool_call","tool_call_update None -> 'made\\n' in_progress","tool_call_update pending","tool_call_update None -> 'made\\n' failed","usage_update","agent_message_chunk","usage_update","session_info_update"]}
        {"stop":"cancelled","asked":[],"told":["agent_message_chunk"]}
        {"listed":true,"asked":[],"told":["user_message_chunk","agent_message_chunk","tool_call 'two' -> '2' in_progress","tool_call_update 'two' -> '2' completed","agent_message_chunk","user_message_chunk","tool_call None -> 'made\\n' in_progress","tool_call_update None -> 'made\\n' completed","agent_message_chunk","user_message_chunk","tool_call None -> 'made\\n' in_progress","tool_call_update None -> 'made\\n' failed","agent_message_chunk","user_message_chunk","agent_message_chunk","usage_update","session_info_update"]}
    "#]],
    );
}

#[test]
fn an_editor_of_the_typescript_sdk() {
    check(
        "edit.mjs",
        "HAFT_TEST_NODE",
        &expect![[r#"
        {"load":true}
        {"stop":"end_turn","asked":[],"told":["agent_message_chunk","tool_call","tool_call_update \"two\" -> \"2\" in_progress","tool_call_update \"two\" -> \"2\" completed","usage_update","agent_message_chunk","usage_update","session_info_update"]}
        {"stop":"end_turn","asked":[["allow_once","allow_always","reject_once","reject_always"]],"told":["tool_call","tool_call_update undefined -> \"made\\n\" in_progress","tool_call_update pending","tool_call_update in_progress","tool_call_update undefined -> \"made\\n\" completed","usage_update","agent_message_chunk","usage_update","session_info_update"]}
        {"stop":"end_turn","asked":[["allow_once","allow_always","reject_once","reject_always"]],"told":["tool_call","tool_call_update undefined -> \"made\\n\" in_progress","tool_call_update pending","tool_call_update undefined -> \"made\\n\" failed","usage_update","agent_message_chunk","usage_update","session_info_update"]}
        {"stop":"cancelled","asked":[],"told":["agent_message_chunk"]}
        {"listed":true,"asked":[],"told":["user_message_chunk","agent_message_chunk","tool_call \"two\" -> \"2\" in_progress","tool_call_update \"two\" -> \"2\" completed","agent_message_chunk","user_message_chunk","tool_call undefined -> \"made\\n\" in_progress","tool_call_update undefined -> \"made\\n\" completed","agent_message_chunk","user_message_chunk","tool_call undefined -> \"made\\n\" in_progress","tool_call_update undefined -> \"made\\n\" failed","agent_message_chunk","user_message_chunk","agent_message_chunk","usage_update","session_info_update"]}
        {"status":0}
    "#]],
    );
}
