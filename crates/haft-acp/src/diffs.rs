//! What a call changes in files, as editors draw it: the old and the new text of each place, from the call's input. Pure;
//! what a file said before it is written is handed in.

use std::path::{Path, PathBuf};

use agent_client_protocol::v1::schema::Diff;
use haft_contract::ToolKind;
use haft_patch::{DescribedChange, PatchHunk};
use serde_json::Value;

use crate::limits::{SHOWN_CHANGE_BYTES_MAX, SHOWN_HUNKS_MAX};

/// Returns what a call changes. It is empty if the tool does not change files, or if the texts are too large to be drawn.
/// `before` returns the text of a file.
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
    let diffs = match DescribedChange::from_fields(text) {
        Some(DescribedChange::Passage { path: Some(path), old, new }) => {
            vec![diff(root, path, Some(old.to_owned()), new)]
        }
        Some(DescribedChange::Content { path: Some(path), new }) => {
            vec![diff(root, path, before(path), new)]
        }
        Some(DescribedChange::Patch { path, patch }) if patch.len() <= SHOWN_CHANGE_BYTES_MAX => {
            patch_diffs(patch, root, path)
        }
        Some(_) | None => Vec::new(),
    };
    let is_small = |diff: &Diff| {
        let old = diff.old_text.as_ref().map_or(0, String::len);
        old <= SHOWN_CHANGE_BYTES_MAX && diff.new_text.len() <= SHOWN_CHANGE_BYTES_MAX
    };
    diffs.into_iter().filter(is_small).collect()
}

/// Returns a path as editors take it: absolute.
pub(crate) fn absolute(root: &Path, path: &str) -> PathBuf {
    root.join(path).components().collect()
}

fn diff(root: &Path, path: &str, old: Option<String>, new: &str) -> Diff {
    Diff::new(absolute(root, path), new).old_text(old)
}

/// Returns the hunks of a patch. `path` is the file if the patch need not name one. A patch that cannot be read has none:
/// its call is refused.
fn patch_diffs(patch: &str, root: &Path, path: Option<&str>) -> Vec<Diff> {
    let hunk_diff = |path: &str, hunk: &PatchHunk| {
        let old = Some(hunk.old_text()).filter(|old| !old.is_empty());
        diff(root, path, old, &hunk.new_text())
    };
    let mut diffs: Vec<Diff> = match path {
        Some(path) => {
            let hunks = haft_patch::parse_single(patch).unwrap_or_default();
            hunks.iter().map(|hunk| hunk_diff(path, hunk)).collect()
        }
        None => {
            let files = haft_patch::parse(patch).map_or_else(|_| Vec::new(), |patch| patch.files);
            let hunks = files.iter().flat_map(|file| {
                let path = file.new_path.as_deref().or(file.old_path.as_deref());
                file.hunks.iter().map(move |hunk| (path.unwrap_or_default(), hunk))
            });
            hunks.map(|(path, hunk)| hunk_diff(path, hunk)).collect()
        }
    };
    diffs.truncate(SHOWN_HUNKS_MAX);
    diffs
}

#[cfg(test)]
mod tests;
