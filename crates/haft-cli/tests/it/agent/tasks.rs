//! Tasks from the prompt to the answer, on the wires of two providers.

use expect_test::expect;
use haft_scripted_model::{ScriptedReply, WireProtocol};
use serde_json::{Value, json};

use super::Stage;
use super::repository::{ANSWER, PROMPT, is_mended, replies, with_bug};
use crate::world::World;

#[test]
fn a_bug_is_found_and_mended_with_a_subagent() {
    for wire in [WireProtocol::OpenAi, WireProtocol::Anthropic] {
        let stage = Stage::speaking(wire, with_bug(), replies());
        let output = stage.haft(&["agent", PROMPT]).output().unwrap();
        let shown = stage.masked(&stage.world.shown(&output));
        assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{ANSWER}\n"), "{shown}");
        assert_eq!(output.status.code(), Some(0), "{shown}");
        assert!(is_mended(&stage.world), "{shown}");
        // The agent got the subagent's result, and both got the project's instructions.
        assert!(stage.told(3).contains("src/sum.sh:2 defines sum."), "{}", stage.told(3));
        assert!(stage.told(0).contains("Tests are run by"), "{}", stage.told(0));
        // The first time the test failed, the second time it passed.
        assert!(stage.told(6).contains("expected 5, found -1"), "{}", stage.told(6));
        assert!(stage.told(8 - 1).contains("passed"), "{}", stage.told(7));
    }
}

