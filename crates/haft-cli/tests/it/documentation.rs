//! The pages for newcomers say what happens: every block of their commands is run, in order, and its output compared. Of a page,
//! a block whose language is followed by a name is a file, `console` is a session, and all other blocks are only read.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::world::{World, names};

/// Stands for any text in an expected line, and alone for any lines.
const ANYTHING: &str = "…";

fn documents() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").canonicalize().unwrap()
}

struct PageBlock<'a> {
    /// The language, and the name of the file if it is one.
    words: Vec<&'a str>,
    lines: Vec<&'a str>,
}

fn blocks(page: &str) -> Vec<PageBlock<'_>> {
    let mut blocks = Vec::new();
    let mut open: Option<PageBlock> = None;
    for line in page.lines() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(words), None) => {
                let words = words.split_whitespace().collect();
                open = Some(PageBlock { words, lines: Vec::new() });
            }
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (None, Some(block)) => block.lines.push(line),
            (None, None) => {}
        }
    }
    blocks
}

/// Returns whether a text is as expected, line by line.
fn is_as_expected(expected: &[&str], found: &[&str]) -> bool {
    match (expected.split_first(), found.split_first()) {
        (None, None) => true,
        (Some((&ANYTHING, rest)), _) => {
            (0..=found.len()).any(|skipped| is_as_expected(rest, &found[skipped..]))
        }
        (Some((line, expected)), Some((found, rest))) => {
            is_line_as_expected(line, found) && is_as_expected(expected, rest)
        }
        (None, Some(_)) | (Some(_), None) => false,
    }
}

fn is_line_as_expected(expected: &str, found: &str) -> bool {
    let Some((start, rest)) = expected.split_once(ANYTHING) else { return expected == found };
    let Some(found) = found.strip_prefix(start) else { return false };
    let ends = found.char_indices().map(|(at, _)| at).chain([found.len()]);
    ends.into_iter().any(|at| is_line_as_expected(rest, &found[at..]))
}

/// Runs the sessions of a page, each command in a world of the page's own.
fn check_page(path: &Path) {
    let page = fs::read_to_string(path).unwrap();
    let world = World::new();
    fs::create_dir(world.path("bin")).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_haft"), world.path("bin/haft")).unwrap();
    let mut commands = 0;
    for block in blocks(&page) {
        match block.words.as_slice() {
            [_, name] => world.write(&format!("work/{name}"), &(block.lines.join("\n") + "\n")),
            ["console"] => {
                let mut lines = block.lines.as_slice();
                while let Some((line, rest)) = lines.split_first() {
                    let line = line.strip_prefix("$ ").unwrap_or_else(|| {
                        panic!("{}: expected a command, found {line}", path.display())
                    });
                    let count = rest.iter().take_while(|line| !line.starts_with("$ ")).count();
                    check_command(path, &world, line, &rest[..count]);
                    commands += 1;
                    lines = &rest[count..];
                }
            }
            _ => {}
        }
    }
    assert!(commands > 0, "{} has no commands", path.display());
}

/// Runs a command, which fails exactly if an error is expected.
fn check_command(page: &Path, world: &World, line: &str, expected: &[&str]) {
    let mut command = Command::new("bash");
    let output = command
        .args(["-c", &format!("exec 2>&1; {line}")])
        .current_dir(world.path("work"))
        .env_clear()
        .env("PATH", format!("{}:/usr/bin:/bin", world.path("bin").display()))
        .env("HOME", world.path("home"))
        .env("TZ", "UTC")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let found = String::from_utf8_lossy(&output.stdout);
    let found_lines: Vec<&str> = found.lines().collect();
    let is_error = expected.first().is_some_and(|line| line.starts_with("error:"));
    assert!(
        is_as_expected(expected, &found_lines) && output.status.success() != is_error,
        "{}\n$ {line}\n{found}--- {}, but expected\n{}",
        page.display(),
        output.status,
        expected.join("\n")
    );
}

#[test]
fn the_first_five_minutes_are_as_written() {
    check_page(&documents().join("start.md"));
}

#[test]
fn the_clients_are_connected_as_written() {
    check_page(&documents().join("connect.md"));
}

#[test]
fn every_guide_does_what_it_says() {
    let mut guides = names(&documents().join("guides"));
    guides.retain(|guide| guide != "README.md");
    assert!(guides.len() >= 10, "{guides:?}");
    for guide in guides {
        check_page(&documents().join("guides").join(guide));
    }
}

#[test]
fn the_readme_does_what_it_says() {
    check_page(&documents().join("../README.md"));
}

#[test]
fn the_readme_is_short() {
    let readme = fs::read_to_string(documents().join("../README.md")).unwrap();
    let lines = readme.lines().count();
    assert!(lines <= 120, "{lines} lines, at most 120");
}

#[test]
fn every_page_has_a_place_in_the_site() {
    let summary = fs::read_to_string(documents().join("SUMMARY.md")).unwrap();
    let pages = |directory: &str| {
        let names = names(&documents().join(directory)).into_iter();
        names.filter(|name| name.ends_with(".md") && name != "SUMMARY.md")
    };
    let pages = pages(".").chain(pages("guides").map(|name| format!("guides/{name}")));
    let missing: Vec<String> =
        pages.filter(|page| !summary.contains(&format!("({page})"))).collect();
    assert_eq!(missing, [""; 0], "docs/SUMMARY.md lists the pages");
}

#[test]
fn an_expected_text_may_leave_something_open() {
    let check = |expected: &[&str], found: &[&str], is_equal: bool| {
        assert_eq!(is_as_expected(expected, found), is_equal, "{expected:?} {found:?}");
    };
    check(&["a", "…", "d"], &["a", "b", "c", "d"], true);
    check(&["a", "…"], &["a"], true);
    check(&["a…d…"], &["abcd"], true);
    check(&["a…d"], &["abc"], false);
    check(&["a"], &["a", "b"], false);
    check(&[], &["a"], false);
}
