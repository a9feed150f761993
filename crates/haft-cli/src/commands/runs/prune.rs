//! `haft runs prune`: removes old runs, or the oldest beyond a size, with their kept outputs.

mod due_runs;

use std::collections::BTreeSet;
use std::time::SystemTime;

use clap::Args;
use haft::{Clock as _, SystemClock};
use haft_contract::RunId;
use haft_journal::Retention;
use serde::Serialize;

use self::due_runs::DueRunReport;
use super::DOUBTS_SHOWN_MAX;
use crate::arguments::cli_context::CliContext;
use crate::error::{CommandError, CommandResult, CommandStatus};
use crate::views::output;
use crate::views::path_text::counted;
use crate::views::time;
use haft_app::host::AppHost;
use haft_app::records;
use haft_app::settings::DurabilitySettings;
use haft_app::{compose, sidecars};

/// Remove old runs with all that belongs to them
///
/// The runs that were quiet for longest go first. A run that a process holds stays, and so does a run with a call in doubt,
/// which you have to settle first. Sessions of agents are runs, too: the messages of a session and the sessions of its
/// subagents go with it. A removed run cannot be recalled, undone or resumed. If a good part of the journal's file is unused
/// afterwards, haft rewrites it, so that the disk has the space again. Without flags, keep_days and keep_bytes of the
/// manifest's [durability] hold.
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
    /// Details of the runs that would go.
    due: Vec<DueRunReport>,
    /// Runs that were due and stay, because calls of theirs are in doubt.
    kept_in_doubt: Vec<RunId>,
    /// Of the runs; `None` where there is no journal.
    calls: Option<u64>,
    /// Files that held the rest of cut outputs.
    outputs: usize,
    /// Bytes of what was recorded around their effects, as far as no other call needs them.
    snapshot_bytes: u64,
    /// Bytes by which the file of the journal became smaller.
    journal_bytes: u64,
    dry_run: bool,
}

pub(super) async fn run(
    args: &RunsPruneArgs,
    durability: &DurabilitySettings,
    cx: &CliContext,
) -> CommandResult {
    let retention = retention(args, durability)?;
    let nothing = RunsPruneReport { dry_run: true, ..RunsPruneReport::default() };
    let removed = if args.dry_run {
        match durability.journal.open_to_read().await? {
            Some(journal) => {
                let due_now = journal.due_runs(retention).await?;
                let haft_journal::DueRuns { runs, kept_in_doubt } = due_now;
                let (mut outputs, sidecars) = (0, cx.host.state().sidecars());
                for run in &runs {
                    outputs += sidecars::sidecars_of_run(&*journal, run, &sidecars).await?.len();
                }
                let due = due_runs::describe_runs(&*journal, &runs, retention).await?;
                let calls = Some(due.iter().map(|run| run.calls).sum());
                let report = RunsPruneReport { runs, due, kept_in_doubt, calls, ..nothing };
                RunsPruneReport { outputs, ..report }
            }
            None => nothing,
        }
    } else {
        prune(durability, retention, &cx.host).await?
    };
    if cx.setting_args.json {
        output::write_json(&removed)?;
        return Ok(CommandStatus::Done);
    }
    for run in &removed.runs {
        output::write_data(run.as_str())?;
    }
    if !removed.kept_in_doubt.is_empty() {
        let kept: Vec<&str> = removed.kept_in_doubt.iter().map(RunId::as_str).collect();
        let runs = counted(kept.len(), "run");
        let (first, rest) = kept.split_at(kept.len().min(DOUBTS_SHOWN_MAX));
        let more =
            if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
        output::print_note(format_args!(
            "kept {runs} with calls in doubt, which haft runs show lists and --in-doubt removes: {}{more}",
            first.join(", ")
        ));
    }
    for run in &removed.due {
        output::print_note(run);
    }
    let sessions = removed.runs.iter().filter(|run| records::is_session_run(run)).count();
    let mut runs = counted(removed.runs.len(), "run");
    if sessions > 0 {
        runs.push_str(&format!(", {} among them,", counted(sessions, "session")));
    }
    let outputs = counted(removed.outputs, "kept output");
    let calls = removed.calls.unwrap_or_default();
    let calls = counted(usize::try_from(calls).unwrap_or(usize::MAX), "call");
    let verb = if removed.dry_run { "would remove" } else { "removed" };
    let smaller = match removed.journal_bytes {
        0 => String::new(),
        bytes => format!("; the journal is {bytes} bytes smaller"),
    };
    output::print_note(format_args!("{verb} {runs} with {calls} and {outputs}{smaller}"));
    Ok(CommandStatus::Done)
}

async fn prune(
    durability: &DurabilitySettings,
    retention: Retention,
    host: &AppHost,
) -> Result<RunsPruneReport, CommandError> {
    let opened = durability.journal.open().await?;
    let (journal, sessions) = (&*opened, host.state().sidecars());
    // A dead process holds its runs until another one takes them over.
    records::abandon_dead_runs(journal, |_| true).await?;
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
    let history = compose::snapshots::history(&opened, &durability.journal, None, host);
    let snapshots = history.prune().await.map_err(CommandError::failed)?;
    if snapshots.busy > 0 {
        output::print_note("snapshots that a process is using were left for another time");
    }
    let size = || durability.journal.file().and_then(|file| Some(file.metadata().ok()?.len()));
    let before = size();
    if let Err(err) = journal.compact().await {
        let message = format!(
            "the disk space of the removed runs could not be given back, and is used for later runs: {err}"
        );
        output::print_warning(&message, None);
    }
    let journal_bytes = before.zip(size()).map_or(0, |(before, now)| before.saturating_sub(now));
    Ok(RunsPruneReport {
        journal_bytes,
        runs: pruned.runs,
        due: Vec::new(),
        kept_in_doubt: pruned.kept_in_doubt,
        calls: Some(pruned.calls),
        outputs,
        snapshot_bytes: snapshots.removed_bytes,
        dry_run: false,
    })
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
