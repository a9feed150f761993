//! `haft runs prune`: removing what is old or too much, with the outputs that were kept for it.

mod due_runs;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::SystemTime;

use clap::Args;
use haft::{Clock as _, SystemClock};
use haft_contract::RunId;
use haft_journal::{Journal, Retention};
use serde::Serialize;

use self::due_runs::DueRunReport;
use super::{DOUBTS_SHOWN_MAX, dead_holders, run_session};
use crate::error::{CommandError, CommandStatus};
use crate::views::output;
use crate::views::time;
use haft_app::host::AppHost;
use haft_app::settings::DurabilitySettings;
use haft_app::{compose, sidecars};

/// Remove old runs with all that belongs to them
///
/// The runs that were quiet for longest go first; one that a process holds stays, and so does one with a call in doubt, of
/// which somebody has yet to say whether it happened. Sessions of agents are runs, too: what was said in one goes with it, and
/// the sessions of its subagents go with it and not before. What is gone can be neither recalled nor undone, nor gone on with.
/// Without flags, keep_days and keep_bytes of the manifest's [durability] hold.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft runs prune --older-than 30d --dry-run
  haft runs prune --keep-bytes 1G")]
pub(super) struct RunsPruneArgs {
    /// Runs go that were quiet for longer, such as 30d, 12h or 2w
    #[arg(long, value_name = "AGE", allow_hyphen_values = true)]
    older_than: Option<String>,
    /// While the calls of all runs together hold more, the run goes that was quiet for longest; a number of bytes, or one
    /// with k, M or G, such as 500M
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true)]
    keep_bytes: Option<String>,
    /// Runs go although calls of theirs are in doubt
    #[arg(long)]
    in_doubt: bool,
    /// Say what would go, and remove nothing
    #[arg(long)]
    dry_run: bool,
}

#[derive(Default, Serialize)]
struct RunsPruneReport {
    runs: Vec<RunId>,
    /// What is known of runs that would go.
    due: Vec<DueRunReport>,
    /// Runs that were due and stay, because calls of theirs are in doubt.
    kept_in_doubt: Vec<RunId>,
    /// Of the runs; `None` where there is no journal.
    calls: Option<u64>,
    /// Files that held the rest of cut outputs.
    outputs: usize,
    /// Bytes of what was recorded around their effects, as far as no other call needs them.
    snapshot_bytes: u64,
    dry_run: bool,
}

pub(super) async fn run(
    args: &RunsPruneArgs,
    durability: &DurabilitySettings,
    host: &AppHost,
    json: bool,
) -> Result<CommandStatus, CommandError> {
    let retention = retention(args, durability)?;
    let removed = if args.dry_run {
        match durability.journal.open_to_read().await? {
            Some(journal) => print_due_runs(&*journal, retention, host).await?,
            None => RunsPruneReport { dry_run: true, ..RunsPruneReport::default() },
        }
    } else {
        prune(durability, retention, host).await?
    };
    print_report(&removed, json)?;
    Ok(CommandStatus::Done)
}

/// Finds out what would go.
async fn print_due_runs(
    journal: &dyn Journal,
    retention: Retention,
    host: &AppHost,
) -> Result<RunsPruneReport, CommandError> {
    let haft_journal::DueRuns { runs, kept_in_doubt } = journal.due_runs(retention).await?;
    let mut outputs = 0;
    for run in &runs {
        outputs += sidecars::sidecars_of_run(journal, run, &host.state().sidecars()).await?.len();
    }
    let due = due_runs::describe_runs(journal, &runs, retention).await?;
    let calls = Some(due.iter().map(|run| run.calls).sum());
    Ok(RunsPruneReport {
        runs,
        due,
        kept_in_doubt,
        calls,
        outputs,
        dry_run: true,
        ..RunsPruneReport::default()
    })
}

async fn prune(
    durability: &DurabilitySettings,
    retention: Retention,
    host: &AppHost,
) -> Result<RunsPruneReport, CommandError> {
    let opened = durability.journal.open().await?;
    let (journal, sessions) = (&*opened, host.state().sidecars());
    // A run whose process died is held by it until somebody takes it.
    dead_holders::abandon_dead_runs(journal, |_| true).await?;
    let mut outputs = Vec::new();
    for run in journal.due_runs(retention).await?.runs {
        outputs.push((run.clone(), sidecars::sidecars_of_run(journal, &run, &sessions).await?));
    }
    let pruned = journal.prune(retention).await?;
    let gone: BTreeSet<_> = outputs
        .into_iter()
        .filter(|(run, _)| pruned.runs.contains(run))
        .flat_map(|(_, paths)| paths)
        .collect();
    let outputs = sidecars::remove_sidecars(&gone);
    sidecars::remove_old_sidecars(&sessions, SystemTime::now(), durability.keep_days);
    Ok(RunsPruneReport {
        runs: pruned.runs,
        due: Vec::new(),
        kept_in_doubt: pruned.kept_in_doubt,
        calls: Some(pruned.calls),
        outputs,
        snapshot_bytes: prune_snapshots(&opened, durability, host).await?,
        dry_run: false,
    })
}

