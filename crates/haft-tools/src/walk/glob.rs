//! Globs as models write them: what they name literally, what remains to be matched, and which entries of a walk
//! they select. It deliberately knows nothing of ignore files, and never touches a file.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use globset::{GlobBuilder, GlobSet};
use haft_contract::limits::PATH_BYTES_MAX;
use haft_contract::{ErrorCode, ToolError};

/// The characters that make a component a pattern.
const SPECIAL: [char; 7] = ['*', '?', '[', ']', '{', '}', '\\'];

/// A glob, split into the directories that it names literally and the rest.
///
/// Only the part after the last literal directory has to be matched, so a walk can start there.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct WalkGlob {
    text: String,
    directory: String,
    rest: Vec<String>,
    anchored: bool,
    entry_filter: EntryFilter,
}

/// Which kind of entry is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryFilter {
    Files,
    Directories,
}

/// Decides which entries of a walk are wanted, and which directories are worth a look.
#[derive(Debug)]
pub(crate) struct EntrySelector {
    globs: GlobSet,
    subject: GlobSubject,
    polarity: GlobPolarity,
    hidden: bool,
    entry_filter: EntryFilter,
    /// Levels of directories below the base that can hold a match; `None` is any number.
    depth_max: Option<usize>,
    /// The directories that lead to every match.
    leading: Vec<OsString>,
}

/// The part of a path that a glob is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GlobSubject {
    /// Nothing: every entry matches.
    Nothing,
    /// The last component alone, which is the faster way for globs such as `*.rs`.
    Name,
    /// The path relative to the base.
    Path,
}

/// Whether matches are taken or left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GlobPolarity {
    Include,
    Exclude,
}

impl WalkGlob {
    /// Takes a glob apart. Whether it is valid shows when its selector is made.
    ///
    /// Without a slash, other than at its end, a glob matches at any depth; `./` in front anchors it.
    pub(crate) fn parse(text: &str) -> Self {
        let wants = if text.ends_with('/') { EntryFilter::Directories } else { EntryFilter::Files };
        let anchored = text.trim_end_matches('/').contains('/');
        let mut rest: Vec<String> =
            text.split('/').filter(|part| !matches!(*part, "" | ".")).map(str::to_owned).collect();
        let leading = rest.iter().take(rest.len().saturating_sub(1));
        let literal_count = leading.take_while(|part| !part.contains(SPECIAL)).count();
        let literal: Vec<String> = rest.drain(..literal_count).collect();
        let root = if text.starts_with('/') { "/" } else { "" };
        let directory = format!("{root}{}", literal.join("/"));
        Self { text: text.to_owned(), directory, rest, anchored, entry_filter: wants }
    }

    /// Returns where a walk for this glob starts when the caller asked for `path`.
    pub(crate) fn base(&self, path: &str) -> String {
        match (path, self.directory.as_str()) {
            (path, "") => path.to_owned(),
            (_, absolute) if absolute.starts_with('/') => absolute.to_owned(),
            ("" | ".", directory) => directory.to_owned(),
            (path, directory) => format!("{}/{directory}", path.trim_end_matches('/')),
        }
    }

    /// Returns whether the glob names a directory to start at.
    pub(crate) fn has_directory(&self) -> bool {
        !self.directory.is_empty()
    }

    /// Returns the selector for a walk that starts at [`WalkGlob::base`].
    pub(crate) fn selector(&self) -> Result<EntrySelector, ToolError> {
        self.compile(Vec::new())
    }

    /// Returns a filter for a walk that starts at the caller's own path: literal directories narrow the walk
    /// but do not move it, and `!` in front leaves the matches out.
    pub(crate) fn parse_filter(text: &str) -> Result<EntrySelector, ToolError> {
        let whole = text;
        let (polarity, text) = match text.strip_prefix('!') {
            Some(rest) => (GlobPolarity::Exclude, rest),
            None => (GlobPolarity::Include, text),
        };
        if text.starts_with('/') || text.split('/').any(|part| part == "..") {
            return Err(invalid(
                whole,
                "it must lie below `path`; name the directory in `path` instead",
            ));
        }
        match polarity {
            GlobPolarity::Include if text.ends_with('/') => {
                Self::parse(&format!("{text}**")).selector_from_base()
            }
            GlobPolarity::Include => Self::parse(text).selector_from_base(),
            GlobPolarity::Exclude => {
                let pattern = Self { text: whole.to_owned(), ..Self::parse(text) };
                let selector = pattern.selector_from_base()?;
                Ok(EntrySelector {
                    polarity,
                    hidden: false,
                    depth_max: None,
                    leading: Vec::new(),
                    ..selector
                })
            }
        }
    }

    /// Returns the selector for a walk that starts above the literal directories.
    fn selector_from_base(mut self) -> Result<EntrySelector, ToolError> {
        let leading: Vec<String> =
            self.directory.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
        self.rest.splice(0..0, leading.iter().cloned());
        self.compile(leading.into_iter().map(OsString::from).collect())
    }

