//! The links that a line makes. What is used by a name that was linked before is another file than its name says, so a
//! line that does both is not known. Links that exist before are for those to follow who can look at files.

use crate::places;

/// What is linked, and what is used by name.
#[derive(Default)]
pub(crate) struct Links {
    made: Vec<Named>,
    used: Vec<Named>,
}

struct Named {
    path: String,
    /// The command that names it; empty for a redirection.
    command: String,
}

impl Links {
    pub(crate) fn make(&mut self, path: &str, command: &str) {
        // Making a link where another was made may land behind that one.
        self.note_use(path, command);
        self.made.push(Named::new(path, command));
    }

    pub(crate) fn note_use(&mut self, path: &str, command: &str) {
        self.used.push(Named::new(path, command));
    }

    /// Returns how much is kept here.
    pub(crate) fn len(&self) -> usize {
        self.made.len() + self.used.len()
    }

    /// Returns a path that may lead through a link that another command of the line makes.
    pub(crate) fn crossed(&self) -> Option<&str> {
        let crosses = |used: &&Named| {
            self.made.iter().any(|made| {
                made.command != used.command && places::is_beneath(&used.path, &made.path)
            })
        };
        self.used.iter().find(crosses).map(|used| used.path.as_str())
    }
}

impl Named {
    fn new(path: &str, command: &str) -> Self {
        Self { path: places::by_text(path), command: command.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_linked_is_not_used_by_others() {
        let check = |made: &str, used: &str, expect: Option<&str>| {
            let mut links = Links::default();
            links.make(made, "ln");
            links.note_use("source", "ln");
            links.note_use(used, "");
            assert_eq!(links.crossed(), expect, "{made} {used}");
        };
        check("a", "b", None);
        check("a", "a", Some("a"));
        check("a", "./a/b", Some("a/b"));
        check("a", "ab", None);
        check("", "a", Some("a"));
        check("/a", "a", None);
    }
}
