//! Parses `/proc` lines with hostile names, and checks descent in made-up snapshots.

use super::*;

fn member(pid: i32, parent: i32) -> TreeProcess {
    TreeProcess { pid, parent, group: pid, session: pid, started: 0, is_zombie: false }
}

fn line(name: &str, state: char) -> String {
    format!("42 ({name}) {state} 7 41 40 34816 42 4194304 1 2 3 4 5 6 7 8 20 0 1 0 99887 1024 3\n")
}

#[test]
fn fields_are_read_behind_any_name() {
    for name in ["bash", "a) R 1 1 1", "((", ")", "two words", "line\nend", ""] {
        let expected = TreeProcess {
            pid: 42,
            parent: 7,
            group: 41,
            session: 40,
            started: 99_887,
            is_zombie: false,
        };
        assert_eq!(parse(line(name, 'S').as_bytes()), Some(expected), "{name:?}");
    }
}

#[test]
fn the_dead_are_told_from_the_living() {
    let is_zombie = |state| parse(line("x", state).as_bytes()).unwrap().is_zombie;
    assert_eq!(
        ['S', 'R', 'D', 'T', 'Z', 'X'].map(is_zombie),
        [false, false, false, false, true, true]
    );
}

#[test]
fn what_is_no_such_line_is_nothing() {
    for text in ["", "42", "42 (", "x (y) S 1 2 3", "42 (x) S 7 41 40"] {
        assert_eq!(parse(text.as_bytes()), None, "{text:?}");
    }
}

#[test]
fn descendants_of_every_degree_are_found() {
    let members = [member(2, 1), member(3, 2), member(4, 3), member(5, 1), member(6, 5)];
    let mut found: Vec<i32> = descendants(&members, 2).iter().map(|member| member.pid).collect();
    found.sort_unstable();
    assert_eq!(found, [3, 4]);
}

#[test]
fn a_loop_in_a_snapshot_ends() {
    let members = [member(2, 3), member(3, 2)];
    assert_eq!(descendants(&members, 2).len(), 2);
}

#[test]
fn this_process_is_in_the_snapshot() {
    let own = i32::try_from(std::process::id()).unwrap();
    assert!(snapshot().unwrap().iter().any(|member| member.pid == own));
}
