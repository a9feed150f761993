//! The table `[snapshots]` of a manifest: whether what effects change is recorded, and how much of a workspace is. Only its
//! own bounds are checked here; recording is not done here.

use haft_snapshot::RecordOptions;
use serde::Deserialize;

use super::problem::{KeyProblem, out_of_bounds};

/// Largest `snapshots.file_bytes`.
///
/// Limit (settings): the manifest is refused.
pub(crate) const SNAPSHOT_FILE_BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// Largest `snapshots.ignored_bytes`.
///
/// Limit (settings): the manifest is refused.
pub(crate) const SNAPSHOT_IGNORED_BYTES_MAX: u64 = 64 * 1024 * 1024 * 1024;
/// Largest `snapshots.files` and `snapshots.ignored_files`.
///
/// Limit (settings): the manifest is refused.
pub(crate) const SNAPSHOT_FILES_MAX: u64 = 10_000_000;

/// The values of the table. Every key is optional; a missing key has its default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SnapshotsSection {
    /// Whether anything is recorded.
    pub enabled: Option<bool>,
    /// Patterns of files that are not recorded, as in a `.gitignore` at the root.
    pub exclude: Vec<String>,
    /// Whether the refs and the index of a root's repository are recorded, too.
    pub repositories: Option<bool>,
    /// The size of the largest file that is recorded, in bytes.
    pub file_bytes: Option<u64>,
    /// The largest number of files, directories and links. A root with more of them is not recorded.
    pub files: Option<u64>,
    /// The size of the largest ignored file or directory that is recorded, in bytes.
    pub ignored_bytes: Option<u64>,
    /// The largest number of entries of an ignored directory that is recorded.
    pub ignored_files: Option<u64>,
}

impl SnapshotsSection {
    /// Returns how much is recorded with this table.
    pub fn options(&self) -> RecordOptions {
        let defaults = RecordOptions::default();
        RecordOptions {
            excluded: self.exclude.clone(),
            file_bytes_max: self.file_bytes.unwrap_or(defaults.file_bytes_max),
            files_max: self.files.unwrap_or(defaults.files_max),
            ignored_bytes_max: self.ignored_bytes.unwrap_or(defaults.ignored_bytes_max),
            ignored_files_max: self.ignored_files.unwrap_or(defaults.ignored_files_max),
            ..defaults
        }
    }

    /// Returns the keys whose values cannot be used, and what is wrong with them.
    pub(super) fn problems(&self) -> Vec<KeyProblem> {
        // Without any file there would be nothing to bring back; for that there is `enabled`. None that is ignored may be.
        let (files, ignored_files) = (1..=SNAPSHOT_FILES_MAX, 0..=SNAPSHOT_FILES_MAX);
        let (bytes, ignored_bytes) = (1..=SNAPSHOT_FILE_BYTES_MAX, 0..=SNAPSHOT_IGNORED_BYTES_MAX);
        let problems = [
            out_of_bounds("file_bytes", self.file_bytes, bytes, "bytes"),
            out_of_bounds("files", self.files, files, "files"),
            out_of_bounds("ignored_bytes", self.ignored_bytes, ignored_bytes, "bytes"),
            out_of_bounds("ignored_files", self.ignored_files, ignored_files, "files"),
        ];
        problems.into_iter().flatten().collect()
    }

    /// Returns the patterns that cannot be used, by their places in the list, and what is wrong with them.
    pub(super) fn pattern_problems(&self) -> Vec<(usize, String)> {
        let problem = |pattern: &String| match pattern.trim() {
            "" => Some("exclude: expected a pattern, found an empty text".to_owned()),
            comment if comment.starts_with('#') => Some(format!(
                "exclude: expected a pattern, found the comment {comment:?}: a name that begins with # is written \\#"
            )),
            open if is_unclosed(open) => Some(format!(
                "exclude: expected a pattern, found {open:?} with a [ that no ] follows: one that is meant is written \\["
            )),
            _ => {
                let alone =
                    RecordOptions { excluded: vec![pattern.clone()], ..RecordOptions::default() };
                alone.check().err().map(|err| format!("exclude: {err}"))
            }
        };
        let patterns = self.exclude.iter().enumerate();
        patterns.filter_map(|(place, pattern)| Some((place, problem(pattern)?))).collect()
    }
}

/// Returns whether a set of characters is begun and not ended, which as a pattern matches nothing.
fn is_unclosed(pattern: &str) -> bool {
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => {
                characters.next();
            }
            '[' => {
                let rest = characters.as_str();
                let members = rest.strip_prefix(['!', '^']).unwrap_or(rest);
                // A bracket that comes first is a member.
                let mut after = members.chars();
                after.next();
                let Some((_, after)) = after.as_str().split_once(']') else { return true };
                characters = after.chars();
            }
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_of_characters_has_an_end() {
        let check =
            |pattern: &str, expect: bool| assert_eq!(is_unclosed(pattern), expect, "{pattern}");
        check("[a", true);
        check("x[]", true);
        check("x[!]", true);
        check("[a][", true);
        check("[]]", false);
        check("[!]]*.[ch]", false);
        check(r"\[a", false);
        check("*.o", false);
    }
}
