//! The pattern of a rule: one text, matched against a path, a command, a host or a name. It says whether and how
//! closely an access fits, never what should happen then. Texts that could silently mean something else than
//! they seem to (`~`, `..`, `\*`, `{a,b}`) are refused when they are compiled.

use std::path::Path;

use haft_contract::{Command, Variables};

use crate::access::{Canonical, PathSubject, Reach, Subject};
use crate::glob::Glob;
pub(crate) use command::CommandPattern;
pub(crate) use host::{HostPattern, normal_host};
pub(crate) use path::PathPattern;
pub(crate) use subcommand::GIT_OPTIONS_WITH_VALUE;

mod command;
mod host;
mod path;
mod subcommand;
#[cfg(test)]
mod tests;

/// A compiled pattern.
///
/// Empty, `*` and `**` match anything. Otherwise a text with `*`, `?` or `[…]` is a glob and must match the
/// whole subject; a text without matches the subject and what lies beyond a boundary: a path and what is beneath it, a
/// command and the same with more arguments. Hosts are exact, or `*.example.com` for what lies below.
///
/// A relative path pattern is matched from the workspace root that the path lies beneath, an absolute one from `/`;
/// `{workspace}`, `{ad-hoc}` and `{user-data}` may begin one. `*` stays within a name, `**` crosses directories.
/// In a command `*` matches anything, a space is the boundary between two arguments, and a last word `$` says that no
/// more arguments follow: `rm -r build $` is that command and no longer one.
#[derive(Clone, Debug)]
pub struct Pattern {
    forms: Forms,
}

/// How far a pattern is stretched.
///
/// Whatever the narrow reading matches, the wide one matches too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reading {
    /// For allow: only what the pattern says, and of a directory all of which is reached, all that is beneath. A space is a real boundary between arguments, and a program given by
    /// path is not the bare name.
    Narrow,
    /// For deny and ask: also what amounts to it. All beneath a directory that matches, a program whose file
    /// name matches, arguments that hold spaces, a subcommand behind options of its program.
    Wide,
}

/// What a pattern is meant for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Domain {
    /// Paths only.
    Path,
    /// Commands only.
    Command,
    /// Hosts only.
    Host,
    /// Anything; a text that is no host is then not matched against hosts.
    Any,
}

/// Says why a text is no pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("pattern {pattern:?} cannot be used: {fault}")]
pub struct PatternError {
    /// The text.
    pub pattern: String,
    /// What is wrong with it.
    pub fault: Fault,
}

/// What is wrong with a pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say it")]
pub enum Fault {
    #[error(
        "it names the unknown variable {{{0}}}: expected {{workspace}}, {{ad-hoc}} or {{user-data}}"
    )]
    UnknownVariable(String),
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
    #[error("expected a host such as example.com, *.example.com for all below it, or *")]
    Host,
}

/// How an access fits a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    No,
    /// The access is a command that is not known, or reaches all beneath a directory, and the pattern may match something
    /// in it.
    Perhaps,
    /// It matches, and so many bytes of it are spelled out by the pattern.
    Yes(usize),
}

#[derive(Clone, Debug)]
enum Forms {
    Everything,
    Each {
        path: Option<PathPattern>,
        command: Option<CommandPattern>,
        host: Option<HostPattern>,
        name: Option<Glob>,
    },
}

impl Pattern {
    /// Compiles `text`.
    ///
    /// For [`Domain::Any`] the text has to be good as a path, since a rule about paths that silently matched none would
    /// be worse than an error.
    pub fn compile(
        text: &str,
        domain: Domain,
        variables: &Variables,
    ) -> Result<Self, PatternError> {
        Self::compile_forms(text, domain, variables)
            .map(|forms| Self { forms })
            .map_err(|fault| PatternError { pattern: text.to_owned(), fault })
    }

    /// Returns whether the access matches for certain.
    pub fn matches(&self, access: &Canonical, reading: Reading) -> bool {
        matches!(self.fit(access.subject(), reading), Fit::Yes(_))
    }

    fn compile_forms(text: &str, domain: Domain, variables: &Variables) -> Result<Forms, Fault> {
        if matches!(text, "" | "*" | "**") {
            return Ok(Forms::Everything);
        }
        let is_for = |one: Domain| domain == one || domain == Domain::Any;
        let path =
            is_for(Domain::Path).then(|| PathPattern::compile(text, variables)).transpose()?;
        let command = is_for(Domain::Command).then(|| CommandPattern::compile(text)).transpose()?;
        let host = match domain {
            Domain::Host => Some(HostPattern::compile(text)?),
            Domain::Any => HostPattern::compile(text).ok(),
            Domain::Path | Domain::Command => None,
        };
        let name = (domain == Domain::Any).then(|| Glob::parse(text)).transpose()?;
        let is_any_command = command.as_ref().is_some_and(CommandPattern::is_everything);
        Ok(match domain {
            Domain::Command if is_any_command => Forms::Everything,
            _ => Forms::Each { path, command, host, name },
        })
    }

