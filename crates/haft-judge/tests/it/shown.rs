//! A judgement as text, one finding a line, for tests to compare.

use std::fmt::Write as _;

use haft_judge::{How, Judgement};

pub(crate) fn shown(judgement: &Judgement) -> String {
    let mut text = String::new();
    for command in &judgement.commands {
        let through: String =
            command.through.iter().map(|program| format!("{program} > ")).collect();
        let mark = if command.argv().is_some() { "run" } else { "partly" };
        let _ = writeln!(text, "{mark} {through}{}", command.text());
    }
    for file in &judgement.files {
        let how = match file.how {
            How::Read => "read",
            How::Write => "write",
        };
        let _ = writeln!(text, "{how} {}", file.path);
    }
    for host in &judgement.hosts {
        let _ = writeln!(text, "host {host}");
    }
    for unknown in &judgement.unknown {
        let _ = writeln!(text, "unknown {:?}: {}", unknown.text, unknown.reason);
    }
    text
}
