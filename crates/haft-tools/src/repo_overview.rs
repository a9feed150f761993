//! `repo_overview`: what a directory of sources holds, in one answer: the tree as far as it fits, languages with their sizes, and
//! where programs, scripts and documents begin. Files that ignore files name, and hidden ones, are passed over. It says what
//! the files are called and what their own manifests say; it runs nothing.

mod entry_points;
mod language;
#[cfg(test)]
mod tests;
mod tree;

use std::collections::BTreeMap;
use std::io::Read;
use std::path::PathBuf;

use haft_contract::limits::PATH_BYTES_MAX;
use haft_contract::{Access, Cx, ErrorCode, FileKind, FilePath, Kind, OpenFile, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use self::entry_points::{
    DEPTH_MAX, ENTRY_POINTS_MAX, PROVIDED_CHARS_MAX, PROVIDED_MAX,
};
use self::entry_points::{EntryPoint, EntryPoints};
use self::tree::Tree;
pub(crate) use self::tree::{TREE_ENTRIES_MAX, TREE_LINES_MAX};
use crate::text_file::{missing, reads_workspace};
use crate::walk::{self, Selector, Walk};

/// Files that are looked at.
pub(crate) const FILES_MAX: usize = 20_000;
/// Largest file whose lines are counted, in bytes.
pub(crate) const COUNTED_BYTES_MAX: u64 = 1024 * 1024;
/// Bytes that are read of all files together.
pub(crate) const READ_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Languages that are named.
pub(crate) const LANGUAGES_MAX: usize = 30;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// Directory to look at; default: the root.
    path: Option<String>,
}

#[derive(Serialize)]
struct Answer {
    path: String,
    files: usize,
    bytes: u64,
    /// Why the numbers are less than all there is.
    #[serde(skip_serializing_if = "Option::is_none")]
    incomplete: Option<String>,
    languages: Vec<Language>,
    entry_points: Vec<EntryPoint>,
    tree: String,
}

/// What there is of one language.
#[derive(Debug, Serialize)]
struct Language {
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
        .kind(Kind::Read)
        .requires(reads_workspace())
        .accesses(|input: &Input| vec![Access::read(input.path())])
        .execute_blocking(|input: Input, cx: &Cx| run(&input, cx))
}

impl Input {
    fn path(&self) -> &str {
        self.path.as_deref().unwrap_or(".")
    }
}

fn run(input: &Input, cx: &Cx) -> Result<Answer, ToolError> {
    let base = match cx.fs().resolve(input.path())? {
        (base, Some(FileKind::Directory)) => base,
        (_, Some(other)) => {
            let found = other.with_article();
            let message = format!("{:?} is no directory to look at: found {found}", input.path());
            return Err(ToolError::new(ErrorCode::PathInvalid, message));
        }
        (place, None) => return Err(missing(cx.fs(), input.path(), &place)),
    };
    let selector = Selector::everything();
    let threads = walk::threads_available();
    let listing = Walk { cx, base: &base, selector: &selector, threads }.run()?;
    let mut survey = Survey { cx, base: &base, found: Found::default() };
    for index in 0..listing.len().min(FILES_MAX) {
        if cx.is_cancelled() {
            let message =
                "the look was stopped before it was over: name a narrower directory in `path`";
            return Err(ToolError::new(ErrorCode::ToolTimeout, message));
        }
        if let Some(path) = listing.path(index) {
            survey.look(&path);
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
    Ok(survey.found.answer(base.display(), incomplete))
}

/// A look at many files, one by one.
struct Survey<'a> {
    cx: &'a Cx,
    base: &'a FilePath,
    found: Found,
}

#[derive(Default)]
struct Found {
    files: usize,
    bytes: u64,
    read_bytes: u64,
    languages: BTreeMap<&'static str, Language>,
    entry_points: EntryPoints,
    tree: Tree,
}

impl Survey<'_> {
    /// Takes note of a file. One that cannot be opened is passed over: it went away, or is not to be read.
    fn look(&mut self, path: &FilePath) {
        let Ok(OpenFile { mut file, stamp }) = self.cx.fs().open_seen(path) else { return };
        let relative = path.relative().strip_prefix(self.base.relative());
        let relative: PathBuf = relative.unwrap_or(path.relative()).to_path_buf();
        let name = relative.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let by_name = language::of_name(&name);
        let is_wanted = EntryPoints::wants(&relative, &name);
        // A file without a telling name may begin with the name of its interpreter.
        let may_be_script = by_name.is_none() && !name.contains('.');
        let is_read = by_name.is_some() || is_wanted || may_be_script;
        let fits = stamp.size <= COUNTED_BYTES_MAX
            && self.found.read_bytes.saturating_add(stamp.size) <= READ_BYTES_MAX;
        let mut contents = Vec::new();
        if is_read && fits {
            // What could not be read counts as empty.
            let _ = file.by_ref().take(COUNTED_BYTES_MAX).read_to_end(&mut contents);
        }
        let language = by_name.or_else(|| language::of_shebang(&contents));
        self.found.add(&relative, stamp.size, language, &contents);
        if is_wanted {
            let display = path.display();
            self.found.entry_points.look(&relative, display, &String::from_utf8_lossy(&contents));
        }
    }
}

impl Found {
    fn add(
        &mut self,
        path: &std::path::Path,
        bytes: u64,
        language: Option<&'static str>,
        contents: &[u8],
    ) {
        self.files += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        self.read_bytes = self.read_bytes.saturating_add(count(contents.len()));
        self.tree.add(path, bytes);
        let Some(language) = language else { return };
        let new = || Language { language, files: 0, bytes: 0, lines: 0 };
        let known = self.languages.entry(language).or_insert_with(new);
        known.files += 1;
        known.bytes = known.bytes.saturating_add(bytes);
        known.lines = known.lines.saturating_add(lines(contents));
    }

    fn answer(self, path: &str, incomplete: Option<String>) -> Answer {
        let mut languages: Vec<Language> = self.languages.into_values().collect();
        languages.sort_by(|one, other| {
            other.bytes.cmp(&one.bytes).then_with(|| one.language.cmp(other.language))
        });
        languages.truncate(LANGUAGES_MAX);
        Answer {
            path: path.to_owned(),
            files: self.files,
            bytes: self.bytes,
            incomplete,
            languages,
            entry_points: self.entry_points.finish(),
            tree: self.tree.draw(),
        }
    }
}

/// Returns the number of lines; a last one need not end.
fn lines(contents: &[u8]) -> u64 {
    let ends = contents.iter().filter(|byte| **byte == b'\n').count();
    let open = contents.last().is_some_and(|last| *last != b'\n');
    count(ends) + u64::from(open)
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
