//! The ignore files that hold in a directory: its own and those of the directories above, up to the root. Their
//! precedence is ripgrep's, but `.gitignore` counts outside of repositories too. Ignore files outside the root and the user's global ones are deliberately not read,
//! nor are ignore files that are symlinks.

use std::ffi::OsStr;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use haft_contract::{DirectoryEntry, FilePath, Fs, FsEntryKind};
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// Longest part of an ignore file that is read, in bytes. The rules after it do not count.
pub(crate) const IGNORE_FILE_BYTES_MAX: u64 = 1_000_000;

/// The rules of one directory and, through `parent`, of all above. Directories without rules of their own have
/// no link in this chain.
#[derive(Debug)]
pub(crate) struct WalkIgnoreRules {
    parent: Option<Arc<WalkIgnoreRules>>,
    dot_ignore: Gitignore,
    gitignore: Gitignore,
    git_exclude: Gitignore,
    /// Whether the directory is the top of a repository, above which no `.gitignore` holds.
    is_repository: bool,
}

/// The verdict of the rules on an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WalkIgnoreVerdict {
    /// It is ignored.
    Ignored,
    /// A rule says that it is not to be ignored, not even for being hidden.
    ReIncluded,
    /// No rule mentions it.
    NoRule,
}

impl WalkIgnoreRules {
    /// Returns the rules of the directories above `base`, from the root down.
    pub(crate) fn load_ancestors(fs: &dyn Fs, base: &FilePath) -> Option<Arc<Self>> {
        let mut directory = FilePath::new(base.root(), "".into(), ".".to_owned());
        let mut rules = None;
        for name in base.relative() {
            // A directory that the grant hides has no say in what the walk below it shows.
            let entries = fs.list(&directory).unwrap_or_default();
            rules = Self::load_directory(rules, fs, &directory, &entries);
            directory = directory.join(name);
        }
        rules
    }

    /// Returns the rules that hold in `directory`, given those above it and its entries.
    pub(crate) fn load_directory(
        parent: Option<Arc<Self>>,
        fs: &dyn Fs,
        directory: &FilePath,
        entries: &[DirectoryEntry],
    ) -> Option<Arc<Self>> {
        let kind_of = |name: &str| {
            let at = entries.binary_search_by(|entry| entry.name.as_os_str().cmp(OsStr::new(name)));
            at.ok().and_then(|at| entries.get(at)).map(|entry| entry.kind)
        };
        let rules_in = |name: &str| match kind_of(name) {
            Some(FsEntryKind::Regular) => load(fs, directory, &directory.join(OsStr::new(name))),
            _ => Gitignore::empty(),
        };
        let dot_ignore = rules_in(".ignore");
        let gitignore = rules_in(".gitignore");
        // A worktree has a file of that name; its exclude file lies elsewhere and is left alone.
        let git = kind_of(".git");
        let git_exclude = match git {
            Some(FsEntryKind::Directory) => {
                let path = [".git", "info", "exclude"];
                let file =
                    path.iter().fold(directory.clone(), |file, name| file.join(name.as_ref()));
                load(fs, directory, &file)
            }
            _ => Gitignore::empty(),
        };
        let is_repository = git.is_some() || kind_of(".jj").is_some();
        if dot_ignore.is_empty() && gitignore.is_empty() && !is_repository {
            return parent;
        }
        Some(Arc::new(Self { parent, dot_ignore, gitignore, git_exclude, is_repository }))
    }

    /// Returns what the rules say of the entry at `path`, relative to the root.
    ///
    /// The nearest file of a kind that mentions the entry decides for its kind; `.ignore` goes before
    /// `.gitignore`, and that before `.git/info/exclude`.
    pub(crate) fn verdict(&self, path: &Path, kind: FsEntryKind) -> WalkIgnoreVerdict {
        let is_directory = kind == FsEntryKind::Directory;
        let mut best = [WalkIgnoreVerdict::NoRule; 3];
        // A root is often a directory inside of a repository that lies above it and cannot be seen from here, so a
        // `.gitignore` counts wherever it is found.
        let mut git_counts = true;
        for rules in std::iter::successors(Some(self), |rules| rules.parent.as_deref()) {
            let files = [
                (&rules.dot_ignore, true),
                (&rules.gitignore, git_counts),
                (&rules.git_exclude, git_counts),
            ];
            for (verdict, (file, counts)) in best.iter_mut().zip(files) {
                if counts && *verdict == WalkIgnoreVerdict::NoRule {
                    *verdict = match file.matched(path, is_directory) {
                        Match::None => WalkIgnoreVerdict::NoRule,
                        Match::Ignore(_) => WalkIgnoreVerdict::Ignored,
                        Match::Whitelist(_) => WalkIgnoreVerdict::ReIncluded,
                    };
                }
            }
            git_counts &= !rules.is_repository;
        }
        best.into_iter()
            .find(|verdict| *verdict != WalkIgnoreVerdict::NoRule)
            .unwrap_or(WalkIgnoreVerdict::NoRule)
    }
}

/// Reads the ignore file `file`, whose rules are relative to `directory`. A file that cannot be read and lines without a
/// valid rule do not count, as in git and ripgrep: an ignore file must not break a search.
fn load(fs: &dyn Fs, directory: &FilePath, file: &FilePath) -> Gitignore {
    let mut bytes = Vec::new();
    let read = fs
        .open_regular(file)
        .map(|open| open.file.take(IGNORE_FILE_BYTES_MAX).read_to_end(&mut bytes));
    if !matches!(read, Ok(Ok(_))) {
        return Gitignore::empty();
    }
    let text = String::from_utf8_lossy(&bytes);
    let mut builder = GitignoreBuilder::new(directory.relative());
    for line in text.trim_start_matches('\u{feff}').lines() {
        // The error is about this line alone.
        let _ = builder.add_line(None, line);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}
