//! Questions on a terminal: the text, the effect of an answer, and the calls that need no question.

use expect_test::{Expect, expect};

use crate::permissions::listed;
use crate::terminal::Terminal;
use crate::world::World;

const WRITE: [&str; 5] =
    ["call", "--preset", "ask", "write", r#"{"path":"new.txt","content":"hello"}"#];
const PROMPT: &str = "[r]eject: ";

/// Types these answers, each when it is asked for, and compares all that can be seen.
fn check(world: &World, args: &[&str], answers: &[&str], expect: &Expect) {
    expect.assert_eq(&answered(world, args, answers));
}

/// Types these answers, each when it is asked for, and returns all that can be seen.
pub(crate) fn answered(world: &World, args: &[&str], answers: &[&str]) -> String {
    let mut terminal = Terminal::new();
    let child = terminal.start(&mut world.haft(args));
    for answer in answers {
        terminal.wait_for(": ");
        terminal.type_text(answer);
    }
    let (shown, stdout, status) = terminal.finish(child);
    let text = format!("{shown}--- stdout\n{stdout}--- status {}\n", status.unwrap_or(-1));
    crate::redaction::redact(&text, &world.path(""))
}

#[test]
fn once_is_once() {
    let world = World::with_files();
    check(
        &world,
        &WRITE,
        &["o\n"],
        &expect![[r#"

            The tool write needs approval.

            It wants:
              fs.write of "new.txt"

            Input:
              {"path":"new.txt","content":"hello"}

            Why you are asked:
              write needs approval for fs.write of "new.txt": no rule matches, and then the
                answer is ask; the rule `allow write "new.txt"` would allow it

            Allow it? [o]nce, always for this [p]roject, [r]eject: o
            --- stdout
            ok
            --- status 0
        "#]],
    );
    assert_eq!(world.read("work/new.txt"), "hello");
    check(
        &world,
        &WRITE,
        &["r\n"],
        &expect![[r#"

            The tool write needs approval.

            It wants:
              fs.write of "new.txt"

            Input:
              {"path":"new.txt","content":"hello"}

            Why you are asked:
              write needs approval for fs.write of "new.txt": no rule matches, and then the
                answer is ask; the rule `allow write "new.txt"` would allow it

            Allow it? [o]nce, always for this [p]roject, [r]eject: r
            error: the user rejected the call (write needs approval for fs.write of "new.txt": no rule matches, and then the answer is ask; the rule `allow write "new.txt"` would allow it)
            --- stdout
            --- status 3
        "#]],
    );
}

#[test]
fn always_for_this_project_is_shown_written_and_taken_back() {
    let world = World::with_files();
    check(
        &world,
        &WRITE,
        &["p\n", "y\n"],
        &expect![[r#"

            The tool write needs approval.

            It wants:
              fs.write of "new.txt"

            Input:
              {"path":"new.txt","content":"hello"}

            Why you are asked:
              write needs approval for fs.write of "new.txt": no rule matches, and then the
                answer is ask; the rule `allow write "new.txt"` would allow it

            Allow it? [o]nce, always for this [p]roject, [r]eject: p

            For every later call in /world/work, this is written to
            /world/state/projects/HASH.toml:

              allow write "new.txt"

            Write it? [y]es, [n]o: y
            --- stdout
            ok
            --- status 0
        "#]],
    );
    world.check(
        &WRITE,
        &expect![[r#"
        ok
        --- status 0
    "#]],
    );
    expect![[r#"
        project (/world/state/projects/HASH.toml)
          N  ACTION  PERMISSION  PATTERN
          1  allow   write       new.txt

        preset (haft permissions preset ask)
          ACTION  PERMISSION   PATTERN
          allow   fs.read      {workspace}/**
          allow   todo         *
          allow   skill        *
          allow   tool_search  *
          allow   question     *
    "#]]
    .assert_eq(&listed(&world, &["permissions", "list", "--preset", "ask"]));
    world.check(
        &["permissions", "remove", "1"],
        &expect![[r#"
        removed `allow write "new.txt"` for this project
        --- status 0
    "#]],
    );
    world.check(
        &["permissions", "remove", "1"],
        &expect![[r#"
        --- stderr
        error: no rule for this project has the number 1: there are none

        hint: haft permissions list
        --- status 2
    "#]],
    );
    world.check(&WRITE, &expect![[r#"
        --- stderr
        error: no person can be asked here, so the call is denied: write needs approval for fs.write of "new.txt": no rule matches, and then the answer is ask; the rule `allow write "new.txt"` would allow it; to allow it, start haft with `--allow write`, which allows all that write does, or put this into haft.toml and run `haft trust`:
        [[permissions]]
        permission = "write"
        pattern = "new.txt"
        action = "allow"

        hint: haft call --allow write --preset ask write '{"path":"new.txt","content":"hello"}'
        --- status 3
    "#]]);
}

#[test]
fn what_is_not_confirmed_is_not_written() {
    let world = World::with_files();
    let shown = answered(&world, &WRITE, &["p\n", "n\n", "r\n"]);
    assert!(shown.ends_with("--- status 3\n"), "{shown}");
    assert!(!world.path("state/projects").exists());
}

#[test]
fn the_end_of_the_input_rejects() {
    let world = World::with_files();
    let shown = answered(&world, &WRITE, &["\u{4}"]);
    assert!(shown.ends_with("--- status 3\n"), "{shown}");
    assert!(!world.path("work/new.txt").exists());
}

#[test]
fn an_interrupt_withdraws_the_question() {
    let world = World::with_files();
    let mut terminal = Terminal::new();
    let child = terminal.start(&mut world.haft(&WRITE));
    terminal.wait_for(PROMPT);
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let (shown, stdout, status) = terminal.finish(child);
    assert!(shown.contains(&format!("{PROMPT}\nerror: ")), "{shown}");
    assert_eq!((stdout.as_str(), status), ("", Some(1)));
    assert!(!world.path("work/new.txt").exists());
}

#[test]
fn what_was_typed_before_the_question_is_no_answer() {
    let world = World::with_files();
    let mut terminal = Terminal::new();
    terminal.type_text("o\n");
    let child = terminal.start(&mut world.haft(&WRITE));
    terminal.wait_for(PROMPT);
    terminal.type_text("r\n");
    let (shown, _, status) = terminal.finish(child);
    assert_eq!(status, Some(3), "{shown}");
    assert!(!world.path("work/new.txt").exists());
}

#[test]
fn headless_asks_nobody() {
    let world = World::with_files();
    let args = [&["call", "--headless"], &WRITE[1..]].concat();
    let shown = answered(&world, &args, &[]);
    assert!(shown.starts_with("error: no person can be asked here"), "{shown}");
    assert!(shown.ends_with("--- status 3\n"), "{shown}");
}

#[test]
fn a_model_cannot_draw_on_the_terminal() {
    let world = World::with_files();
    let input = r#"{"path":"a\u001b[2J\u202e\u009b\n[r]eject: o","content":"x"}"#;
    let shown = answered(&world, &["call", "--preset", "ask", "write", input], &["r\n"]);
    let drawn = |character: char| character.is_control() && character != '\n';
    assert!(!shown.contains(drawn) && !shown.contains('\u{202e}'), "{shown:?}");
    assert!(!shown.contains("\n[r]eject: o"), "{shown}");
}
