//! `haft diff`: shows what calls changed, from the records made around them. It changes nothing. It reads the workspace only
//! if the end of a call was not recorded.

use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::path::PathBuf;

use clap::Args;
use clap::builder::styling::{AnsiColor, Effects, Style};
use haft::RootChanges;
use haft_snapshot::{PathChangeKind, PathState as Recorded, UnifiedDiff, quote_path};
use serde_json::{Value, json};

use super::undo::{
    NamedSelection, changes_of_calls, open_journal, print_remarks, resolve_selection,
    snapshot_history, warn_unrecorded_calls,
};
use crate::arguments::candidates;
use crate::arguments::cli_context::CliContext;
use crate::error::{CommandError, CommandResult, CommandStatus};
use crate::views::output;
use crate::views::pager;
use haft_app::undo::{changed_repositories, count_changed_lines, headline, repositories_json};

const FILES: Style = Style::new().effects(Effects::BOLD);
const ADDED: Style = AnsiColor::Green.on_default();
const REMOVED: Style = AnsiColor::Red.on_default();
const PLACE: Style = AnsiColor::Cyan.on_default();

/// Show what a call changed, or a whole run
///
/// Shows the difference between the workspace before the call and after it, regardless of later changes. Changes outside of
/// the workspace are not shown, nor are files that are ignored and large, or excluded. The session of an agent includes the
/// work of its subagents.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft diff               What the run or session that was used last changed
  haft diff last/3        What its third call changed
  haft diff --stat k7f    The paths that a run changed, by its short id")]
pub(crate) struct DiffArgs {
    /// The run, or a call of it, such as last/3; the run that was used last in this workspace unless given
    #[arg(value_name = "RUN|CALL", add = candidates::runs())]
    target: Option<String>,
    /// List the paths, without the text
    #[arg(long)]
    stat: bool,
}

/// Shows what a run or a call changed, as `haft diff` does.
pub(crate) async fn show_changes(target: String, cx: &CliContext) -> CommandResult {
    run(DiffArgs { target: Some(target), stat: false }, cx).await
}

/// Runs the command.
pub(crate) async fn run(args: DiffArgs, cx: &CliContext) -> CommandResult {
    let settings = cx.resolve_settings()?;
    let named = NamedSelection::parse(args.target.as_deref())?;
    let journal = open_journal(&settings).await?;
    let of = resolve_selection(&named, &*journal, &settings).await?;
    let history = snapshot_history(&journal, &settings, &cx.host);
    let roots = changes_of_calls(&history, &of).await?;
    warn_unrecorded_calls(&history, &of, &roots).await?;
    if cx.setting_args.json {
        let mut shown = Vec::new();
        for root in &roots {
            let mut changes = Vec::new();
            for change in root.changes() {
                let text = match root.unified(&change).map_err(CommandError::failed)? {
                    UnifiedDiff::Text(text) if !args.stat => json!(String::from_utf8_lossy(&text)),
                    UnifiedDiff::Text(_)
                    | UnifiedDiff::Binary
                    | UnifiedDiff::TooLarge
                    | UnifiedDiff::NotRecorded
                    | UnifiedDiff::Nothing => Value::Null,
                };
                changes.push(json!({
                    "path": change.path.to_string_lossy(),
                    "change": match change.kind() {
                        PathChangeKind::Added => "added",
                        PathChangeKind::Removed => "removed",
                        PathChangeKind::Kind => "replaced",
                        PathChangeKind::Content => "modified",
                        PathChangeKind::Mode => "mode",
                        PathChangeKind::Unknown => "unknown",
                    },
                    "before": change.before.as_ref().map(state_json),
                    "after": change.after.as_ref().map(state_json),
                    "text": text,
                }));
            }
            let names: Vec<String> = root.calls.iter().map(ToString::to_string).collect();
            let remark = |(call, text): &(haft_contract::CallAddress, String)| json!({"call": call.to_string(), "note": text});
            let remarks: Vec<Value> = root.remarks.iter().map(remark).collect();
            shown.push(json!({
                "root": root.root().to_string_lossy(),
                "calls": names,
                "ends_now": root.ends_now,
                "remarks": remarks,
                "changes": changes,
                "repositories": repositories_json(root),
            }));
        }
        output::write_json(&shown)?;
        return Ok(CommandStatus::Done);
    }
    print_remarks(&roots);
    let is_unchanged =
        |root: &RootChanges| root.changes().is_empty() && root.repositories.is_empty();
    if roots.iter().all(is_unchanged) {
        output::print_note("no change was recorded");
    }
    pager::write_paged(&changes_text(&roots, args.stat)?)?;
    Ok(CommandStatus::Done)
}