    pub(crate) fn fit(&self, subject: Subject<'_>, reading: Reading) -> Fit {
        let Forms::Each { path, command, host, name } = &self.forms else { return Fit::Yes(0) };
        let literal_bytes = match subject {
            Subject::Path(subject) => {
                return path.as_ref().map_or(Fit::No, |path| fit_path(path, subject, reading));
            }
            Subject::Command(Command::Argv(argv)) => {
                command.as_ref().and_then(|command| command.fit(argv, reading))
            }
            Subject::Command(Command::Unknown(_)) => {
                let may_hold = command.is_some() && reading == Reading::Wide;
                return if may_hold { Fit::Perhaps } else { Fit::No };
            }
            Subject::Host(subject) => host.as_ref().and_then(|host| host.fit(subject)),
            Subject::Name(subject) => name
                .as_ref()
                .filter(|name| name.matches(subject.as_bytes()))
                .map(|name| name.literal_prefix().len()),
            Subject::Nothing => None,
        };
        literal_bytes.map_or(Fit::No, Fit::Yes)
    }

    /// Returns whether the pattern matches anything, because it picks nothing.
    pub(crate) fn is_everything(&self) -> bool {
        matches!(self.forms, Forms::Everything)
    }

    /// Returns whether the pattern can match a host.
    pub(crate) fn is_about_hosts(&self) -> bool {
        match &self.forms {
            Forms::Everything => true,
            Forms::Each { host, .. } => host.is_some(),
        }
    }

    /// Returns whether the pattern spells this very host rather than a domain above it.
    pub(crate) fn spells_host(&self, name: &str) -> bool {
        match &self.forms {
            Forms::Each { host: Some(host), .. } => host.spells(name),
            Forms::Each { host: None, .. } | Forms::Everything => false,
        }
    }

    /// Returns whether the pattern stands on a variable that is empty, so that it can match no path.
    pub(crate) fn is_void(&self) -> bool {
        match &self.forms {
            Forms::Each { path: Some(path), .. } => path.is_void(),
            Forms::Each { path: None, .. } | Forms::Everything => false,
        }
    }
}

fn fit_path(pattern: &PathPattern, path: &PathSubject, reading: Reading) -> Fit {
    let may_match = || match (reading, path.reach) {
        (Reading::Wide, Reach::Tree) => pattern.may_fit_beneath(path),
        (Reading::Wide, Reach::Place) | (Reading::Narrow, Reach::Place | Reach::Tree) => false,
    };
    match pattern.fit(path, reading) {
        Some(spelled_bytes) => Fit::Yes(spelled_bytes),
        None if may_match() => Fit::Perhaps,
        None => Fit::No,
    }
}

/// Returns a pattern that matches `text` literally, as one word of a command or one name of a path.
///
/// ```
/// assert_eq!(haft_policy::escape("a b[1].*"), "a[ ]b[[]1].[*]");
/// ```
pub fn escape(text: &str) -> String {
    // As the last word of a command it would be the end.
    if text == "$" {
        return "[$]".to_owned();
    }
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        if matches!(char, '*' | '?' | '[' | '\\' | '{' | '~') || char.is_whitespace() {
            escaped.extend(['[', char, ']']);
        } else {
            escaped.push(char);
        }
    }
    escaped
}

/// Returns a pattern that matches `path` and what lies beneath it.
///
/// Bytes that are not UTF-8 cannot be spelled: each becomes a `?`, and the pattern matches that one path alone.
pub fn escape_path(path: &Path) -> String {
    let chunks = path.as_os_str().as_encoded_bytes().utf8_chunks();
    let pattern: String = chunks.fold(String::new(), |mut pattern, chunk| {
        // A space is an ordinary character of a path; only the glob's own signs need brackets.
        let plain = chunk.valid().split(' ').map(escape).collect::<Vec<_>>().join(" ");
        pattern.push_str(&plain);
        pattern.extend(chunk.invalid().iter().map(|_| '?'));
        pattern
    });
    match pattern.trim() {
        "" if pattern.is_empty() => ".".to_owned(),
        "" => escape(&pattern),
        _ => pattern,
    }
}
