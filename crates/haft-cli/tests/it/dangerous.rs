//! A tool that is marked dangerous, through every front end: it runs only if the user named it.

use expect_test::expect;
use haft_scripted_model::ScriptedReply;
use serde_json::json;

use crate::agent::Stage;
use crate::mcp_wire::driver::{Place, Server};
use crate::python::{ENTRY, tool};
use crate::world::World;

/// A tool that only looks, as far as its METADATA says, and is dangerous.
fn delete_rows() -> String {
    tool("delete_rows", "\"dangerous\": True, \"idempotent\": True,", "return 'deleted'")
}

fn world() -> World {
    let world = World::with_files();
    world.write("work/tools/delete_rows.py", &delete_rows());
    world.write("work/haft.toml", ENTRY);
    world.run(&["trust"]);
    world
}

#[test]
fn a_call_of_the_command_line_needs_the_name_of_the_tool() {
    let world = world();
    world.check(
        &["call", "--headless", "delete_rows", "{}"],
        &expect![[r#"
            --- stderr
            error: no person can be asked here, so the call is denied: delete_rows is dangerous, and no rule that names it allows it; to allow it, start haft with `--allow delete_rows`, which allows all that delete_rows does, or put this into haft.toml and run `haft trust`:
            [[permissions]]
            permission = "delete_rows"
            pattern = "*"
            action = "allow"

            hint: haft call --allow delete_rows --headless delete_rows '{}'
            --- status 3
        "#]],
    );
    let allowed = ["call", "--headless", "--allow", "delete_rows", "delete_rows", "{}"];
    assert_eq!(world.run(&allowed), "deleted\n");
    assert_eq!(
        world.run(&["--preset", "full", "call", "--headless", "delete_rows", "{}"]),
        "deleted\n"
    );
    // A rule of the user names it, and the built-in tools need no more than the preset.
    world.run(&["permissions", "allow", "delete_rows"]);
    assert_eq!(world.run(&["call", "--headless", "delete_rows", "{}"]), "deleted\n");
    world.run(&["call", "--headless", "write", r#"{"path":"a","content":"b"}"#]);
    world.run(&["call", "--headless", "bash", r#"{"cmd":"echo b"}"#]);
}

#[test]
fn an_explanation_says_so() {
    let shown = world().run(&["permissions", "explain", "delete_rows", "{}"]);
    assert!(shown.contains("delete_rows is dangerous, and no rule that names it"), "{shown}");
}

#[test]
fn a_client_without_questions_is_refused() {
    let place = Place::new();
    std::fs::create_dir(place.root().join("tools")).unwrap();
    place.write("tools/delete_rows.py", &delete_rows());
    let refused =
        Server::start_legacy(&place, &["--python", "tools"]).call("delete_rows", json!({}));
    let text = refused["result"]["content"][0]["text"].as_str().unwrap_or_default();
    assert!(text.contains("is dangerous, and no rule that names it allows it"), "{refused}");
    assert_eq!(refused["result"]["isError"], true, "{refused}");
    let args = ["--python", "tools", "--allow", "delete_rows"];
    let called = Server::start_legacy(&place, &args).call("delete_rows", json!({}));
    assert_eq!(called["result"]["content"][0]["text"], "deleted", "{called}");
}

#[test]
fn an_agent_without_a_person_is_refused() {
    let call = || ScriptedReply::new().call("delete_rows", json!({}));
    let end = |text: &str| ScriptedReply::new().text(text);
    let replies = [call(), end("Refused."), call(), end("Done.")];
    let stage = Stage::new(world(), replies);
    stage.shown(&["agent", "--headless", "Delete the rows."]);
    assert!(stage.told(1).contains("is dangerous, and no rule that names it"), "{}", stage.told(1));
    stage.shown(&["--allow", "delete_rows", "agent", "--headless", "Delete the rows."]);
    assert!(stage.told(3).contains("deleted"), "{}", stage.told(3));
}

#[test]
fn a_plan_asks_once_for_such_a_tool() {
    let world = world();
    let plan = r#"{"nodes": [{"id": 0, "tool": "delete_rows", "inputs": {}, "depends_on": []}], "final_output_node": 0}"#;
    world.write("work/plan.json", plan);
    let refused = world.haft(&["run", "plan.json", "--headless"]).output().unwrap();
    let refused = world.shown(&refused);
    assert!(
        refused.contains("delete_rows is dangerous, and the user did not name it"),
        "{refused}"
    );
    for allow in [&["--allow", "delete_rows"][..], &["--allow-dangerous"]] {
        let run = [&["run", "plan.json", "--headless"], allow].concat();
        assert_eq!(world.run(&run), "deleted\n");
    }
}
