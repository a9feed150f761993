//! Programs that the operator names, such as servers of other people: each is a principal of its own, with a grant of its
//! own that no call widens or narrows. It sees no root and reaches no host but what its requirements name and rules leave
//! to it, and lives until whoever holds it lets it go, or the runtime ends. What is said to it is not known here.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_contract::{
    BoxFuture, ErrorCode, FileKind, RequirementSet, Resident, ResidentRequest, Residents,
    ToolError, ToolId, Variables, Writable,
};
use haft_policy::{
    Action, Canonical, Capabilities, Conditions, HostScope, PathSubject, PatternError, Reach, Rule,
    RuleErrors, RuleScope, RuleSet, judge,
};
use haft_sandbox::{Command, Launcher, Network};

use super::living::Living;
use super::running::Running;
use super::{channel, held, is_within, seen, system_directory};
use crate::roots::{Roots, path_error};
use crate::sandbox::Sandbox;
use crate::shell::{Bounds, start};

/// The variable that stands for all roots.
const WORKSPACE: &str = "{workspace}";

/// What the programs of a runtime that the operator names have in common. Cloning is cheap.
#[derive(Clone)]
pub struct Extensions {
    ground: Arc<Ground>,
}

struct Ground {
    launcher: Launcher,
    sandbox: Sandbox,
    roots: Roots,
    environment: Vec<(OsString, OsString)>,
    rules: RuleSet,
    variables: Variables,
    living: Living,
}

/// What the programs are started with.
pub struct ExtensionParts {
    /// Starts processes.
    pub launcher: Launcher,
    /// What confines them, and what is kept from them.
    pub sandbox: Sandbox,
    /// The directories that requirements are about.
    pub roots: Roots,
    /// Their environment, beside what each is given of its own.
    pub environment: Vec<(OsString, OsString)>,
    /// What rules deny, no requirement grants.
    pub rules: Vec<(RuleScope, Rule)>,
    /// What path patterns' variables stand for.
    pub variables: Variables,
}

/// Starts one program with the grant that its requirements come to.
pub struct Extension {
    ground: Arc<Ground>,
    readable: Vec<PathBuf>,
    writable: Vec<PathBuf>,
    changes: Vec<String>,
    hosts: Arc<HostScope>,
}

/// Says why a program cannot be granted what it requires.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExtensionError {
    /// Permission rules are not usable.
    #[error(transparent)]
    Rules(#[from] RuleErrors),
    /// A requirement is not usable.
    #[error(transparent)]
    Requirement(#[from] PatternError),
    /// A program is confined to directories, and this is none of a root.
    #[error(
        "{0:?} names no directory of the workspace: expected one such as \"notes/**\", or \"{WORKSPACE}/**\""
    )]
    NoDirectory(String),
    /// The place cannot be granted.
    #[error("{0}")]
    Place(String),
}

impl Extensions {
    /// Returns what programs are started with; rules are checked here.
    pub fn new(parts: ExtensionParts) -> Result<Self, ExtensionError> {
        let ExtensionParts { launcher, sandbox, roots, environment, rules, variables } = parts;
        let rules = RuleSet::compile(rules, &variables, Conditions::default())?;
        let living = Living::default();
        let ground = Ground { launcher, sandbox, roots, environment, rules, variables, living };
        Ok(Self { ground: Arc::new(ground) })
    }

    /// Returns what starts the program called `name` with what it requires. Only files and hosts are granted to programs.
    pub fn grant(
        &self,
        name: &ToolId,
        requires: &RequirementSet,
    ) -> Result<Extension, ExtensionError> {
        let changes = directories(&requires.fs.write)?;
        let writable = self.ground.places(name, &changes, Use::Change)?;
        let mut readable = self.ground.places(name, &directories(&requires.fs.read)?, Use::Look)?;
        readable.retain(|place| !is_within(place, &writable));
        let own = Capabilities::compile(requires, &self.ground.variables)?;
        let hosts = HostScope::of_tool(name, &own, &own, &self.ground.rules);
        let ground = Arc::clone(&self.ground);
        Ok(Extension { ground, readable, writable, changes, hosts: Arc::new(hosts) })
    }

