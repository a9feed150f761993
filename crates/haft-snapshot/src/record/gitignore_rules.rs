//! The result of the user's ignore files for a path: the `.gitignore` of its directory and of its
//! parents, up to the top of its repository. Ignoring only decides how much is recorded. Therefore
//! the user's global rules and those in `.git`, which is never read, are deliberately not used.

use std::cell::OnceCell;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use haft_sandbox::Root;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::error::RecordError;
use crate::limits::IGNORE_FILE_BYTES_MAX;

/// The rules of one directory and, through `above`, of its parents.
#[derive(Debug, Clone, Default)]
pub(super) struct SnapshotIgnoreRules {
    nearest: Option<Rc<GitignoreFile>>,
}

#[derive(Debug)]
struct GitignoreFile {
    above: SnapshotIgnoreRules,
    directory: PathBuf,
    /// Loaded on first use, because most are never used.
    matcher: OnceCell<Gitignore>,
}

impl SnapshotIgnoreRules {
    /// Returns the rules for the directory at `path`, given those of its parent.
    pub(super) fn enter(&self, path: &Path, contains: DirectoryMarkers) -> SnapshotIgnoreRules {
        let above = if contains.repository { SnapshotIgnoreRules::default() } else { self.clone() };
        if !contains.ignore_file {
            return above;
        }
        let file = GitignoreFile { above, directory: path.to_path_buf(), matcher: OnceCell::new() };
        SnapshotIgnoreRules { nearest: Some(Rc::new(file)) }
    }

    /// Returns the rule result for `path`. The nearest file that mentions it decides.
    pub(super) fn ignore(&self, root: &Root, path: &Path, kind: GitignoreKind) -> bool {
        let mut rules = self;
        while let Some(file) = &rules.nearest {
            let matcher = file.matcher.get_or_init(|| read(root, &file.directory));
            match matcher.matched(path, kind == GitignoreKind::Directory) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => rules = &file.above,
            }
        }
        false
    }
}

/// Relevant entries of a directory.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct DirectoryMarkers {
    /// It is the top of a repository, so rules from outside do not apply in it.
    pub(super) repository: bool,
    pub(super) ignore_file: bool,
}

/// The kinds that a rule can distinguish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GitignoreKind {
    Directory,
    Other,
}

/// Loads the rules of one directory. Unreadable files and invalid lines are skipped, as in git.
fn read(root: &Root, directory: &Path) -> Gitignore {
    let mut bytes = Vec::new();
    let read = root
        .open_file(&directory.join(".gitignore"))
        .map(|open| open.file.take(IGNORE_FILE_BYTES_MAX).read_to_end(&mut bytes));
    if !matches!(read, Ok(Ok(_))) {
        return Gitignore::empty();
    }
    let text = String::from_utf8_lossy(&bytes);
    let mut builder = GitignoreBuilder::new(directory);
    for line in text.trim_start_matches('\u{feff}').lines() {
        // The error concerns this line alone.
        let _ = builder.add_line(None, line);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

/// Parses a caller's patterns; each must be valid.
pub(super) fn excluded(patterns: &[String]) -> Result<Gitignore, RecordError> {
    let failed = |pattern: &str, err: ignore::Error| RecordError::Pattern {
        pattern: pattern.to_owned(),
        reason: err.to_string(),
    };
    let mut builder = GitignoreBuilder::new("");
    for pattern in patterns {
        builder.add_line(None, pattern).map_err(|err| failed(pattern, err))?;
    }
    builder.build().map_err(|err| failed(&patterns.join(" "), err))
}
