//! The report of `haft undo`, in words and as JSON. It lists the restored paths, and beside them the paths that stay.

use std::path::Path;

use haft::{CallSelection, RootChanges};
use haft_snapshot::{PathChange, PathChangeKind, PathState, RestoreReport, SkipReason, quote_path};
use serde_json::{Value, json};

use super::UnrecordedCall;
use crate::error::{CommandResult, CommandStatus};
use crate::views::output;
use haft_app::undo::{changed_repositories, report_json, selection_words, skip_reason_text};

/// The report about an undo.
pub(super) struct UndoReport<'a> {
    pub(super) of: &'a CallSelection,
    pub(super) roots: &'a [RootChanges],
    /// The effect of the undo on each of the roots, done or predicted.
    pub(super) restored: &'a [RestoreReport],
    pub(super) unrecorded: &'a [UnrecordedCall],
    /// The call that undid it; none if nothing was changed.
    pub(super) call: Option<&'a str>,
    /// The command that undoes it.
    pub(super) command: &'a str,
}

/// Returns what undoing a change does to its path: what was done, or what would be.
fn restoring_line(change: &PathChange, is_done: bool) -> String {
    let (done, planned) = match change.kind() {
        PathChangeKind::Added => ("removed", "would remove"),
        PathChangeKind::Removed => ("brought back", "would bring back"),
        PathChangeKind::Kind
        | PathChangeKind::Content
        | PathChangeKind::Mode
        | PathChangeKind::Unknown => ("restored", "would restore"),
    };
    // The state that the undo makes, or removes.
    let state = change.before.as_ref().or(change.after.as_ref());
    let slash = if matches!(state, Some(PathState::Directory { .. })) { "/" } else { "" };
    format!("{} {}{slash}", if is_done { done } else { planned }, quote_path(&change.path))
}

impl UndoReport<'_> {
    /// Prints the report. The status says whether everything was undone.
    pub(super) fn print_report(&self, json: bool) -> CommandResult {
        let has_repositories = self.roots.iter().any(|root| !root.repositories.is_empty());
        let is_all = self.unrecorded.is_empty()
            && !has_repositories
            && self.restored.iter().all(|root| root.skipped.is_empty());
        let status = if is_all { CommandStatus::Done } else { CommandStatus::Partly };
        if json {
            output::write_json(&self.as_json(is_all))?;
            return Ok(status);
        }
        if !is_all {
            let pairs = self.roots.iter().zip(self.restored);
            let stay = pairs.map(|(root, restored)| {
                let left = &restored.skipped;
                let is_listed = |path: &Path| left.iter().any(|left| left.path == path);
                // Nothing below a path without a record is restored either.
                let is_beneath = |path: &Path| {
                    left.iter().any(|left| match left.reason {
                        SkipReason::NotRecorded(_) | SkipReason::Gone(_) => {
                            path.starts_with(&left.path)
                        }
                        _ => false,
                    })
                };
                let beneath = root.changes().into_iter().filter(|change| {
                    let path = &change.path;
                    !is_listed(path) && is_beneath(path) && !restored.paths.contains(path)
                });
                left.len() + beneath.count()
            });
            let stay: usize = stay.sum();
            let done: usize = self.restored.iter().map(|root| root.paths.len()).sum();
            let mut parts = Vec::new();
            if has_repositories {
                parts.push("git's own files were changed, which are not recorded".to_owned());
            }
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
            output::print_warning(&format!("{what}: {}", parts.join(", and ")), None);
        }
        for (root, restored) in self.roots.iter().zip(self.restored) {
            if self.roots.len() > 1 {
                output::write_data(&format!("in {}:", quote_path(root.root())))?;
            }
            let mut paths = restored.paths.clone();
            for change in root.changes() {
                // The state of an unknown path is not known, so only its restoring is shown below.
                if change.kind() != PathChangeKind::Unknown && paths.remove(&change.path) {
                    output::write_data(&restoring_line(&change, self.call.is_some()))?;
                }
            }
            // These include removed directories in which something is restored.
            let verb = if self.call.is_some() { "brought back" } else { "would bring back" };
            for path in &paths {
                output::write_data(&format!("{verb} {}", quote_path(path)))?;
            }
            for left in &restored.skipped {
                let (path, reason) = (quote_path(&left.path), skip_reason_text(left.reason));
                output::print_note(match left.reason {
                    SkipReason::Gone(_) => format!("{path} does not come back: {reason}"),
                    SkipReason::Outgrown => format!("{path} keeps what came into it: {reason}"),
                    _ => format!("{path} stays: {reason}"),
                });
            }
            for text in changed_repositories(root) {
                output::print_note(format_args!("{text}: it stays as it is"));
            }
            for path in restored.weakened.iter().map(|path| quote_path(path)) {
                output::print_note(format_args!("{path} does not run as its owner any more"));
            }
        }
        match self.call {
            Some(call) => output::print_note(format_args!(
                "undone by call {call}; to take that back: haft undo {call}"
            )),
            None if self.restored.iter().any(|root| !root.paths.is_empty()) => {
                let command = self.command;
                output::print_note(format_args!(
                    "nothing was changed yet: this is what `{command}` would do"
                ));
            }
            None if !is_all => {}
            None if self.roots.iter().all(|root| root.paths().is_empty()) => {
                output::print_note("no change was recorded, so there is nothing to undo");
            }
            None => output::print_note("all of it is as before already"),
        }
        Ok(status)
    }

    fn as_json(&self, is_all: bool) -> Value {
        let pairs = self.roots.iter().zip(self.restored);
        let roots: Vec<Value> = pairs.map(|(root, restored)| report_json(root, restored)).collect();
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
}
