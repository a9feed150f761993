//! `haft diff`: what calls changed, as it was recorded around them. Nothing is changed here, and no file of the workspace is
//! read unless nobody saw how a call ended.

use std::fmt::Write as _;
use std::io::IsTerminal as _;

use clap::Args;
use haft::RootChanges;
use haft_snapshot::{Change, ChangeKind, State as Recorded, Unified};
use serde_json::{Value, json};

use super::undo::{changes, selection, tell_remarks};
use crate::cli::SettingArgs;
use crate::error::{CommandError, Status};
use crate::output;
use crate::state::State;

/// Show what a call changed, or a whole run
///
/// Shows the difference between the workspace before the call and after it, whatever became of the files since. What a
/// command changed outside of the workspace is not among it, and neither is what is ignored and large, or excluded.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft diff nightly/main/0/1/3
  haft diff --stat nightly")]
pub(crate) struct DiffArgs {
    /// The call, run/node/iteration/attempt/seq as haft runs show spells it, or a run
    #[arg(value_name = "CALL|RUN")]
    target: String,
    /// List the paths, without the text
    #[arg(long)]
    stat: bool,
}

/// Runs the command.
pub(crate) async fn run(
    args: DiffArgs,
    setting_args: &SettingArgs,
    state: &State,
) -> Result<Status, CommandError> {
    let roots = changes(&selection(&args.target)?, setting_args, state).await?;
    if setting_args.json {
        let shown: Result<Vec<Value>, CommandError> = roots.iter().map(as_json).collect();
        output::json(&shown?)?;
        return Ok(Status::Done);
    }
    tell_remarks(&roots);
    if roots.iter().all(|root| root.changes().is_empty()) {
        output::note("nothing was changed");
    }
    for root in &roots {
        if roots.len() > 1 {
            output::data(&format!("in {}:", output::visible(&root.root().to_string_lossy())))?;
        }
        for change in root.changes() {
            show(root, &change, args.stat)?;
        }
    }
    Ok(Status::Done)
}

fn show(root: &RootChanges, change: &Change, only_list: bool) -> Result<(), CommandError> {
    let unified = root.unified(change).map_err(CommandError::failed)?;
    let mut line = headline(change);
    let remark = match &unified {
        Unified::Text(text) if only_list => Some(count(text)),
        Unified::Text(_) | Unified::Nothing => None,
        Unified::Binary => Some("not text".to_owned()),
        Unified::TooLarge => Some("too large to be compared".to_owned()),
        Unified::NotRecorded => Some("not recorded".to_owned()),
    };
    if let Some(remark) = remark {
        let _ = write!(line, "  {remark}");
    }
    output::data(&output::visible(&line))?;
    match unified {
        Unified::Text(text) if !only_list => output::data(&shown(&text)),
        Unified::Text(_)
        | Unified::Binary
        | Unified::TooLarge
        | Unified::NotRecorded
        | Unified::Nothing => Ok(()),
    }
}

/// Returns what happened to a path, on one line.
pub(super) fn headline(change: &Change) -> String {
    let path = change.path.display();
    match (change.kind(), &change.before, &change.after) {
        (ChangeKind::Added, _, Some(after)) => format!("added {path}{}", described(after)),
        (ChangeKind::Removed, Some(before), _) => format!("removed {path}{}", described(before)),
        (ChangeKind::Kind, Some(before), Some(after)) => {
            format!("replaced {path}: {} by {}", kind(before), kind(after))
        }
        (ChangeKind::Mode, Some(before), Some(after)) => {
            format!("mode {path}{}", modes(before, after))
        }
        (_, Some(before), Some(after)) => format!("modified {path}{}", modes(before, after)),
        (_, _, _) => format!("modified {path}"),
    }
}

fn described(state: &Recorded) -> String {
    match state {
        Recorded::Directory { .. } => "/".to_owned(),
        Recorded::Link { target } => format!(" -> {}", target.display()),
        Recorded::File(file) if file.mode & 0o111 != 0 => format!(" (mode {:o})", file.mode),
        Recorded::File(_) => String::new(),
        Recorded::LeftOut(left_out) => format!(" ({})", left_out.reason),
    }
}

fn kind(state: &Recorded) -> &'static str {
    match state {
        Recorded::File(_) => "a file",
        Recorded::Directory { .. } => "a directory",
        Recorded::Link { .. } => "a link",
        Recorded::LeftOut(_) => "something that was not recorded",
    }
}

fn mode(state: &Recorded) -> Option<u32> {
    match state {
        Recorded::File(file) => Some(file.mode),
        Recorded::Directory { mode } => Some(*mode),
        Recorded::Link { .. } | Recorded::LeftOut(_) => None,
    }
}

fn modes(before: &Recorded, after: &Recorded) -> String {
    match (mode(before), mode(after)) {
        (Some(before), Some(after)) if before != after => {
            format!(" (mode {before:o} to {after:o})")
        }
        _ => String::new(),
    }
}

/// Counts the lines that were added and removed, in a text whose first two lines name the files.
fn count(unified: &[u8]) -> String {
    let lines = unified.split(|byte| *byte == b'\n').skip(2);
    let first = lines.filter_map(|line| line.first().copied());
    let (mut added, mut removed) = (0_u64, 0_u64);
    for byte in first {
        match byte {
            b'+' => added += 1,
            b'-' => removed += 1,
            _ => {}
        }
    }
    format!("+{added} -{removed}")
}

/// Returns the text of files for standard output. A terminal gets none of the characters that would control it.
fn shown(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    if !std::io::stdout().is_terminal() {
        return text.into_owned();
    }
    text.split('\t').map(output::visible).collect::<Vec<_>>().join("\t")
}

fn as_json(root: &RootChanges) -> Result<Value, CommandError> {
    let mut changes = Vec::new();
    for change in root.changes() {
        let unified = root.unified(&change).map_err(CommandError::failed)?;
        let text = match unified {
            Unified::Text(text) => json!(String::from_utf8_lossy(&text)),
            Unified::Binary | Unified::TooLarge | Unified::NotRecorded | Unified::Nothing => {
                Value::Null
            }
        };
        changes.push(json!({
            "path": change.path.to_string_lossy(),
            "change": change_name(change.kind()),
            "before": change.before.as_ref().map(state_json),
            "after": change.after.as_ref().map(state_json),
            "text": text,
        }));
    }
    let names: Vec<String> = root.calls.iter().map(ToString::to_string).collect();
    let remark = |(call, text): &(haft_contract::CallId, String)| json!({"call": call.to_string(), "note": text});
    let remarks: Vec<Value> = root.remarks.iter().map(remark).collect();
    Ok(json!({
        "root": root.root().to_string_lossy(),
        "calls": names,
        "ends_now": root.ends_now,
        "remarks": remarks,
        "changes": changes,
    }))
}

fn change_name(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Added => "added",
        ChangeKind::Removed => "removed",
        ChangeKind::Kind => "replaced",
        ChangeKind::Content => "modified",
        ChangeKind::Mode => "mode",
    }
}

fn state_json(state: &Recorded) -> Value {
    match state {
        Recorded::File(file) => json!({
            "kind": "file",
            "mode": format!("{:o}", file.mode),
            "bytes": file.size_bytes,
            "blake3": file.content.to_string(),
        }),
        Recorded::Directory { mode } => json!({"kind": "directory", "mode": format!("{mode:o}")}),
        Recorded::Link { target } => json!({"kind": "link", "target": target.to_string_lossy()}),
        Recorded::LeftOut(left_out) => {
            json!({"kind": "not recorded", "reason": left_out.reason.to_string()})
        }
    }
}
