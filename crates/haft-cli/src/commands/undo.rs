//! `haft undo`: restores the files that calls changed. The undo is itself a call in a new run, through the same pipeline as
//! every other call, so it is journaled and can be undone. No rules apply: the person who types this command owns the
//! workspace.

mod text;

use std::sync::Arc;

use clap::Args;
use haft::{CallSelection, RootChanges, SnapshotHistory, SnapshotHistoryError};
use haft_contract::{CallAddress, Envelope};
use haft_journal::Journal;
use haft_snapshot::{OverwritePolicy, RestoreReport};

use self::text::UndoReport;
use crate::arguments::call_address::CallName;
use crate::arguments::candidates;
use crate::arguments::cli_context::CliContext;
use crate::arguments::latest::{self, LAST};
use crate::error::{CommandError, CommandErrorKind, CommandResult, CommandStatus};
use crate::views::output;
use crate::views::remedy;
use haft_app::compose;
use haft_app::host::AppHost;
use haft_app::settings::EffectiveSettings;
use haft_app::undo::{
    UndoCaller, UndoRefusal, UndoRequest, check_idle, preview_undo, recording_options,
    selection_words,
};

/// A call of which it is not known what it changed, and why.
pub(super) type UnrecordedCall = (CallAddress, String);

/// Bring back what was there before a call, or a whole run, changed it
///
/// If something else changed one of the paths since, haft restores nothing and lists every such path. Content that was not
/// recorded cannot be restored: it stays, is listed, and the exit status is 5 instead of 0. The files of git itself (.git) are
/// not recorded: if a command changed them, haft says so. Changes outside of the workspace stay. haft does not undo a run that a living process executes. The session of an agent includes the work of its
/// subagents. An undo is recorded as a call, which can be undone as well; last never stands for an undo.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft undo               Undo the run or session that was used last
  haft undo last/3        Undo its third call
  haft undo --to last/3   Undo what it did after its third call
  haft undo k7f           Undo a run by its short id, as haft log shows it
  haft undo --dry-run     Show what would be brought back

Exit status:
  0  All of it is as it was before
  1  Nothing was undone: something is in the way, or a process executes the run
  5  Partly undone: what was not recorded stays, and is listed")]
pub(crate) struct UndoArgs {
    /// The run, or a call of it, such as last/3; the run that was used last in this workspace unless given
    #[arg(value_name = "RUN|CALL", conflicts_with = "to", add = candidates::runs())]
    target: Option<String>,
    /// Undo what the run did after this call
    #[arg(long, value_name = "CALL")]
    to: Option<String>,
    /// Also overwrite later changes of the same paths, which are lost
    #[arg(long)]
    force: bool,
    /// Show what would be brought back, and change nothing
    #[arg(long)]
    dry_run: bool,
}

/// Runs the command.
pub(crate) async fn run(args: UndoArgs, cx: &CliContext) -> CommandResult {
    let named = match &args.to {
        Some(to) => NamedSelection::After(CallName::parse(to)?),
        None => NamedSelection::parse(args.target.as_deref())?,
    };
    let settings = cx.resolve_settings()?;
    let journal = open_journal(&settings).await?;
    let of = resolve_selection(&named, &*journal, &settings).await?;
    let history = snapshot_history(&journal, &settings, &cx.host);
    let idle = check_idle(&history, &*journal, &of, UndoCaller::Outsider).await;
    idle.map_err(|err| explained(err, &of))?;
    let overwrite = if args.force { OverwritePolicy::Force } else { OverwritePolicy::Refuse };
    let run = if args.dry_run { UndoRun::Rehearse } else { UndoRun::Execute };
    undo_calls(&of, (overwrite, run), &history, &settings, cx).await
}

