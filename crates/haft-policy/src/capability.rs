//! What a tool or an agent can reach at all: its requirements, compiled. Rules have no part in it, and nothing that
//! they say widens it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_contract::{ArgPattern, CommandLine, PatternVariables, RequirementSet, ShellRequirement};

use crate::access::{PathReach, PathSubject, ResolvedAccess};
use crate::pattern::{HostPattern, MatchWidth, PathPattern, PatternError};
use crate::pattern_fault::PatternFault;

#[cfg(test)]
mod tests;

/// The effective capabilities of an agent or a tool. Cloning is cheap.
#[derive(Clone, Debug)]
pub struct Capabilities {
    own: CapabilitySet,
    /// What lies outside of any of these lies outside.
    restrictions: Vec<CapabilitySet>,
}

/// What one set of requirements names.
#[derive(Clone, Debug)]
struct CapabilitySet {
    read: Arc<PathScope>,
    write: Arc<PathScope>,
    others: Arc<OtherCapabilities>,
}

/// Directories that are inside with all that is beneath them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DirectoryTrees {
    /// Those that can be read. None lies in another one, or in one that can be changed.
    pub readable: Vec<PathBuf>,
    /// Those that can be read and changed. None lies in another one.
    pub writable: Vec<PathBuf>,
}

/// Says that an access lies outside the capabilities.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{access} is outside {} {scope:?}; stay inside, or grant more under requires",
    scope_name(access)
)]
pub struct CapabilityShortfall {
    /// The access.
    pub access: ResolvedAccess,
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
struct OtherCapabilities {
    hosts: Vec<(String, HostPattern)>,
    shell: Vec<ShellRequirement>,
    named: Vec<String>,
}

impl Capabilities {
    /// Compiles requirements. An empty variable makes an empty scope; an unknown one is an error.
    pub fn compile(
        requires: &RequirementSet,
        variables: &PatternVariables,
    ) -> Result<Self, PatternError> {
        let host = |text: &String| {
            let pattern = compile_host(text).map_err(|fault| error_in(text, fault))?;
            Ok((text.clone(), pattern))
        };
        let own = CapabilitySet {
            read: Arc::new(PathScope::compile(&requires.fs.read, variables)?),
            write: Arc::new(PathScope::compile(&requires.fs.write, variables)?),
            others: Arc::new(OtherCapabilities {
                hosts: requires.net.hosts.iter().map(host).collect::<Result<_, _>>()?,
                shell: requires.shell.clone(),
                named: requires.capabilities.clone(),
            }),
        };
        Ok(Self { own, restrictions: Vec::new() })
    }

    /// Returns what lies inside of both.
    #[must_use]
    pub fn restricted_to(&self, bound: &Self) -> Self {
        let bounds = self.restrictions.iter().chain(bound.parts()).cloned().collect();
        Self { own: self.own.clone(), restrictions: bounds }
    }

    /// Returns whether the access lies inside, or what it lies outside of.
    pub fn check(&self, access: &ResolvedAccess) -> Result<(), CapabilityShortfall> {
        let Some(part) = self.parts().find(|part| !part.contains(access)) else { return Ok(()) };
        Err(CapabilityShortfall { access: access.clone(), scope: part.texts(access) })
    }

    /// Returns the directories of these roots, or within them, of which all that is beneath is inside. Nothing is looked up:
    /// whether a directory is there, or is a link, is not known here.
    pub fn contained_directories(&self, roots: &[PathBuf]) -> DirectoryTrees {
        let scopes = self.parts().flat_map(|part| [&part.read, &part.write]);
        let named = scopes.flat_map(|scope| scope.directories(roots));
        let mut places: Vec<PathBuf> = roots.iter().cloned().chain(named).collect();
        // What lies around a place comes before it.
        places.sort();
        places.dedup();
        let mut trees = DirectoryTrees::default();
        for place in places {
            let Some(path) = beneath_root(&place, roots) else { continue };
            let path = path.with_reach(PathReach::Tree);
            let is_read = self.check(&ResolvedAccess::Read { path: path.clone() }).is_ok();
            let is_changed = is_read && self.check(&ResolvedAccess::Write { path }).is_ok();
            if is_changed && !is_within(&place, &trees.writable) {
                trees.writable.push(place);
            } else if is_read
                && !is_changed
                && !is_within(&place, &trees.readable)
                && !is_within(&place, &trees.writable)
            {
                trees.readable.push(place);
            }
        }
        trees
    }

