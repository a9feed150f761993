//! One pattern of protected names, and the step from a directory to a name in it that all matching is made of: who walks
//! a tree and who asks about a path take the same steps. It deliberately knows neither which names are protected nor
//! where files are.

use super::error::ProtectedNameError;
use super::fold::fold;

/// How many names a pattern may have.
pub(crate) const COMPONENTS_MAX: usize = 32;

/// A run of names that ends at what is protected.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Pattern {
    text: String,
    components: Vec<Component>,
    extent: Extent,
}

/// How far protection goes where a pattern has matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Extent {
    /// The name, and everything beneath it.
    Tree,
    /// The name alone: what is beneath a directory of that name is not concerned.
    Name,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Component {
    /// Exactly this folded name.
    Literal(Vec<u8>),
    /// A folded name in which `*` stands for any bytes.
    Glob(Vec<u8>),
    /// Any number of names.
    AnyDepth,
}

impl Pattern {
    pub(super) fn parse(text: &str) -> Result<Pattern, ProtectedNameError> {
        let pattern = || text.to_owned();
        let (names, extent) = match text.strip_suffix("/.") {
            Some(names) => (names, Extent::Name),
            None => (text, Extent::Tree),
        };
        let mut names: Vec<&str> = names.split('/').collect();
        // A run matches at any depth, and protects what is beneath, without being told so.
        while names.first() == Some(&"**") {
            names.remove(0);
        }
        while extent == Extent::Tree && names.last() == Some(&"**") {
            names.pop();
        }
        if names.iter().all(|name| name.is_empty()) {
            return Err(ProtectedNameError::Empty { pattern: pattern() });
        }
        if names.len() > COMPONENTS_MAX {
            let (found, max) = (names.len(), COMPONENTS_MAX);
            return Err(ProtectedNameError::TooLong { pattern: pattern(), found, max });
        }
        let components: Vec<Component> =
            names.iter().map(|name| component(text, name)).collect::<Result<_, _>>()?;
        match components.first() {
            Some(Component::Glob(glob)) if glob.iter().all(|byte| *byte == b'*') => {
                Err(ProtectedNameError::Unanchored { pattern: pattern() })
            }
            Some(_) | None => Ok(Pattern { text: pattern(), components, extent }),
        }
    }

    /// Returns the pattern as it was given.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns whether both protect the same, however they are written.
    pub(super) fn is_same(&self, other: &Pattern) -> bool {
        self.components == other.components && self.extent == other.extent
    }

    pub(super) fn extent(&self) -> Extent {
        self.extent
    }

    /// Tells whether a folded name can begin the run.
    pub(super) fn begins_with(&self, folded: &[u8]) -> bool {
        self.components.first().is_some_and(|component| component.matches(folded))
    }

    /// Goes from having matched `position` components to having matched one name more, and reports each position that is
    /// reached; the number of components means that the run is complete.
    fn step(&self, position: usize, folded: &[u8], mut reached: impl FnMut(usize)) {
        let mut position = position;
        while let Some(component) = self.components.get(position) {
            if *component == Component::AnyDepth {
                reached(position);
            } else {
                if component.matches(folded) {
                    reached(position + 1);
                }
                return;
            }
            position += 1;
        }
    }
}

fn component(pattern: &str, name: &str) -> Result<Component, ProtectedNameError> {
    if matches!(name, "" | "." | "..") {
        let (pattern, component) = (pattern.to_owned(), name.to_owned());
        return Err(ProtectedNameError::Component { pattern, component });
    }
    if name == "**" {
        return Ok(Component::AnyDepth);
    }
    if name.contains("**") {
        return Err(ProtectedNameError::PartialDepth { pattern: pattern.to_owned() });
    }
    let folded = fold(name.as_bytes());
    if folded.is_empty() {
        return Err(ProtectedNameError::Empty { pattern: pattern.to_owned() });
    }
    Ok(if name.contains('*') { Component::Glob(folded) } else { Component::Literal(folded) })
}

impl Component {
    fn matches(&self, folded: &[u8]) -> bool {
        match self {
            Component::Literal(name) => name == folded,
            Component::Glob(glob) => glob_matches(glob, folded),
            Component::AnyDepth => true,
        }
    }
}

/// Matches a name against a glob whose only special character is `*`, in time that is at most their product.
fn glob_matches(glob: &[u8], name: &[u8]) -> bool {
    let mut pieces = glob.split(|byte| *byte == b'*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut pieces: Vec<&[u8]> = pieces.collect();
    let Some(last) = pieces.pop() else { return rest.is_empty() };
    for piece in pieces.into_iter().filter(|piece| !piece.is_empty()) {
        // The earliest place is as good as any: what follows can only have more to choose from.
        let found = rest.windows(piece.len()).position(|window| window == piece);
        let Some(after) = found.and_then(|at| rest.get(at + piece.len()..)) else { return false };
        rest = after;
    }
    rest.ends_with(last)
}

/// The runs that have begun at a directory: which pattern, and how many of its components are matched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Runs {
    open: Vec<(usize, usize)>,
}

/// What taking one name leads to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Taken {
    /// The runs that go on beneath the name.
    pub(super) runs: Runs,
    /// The pattern whose run ends at the name; of several, one that protects the whole tree.
    pub(super) complete: Option<usize>,
    /// Whether the run that ends here has a name before this one, which must stay what it is.
    pub(super) has_parent: bool,
}

impl Runs {
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Returns a pattern whose run has begun.
    pub(super) fn first(&self) -> Option<usize> {
        self.open.first().map(|(index, _)| *index)
    }

    /// Adds the runs of `other`.
    pub(super) fn join(&mut self, other: &Runs) {
        for run in &other.open {
            if !self.open.contains(run) {
                self.open.push(*run);
            }
        }
    }

    /// Takes one folded name, which can continue each run and begin new ones.
    pub(super) fn take(&self, patterns: &[Pattern], folded: &[u8]) -> Taken {
        let mut taken = Taken::default();
        for (index, position) in &self.open {
            if let Some(pattern) = patterns.get(*index) {
                pattern.step(*position, folded, |reached| {
                    taken.reach(patterns, *index, reached);
                });
            }
        }
        for (index, pattern) in patterns.iter().enumerate() {
            pattern.step(0, folded, |reached| taken.reach(patterns, index, reached));
        }
        taken
    }
}

impl Taken {
    fn reach(&mut self, patterns: &[Pattern], index: usize, position: usize) {
        let Some(pattern) = patterns.get(index) else { return };
        if position < pattern.components.len() {
            if !self.runs.open.contains(&(index, position)) {
                self.runs.open.push((index, position));
            }
            return;
        }
        let is_tree =
            |index: usize| patterns.get(index).is_some_and(|it| it.extent == Extent::Tree);
        self.has_parent |= pattern.components.len() > 1;
        if self.complete.is_none_or(|before| !is_tree(before) && is_tree(index)) {
            self.complete = Some(index);
        }
    }
}
