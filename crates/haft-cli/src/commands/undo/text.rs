//! What `haft undo` did, or would do, in words and as JSON. Only what is brought back is listed as undone; what stays is
//! listed beside it.

use std::path::Path;

use haft::{CallSelection, RootChanges};
use haft_snapshot::{PathChangeKind, RestoreReport, SkipReason, SkippedPath, quote_path};
use serde_json::{Value, json};

use super::{UnrecordedCall, selection_words};
use crate::commands::diff::headline;
use crate::error::{CommandError, CommandStatus};
use crate::views::output;

/// What there is to tell of an undo.
pub(super) struct UndoReport<'a> {
    pub(super) of: &'a CallSelection,
    pub(super) roots: &'a [RootChanges],
    /// What was done to each of the roots, or would be.
    pub(super) restored: &'a [RestoreReport],
    pub(super) unrecorded: &'a [UnrecordedCall],
    /// The call that undid it; none if nothing was changed.
    pub(super) call: Option<&'a str>,
}

impl UndoReport<'_> {
    /// Tells it, and returns the status that says whether it was all.
    pub(super) fn print_report(&self, json: bool) -> Result<CommandStatus, CommandError> {
        let is_all =
            self.unrecorded.is_empty() && self.restored.iter().all(|root| root.skipped.is_empty());
        let status = if is_all { CommandStatus::Done } else { CommandStatus::Partly };
        if json {
            output::write_json(&self.as_json(is_all))?;
            return Ok(status);
        }
        if !is_all {
            output::print_warning(&self.partial_words(), None);
        }
        for (root, restored) in self.roots.iter().zip(self.restored) {
            if self.roots.len() > 1 {
                output::write_data(&format!("in {}:", quote_path(root.root())))?;
            }
            show_root(root, restored)?;
        }
        self.print_conclusion(is_all);
        Ok(status)
    }

    fn as_json(&self, is_all: bool) -> Value {
        let pairs = self.roots.iter().zip(self.restored);
        let roots: Vec<Value> = pairs.map(|(root, restored)| as_json(root, restored)).collect();
        let unrecorded: Vec<Value> = self
            .unrecorded
            .iter()
            .map(|(call, why)| json!({"call": call.to_string(), "why": why}))
            .collect();
        json!({
            "of": selection_words(self.of),
            "call": self.call,
            "dry_run": self.call.is_none(),
            "complete": is_all,
            "unrecorded": unrecorded,
            "roots": roots,
        })
    }

    /// Says how much of it stays.
    fn partial_words(&self) -> String {
        let mut parts = Vec::new();
        let pairs = || self.roots.iter().zip(self.restored);
        let stay: usize = pairs().map(|(root, restored)| count_staying(root, restored)).sum();
        let done: usize = self.restored.iter().map(|root| root.paths.len()).sum();
        if stay > 0 {
            let verb = if stay == 1 { "is" } else { "are" };
            parts.push(format!("{stay} of {} paths {verb} not as before", stay + done));
        }
        match self.unrecorded.len() {
            0 => {}
            1 => parts.push("nothing is known of what 1 call changed".to_owned()),
            calls => parts.push(format!("nothing is known of what {calls} calls changed")),
        }
        let what = match (self.call, done) {
            (Some(_), _) => "partly undone",
            (None, 0) => "nothing can be undone",
            (None, _) => "would be partly undone",
        };
        format!("{what}: {}", parts.join(", and "))
    }

    fn print_conclusion(&self, is_all: bool) {
        match self.call {
            Some(call) => output::print_note(format_args!(
                "undone by call {call}; to take that back: haft undo {call}"
            )),
            None if self.restored.iter().any(|root| !root.paths.is_empty()) => {
                output::print_note("nothing was changed: that is what undoing would do");
            }
            None if !is_all => {}
            None if self.roots.iter().all(|root| root.paths().is_empty()) => {
                output::print_note("no change was recorded, so there is nothing to undo");
            }
            None => output::print_note("all of it is as before already"),
        }
    }
}

fn show_root(root: &RootChanges, restored: &RestoreReport) -> Result<(), CommandError> {
    let mut paths = restored.paths.clone();
    for change in root.changes() {
        // Of what is not known there is no more to say than what happens to it now.
        if change.kind() != PathChangeKind::Unknown && paths.remove(&change.path) {
            output::write_data(&format!("undo {}", headline(&change)))?;
        }
    }
    // Such also as a directory that somebody removed since, and in which something is brought back.
    for path in &paths {
        output::write_data(&format!("bring back {}", quote_path(path)))?;
    }
    for left in &restored.skipped {
        output::print_note(left_alone(left));
    }
    for path in &restored.weakened {
        output::print_note(format_args!("{} does not run as its owner any more", quote_path(path)));
    }
    Ok(())
}

/// Counts the paths that changed and stay as they are.
fn count_staying(root: &RootChanges, restored: &RestoreReport) -> usize {
    let left = &restored.skipped;
    let is_listed = |path: &Path| left.iter().any(|left| left.path == path);
    let is_beneath = |path: &Path| left.iter().any(|left| is_below_skipped_path(left, path));
    let beneath = root.changes().into_iter().filter(|change| {
        !is_listed(&change.path)
            && is_beneath(&change.path)
            && !restored.paths.contains(&change.path)
    });
    left.len() + beneath.count()
}

/// Tells whether a path stays because one above it does.
fn is_below_skipped_path(left: &SkippedPath, path: &Path) -> bool {
    match left.reason {
        SkipReason::NotRecorded(_) | SkipReason::Gone(_) => path.starts_with(&left.path),
        _ => false,
    }
}

/// Returns what undoing did to one root.
pub(super) fn as_json(root: &RootChanges, restored: &RestoreReport) -> Value {
    let left = restored
        .skipped
        .iter()
        .map(|left| json!({"path": left.path.to_string_lossy(), "reason": reason(left.reason)}));
    let lossy = |path: &std::path::PathBuf| path.to_string_lossy().into_owned();
    json!({
        "root": root.root().to_string_lossy(),
        "written": restored.written,
        "made": restored.created_directories,
        "removed": restored.removed,
        "modes": restored.changed_modes,
        "already": restored.unchanged,
        "paths": restored.paths.iter().map(lossy).collect::<Vec<_>>(),
        "left_alone": left.collect::<Vec<_>>(),
        "weakened": restored.weakened.iter().map(lossy).collect::<Vec<_>>(),
    })
}

fn left_alone(left: &SkippedPath) -> String {
    let (path, reason) = (quote_path(&left.path), reason(left.reason));
    match left.reason {
        SkipReason::Gone(_) => format!("{path} does not come back: {reason}"),
        SkipReason::Outgrown => format!("{path} keeps what came into it: {reason}"),
        _ => format!("{path} stays: {reason}"),
    }
}

fn reason(reason: SkipReason) -> String {
    match reason {
        SkipReason::NotRecorded(reason) | SkipReason::Gone(reason) => {
            format!("it was not recorded: {reason}")
        }
        SkipReason::Outgrown => "it became too large to be recorded".to_owned(),
        SkipReason::NotEmpty => "something that is not to be removed is in it".to_owned(),
        SkipReason::Hidden => {
            "it holds credentials or haft's own state, which is not brought back".to_owned()
        }
        _ => "it cannot be brought back".to_owned(),
    }
}