/// Returns the changes in every root, as a terminal or a pipe gets them.
fn changes_text(roots: &[RootChanges], is_stat: bool) -> Result<String, CommandError> {
    let mut written = String::new();
    for root in roots {
        if roots.len() > 1 {
            push_line(&mut written, &format!("in {}:", quote_path(root.root())));
        }
        for text in changed_repositories(root) {
            push_line(&mut written, &format!("unknown {text}"));
        }
        let mut unknown: Option<PathBuf> = None;
        for change in root.changes() {
            // If one record left a directory out, its content is unknown too.
            if unknown.as_ref().is_some_and(|above| change.path.starts_with(above)) {
                continue;
            }
            if change.kind() == PathChangeKind::Unknown {
                unknown = Some(change.path.clone());
            }
            let unified = root.unified(&change).map_err(CommandError::failed)?;
            let mut line = headline(&change);
            let remark = match &unified {
                UnifiedDiff::Text(text) if is_stat => {
                    let (added, removed) = count_changed_lines(text);
                    Some(format!("+{added} -{removed}"))
                }
                UnifiedDiff::Text(_) | UnifiedDiff::Nothing => None,
                UnifiedDiff::Binary => Some("not text".to_owned()),
                UnifiedDiff::TooLarge => Some("too large to be compared".to_owned()),
                UnifiedDiff::NotRecorded if change.kind() == PathChangeKind::Unknown => None,
                UnifiedDiff::NotRecorded => Some("not recorded".to_owned()),
            };
            if let Some(remark) = remark {
                let _ = write!(line, "  {remark}");
            }
            push_line(&mut written, &line);
            if let UnifiedDiff::Text(text) = unified
                && !is_stat
            {
                push_text(&mut written, &shown(&text));
            }
        }
    }
    Ok(written)
}

/// Adds a line that holds names which others chose. A terminal gets none of the characters that would control it.
fn push_line(written: &mut String, line: &str) {
    match std::io::stdout().is_terminal() {
        true => push_text(written, &haft_contract::escape_controls(line)),
        false => push_text(written, line),
    }
}

/// Adds a text, ended by a newline.
fn push_text(written: &mut String, text: &str) {
    written.push_str(text);
    if !text.is_empty() && !text.ends_with('\n') {
        written.push('\n');
    }
}

/// Returns the text of files for standard output. A terminal gets none of the characters that would control it.
fn shown(text: &[u8]) -> String {
    let stdout = std::io::stdout();
    let text = String::from_utf8_lossy(text);
    let text = if stdout.is_terminal() {
        haft_contract::escape_controls(&text)
    } else {
        text.into_owned()
    };
    if output::stdout_has_colours() { coloured(&text) } else { text }
}

/// Returns a text, whose first two lines name the files, with what was added and removed in colours.
fn coloured(text: &str) -> String {
    let mut coloured = String::with_capacity(text.len());
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        let style = match line.bytes().next() {
            _ if index < 2 => FILES,
            Some(b'+') => ADDED,
            Some(b'-') => REMOVED,
            Some(b'@') => PLACE,
            Some(_) | None => Style::new(),
        };
        let _ = write!(coloured, "{style}{line}{style:#}{end}");
    }
    coloured
}

fn state_json(state: &Recorded) -> Value {
    match state {
        Recorded::File(file) => json!({
            "kind": "file",
            "mode": format!("{:03o}", file.mode),
            "bytes": file.size_bytes,
            "blake3": file.content.to_string(),
        }),
        Recorded::Directory { mode } => json!({"kind": "directory", "mode": format!("{mode:03o}")}),
        Recorded::Link { target } => json!({"kind": "link", "target": target.to_string_lossy()}),
        Recorded::Omitted(left_out) => {
            json!({"kind": "not recorded", "reason": left_out.reason.to_string()})
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_and_removed_has_colours() {
        let text = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-one\n+two\n three";
        let expect = "\u{1b}[1m--- a/x\u{1b}[0m\n\u{1b}[1m+++ b/x\u{1b}[0m\n\u{1b}[36m@@ -1 +1 @@\u{1b}[0m\n\
                      \u{1b}[31m-one\u{1b}[0m\n\u{1b}[32m+two\u{1b}[0m\n three";
        assert_eq!(coloured(text), expect);
    }
}
