//! `haft asks list`: the asks that wait for an answer.

use clap::Args;
use haft::{AskKind, ShownAsk};
use haft_app::records;
use haft_journal::{AskQuery, AskRow, Journal};

use crate::arguments::cli_context::CliContext;
use crate::error::{CommandResult, CommandStatus};
use crate::views::output;
use crate::views::table::table;
use crate::views::time::duration_in_words;

/// Asks that `--all` lists.
const ALL_ASKS_MAX: u32 = 100;

/// List the asks that wait for an answer, the oldest first
///
/// LEFT is the time until the call is denied, or a question expires; - if it waits without a limit.
#[derive(Args)]
pub(super) struct AsksListArgs {
    /// List the latest asks that have ended, too
    #[arg(long)]
    all: bool,
}

/// Lists the asks of a journal, `None` if there is none yet.
pub(super) async fn run(
    args: &AsksListArgs,
    journal: Option<&dyn Journal>,
    cx: &CliContext,
) -> CommandResult {
    let asks = match journal {
        None => Vec::new(),
        Some(journal) if args.all => {
            let latest =
                AskQuery { latest_first: true, limit: ALL_ASKS_MAX, ..AskQuery::default() };
            journal.asks(latest).await?
        }
        Some(journal) => records::find_pending_asks(journal).await?,
    };
    if asks.is_empty() && !cx.setting_args.json {
        output::print_note("no call waits for an answer");
        return Ok(CommandStatus::Done);
    }
    let now_ms = cx.host.now_ms();
    let headings = ["ASK", "WAITS", "LEFT", "STATE", "TOOL", "BY", "INPUT", "ROOT"];
    let rows = asks.iter().map(|ask| row(ask, now_ms));
    cx.print_answer(&asks, || table(&headings, rows))?;
    Ok(CommandStatus::Done)
}

fn row(ask: &AskRow, now_ms: u64) -> Vec<String> {
    let summary = ShownAsk::parse(&ask.summary);
    let input = summary.as_ref().map(|shown| match shown.kind {
        AskKind::Question => {
            let questions = shown.questions.iter().map(|one| one.question.as_str());
            questions.collect::<Vec<_>>().join(" · ")
        }
        AskKind::Call | AskKind::Tool => records::input_summary(&shown.input.to_string()),
    });
    let left = ask.deadline_ms.map(|deadline_ms| deadline_ms.saturating_sub(now_ms));
    let until_ms = ask.ended_at_ms.unwrap_or(now_ms);
    let by = match ask.agents.as_slice() {
        [] => ask.front_end.clone(),
        agents => format!("{} {}", ask.front_end, agents.join("/")),
    };
    vec![
        ask.id.clone(),
        duration_in_words(until_ms.saturating_sub(ask.asked_at_ms)),
        match (ask.ended_at_ms, left) {
            (None, Some(left_ms)) => duration_in_words(left_ms),
            (_, _) => "-".to_owned(),
        },
        match &ask.answer {
            Some(answer) => super::verdict_in_words(ask, answer.verdict).to_owned(),
            None => ask.state.to_string(),
        },
        haft_contract::escape_controls(&ask.tool),
        haft_contract::escape_controls(&by),
        haft_contract::escape_controls(&input.unwrap_or_default()),
        haft_contract::escape_controls(&summary.map(|shown| shown.root).unwrap_or_default()),
    ]
}
