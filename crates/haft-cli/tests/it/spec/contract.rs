//! The agent tool contract: the locked tools and what each requires, the envelope, outputs that are cut, and sessions.

use std::fmt::Write as _;

use haft_scripted_model::ScriptedReply;
use serde_json::{Value, json};

use super::{OUTPUT_BYTES, call, code, error_text, rows, trust};
use crate::agent::Stage;
use crate::editors::wire::Wire;
use crate::mcp_wire::driver::{Place, Server, initialize};
use crate::python::tool;
use crate::world::World;

/// A provider of searches, without which `web_search` is not offered.
const PROVIDER: &str =
    "[[web_search.providers]]\nkind = \"searxng\"\nurl = \"https://search.example\"\n";

/// So many tools that some are searched for, without which `tool_search` is not listed.
const MANY_TOOLS: &str = "[[python]]\ndir = \"tools\"\n[limits]\nlisted_tools = 1\n";

/// Returns what a tool requires, without the patterns.
fn required(tool: &str) -> String {
    let shown = World::new().json(&["tools", "show", tool, "--json"]);
    let requires = &shown["requires"];
    let mut names = String::new();
    for (name, pointer) in [
        ("fs.read ", "/fs/read"),
        ("fs.write ", "/fs/write"),
        ("net.fetch ", "/net/hosts"),
        ("shell.run ", "/shell"),
    ] {
        if requires.pointer(pointer).is_some() {
            names.push_str(name);
        }
    }
    names.trim_end().to_owned()
}

#[test]
fn read_reads_a_file() {
    let answer = call(&World::with_files(), &[], "read", &json!({"path": "notes.txt"}));
    assert_eq!(
        (&answer["data"], required("read").as_str()),
        (&json!("one\ntwo\nthree\n"), "fs.read")
    );
}

#[test]
fn write_creates_and_overwrites_a_file() {
    let world = World::with_files();
    for path in ["new.txt", "notes.txt"] {
        assert_eq!(
            code(&call(&world, &[], "write", &json!({"path": path, "content": "x"}))),
            "none"
        );
        assert_eq!(world.read(&format!("work/{path}")), "x");
    }
    assert!(required("write").contains("fs.write"));
}

#[test]
fn edit_replaces_a_passage_of_an_existing_file() {
    let world = World::with_files();
    let edit = |old: &str| {
        let input = json!({"path": "notes.txt", "old_string": old, "new_string": "2"});
        code(&call(&world, &[], "edit", &input)).to_owned()
    };
    assert_eq!(edit("two"), "none");
    assert_eq!(world.read("work/notes.txt"), "one\n2\nthree\n");
    assert_eq!(edit("absent"), "TOOL_EDIT_NO_MATCH");
    world.write("work/notes.txt", "a\na\n");
    assert_eq!(edit("a"), "TOOL_EDIT_AMBIGUOUS");
    assert_eq!(required("edit"), "fs.read fs.write");
}

#[test]
fn edit_has_no_richer_shape() {
    let shown = World::new().json(&["tools", "show", "edit", "--json"]);
    let names: Vec<&String> =
        shown["parameters"]["properties"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["path", "old_string", "new_string", "replace_all"]);
}

#[test]
fn glob_lists_files_by_a_pattern() {
    let answer = call(&World::with_files(), &[], "glob", &json!({"pattern": "**/*.rs"}));
    assert_eq!(
        (&answer["data"]["paths"], required("glob").as_str()),
        (&json!(["src/main.rs"]), "fs.read")
    );
}

#[test]
fn grep_searches_the_root_by_a_regular_expression() {
    let answer = call(&World::with_files(), &[], "grep", &json!({"pattern": "^tw[o]$"}));
    assert_eq!(
        (&answer["data"]["matches"], required("grep").as_str()),
        (&json!(["notes.txt:2:two"]), "fs.read")
    );
}

