//! `haft log`: one line for each run, the one that was used last first. The lines say who worked, what came of it and which
//! files changed. They end with the short id, which the other commands take.

mod entry;
mod lines;

use std::path::PathBuf;

use clap::Args;
use haft_journal::Journal;

use self::entry::{LogEntry, LogReport};
use super::undo::snapshot_history;
use crate::arguments::candidates;
use crate::arguments::cli_context::CliContext;
use crate::arguments::latest;
use crate::error::{CommandError, CommandResult, CommandStatus};
use crate::views::table::terminal_width;
use crate::views::{output, pager, time};
use haft::SnapshotHistory;
use haft_app::records::{LatestWork, WorkFilter};
use haft_app::settings::EffectiveSettings;

/// Largest `--limit` of `haft log`.
///
/// Limit (journal): the command line is refused.
pub(crate) const LOG_RUNS_MAX: u32 = 10_000;

/// List the runs of this workspace, the one that was used last first
///
/// Each line says when the run was used last, who made its calls, how many, how many of them were refused or failed, its
/// subject and the files that it changed, the lines added and removed, and its short id. The work of subagents counts as that
/// of their session. haft show, haft diff, haft undo and others take the short id, as well as last, and last~1 for the line
/// below.
///
/// On a terminal, $PAGER shows the list, and less without it.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft log
  haft log --since yesterday src/main.rs
  haft log --agent claude
  haft log --all --limit 500
  haft log --json | jq -r '.[].run'")]
pub(crate) struct LogArgs {
    /// Only runs that changed one of these files, or something in one of these directories
    paths: Vec<PathBuf>,
    /// Runs of all workspaces
    #[arg(long)]
    all: bool,
    /// Only runs that were used since then: an age such as 12h or 30d, today, yesterday, or a moment in UTC
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Only runs of this agent, client or front end; the beginning of the name is enough
    #[arg(long, value_name = "NAME", add = candidates::agents())]
    agent: Option<String>,
    /// Also undos, look-ups of haft itself, and each session of a subagent apart
    #[arg(long)]
    internal: bool,
    /// Most runs to list
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=i64::from(LOG_RUNS_MAX)))]
    limit: u32,
}

/// Runs the command.
pub(crate) async fn run(args: &LogArgs, cx: &CliContext) -> CommandResult {
    let now_ms = cx.host.now_ms();
    let since_ms = args.since.as_deref().map(|text| time::parse_since(text, now_ms)).transpose()?;
    let settings = cx.resolve_settings()?;
    let place = &settings.durability.journal;
    let entries = match place.open_to_read().await? {
        Some(journal) => {
            let history = snapshot_history(&journal, &settings, &cx.host);
            find_entries(args, since_ms, (&*journal, &history), &settings, cx).await?
        }
        None => Vec::new(),
    };
    if cx.setting_args.json {
        output::write_json(&entries.iter().map(LogReport::of).collect::<Vec<_>>())?;
        return Ok(CommandStatus::Done);
    }
    if entries.is_empty() {
        output::print_note(match args.all {
            true => format!("no such run is in the journal {place}"),
            false => format!(
                "no such run of this workspace is in the journal {place}; other workspaces: haft log --all"
            ),
        });
        return Ok(CommandStatus::Done);
    }
    let has_colours = output::stdout_has_colours();
    let width = terminal_width();
    let mut text = lines::text(&entries, args.all, now_ms, width, has_colours);
    if width.is_some() {
        let about = haft_contract::escape_controls(&format!("journal {place}"));
        text.push_str(&output::painted(lines::DIM, &about, has_colours));
        text.push('\n');
    }
    pager::write_paged(&text)?;
    Ok(CommandStatus::Done)
}

/// Returns the runs to list.
async fn find_entries(
    args: &LogArgs,
    since_ms: Option<u64>,
    (journal, history): (&dyn Journal, &SnapshotHistory),
    settings: &EffectiveSettings,
    cx: &CliContext,
) -> Result<Vec<LogEntry>, CommandError> {
    let here = if args.all { None } else { Some(latest::workspace(settings)?) };
    let filter = WorkFilter {
        root: here.as_deref(),
        with_internal: args.internal,
        with_unused_forks: args.internal,
    };
    let current = cx.host.working_directory()?;
    let paths: Vec<PathBuf> = args.paths.iter().map(|path| absolute(&current.join(path))).collect();
    let limit = usize::try_from(args.limit).unwrap_or(usize::MAX);
    let mut undone = Vec::new();
    let mut entries = Vec::new();
    let mut latest = LatestWork::new(journal, filter);
    while let Some(work) = latest.next().await? {
        if entries.len() == limit || since_ms.is_some_and(|since_ms| work.used_at_ms < since_ms) {
            break;
        }
        if let Some(of) = work.undone(journal).await? {
            // An undo comes after what it undid, and so before it in this order.
            undone.push(of);
            if !args.internal {
                continue;
            }
        }
        let entry = LogEntry::find(work, &undone, journal, history).await?;
        let is_agent = |name: &String| {
            entry.names().iter().any(|known| known.to_lowercase().starts_with(&name.to_lowercase()))
        };
        let is_meant = args.agent.as_ref().is_none_or(is_agent)
            && (paths.is_empty() || entry.changes_any_of(&paths));
        if is_meant {
            entries.push(entry);
        }
    }
    Ok(entries)
}

/// Returns a path as journals have it. The file itself may be gone.
fn absolute(path: &std::path::Path) -> PathBuf {
    if let Ok(found) = path.canonicalize() {
        return found;
    }
    let parent = path.parent().and_then(|parent| parent.canonicalize().ok());
    match (parent, path.file_name()) {
        (Some(parent), Some(name)) => parent.join(name),
        _ => path.to_owned(),
    }
}
