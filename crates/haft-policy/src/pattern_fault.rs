//! Says what is wrong with the text of a pattern.

use haft_contract::UnknownVariable;

/// A mistake in the text of a pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say it")]
pub enum PatternFault {
    #[error("{}", UnknownVariable::describe(.0))]
    UnknownVariable(String),
    #[error("hosts take no variables, and it begins with {{{0}}}: write the host itself")]
    HostVariable(String),
    #[error("after a variable comes / or nothing")]
    AfterVariable,
    #[error("its variable stands for {0:?}: expected an absolute path without ..")]
    VariableValue(std::path::PathBuf),
    #[error("~ is not expanded: write an absolute path, or [~] for a name that begins so")]
    Home,
    #[error(
        "paths are resolved before they are judged, so .. never matches: write the path itself"
    )]
    ParentDirectory,
    #[error("** stands alone between slashes: write **/*.rs for all files of that kind")]
    StarsInName,
    #[error("braces list no alternatives: write one rule for each, or [{{] for a brace")]
    Alternatives,
    #[error("a backslash escapes nothing: write [*] for a star and [\\] for a backslash")]
    Backslash,
    #[error("a [ is not closed: write [[] for a bracket")]
    OpenBracket,
    #[error("the range {first}-{last} is empty")]
    EmptyRange { first: char, last: char },
    #[error("it holds a NUL, which no path and no argument can")]
    NulByte,
    #[error("it is blank: write * for anything")]
    Blank,
    #[error(
        "expected a host such as example.com, *.example.com for all below it, a range such as 10.0.0.0/8, or *"
    )]
    Host,
}
