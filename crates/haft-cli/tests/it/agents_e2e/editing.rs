//! kill -9 of a process that an editor talks to: the editor starts another one, loads the session, sees what is true, and its
//! next prompt goes on without repeating what was done.

use std::io::Read as _;
use std::sync::atomic::{AtomicUsize, Ordering};

use expect_test::expect;
use haft_scripted_model::{ModelScript, ReplyCondition, ScriptedReply, WireProtocol as ModelWire};
use serde_json::json;

use super::transcript::Transcript;
use super::worker::effects;
use crate::agent::Stage;
use crate::editors::wire::Wire;
use crate::world::World;

const WORDS: [&str; 3] = ["apple", "berry", "cherry"];
const GO_ON: &str = "Go on.";
const END: &str = "All of it is there.";
const PIECE_CHARS: usize = 4_000;
/// Sessions that are killed at the same time: they wait for disks and processes more than they compute.
const SESSIONS_AT_ONCE: usize = 4;

/// Returns the replies of a model that checks the files after a resume, and does the missing work. It repeats an effect in
/// other words: the identical call stays in doubt until a person settles it.
fn careful() -> Vec<ScriptedReply> {
    let when = |last: Option<&str>, said: Option<&str>| ReplyCondition {
        last: last.map(str::to_owned),
        said: said.map(str::to_owned),
        ..ReplyCondition::default()
    };
    let add = |word: &str, more: &str| {
        let cmd = format!("echo {word} >> effects.txt; cat effects.txt{more}");
        ScriptedReply::new().text(&format!("Now {word}.")).call("bash", json!({ "cmd": cmd }))
    };
    let look = ScriptedReply::new().text("I look.").call("read", json!({"path": "effects.txt"}));
    let mut replies = vec![look.when(when(Some(GO_ON), None))];
    replies.push(ScriptedReply::new().text(END).when(when(WORDS.last().copied(), None)));
    for (place, word) in WORDS.iter().enumerate().rev() {
        let before = place.checked_sub(1).map(|before| WORDS[before]);
        let said = format!("Now {word}.");
        replies.push(add(word, "; true").when(when(before, Some(&said))));
        replies.push(add(word, "").when(when(before, None)));
    }
    replies.into_iter().map(ScriptedReply::repeated).collect()
}

fn work(stage: &Stage) -> String {
    stage.world.path("work").to_str().unwrap().to_owned()
}