#[test]
fn bash_runs_a_command_that_is_judged_by_its_words() {
    let world = World::with_files();
    let deny = "[[permissions]]\npermission = \"bash\"\npattern = \"rm *\"\naction = \"deny\"\n";
    world.write("work/haft.toml", deny);
    let bash = |line: &str| code(&call(&world, &[], "bash", &json!({"cmd": line}))).to_owned();
    assert_eq!(bash("echo a | cat"), "none");
    assert_eq!(bash("echo a; rm notes.txt"), "PERMISSION_DENIED");
    assert!(required("bash").contains("shell.run"));
}

#[test]
fn bash_keeps_nothing_from_call_to_call() {
    let place = Place::new();
    let mut server = Server::start_legacy(&place, &[]);
    server.call("bash", json!({"cmd": "cd /tmp; export X=1"}));
    let answer = server.call("bash", json!({"cmd": "echo \"$PWD $X.\""}));
    let expect = format!("{} .\n", place.root().display());
    assert_eq!(answer["result"]["content"][0]["text"], expect);
    server.end();
}

#[test]
fn todo_keeps_a_list_for_the_session() {
    let list = json!({"todos": [{"content": "test", "status": "pending"}]});
    let answer = call(&World::new(), &[], "todo", &list);
    assert_eq!((&answer["data"], required("todo").as_str()), (&list, ""));
}

#[test]
fn skill_loads_the_body_of_a_skill() {
    let world = World::new();
    let skill = "---\nname: release\ndescription: Make a release.\n---\n\nTag it first.\n";
    world.write("work/.agents/skills/release/SKILL.md", skill);
    let answer = call(&world, &[], "skill", &json!({"name": "release"}));
    let text = answer["data"].to_string();
    assert!(text.contains("Tag it first.") && text.contains("skill_content"), "{answer}");
    assert_eq!(required("skill"), "");
}

#[test]
fn skills_are_lines_of_the_system_prompt() {
    let world = World::new();
    let skill = "---\nname: release\ndescription: Make a release.\n---\n\nTag it first.\n";
    world.write("work/.agents/skills/release/SKILL.md", skill);
    let replies = [
        ScriptedReply::new().call("skill", json!({"name": "release"})),
        ScriptedReply::new().text("Done."),
    ];
    let stage = Stage::new(world, replies);
    stage.haft(&["agent", "Release it"]).output().unwrap();
    let (first, second) = (stage.told(0), stage.told(1));
    assert!(first.contains("Make a release.") && !first.contains("Tag it first."), "{first}");
    assert!(second.contains("Tag it first."), "{second}");
}

#[test]
fn tools_that_were_searched_for_are_found() {
    let answer = call(&World::new(), &[], "tool_search", &json!({"query": "replace a passage"}));
    assert_eq!(
        (&answer["data"]["matches"][0]["id"], required("tool_search").as_str()),
        (&json!("edit"), "")
    );
}

#[test]
fn web_search_reaches_the_host_of_its_provider() {
    let world = World::new();
    trust(&world, PROVIDER);
    let shown = world.json(&["tools", "show", "web_search", "--json"]);
    assert_eq!(shown["requires"], json!({"net": {"hosts": ["search.example"]}}));
}

#[test]
fn web_search_takes_a_query_and_a_number() {
    let shown = World::new().json(&["tools", "show", "web_search", "--json"]);
    let names: Vec<&String> =
        shown["parameters"]["properties"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["query", "max_results"]);
}

#[test]
fn question_has_the_published_shape() {
    let shown = World::new().json(&["tools", "show", "question", "--json"]);
    let question = &shown["parameters"]["properties"]["questions"]["items"];
    let mut names: Vec<&String> = question["properties"].as_object().unwrap().keys().collect();
    names.sort_unstable();
    assert_eq!(names, ["header", "multi_select", "options", "question"]);
    assert_eq!(question["required"], json!(["question"]));
    let option = &question["properties"]["options"]["items"];
    assert_eq!(option["required"], json!(["label"]), "{option}");
    assert!(option["properties"]["description"].is_object(), "{option}");
    assert_eq!(required("question"), "");
}