    pub(crate) fn read_scopes(&self) -> Vec<Arc<PathScope>> {
        self.parts().map(|part| Arc::clone(&part.read)).collect()
    }

    pub(crate) fn write_scopes(&self) -> Vec<Arc<PathScope>> {
        self.parts().map(|part| Arc::clone(&part.write)).collect()
    }

    /// Returns the patterns of hosts that are named, inside of all bounds or not.
    pub(crate) fn hosts(&self) -> impl Iterator<Item = &HostPattern> + Clone {
        self.own.hosts()
    }

    /// Returns for each bound the patterns of hosts, of which one has to fit.
    pub(crate) fn host_restrictions(&self) -> impl Iterator<Item = Vec<HostPattern>> {
        self.restrictions.iter().map(|part| part.hosts().cloned().collect())
    }

    fn parts(&self) -> impl Iterator<Item = &CapabilitySet> + Clone {
        std::iter::once(&self.own).chain(&self.restrictions)
    }
}

impl CapabilitySet {
    fn hosts(&self) -> impl Iterator<Item = &HostPattern> + Clone {
        self.others.hosts.iter().map(|(_, pattern)| pattern)
    }

    /// Returns what would have been inside, as it is written.
    fn texts(&self, access: &ResolvedAccess) -> Vec<String> {
        let others = &self.others;
        match access {
            ResolvedAccess::Read { .. } => self.read.texts.clone(),
            ResolvedAccess::Write { .. } => self.write.texts.clone(),
            ResolvedAccess::Net { .. } => {
                others.hosts.iter().map(|(text, _)| text.clone()).collect()
            }
            ResolvedAccess::Shell { .. } => others.shell.iter().map(shell_text).collect(),
            ResolvedAccess::Named { .. } => others.named.clone(),
        }
    }

    fn contains(&self, access: &ResolvedAccess) -> bool {
        match access {
            ResolvedAccess::Read { path } => self.read.contains(path),
            ResolvedAccess::Write { path } => self.write.contains(path),
            ResolvedAccess::Net { host } => self.hosts().any(|pattern| pattern.fit(host).is_some()),
            ResolvedAccess::Shell { command } => {
                self.others.shell.iter().any(|requirement| shell_contains(requirement, command))
            }
            ResolvedAccess::Named { name } => self.others.named.contains(name),
        }
    }
}

impl PathScope {
    fn compile(texts: &[String], variables: &PatternVariables) -> Result<Self, PatternError> {
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
            && self.patterns.iter().any(|pattern| pattern.fit(path, MatchWidth::Narrow).is_some())
    }

    /// Returns the directories that patterns name with all that is beneath them.
    fn directories(&self, roots: &[PathBuf]) -> Vec<PathBuf> {
        self.patterns.iter().flat_map(|pattern| pattern.directories(roots)).collect()
    }
}

/// Returns the path from the root that it lies beneath, if it lies beneath one.
fn beneath_root(path: &Path, roots: &[PathBuf]) -> Option<PathSubject> {
    roots.iter().find_map(|root| {
        let relative = path.strip_prefix(root).ok()?;
        Some(PathSubject::in_root(root, relative))
    })
}

fn is_within(path: &Path, directories: &[PathBuf]) -> bool {
    directories.iter().any(|directory| path.starts_with(directory))
}

fn compile_host(text: &str) -> Result<HostPattern, PatternFault> {
    match text.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
        // The variables stand for directories, so whatever stands here is a mistake.
        Some((name, _)) => Err(PatternFault::UnknownVariable(name.to_owned())),
        None => HostPattern::compile(text),
    }
}

/// Programs are granted by name: a path to a program of that name may be any file. Arguments are matched one by one
/// and all of them.
fn shell_contains(requirement: &ShellRequirement, command: &CommandLine) -> bool {
    let is_any_program = requirement.cmd == "*";
    match (command, &requirement.args) {
        (CommandLine::Unknown(_), args) => is_any_program && args.is_none(),
        (CommandLine::Argv(argv), args) => {
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

fn scope_name(access: &ResolvedAccess) -> &str {
    match access {
        ResolvedAccess::Named { .. } => "capabilities",
        ResolvedAccess::Read { .. }
        | ResolvedAccess::Write { .. }
        | ResolvedAccess::Net { .. }
        | ResolvedAccess::Shell { .. } => access.capability(),
    }
}

fn error_in(pattern: &str, fault: PatternFault) -> PatternError {
    PatternError { pattern: pattern.to_owned(), fault }
}
