//! Which commands go how far.

use haft_contract::CommandLine;

use super::CommandReach;
use crate::access::PathReach;

fn argv(line: &str) -> CommandLine {
    CommandLine::Argv(line.split(' ').map(str::to_owned).collect())
}

/// Checks how far each line goes from what it reads and from what it writes.
#[track_caller]
fn check(lines: &[&str], reads: PathReach, writes: PathReach) {
    for line in lines {
        assert_eq!(CommandReach::of([&argv(line)]), CommandReach { reads, writes }, "{line}");
    }
}

#[test]
fn programs_that_search_or_pack_read_whole_trees() {
    let lines = [
        "grep -r x .",
        "grep -Rn x .",
        "grep -in --recursive x src",
        "grep --recu x src",
        "egrep x -nr src",
        "/usr/bin/grep -d recurse x src",
        "grep --directories=recurse x src",
        "rg x",
        "diff a b",
        "zip -r a.zip src",
    ];
    check(&lines, PathReach::Tree, PathReach::PathOnly);
}

#[test]
fn programs_that_copy_or_move_reach_whole_trees() {
    let lines = ["cp -r . x", "cp -pR a x", "cp -a a x", "cp --arch a x", "mv a b", "tar c ."];
    check(&lines, PathReach::Tree, PathReach::Tree);
    check(
        &["cp a.txt src", "ln a src", "install a src", "unzip a.zip"],
        PathReach::PathOnly,
        PathReach::Tree,
    );
}

#[test]
fn programs_that_remove_or_change_write_whole_trees() {
    let lines = ["rm -rf a", "rm --rec a", "chmod -R 700 a", "chown -vR me a", "find . -delete"];
    check(&lines, PathReach::PathOnly, PathReach::Tree);
}

#[test]
fn git_reads_whole_trees_with_some_subcommands() {
    let lines = ["git grep x", "git -C a --no-pager diff", "git log -p -- a", "git format-patch x"];
    check(&lines, PathReach::Tree, PathReach::Tree);
    check(
        &["git status", "git add -A", "git commit -m diff", "git"],
        PathReach::PathOnly,
        PathReach::PathOnly,
    );
}

#[test]
fn other_programs_reach_what_they_are_given() {
    let lines = [
        "ls -laR src",
        "find . -name x",
        "grep x f",
        "grep --color --exclude-dir x f",
        "grep -- x f",
        "rm a",
        "rm -- a",
        "chmod -x a",
        "mkdir -p src",
        "cat a",
        "cargo test -r",
        "",
    ];
    check(&lines, PathReach::PathOnly, PathReach::PathOnly);
}

#[test]
fn of_several_commands_the_farthest_counts() {
    let commands = [argv("ls"), argv("grep -r x ."), argv("rm -r a")];
    assert_eq!(CommandReach::of(&commands[..1]), CommandReach::NOTHING);
    assert_eq!(CommandReach::of(&commands), CommandReach::ALL);
    assert_eq!(CommandReach::of([&CommandLine::Unknown("ls $x".to_owned())]), CommandReach::ALL);
    assert_eq!(CommandReach::of([]), CommandReach::NOTHING);
}