    /// Ends all programs and waits until nothing of them is left. None is started afterwards.
    pub async fn end_all(&self) {
        self.ground.living.end_all().await;
    }
}

/// What is done with a directory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Look,
    Change,
}

impl Ground {
    /// Returns where the directories are, if neither the sandbox nor a rule keeps any of what is in them.
    fn places(
        &self,
        name: &ToolId,
        directories: &[String],
        usage: Use,
    ) -> Result<Vec<PathBuf>, ExtensionError> {
        let mut places = Vec::new();
        for directory in directories {
            let subjects = match directory.as_str() {
                "." => {
                    let root = |root: PathBuf| PathSubject::beneath(&root, Path::new(""));
                    self.roots.paths().into_iter().map(root).collect()
                }
                directory => vec![self.subject(directory)?],
            };
            for subject in subjects {
                self.check(name, &subject, usage)?;
                places.push(subject.absolute);
            }
        }
        Ok(places)
    }

    fn subject(&self, directory: &str) -> Result<PathSubject, ExtensionError> {
        let unusable = |why: String| ExtensionError::Place(why);
        let (place, kind) = self.roots.resolve(directory).map_err(|err| unusable(err.message))?;
        match kind {
            Some(FileKind::Directory) => Ok(self.roots.subject(&place)),
            None => Err(unusable(format!(
                "{directory:?} is not there: make the directory, so that a program can be confined to it"
            ))),
            Some(other) => Err(unusable(format!(
                "{directory:?} is {}, not a directory: a program can be confined to whole directories only",
                other.with_article()
            ))),
        }
    }

    fn check(
        &self,
        name: &ToolId,
        subject: &PathSubject,
        usage: Use,
    ) -> Result<(), ExtensionError> {
        let kept = |err: ToolError| ExtensionError::Place(err.message);
        let path = subject.clone().reaching(Reach::Tree);
        let access = match usage {
            Use::Look => {
                self.sandbox.check_read(subject).map_err(kept)?;
                Canonical::Read { path }
            }
            Use::Change => {
                self.sandbox.check_write(subject).map_err(kept)?;
                Canonical::Write { path }
            }
        };
        let decision = judge(name, Some(&access), &self.rules);
        match decision.action {
            Action::Allow | Action::Ask => Ok(()),
            Action::Deny => Err(ExtensionError::Place(decision.explain())),
        }
    }
}

impl Extension {
    /// Returns the directories that the program can change, as they are spelled from the workspace; `.` is all roots.
    pub fn changes(&self) -> &[String] {
        &self.changes
    }

    /// Returns the directories of roots that the program can read or change.
    pub fn directories(&self) -> impl Iterator<Item = &Path> {
        self.writable.iter().chain(&self.readable).map(PathBuf::as_path)
    }

    async fn start_running(&self, request: ResidentRequest) -> Result<Running, ToolError> {
        let ground = &*self.ground;
        if request.writable != Writable::Nothing {
            let message = "the program changes what it was granted, and nothing that is asked for";
            return Err(ToolError::new(ErrorCode::CapabilityDenied, message));
        }
        let handle = self.directory(request.cwd.as_deref())?;
        let mut command = Command::new(request.program, handle)
            .args(request.args)
            .channel(channel(request.channel));
        command.env = ground.environment.iter().cloned().chain(request.env).collect();
        let mut readable = self.readable.clone();
        for path in &request.readable {
            readable.push(seen(&ground.sandbox, path)?);
        }
        // What is named twice would be kept from being changed.
        readable.retain(|place| !is_within(place, &self.writable));
        let is_alone = self.hosts.is_empty();
        let bounds = Bounds {
            writable: self.writable.clone(),
            readable,
            network: if is_alone { Network::Loopback } else { Network::Proxied },
            hosts: Arc::clone(&self.hosts),
            memory_bytes: request.memory_bytes,
        };
        let memory_bytes = bounds.memory_bytes(&ground.sandbox);
        let started = start(&ground.launcher, &ground.sandbox, command, bounds).await?;
        Running::new(started, memory_bytes, &ground.living)
    }

