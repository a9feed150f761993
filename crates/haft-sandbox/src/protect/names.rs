//! Which names are protected, as a pure question about paths. It deliberately looks at no file: what exists under these
//! names is the survey's question.

use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

use super::builtin;
use super::error::ProtectedNameError;
use super::fold::fold_into;
use super::pattern::{Extent, Pattern, Runs, Taken};

/// Names inside writable directories that can be read and not changed.
///
/// A pattern is a run of names separated by `/`, which matches at any depth. `*` stands for any part of one name, `**`
/// between slashes for any number of names. What is beneath a matching name is protected as well, with `/**` at the end
/// or without; with `/.` at the end the name alone is: a directory of that name cannot be replaced, and what is in it
/// can be changed. Letter case and Unicode forms make no difference.
///
/// ```
/// use haft_sandbox::ProtectedNames;
///
/// let names = ProtectedNames::builtin().extended(["deploy/*.key"])?;
/// assert_eq!(names.matching("vendor/lib/.GIT/hooks/pre-commit".as_ref()), Some(".git/hooks/**"));
/// assert_eq!(names.matching("deploy/live.key".as_ref()), Some("deploy/*.key"));
/// assert_eq!(names.matching(".git/index".as_ref()), None);
/// # Ok::<(), haft_sandbox::ProtectedNameError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ProtectedNames {
    /// No two are the same.
    patterns: Vec<Pattern>,
}

impl ProtectedNames {
    /// Returns the set of these patterns.
    ///
    /// # Errors
    ///
    /// [`ProtectedNameError`] for the first one that is no pattern.
    pub fn new<I>(patterns: I) -> Result<ProtectedNames, ProtectedNameError>
    where
        I: IntoIterator<Item: AsRef<str>>,
    {
        ProtectedNames::none().extended(patterns)
    }

    /// Returns the set that protects nothing.
    #[must_use]
    pub fn none() -> ProtectedNames {
        ProtectedNames { patterns: Vec::new() }
    }

    /// Returns what programs run or obey by themselves: git, shells, editors, agents, and haft.
    #[must_use]
    pub fn builtin() -> ProtectedNames {
        ProtectedNames::new(builtin::PATTERNS).expect("the patterns of this crate are patterns")
    }

    /// Returns the set with these patterns added to it.
    ///
    /// # Errors
    ///
    /// [`ProtectedNameError`] for the first one that is no pattern.
    pub fn extended<I>(mut self, patterns: I) -> Result<ProtectedNames, ProtectedNameError>
    where
        I: IntoIterator<Item: AsRef<str>>,
    {
        for text in patterns {
            let pattern = Pattern::parse(text.as_ref())?;
            if !self.patterns.iter().any(|it| it.is_same(&pattern)) {
                self.patterns.push(pattern);
            }
        }
        Ok(self)
    }

    /// Returns the set without these patterns, which narrows it: whoever calls this should record that it was done.
    ///
    /// # Errors
    ///
    /// [`ProtectedNameError::Unknown`] for one that is not in the set, so that a slip of the pen is noticed.
    pub fn without<I>(mut self, patterns: I) -> Result<ProtectedNames, ProtectedNameError>
    where
        I: IntoIterator<Item: AsRef<str>>,
    {
        for text in patterns {
            let pattern = Pattern::parse(text.as_ref())?;
            let Some(index) = self.patterns.iter().position(|it| it.is_same(&pattern)) else {
                let known = self.patterns().collect::<Vec<_>>().join(", ");
                let pattern = text.as_ref().to_owned();
                return Err(ProtectedNameError::Unknown { pattern, known });
            };
            self.patterns.remove(index);
        }
        Ok(self)
    }

    /// Returns the patterns, as they were given.
    pub fn patterns(&self) -> impl Iterator<Item = &str> {
        self.patterns.iter().map(Pattern::text)
    }

    /// Tells whether nothing is protected.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Returns the pattern that protects `relative`, or a directory that it is beneath.
    ///
    /// The path is relative to a writable directory, and canonical. Names are all that is known here: a repository that
    /// is not called `.git` is only found by a `Survey`.
    #[must_use]
    pub fn matching(&self, relative: &Path) -> Option<&str> {
        self.matching_beneath(Path::new(""), relative)
    }

    /// Returns the pattern that protects `relative` beneath `root`, whose own names can begin a run.
    ///
    /// Beneath `/srv/app/.git` the path `hooks/pre-commit` is protected by `.git/hooks/**`. A run that ends in the
    /// root's own path protects nothing: that directory was granted by name.
    #[must_use]
    pub fn matching_beneath(&self, root: &Path, relative: &Path) -> Option<&str> {
        let index = self.walk(root, relative).err()?;
        self.patterns.get(index).map(Pattern::text)
    }

    /// Returns a pattern that could match beneath `relative`, whose last names begin its run.
    ///
    /// Such a directory may hold what is protected, so that replacing it replaces that too.
    #[must_use]
    pub fn guards_ancestor(&self, relative: &Path) -> Option<&str> {
        let runs = self.walk(Path::new(""), relative).ok()?;
        self.patterns.get(runs.first()?).map(Pattern::text)
    }

    /// Tells whether the names of `relative` beneath `root` end in a protected name or in the beginning of one.
    ///
    /// Where neither is so, nothing in a directory of that name is protected but by what it is called itself.
    #[must_use]
    pub fn concerns(&self, root: &Path, relative: &Path) -> bool {
        self.walk(root, relative).map_or(true, |runs| !runs.is_empty())
    }

    /// Takes a path's names one after the other; an error is the pattern that protects the path.
    fn walk(&self, root: &Path, relative: &Path) -> Result<Runs, usize> {
        let mut runs = self.runs_at(root);
        let mut folded = Vec::new();
        let mut names = names_of(relative).peekable();
        while let Some(name) = names.next() {
            fold_into(name, &mut folded);
            let taken = self.take(&runs, &folded);
            if let Some(index) = taken.complete
                && (names.peek().is_none() || self.extent(index) == Extent::Tree)
            {
                return Err(index);
            }
            runs = taken.runs;
        }
        Ok(runs)
    }

    /// Returns the runs that have begun at a directory by the names of its path.
    pub(super) fn runs_at(&self, directory: &Path) -> Runs {
        let mut folded = Vec::new();
        names_of(directory).fold(Runs::default(), |runs, name| {
            fold_into(name, &mut folded);
            self.take(&runs, &folded).runs
        })
    }

    /// Takes one folded name in a directory where `runs` have begun.
    pub(super) fn take(&self, runs: &Runs, folded: &[u8]) -> Taken {
        runs.take(&self.patterns, folded)
    }

    /// Tells whether a folded name can begin a run.
    pub(super) fn begins_run(&self, folded: &[u8]) -> bool {
        self.patterns.iter().any(|pattern| pattern.begins_with(folded))
    }

    pub(super) fn extent(&self, index: usize) -> Extent {
        self.patterns.get(index).map_or(Extent::Tree, Pattern::extent)
    }

    pub(super) fn text(&self, index: usize) -> &str {
        self.patterns.get(index).map_or("", Pattern::text)
    }
}

fn names_of(path: &Path) -> impl Iterator<Item = &[u8]> {
    path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.as_bytes()),
        // Canonical paths have none of these.
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => {
            None
        }
    })
}

#[cfg(test)]
mod tests;
