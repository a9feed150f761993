//! `haft runs prune`: removing what is old or too much, with the outputs that were kept for it.

use std::collections::BTreeSet;
use std::time::SystemTime;

use clap::Args;
use haft::{Clock as _, SystemClock};
use haft_contract::RunId;
use haft_journal::Retention;
use serde::Serialize;

use super::dead;
use crate::error::{CommandError, Status};
use crate::settings::Durability;
use crate::state::State;
use crate::{compose, output, sidecars, time};

/// Remove old runs with all that belongs to them
///
/// The runs that were quiet for longest go first; one that a process holds stays. What is gone can be neither recalled
/// nor undone. Without flags, keep_days and keep_bytes of the manifest's [durability] hold.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft runs prune --older-than 30d --dry-run
  haft runs prune --keep-bytes 1000000000")]
pub(super) struct PruneArgs {
    /// Runs go that were quiet for longer, such as 30d, 12h or 2w
    #[arg(long, value_name = "AGE")]
    older_than: Option<String>,
    /// While the calls of all runs together hold more, the run goes that was quiet for longest
    #[arg(long, value_name = "BYTES")]
    keep_bytes: Option<u64>,
    /// Say what would go, and remove nothing
    #[arg(long)]
    dry_run: bool,
}

#[derive(Serialize)]
struct Removed {
    runs: Vec<RunId>,
    /// `None` where nothing was removed.
    calls: Option<u64>,
    /// Files that held the rest of cut outputs.
    outputs: usize,
    /// Bytes of what was recorded around their effects, as far as no other call needs them.
    snapshot_bytes: u64,
    dry_run: bool,
}

pub(super) async fn run(
    args: &PruneArgs,
    durability: &Durability,
    state: &State,
    json: bool,
) -> Result<Status, CommandError> {
    let retention = retention(args, durability)?;
    let sessions = state.sessions();
    let opened = if args.dry_run {
        durability.journal.open_to_read().await?
    } else {
        Some(durability.journal.open().await?)
    };
    let mut removed = Removed {
        runs: Vec::new(),
        calls: None,
        outputs: 0,
        snapshot_bytes: 0,
        dry_run: args.dry_run,
    };
    if let Some(journal) = opened.as_deref() {
        if !args.dry_run {
            // A run whose process died is held by it until somebody takes it.
            dead::abandon(journal, |_| true).await?;
        }
        let due = journal.due(retention).await?;
        let mut outputs = Vec::new();
        for run in due {
            outputs.push((run.clone(), sidecars::of_run(journal, &run, &sessions).await?));
        }
        if args.dry_run {
            removed.outputs = outputs.iter().map(|(_, paths)| paths.len()).sum();
            removed.runs = outputs.into_iter().map(|(run, _)| run).collect();
        } else {
            let pruned = journal.prune(retention).await?;
            let gone: BTreeSet<_> = outputs
                .into_iter()
                .filter(|(run, _)| pruned.runs.contains(run))
                .flat_map(|(_, paths)| paths)
                .collect();
            removed.outputs = sidecars::remove(&gone);
            (removed.runs, removed.calls) = (pruned.runs, Some(pruned.calls));
            sidecars::sweep(&sessions, SystemTime::now(), durability.keep_days);
        }
    }
    if let (Some(journal), false) = (&opened, args.dry_run) {
        let history = compose::snapshots::history(journal, &durability.journal, None, state);
        let pruned = history.prune().await.map_err(CommandError::failed)?;
        removed.snapshot_bytes = pruned.removed_bytes;
        if pruned.busy > 0 {
            output::note("snapshots that a process is using were left for another time");
        }
    }
    say(&removed, json)?;
    Ok(Status::Done)
}

fn retention(args: &PruneArgs, durability: &Durability) -> Result<Retention, CommandError> {
    let age_ms = match &args.older_than {
        Some(age) => Some(time::parse_age_ms(age)?),
        None => durability.keep_days.map(|days| days.saturating_mul(time::DAY_MS)),
    };
    let bytes_max = args.keep_bytes.or(durability.keep_bytes);
    if age_ms.is_none() && bytes_max.is_none() {
        let message = "nothing says what may go: expected --older-than or --keep-bytes, or keep_days or keep_bytes in \
                       [durability] of a manifest that is trusted";
        return Err(CommandError::usage(message).hint("haft runs prune --older-than 30d --dry-run"));
    }
    let before_ms = age_ms.map(|age_ms| SystemClock.now_ms().saturating_sub(age_ms));
    Ok(Retention { before_ms, bytes_max })
}

fn say(removed: &Removed, json: bool) -> Result<(), CommandError> {
    if json {
        return output::json(removed);
    }
    for run in &removed.runs {
        output::data(run.as_str())?;
    }
    let runs = counted(removed.runs.len(), "run");
    let outputs = counted(removed.outputs, "kept output");
    match removed.calls {
        None => output::note(format_args!("would remove {runs} with {outputs}")),
        Some(calls) => {
            let calls = counted(usize::try_from(calls).unwrap_or(usize::MAX), "call");
            output::note(format_args!("removed {runs} with {calls} and {outputs}"));
        }
    }
    Ok(())
}

fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}
