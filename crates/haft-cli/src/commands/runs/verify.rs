//! `haft runs verify`: checks the journal for corruption.

use std::collections::HashSet;

use clap::Args;
use haft_journal::{Journal, JournalFinding};

use crate::arguments::cli_context::CliContext;
use crate::error::{CommandResult, CommandStatus};
use crate::views::output;

/// Check the journal for corruption
///
/// Reads all of it: the file, its references, and what haft promises of every row. Prints each violation on a line, and ends
/// with status 1 if there is one.
#[derive(Args)]
pub(super) struct RunsVerifyArgs {}

pub(super) async fn run(journal: Option<&dyn Journal>, cx: &CliContext) -> CommandResult {
    let findings = match journal {
        Some(journal) => split_findings(journal.verify().await?),
        None => Vec::new(),
    };
    cx.print_answer(&findings, || {
        let line = |it: &JournalFinding| format!("not so: {}: {}\n", it.rule, it.detail);
        findings.iter().map(line).collect()
    })?;
    match (findings.len(), journal) {
        (0, Some(_)) => output::print_note("the journal is sound"),
        (0, None) => output::print_note("no runs were recorded yet"),
        (count, _) => output::print_note(format_args!("findings: {count}")),
    }
    Ok(if findings.is_empty() { CommandStatus::Done } else { CommandStatus::Failed })
}

/// Returns each finding once, a line each. A database may report several problems in one answer, or a problem twice.
fn split_findings(findings: Vec<JournalFinding>) -> Vec<JournalFinding> {
    let mut seen = HashSet::new();
    let mut all = Vec::new();
    for JournalFinding { rule, detail } in findings {
        for line in detail.lines().map(str::trim).filter(|line| !line.is_empty()) {
            if seen.insert((rule.clone(), line.to_owned())) {
                all.push(JournalFinding { rule: rule.clone(), detail: line.to_owned() });
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thing_is_told_once() {
        let finding = |rule: &str, detail: &str| JournalFinding {
            rule: rule.to_owned(),
            detail: detail.to_owned(),
        };
        let found =
            [finding("a", "*** in database main ***\npage 3\n\npage 3"), finding("b", "page 3")];
        let expect = [
            finding("a", "*** in database main ***"),
            finding("a", "page 3"),
            finding("b", "page 3"),
        ];
        assert_eq!(split_findings(found.to_vec()), expect);
    }
}
