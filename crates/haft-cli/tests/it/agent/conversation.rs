//! A conversation at the terminal: what is typed, what is shown, and what is asked in the middle of it.

use std::os::unix::fs::PermissionsExt as _;

use expect_test::{Expect, expect};
use haft_scripted_model::{ReplyCondition, ReplyEnd, ScriptedReply};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::Stage;
use crate::terminal::{Terminal, rendered};
use crate::world::World;

const PROMPT: &str = "build> ";

/// Holds a conversation: waits until something is shown, and then types.
fn talk(stage: &Stage, args: &[&str], lines: &[(&str, &str)]) -> (String, Option<i32>) {
    let mut terminal = Terminal::new();
    let mut command = stage.haft(&[&["agent"], args].concat());
    command.env("TERM", "xterm").env("NO_COLOR", "1");
    let child = terminal.start_whole(&mut command);
    for (shown, typed) in lines {
        terminal.wait_for_any(shown);
        terminal.type_text(typed);
    }
    let (shown, _, status) = terminal.finish(child);
    (stage.masked(&rendered(&shown)), status)
}

fn check(stage: &Stage, args: &[&str], lines: &[(&str, &str)], expect: &Expect) {
    let (shown, status) = talk(stage, args, lines);
    expect.assert_eq(&format!("{shown}--- status {}\n", status.unwrap_or(-1)));
}