#[test]
fn question_without_a_person_is_a_fixed_error() {
    let world = World::new();
    let input = json!({"questions": [{"question": "Which?"}]});
    let answer = call(&world, &["--headless"], "question", &input);
    let text = "No one is here to answer. Do not ask; go on with your best assumption and say which one you made.";
    assert_eq!((code(&answer), error_text(&answer)), ("HEADLESS", text));
}

/// Returns the tools that a client is told of.
fn listed(server: &mut Server) -> Vec<Value> {
    server.request("tools/list", json!({}))["result"]["tools"].as_array().unwrap().clone()
}

#[test]
fn a_client_gets_the_locked_tools_but_task() {
    let place = Place::new();
    place.write("haft.toml", &format!("{PROVIDER}{MANY_TOOLS}"));
    std::fs::create_dir(place.root().join("tools")).unwrap();
    place.write("tools/one.py", &tool("one", "", "return 1"));
    place.write("tools/two.py", &tool("two", "", "return 2"));
    place.haft_json(&["trust", "--json"]);
    // `question` is for clients that can ask a person.
    let mut server = Server::start(&place, &[]);
    let mut hello = initialize();
    hello["capabilities"] = json!({"elicitation": {}});
    server.request("initialize", hello);
    server.notify("notifications/initialized", json!({}));
    let listed = listed(&mut server);
    for id in [
        "read",
        "write",
        "edit",
        "glob",
        "grep",
        "bash",
        "todo",
        "question",
        "web_search",
        "web_fetch",
        "skill",
        "tool_search",
    ] {
        assert!(listed.iter().any(|tool| tool["name"] == id), "{id}");
    }
    server.end();
}

#[test]
fn an_agent_gets_all_locked_tools() {
    let world = World::new();
    world.write("work/tools/one.py", &tool("one", "", "return 1"));
    world.write("work/tools/two.py", &tool("two", "", "return 2"));
    trust(&world, &format!("{PROVIDER}{MANY_TOOLS}"));
    let stage = Stage::new(world, [ScriptedReply::new().text("Hello.")]);
    let mut editor = Wire::start(stage.haft(&["acp"]));
    let opened = editor.open("session/new", None, stage.world.path("work").to_str().unwrap());
    editor.say(opened["result"]["sessionId"].as_str().unwrap(), "Hello");
    let requests = stage.model.requests();
    let tools = requests[0].body["tools"].as_array().unwrap();
    for id in [
        "read",
        "write",
        "edit",
        "glob",
        "grep",
        "bash",
        "todo",
        "task",
        "question",
        "web_search",
        "web_fetch",
        "skill",
        "tool_search",
    ] {
        assert!(tools.iter().any(|tool| tool["function"]["name"] == id), "{id}");
    }
}

#[test]
fn the_names_of_tools_stay_the_same() {
    let place = Place::new();
    let names = || {
        let mut server = Server::start_legacy(&place, &[]);
        let names: Vec<Value> =
            listed(&mut server).iter().map(|tool| tool["name"].clone()).collect();
        server.end();
        names
    };
    assert_eq!(names(), names());
}

#[test]
fn a_tool_publishes_its_description_and_schema() {
    let place = Place::new();
    let mut server = Server::start_legacy(&place, &[]);
    for tool in listed(&mut server) {
        assert!(tool["description"].as_str().is_some_and(|text| text.len() > 10), "{tool}");
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
    }
    server.end();
}

#[test]
fn a_tool_publishes_what_it_requires() {
    let place = Place::new();
    let mut server = Server::start_legacy(&place, &[]);
    let listed = listed(&mut server);
    let read = listed.iter().find(|tool| tool["name"] == "read").unwrap();
    assert_eq!(read["_meta"]["haft/requires"], json!({"fs": {"read": ["{workspace}/**"]}}));
    server.end();
}

#[test]
fn an_input_that_does_not_fit_is_an_error_of_the_tool() {
    let place = Place::new();
    let mut server = Server::start_legacy(&place, &[]);
    let answer = server.call("read", json!({"pth": 1}));
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("pth: no such parameter"), "{text}");
    server.end();
}

