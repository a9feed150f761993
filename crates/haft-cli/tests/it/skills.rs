//! `haft skills`, and the tools that tell a model of skills and ask a person.

use expect_test::{Expect, expect};
use serde_json::json;

use crate::mcp_wire::driver::Server;
use crate::terminal::Terminal;
use crate::world::World;

fn with_skills() -> World {
    let world = World::with_files();
    world.write(
        "work/.agents/skills/release/SKILL.md",
        "---\nname: release\ndescription: Make a release. Load it before you tag.\n---\n\n# Release\n\nRead notes.md.\n",
    );
    world.write("work/.agents/skills/release/notes.md", "tag with v\n");
    world.write(
        "work/.claude/skills/broken/SKILL.md",
        "---\nname: broken\ndescription: a: b\n---\n",
    );
    world.write(
        "home/.agents/skills/mail/SKILL.md",
        "---\nname: mail\ndescription: Write mail.\n---\nBe kind.\n",
    );
    world.write("home/.agents/skills/mail/signature.txt", "Ada\n");
    world
}

#[test]
fn skills_are_listed_with_their_places() {
    with_skills().check(&["skills", "list"], &expect![[r#"
        SKILL       DIRECTORY               DESCRIPTION
        haft-plans  (bundled)               Write, check and run a haft plan - a JSON file of tool calls that run in parallel where they can, survive a crash and can be resumed. Load it when work consists of many tool calls whose order is known beforehand, or when a person asks for a plan file.
        mail        ~/.agents/skills/mail   Write mail.
        release     .agents/skills/release  Make a release. Load it before you tag.
        --- stderr
        warning: something is wrong with a skill

        hint: haft skills check

        --- status 0
    "#]]);
    let found = with_skills().json(&["skills", "list", "--json"]);
    let names: Vec<&str> =
        found.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["haft-plans", "mail", "release"]);
    assert_eq!(found[1]["source"], "user");
}

#[test]
fn a_skill_is_shown_as_a_model_gets_it() {
    let world = with_skills();
    world.check(&["skills", "show", "release"], &expect![[r#"
        <skill_content name="release">
        # Release

        Read notes.md.

        Directory of this skill: /world/work/.agents/skills/release
        Relative paths in it start there. Its other files can be opened with read, by their whole paths; what lies outside the workspace commands do not see:
        - notes.md
        </skill_content>
        --- status 0
    "#]]);
    world.check(&["call", "skill", r#"{"name":"release"}"#], &expect![[r#"
        <skill_content name="release">
        # Release

        Read notes.md.

        Directory of this skill: /world/work/.agents/skills/release
        Relative paths in it start there. Its other files can be opened with read, by their whole paths; what lies outside the workspace commands do not see:
        - notes.md
        </skill_content>
        --- status 0
    "#]]);
    world.check(
        &["skills", "show", "releas"],
        &expect![[r#"
        --- stderr
        error: no skill is called "releas": did you mean release?

        hint: haft skills list
        --- status 2
    "#]],
    );
    world.check(&["skills", "show", "broken"], &expect![[r#"
        --- stderr
        error: no skill is called "broken": expected one of haft-plans, mail, release
        /world/work/.claude/skills/broken/SKILL.md:3: error: the front matter is not YAML with a text for name and description: mapping values are not allowed in this context; put a text that holds a colon into quotes

        hint: haft skills list
        --- status 2
    "#]]);
    world.check(&["call", "skill", r#"{"name":"releas"}"#], &expect![[r#"
        --- stderr
        error: no skill is called "releas": did you mean release? There are haft-plans, mail, release

        hint: haft tools show skill
        --- status 2
    "#]]);
}

#[test]
fn skills_are_checked_with_file_and_line() {
    let world = with_skills();
    world.check(&["skills", "check"], &expect![[r#"
        /world/work/.claude/skills/broken/SKILL.md:3: error: the front matter is not YAML with a text for name and description: mapping values are not allowed in this context; put a text that holds a colon into quotes
        3 skills, 1 error, 0 warnings
        --- status 1
    "#]]);
    world.check(
        &["skills", "check", ".agents/skills"],
        &expect![[r#"
        1 skill, 0 errors, 0 warnings
        --- status 0
    "#]],
    );
    world.check(
        &["skills", "check", "nowhere"],
        &expect![[r#"
        nowhere: error: expected a skill or a directory of skills
        0 skills, 1 error, 0 warnings
        --- status 1
    "#]],
    );
}

#[test]
fn directories_of_a_manifest_come_last_and_outside_of_it_only_when_trusted() {
    let world = with_skills();
    let skill = |name: &str| format!("---\nname: {name}\ndescription: {name}\n---\n");
    world.write("work/tools/skills/inside/SKILL.md", &skill("inside"));
    world.write("elsewhere/outside/SKILL.md", &skill("outside"));
    world.write("work/haft.toml", "[skills]\npaths = [\"tools/skills\", \"../elsewhere\"]\n");
    world.check(&["skills", "list"], &expect![[r#"
        SKILL       DIRECTORY               DESCRIPTION
        haft-plans  (bundled)               Write, check and run a haft plan - a JSON file of tool calls that run in parallel where they can, survive a crash and can be resumed. Load it when work consists of many tool calls whose order is known beforehand, or when a person asks for a plan file.
        inside      tools/skills/inside     inside
        mail        ~/.agents/skills/mail   Write mail.
        release     .agents/skills/release  Make a release. Load it before you tag.
        --- stderr
        warning: /world/work/haft.toml is not trusted yet. haft ignores these settings of it:
          skills.paths = ["../elsewhere"]

        hint: haft trust /world/work/haft.toml

        warning: something is wrong with a skill

        hint: haft skills check

        --- status 0
    "#]]);
}

#[test]
fn instructions_are_one_text() {
    let world = World::with_files();
    world.check(
        &["skills", "instructions"],
        &expect![[r#"
        --- stderr
        there are no instructions: no AGENTS.md, CLAUDE.md or CONTEXT.md was found
        --- status 0
    "#]],
    );
    world.write("work/AGENTS.md", "Use tabs.\n");
    world.write("work/CONTEXT.md", "A test.\n");
    world.check(
        &["skills", "instructions"],
        &expect![[r#"
        # /world/work/AGENTS.md

        Use tabs.

        # /world/work/CONTEXT.md

        A test.
        --- status 0
    "#]],
    );
    let answer = world.json(&["skills", "instructions", "--json"]);
    assert_eq!((&answer["tokens"], answer["files"].as_array().unwrap().len()), (&json!(5), 2));
}

#[test]
fn the_files_of_a_loaded_skill_can_be_read_in_the_session() {
    let world = with_skills();
    let file = world.path("home/.agents/skills/mail/signature.txt");
    let read = json!({"path": file});
    let plan = |depends: serde_json::Value, first: &str| {
        json!({"nodes": [
            {"id": 0, "tool": "skill", "inputs": {"name": first}, "depends_on": []},
            {"id": 1, "tool": "read", "inputs": read, "depends_on": depends},
        ], "final_output_node": 1})
    };
    world.write("work/loaded.json", &plan(json!([0]), "mail").to_string());
    world.check(
        &["run", "loaded.json"],
        &expect![[r#"
        Ada
        --- stderr
        run run_XXXXXXXXXXXXXXXXXXXXXXXXXX: 2 nodes
        0 skill succeeded in 0 ms
        1 read  succeeded in 0 ms
        run run_XXXXXXXXXXXXXXXXXXXXXXXXXX finished in 0 ms: 2 of 2 nodes succeeded
        --- status 0
    "#]],
    );
    world.write("work/other.json", &plan(json!([0]), "release").to_string());
    let answer = world.shown(&world.haft(&["run", "other.json"]).output().unwrap());
    assert!(answer.contains("TOOL_PATH_ESCAPE"), "{answer}");
}

fn asked(input: &str, answers: &[&str], expect: &Expect) {
    let world = World::with_files();
    let mut terminal = Terminal::new();
    let child = terminal.start(&mut world.haft(&["call", "question", input]));
    for answer in answers {
        terminal.wait_for(": ");
        terminal.type_text(answer);
    }
    let (shown, stdout, status) = terminal.finish(child);
    expect.assert_eq(&format!("{shown}--- stdout\n{stdout}--- status {}\n", status.unwrap_or(-1)));
}

#[test]
fn the_person_at_the_terminal_answers_questions() {
    let questions = json!({"questions": [
        {"question": "Which database?", "header": "Storage", "options": [
            {"label": "SQLite", "description": "one file"}, {"label": "PostgreSQL"}]},
        {"question": "Which platforms?", "multi_select": true, "options": [
            {"label": "Linux"}, {"label": "macOS"}]},
        {"question": "What is it called?"},
    ]});
    asked(
        &questions.to_string(),
        &["\n", "2\n", "1,2\n", "haft\n"],
        &expect![[r#"

        The agent has 3 questions; what you answer allows nothing.

        1 of 3 · Storage:
          Which database?

           1. SQLite: one file
           2. PostgreSQL

        Your answer (a number, or your own words): 
        Please answer, or press Ctrl-D to leave it.

        Your answer (a number, or your own words): 2

        2 of 3:
          Which platforms?

           1. Linux
           2. macOS

        Your answer (numbers, separated by commas, or your own words): 1,2

        3 of 3:
          What is it called?

        Your answer: haft
        --- stdout
        {"answers":[["PostgreSQL"],["Linux","macOS"],["haft"]]}
        --- status 0
    "#]],
    );
    let one = json!({"questions": [{"question": "Sure?"}]}).to_string();
    asked(
        &one,
        &["\u{4}"],
        &expect![[r#"

            The agent has a question; what you answer allows nothing.

              Sure?

            Your answer: 
            No answer.
            error: the user did not answer: do not ask the same again; go on with your best assumption and say which one you made
            --- stdout
            --- status 1
        "#]],
    );
}

#[test]
fn without_a_terminal_nobody_answers() {
    let input = json!({"questions": [{"question": "Sure?"}]}).to_string();
    World::with_files().check(&["call", "question", &input], &expect![[r#"
        --- stderr
        error: No one is here to answer. Do not ask; go on with your best assumption and say which one you made.
        --- status 1
    "#]]);
}

/// Returns a running `haft mcp` of a world.
fn server(world: &World, args: &[&str]) -> Server {
    let mut command = world.haft(&[&["mcp"], args].concat());
    command.stderr(std::process::Stdio::null());
    Server::of_legacy(command)
}

#[test]
fn skills_are_prompts_of_the_mcp_server() {
    let world = with_skills();
    let mut server = server(&world, &["--run", "picked"]);
    let listed = server.request("prompts/list", json!({}));
    let prompts = listed["result"]["prompts"].as_array().unwrap();
    let names: Vec<&str> = prompts.iter().map(|prompt| prompt["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["haft-plans", "mail", "release"]);
    expect![[r#"{"name":"release","description":"Make a release. Load it before you tag.","arguments":[{"name":"request","description":"The work to do with this skill, in your own words","required":false}]}"#]]
        .assert_eq(&prompts[2].to_string());
    let arguments = json!({"request": "make 1.0"});
    let got = server.request("prompts/get", json!({"name": "mail", "arguments": arguments}));
    let messages = got["result"]["messages"].as_array().unwrap();
    let text = |at: usize| messages[at]["content"]["text"].as_str().unwrap();
    assert!(text(0).starts_with("<skill_content name=\"mail\">\nBe kind."), "{got}");
    assert_eq!(
        (messages[0]["role"].as_str(), text(1), messages.len()),
        (Some("user"), "make 1.0", 2)
    );
    // Filling it in was a call: its files can be read now, and the journal has it.
    let signature = world.path("home/.agents/skills/mail/signature.txt");
    let read = server.call("read", json!({"path": signature}));
    assert_eq!(read["result"]["content"][0]["text"], "Ada\n", "{read}");
    let refused = |server: &mut Server, params: serde_json::Value| {
        server.request("prompts/get", params)["error"]["message"].as_str().unwrap().to_owned()
    };
    expect!["no prompt is called \"none\": see prompts/list"]
        .assert_eq(&refused(&mut server, json!({"name": "none"})));
    expect!["prompt \"mail\": expected a text as argument \"request\""]
        .assert_eq(&refused(&mut server, json!({"name": "mail", "arguments": {"request": 1}})));
    let complete = |kind: &str, key: &str, name: &str| {
        let named = json!({"type": kind, key: name});
        json!({"ref": named, "argument": {"name": "request", "value": ""}})
    };
    let none = server.request("completion/complete", complete("ref/prompt", "name", "mail"));
    assert_eq!(none["result"]["completion"]["values"], json!([]), "{none}");
    let unknown = server.request("completion/complete", complete("ref/prompt", "name", "none"));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    // The names of cut outputs are completed.
    server.call("bash", json!({"cmd": "seq 100000"}));
    let template = complete("ref/resource", "uri", "haft://output/{name}");
    let found = server.request("completion/complete", template);
    let values = found["result"]["completion"]["values"].as_array().unwrap();
    assert!(values.len() == 1 && values[0].as_str().unwrap().ends_with("-bash.txt"), "{found}");
    server.end();
    let calls = world.json(&["runs", "show", "picked", "--json"]);
    assert!(calls.to_string().contains(r#"{"name":"mail"}"#), "{calls}");
}

#[test]
fn a_rule_about_a_skill_holds_for_its_prompt() {
    let world = with_skills();
    let deny = "[[permissions]]\npermission = \"skill\"\naction = \"deny\"\n";
    world.write("work/haft.toml", deny);
    let mut denied = server(&world, &[]);
    let got = denied.request("prompts/get", json!({"name": "mail"}));
    let message = got["error"]["message"].as_str().unwrap();
    assert!(message.contains("prompt \"mail\" cannot be filled in: skill is denied"), "{got}");
    denied.end();
    // Without the tool there are no prompts.
    let mut without = server(&world, &["--tools", "read"]);
    let got = without.request("prompts/list", json!({}));
    assert_eq!(got["error"]["code"], -32601, "{got}");
    without.end();
}