#[test]
fn what_happens_is_said_on_standard_error() {
    let stage = Stage::new(with_bug(), replies());
    expect![[r#"
        Mended: src/sum.sh:3 subtracted where it should add. The test passes.
        --- stderr
        session ses_1 · build · openai/test
        First I find the code.
          explore works (ses_2): Where is the sum of two numbers computed?
          explore · grep sum · 4 matches · 0 ms
          explore is done (60 tokens read, 8 written)
        → task explore · 1 line · 0 ms
        → read src/sum.sh · 4 lines · 0 ms
        → read test.sh · 4 lines · 0 ms
        → bash sh test.sh · TOOL_COMMAND_FAILED: sh exited with status 1 expected 5, found -1 · 0 ms
        It subtracts.
        → edit src/sum.sh · 0 ms
            1  # Prints the sum of two numbers.
            2  sum() {
            3 -    echo $(($1 - $2))
            3 +    echo $(($1 + $2))
            4  }
        → bash sh test.sh · 1 line · 0 ms
        --- status 0
    "#]]
    .assert_eq(&ordered(&stage.shown(&["agent", PROMPT])));
}

/// Calls that are made at the same time end in any order: their lines are sorted where they stand together.
fn ordered(shown: &str) -> String {
    let mut lines: Vec<&str> = shown.split('\n').collect();
    let is_read = |line: &str| line.starts_with("→ read ");
    for group in lines.chunk_by_mut(|one, other| is_read(one) && is_read(other)) {
        group.sort_unstable();
    }
    lines.join("\n")
}

#[test]
fn the_calls_of_a_session_are_the_calls_of_its_run() {
    let stage = Stage::new(with_bug(), replies());
    stage.shown(&["agent", PROMPT]);
    let session = stage.latest();
    let run = stage.world.json(&["runs", "show", &session, "--json"]);
    let calls = run["calls"].as_array().unwrap();
    let tools: Vec<&str> = calls.iter().map(|call| call["tool"].as_str().unwrap()).collect();
    assert_eq!(tools, ["task", "read", "read", "bash", "edit", "bash"]);
}

#[test]
fn text_that_is_piped_in_is_the_prompt() {
    let stage = Stage::new(World::new(), [ScriptedReply::new().text("I see.")]);
    let mut command = stage.haft(&["agent"]);
    let prompt = stage.world.path("prompt.txt");
    std::fs::write(&prompt, "expected 5, found -1\n").unwrap();
    let output = command.stdin(std::fs::File::open(prompt).unwrap()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "I see.\n");
    assert!(stage.told(0).contains("expected 5, found -1"));
}

#[test]
fn nobody_is_asked_where_nobody_is() {
    let write = json!({"path": "new.txt", "content": "hello"});
    let replies = || {
        [
            ScriptedReply::new().call("write", write.clone()),
            ScriptedReply::new().text("I was not allowed to."),
        ]
    };
    for args in [
        &["agent", "--preset", "ask", "--headless", "Write it"][..],
        &["agent", "--preset", "ask", "Write it"],
    ] {
        let stage = Stage::new(World::new(), replies());
        let output = stage.haft(args).output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        assert!(!stage.world.path("work/new.txt").exists());
        assert!(stage.told(1).contains("needs approval"), "{}", stage.told(1));
    }
}

#[test]
fn what_cannot_be_begun_says_what_to_do() {
    let world = World::new();
    world.check(
        &["agent"],
        &expect![[r#"
        --- stderr
        error: there is no prompt, and no terminal to have a conversation on: say what is to be done

        hint: haft agent 'What is this project about?'
        --- status 2
    "#]],
    );
    world.check(
        &["agent", "Hello"],
        &expect![[r#"
        --- stderr
        error: no model is named: choose one, or put `name` into the table [model] of haft.toml

        hint: export HAFT_MODEL=openai/gpt-5
        --- status 2
    "#]],
    );
    let stage = Stage::new(World::new(), []);
    expect![[r#"
        --- stderr
        error: no agent "nobody" can be talked to: expected one of build, plan

        hint: haft agents list
        --- status 2
    "#]]
    .assert_eq(&stage.shown(&["agent", "--agent", "nobody", "Hello"]));
    expect![[r#"
        --- stderr
        error: no agent "explore" can be talked to: expected one of build, plan

        hint: haft agents list
        --- status 2
    "#]]
    .assert_eq(&stage.shown(&["agent", "--agent", "explore", "Hello"]));
    expect![[r#"
        --- stderr
        error: there is no session in this workspace yet

        hint: haft agent 'What is this project about?'
        --- status 2
    "#]]
    .assert_eq(&stage.shown(&["agent", "--resume", "last", "Hello"]));
    expect![[r#"
        --- stderr
        error: "ses_nope" is no id of a session: expected ses_ and 26 digits and letters, such as ses_1

        hint: haft sessions list
        --- status 2
    "#]].assert_eq(&stage.shown(&["agent", "--resume", "ses_nope", "Hello"]));
    expect![[r#"
        {"type":"failure","status":"usage","message":"there is no session ses_1","hint":"haft sessions list"}
        --- stderr
        error: there is no session ses_1

        hint: haft sessions list
        --- status 2
    "#]].assert_eq(&stage.shown(&[
        "agent",
        "--resume",
        "ses_01jd3k8x5m9q2w7y4t6r8v0c3z",
        "--json",
    ]));
}

#[test]
fn a_model_that_fails_fails_the_turn() {
    let failure = haft_scripted_model::ModelScript::parse(
        r#"{"replies": [{"failure": {"status": 400, "message": "that is no request"}}]}"#,
    )
    .unwrap();
    let stage = Stage::new(World::new(), failure.replies);
    let output = stage.haft(&["agent", "Hello", "--json"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let last: Value =
        serde_json::from_slice(output.stdout.split(|byte| *byte == b'\n').rev().nth(1).unwrap())
            .unwrap();
    assert_eq!((last["type"].as_str(), last["end"].as_str()), (Some("turn_ended"), Some("failed")));
    assert!(!output.stderr.is_empty());
}

#[test]
fn a_session_is_gone_on_with() {
    let stage = Stage::new(
        World::new(),
        [ScriptedReply::new().text("Hello Ada."), ScriptedReply::new().text("You are Ada.")],
    );
    stage.shown(&["agent", "I am Ada."]);
    let output = stage.haft(&["agent", "--resume", "last", "Who am I?"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "You are Ada.\n");
    assert!(stage.told(1).contains("Hello Ada."), "{}", stage.told(1));
    // Where there is nothing to go on with, the last answer is the answer.
    let output = stage.haft(&["agent", "--resume", "last"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "You are Ada.\n");
    assert_eq!(stage.model.requests().len(), 2);
}

#[test]
fn a_session_is_gone_on_with_by_another_model_if_the_command_says_so() {
    let replies = ["One.", "Two.", "Three.", "Four."].map(|text| ScriptedReply::new().text(text));
    let stage = Stage::new(World::new(), replies);
    stage.shown(&["agent", "Hello"]);
    let asked = |args: &[&str], model: &str| {
        let mut command =
            stage.haft(&[&["agent", "--resume", "last"], args, &["And now?"]].concat());
        let output = command.env("HAFT_MODEL", model).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{said}");
        let requests = stage.model.requests();
        (requests.last().unwrap().body["model"].as_str().unwrap().to_owned(), said)
    };
    let (model, said) = asked(&[], "openai/of-the-environment");
    assert_eq!(model, "test");
    let kept = "the session keeps its model: openai/test is asked, and openai/of-the-environment is not (--model changes it)";
    assert!(said.contains(kept), "{said}");
    assert_eq!(asked(&["--model", "openai/other"], "openai/test").0, "other");
    // From then on.
    assert_eq!(asked(&[], "openai/test").0, "other");
    let listed = stage.world.json(&["sessions", "list", "--json"]);
    assert_eq!(listed[0]["model"], "openai/other");
}

#[test]
fn the_manifest_names_the_agent_and_bounds_its_turns() {
    let world = World::new();
    world.write("work/haft.toml", "[agent]\ndefault = \"plan\"\nmax_steps = 1\n");
    let stage = Stage::new(world, [ScriptedReply::new().call("glob", json!({"pattern": "*"}))]);
    let shown = stage.shown(&["agent", "Look"]);
    assert!(shown.contains("session ses_1 · plan · openai/test"), "{shown}");
    assert!(shown.contains("error: the agent has answered as often as it may"), "{shown}");
    assert!(shown.ends_with("--- status 1\n"), "{shown}");
}

#[test]
fn so_many_problems_of_agents_are_said_at_the_beginning() {
    let world = World::new();
    for number in 0..3 {
        world.write(&format!("work/agents/a{number}.md"), "no front matter\n");
    }
    let stage = Stage::new(
        world,
        [ScriptedReply::new().text("Hello."), ScriptedReply::new().text("Hello.")],
    );
    let said = stage.shown(&["agent", "Hello"]);
    assert_eq!(said.matches("warning: agent ").count(), 3, "{said}");
    assert!(!said.contains("more problem"), "{said}");
    stage.world.write("work/agents/a3.md", "no front matter\n");
    let said = stage.shown(&["agent", "Hello"]);
    assert_eq!(said.matches("warning: agent ").count(), 3, "{said}");
    assert!(
        said.contains("warning: and 1 more problem with agents\n\nhint: haft agents check\n"),
        "{said}"
    );
}
