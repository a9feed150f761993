//! The screens of haft at 80 and at 120 columns, as golden files in `screens/`. `UPDATE_EXPECT=1` writes them.

use expect_test::expect_file;

use crate::redaction::redact;
use crate::terminal::Terminal;
use crate::world::World;

/// Columns and rows of the terminals.
const SIZES: [(u16, u16); 2] = [(80, 24), (120, 40)];

fn world() -> World {
    let world = World::with_files();
    let call = |run: &str, args: &[&str]| {
        let args: Vec<&str> = ["call", "--run", run].iter().chain(args).copied().collect();
        world.haft(&args).output().unwrap();
    };
    call("build", &["write", "path=one.txt", "content=a\nb\n"]);
    call("build", &["write", "path=two-with-a-rather-long-name.txt", "content=c\n"]);
    call("build", &["bash", "cmd=ls", "--preset", "ask"]);
    call("build", &["edit", "path=notes.txt", "old_string=two", "new_string=2"]);
    call("review", &["read", "path=notes.txt"]);
    call("review", &["grep", "pattern=(unclosed"]);
    world
}

/// Returns what a command shows on a terminal of that size. Nothing may be wider than it.
fn screen(world: &World, args: &[&str], size: (u16, u16)) -> String {
    let mut terminal = Terminal::of_size(size.0, size.1);
    let mut command = world.haft(args);
    command.env("TERM", "xterm").env("PAGER", "cat").env("NO_COLOR", "1");
    let child = terminal.start_whole(&mut command);
    let (shown, _, _) = terminal.finish(child);
    // Help has nothing that differs.
    if args.contains(&"-h") { shown } else { normalized(&shown, world, size.0) }
}

/// Returns a screen without what differs from run to run.
fn normalized(shown: &str, world: &World, columns: u16) -> String {
    for line in shown.lines() {
        assert!(line.chars().count() <= usize::from(columns), "{columns}: {line}");
    }
    let mut text = String::new();
    for line in redact(shown, &world.path("")).lines() {
        // The width of a column follows from ages and durations.
        let cells: Vec<&str> =
            line.trim_end().split("  ").filter(|cell| !cell.is_empty()).collect();
        let cells: Vec<String> = cells
            .iter()
            .enumerate()
            .map(|(place, cell)| {
                let cell = cell.trim();
                let is_number = cell.bytes().all(|byte| byte.is_ascii_digit());
                let is_age = cell == "now" || cell.ends_with("s ago") || cell.ends_with("m ago");
                let is_time = cell.len() == 8 && cell.matches(':').count() == 2;
                match cell {
                    _ if is_age => "AGE".to_owned(),
                    _ if is_time => "TIME".to_owned(),
                    _ if is_number && place > 0 => "0".to_owned(),
                    _ => without_duration(&uncut(cell)),
                }
            })
            .collect();
        let indent = if line.starts_with("  ") { "  " } else { "" };
        text.push_str(&format!("{indent}{}\n", cells.join("  ")));
    }
    text
}

/// Returns a cell that was cut without the last word, because the place of the cut follows from the width of other cells.
fn uncut(cell: &str) -> String {
    let Some(text) = cell.strip_suffix('…') else { return cell.to_owned() };
    let whole = text.rfind(['-', ' ']).and_then(|end| text.get(..end)).unwrap_or_default();
    format!("{whole}…")
}

/// Returns a text with `0 ms` for the duration of a call.
fn without_duration(cell: &str) -> String {
    let parts = cell.split(" · ").map(|part| {
        let number = part.split(' ').next().unwrap_or_default();
        let is_number =
            !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let is_duration =
            is_number && [" ms", " s"].iter().any(|unit| part == format!("{number}{unit}"));
        if is_duration { "0 ms" } else { part }
    });
    parts.collect::<Vec<_>>().join(" · ")
}

