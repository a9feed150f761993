//! The changes of a call to files as differences for the editor, from the call's input. The functions are pure: the caller supplies
//! the former text of a file.

use std::path::{Path, PathBuf};

use agent_client_protocol::v1::schema::Diff;
use haft_contract::ToolKind;
use haft_patch::{DescribedChange, PatchHunk};
use serde_json::Value;

use crate::limits::{SHOWN_CHANGE_BYTES_MAX, SHOWN_HUNKS_MAX};

/// Returns the changes of a call. They are empty if the tool does not change files, or if the texts are too large to show. `before`
/// returns the text of a file.
pub(crate) fn changes(
    kind: ToolKind,
    input: &Value,
    root: &Path,
    before: impl Fn(&str) -> Option<String>,
) -> Vec<Diff> {
    if kind != ToolKind::Edit {
        return Vec::new();
    }
    let text = |name: &str| input.get(name).and_then(Value::as_str);
    let hunk_diff = |path: &str, hunk: &PatchHunk| {
        let old = Some(hunk.old_text()).filter(|old| !old.is_empty());
        diff(root, path, old, &hunk.new_text())
    };
    // A patch that cannot be parsed has no hunks, because its call is refused.
    let mut diffs: Vec<Diff> = match DescribedChange::from_fields(text) {
        Some(DescribedChange::Passage { path: Some(path), old, new }) => {
            vec![diff(root, path, Some(old.to_owned()), new)]
        }
        Some(DescribedChange::Content { path: Some(path), new }) => {
            vec![diff(root, path, before(path), new)]
        }
        Some(DescribedChange::Patch { patch, .. }) if patch.len() > SHOWN_CHANGE_BYTES_MAX => {
            Vec::new()
        }
        Some(DescribedChange::Patch { path: Some(path), patch }) => {
            let hunks = haft_patch::parse_single(patch).unwrap_or_default();
            hunks.iter().map(|hunk| hunk_diff(path, hunk)).collect()
        }
        Some(DescribedChange::Patch { path: None, patch }) => {
            let files = haft_patch::parse(patch).map_or_else(|_| Vec::new(), |patch| patch.files);
            let hunks = files.iter().flat_map(|file| {
                let path = file.new_path.as_deref().or(file.old_path.as_deref());
                file.hunks.iter().map(move |hunk| (path.unwrap_or_default(), hunk))
            });
            hunks.map(|(path, hunk)| hunk_diff(path, hunk)).collect()
        }
        Some(_) | None => Vec::new(),
    };
    diffs.truncate(SHOWN_HUNKS_MAX);
    let is_small = |diff: &Diff| {
        let old = diff.old_text.as_ref().map_or(0, String::len);
        old <= SHOWN_CHANGE_BYTES_MAX && diff.new_text.len() <= SHOWN_CHANGE_BYTES_MAX
    };
    diffs.retain(is_small);
    diffs
}

/// Returns the absolute path that editors need.
pub(crate) fn absolute(root: &Path, path: &str) -> PathBuf {
    root.join(path).components().collect()
}

fn diff(root: &Path, path: &str, old: Option<String>, new: &str) -> Diff {
    Diff::new(absolute(root, path), new).old_text(old)
}

#[cfg(test)]
mod tests;
