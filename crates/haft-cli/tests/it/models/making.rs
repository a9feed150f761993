//! `haft plan make`: which model is asked and with which key, what of its answer is shown and saved, and what is said when
//! there is no plan.

use expect_test::{Expect, expect};
use haft_contract::Effect;
use haft_scripted_model::ScriptedReply;
use serde_json::{Value, json};

use super::server::{KEY, ModelServer, WireProtocol, http, silence};
use super::{COMMAND, MISSING, MISSPELT, READS};
use crate::built_in_tools;
use crate::world::World;

const MAKE: [&str; 3] = ["plan", "make", "What do the notes say?"];

fn check(replies: &[&str], args: &[&str], expect: &Expect) -> World {
    let world = World::with_files();
    let server = ModelServer::saying(WireProtocol::OpenAi, replies);
    expect.assert_eq(&server.shown(&world, &[&MAKE, args].concat()));
    assert_eq!(server.asked().len(), replies.len());
    world
}

#[test]
fn a_plan_is_drawn_and_saved_and_can_be_run() {
    let world = check(
        &[READS],
        &[],
        &expect![[r#"
        ┌─────────┐
        │ 0 glob  │
        └────┬────┘
             │
        ╔════▼════╗
        ║ 1 read  ║
        ╚═════════╝
        ╔═╗ the final output
        --- stderr
        asking openai/test for a plan
        made a plan of 2 nodes (30 tokens read, 4 written)
        saved in plan.json; to run it: haft run plan.json
        --- status 0
    "#]],
    );
    let saved: Value = serde_json::from_str(&world.read("work/plan.json")).unwrap();
    assert_eq!(saved["nodes"][0]["tool"], "glob");
    assert_eq!(world.run(&["run", "plan.json"]), "one\ntwo\nthree\n");
}

#[test]
fn every_provider_makes_plans() {
    for wire in WireProtocol::ALL {
        let world = World::with_files();
        let server = ModelServer::saying(wire, &[READS]);
        let shown = server.shown(&world, &MAKE);
        assert!(shown.ends_with("--- status 0\n"), "{shown}");
        assert_eq!(world.run(&["plan", "check", "plan.json"]).lines().count(), 1);
        let [asked] = &server.asked()[..] else { panic!("asked once") };
        assert!(asked.head.contains(KEY), "{wire:?}: {}", asked.head);
        for told in ["What do the notes say?", "{\\\"paths\\\":", "You turn a request"] {
            assert!(asked.text().contains(told), "{wire:?}: {told}: {}", asked.text());
        }
        assert!(!asked.text().contains("Keeps the plan of a run"), "{}", asked.text());
    }
}

#[test]
fn what_is_wrong_with_a_plan_is_shown_and_goes_back() {
    check(
        &[MISSPELT, "Sorry!", READS],
        &["--out", "-"],
        &expect![[r#"
        {
          "nodes": [
            {
              "id": 0,
              "tool": "glob",
              "inputs": {
                "pattern": "*.txt"
              },
              "depends_on": [],
              "metadata": {
                "purpose": "find the notes"
              }
            },
            {
              "id": 1,
              "tool": "read",
              "inputs": {
                "path": "{{STEPS.0.paths[0]}}"
              },
              "depends_on": [
                0
              ],
              "metadata": {
                "purpose": "read them"
              }
            }
          ],
          "final_output_node": 1
        }
        --- stderr
        asking openai/test for a plan
        the plan is not valid and goes back to the model (repair 1 of 3):
          node 0: tool: there is no tool "glib"; did you mean glob?
          node 1: inputs.file: no such parameter: the tool has path, offset, limit, start_line, end_line, byte_offset, byte_limit
          node 1: inputs.path: the tool requires it, and it is missing: add it, or refer to an output
        the plan is not valid and goes back to the model (repair 2 of 3):
          there is no JSON object in the answer: answer with the plan as one JSON object
        ┌─────────┐
        │ 0 glob  │
        └────┬────┘
             │
        ╔════▼════╗
        ║ 1 read  ║
        ╚═════════╝
        ╔═╗ the final output
        made a plan of 2 nodes, mended 2 times (90 tokens read, 12 written)
        --- status 0
    "#]],
    );
}

#[test]
fn a_model_that_writes_no_valid_plan_is_given_up() {
    let world = check(
        &[MISSPELT; 4],
        &[],
        &expect![[r#"
        --- stderr
        asking openai/test for a plan
        the plan is not valid and goes back to the model (repair 1 of 3):
          node 0: tool: there is no tool "glib"; did you mean glob?
          node 1: inputs.file: no such parameter: the tool has path, offset, limit, start_line, end_line, byte_offset, byte_limit
          node 1: inputs.path: the tool requires it, and it is missing: add it, or refer to an output
        the plan is not valid and goes back to the model (repair 2 of 3):
          node 0: tool: there is no tool "glib"; did you mean glob?
          node 1: inputs.file: no such parameter: the tool has path, offset, limit, start_line, end_line, byte_offset, byte_limit
          node 1: inputs.path: the tool requires it, and it is missing: add it, or refer to an output
        the plan is not valid and goes back to the model (repair 3 of 3):
          node 0: tool: there is no tool "glib"; did you mean glob?
          node 1: inputs.file: no such parameter: the tool has path, offset, limit, start_line, end_line, byte_offset, byte_limit
          node 1: inputs.path: the tool requires it, and it is missing: add it, or refer to an output
        error: the model wrote no valid plan, and 3 repairs did not help: say the request more exactly, offer fewer tools (--tools), or take another model (--model); the last one has these problems:
          node 0: tool: there is no tool "glib"; did you mean glob?
          node 1: inputs.file: no such parameter: the tool has path, offset, limit, start_line, end_line, byte_offset, byte_limit
          node 1: inputs.path: the tool requires it, and it is missing: add it, or refer to an output
        --- status 1
    "#]],
    );
    assert!(!world.path("work/plan.json").exists());
}

#[test]
fn what_is_missing_is_said() {
    check(
        &[MISSING],
        &[],
        &expect![[r#"
        --- stderr
        asking openai/test for a plan
        error: the tools on offer cannot do this, so there is no plan; the model says what is missing: sending mail

        hint: haft tools list
        --- status 6
    "#]],
    );
    check(
        &[MISSING],
        &["--json"],
        &expect![[r#"
        {"type":"failure","status":"missing_capability","message":"the tools on offer cannot do this, so there is no plan; the model says what is missing: sending mail","hint":"haft tools list"}
        --- stderr
        asking openai/test for a plan
        error: the tools on offer cannot do this, so there is no plan; the model says what is missing: sending mail

        hint: haft tools list
        --- status 6
    "#]],
    );
}

#[test]
fn programs_are_told_all_of_it() {
    let world = World::with_files();
    let server = ModelServer::saying(WireProtocol::Anthropic, &[MISSPELT, COMMAND]);
    let output = server.haft(&world, &[&MAKE, &["--json"][..]].concat()).output().unwrap();
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    let plan: Value = serde_json::from_str(COMMAND).unwrap();
    let usage =
        json!({"input": 60, "output": 8, "reasoning": 0, "cache_read": 0, "cache_write": 0});
    let expected = json!({
        "type": "plan",
        "file": "plan.json",
        "model": "anthropic/test",
        "dangerous": ["bash"],
        "repairs": 1,
        "usage": usage,
        "plan": plan,
    });
    assert_eq!(told, expected);
}

#[test]
fn a_file_that_is_there_stays() {
    let world = World::with_files();
    world.write("work/plan.json", "mine");
    let server = ModelServer::saying(WireProtocol::OpenAi, &[READS]);
    expect![[r#"
        --- stderr
        error: plan.json exists already and is left as it is: name another file with --out, or give --force
        --- status 2
    "#]].assert_eq(&server.shown(&world, &MAKE));
    for (args, why) in [(["--out", "src"], "is a directory"), (["--out", "no/x"], "no directory")] {
        let shown = server.shown(&world, &[&MAKE, &args[..]].concat());
        assert!(shown.contains(why) && shown.ends_with("status 2\n"), "{shown}");
    }
    assert_eq!((world.read("work/plan.json").as_str(), server.asked().len()), ("mine", 0));
    server.shown(&world, &[&MAKE, &["--force"][..]].concat());
    assert!(world.read("work/plan.json").contains("glob"));
}

#[test]
fn an_input_is_part_of_what_is_planned() {
    let world = World::with_files();
    let plan = r#"{"nodes":[{"id":0,"tool":"read","inputs":{"path":"{{INPUT.file}}"},"depends_on":[]}],"final_output_node":0}"#;
    let server = ModelServer::saying(WireProtocol::OpenAi, &[plan]);
    let args = ["--input", r#"{"file":"notes.txt"}"#];
    expect![[r#"
        ╔═════════╗
        ║ 0 read  ║
        ╚═════════╝
        ╔═╗ the final output
        --- stderr
        asking openai/test for a plan
        made a plan of 1 node (30 tokens read, 4 written)
        saved in plan.json; to run it: haft run plan.json --input '{"file":"notes.txt"}'
        --- status 0
    "#]]
    .assert_eq(&server.shown(&world, &[&MAKE, &args[..]].concat()));
    assert!(server.asked()[0].text().contains("notes.txt"));
}

#[test]
fn a_model_must_be_named_and_its_key_be_set() {
    let world = World::with_files();
    world.check(
        &MAKE,
        &expect![[r#"
        --- stderr
        error: no model is named: choose one, or put `name` into the table [model] of haft.toml

        hint: export HAFT_MODEL=openai/gpt-5
        --- status 2
    "#]],
    );
    let with = |model: &'static str| [&MAKE[..], &["--model", model]].concat();
    world.check(
        &with("anthropic/claude-x"),
        &expect![[r#"
        --- stderr
        error: there is no key for anthropic: set ANTHROPIC_API_KEY

        hint: export ANTHROPIC_API_KEY=...
        --- status 2
    "#]],
    );
    world.check(
        &with("openai/gpt-x"),
        &expect![[r#"
        --- stderr
        error: there is no key for openai: set OPENAI_API_KEY

        hint: export OPENAI_API_KEY=...
        --- status 2
    "#]],
    );
    world.check(
        &with("gemini/gem-x"),
        &expect![[r#"
        --- stderr
        error: there is no key for gemini: set GEMINI_API_KEY

        hint: export GEMINI_API_KEY=...
        --- status 2
    "#]],
    );
    world.check(&with("acme/x"), &expect![[r#"
        --- stderr
        error: there is no provider "acme", only openai, anthropic, gemini, ollama: expected provider/name, as in openai/gpt-5 or ollama/qwen3:8b
        --- status 2
    "#]]);
    world.check_command(
        world.haft(&with("openai/gpt-x")).env("OPENAI_API_KEY", ""),
        &expect![[r#"
            --- stderr
            error: OPENAI_API_KEY is empty: set it to the key
            --- status 2
        "#]],
    );
    // A server of one's own is asked without a key, unless one is named.
    for wire in WireProtocol::ALL {
        let server = ModelServer::saying(wire, &[READS]);
        let mut command = server.haft(&world, &[&MAKE[..], &["--force"]].concat());
        command.env_remove("HAFT_KEY_VARIABLE");
        for name in ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"] {
            command.env(name, KEY);
        }
        assert!(command.output().unwrap().status.success());
        let [asked] = &server.asked()[..] else { panic!("asked once") };
        assert!(!asked.head.contains(KEY), "{wire:?}: {}", asked.head);
    }
}

#[test]
fn a_model_that_fails_makes_no_plan() {
    let checks = [
        (
            ScriptedReply::failure(401, &format!("Incorrect API key: {KEY}")),
            "status 2\n",
            expect![[r#"
            --- stderr
            asking openai/test for a plan
            error: no plan was made: openai did not accept the key: check that TEST_KEY is set and valid (HTTP 401: Incorrect API key: [key])
            --- status 2
        "#]],
        ),
        (
            ScriptedReply::failure(404, "no such model"),
            "status 1\n",
            expect![[r#"
            --- stderr
            asking openai/test for a plan
            error: no plan was made: openai knows no model test: check its name and base_url (HTTP 404: no such model)
            --- status 1
        "#]],
        ),
        (
            http(
                200,
                "text/event-stream",
                "data: {\"choices\":[{\"delta\":{\"content\":\"{\"}}]}\n\ndata: {\"choi",
            ),
            "status 1\n",
            expect![[r#"
                --- stderr
                asking openai/test for a plan
                error: no plan was made: the answer broke off before its end: try again
                --- status 1
            "#]],
        ),
    ];
    for (reply, status, expect) in checks {
        let world = World::with_files();
        let server = ModelServer::start(WireProtocol::OpenAi, [reply]);
        let shown = server.shown(&world, &MAKE);
        expect.assert_eq(&shown);
        assert!(shown.ends_with(status), "{shown}");
    }
}

#[test]
fn a_model_has_as_long_as_the_manifest_gives_it() {
    let world = World::with_files();
    world.write("given.toml", "[model]\ntimeout_ms = 50\n");
    let server = ModelServer::start(WireProtocol::OpenAi, [silence()]);
    let given = world.path("given.toml");
    let shown = server.shown(&world, &[&MAKE[..], &["--config", given.to_str().unwrap()]].concat());
    expect![[r#"
        --- stderr
        asking openai/test for a plan
        error: no plan was made: no complete answer within 0.05 s: ask for less, or allow more time (model.timeout_ms in haft.toml)
        --- status 1
    "#]].assert_eq(&shown);
}

#[test]
fn a_manifest_that_nobody_trusted_sends_nothing_anywhere() {
    let world = World::with_files();
    let server = ModelServer::saying(WireProtocol::OpenAi, &[READS]);
    let manifest = format!(
        "[model]\nname = \"openai/m\"\nbase_url = \"{}\"\nkey_variable = \"OPENAI_API_KEY\"\n",
        server.url()
    );
    world.write("work/haft.toml", &manifest.replace(&server.url(), "http://127.0.0.1:9/v1"));
    let with_key = |args: &[&str]| {
        let mut command = world.haft(args);
        command.env("OPENAI_API_KEY", KEY);
        world.shown(&command.output().unwrap())
    };
    expect![[r#"
        --- stderr
        warning: /world/work/haft.toml is not trusted yet. haft ignores these settings of it:
          model.name = "openai/m"
          model.base_url = "http://127.0.0.1:9/v1"
          model.key_variable = "OPENAI_API_KEY"

        hint: haft trust /world/work/haft.toml

        error: the model "openai/m" of /world/work/haft.toml is not trusted yet

        hint: haft trust /world/work/haft.toml
        --- status 2
    "#]]
    .assert_eq(&with_key(&MAKE));
    world.write("work/haft.toml", &manifest);
    with_key(&MAKE);
    assert!(server.asked().is_empty());
    world.run(&["trust"]);
    let shown = with_key(&MAKE);
    assert!(shown.ends_with("status 0\n"), "{shown}");
    let [asked] = &server.asked()[..] else { panic!("asked once") };
    assert!(asked.head.contains(KEY) && asked.body["model"] == "m", "{asked:?}");
}

fn check_table(table: &str, expect: &Expect) {
    let world = World::with_files();
    world.write("work/haft.toml", &format!("[model]\n{table}\n"));
    world.check(&["tools", "list"], expect);
}

#[test]
fn a_table_of_a_model_is_checked() {
    check_table(
        "name = \"gpt-5\"",
        &expect![[r#"
        --- stderr
        error: manifest /world/work/haft.toml has 1 problem

        /world/work/haft.toml:2:8: name: "gpt-5" does not name a provider: expected provider/name, as in openai/gpt-5 or ollama/qwen3:8b
          |
        2 | name = "gpt-5"
          |        ^^^^^^^
        --- status 2
    "#]],
    );
    check_table(
        "base_url = \"https://a.example/v1\"",
        &expect![[r#"
        --- stderr
        error: manifest /world/work/haft.toml has 1 problem

        /world/work/haft.toml:2:12: base_url: belongs to a model, and there is no name: expected name = "provider/name", too
          |
        2 | base_url = "https://a.example/v1"
          |            ^^^^^^^^^^^^^^^^^^^^^^
        --- status 2
    "#]],
    );
    check_table(
        "name = \"openai/m\"\nbase_url = \"https://me:secret@a.example/v1\"",
        &expect![[r#"
        --- stderr
        error: manifest /world/work/haft.toml has 1 problem

        /world/work/haft.toml:3:12: base_url must hold no user, password, query or fragment: a key belongs in the environment variable that key_variable names
          |
        3 | base_url = "https://me:***@a.example/v1"
          |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
        --- status 2
    "#]],
    );
    check_table(
        "timeout_ms = 0\nidle_ms = 3600001",
        &expect![[r#"
        --- stderr
        error: manifest /world/work/haft.toml has 2 problems

        /world/work/haft.toml:2:14: timeout_ms: expected 1 to 3600000 milliseconds, found 0
          |
        2 | timeout_ms = 0
          |              ^

        /world/work/haft.toml:3:11: idle_ms: expected 1 to 3600000 milliseconds, found 3600001
          |
        3 | idle_ms = 3600001
          |           ^^^^^^^
        --- status 2
    "#]],
    );
}

#[test]
fn a_key_in_a_manifest_is_refused_and_not_repeated() {
    check_table(
        "name = \"openai/m\"\nkey_variable = \"sk-live-1\"",
        &expect![[r#"
        --- stderr
        error: manifest /world/work/haft.toml has 1 problem

        /world/work/haft.toml:3:16: key_variable must be the name of an environment variable, in capitals, and not a key
          |
        3 | key_variable = "***"
          |                ^^^^^^^^^^^
        --- status 2
    "#]],
    );
    check_table(
        "name = \"openai/m\"\nkey = \"sk-live-1\"",
        &expect![[r#"
            --- stderr
            error: manifest /world/work/haft.toml has 1 problem

            /world/work/haft.toml:3:1: a key cannot be set in a manifest, which travels with the workspace: put it into the provider's environment variable, such as OPENAI_API_KEY, or into one that key_variable names
              |
            3 | key = "***"
              | ^^^
            --- status 2
        "#]],
    );
}

#[test]
fn what_is_refused_anyway_is_not_offered() {
    let check = |args: &[&str], manifest: &str, expect: &[&str]| {
        let world = World::with_files();
        world.write("work/haft.toml", manifest);
        let server = ModelServer::saying(WireProtocol::Ollama, &[MISSING]);
        server.shown(&world, &[&MAKE, args].concat());
        let ids: Vec<String> = told(&server).iter().map(|tool| tool["id"].to_string()).collect();
        let expect: Vec<String> = expect.iter().map(|id| format!("{id:?}")).collect();
        assert_eq!(ids, expect, "{args:?} {manifest}");
    };
    let offered = built_in_tools::ids_for_models();
    let all: Vec<&str> = offered.iter().map(String::as_str).collect();
    let without = |left_out: &[&str]| -> Vec<&str> {
        all.iter().copied().filter(|id| !left_out.contains(id)).collect()
    };
    check(&[], "", &all);
    check(&["--tools", "grep,read"], "", &["grep", "read"]);
    let contracts = built_in_tools::contracts();
    let acting = contracts.iter().filter(|contract| contract.effect != Effect::Read);
    let acting: Vec<&str> = acting.map(|contract| contract.id.as_str()).collect();
    check(&["--preset", "read-only"], "", &without(&acting));
    let denied = "[[permissions]]\npermission = \"bash\"\naction = \"deny\"\n";
    check(&[], denied, &without(&["bash"]));
    check(&[], &denied.replace("action", "pattern = \"rm *\"\naction"), &all);
}

/// Returns the tools that a server of Ollama's wire was told of.
fn told(server: &ModelServer) -> Vec<Value> {
    let asked = server.asked().remove(0);
    let opening = asked.body["messages"][1]["content"].as_str().unwrap().to_owned();
    opening.lines().skip(1).map_while(|line| serde_json::from_str(line).ok()).collect()
}

/// A tool may answer otherwise than models are told; then their plans refer to nothing.
#[test]
fn tools_answer_as_models_are_told() {
    let world = World::with_files();
    let server = ModelServer::saying(WireProtocol::Ollama, &[READS]);
    server.shown(&world, &MAKE);
    let told = told(&server);
    let patch = "--- a/new.txt\n+++ b/new.txt\n@@ -1 +1 @@\n-1\n+2\n";
    let inputs = [
        ("write", json!({"path": "new.txt", "content": "1\n"})),
        ("apply_patch", json!({"patch": patch})),
        ("edit", json!({"path": "new.txt", "old_string": "2", "new_string": "3"})),
        ("glob", json!({"pattern": "*.txt"})),
        ("grep", json!({"pattern": "two"})),
        ("read", json!({"path": "notes.txt"})),
        ("todo", json!({"todos": [{"content": "x", "status": "pending"}]})),
        ("bash", json!({"cmd": "echo x"})),
        ("skill", json!({"name": "haft-plans"})),
    ];
    // Tools that need a person, a network or a search are not called here.
    for (tool, input) in inputs {
        let called = world.json(&["--allow", "bash", "call", tool, &input.to_string(), "--json"]);
        let example = &told.iter().find(|told| told["id"] == tool).unwrap()["output_example"];
        assert_eq!(form(&called["data"]), form(example), "{tool}");
    }
}

/// Returns a value with every text and number made alike, and one item of each list.
fn form(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), form(value))).collect()
        }
        Value::Array(items) => items.iter().take(1).map(form).collect(),
        Value::String(_) => json!("text"),
        Value::Number(_) => json!(0),
        Value::Bool(_) | Value::Null => value.clone(),
    }
}