fn session_of(answer: &serde_json::Value) -> String {
    answer["result"]["sessionId"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

/// Kills the process after so many updates, has another one go on, and looks at what is left. Returns nothing if the turn was
/// over before.
fn check(updates: usize) -> Option<()> {
    let script = ModelScript { replies: careful(), piece_chars: PIECE_CHARS };
    let stage = Stage::reading(ModelWire::OpenAi, World::new(), script);
    stage.world.write("work/effects.txt", "");
    let what = format!("killed after {updates} updates");
    let mut editor = Wire::start(stage.haft(&["acp"]));
    let session = session_of(&editor.open("session/new", None, &work(&stage)));
    let prompt = editor.prompt(&session, "Add them.");
    let was_so_long = editor.updates_before(prompt, updates);
    editor.kill();
    let mut editor = Wire::start(stage.haft(&["acp"]));
    let listed = editor.open("session/list", None, &work(&stage));
    assert_eq!(listed["result"]["sessions"][0]["sessionId"], session.as_str(), "{what}");
    let loaded = editor.open("session/load", Some(&session), &work(&stage));
    assert!(loaded.get("result").is_some(), "{what}: {loaded}");
    let told = editor.told();
    let answer = editor.say(&session, GO_ON);
    assert_eq!(answer["result"]["stopReason"], "end_turn", "{what}: {answer}");
    let said = editor.told();
    assert!(said.contains(END), "{what}: {said}");
    assert!(editor.end().status.success(), "{what}");
    assert_eq!(effects(&stage.world), WORDS, "{what}: {told}{said}");
    let mut editor = Wire::start(stage.haft(&["acp"]));
    let resumed = editor.open("session/resume", Some(&session), &work(&stage));
    assert!(resumed.get("result").is_some(), "{what}: {resumed}");
    assert_eq!(editor.told(), "session_info_update Add them.\n", "{what}");
    editor.end();
    Transcript::of(&stage, &session).check(&stage, &what);
    was_so_long.then_some(())
}

#[test]
fn a_session_of_an_editor_that_is_killed_anywhere_repeats_no_effect() {
    let next = AtomicUsize::new(1);
    std::thread::scope(|scope| {
        for _ in 0..SESSIONS_AT_ONCE {
            scope.spawn(|| while check(next.fetch_add(1, Ordering::Relaxed)).is_some() {});
        }
    });
    let updates = next.into_inner() - SESSIONS_AT_ONCE;
    assert!(updates > 15, "the turn has only {updates} updates");
}

#[test]
fn a_call_that_was_under_way_is_shown_as_what_it_is() {
    let run = "echo one >> effects.txt; echo begun > fifo; sleep 1000";
    let both = ScriptedReply::new().text("Now one.").call("bash", json!({ "cmd": run }));
    let both = both.call("bash", json!({ "cmd": "echo two >> effects.txt" }));
    let stage = Stage::new(
        World::new(),
        [both, ScriptedReply::new().text("I see."), ScriptedReply::new().text("Yes.")],
    );
    let fifo = stage.world.fifo("work/fifo");
    let mut editor = Wire::start(stage.haft(&["acp"]));
    let session = session_of(&editor.open("session/new", None, &work(&stage)));
    editor.prompt(&session, "Add them.");
    std::fs::File::open(fifo).unwrap().read_exact(&mut [0; 6]).unwrap();
    editor.kill();
    let mut editor = Wire::start(stage.haft(&["acp"]));
    editor.open("session/load", Some(&session), &work(&stage));
    expect![[r#"
        user_message_chunk "Add them."
        agent_message_chunk "Now one."
        tool_call c1 in_progress bash echo one >> effects.txt; echo begun > fifo; sleep 1000
        tool_call_update c1 pending haft ended before this call did, so it may or may not have happened. That is looked up with your next prompt: what was begun is not repeated, and what was not begun is not made.
        tool_call c2 in_progress bash echo two >> effects.txt
        tool_call_update c2 pending haft ended before this call did, so it may or may not have happened. That is looked up with your next prompt: what was begun is not repeated, and what was not begun is not made.
        usage_update
        session_info_update Add them.
    "#]]
    .assert_eq(&editor.told().replace(&session, "SESSION"));
    assert_eq!(editor.say(&session, "What of it?")["result"]["stopReason"], "end_turn");
    expect![[r#"
        tool_call_update c1 in_progress bash echo one >> effects.txt; echo begun > fifo; sleep 1000
        tool_call_update c2 in_progress bash echo two >> effects.txt
        tool_call_update c2 failed ``` this call was not made: haft ended before it was begun, and was asked for something else since ```
        tool_call_update c1 failed ``` in doubt: bash was begun as call SESSION/main/0/1/1 and its end was never recorded, so it may or may not have happened. It is not repeated.  To lift this, settle call SESSION/main/0/1/1. ```
        agent_message_chunk "I see."
        usage_update
        session_info_update Add them.
    "#]]
    .assert_eq(&editor.told().replace(&session, "SESSION"));
    editor.open("session/load", Some(&session), &work(&stage));
    expect![[r#"
        user_message_chunk "Add them."
        agent_message_chunk "Now one."
        tool_call c1 in_progress bash echo one >> effects.txt; echo begun > fifo; sleep 1000
        tool_call_update c1 failed ``` in doubt: bash was begun as call SESSION/main/0/1/1 and its end was never recorded, so it may or may not have happened. It is not repeated.  To lift this, settle call SESSION/main/0/1/1. ```
        tool_call c2 in_progress bash echo two >> effects.txt
        tool_call_update c2 failed ``` this call was not made: haft ended before it was begun, and was asked for something else since ```
        user_message_chunk "What of it?"
        agent_message_chunk "I see."
        usage_update
        session_info_update Add them.
    "#]]
    .assert_eq(&editor.told().replace(&session, "SESSION"));
    assert_eq!(editor.say(&session, "Go on.")["result"]["stopReason"], "end_turn");
    editor.end();
    assert_eq!(effects(&stage.world), ["one"]);
    assert!(stage.told(1).contains("may or may not have happened"), "{}", stage.told(1));
    let transcript = Transcript::of(&stage, &session);
    transcript.check(&stage, "killed while a command ran");
    assert_eq!(transcript.in_doubt(), 1);
}
