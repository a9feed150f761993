//! Formats an analysis as text, one finding per line, for tests.

use std::fmt::Write as _;

use haft_shell::{FileUseMode, ShellAnalysis};

pub(crate) fn shown(judgement: &ShellAnalysis) -> String {
    let mut text = String::new();
    for command in &judgement.commands {
        let through: String =
            command.launchers.iter().map(|program| format!("{program} > ")).collect();
        let mark = if command.argv().is_some() { "run" } else { "partly" };
        let _ = writeln!(text, "{mark} {through}{}", command.text());
    }
    for file in &judgement.files {
        let how = match file.mode {
            FileUseMode::Read => "read",
            FileUseMode::Write => "write",
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
