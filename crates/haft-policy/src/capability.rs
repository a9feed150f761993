//! The capabilities of a tool or an agent: its requirements, compiled. Rules play no part here, and no rule widens the
//! capabilities.

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
    /// An access outside any of these is outside the capabilities.
    restrictions: Vec<CapabilitySet>,
}

/// The accesses that one set of requirements names.
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
    match access {
        ResolvedAccess::Named { .. } => "capabilities",
        access => access.capability(),
    }
)]
pub struct CapabilityShortfall {
    /// The access.
    pub access: ResolvedAccess,
    /// The scope of such accesses, as the requirements write it.
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
            let pattern = match text.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
                // The variables stand for directories, so a variable here is a mistake.
                Some((name, _)) => Err(PatternFault::HostVariable(name.to_owned())),
                None => HostPattern::compile(text),
            };
            let pattern = pattern.map_err(|fault| error_in(text, fault))?;
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
        // A parent directory comes before its contents.
        places.sort();
        places.dedup();
        let mut trees = DirectoryTrees::default();
        for place in places {
            let path = roots.iter().find_map(|root| {
                let relative = place.strip_prefix(root).ok()?;
                Some(PathSubject::in_root(root, relative))
            });
            let Some(path) = path else { continue };
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
            ResolvedAccess::Shell { .. } => {
                let mut texts = Vec::new();
                for ShellRequirement { cmd, args } in &others.shell {
                    let mut text = cmd.clone();
                    for arg in args.iter().flatten() {
                        text.push(' ');
                        match arg {
                            ArgPattern::Exact(exact) => text.push_str(exact),
                            ArgPattern::Wildcard { .. } => text.push('*'),
                            ArgPattern::Prefix { prefix } => text.extend([prefix, "*"]),
                        }
                    }
                    if args.as_ref().is_some_and(Vec::is_empty) {
                        text.push_str(" without arguments");
                    }
                    texts.push(text);
                }
                texts
            }
            ResolvedAccess::Named { .. } => others.named.clone(),
        }
    }

    fn contains(&self, access: &ResolvedAccess) -> bool {
        match access {
            ResolvedAccess::Read { path } => self.read.contains(path),
            ResolvedAccess::Write { path } => self.write.contains(path),
            ResolvedAccess::Net { host } => self.hosts().any(|pattern| pattern.fit(host).is_some()),
            ResolvedAccess::Shell { command } => {
                self.others.shell.iter().any(|ShellRequirement { cmd, args }| {
                    // Programs are granted by name: a path to a program of that name may be any
                    // file. Arguments are matched one by one, and all of them.
                    let argv = match command {
                        CommandLine::Partial(_) | CommandLine::Unknown(_) => {
                            return cmd == "*" && args.is_none();
                        }
                        CommandLine::Argv(argv) => argv,
                    };
                    let Some((program, arguments)) = argv.split_first() else { return false };
                    if cmd != "*" && cmd != program {
                        return false;
                    }
                    let Some(patterns) = args else { return true };
                    patterns.len() == arguments.len()
                        && patterns.iter().zip(arguments).all(|(pattern, argument)| match pattern {
                            ArgPattern::Exact(text) => text == argument,
                            ArgPattern::Wildcard { wildcard } => *wildcard,
                            ArgPattern::Prefix { prefix } => argument.starts_with(prefix.as_str()),
                        })
                })
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

fn is_within(path: &Path, directories: &[PathBuf]) -> bool {
    directories.iter().any(|directory| path.starts_with(directory))
}

fn error_in(pattern: &str, fault: PatternFault) -> PatternError {
    PatternError { pattern: pattern.to_owned(), fault }
}
