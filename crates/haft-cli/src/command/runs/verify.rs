//! `haft runs verify`: whether the journal is sound.

use clap::Args;
use haft_journal::Journal;

use crate::error::{CommandError, Status};
use crate::output;

/// Look whether the journal is sound
///
/// Reads all of it: the file, its references, and what haft promises of every row. Prints what is not as haft leaves it,
/// a line each, and ends with status 1 if there is anything.
#[derive(Args)]
pub(super) struct VerifyArgs {}

pub(super) async fn run(journal: Option<&dyn Journal>, json: bool) -> Result<Status, CommandError> {
    let findings = match journal {
        Some(journal) => journal.verify().await?,
        None => Vec::new(),
    };
    if json {
        output::json(&findings)?;
    } else {
        for finding in &findings {
            let line = format!("not so: {}: {}", finding.rule, finding.detail);
            output::data(&output::visible(&line).replace('\n', " "))?;
        }
    }
    match (findings.len(), journal) {
        (0, Some(_)) => output::note("the journal is sound"),
        (0, None) => output::note("no runs were recorded yet"),
        (count, _) => output::note(format_args!("findings: {count}")),
    }
    Ok(if findings.is_empty() { Status::Done } else { Status::Failed })
}