    /// Opens the directory that the program starts in: the one asked for, else one of the system's. A root is none unless it
    /// is asked for: some programs look for parts of themselves where they start, and calls can put files there.
    fn directory(&self, asked: Option<&str>) -> Result<OwnedFd, ToolError> {
        let ground = &*self.ground;
        if let Some(directory) = asked {
            let (place, _) = ground.roots.resolve(directory)?;
            let root = ground.roots.root(place.root()).ok_or_else(|| {
                let message = format!("cwd {directory:?} is outside the workspace");
                ToolError::new(ErrorCode::PathEscape, message)
            })?;
            return root.open_dir(place.relative()).map_err(|err| path_error(directory, &err));
        }
        system_directory(&ground.sandbox, &ground.roots)
    }
}

impl Residents for Extension {
    fn start(
        &self,
        request: ResidentRequest,
    ) -> BoxFuture<'_, Result<Box<dyn Resident>, ToolError>> {
        held(self.start_running(request))
    }
}

/// Returns the directories that patterns name with all that is in them, from the workspace; `.` alone if all of it is named.
fn directories(patterns: &[String]) -> Result<Vec<String>, ExtensionError> {
    let mut directories: Vec<String> = Vec::new();
    for pattern in patterns {
        let directory =
            directory_of(pattern).ok_or_else(|| ExtensionError::NoDirectory(pattern.clone()))?;
        if !directories.contains(&directory) {
            directories.push(directory);
        }
    }
    if directories.iter().any(|directory| directory == ".") {
        return Ok(vec![".".to_owned()]);
    }
    Ok(directories)
}

/// Returns the directory that a pattern names with all in it.
fn directory_of(pattern: &str) -> Option<String> {
    let within = match pattern.strip_prefix(WORKSPACE) {
        Some("") => "**",
        Some(rest) => rest.strip_prefix('/')?,
        None => pattern,
    };
    let directory = match within {
        "**" | "." | "./**" => return Some(".".to_owned()),
        within => within.strip_suffix("/**").unwrap_or(within),
    };
    let is_plain = !directory.contains(['*', '?', '[', ']', '{', '}', '\\', '\0']);
    let names = directory.strip_prefix('/').unwrap_or(directory).split('/');
    let names_all = names.into_iter().all(|name| !matches!(name, "" | "." | ".."));
    (is_plain && names_all).then(|| directory.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_name_whole_directories() {
        let check = |patterns: &[&str], expect: Result<&[&str], &str>| {
            let patterns: Vec<String> = patterns.iter().map(|&text| text.to_owned()).collect();
            let expect = expect
                .map(|all| all.iter().map(|&text| text.to_owned()).collect::<Vec<_>>())
                .map_err(str::to_owned);
            let found = directories(&patterns).map_err(|err| match err {
                ExtensionError::NoDirectory(pattern) => pattern,
                other => other.to_string(),
            });
            assert_eq!(found, expect, "{patterns:?}");
        };
        check(&[], Ok(&[]));
        check(&["notes/**", "notes", "a/b/**"], Ok(&["notes", "a/b"]));
        check(&["notes/**", "{workspace}/**"], Ok(&["."]));
        check(&["{workspace}"], Ok(&["."]));
        check(&["{workspace}/notes"], Ok(&["notes"]));
        check(&["/srv/data/**"], Ok(&["/srv/data"]));
        check(&["*.md"], Err("*.md"));
        check(&["../up"], Err("../up"));
        check(&["{user-data}/x"], Err("{user-data}/x"));
        check(&[""], Err(""));
    }
}