/// Takes back what these calls of a session changed, in the process that has the session. No call of it may be under way.
pub(crate) async fn undo_in_session(of: &CallSelection, cx: &CliContext) -> CommandResult {
    let settings = cx.resolve_settings()?;
    let journal = open_journal(&settings).await?;
    let history = snapshot_history(&journal, &settings, &cx.host);
    let idle = check_idle(&history, &*journal, of, UndoCaller::Holder).await;
    idle.map_err(|err| explained(err, of))?;
    undo_calls(of, (OverwritePolicy::Refuse, UndoRun::Execute), &history, &settings, cx).await
}

/// Returns the call that a person named.
pub(crate) async fn find_call(name: &str, cx: &CliContext) -> Result<CallSelection, CommandError> {
    let settings = cx.resolve_settings()?;
    let journal = open_journal(&settings).await?;
    resolve_selection(&NamedSelection::Call(CallName::parse(name)?), &*journal, &settings).await
}

/// Whether anything is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UndoRun {
    Rehearse,
    Execute,
}

async fn undo_calls(
    of: &CallSelection,
    (overwrite, undo_run): (OverwritePolicy, UndoRun),
    history: &SnapshotHistory,
    settings: &EffectiveSettings,
    cx: &CliContext,
) -> CommandResult {
    let roots = changes_of_calls(history, of).await?;
    let unrecorded = warn_unrecorded_calls(history, of, &roots).await?;
    print_remarks(&roots);
    let rehearsed = preview_undo(&roots, overwrite);
    let rehearsed = rehearsed.map_err(|err| match overwrite {
        OverwritePolicy::Force => CommandError::failed(err),
        OverwritePolicy::Refuse => explained(err, of),
    })?;
    let options = recording_options(&roots, overwrite, settings.snapshots.as_ref());
    let options = options.map_err(CommandError::failed)?;
    let roots = Arc::new(roots);
    let force = match overwrite {
        OverwritePolicy::Force => "--force ",
        OverwritePolicy::Refuse => "",
    };
    let command = format!("haft undo {force}{}", named_in_command(of));
    let report = |restored: &[RestoreReport], call: Option<&str>| {
        let (roots, unrecorded, command) = (&*roots, &unrecorded, &command);
        UndoReport { of, roots, restored, unrecorded, call, command }
            .print_report(cx.setting_args.json)
    };
    let is_as_before = rehearsed.iter().all(|root| root.paths.is_empty());
    if undo_run == UndoRun::Rehearse || is_as_before {
        return report(&rehearsed, None);
    }
    let undoing =
        UndoRequest { of: selection_words(of), roots: Arc::clone(&roots), overwrite, options };
    let (envelope, restored) = undoing.execute("cli", settings, &cx.host).await?;
    match &envelope {
        Envelope::Output { metadata, .. } => report(&restored, metadata.call_id.as_deref()),
        Envelope::Error { error_text, metadata } => {
            let text = remedy::text_with_advice(error_text, metadata.refusal.as_deref());
            output::print_error(&text, None);
            Ok(CommandStatus::of_envelope(&envelope))
        }
    }
}

/// Calls as a person names them.
pub(super) enum NamedSelection {
    /// One call.
    Call(CallName),
    /// The calls of a run after one of them.
    After(CallName),
    /// All calls of a run.
    Run(String),
}

impl NamedSelection {
    /// Reads the name of a call or a run. Without one, the run that was used last is meant.
    pub(super) fn parse(target: Option<&str>) -> Result<Self, CommandError> {
        let target = target.unwrap_or(LAST);
        if target.contains('/') {
            return Ok(Self::Call(CallName::parse(target)?));
        }
        latest::check_run_name(target)?;
        Ok(Self::Run(target.to_owned()))
    }
}

