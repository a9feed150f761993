//! The possible directories of a command, relative to the line's start directory. There can be
//! several, because `cd` may fail. A directory that is not literal is unknown.

use std::collections::BTreeSet;

/// Maximum number of possible directories; if there are more, the directory counts as unknown.
pub const PLACES_MAX: usize = 8;

/// The possible directories of a command. The empty path is the line's start directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WorkingDirectories {
    Known(BTreeSet<String>),
    Unknown,
}

impl WorkingDirectories {
    pub(crate) fn start() -> Self {
        Self::Known(BTreeSet::from([String::new()]))
    }

    pub(crate) fn union(self, other: Self) -> Self {
        match (self, other) {
            (Self::Known(mut all), Self::Known(more)) => {
                all.extend(more);
                Self::bounded(all)
            }
            (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
        }
    }

    /// Returns whether every place of `other` is one of these.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Known(all), Self::Known(some)) => some.is_subset(all),
            (Self::Unknown, Self::Known(_) | Self::Unknown) => true,
            (Self::Known(_), Self::Unknown) => false,
        }
    }

    /// Returns the possible targets of `cd directory`. The shell resolves `..` by text and the
    /// kernel by links. The file system decides which applies, so both are possible.
    pub(crate) fn enter(&self, directory: &str) -> Self {
        if directory.starts_with('/') {
            return Self::bounded(BTreeSet::from([
                directory.to_owned(),
                normalize_path(directory),
            ]));
        }
        match self {
            Self::Known(all) => {
                let entered = all.iter().map(|place| join_path(place, directory));
                let both = entered.flat_map(|path| [normalize_path(&path), path]);
                Self::bounded(both.collect())
            }
            Self::Unknown => Self::Unknown,
        }
    }

    /// Returns the possible paths of `path`, relative to the line's start directory, or `None` if
    /// that is unknown.
    pub(crate) fn resolve(&self, path: &str) -> Option<Vec<String>> {
        match self {
            _ if path.starts_with('/') => Some(vec![path.to_owned()]),
            Self::Known(all) => Some(all.iter().map(|place| join_path(place, path)).collect()),
            Self::Unknown => None,
        }
    }

    fn bounded(all: BTreeSet<String>) -> Self {
        if all.len() > PLACES_MAX { Self::Unknown } else { Self::Known(all) }
    }
}

fn join_path(place: &str, path: &str) -> String {
    match (place, path) {
        ("", path) => path.to_owned(),
        (place, ".") => place.to_owned(),
        (place, path) if place.ends_with('/') => format!("{place}{path}"),
        (place, path) => format!("{place}/{path}"),
    }
}

/// Returns whether a path is equal to another or below it; both must not contain `.` and `..`.
pub(crate) fn is_within(path: &str, directory: &str) -> bool {
    let is_here = directory.is_empty() && !path.starts_with('/');
    let rest = path.strip_prefix(directory);
    is_here
        || directory == "/" && path.starts_with('/')
        || !directory.is_empty()
            && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Removes `.` and `..` from a path by its text.
pub(crate) fn normalize_path(path: &str) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in path.split('/').filter(|name| !name.is_empty() && *name != ".") {
        match names.last() {
            Some(&last) if name == ".." && last != ".." => {
                names.pop();
            }
            None if name == ".." && path.starts_with('/') => {}
            _ => names.push(name),
        }
    }
    let text = names.join("/");
    if path.starts_with('/') { format!("/{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_followed_by_text_and_by_links() {
        let check = |steps: &[&str], path: &str, expect: &[&str]| {
            let places =
                steps.iter().fold(WorkingDirectories::start(), |places, step| places.enter(step));
            assert_eq!(places.resolve(path).unwrap_or_default(), expect, "{steps:?} {path}");
        };
        check(&[], "f", &["f"]);
        check(&["a"], "f", &["a/f"]);
        check(&["a", "b"], "../f", &["a/b/../f"]);
        check(&["a", ".."], "f", &["f", "a/../f"]);
        check(&[".."], "f", &["../f"]);
        check(&["/"], "f", &["/f"]);
        check(&["/a/.."], "f", &["/f", "/a/../f"]);
        check(&["a"], "/f", &["/f"]);
        check(&["."], "f", &["f", "./f"]);
        check(&["a"], ".", &["a"]);
    }

    #[test]
    fn too_many_directories_are_unknown() {
        let many = |count: usize| {
            let some =
                (0..count).map(|index| WorkingDirectories::start().enter(&index.to_string()));
            some.fold(WorkingDirectories::start(), WorkingDirectories::union)
        };
        assert!(many(PLACES_MAX - 1).resolve("f").is_some());
        assert_eq!(many(PLACES_MAX).resolve("f"), None);
        assert!(
            WorkingDirectories::Unknown.covers(&many(3))
                && !many(3).covers(&WorkingDirectories::Unknown)
        );
        assert!(many(3).covers(&many(2)) && !many(2).covers(&many(3)));
    }
}
