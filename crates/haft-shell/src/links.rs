//! The links that a line creates. If a line creates a link and then uses it by name, the use refers
//! to another file than its name says, so the line is unknown. Existing links are left to callers
//! that can read the file system.

use crate::directories;

/// The links of a line, and the names that it uses.
#[derive(Default)]
pub(crate) struct LinkUses {
    created: Vec<NamedPath>,
    used: Vec<NamedPath>,
}

struct NamedPath {
    path: String,
    /// The command that uses the name; empty for a redirection.
    command: String,
}

impl LinkUses {
    pub(crate) fn add_link(&mut self, path: &str, command: &str) {
        // A link created in the place of another may be created behind that one.
        self.add_use(path, command);
        self.created.push(NamedPath::new(path, command));
    }

    pub(crate) fn add_use(&mut self, path: &str, command: &str) {
        self.used.push(NamedPath::new(path, command));
    }

    /// Returns the number of entries.
    pub(crate) fn len(&self) -> usize {
        self.created.len() + self.used.len()
    }

    /// Returns a path that may lead through a link that another command of the line creates.
    pub(crate) fn crossed_link(&self) -> Option<&str> {
        let crosses = |used: &&NamedPath| {
            self.created.iter().any(|made| {
                made.command != used.command && directories::is_within(&used.path, &made.path)
            })
        };
        self.used.iter().find(crosses).map(|used| used.path.as_str())
    }
}

impl NamedPath {
    fn new(path: &str, command: &str) -> Self {
        Self { path: directories::normalize_path(path), command: command.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_linked_is_not_used_by_others() {
        let check = |made: &str, used: &str, expect: Option<&str>| {
            let mut links = LinkUses::default();
            links.add_link(made, "ln");
            links.add_use("source", "ln");
            links.add_use(used, "");
            assert_eq!(links.crossed_link(), expect, "{made} {used}");
        };
        check("a", "b", None);
        check("a", "a", Some("a"));
        check("a", "./a/b", Some("a/b"));
        check("a", "ab", None);
        check("", "a", Some("a"));
        check("/a", "a", None);
    }
}