#[test]
fn screens_fit_their_terminal() {
    let world = world();
    for size in SIZES {
        let check = |name: &str, args: &[&str]| {
            let shown = screen(&world, args, size);
            let columns = size.0;
            match (name, columns) {
                ("log", 80) => expect_file!["screens/log-80.txt"].assert_eq(&shown),
                ("log", _) => expect_file!["screens/log-120.txt"].assert_eq(&shown),
                ("show", 80) => expect_file!["screens/show-80.txt"].assert_eq(&shown),
                ("show", _) => expect_file!["screens/show-120.txt"].assert_eq(&shown),
                ("runs-list", 80) => expect_file!["screens/runs-list-80.txt"].assert_eq(&shown),
                ("runs-list", _) => expect_file!["screens/runs-list-120.txt"].assert_eq(&shown),
                ("tools-list", 80) => expect_file!["screens/tools-list-80.txt"].assert_eq(&shown),
                ("tools-list", _) => expect_file!["screens/tools-list-120.txt"].assert_eq(&shown),
                ("help", 80) => expect_file!["screens/help-80.txt"].assert_eq(&shown),
                ("help", _) => expect_file!["screens/help-120.txt"].assert_eq(&shown),
                ("log-help", 80) => expect_file!["screens/log-help-80.txt"].assert_eq(&shown),
                ("log-help", _) => expect_file!["screens/log-help-120.txt"].assert_eq(&shown),
                (name, _) => panic!("{name} has no golden file"),
            }
        };
        check("log", &["log"]);
        check("show", &["show", "build"]);
        check("runs-list", &["runs", "list"]);
        check("tools-list", &["tools", "list"]);
        check("help", &["-h"]);
        check("log-help", &["log", "-h"]);
        // One screen: the prompt of the shell takes a line, too.
        assert!(screen(&world, &["-h"], size).lines().count() < 24);
    }
}

#[test]
fn calls_are_followed_on_a_terminal() {
    let world = world();
    for (columns, rows) in SIZES {
        let mut terminal = Terminal::of_size(columns, rows);
        let mut command = world.haft(&["runs", "tail", "build"]);
        command.env("TERM", "xterm").env("NO_COLOR", "1");
        let mut child = terminal.start_whole(&mut command);
        terminal.wait_for_any("build/4");
        terminal.wait_for_any("notes.txt +1");
        terminal.wait_for("\n");
        child.kill().unwrap();
        let (shown, _, _) = terminal.finish(child);
        let shown = normalized(&shown, &world, columns);
        match columns {
            80 => expect_file!["screens/tail-80.txt"].assert_eq(&shown),
            _ => expect_file!["screens/tail-120.txt"].assert_eq(&shown),
        }
    }
}

#[test]
fn a_pager_shows_what_is_long() {
    let world = world();
    let mut terminal = Terminal::of_size(80, 24);
    let mut command = world.haft(&["log"]);
    command.env("TERM", "xterm").env("NO_COLOR", "1").env("PAGER", "sed 's/^/paged: /'");
    let child = terminal.start_whole(&mut command);
    let (shown, _, status) = terminal.finish(child);
    assert!(shown.lines().all(|line| line.starts_with("paged: ")), "{shown}");
    assert_eq!(status, Some(0));
    // A pager that is not there is no reason to show nothing.
    let mut terminal = Terminal::of_size(80, 24);
    let mut command = world.haft(&["log"]);
    command.env("TERM", "xterm").env("PAGER", "no-such-pager 2>/dev/null");
    let child = terminal.start_whole(&mut command);
    let (shown, _, status) = terminal.finish(child);
    assert!(shown.contains("build"), "{shown}");
    assert_eq!(status, Some(0));
}

#[test]
fn the_first_write_to_a_journal_names_it() {
    let world = World::with_files();
    let shown = |args: &[&str]| {
        let mut terminal = Terminal::of_size(120, 40);
        let mut command = world.haft(args);
        let child = terminal.start_whole(&mut command);
        terminal.finish(child).0
    };
    let journal = world.path("state/journal.sqlite");
    let about = format!("this begins a new journal, {}", journal.display());
    assert!(shown(&["call", "read", "path=notes.txt"]).contains(&about));
    assert!(!shown(&["call", "read", "path=notes.txt"]).contains("a new journal"));
    assert!(shown(&["log"]).contains(&format!("journal {}", journal.display())));
}