    fn compile(&self, leading: Vec<OsString>) -> Result<EntrySelector, ToolError> {
        if self.text.len() > PATH_BYTES_MAX {
            let found = self.text.len();
            let message =
                format!("the glob is {found} bytes long: expected at most {PATH_BYTES_MAX}");
            return Err(ToolError::new(ErrorCode::InvalidInput, message));
        }
        if self.rest.is_empty() {
            return Err(invalid(&self.text, "it names no file; use `**` for every file"));
        }
        if self.rest.iter().any(|part| part == "..") {
            return Err(invalid(
                &self.text,
                "`..` cannot follow a wildcard; name the directory in `path` instead",
            ));
        }
        let whole = self.rest.join("/");
        let name_only = match whole.strip_prefix("**/") {
            Some(name) if !name.contains('/') => Some(name),
            Some(_) => None,
            None => Some(whole.as_str()).filter(|_| !self.anchored),
        };
        let (subject, glob) = match name_only {
            Some(name) => (GlobSubject::Name, name),
            None => (GlobSubject::Path, whole.as_str()),
        };
        let bounded = subject == GlobSubject::Path && !whole.contains("**");
        // A component, or an alternative, that starts with a dot names hidden entries.
        let mut pairs = std::iter::once('/').chain(whole.chars()).zip(whole.chars());
        let names_hidden = pairs.any(|(before, it)| it == '.' && "/{,".contains(before));
        Ok(EntrySelector {
            globs: globs(glob, &self.text)?,
            subject,
            polarity: GlobPolarity::Include,
            hidden: names_hidden,
            entry_filter: self.entry_filter,
            depth_max: bounded.then(|| whole.matches('/').count()),
            leading,
        })
    }
}

impl EntrySelector {
    /// Returns the selector of every file that is not hidden.
    pub(crate) fn all_files() -> Self {
        Self {
            globs: GlobSet::empty(),
            subject: GlobSubject::Nothing,
            polarity: GlobPolarity::Include,
            hidden: false,
            entry_filter: EntryFilter::Files,
            depth_max: None,
            leading: Vec::new(),
        }
    }

    /// Returns whether hidden entries are looked at.
    pub(crate) fn includes_hidden(&self) -> bool {
        self.hidden
    }

    /// Returns whether the file at `path`, in the walk below `base`, is wanted.
    pub(crate) fn selects_file(&self, base: &Path, path: &Path) -> bool {
        match (self.polarity, self.entry_filter) {
            (GlobPolarity::Include, EntryFilter::Files) => self.matches(base, path),
            (GlobPolarity::Exclude, EntryFilter::Files) => !self.matches(base, path),
            (GlobPolarity::Include, EntryFilter::Directories) => false,
            (GlobPolarity::Exclude, EntryFilter::Directories) => true,
        }
    }

    /// Returns whether the directory at `path`, in the walk below `base`, is itself wanted.
    pub(crate) fn selects_directory(&self, base: &Path, path: &Path) -> bool {
        self.polarity == GlobPolarity::Include
            && self.entry_filter == EntryFilter::Directories
            && self.matches(base, path)
    }

    /// Returns whether a wanted entry may lie in the directory at `path`, `depth` levels below `base`.
    pub(crate) fn enters_directory(&self, base: &Path, path: &Path, depth: usize) -> bool {
        match self.polarity {
            GlobPolarity::Exclude => !self.matches(base, path),
            GlobPolarity::Include => {
                let leads = depth.checked_sub(1).and_then(|above| self.leading.get(above));
                self.depth_max.is_none_or(|depth_max| depth <= depth_max)
                    && leads.is_none_or(|name| path.file_name() == Some(name.as_os_str()))
            }
        }
    }

    fn matches(&self, base: &Path, path: &Path) -> bool {
        match self.subject {
            GlobSubject::Nothing => true,
            GlobSubject::Name => self.globs.is_match(path.file_name().unwrap_or(OsStr::new(""))),
            GlobSubject::Path => self.globs.is_match(path.strip_prefix(base).unwrap_or(path)),
        }
    }
}

/// Compiles one glob. A set of one is used because it, other than a single matcher, avoids the regex engine for
/// plain names and extensions.
fn globs(glob: &str, text: &str) -> Result<GlobSet, ToolError> {
    let mut builder = GlobBuilder::new(glob);
    builder.literal_separator(true).backslash_escape(true).empty_alternates(true);
    let compiled = builder.build().and_then(|glob| GlobSet::builder().add(glob).build());
    compiled.map_err(|err| {
        invalid(
            text,
            &format!(
                "{}; put a backslash before a special character to mean it literally",
                err.kind()
            ),
        )
    })
}

fn invalid(text: &str, why: &str) -> ToolError {
    ToolError::new(ErrorCode::InvalidInput, format!("{text:?} is not a usable glob: {why}"))
}
