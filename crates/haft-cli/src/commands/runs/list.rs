//! `haft runs list`: lists the latest runs and their state.

use clap::Args;
use haft_journal::limits::QUERY_RUNS_MAX;
use haft_journal::{Journal, RunQuery};

use super::text;
use crate::arguments::cli_context::CliContext;
use crate::error::{CommandResult, CommandStatus};
use crate::views::output;
use crate::views::table::table_dropping;
use haft_app::calendar::rfc3339;

/// Columns that a narrow terminal does not show, the first to go first.
const DROPPED: [&str; 4] = ["HOLDER", "ROOT", "OPEN", "STARTED"];

/// List the latest runs, the newest first
///
/// OPEN are calls that were begun and whose outcome is not recorded yet; UNKNOWN are calls that may or may not have
/// happened. HOLDER is the process that has the run now.
#[derive(Args)]
pub(super) struct RunsListArgs {
    /// Most runs to list
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=i64::from(QUERY_RUNS_MAX)))]
    limit: u32,
}

pub(super) async fn run(
    args: &RunsListArgs,
    journal: Option<&dyn Journal>,
    cx: &CliContext,
) -> CommandResult {
    let runs = match journal {
        Some(journal) => {
            journal.runs(RunQuery { limit: args.limit, ..RunQuery::default() }).await?
        }
        None => Vec::new(),
    };
    if runs.is_empty() && !cx.setting_args.json {
        output::print_note("no runs were recorded yet");
        return Ok(CommandStatus::Done);
    }
    let headings =
        ["RUN", "STARTED", "BY", "CALLS", "FAILED", "REFUSED", "OPEN", "UNKNOWN", "HOLDER", "ROOT"];
    let rows = runs.iter().map(|run| {
        vec![
            run.id.to_string(),
            rfc3339(run.started_at_ms),
            run.front_end.clone(),
            run.calls.to_string(),
            run.failed.to_string(),
            run.refused.to_string(),
            run.intended.to_string(),
            run.unknown.to_string(),
            run.holder.as_ref().map_or("-".to_owned(), text::holder_text),
            haft_contract::escape_controls(&run.root),
        ]
    });
    cx.print_answer(&runs, || table_dropping(&headings, &DROPPED, rows))?;
    Ok(CommandStatus::Done)
}
