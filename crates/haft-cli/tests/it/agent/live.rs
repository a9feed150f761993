//! A terminal while the agent works: lines that are drawn again, lines that are typed meanwhile, commands, and screens of two
//! sizes as golden files in `screens/`.

use expect_test::expect_file;
use haft_scripted_model::ScriptedReply;
use serde_json::json;

use super::Stage;
use crate::terminal::{Terminal, rendered};
use crate::world::World;

const PROMPT: &str = "build> ";

/// A conversation at a terminal.
struct Talk<'s> {
    stage: &'s Stage,
    terminal: Terminal,
    child: std::process::Child,
}

impl<'s> Talk<'s> {
    fn begin(stage: &'s Stage, args: &[&str], (columns, rows): (u16, u16)) -> Self {
        let mut terminal = Terminal::new().with_size(columns, rows);
        let mut command = stage.haft(&[&["agent"], args].concat());
        command.env("TERM", "xterm").env("NO_COLOR", "1").env("PAGER", "cat");
        let child = terminal.start_whole(&mut command);
        Self { stage, terminal, child }
    }

    /// Types once something is shown.
    fn say(&mut self, shown: &str, typed: &str) {
        self.terminal.wait_for_any(shown);
        self.terminal.type_text(typed);
    }

    /// Ends the conversation once the prompt is shown, and returns what was written, and what is left on the screen.
    fn end(mut self) -> (String, String) {
        self.say(PROMPT, "\u{4}");
        let (written, _, status) = self.terminal.finish(self.child);
        assert_eq!(status, Some(0), "{written}");
        let screen = self.stage.masked(&rendered(&written));
        (written, screen)
    }
}

const WIDE: (u16, u16) = (120, 40);

#[test]
fn a_conversation_fits_its_terminal() {
    let answer = "# What I found\n\nThe file `notes.txt` has **three lines**, and each of them is a number that is \
                  written as a word. I change the second one, because a digit is shorter:\n\n\
                  1. read the file\n2. change the word `two`, which stands on the second line, into a digit\n\n\
                  | line | before | after |\n|---|---|---|\n| 2 | two | 2 |\n\n\
                  ```sh\ngrep -n 2 notes.txt\n```\n";
    let edit = json!({"path": "notes.txt", "old_string": "two", "new_string": "2"});
    let replies = || {
        [
            ScriptedReply::new()
                .reasoning("First I look at it.")
                .text(answer)
                .call("edit", edit.clone()),
            ScriptedReply::new().text("Done: [notes.txt](notes.txt) has a digit."),
        ]
    };
    for size in [(80, 24), WIDE] {
        let stage = Stage::new(World::with_files(), replies());
        let mut talk = Talk::begin(&stage, &[], size);
        talk.say(PROMPT, "Look at the notes\r");
        talk.say(PROMPT, "/help\r");
        talk.say(PROMPT, "/cost\r");
        let (_, screen) = talk.end();
        for line in screen.lines() {
            assert!(line.chars().count() <= usize::from(size.0), "{line}");
        }
        match size.0 {
            80 => expect_file!["../screens/agent-80.txt"].assert_eq(&screen),
            _ => expect_file!["../screens/agent-120.txt"].assert_eq(&screen),
        }
    }
}

#[test]
fn the_terminal_says_what_is_done_and_for_how_long() {
    let replies = [
        ScriptedReply::new().text("I begin to write").waiting_for("go").text(" the answer."),
        ScriptedReply::new().text("Never."),
    ];
    let stage = Stage::new(World::new(), replies);
    let mut talk = Talk::begin(&stage, &[], WIDE);
    talk.say(PROMPT, "Hello\r");
    stage.model.wait_until_held("go");
    talk.terminal.wait_for_any("I begin to write\n");
    talk.terminal.wait_for_any(" s · Ctrl-C stops");
    stage.model.release("go");
    let (written, screen) = talk.end();
    assert!(written.contains(|character| "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏".contains(character)), "{written}");
    assert!(written.contains("writing · "), "{written}");
    assert!(screen.contains("\nI begin to write the answer.\n"), "{screen}");
    assert!(screen.contains("30 tokens read, 4 written · 99% of the context left\n"), "{screen}");
    assert!(!screen.contains("Ctrl-C stops"), "{screen}");
}

