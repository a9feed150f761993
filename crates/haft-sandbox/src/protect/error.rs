//! Errors of protected-path patterns. The checks are elsewhere.

/// A pattern of protected paths is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProtectedPathError {
    /// The pattern contains no name.
    #[error(
        "protected name {pattern:?} contains no name; write one such as \".envrc\" or \"deploy/**\""
    )]
    Empty {
        /// The pattern as it was given.
        pattern: String,
    },
    /// It is absolute, or a component is empty, `.` or `..`.
    #[error(
        "protected name {pattern:?} has the component {component:?}; write names separated by single slashes, \
         which match at any depth"
    )]
    Component {
        /// The pattern as it was given.
        pattern: String,
        /// The component that is not a name.
        component: String,
    },
    /// The first name of the pattern matches everything.
    #[error(
        "protected name {pattern:?} begins with a component that matches every name; begin with a name of which \
         at least one character is fixed"
    )]
    Unanchored {
        /// The pattern as it was given.
        pattern: String,
    },
    /// `**` is only a part of a name.
    #[error(
        "protected name {pattern:?} has ** inside of a name; let it stand alone between slashes"
    )]
    PartialDepth {
        /// The pattern as it was given.
        pattern: String,
    },
    /// The pattern is too long.
    #[error("protected name {pattern:?} has {found} names, at most {max} are possible")]
    TooLong {
        /// The pattern as it was given.
        pattern: String,
        /// The number of its names.
        found: usize,
        /// The maximum number of names.
        max: usize,
    },
    /// A pattern that should be removed is not in the set.
    #[error(
        "{pattern:?} is not among the protected names, so it cannot be removed; they are: {known}"
    )]
    Unknown {
        /// The pattern as it was given.
        pattern: String,
        /// The patterns in the set.
        known: String,
    },
}