/// Removes what was recorded around calls that are gone, and returns how many bytes it had.
async fn prune_snapshots(
    journal: &Arc<dyn Journal>,
    durability: &DurabilitySettings,
    host: &AppHost,
) -> Result<u64, CommandError> {
    let history = compose::snapshots::history(journal, &durability.journal, None, host);
    let pruned = history.prune().await.map_err(CommandError::failed)?;
    if pruned.busy > 0 {
        output::print_note("snapshots that a process is using were left for another time");
    }
    Ok(pruned.removed_bytes)
}

fn retention(
    args: &RunsPruneArgs,
    durability: &DurabilitySettings,
) -> Result<Retention, CommandError> {
    let age_ms = match &args.older_than {
        Some(age) => Some(time::parse_age_ms(age)?),
        None => durability.keep_days.map(|days| days.saturating_mul(haft_app::calendar::DAY_MS)),
    };
    let bytes_max = match &args.keep_bytes {
        Some(bytes) => Some(parse_bytes(bytes)?),
        None => durability.keep_bytes,
    };
    if age_ms.is_none() && bytes_max.is_none() {
        let message = "nothing says what may go: expected --older-than or --keep-bytes, or keep_days or keep_bytes in \
                       [durability] of a manifest that is trusted";
        return Err(CommandError::usage(message).hint("haft runs prune --older-than 30d --dry-run"));
    }
    let before_ms = age_ms.map(|age_ms| SystemClock.now_ms().saturating_sub(age_ms));
    Ok(Retention { before_ms, bytes_max, keeps_in_doubt: !args.in_doubt })
}

/// Returns how many bytes `500M` is.
fn parse_bytes(text: &str) -> Result<u64, CommandError> {
    let units = [("k", 1_000), ("M", 1_000_000), ("G", 1_000_000_000)];
    let with_unit =
        units.iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, *factor)));
    let (number, factor): (&str, u64) = with_unit.unwrap_or((text, 1));
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let number = number.parse().ok().filter(|_: &u64| is_number);
    number.and_then(|number| number.checked_mul(factor)).ok_or_else(|| {
        CommandError::usage(format!(
            "size {text:?} is not valid: expected a number of bytes, or one with k, M or G, such as 500M"
        ))
    })
}

fn print_report(removed: &RunsPruneReport, json: bool) -> Result<(), CommandError> {
    if json {
        return output::write_json(removed);
    }
    for run in &removed.runs {
        output::write_data(run.as_str())?;
    }
    if !removed.kept_in_doubt.is_empty() {
        let kept: Vec<&str> = removed.kept_in_doubt.iter().map(RunId::as_str).collect();
        let runs = counted(kept.len(), "run");
        output::print_note(format_args!(
            "kept {runs} with calls in doubt, which haft runs show lists and --in-doubt removes: {}",
            shortened(&kept)
        ));
    }
    for run in &removed.due {
        output::print_note(run);
    }
    let sessions = removed.runs.iter().filter(|run| run_session::is_session_run(run)).count();
    let runs = match sessions {
        0 => counted(removed.runs.len(), "run"),
        _ => {
            let runs = counted(removed.runs.len(), "run");
            format!("{runs}, {} among them,", counted(sessions, "session"))
        }
    };
    let outputs = counted(removed.outputs, "kept output");
    let calls = removed.calls.unwrap_or_default();
    let calls = counted(usize::try_from(calls).unwrap_or(usize::MAX), "call");
    let verb = if removed.dry_run { "would remove" } else { "removed" };
    output::print_note(format_args!("{verb} {runs} with {calls} and {outputs}"));
    Ok(())
}

fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// Returns the first of these names, and how many more there are.
fn shortened(names: &[&str]) -> String {
    let (first, more) = names.split_at(names.len().min(DOUBTS_SHOWN_MAX));
    let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
    format!("{}{more}", first.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        let check = |text: &str, expect: Option<u64>| {
            assert_eq!(parse_bytes(text).ok(), expect, "{text}");
        };
        check("0", Some(0));
        check("1000", Some(1_000));
        check("1k", Some(1_000));
        check("500M", Some(500_000_000));
        check("2G", Some(2_000_000_000));
        for wrong in ["", "k", "-1k", "+1", "1K", "1kk", "1.5G", "99999999999999G"] {
            check(wrong, None);
        }
    }
}
