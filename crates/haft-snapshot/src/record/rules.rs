//! What the user's ignore files say of a path: the `.gitignore` of its directory and of those above, up to the top of its
//! repository. Ignoring decides alone how much of something is recorded, so that the user's global rules, and those in `.git`,
//! which is never looked into, are deliberately not read.

use std::cell::OnceCell;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use haft_sandbox::Root;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::error::RecordError;
use crate::limits::IGNORE_FILE_BYTES_MAX;

/// The rules of one directory and, through `above`, of those that hold it.
#[derive(Debug, Clone, Default)]
pub(super) struct Rules {
    nearest: Option<Rc<File>>,
}

#[derive(Debug)]
struct File {
    above: Rules,
    directory: PathBuf,
    /// Read when it is first asked, because most are not.
    matcher: OnceCell<Gitignore>,
}

impl Rules {
    /// Returns the rules that hold in the directory at `path`, given those that hold above it.
    pub(super) fn enter(&self, path: &Path, contains: Contains) -> Rules {
        let above = if contains.repository { Rules::default() } else { self.clone() };
        if !contains.ignore_file {
            return above;
        }
        let file = File { above, directory: path.to_path_buf(), matcher: OnceCell::new() };
        Rules { nearest: Some(Rc::new(file)) }
    }

    /// Tells whether what is at `path` is ignored. The nearest file that mentions it decides.
    pub(super) fn ignore(&self, root: &Root, path: &Path, kind: Kind) -> bool {
        let mut rules = self;
        while let Some(file) = &rules.nearest {
            let matcher = file.matcher.get_or_init(|| read(root, &file.directory));
            match matcher.matched(path, kind == Kind::Directory) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => rules = &file.above,
            }
        }
        false
    }
}

/// What of interest a directory contains.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Contains {
    /// It is the top of a repository, inside of which no rule from outside holds.
    pub(super) repository: bool,
    pub(super) ignore_file: bool,
}

/// What a rule can tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Directory,
    Other,
}

/// Reads the rules of one directory. What cannot be read, and lines that are no rule, are passed over, as git does.
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
        // The error is about this line alone.
        let _ = builder.add_line(None, line);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

/// Reads a caller's patterns, of which each must be one.
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
