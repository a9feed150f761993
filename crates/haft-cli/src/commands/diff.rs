//! `haft diff`: shows what calls changed, from the records made around them. It changes nothing. It reads the workspace only
//! if the end of a call was not recorded.

use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::path::PathBuf;

use anstream::{AutoStream, ColorChoice};
use clap::Args;
use clap::builder::styling::{AnsiColor, Effects, Style};
use haft::RootChanges;
use haft_snapshot::{PathChangeKind, PathState as Recorded, UnifiedDiff, quote_path};
use serde_json::{Value, json};

use super::undo::{
    changes_of_calls, open_journal, print_remarks, resolve_selection, selection, snapshot_history,
    warn_unrecorded_calls,
};
use crate::arguments::cli_context::CliContext;
use crate::error::{CommandError, CommandResult, CommandStatus};
use crate::views::output;
use haft_app::undo::{changed_repositories, headline, repositories_json};

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
  haft diff nightly/main/0/1/3
  haft diff --stat nightly
  haft diff last")]
pub(crate) struct DiffArgs {
    /// The call, run/node/iteration/attempt/seq as haft runs show spells it, or a run, or last for the run that was used
    /// last in this workspace
    #[arg(value_name = "CALL|RUN")]
    target: String,
    /// List the paths, without the text
    #[arg(long)]
    stat: bool,
}

/// Runs the command.
pub(crate) async fn run(args: DiffArgs, cx: &CliContext) -> CommandResult {
    let settings = cx.resolve_settings()?;
    let of = selection(&args.target)?;
    let journal = open_journal(&settings).await?;
    let of = resolve_selection(of, &*journal, &settings).await?;
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
    for root in &roots {
        if roots.len() > 1 {
            output::write_data(&format!("in {}:", quote_path(root.root())))?;
        }
        for text in changed_repositories(root) {
            output::write_data(&format!("unknown {text}"))?;
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
                UnifiedDiff::Text(text) if args.stat => {
                    // The first two lines name the files.
                    let lines = text.split(|byte| *byte == b'\n').skip(2);
                    let count =
                        |mark: u8| lines.clone().filter(|line| line.first() == Some(&mark)).count();
                    Some(format!("+{} -{}", count(b'+'), count(b'-')))
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
            output::write_data(&line)?;
            if let UnifiedDiff::Text(text) = unified
                && !args.stat
            {
                output::write_coloured_data(&shown(&text))?;
            }
        }
    }
    Ok(CommandStatus::Done)
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
    match AutoStream::choice(&stdout) {
        ColorChoice::Never => text,
        ColorChoice::Auto | ColorChoice::Always | ColorChoice::AlwaysAnsi => coloured(&text),
    }
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
