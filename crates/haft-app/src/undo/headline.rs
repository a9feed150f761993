//! The change of a path between two snapshots, in one line of words.

use haft_snapshot::{PathChange, PathChangeKind, PathState as Recorded, quote_path};

/// Returns what happened to a path, on one line.
pub fn headline(change: &PathChange) -> String {
    let path = quote_path(&change.path);
    match (change.kind(), &change.before, &change.after) {
        (PathChangeKind::Added, _, Some(after)) => format!("added {path}{}", described(after)),
        (PathChangeKind::Removed, Some(before), _) => {
            format!("removed {path}{}", described(before))
        }
        (PathChangeKind::Kind, Some(before), Some(after)) => {
            format!("replaced {path}: {} by {}", kind(before), kind(after))
        }
        (PathChangeKind::Mode, Some(before), Some(after)) => {
            format!("mode {path}{}", modes(before, after))
        }
        (PathChangeKind::Unknown, _, Some(Recorded::Omitted(left_out))) => {
            format!("unknown {path}: after the call it was not recorded ({})", left_out.reason)
        }
        (PathChangeKind::Unknown, Some(Recorded::Omitted(left_out)), _) => {
            format!("unknown {path}: before the call it was not recorded ({})", left_out.reason)
        }
        (PathChangeKind::Unknown, _, _) => format!("unknown {path}"),
        (_, Some(before), Some(after)) => format!("modified {path}{}", modes(before, after)),
        (_, _, _) => format!("modified {path}"),
    }
}

/// Returns how many lines a unified diff adds and removes. Its first two lines name the files.
pub fn count_changed_lines(unified: &[u8]) -> (usize, usize) {
    let lines = unified.split(|byte| *byte == b'\n').skip(2);
    let count = |mark: u8| lines.clone().filter(|line| line.first() == Some(&mark)).count();
    (count(b'+'), count(b'-'))
}

fn described(state: &Recorded) -> String {
    match state {
        Recorded::Directory { .. } => "/".to_owned(),
        Recorded::Link { target } => format!(" -> {}", quote_path(target)),
        Recorded::File(file) if file.mode & 0o111 != 0 => format!(" (mode {:03o})", file.mode),
        Recorded::File(_) => String::new(),
        Recorded::Omitted(left_out) => format!(" ({})", left_out.reason),
    }
}

fn kind(state: &Recorded) -> &'static str {
    match state {
        Recorded::File(_) => "a file",
        Recorded::Directory { .. } => "a directory",
        Recorded::Link { .. } => "a link",
        Recorded::Omitted(_) => "something that was not recorded",
    }
}

fn modes(before: &Recorded, after: &Recorded) -> String {
    let mode = |state: &Recorded| match state {
        Recorded::File(file) => Some(file.mode),
        Recorded::Directory { mode } => Some(*mode),
        Recorded::Link { .. } | Recorded::Omitted(_) => None,
    };
    match mode(before).zip(mode(after)) {
        Some((before, after)) if before != after => format!(" (mode {before:03o} to {after:03o})"),
        _ => String::new(),
    }
}
