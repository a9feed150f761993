//! One pattern of protected paths, and the matching step from a directory to a name in it. Tree
//! walks and path queries use the same step. The module knows neither the protected names nor the
//! file system.

use super::error::ProtectedPathError;
use super::fold::fold;

/// Maximum number of names in a pattern.
pub(crate) const COMPONENTS_MAX: usize = 32;

/// A run of names that ends at a protected path.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct ProtectedPattern {
    text: String,
    components: Vec<PatternComponent>,
    extent: ProtectionExtent,
}

/// The extent of the protection at a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ProtectionExtent {
    /// The name, and everything below it.
    Tree,
    /// The name alone; the contents of a directory with that name are not protected.
    Name,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum PatternComponent {
    /// Exactly this folded name.
    Literal(Vec<u8>),
    /// A folded name in which `*` matches any bytes.
    Glob(Vec<u8>),
    /// Any number of names.
    AnyDepth,
}

impl ProtectedPattern {
    pub(super) fn parse(text: &str) -> Result<ProtectedPattern, ProtectedPathError> {
        let pattern = || text.to_owned();
        let (names, extent) = match text.strip_suffix("/.") {
            Some(names) => (names, ProtectionExtent::Name),
            None => (text, ProtectionExtent::Tree),
        };
        let mut names: Vec<&str> = names.split('/').collect();
        // Leading and trailing `**` are redundant: a run matches at any depth and protects
        // everything below.
        while names.first() == Some(&"**") {
            names.remove(0);
        }
        while extent == ProtectionExtent::Tree && names.last() == Some(&"**") {
            names.pop();
        }
        if names.iter().all(|name| name.is_empty()) {
            return Err(ProtectedPathError::Empty { pattern: pattern() });
        }
        if names.len() > COMPONENTS_MAX {
            let (found, max) = (names.len(), COMPONENTS_MAX);
            return Err(ProtectedPathError::TooLong { pattern: pattern(), found, max });
        }
        let components: Vec<PatternComponent> =
            names.iter().map(|name| component(text, name)).collect::<Result<_, _>>()?;
        match components.first() {
            Some(PatternComponent::Glob(glob)) if glob.iter().all(|byte| *byte == b'*') => {
                Err(ProtectedPathError::Unanchored { pattern: pattern() })
            }
            Some(_) | None => Ok(ProtectedPattern { text: pattern(), components, extent }),
        }
    }

    /// Returns the pattern as it was given.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns whether both patterns protect the same paths, however they are written.
    pub(super) fn is_same(&self, other: &ProtectedPattern) -> bool {
        self.components == other.components && self.extent == other.extent
    }

    pub(super) fn extent(&self) -> ProtectionExtent {
        self.extent
    }

    /// Returns whether a folded name can begin the run.
    pub(super) fn begins_with(&self, folded: &[u8]) -> bool {
        self.components.first().is_some_and(|component| component.matches(folded))
    }

    /// Advances by one name from `position` matched components, and calls `reached` with each
    /// resulting position. A position equal to the number of components means that the run is
    /// complete.
    fn step(&self, position: usize, folded: &[u8], mut reached: impl FnMut(usize)) {
        let mut position = position;
        while let Some(component) = self.components.get(position) {
            if *component == PatternComponent::AnyDepth {
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

fn component(pattern: &str, name: &str) -> Result<PatternComponent, ProtectedPathError> {
    if matches!(name, "" | "." | "..") {
        let (pattern, component) = (pattern.to_owned(), name.to_owned());
        return Err(ProtectedPathError::Component { pattern, component });
    }
    if name == "**" {
        return Ok(PatternComponent::AnyDepth);
    }
    if name.contains("**") {
        return Err(ProtectedPathError::PartialDepth { pattern: pattern.to_owned() });
    }
    let folded = fold(name.as_bytes());
    if folded.is_empty() {
        return Err(ProtectedPathError::Empty { pattern: pattern.to_owned() });
    }
    Ok(if name.contains('*') {
        PatternComponent::Glob(folded)
    } else {
        PatternComponent::Literal(folded)
    })
}

impl PatternComponent {
    fn matches(&self, folded: &[u8]) -> bool {
        match self {
            PatternComponent::Literal(name) => name == folded,
            PatternComponent::AnyDepth => true,
            // Takes time proportional to the product of the lengths at most.
            PatternComponent::Glob(glob) => {
                let mut pieces = glob.split(|byte| *byte == b'*');
                let first = pieces.next().unwrap_or_default();
                let Some(mut rest) = folded.strip_prefix(first) else { return false };
                let mut pieces: Vec<&[u8]> = pieces.collect();
                let Some(last) = pieces.pop() else { return rest.is_empty() };
                for piece in pieces.into_iter().filter(|piece| !piece.is_empty()) {
                    // The earliest match is as good as any other: it leaves the most text for the
                    // following pieces.
                    let found = rest.windows(piece.len()).position(|window| window == piece);
                    let Some(after) = found.and_then(|at| rest.get(at + piece.len()..)) else {
                        return false;
                    };
                    rest = after;
                }
                rest.ends_with(last)
            }
        }
    }
}

/// The runs that have begun at a directory: each pattern, with the number of its matched
/// components.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PartialMatches {
    open: Vec<(usize, usize)>,
}

/// The result of matching one name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PatternStep {
    /// The runs that continue below the name.
    pub(super) partial_matches: PartialMatches,
    /// The pattern whose run ends at the name. If several do, one that protects the whole tree.
    pub(super) complete: Option<usize>,
    /// Whether the completed run has a name before this one; that name must not be replaced.
    pub(super) has_parent: bool,
}

impl PartialMatches {
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Returns one of the patterns whose run has begun.
    pub(super) fn first_pattern(&self) -> Option<usize> {
        self.open.first().map(|(index, _)| *index)
    }

    /// Adds the runs of `other`.
    pub(super) fn merge_matches(&mut self, other: &PartialMatches) {
        for run in &other.open {
            if !self.open.contains(run) {
                self.open.push(*run);
            }
        }
    }

    /// Matches one folded name, which can continue each run and begin new ones.
    pub(super) fn step_name(&self, patterns: &[ProtectedPattern], folded: &[u8]) -> PatternStep {
        let mut taken = PatternStep::default();
        for (index, position) in &self.open {
            if let Some(pattern) = patterns.get(*index) {
                pattern.step(*position, folded, |reached| {
                    taken.add_position(patterns, *index, reached);
                });
            }
        }
        for (index, pattern) in patterns.iter().enumerate() {
            pattern.step(0, folded, |reached| taken.add_position(patterns, index, reached));
        }
        taken
    }
}

impl PatternStep {
    fn add_position(&mut self, patterns: &[ProtectedPattern], index: usize, position: usize) {
        let Some(pattern) = patterns.get(index) else { return };
        if position < pattern.components.len() {
            if !self.partial_matches.open.contains(&(index, position)) {
                self.partial_matches.open.push((index, position));
            }
            return;
        }
        let is_tree = |index: usize| {
            patterns.get(index).is_some_and(|it| it.extent == ProtectionExtent::Tree)
        };
        self.has_parent |= pattern.components.len() > 1;
        if self.complete.is_none_or(|before| !is_tree(before) && is_tree(index)) {
            self.complete = Some(index);
        }
    }
}
