//! Why a pattern of protected names is refused. Nothing here decides it.

/// Why a pattern of protected names is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProtectedNameError {
    /// There is no name in it.
    #[error(
        "protected name {pattern:?} holds no name; write one such as \".envrc\" or \"deploy/**\""
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
        /// What is not a name.
        component: String,
    },
    /// Its first name matches everything.
    #[error(
        "protected name {pattern:?} begins with a component that matches every name; begin with a name of which \
         at least one character is fixed"
    )]
    Unanchored {
        /// The pattern as it was given.
        pattern: String,
    },
    /// `**` stands for a part of a name.
    #[error(
        "protected name {pattern:?} has ** inside of a name; let it stand alone between slashes"
    )]
    PartialDepth {
        /// The pattern as it was given.
        pattern: String,
    },
    /// It is too long.
    #[error("protected name {pattern:?} has {found} names, at most {max} are possible")]
    TooLong {
        /// The pattern as it was given.
        pattern: String,
        /// How many names it has.
        found: usize,
        /// How many are possible.
        max: usize,
    },
    /// What should no longer be protected is not protected.
    #[error(
        "{pattern:?} is not among the protected names, so it cannot be taken out; they are: {known}"
    )]
    Unknown {
        /// The pattern as it was given.
        pattern: String,
        /// The patterns there are.
        known: String,
    },
}
