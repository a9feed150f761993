//! The set of protected patterns, as a pure function of paths. It deliberately accesses no files:
//! the scan finds out which protected paths exist.

use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

use super::builtin;
use super::error::ProtectedPathError;
use super::fold::fold_into;
use super::pattern::{PartialMatches, PatternStep, ProtectedPattern, ProtectionExtent};

/// Names inside writable directories that can be read but not changed.
///
/// A pattern is a run of names separated by `/`, which matches at any depth. `*` matches any part
/// of one name; `**` between slashes matches any number of names. Everything below a matching name
/// is protected too, with or without `/**` at the end. With `/.` at the end only the name is
/// protected: a directory of that name cannot be replaced, but its contents can be changed. Letter
/// case and Unicode forms make no difference.
///
/// ```
/// use haft_sandbox::ProtectedPaths;
///
/// let names = ProtectedPaths::builtin().with_patterns(["deploy/*.key"])?;
/// assert_eq!(names.matching("vendor/lib/.GIT/hooks/pre-commit".as_ref()), Some(".git/hooks/**"));
/// assert_eq!(names.matching("deploy/live.key".as_ref()), Some("deploy/*.key"));
/// assert_eq!(names.matching(".git/index".as_ref()), None);
/// # Ok::<(), haft_sandbox::ProtectedPathError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ProtectedPaths {
    /// No two patterns are the same.
    patterns: Vec<ProtectedPattern>,
}

impl ProtectedPaths {
    /// Returns the set of these patterns.
    ///
    /// # Errors
    ///
    /// [`ProtectedPathError`] for the first invalid pattern.
    pub fn new<I>(patterns: I) -> Result<ProtectedPaths, ProtectedPathError>
    where
        I: IntoIterator<Item: AsRef<str>>,
    {
        ProtectedPaths::empty().with_patterns(patterns)
    }

    /// Returns the set that protects nothing.
    #[must_use]
    pub fn empty() -> ProtectedPaths {
        ProtectedPaths { patterns: Vec::new() }
    }

    /// Returns the files that programs run or obey automatically: those of git, shells, editors,
    /// agents, and haft.
    #[must_use]
    pub fn builtin() -> ProtectedPaths {
        let patterns = builtin::OBEYED_NAMES.iter().flat_map(|names| names.patterns);
        ProtectedPaths::new(patterns).expect("the patterns of this crate are patterns")
    }

    /// Returns the set with these patterns added to it.
    ///
    /// # Errors
    ///
    /// [`ProtectedPathError`] for the first invalid pattern.
    pub fn with_patterns<I>(mut self, patterns: I) -> Result<ProtectedPaths, ProtectedPathError>
    where
        I: IntoIterator<Item: AsRef<str>>,
    {
        for text in patterns {
            let pattern = ProtectedPattern::parse(text.as_ref())?;
            if !self.patterns.iter().any(|it| it.is_same(&pattern)) {
                self.patterns.push(pattern);
            }
        }
        Ok(self)
    }

    /// Returns the set without these patterns. This weakens the protection; the caller should
    /// record it.
    ///
    /// # Errors
    ///
    /// [`ProtectedPathError::Unknown`] for a pattern that is not in the set, so that a misspelling
    /// is noticed.
    pub fn without_patterns<I>(mut self, patterns: I) -> Result<ProtectedPaths, ProtectedPathError>
    where
        I: IntoIterator<Item: AsRef<str>>,
    {
        for text in patterns {
            let pattern = ProtectedPattern::parse(text.as_ref())?;
            let Some(index) = self.patterns.iter().position(|it| it.is_same(&pattern)) else {
                let known = self.patterns().collect::<Vec<_>>().join(", ");
                let pattern = text.as_ref().to_owned();
                return Err(ProtectedPathError::Unknown { pattern, known });
            };
            self.patterns.remove(index);
        }
        Ok(self)
    }

