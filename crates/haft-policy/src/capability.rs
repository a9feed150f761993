//! What a tool or an agent can reach at all: its requirements, compiled. Rules have no part in it, and nothing that
//! they say widens it.

use std::sync::Arc;

use haft_contract::{ArgPattern, Command, RequirementSet, ShellRequirement, Variables};

use crate::access::{Canonical, PathSubject};
use crate::pattern::{Fault, HostPattern, PathPattern, PatternError, Reading};

#[cfg(test)]
mod tests;

/// The effective capabilities of an agent or a tool. Cloning is cheap.
#[derive(Clone, Debug)]
pub struct Capabilities {
    read: Arc<PathScope>,
    write: Arc<PathScope>,
    others: Arc<Others>,
}

/// Says that an access lies outside the capabilities.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{access} is outside {} {scope:?}; stay inside, or grant more under requires",
    scope_name(access)
)]
pub struct Shortfall {
    /// The access.
    pub access: Canonical,
    /// What would have been inside, as it is written in the requirements.
    pub scope: Vec<String>,
}

/// The paths that are inside.
#[derive(Debug)]
pub(crate) struct PathScope {
    texts: Vec<String>,
    patterns: Vec<PathPattern>,
}

#[derive(Debug)]
struct Others {
    hosts: Vec<(String, HostPattern)>,
    shell: Vec<ShellRequirement>,
    named: Vec<String>,
}

impl Capabilities {
    /// Compiles requirements. An empty variable makes an empty scope; an unknown one is an error.
    pub fn compile(requires: &RequirementSet, variables: &Variables) -> Result<Self, PatternError> {
        let host = |text: &String| {
            let pattern = compile_host(text).map_err(|fault| error_in(text, fault))?;
            Ok((text.clone(), pattern))
        };
        Ok(Self {
            read: Arc::new(PathScope::compile(&requires.fs.read, variables)?),
            write: Arc::new(PathScope::compile(&requires.fs.write, variables)?),
            others: Arc::new(Others {
                hosts: requires.net.hosts.iter().map(host).collect::<Result<_, _>>()?,
                shell: requires.shell.clone(),
                named: requires.capabilities.clone(),
            }),
        })
    }

    /// Returns whether the access lies inside, or what it lies outside of.
    pub fn check(&self, access: &Canonical) -> Result<(), Shortfall> {
        if self.contains(access) {
            return Ok(());
        }
        let others = &self.others;
        let scope = match access {
            Canonical::Read { .. } => self.read.texts.clone(),
            Canonical::Write { .. } => self.write.texts.clone(),
            Canonical::Net { .. } => others.hosts.iter().map(|(text, _)| text.clone()).collect(),
            Canonical::Shell { .. } => others.shell.iter().map(shell_text).collect(),
            Canonical::Named { .. } => others.named.clone(),
        };
        Err(Shortfall { access: access.clone(), scope })
    }

    pub(crate) fn read(&self) -> &Arc<PathScope> {
        &self.read
    }

    pub(crate) fn write(&self) -> &Arc<PathScope> {
        &self.write
    }

    /// Returns the patterns of hosts that are inside.
    pub(crate) fn hosts(&self) -> impl Iterator<Item = &HostPattern> + Clone {
        self.others.hosts.iter().map(|(_, pattern)| pattern)
    }

    fn contains(&self, access: &Canonical) -> bool {
        match access {
            Canonical::Read { path } => self.read.contains(path),
            Canonical::Write { path } => self.write.contains(path),
            Canonical::Net { host } => {
                self.others.hosts.iter().any(|(_, pattern)| pattern.fit(host).is_some())
            }
            Canonical::Shell { command } => {
                self.others.shell.iter().any(|requirement| shell_contains(requirement, command))
            }
            Canonical::Named { name } => self.others.named.contains(name),
        }
    }
}

impl PathScope {
    fn compile(texts: &[String], variables: &Variables) -> Result<Self, PatternError> {
        let pattern = |text: &String| {
            PathPattern::compile_requirement(text, variables).map_err(|fault| error_in(text, fault))
        };
        Ok(Self {
            texts: texts.to_vec(),
            patterns: texts.iter().map(pattern).collect::<Result<_, _>>()?,
        })
    }

    pub(crate) fn contains(&self, path: &PathSubject) -> bool {
        // A path that is not resolved could climb out of any pattern that it starts with.
        !path.is_unresolved()
            && self.patterns.iter().any(|pattern| pattern.fit(path, Reading::Narrow).is_some())
    }
}

fn compile_host(text: &str) -> Result<HostPattern, Fault> {
    match text.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
        // The variables stand for directories, so whatever stands here is a mistake.
        Some((name, _)) => Err(Fault::UnknownVariable(name.to_owned())),
        None => HostPattern::compile(text),
    }
}

/// Programs are granted by name: a path to a program of that name may be any file. Arguments are matched one by one
/// and all of them.
fn shell_contains(requirement: &ShellRequirement, command: &Command) -> bool {
    let is_any_program = requirement.cmd == "*";
    match (command, &requirement.args) {
        (Command::Unknown(_), args) => is_any_program && args.is_none(),
        (Command::Argv(argv), args) => {
            let Some((program, arguments)) = argv.split_first() else { return false };
            (is_any_program || requirement.cmd == *program)
                && args.as_ref().is_none_or(|patterns| arguments_match(patterns, arguments))
        }
    }
}

fn arguments_match(patterns: &[ArgPattern], arguments: &[String]) -> bool {
    patterns.len() == arguments.len()
        && patterns.iter().zip(arguments).all(|(pattern, argument)| match pattern {
            ArgPattern::Exact(text) => text == argument,
            ArgPattern::Wildcard { wildcard } => *wildcard,
            ArgPattern::Prefix { prefix } => argument.starts_with(prefix.as_str()),
        })
}

fn shell_text(requirement: &ShellRequirement) -> String {
    let Some(args) = &requirement.args else { return requirement.cmd.clone() };
    let mut text = requirement.cmd.clone();
    for arg in args {
        text.push(' ');
        match arg {
            ArgPattern::Exact(exact) => text.push_str(exact),
            ArgPattern::Wildcard { .. } => text.push('*'),
            ArgPattern::Prefix { prefix } => text.extend([prefix, "*"]),
        }
    }
    if args.is_empty() { format!("{text} without arguments") } else { text }
}

fn scope_name(access: &Canonical) -> &str {
    match access {
        Canonical::Named { .. } => "capabilities",
        Canonical::Read { .. }
        | Canonical::Write { .. }
        | Canonical::Net { .. }
        | Canonical::Shell { .. } => access.capability(),
    }
}

fn error_in(pattern: &str, fault: Fault) -> PatternError {
    PatternError { pattern: pattern.to_owned(), fault }
}
