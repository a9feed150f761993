//! `repo_overview`: summarizes a directory of sources in one answer: the tree as far as it fits, languages with their sizes,
//! and the entry points of programs, scripts and documents. Ignored and hidden files do not count. The tool reads names and
//! manifests; it runs nothing.

mod entry_points;
mod language;
#[cfg(test)]
mod tests;
mod tree;

use std::collections::BTreeMap;
use std::io::Read;
use std::path::PathBuf;

use haft_contract::limits::PATH_BYTES_MAX;
use haft_contract::{
    Access, Cx, ErrorCode, FilePath, FsEntryKind, OpenRegularFile, Tool, ToolError, ToolKind,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use self::entry_points::{EntryPoint, EntryPoints};
use self::tree::DirectoryTree;
use crate::aliases;
use crate::text_file::{missing_file_error, workspace_read_requirements};
use crate::walk::{self, DirectoryWalk, EntrySelector};

/// Files of one `repo_overview`.
///
/// Limit (files): the others are counted and the answer says so.
pub(crate) const FILES_MAX: usize = 20_000;
/// Largest file whose lines are counted, in bytes.
pub(crate) const COUNTED_BYTES_MAX: u64 = 1024 * 1024;
/// Bytes that are read of all files together.
pub(crate) const READ_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Languages that are named.
pub(crate) const LANGUAGES_MAX: usize = 30;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RepoOverviewInput {
    /// Directory to look at; default: the root.
    path: Option<String>,
}

#[derive(Serialize)]
struct RepoOverviewOutput {
    path: String,
    files: usize,
    bytes: u64,
    /// The reason why the numbers are too low.
    #[serde(skip_serializing_if = "Option::is_none")]
    incomplete: Option<String>,
    languages: Vec<LanguageTotals>,
    entry_points: Vec<EntryPoint>,
    tree: String,
}

/// The files of one language.
#[derive(Debug, Serialize)]
struct LanguageTotals {
    language: &'static str,
    files: usize,
    bytes: u64,
    /// Of files that are not very large.
    lines: u64,
}

pub(crate) fn repo_overview() -> Tool {
    Tool::new("repo_overview")
        .description(
            "Show what a directory of sources holds: its tree, languages with sizes, and entry points (programs, scripts, \
             build targets, documents). Skips what ignore files name, and hidden files.",
        )
        .kind(ToolKind::Read)
        .example_output(json!({
            "path": ".", "files": 1, "bytes": 1,
            "languages": [{"language": "Rust", "files": 1, "bytes": 1, "lines": 1}],
            "entry_points": [{"path": "README.md", "kind": "document"}],
            "tree": "README.md",
        }))
        .requires(workspace_read_requirements())
        .aliases(aliases::DIRECTORY)
        .accesses(|input: &RepoOverviewInput| vec![Access::read(input.path())])
        .execute_blocking(|input: RepoOverviewInput, cx: &Cx| run(&input, cx))
}

impl RepoOverviewInput {
    fn path(&self) -> &str {
        self.path.as_deref().unwrap_or(".")
    }
}

fn run(input: &RepoOverviewInput, cx: &Cx) -> Result<RepoOverviewOutput, ToolError> {
    let base = match cx.fs().resolve(input.path())? {
        (base, Some(FsEntryKind::Directory)) => base,
        (_, Some(other)) => {
            let found = other.with_article();
            let message = format!(
                "path {:?} is {found}, not a directory: name a directory in path",
                input.path()
            );
            return Err(ToolError::new(ErrorCode::PathInvalid, message));
        }
        (place, None) => return Err(missing_file_error(cx.fs(), input.path(), &place)),
    };
    let selector = EntrySelector::all_files();
    let threads = walk::threads_available();
    let listing = DirectoryWalk { cx, base: &base, selector: &selector, threads }.run()?;
    let mut survey = OverviewBuilder { cx, base: &base, found: OverviewTotals::default() };
    for index in 0..listing.len().min(FILES_MAX) {
        if cx.is_cancelled() {
            let message =
                "the look was stopped before it was over: name a narrower directory in `path`";
            return Err(ToolError::new(ErrorCode::ToolTimeout, message));
        }
        if let Some(path) = listing.path(index) {
            survey.add_file(&path);
        }
    }
    let left = listing.len().saturating_sub(FILES_MAX);
    let incomplete = if left > 0 {
        Some(format!("there are {left} further files: name a narrower directory in `path`"))
    } else if listing.too_deep() > 0 {
        Some(format!(
            "the tree is deeper than any tool reaches: what lies at paths of more than {} bytes is not counted",
            PATH_BYTES_MAX - 1
        ))
    } else {
        (!listing.is_complete()).then(|| "not every directory could be walked".to_owned())
    };
    let OverviewTotals { files, bytes, languages, entry_points, tree, .. } = survey.found;
    let mut languages: Vec<LanguageTotals> = languages.into_values().collect();
    languages.sort_by(|one, other| {
        other.bytes.cmp(&one.bytes).then_with(|| one.language.cmp(other.language))
    });
    languages.truncate(LANGUAGES_MAX);
    Ok(RepoOverviewOutput {
        path: base.display().to_owned(),
        files,
        bytes,
        incomplete,
        languages,
        entry_points: entry_points.finish(),
        tree: tree.draw(),
    })
}

/// The overview while files are added, one by one.
struct OverviewBuilder<'a> {
    cx: &'a Cx,
    base: &'a FilePath,
    found: OverviewTotals,
}