#[test]
fn lines_are_typed_and_answered() {
    let replies = [
        ScriptedReply::new().text("Hello.").call("read", json!({"path": "notes.txt"})),
        ScriptedReply::new().text("It counts to three."),
        ScriptedReply::new().text("You are welcome."),
    ];
    let stage = Stage::new(World::with_files(), replies);
    let lines = [(PROMPT, "What do the notes say?\r"), (PROMPT, "Thanks\r"), (PROMPT, "/quit\r")];
    check(
        &stage,
        &[],
        &lines,
        &expect![[r#"
            session ses_1 · build · openai/test
            /help shows what can be typed
            build> What do the notes say?

            Hello.
            → read notes.txt · 3 lines · 0 ms

            It counts to three.
            60 tokens read, 8 written · 99% of the context left
            build> Thanks
            You are welcome.
            30 tokens read, 4 written · 99% of the context left
            build> /quit
            to go on: haft agent --resume ses_1
            --- status 0
        "#]],
    );
    let history = stage.world.path("state/agent-history");
    assert_eq!(history.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let typed = std::fs::read_to_string(history).unwrap();
    assert!(typed.contains("What do the notes say?\nThanks\n/quit\n"), "{typed}");
}

#[test]
fn hints_are_about_the_journal_of_the_session() {
    const OPTIONS: [&str; 2] = ["--db", "../mine.sqlite"];
    let stage = Stage::new(World::new(), [ScriptedReply::new().text("Hello.")]);
    let lines = [(PROMPT, "Hello\r"), (PROMPT, "Again\r"), (PROMPT, "\u{4}")];
    let (shown, _) = talk(&stage, &OPTIONS, &lines);
    assert!(shown.contains("to go on: haft --db ../mine.sqlite agent --resume ses_1"), "{shown}");
    let resumed = [&OPTIONS[..], &["--resume", "last"]].concat();
    let (shown, _) = talk(&stage, &resumed, &[(PROMPT, "\u{4}")]);
    let show = "2 prompts so far; haft --db ../mine.sqlite sessions show ses_1 shows them";
    assert!(shown.contains(show), "{shown}");
    for more in [&["Hello"][..], &["--json", "Hello"]] {
        let shown = stage.shown(&[&["agent"], &OPTIONS[..], more].concat());
        assert!(shown.contains("hint: haft --db ../mine.sqlite agent --resume ses_"), "{shown}");
    }
}

#[test]
fn a_session_in_which_nothing_was_said_is_in_nobodys_way() {
    let stage = Stage::new(World::new(), [ScriptedReply::new().text("Hello.")]);
    stage.shown(&["agent", "Hello"]);
    let session = stage.latest();
    let (shown, status) = talk(&stage, &[], &[(PROMPT, "\u{4}")]);
    assert_eq!(status, Some(0), "{shown}");
    assert_eq!(stage.latest(), session);
    let (shown, _) = talk(&stage, &["--resume", "last"], &[(PROMPT, "\u{4}")]);
    assert!(shown.contains("1 prompt so far"), "{shown}");
}

#[test]
fn a_call_is_asked_about_in_the_middle_of_it() {
    let write = |name: &str| json!({"path": name, "content": "hello\n"});
    let replies = [
        ScriptedReply::new().call("write", write("a.txt")),
        ScriptedReply::new().call("write", write("b.txt")),
        ScriptedReply::new().text("One of them is there."),
    ];
    let stage = Stage::new(World::new(), replies);
    let lines =
        [(PROMPT, "Write\r"), ("[r]eject: ", "o\n"), ("[r]eject: ", "r\n"), (PROMPT, "\u{4}")];
    check(
        &stage,
        &["--preset", "ask"],
        &lines,
        &expect![[r#"
            session ses_1 · build · openai/test
            /help shows what can be typed
            build> Write
            → write a.txt
                1 +hello

            The tool write needs approval.

            It wants:
              fs.write of "a.txt"

            Input:
              {"path":"a.txt","content":"hello\n"}

            Why you are asked:
              write needs approval for fs.write of "a.txt": no rule matches, and then the
                answer is ask; the rule `allow write "a.txt"` would allow it

            Allow it? [o]nce, always in this [s]ession, always for this [p]roject,
            [d]eny it for this session, [r]eject: o
              write a.txt · 0 ms
            → write b.txt
                1 +hello

            The tool write needs approval.

            It wants:
              fs.write of "b.txt"

            Input:
              {"path":"b.txt","content":"hello\n"}

            Why you are asked:
              write needs approval for fs.write of "b.txt": no rule matches, and then the
                answer is ask; the rule `allow write "b.txt"` would allow it

            Allow it? [o]nce, always in this [s]ession, always for this [p]roject,
            [d]eny it for this session, [r]eject: r
              write b.txt · PERMISSION_DENIED: the user rejected the call (write needs approval for fs.write of "b.txt": no rule matches, and then the answer is ask; the rule `allow write "b.txt"` would allo… · 0 ms

            One of them is there.
            90 tokens read, 12 written · 99% of the context left
            build>
            to go on: haft agent --resume ses_1
            --- status 0
        "#]],
    );
    assert!(stage.world.path("work/a.txt").exists() && !stage.world.path("work/b.txt").exists());
}

#[test]
fn what_begins_with_a_slash_is_for_haft() {
    let replies = [
        ScriptedReply::new().text("First."),
        ScriptedReply::new().text("Second."),
        ScriptedReply::new().text("In the copy."),
        ScriptedReply::new().text("Only reading."),
    ];
    let stage = Stage::new(World::new(), replies);
    let lines = [
        (PROMPT, "One\r"),
        (PROMPT, "Two\r"),
        (PROMPT, "/rewind\r"),
        // The prompt that was set aside stands there to be said otherwise.
        ("build> Two", "\u{15}/fork\r"),
        (PROMPT, "Three\r"),
        (PROMPT, "/agent nobody\r"),
        (PROMPT, "/agent plan\r"),
        ("plan> ", "Four\r"),
        ("plan> ", "/todos\r"),
        ("plan> ", "/nope\r"),
        ("plan> ", "\u{4}"),
    ];
    let (shown, status) = talk(&stage, &[], &lines);
    assert_eq!(status, Some(0), "{shown}");
    for said in [
        "2 messages are set aside",
        "this is a copy",
        "nobody",
        "nothing is on the agent's list",
        "/nope is no command",
    ] {
        assert!(shown.contains(said), "{said} in {shown}");
    }
    // The copy knows the first prompt and not the one that was set aside.
    assert!(stage.told(2).contains("One") && !stage.told(2).contains("Two"), "{}", stage.told(2));
    assert!(!stage.told(3).contains("Three"), "{}", stage.told(3));
    assert!(stage.told(3).contains("You change nothing"), "{}", stage.told(3));
}

#[test]
fn an_interrupt_ends_the_turn_and_not_the_conversation() {
    let replies = [
        ScriptedReply::new().text("It begins\n").waiting_for("go").text("never"),
        ScriptedReply::new().text("Here is the rest."),
    ];
    let stage = Stage::new(World::new(), replies);
    let mut terminal = Terminal::new();
    let mut command = stage.haft(&["agent"]);
    command.env("TERM", "xterm").env("NO_COLOR", "1");
    let child = terminal.start_whole(&mut command);
    terminal.wait_for_any(PROMPT);
    terminal.type_text("Tell me\r");
    terminal.wait_for_any("It begins");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    terminal.wait_for_any("press Enter to go on with it");
    terminal.wait_for_any(PROMPT);
    terminal.type_text("\r");
    terminal.wait_for_any("Here is the rest.");
    terminal.wait_for_any(PROMPT);
    terminal.type_text("/quit\r");
    let (shown, _, status) = terminal.finish(child);
    assert_eq!(status, Some(0), "{shown}");
}

#[test]
fn a_question_that_is_withdrawn_takes_no_line_of_what_follows() {
    let write = json!({"path": "a.txt", "content": "hello\n"});
    let replies =
        [ScriptedReply::new().call("write", write), ScriptedReply::new().text("As you like.")];
    let stage = Stage::new(World::new(), replies);
    let mut terminal = Terminal::new();
    let mut command = stage.haft(&["agent", "--preset", "ask"]);
    command.env("TERM", "xterm").env("NO_COLOR", "1");
    let child = terminal.start_whole(&mut command);
    terminal.wait_for_any(PROMPT);
    terminal.type_text("Write\r");
    terminal.wait_for_any("[r]eject: ");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    terminal.wait_for_any(PROMPT);
    terminal.type_text("Do not\r");
    terminal.wait_for_any("As you like.");
    terminal.wait_for_any(PROMPT);
    terminal.type_text("\u{4}");
    let (shown, _, status) = terminal.finish(child);
    assert_eq!(status, Some(0), "{shown}");
    assert!(!stage.world.path("work/a.txt").exists());
}

#[test]
fn whoever_works_in_the_background_is_stopped_when_another_session_is_begun() {
    let task = json!({"subagent_type": "explore", "prompt": "Wait here", "background": true});
    let of_subagent =
        || ReplyCondition { last: Some("Wait here".to_owned()), ..ReplyCondition::default() };
    let replies = [
        ScriptedReply::new().waiting_for("go").when(of_subagent()),
        ScriptedReply::new().call("task", task),
        ScriptedReply::new().text("It is begun."),
    ];
    let stage = Stage::new(World::new(), replies);
    let mut terminal = Terminal::new();
    let mut command = stage.haft(&["agent"]);
    command.env("TERM", "xterm").env("NO_COLOR", "1");
    let child = terminal.start_whole(&mut command);
    terminal.wait_for_any(PROMPT);
    terminal.type_text("Begin\r");
    terminal.wait_for_any("It is begun.");
    terminal.wait_for_any(PROMPT);
    stage.model.wait_until_held("go");
    terminal.type_text("/new\r");
    terminal.wait_for_any("1 subagent in the background was stopped with it");
    terminal.wait_for_any(PROMPT);
    terminal.type_text("\u{4}");
    let (shown, _, status) = terminal.finish(child);
    assert_eq!(status, Some(0), "{shown}");
    // How a request ended is known once it has.
    stage.model.wait_for_ends(3);
    let of_child = stage.model.requests().into_iter().find(|request| request.reply == Some(0));
    assert_eq!(of_child.unwrap().ended, Some(ReplyEnd::HungUp));
}

#[test]
fn lines_that_are_pasted_are_one_prompt() {
    let stage = Stage::new(World::new(), [ScriptedReply::new().text("Two lines.")]);
    let pasted = "\u{1b}[200~first line\rsecond line\u{1b}[201~";
    let lines = [(PROMPT, pasted), ("second line", "\r"), (PROMPT, "\u{4}")];
    let (shown, status) = talk(&stage, &[], &lines);
    assert_eq!(status, Some(0), "{shown}");
    assert_eq!(stage.model.requests().len(), 1, "{shown}");
    assert!(stage.told(0).contains("first line\\nsecond line"), "{}", stage.told(0));
}

#[test]
fn a_file_that_is_written_anew_is_shown_as_what_became_different() {
    let write = json!({"path": "notes.txt", "content": "one\n2\nthree\n"});
    let replies = [ScriptedReply::new().call("write", write), ScriptedReply::new().text("Done.")];
    let stage = Stage::new(World::with_files(), replies);
    let lines = [(PROMPT, "Write\r"), (PROMPT, "\u{4}")];
    check(
        &stage,
        &[],
        &lines,
        &expect![[r#"
        session ses_1 · build · openai/test
        /help shows what can be typed
        build> Write
        → write notes.txt · 0 ms
            1  one
            2 -two
            2 +2
            3  three

        Done.
        60 tokens read, 8 written · 99% of the context left
        build>
        to go on: haft agent --resume ses_1
        --- status 0
    "#]],
    );
}

#[test]
fn a_call_can_be_denied_for_the_session() {
    let write =
        || ScriptedReply::new().call("write", json!({"path": "a.txt", "content": "hello\n"}));
    let replies = [write(), write(), ScriptedReply::new().text("I may not.")];
    let stage = Stage::new(World::new(), replies);
    // The second time, haft asks no question.
    let lines = [(PROMPT, "Write\r"), ("[r]eject: ", "d\n"), ("I may not.", ""), (PROMPT, "\u{4}")];
    let (shown, status) = talk(&stage, &["--preset", "ask"], &lines);
    assert_eq!(status, Some(0), "{shown}");
    assert_eq!(shown.matches("The tool write needs approval").count(), 1, "{shown}");
    assert!(shown.contains("From now on, in this session:\n  deny write \"a.txt\"\n"), "{shown}");
    assert!(!stage.world.path("work/a.txt").exists());
}

#[test]
fn a_turn_that_failed_at_the_provider_is_tried_again_by_an_empty_line() {
    let replies =
        [ScriptedReply::failure(400, "no such field"), ScriptedReply::new().text("Now I do.")];
    let stage = Stage::new(World::new(), replies);
    let lines = [(PROMPT, "Hello\r"), (PROMPT, "\r"), (PROMPT, "\u{4}")];
    check(
        &stage,
        &[],
        &lines,
        &expect![[r#"
        session ses_1 · build · openai/test
        /help shows what can be typed
        build> Hello
        error: openai did not take the request: check the model's name and base_url (HTTP 400: no such field)
        press Enter to try again
        build>

        Now I do.
        30 tokens read, 4 written · 99% of the context left
        build>
        to go on: haft agent --resume ses_1
        --- status 0
    "#]],
    );
}
