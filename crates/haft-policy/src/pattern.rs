//! The pattern of a rule: one text, matched against a path, a command, a host or a name. It says whether and how
//! closely an access fits, never what should happen then. Texts that could silently mean something else than
//! they seem to (`~`, `..`, `\*`, `{a,b}`) are refused when they are compiled.

use std::path::Path;

use haft_contract::{CommandLine, PatternVariables};

use crate::access::{MatchSubject, PathReach, ResolvedAccess};
use crate::glob::Glob;
use crate::pattern_fault::PatternFault;
pub(crate) use command::CommandPattern;
pub(crate) use host::{HostPattern, normal_host};
pub(crate) use path::{LastName, PathPattern};
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
pub struct RulePattern {
    forms: CompiledForms,
}

/// How far a pattern is stretched.
///
/// Whatever the narrow reading matches, the wide one matches too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MatchWidth {
    /// For allow: only what the pattern says. If a whole directory is reached, the pattern must cover everything beneath it.
    /// A space is a real boundary between arguments, and a program given by path is not the bare name.
    Narrow,
    /// For deny and ask: also what amounts to it. All beneath a directory that matches, a program whose file
    /// name matches, arguments that hold spaces, a subcommand behind options of its program.
    Wide,
}

/// The kind of accesses that a pattern is meant for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PatternDomain {
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
    /// The mistake in it.
    pub fault: PatternFault,
}

/// How an access fits a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PatternFit {
    No,
    /// The access is a command that is not known as far as the pattern names it, or reaches all beneath a directory, and the pattern may match something
    /// in it.
    Possible,
    /// It matches, and so many bytes of it are spelled out by the pattern.
    Yes(usize),
}

#[derive(Clone, Debug)]
enum CompiledForms {
    Everything,
    Each {
        path: Option<PathPattern>,
        command: Option<CommandPattern>,
        host: Option<HostPattern>,
        name: Option<Glob>,
    },
}

impl RulePattern {
    /// Compiles `text`.
    ///
    /// For [`PatternDomain::Any`] the text has to be good as a path, since a rule about paths that silently matched none would
    /// be worse than an error.
    pub fn compile(
        text: &str,
        domain: PatternDomain,
        variables: &PatternVariables,
    ) -> Result<Self, PatternError> {
        Self::compile_forms(text, domain, variables)
            .map(|forms| Self { forms })
            .map_err(|fault| PatternError { pattern: text.to_owned(), fault })
    }

    /// Returns whether the access matches for certain.
    pub fn matches(&self, access: &ResolvedAccess, reading: MatchWidth) -> bool {
        matches!(self.fit(access.subject(), reading), PatternFit::Yes(_))
    }

    fn compile_forms(
        text: &str,
        domain: PatternDomain,
        variables: &PatternVariables,
    ) -> Result<CompiledForms, PatternFault> {
        if matches!(text, "" | "*" | "**") {
            return Ok(CompiledForms::Everything);
        }
        let is_for = |one: PatternDomain| domain == one || domain == PatternDomain::Any;
        let path = is_for(PatternDomain::Path)
            .then(|| PathPattern::compile(text, variables))
            .transpose()?;
        let command =
            is_for(PatternDomain::Command).then(|| CommandPattern::compile(text)).transpose()?;
        let host = match domain {
            PatternDomain::Host => Some(HostPattern::compile(text)?),
            PatternDomain::Any => HostPattern::compile(text).ok(),
            PatternDomain::Path | PatternDomain::Command => None,
        };
        let name = (domain == PatternDomain::Any).then(|| Glob::parse(text)).transpose()?;
        let is_any_command = command.as_ref().is_some_and(CommandPattern::is_everything);
        Ok(match domain {
            PatternDomain::Command if is_any_command => CompiledForms::Everything,
            _ => CompiledForms::Each { path, command, host, name },
        })
    }

    pub(crate) fn fit(&self, subject: MatchSubject<'_>, reading: MatchWidth) -> PatternFit {
        let CompiledForms::Each { path, command, host, name } = &self.forms else {
            return PatternFit::Yes(0);
        };
        let literal_bytes = match subject {
            MatchSubject::Path(subject) => {
                let Some(pattern) = path else { return PatternFit::No };
                let may_match = || match (reading, subject.reach) {
                    (MatchWidth::Wide, PathReach::Tree) => pattern.may_fit_beneath(subject),
                    (MatchWidth::Wide, PathReach::PathOnly)
                    | (MatchWidth::Narrow, PathReach::PathOnly | PathReach::Tree) => false,
                };
                return match pattern.fit(subject, reading) {
                    Some(spelled_bytes) => PatternFit::Yes(spelled_bytes),
                    None if may_match() => PatternFit::Possible,
                    None => PatternFit::No,
                };
            }
            MatchSubject::Command(CommandLine::Argv(argv)) => {
                command.as_ref().and_then(|command| command.fit(argv, reading))
            }
            MatchSubject::Command(CommandLine::Partial(words)) => {
                // An allow says nothing about a command that is not wholly known.
                let command = command.as_ref().filter(|_| reading == MatchWidth::Wide);
                return command.map_or(PatternFit::No, |command| command.fit_partial(words));
            }
            MatchSubject::Command(CommandLine::Unknown(_)) => {
                let may_hold = command.is_some() && reading == MatchWidth::Wide;
                return if may_hold { PatternFit::Possible } else { PatternFit::No };
            }
            MatchSubject::Host(subject) => host.as_ref().and_then(|host| host.fit(subject)),
            MatchSubject::Name(subject) => name
                .as_ref()
                .filter(|name| name.matches(subject.as_bytes()))
                .map(|name| name.literal_prefix().len()),
            MatchSubject::Nothing => None,
        };
        literal_bytes.map_or(PatternFit::No, PatternFit::Yes)
    }

    /// Returns the pattern as one of paths; `None` if it matches anything or no path.
    pub(crate) fn as_path(&self) -> Option<&PathPattern> {
        match &self.forms {
            CompiledForms::Each { path, .. } => path.as_ref(),
            CompiledForms::Everything => None,
        }
    }

    /// Returns whether the pattern matches anything, because it picks nothing.
    pub(crate) fn is_everything(&self) -> bool {
        matches!(self.forms, CompiledForms::Everything)
    }

    /// Returns whether the pattern can match a host.
    pub(crate) fn is_about_hosts(&self) -> bool {
        match &self.forms {
            CompiledForms::Everything => true,
            CompiledForms::Each { host, .. } => host.is_some(),
        }
    }

    /// Returns whether the pattern spells this very host rather than a domain above it.
    pub(crate) fn spells_host(&self, name: &str) -> bool {
        match &self.forms {
            CompiledForms::Each { host: Some(host), .. } => host.spells(name),
            CompiledForms::Each { host: None, .. } | CompiledForms::Everything => false,
        }
    }

    /// Returns whether the pattern stands on a variable that is empty, so that it can match no path.
    pub(crate) fn is_void(&self) -> bool {
        match &self.forms {
            CompiledForms::Each { path: Some(path), .. } => path.is_void(),
            CompiledForms::Each { path: None, .. } | CompiledForms::Everything => false,
        }
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