/// Returns the calls that a person named. Prints the id of their run first, unless the person named it.
pub(super) async fn resolve_selection(
    named: &NamedSelection,
    journal: &dyn Journal,
    settings: &EffectiveSettings,
) -> Result<CallSelection, CommandError> {
    let root = || latest::workspace(settings);
    let (selection, run) = match named {
        NamedSelection::Call(name) => {
            let (call, run) = name.find(journal, root).await?;
            (CallSelection::Call(call), run)
        }
        NamedSelection::After(name) => {
            let (call, run) = name.find(journal, root).await?;
            (CallSelection::After(call), run)
        }
        NamedSelection::Run(name) => {
            let run = latest::find_run(name, journal, root).await?;
            (CallSelection::Run(run.id()), run)
        }
    };
    if let Some(told) = run.latest_note() {
        output::print_note(told);
    }
    Ok(selection)
}

/// Opens the journal that the settings name.
pub(super) async fn open_journal(
    settings: &EffectiveSettings,
) -> Result<Arc<dyn Journal>, CommandError> {
    let journal = settings.durability.journal.open_to_read().await?;
    journal.ok_or_else(|| CommandError::usage("nothing was recorded yet").hint("haft log"))
}

/// Returns what was recorded around the calls of a journal.
pub(super) fn snapshot_history(
    journal: &Arc<dyn Journal>,
    settings: &EffectiveSettings,
    host: &AppHost,
) -> SnapshotHistory {
    let hidden = compose::snapshots::hidden(settings, host);
    let place = &settings.durability.journal;
    compose::snapshots::history(journal, place, settings.snapshots.as_ref(), host).hiding(&hidden)
}

/// Returns what the calls changed.
pub(super) async fn changes_of_calls(
    history: &SnapshotHistory,
    of: &CallSelection,
) -> Result<Vec<RootChanges>, CommandError> {
    history.changes(of).await.map_err(|err| match err {
        SnapshotHistoryError::UnknownCall(_) => {
            CommandError::usage(err).hint(format!("haft runs show {}", of.run()))
        }
        SnapshotHistoryError::UnknownRun(_) => CommandError::usage(err).hint("haft log"),
        err => CommandError::failed(err),
    })
}

/// Returns the calls whose changes are not known, and prints a warning for each.
pub(super) async fn warn_unrecorded_calls(
    history: &SnapshotHistory,
    of: &CallSelection,
    roots: &[RootChanges],
) -> Result<Vec<UnrecordedCall>, CommandError> {
    let found = history.unrecorded(of).await.map_err(CommandError::failed)?;
    for (call, why) in &found {
        let message = format!("nothing was recorded of what call {call} changed: {why}");
        output::print_warning(&message, None);
    }
    // `print_remarks` prints the remarks about these calls.
    let lacking = roots.iter().flat_map(|root| {
        root.remarks.iter().filter(|(call, _)| !root.calls.contains(call)).cloned()
    });
    Ok(found.into_iter().chain(lacking).collect())
}

/// Prints what is uncertain about the shown or undone changes.
pub(super) fn print_remarks(roots: &[RootChanges]) {
    for root in roots {
        for (call, remark) in &root.remarks {
            output::print_note(format_args!("call {call}: {remark}"));
        }
        if root.ends_now {
            output::print_note(
                "it is compared with the present files, which anything may have changed",
            );
        }
    }
}

/// Returns the words that name these calls in a command.
fn named_in_command(of: &CallSelection) -> String {
    match of {
        CallSelection::Call(call) => call.to_string(),
        CallSelection::After(call) => format!("--to {call}"),
        CallSelection::Run(run) => run.to_string(),
    }
}

/// Returns the error with the command that helps.
fn explained(err: UndoRefusal, of: &CallSelection) -> CommandError {
    let again = format!("haft undo --force {}", named_in_command(of));
    match &err {
        UndoRefusal::Held { run, .. } => {
            let hint = format!("haft runs show {run}");
            CommandError::failed(err).kind(CommandErrorKind::Held).hint(hint)
        }
        UndoRefusal::EndUnknown => {
            let message = format!("{err}; look at it with haft diff; --force undoes it");
            CommandError::failed(message).hint(again)
        }
        UndoRefusal::Conflicts(_) => CommandError::failed(err).hint(again),
        _ => CommandError::failed(err),
    }
}