    /// Returns the patterns as the caller wrote them.
    pub fn patterns(&self) -> impl Iterator<Item = &str> {
        self.patterns.iter().map(ProtectedPattern::text)
    }

    /// Returns whether nothing is protected.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Returns the pattern that protects `relative` or one of its parent directories.
    ///
    /// The path is relative to a writable directory, and canonical. Only names are considered: a
    /// repository that is not called `.git` is found only by a `ProtectedPathScan`.
    #[must_use]
    pub fn matching(&self, relative: &Path) -> Option<&str> {
        self.matching_beneath(Path::new(""), relative)
    }

    /// Returns the pattern that protects `relative` below `root`, whose own names can begin a run.
    ///
    /// For example, below `/srv/app/.git` the path `hooks/pre-commit` is protected by
    /// `.git/hooks/**`. A run that ends in the root's own path protects nothing, because that
    /// directory was granted by name.
    #[must_use]
    pub fn matching_beneath(&self, root: &Path, relative: &Path) -> Option<&str> {
        let index = self.walk(root, relative).err()?;
        self.patterns.get(index).map(ProtectedPattern::text)
    }

    /// Returns a pattern that could match below `relative`, because its last names begin the run.
    ///
    /// Such a directory may contain protected paths, so replacing the directory would replace them
    /// too.
    #[must_use]
    pub fn guards_ancestor(&self, relative: &Path) -> Option<&str> {
        let runs = self.walk(Path::new(""), relative).ok()?;
        self.patterns.get(runs.first_pattern()?).map(ProtectedPattern::text)
    }

    /// Returns whether `relative` below `root` ends in a protected name or in the beginning of a
    /// pattern.
    ///
    /// Otherwise, an entry of that directory is protected only by its own name.
    #[must_use]
    pub fn concerns(&self, root: &Path, relative: &Path) -> bool {
        self.walk(root, relative).map_or(true, |runs| !runs.is_empty())
    }

    /// Matches a path name by name. `Err` is the pattern that protects the path.
    fn walk(&self, root: &Path, relative: &Path) -> Result<PartialMatches, usize> {
        let mut runs = self.partial_matches_at(root);
        let mut folded = Vec::new();
        let mut names = names_of(relative).peekable();
        while let Some(name) = names.next() {
            fold_into(name, &mut folded);
            let taken = self.step_name(&runs, &folded);
            if let Some(index) = taken.complete
                && (names.peek().is_none() || self.extent(index) == ProtectionExtent::Tree)
            {
                return Err(index);
            }
            runs = taken.partial_matches;
        }
        Ok(runs)
    }

    /// Returns the runs that the names of a directory's path have begun.
    pub(super) fn partial_matches_at(&self, directory: &Path) -> PartialMatches {
        let mut folded = Vec::new();
        names_of(directory).fold(PartialMatches::default(), |runs, name| {
            fold_into(name, &mut folded);
            self.step_name(&runs, &folded).partial_matches
        })
    }

    /// Matches one folded name in a directory where `runs` have begun.
    pub(super) fn step_name(&self, runs: &PartialMatches, folded: &[u8]) -> PatternStep {
        runs.step_name(&self.patterns, folded)
    }

    /// Returns whether a folded name can begin a run.
    pub(super) fn begins_match(&self, folded: &[u8]) -> bool {
        self.patterns.iter().any(|pattern| pattern.begins_with(folded))
    }

    pub(super) fn extent(&self, index: usize) -> ProtectionExtent {
        self.patterns.get(index).map_or(ProtectionExtent::Tree, ProtectedPattern::extent)
    }

    pub(super) fn text(&self, index: usize) -> &str {
        self.patterns.get(index).map_or("", ProtectedPattern::text)
    }
}

fn names_of(path: &Path) -> impl Iterator<Item = &[u8]> {
    path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.as_bytes()),
        // Canonical paths contain none of these.
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => {
            None
        }
    })
}

#[cfg(test)]
mod tests;