#[test]
fn a_locked_name_is_not_taken_by_another_tool() {
    let world = World::with_files();
    world.write("work/tools/read.py", &tool("read", "", "return 'mine'"));
    let answer = call(&world, &["--python", "tools"], "read", &json!({"path": "notes.txt"}));
    assert_eq!(answer["data"], "one\ntwo\nthree\n", "{answer}");
    world.write("work/haft.toml", "[[commands]]\nid = \"read\"\nargv = [\"echo\"]\n");
    let output = world.haft(&["trust"]).output().unwrap();
    let call = world.haft(&["call", "read", r#"{"path":"notes.txt"}"#]).output().unwrap();
    let shown = format!("{}{}", world.shown(&output), world.shown(&call));
    assert!(!call.status.success() && shown.contains("read"), "{shown}");
}

#[test]
fn an_overview_of_a_repository_has_its_tree_and_languages() {
    let answer = call(&World::with_files(), &[], "repo_overview", &json!({}));
    assert_eq!(answer["data"]["languages"][0]["language"], "Rust", "{answer}");
    assert!(answer["data"]["tree"].as_str().unwrap().contains("main.rs"), "{answer}");
}

#[test]
fn a_patch_of_several_files_is_applied_whole_or_not_at_all() {
    let world = World::with_files();
    let first = "--- a/notes.txt\n+++ b/notes.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n";
    let second = "--- a/src/main.rs\n+++ b/src/main.rs\n@@ -1,1 +1,1 @@\n-absent\n+x\n";
    let answer = call(&world, &[], "apply_patch", &json!({"patch": format!("{first}{second}")}));
    assert_eq!(code(&answer), "TOOL_PATCH_FAILED");
    assert_eq!(world.read("work/notes.txt"), "one\ntwo\nthree\n");
    let answer = call(&world, &[], "apply_patch", &json!({"patch": first}));
    assert_eq!(code(&answer), "none", "{answer}");
}

#[test]
fn every_kind_of_tool_answers_with_one_envelope() {
    let world = World::with_files();
    world.write("work/tools/look_up.py", &tool("look_up", "", "return 1"));
    let command = "[[commands]]\nid = \"say\"\nargv = [\"echo\", \"hi\"]\neffect = \"read\"\ndangerous = false\n\
                   [[permissions]]\npermission = \"say\"\naction = \"allow\"\n";
    trust(&world, command);
    for (tool, input) in [
        ("read", json!({"path": "notes.txt"})),
        ("look_up", json!({})),
        ("say", json!({})),
        ("bash", json!({"cmd": "exit 1"})),
    ] {
        let answer = call(&world, &["--python", "tools"], tool, &input);
        assert!(answer["metadata"]["duration_ms"].is_u64(), "{answer}");
        match answer["type"].as_str() {
            Some("output") => assert!(answer.get("data").is_some(), "{answer}"),
            Some("error") => assert!(answer["error_text"].is_string(), "{answer}"),
            _ => panic!("{answer}"),
        }
    }
}

#[test]
fn an_output_is_told_from_an_error() {
    let world = World::with_files();
    let output = call(&world, &[], "read", &json!({"path": "notes.txt"}));
    assert_eq!((&output["type"], output.get("error_text")), (&json!("output"), None));
    let error = call(&world, &[], "read", &json!({"path": "none"}));
    assert_eq!((&error["type"], error.get("data")), (&json!("error"), None));
}

#[test]
fn an_envelope_says_how_long_the_call_took() {
    let answer = call(&World::new(), &[], "bash", &json!({"cmd": "sleep 0.2"}));
    assert!(answer["metadata"]["duration_ms"].as_u64().unwrap() >= 200, "{answer}");
}

/// Returns the envelope of a command that prints more than the limit, and what it printed.
fn cut() -> (Value, String) {
    let answer = call(&World::new(), &[], "bash", &json!({"cmd": "seq 100000"}));
    let printed = (1..=100_000).fold(String::new(), |mut printed, number| {
        writeln!(printed, "{number}").unwrap();
        printed
    });
    (answer, printed)
}

#[test]
fn an_envelope_says_that_its_output_was_cut() {
    assert_eq!(cut().0["metadata"]["truncated"], true);
    let whole = call(&World::new(), &[], "bash", &json!({"cmd": "echo hi"}));
    assert_eq!(whole["metadata"].get("truncated"), None);
}

#[test]
fn an_envelope_names_the_file_with_the_whole_output() {
    let world = World::new();
    let answer = call(&world, &[], "bash", &json!({"cmd": "seq 100000"}));
    let path = answer["metadata"]["output_path"].as_str().unwrap();
    assert_eq!(std::fs::read_to_string(path).unwrap(), cut().1);
}

#[test]
fn a_cut_output_begins_as_the_whole_does() {
    let (answer, printed) = cut();
    let head = answer["data"]["head"].as_str().unwrap();
    assert!(printed.starts_with(head) && head.len() > OUTPUT_BYTES / 2, "{}", head.len());
}

#[test]
fn the_rest_of_an_output_lies_in_a_directory_of_the_session() {
    let world = World::new();
    let answer = call(&world, &[], "bash", &json!({"cmd": "seq 100000"}));
    let path = std::path::PathBuf::from(answer["metadata"]["output_path"].as_str().unwrap());
    assert!(path.starts_with(world.path("state/sessions")), "{}", path.display());
}

#[test]
fn a_session_is_recorded_in_parts() {
    let world = World::with_files();
    let replies = [
        ScriptedReply::new().call("read", json!({"path": "notes.txt"})),
        ScriptedReply::new().text("It counts."),
    ];
    let stage = Stage::new(world, replies);
    stage.haft(&["agent", "Read it"]).output().unwrap();
    let parts = rows(&stage.world, "SELECT * FROM chat_parts WHERE output_json IS NOT NULL");
    let envelope: Value = serde_json::from_str(parts[0]["output_json"].as_str().unwrap()).unwrap();
    assert_eq!(
        (&envelope["type"], &envelope["data"]),
        (&json!("output"), &json!("one\ntwo\nthree\n"))
    );
}

#[test]
fn a_replay_gives_the_recorded_answer() {
    let world = World::with_files();
    let input = json!({"path": "notes.txt"});
    let first = call(&world, &["--run", "r1"], "read", &input);
    world.write("work/notes.txt", "changed\n");
    let again = call(&world, &["--run", "r1", "--resume", "replay"], "read", &input);
    assert_eq!((&again["data"], &again["metadata"]["replayed"]), (&first["data"], &json!(true)));
}

#[test]
fn a_large_file_is_read_in_ranges() {
    let world = World::new();
    world.write("work/big.txt", &format!("{}\n", "x".repeat(99)).repeat(3_000));
    let read = |more: Value| {
        let mut input = json!({"path": "big.txt"});
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        call(&world, &[], "read", &input)
    };
    assert_eq!(code(&read(json!({}))), "TOOL_FILE_TOO_LARGE");
    let part = read(json!({"byte_offset": 299_990, "byte_limit": 10}));
    assert_eq!(part["data"], "xxxxxxxxx\n", "{part}");
    let part = read(json!({"start_line": 2_999, "end_line": 2_999}));
    assert_eq!(part["data"].as_str().unwrap().len(), 100);
}

#[test]
fn glob_lists_a_thousand_entries() {
    let world = World::new();
    for number in 0..1_000 {
        world.write(&format!("work/{number:04}.txt"), "");
    }
    let glob = || call(&world, &[], "glob", &json!({"pattern": "*.txt"}));
    let whole = glob();
    assert_eq!(
        (whole["data"]["paths"].as_array().unwrap().len(), whole["metadata"].get("truncated")),
        (1_000, None)
    );
    world.write("work/1000.txt", "");
    let cut = glob();
    assert_eq!(cut["metadata"]["truncated"], true);
    assert_eq!(cut["data"]["head"].as_str().unwrap().lines().count(), 1_000);
}

#[test]
fn grep_shows_two_hundred_matches() {
    let world = World::new();
    let grep = |lines: usize| {
        world.write("work/many.txt", &"needle\n".repeat(lines));
        call(&world, &[], "grep", &json!({"pattern": "needle"}))
    };
    let whole = grep(200);
    assert_eq!(
        (whole["data"]["matches"].as_array().unwrap().len(), whole["metadata"].get("truncated")),
        (200, None)
    );
    let cut = grep(201);
    assert_eq!(cut["metadata"]["truncated"], true);
    assert_eq!(cut["data"]["head"].as_str().unwrap().lines().count(), 200);
}

#[test]
fn bash_shows_200_kilobytes() {
    let world = World::new();
    let bash =
        |bytes: usize| call(&world, &[], "bash", &json!({"cmd": format!("yes | head -c {bytes}")}));
    let whole = bash(OUTPUT_BYTES);
    assert_eq!(whole["metadata"].get("truncated"), None);
    assert_eq!(whole["data"]["output"].as_str().unwrap().len(), OUTPUT_BYTES);
    assert_eq!(bash(OUTPUT_BYTES + 1)["metadata"]["truncated"], true);
}

/// Has an editor's agent make these calls, and returns the updates about them.
fn updates(calls: &[(&str, Value)]) -> Vec<Value> {
    let mut reply = ScriptedReply::new();
    for (tool, input) in calls {
        reply = reply.call(tool, input.clone());
    }
    let stage = Stage::new(World::with_files(), [reply, ScriptedReply::new().text("Done.")]);
    let mut editor = Wire::start(stage.haft(&["acp"]));
    let opened = editor.open("session/new", None, stage.world.path("work").to_str().unwrap());
    editor.say(opened["result"]["sessionId"].as_str().unwrap(), "Do it");
    editor.updates().into_iter().filter(|update| update["toolCallId"].is_string()).collect()
}

#[test]
fn every_call_of_an_editor_has_a_kind_from_the_beginning() {
    let updates = updates(&[
        ("read", json!({"path": "notes.txt"})),
        ("grep", json!({"pattern": "two"})),
        ("bash", json!({"cmd": "true"})),
    ]);
    let first: Vec<&Value> =
        updates.iter().filter(|it| it["sessionUpdate"] == "tool_call").collect();
    assert_eq!(first.len(), 3, "{updates:?}");
    for update in first {
        assert!(update["kind"].is_string(), "{update}");
    }
}

#[test]
fn each_locked_tool_has_its_kind() {
    let world = World::new();
    let kinds: Vec<String> = [
        "read",
        "write",
        "edit",
        "glob",
        "grep",
        "bash",
        "web_search",
        "web_fetch",
        "skill",
        "todo",
        "task",
        "question",
        "tool_search",
    ]
    .iter()
    .map(|tool| {
        let shown = world.json(&["tools", "show", tool, "--json"]);
        format!("{tool} {}", shown["kind"].as_str().unwrap())
    })
    .collect();
    let expect = [
        "read read",
        "write edit",
        "edit edit",
        "glob search",
        "grep search",
        "bash execute",
        "web_search fetch",
        "web_fetch fetch",
        "skill think",
        "todo other",
        "task other",
        "question other",
        "tool_search search",
    ];
    assert_eq!(kinds, expect);
}

#[test]
fn a_client_that_takes_no_questions_gets_the_refusal() {
    let place = Place::new();
    let mut server = Server::start(&place, &["--preset", "ask"]);
    server.request("initialize", initialize());
    server.notify("notifications/initialized", json!({}));
    let answer = server.call("question", json!({"questions": [{"question": "Which?"}]}));
    assert_eq!(answer["result"]["_meta"]["haft/code"], "HEADLESS", "{answer}");
    let answer = server.call("write", json!({"path": "a.txt", "content": "x"}));
    assert_eq!(answer["result"]["_meta"]["haft/code"], "PERMISSION_DENIED", "{answer}");
    assert!(!place.root().join("a.txt").exists());
    server.end();
}