#[derive(Default)]
struct OverviewTotals {
    files: usize,
    bytes: u64,
    read_bytes: u64,
    languages: BTreeMap<&'static str, LanguageTotals>,
    entry_points: EntryPoints,
    tree: DirectoryTree,
}

impl OverviewBuilder<'_> {
    /// Counts a file. A file that cannot be opened does not count.
    fn add_file(&mut self, path: &FilePath) {
        let Ok(OpenRegularFile { mut file, stamp }) = self.cx.fs().open_regular(path) else {
            return;
        };
        let relative = path.relative().strip_prefix(self.base.relative());
        let relative: PathBuf = relative.unwrap_or(path.relative()).to_path_buf();
        let name = relative.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let by_name = language::language_of_name(&name);
        let is_wanted = EntryPoints::is_candidate(&relative, &name);
        // A file without a telling name may begin with the name of its interpreter.
        let may_be_script = by_name.is_none() && !name.contains('.');
        let is_read = by_name.is_some() || is_wanted || may_be_script;
        let fits = stamp.size <= COUNTED_BYTES_MAX
            && self.found.read_bytes.saturating_add(stamp.size) <= READ_BYTES_MAX;
        let mut contents = Vec::new();
        if is_read && fits {
            // A file that cannot be read counts as empty.
            let _ = file.by_ref().take(COUNTED_BYTES_MAX).read_to_end(&mut contents);
        }
        let language = by_name.or_else(|| language::language_of_shebang(&contents));
        let found = &mut self.found;
        found.files += 1;
        found.bytes = found.bytes.saturating_add(stamp.size);
        found.read_bytes = found.read_bytes.saturating_add(count(contents.len()));
        found.tree.add(&relative, stamp.size);
        if let Some(language) = language {
            let new = || LanguageTotals { language, files: 0, bytes: 0, lines: 0 };
            let known = found.languages.entry(language).or_insert_with(new);
            known.files += 1;
            known.bytes = known.bytes.saturating_add(stamp.size);
            known.lines = known.lines.saturating_add(count_lines(&contents));
        }
        if is_wanted {
            let text = String::from_utf8_lossy(&contents);
            found.entry_points.add_file(&relative, path.display(), &text);
        }
    }
}

/// Returns the number of lines; a last one need not end.
fn count_lines(contents: &[u8]) -> u64 {
    let ends = contents.iter().filter(|byte| **byte == b'\n').count();
    let open = contents.last().is_some_and(|last| *last != b'\n');
    count(ends) + u64::from(open)
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
