//! Which commands go how far.

use haft_contract::Command;

use super::Sweep;
use crate::access::Reach;

fn argv(line: &str) -> Command {
    Command::Argv(line.split(' ').map(str::to_owned).collect())
}

/// Checks how far each line goes from what it reads and from what it writes.
#[track_caller]
fn check(lines: &[&str], reads: Reach, writes: Reach) {
    for line in lines {
        assert_eq!(Sweep::of([&argv(line)]), Sweep { reads, writes }, "{line}");
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
    check(&lines, Reach::Tree, Reach::Place);
}

#[test]
fn programs_that_copy_or_move_reach_whole_trees() {
    let lines = ["cp -r . x", "cp -pR a x", "cp -a a x", "cp --arch a x", "mv a b", "tar c ."];
    check(&lines, Reach::Tree, Reach::Tree);
    check(&["cp a.txt src", "ln a src", "install a src", "unzip a.zip"], Reach::Place, Reach::Tree);
}

#[test]
fn programs_that_remove_or_change_write_whole_trees() {
    let lines = ["rm -rf a", "rm --rec a", "chmod -R 700 a", "chown -vR me a", "find . -delete"];
    check(&lines, Reach::Place, Reach::Tree);
}

#[test]
fn git_reads_whole_trees_with_some_subcommands() {
    let lines = ["git grep x", "git -C a --no-pager diff", "git log -p -- a", "git format-patch x"];
    check(&lines, Reach::Tree, Reach::Tree);
    check(&["git status", "git add -A", "git commit -m diff", "git"], Reach::Place, Reach::Place);
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
    check(&lines, Reach::Place, Reach::Place);
}

#[test]
fn of_several_commands_the_farthest_counts() {
    let commands = [argv("ls"), argv("grep -r x ."), argv("rm -r a")];
    assert_eq!(Sweep::of(&commands[..1]), Sweep::NOTHING);
    assert_eq!(Sweep::of(&commands), Sweep::ALL);
    assert_eq!(Sweep::of([&Command::Unknown("ls $x".to_owned())]), Sweep::ALL);
    assert_eq!(Sweep::of([]), Sweep::NOTHING);
}
