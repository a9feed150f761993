//! The directories in which a command may run, relative to where the line starts. `cd` may fail, so there can be
//! several; and a directory that is not literal is not known at all.

use std::collections::BTreeSet;

/// More than this many possibilities count as none known.
pub const PLACES_MAX: usize = 8;

/// Where a command may run. The empty path is where the line starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Places {
    Known(BTreeSet<String>),
    Unknown,
}

impl Places {
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

    /// Returns where `cd directory` leads. The shell takes `..` back by text and the kernel by links, and which of them
    /// holds depends on the file system, so both are possible.
    pub(crate) fn enter(&self, directory: &str) -> Self {
        if directory.starts_with('/') {
            return Self::bounded(BTreeSet::from([directory.to_owned(), by_text(directory)]));
        }
        match self {
            Self::Known(all) => {
                let entered = all.iter().map(|place| joined(place, directory));
                let both = entered.flat_map(|path| [by_text(&path), path]);
                Self::bounded(both.collect())
            }
            Self::Unknown => Self::Unknown,
        }
    }

    /// Returns what `path` may be, relative to where the line starts, or `None` if that is not known.
    pub(crate) fn resolve(&self, path: &str) -> Option<Vec<String>> {
        match self {
            _ if path.starts_with('/') => Some(vec![path.to_owned()]),
            Self::Known(all) => Some(all.iter().map(|place| joined(place, path)).collect()),
            Self::Unknown => None,
        }
    }

    fn bounded(all: BTreeSet<String>) -> Self {
        if all.len() > PLACES_MAX { Self::Unknown } else { Self::Known(all) }
    }
}

fn joined(place: &str, path: &str) -> String {
    match (place, path) {
        ("", path) => path.to_owned(),
        (place, ".") => place.to_owned(),
        (place, path) if place.ends_with('/') => format!("{place}{path}"),
        (place, path) => format!("{place}/{path}"),
    }
}

/// Returns whether a path is another or lies beneath it; both are without `.` and `..`.
pub(crate) fn is_beneath(path: &str, directory: &str) -> bool {
    let is_here = directory.is_empty() && !path.starts_with('/');
    let rest = path.strip_prefix(directory);
    is_here
        || directory == "/" && path.starts_with('/')
        || !directory.is_empty()
            && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Takes `.` and `..` out of a path by its text.
pub(crate) fn by_text(path: &str) -> String {
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
            let places = steps.iter().fold(Places::start(), |places, step| places.enter(step));
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
            let some = (0..count).map(|index| Places::start().enter(&index.to_string()));
            some.fold(Places::start(), Places::union)
        };
        assert!(many(PLACES_MAX - 1).resolve("f").is_some());
        assert_eq!(many(PLACES_MAX).resolve("f"), None);
        assert!(Places::Unknown.covers(&many(3)) && !many(3).covers(&Places::Unknown));
        assert!(many(3).covers(&many(2)) && !many(2).covers(&many(3)));
    }
}