#[test]
fn the_output_of_a_running_command_is_shown() {
    let line = "echo first; while [ ! -e go ]; do sleep 0.05; done; echo last";
    let replies = [
        ScriptedReply::new().call("bash", json!({"cmd": line})),
        ScriptedReply::new().text("It ran."),
    ];
    let stage = Stage::new(World::new(), replies);
    let mut talk = Talk::begin(&stage, &["--preset", "full"], WIDE);
    talk.say(PROMPT, "Run it\r");
    talk.terminal.wait_for_any("    first\n");
    talk.terminal.wait_for_any("running · ");
    stage.world.write("work/go", "");
    let (_, screen) = talk.end();
    assert!(screen.contains(&format!("→ bash {line} · 2 lines · 0 ms\n")), "{screen}");
    assert!(!screen.contains("    first"), "{screen}");
}

#[test]
fn lines_that_are_typed_during_a_turn_are_the_next_prompt() {
    let replies = [
        ScriptedReply::new().waiting_for("go").text("First answer."),
        ScriptedReply::new().text("Second answer."),
    ];
    let stage = Stage::new(World::new(), replies);
    let mut talk = Talk::begin(&stage, &[], WIDE);
    talk.say(PROMPT, "Begin\r");
    stage.model.wait_until_held("go");
    talk.terminal.type_text("And then?\r");
    talk.terminal.wait_for_any("waits for the next turn: And then?");
    talk.terminal.type_text("Say more\r");
    talk.terminal.wait_for_any("waits for the next turn: Say more");
    stage.model.release("go");
    talk.terminal.skip_past("Second answer.");
    let (_, screen) = talk.end();
    assert!(screen.contains("\n> And then?\n"), "{screen}");
    assert!(stage.told(1).contains("And then?\\n\\nSay more"), "{}", stage.told(1));
    assert_eq!(stage.model.requests().len(), 2, "{screen}");
}

#[test]
fn a_line_that_is_being_typed_when_the_turn_ends_goes_on() {
    let replies = [
        ScriptedReply::new().waiting_for("go").text("First answer."),
        ScriptedReply::new().text("Second answer."),
    ];
    let stage = Stage::new(World::new(), replies);
    let mut talk = Talk::begin(&stage, &[], WIDE);
    talk.say(PROMPT, "Begin\r");
    stage.model.wait_until_held("go");
    talk.terminal.type_text("And");
    talk.terminal.wait_for_any("And");
    stage.model.release("go");
    talk.terminal.wait_for_any("% of the context left");
    talk.terminal.type_text(" then?\r");
    talk.terminal.skip_past("Second answer.");
    let (_, screen) = talk.end();
    assert!(stage.told(1).contains("And then?"), "{} {screen}", stage.told(1));
}

#[test]
fn a_question_waits_for_the_line_that_is_typed() {
    let write = json!({"path": "a.txt", "content": "hello\n"});
    let replies = [
        ScriptedReply::new().waiting_for("go").call("write", write),
        ScriptedReply::new().text("It is there."),
        ScriptedReply::new().text("You are welcome."),
    ];
    let stage = Stage::new(World::new(), replies);
    let mut talk = Talk::begin(&stage, &["--preset", "ask"], WIDE);
    talk.say(PROMPT, "Write\r");
    stage.model.wait_until_held("go");
    talk.terminal.type_text("Tha");
    talk.terminal.wait_for_any("Tha");
    stage.model.release("go");
    talk.say("a call needs your answer: press Enter to be asked", "nks\r");
    talk.say("[r]eject: ", "o\n");
    talk.terminal.skip_past("You are welcome.");
    let (_, screen) = talk.end();
    assert!(stage.world.path("work/a.txt").exists(), "{screen}");
    assert!(stage.told(2).contains("Thanks"), "{}", stage.told(2));
    let (change, question) =
        (screen.find("1 +hello").unwrap(), screen.find("The tool write needs approval").unwrap());
    assert!(change < question, "{screen}");
}

#[test]
fn a_command_of_the_person_is_shown_and_told_to_the_agent() {
    let stage = Stage::new(World::with_files(), [ScriptedReply::new().text("I see three lines.")]);
    let mut talk = Talk::begin(&stage, &[], WIDE);
    talk.say(PROMPT, "!wc -l notes.txt\r");
    talk.say(PROMPT, "!\r");
    talk.say(PROMPT, "How many?\r");
    let (_, screen) = talk.end();
    assert!(screen.contains("→ bash wc -l notes.txt · 1 line · 0 ms\n3 notes.txt\n"), "{screen}");
    assert!(screen.contains("a command follows the mark"), "{screen}");
    let told = stage.told(0);
    assert!(told.contains("I ran this command myself: wc -l notes.txt"), "{told}");
    assert!(told.contains("3 notes.txt") && told.contains("How many?"), "{told}");
}

