//! `haft sessions`: listing, showing, exporting, forking and rewinding what was said.

use expect_test::expect;
use haft_scripted_model::ScriptedReply;
use serde_json::Value;

use super::Stage;
use super::repository::{PROMPT, replies, with_bug};
use crate::world::World;

#[test]
fn without_a_journal_there_are_no_sessions_and_none_is_made() {
    let world = World::new();
    world.check(
        &["sessions", "list"],
        &expect![[r#"
        --- stderr
        there are no sessions of this workspace yet
        --- status 0
    "#]],
    );
    world.check(
        &["sessions", "list", "--json"],
        &expect![[r#"
        []
        --- status 0
    "#]],
    );
    world.check(
        &["sessions", "show", "last"],
        &expect![[r#"
            --- stderr
            error: there is no session in this workspace yet

            hint: haft agent 'What is this project about?'
            --- status 2
        "#]],
    );
    assert!(!world.path("state/journal.sqlite").exists());
}

#[test]
fn sessions_are_listed_for_their_workspace() {
    let stage = Stage::new(with_bug(), replies());
    stage.shown(&["agent", PROMPT]);
    expect![[r#"
        SESSION                         CHANGED                   STATUS  AGENT  MODEL        STEPS  READ  WRITTEN  TITLE
        ses_1  2000-01-01T00:00:00.000Z  idle    build  openai/test  6      180   24       The test fails. Find out why, and mend it.
        --- status 0
    "#]].assert_eq(&stage.shown(&["sessions", "list"]));
    expect![[r#"
        SESSION                         CHANGED                   STATUS     AGENT    MODEL        STEPS  READ  WRITTEN  ROOT                  TITLE
        ses_1  2000-01-01T00:00:00.000Z  idle       build    openai/test  6      180   24       /world/work  The test fails. Find out why, and mend it.
        ses_2  2000-01-01T00:00:00.000Z  completed  explore  openai/test  2      60    8        /world/work  Where is the sum of two numbers computed?
        --- status 0
    "#]].assert_eq(&stage.shown(&["sessions", "list", "--subagents", "--all"]));
    std::fs::create_dir(stage.world.path("other")).unwrap();
    let other = stage.world.path("other");
    let elsewhere = ["sessions", "list", "--root", other.to_str().unwrap()];
    expect![[r#"
        --- stderr
        there are no sessions of this workspace yet
        --- status 0
    "#]]
    .assert_eq(&stage.shown(&elsewhere));
}

#[test]
fn a_session_is_shown_as_it_was() {
    let stage = Stage::new(with_bug(), replies());
    stage.shown(&["agent", PROMPT]);
    expect![[r#"
        session   ses_1
        title     The test fails. Find out why, and mend it.
        root      /world/work
        agent     build
        model     openai/test
        status    idle
        begun     2000-01-01T00:00:00.000Z
        changed   2000-01-01T00:00:00.000Z
        tokens    180 read, 24 written

        [msg_1] you
        The test fails. Find out why, and mend it.

        [msg_2] build
        First I find the code.
          → task explore · 1 line · 0 ms
            session ses_2

        [msg_3] build
          → read src/sum.sh · 4 lines · 0 ms
          → read test.sh · 4 lines · 0 ms

        [msg_4] build
          → bash sh test.sh · TOOL_COMMAND_FAILED: sh exited with status 1 expected 5, found -1 · 0 ms

        [msg_5] build
        It subtracts.
          → edit src/sum.sh · 0 ms

        [msg_6] build
          → bash sh test.sh · 1 line · 0 ms

        [msg_7] build
        Mended: src/sum.sh:3 subtracted where it should add. The test passes.
        --- status 0
    "#]].assert_eq(&stage.shown(&["sessions", "show", "last"]));
    let session = stage.world.json(&["sessions", "show", "last", "--json"]);
    assert_eq!(session["subagents"].as_array().unwrap().len(), 1);
    let read = session["session"]["tokens_input"].as_u64().unwrap();
    // Six answers of the agent; those of the subagent are counted in its own session.
    assert_eq!(read, 6 * 30);
}

#[test]
fn a_session_is_exported_for_programs_and_for_people() {
    let stage = Stage::new(with_bug(), replies());
    stage.shown(&["agent", PROMPT]);
    let lines = stage.world.run(&["sessions", "export", "last"]);
    let records: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(records[0]["record"], "session");
    let count = |name: &str| records.iter().filter(|record| record["record"] == name).count();
    assert_eq!((count("session"), count("message"), count("part")), (1, 7, 11));
    expect![[r#"
        # The test fails. Find out why, and mend it.

        Session `ses_1` of the agent build with openai/test, 2000-01-01T00:00:00.000Z.

        ## You

        The test fails. Find out why, and mend it.

        ## build

        First I find the code.

        - `task explore · 1 line · 0 ms`

        ## build

        - `read src/sum.sh · 4 lines · 0 ms`
        - `read test.sh · 4 lines · 0 ms`

        ## build

        - `bash sh test.sh · TOOL_COMMAND_FAILED: sh exited with status 1 expected 5, found -1 · 0 ms`

        ## build

        It subtracts.

        - `edit src/sum.sh · 0 ms`

        ## build

        - `bash sh test.sh · 1 line · 0 ms`

        ## build

        Mended: src/sum.sh:3 subtracted where it should add. The test passes.
        --- status 0
    "#]]
        .assert_eq(&stage.shown(&["sessions", "export", "last", "--format", "markdown"]));
}

#[test]
fn a_fork_shares_what_was_said_and_a_rewind_sets_it_aside() {
    let answers = ["First.", "Second.", "Third."].map(|text| ScriptedReply::new().text(text));
    let stage = Stage::new(World::new(), answers);
    stage.shown(&["agent", "One"]);
    stage.shown(&["agent", "--resume", "last", "Two"]);
    let session = stage.latest();
    let said = stage.world.json(&["sessions", "show", &session, "--json"]);
    let message = |place: usize| said["messages"][place]["id"].as_str().unwrap().to_owned();
    let fork = stage.world.run(&["sessions", "fork", &session, "--through", &message(1)]);
    let forked = stage.world.json(&["sessions", "show", fork.trim(), "--json"]);
    assert_eq!(forked["messages"].as_array().unwrap().len(), 2);
    assert_eq!(forked["session"]["forked_from_id"], session.as_str());
    let rewound = stage.shown(&["sessions", "rewind", &session, &message(2)]);
    assert_eq!(rewound, "2 messages of ses_1 are set aside\n--- status 0\n");
    stage.shown(&["agent", "--resume", &session, "Three"]);
    assert!(!stage.told(2).contains("Second."), "{}", stage.told(2));
    let whole = stage.shown(&["sessions", "show", &session, "--rewound"]);
    assert!(whole.contains("Second.") && whole.contains("(set aside)"), "{whole}");
    expect![[r#"
        --- stderr
        error: "msg_nope" is no id of a message: expected msg_ and 26 digits and letters, such as msg_1

        hint: haft sessions show ses_1
        --- status 2
    "#]].assert_eq(&stage.shown(&["sessions", "rewind", &session, "msg_nope"]));
    expect![[r#"
        --- stderr
        error: session ses_1 has no message msg_1

        hint: haft sessions show ses_1
        --- status 2
    "#]]
    .assert_eq(&stage.shown(&[
        "sessions",
        "fork",
        &session,
        "--through",
        &message(0).replace(&message(0)[4..], "7zzzzzzzzzzzzzzzzzzzzzzzzz"),
    ]));
}

#[test]
fn a_turn_that_failed_at_the_provider_says_why() {
    let failure = haft_scripted_model::ModelScript::parse(
        r#"{"replies": [{"failure": {"status": 400, "message": "that is no request"}}]}"#,
    )
    .unwrap();
    let stage = Stage::new(World::new(), failure.replies);
    stage.shown(&["agent", "Hello"]);
    expect![[r#"
        session   ses_1
        title     Hello
        root      /world/work
        agent     build
        model     openai/test
        status    idle
        begun     2000-01-01T00:00:00.000Z
        changed   2000-01-01T00:00:00.000Z
        tokens    0 read, 0 written

        [msg_1] you
        Hello

        [msg_2] build (failed)
          ! openai did not take the request: check the model's name and base_url (HTTP 400: that is no request)
        --- status 0
    "#]].assert_eq(&stage.shown(&["sessions", "show", "last"]));
    expect![[r#"
        # Hello

        Session `ses_1` of the agent build with openai/test, 2000-01-01T00:00:00.000Z.

        ## You

        Hello

        ## build

        > failed: openai did not take the request: check the model's name and base_url (HTTP 400: that is no request)
        --- status 0
    "#]]
        .assert_eq(&stage.shown(&["sessions", "export", "last", "--format", "markdown"]));
}

#[test]
fn what_is_no_session_is_said_to_be_something_else() {
    let stage = Stage::new(World::new(), [ScriptedReply::new().text("Hello.")]);
    stage.shown(&["agent", "Hello"]);
    expect![[r#"
        --- stderr
        error: run_XXXXXXXXXXXXXXXXXXXXXXXXXX is a run, and no session of an agent

        hint: haft show run_XXXXXXXXXXXXXXXXXXXXXXXXXX
        --- status 2
    "#]]
    .assert_eq(&stage.shown(&["sessions", "show", "run_01jd3k8x5m9q2w7y4t6r8v0c3z"]));
    let said = stage.world.json(&["sessions", "show", "last", "--json"]);
    let message = said["messages"][0]["id"].as_str().unwrap();
    expect![[r#"
        --- stderr
        error: "msg_1" is no id of a session: expected ses_ and 26 digits and letters, such as ses_1

        hint: haft sessions list
        --- status 2
    "#]]
    .assert_eq(&stage.shown(&["sessions", "export", message]));
    let first = stage.shown(&["sessions", "rewind", "last", message]);
    assert_eq!(first, "2 messages of ses_1 are set aside\n--- status 0\n");
    let again = stage.shown(&["sessions", "rewind", "last", message]);
    assert_eq!(again, "nothing of ses_1 is set aside that was not before\n--- status 0\n");
    let other = message.replace(&message[4..], "7zzzzzzzzzzzzzzzzzzzzzzzzz");
    expect![[r#"
        --- stderr
        error: message msg_1 is not in session ses_1

        hint: haft sessions show ses_1
        --- status 2
    "#]]
    .assert_eq(&stage.shown(&["sessions", "rewind", "last", &other]));
}

#[test]
fn no_session_is_begun_for_an_empty_prompt() {
    let stage = Stage::new(World::new(), []);
    expect![[r#"
        --- stderr
        error: the prompt is empty: say what is to be done
        --- status 2
    "#]]
    .assert_eq(&stage.shown(&["agent", " \n"]));
    assert!(!stage.world.path("state/journal.sqlite").exists());
}