#[test]
fn the_last_turn_is_shown_and_undone() {
    let write = |content: &str| json!({"path": "notes.txt", "content": content});
    let replies = [
        ScriptedReply::new().call("write", write("1\n")),
        ScriptedReply::new().text("First."),
        ScriptedReply::new().call("write", write("2\n")),
        ScriptedReply::new().text("Second."),
    ];
    let stage = Stage::new(World::with_files(), replies);
    let mut talk = Talk::begin(&stage, &[], WIDE);
    talk.say(PROMPT, "/undo\r");
    talk.say(PROMPT, "One\r");
    talk.say(PROMPT, "Two\r");
    talk.say(PROMPT, "/diff 2\r");
    talk.say(PROMPT, "/undo\r");
    talk.say(PROMPT, "/undo 9\r");
    let (_, screen) = talk.end();
    assert!(screen.contains("there is no turn to undo"), "{screen}");
    assert!(screen.contains("\n-1\n+2\n"), "{screen}");
    assert!(screen.contains("error: "), "{screen}");
    assert_eq!(stage.world.read("work/notes.txt"), "1\n", "{screen}");
}

#[test]
fn a_session_is_compacted_and_asks_another_model() {
    let replies = [
        ScriptedReply::new().text("First."),
        ScriptedReply::new().text("Second."),
        ScriptedReply::new().text("Third."),
        ScriptedReply::new().text("The summary of it."),
        ScriptedReply::new().text("From the other one."),
    ];
    let stage = Stage::new(World::new(), replies);
    let mut talk = Talk::begin(&stage, &[], WIDE);
    for prompt in ["One\r", "Two\r", "Three\r", "/compact\r", "/model\r", "/model nothing\r"] {
        talk.say(PROMPT, prompt);
    }
    talk.say(PROMPT, "/model openai/other\r");
    talk.say(PROMPT, "Four\r");
    let (_, screen) = talk.end();
    assert!(screen.contains("the messages before are summarised from here on"), "{screen}");
    assert!(screen.contains("this session asks openai/test"), "{screen}");
    assert!(screen.contains("error: "), "{screen}");
    assert!(screen.contains("build · openai/other"), "{screen}");
    let told = stage.told(4);
    assert!(told.contains("The summary of it.") && !told.contains("First."), "{told}");
    assert_eq!(stage.model.requests().get(4).unwrap().body["model"], "other");
}

#[test]
fn tab_completes_commands_and_files() {
    let stage = Stage::new(World::with_files(), [ScriptedReply::new().text("I read it.")]);
    let mut talk = Talk::begin(&stage, &[], WIDE);
    talk.say(PROMPT, "/to\t\r");
    talk.terminal.skip_past("nothing is on the agent's list");
    talk.say(PROMPT, "Read @no\t\r");
    talk.terminal.skip_past("I read it.");
    talk.end();
    assert!(stage.told(0).contains("Read @notes.txt"), "{}", stage.told(0));
}

#[test]
fn a_screen_reader_gets_lines_that_stay() {
    let edit = json!({"path": "notes.txt", "old_string": "two", "new_string": "2"});
    let replies = [
        ScriptedReply::new().text("I **change** it.").call("edit", edit),
        ScriptedReply::new().text("Done."),
    ];
    let stage = Stage::new(World::with_files(), replies);
    let mut talk = Talk::begin(&stage, &["--plain"], (80, 24));
    talk.say(PROMPT, "Change it\n");
    talk.say(PROMPT, "/todos\n");
    let (written, screen) = talk.end();
    assert!(!written.contains('\u{1b}'), "{written:?}");
    let untimed = |line: &str| match line.rsplit_once(", ") {
        Some((call, time)) if time.ends_with(" ms") => format!("{call}, 0 ms"),
        Some(_) | None => line.to_owned(),
    };
    let screen: Vec<String> = screen.split('\n').map(untimed).collect();
    expect_file!["../screens/agent-plain-80.txt"].assert_eq(&screen.join("\n"));
}
