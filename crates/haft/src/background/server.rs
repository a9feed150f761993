//! Programs that the operator names, such as MCP servers. Each program is a principal with a separate grant, which no
//! call widens or narrows. It sees no root and reaches no host unless its requirements name them and rules allow them.
//! It lives until its owner drops it or the runtime ends. This module does not know the program's protocol.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_contract::{
    BackgroundProcess, BackgroundProcessRequest, BackgroundProcesses, BoxFuture, ErrorCode,
    FsEntryKind, PatternVariables, ProcessWriteAccess, RequirementSet, ToolError, ToolId,
};
use haft_policy::{
    Capabilities, Conditions, HostScope, PathDenials, PathReach, PathSubject, PatternError,
    ResolvedAccess, Rule, RuleAction, RuleErrors, RuleScope, RuleSet, decide_access,
};
use haft_sandbox::Launcher;

use super::start::{ProcessReach, ProcessStarter, is_within, root_directory, system_directory};
use crate::process_registry::ProcessRegistry;
use crate::roots::WorkspaceRoots;
use crate::sandbox::{DeniedPaths, Sandbox};

/// The variable that stands for all roots.
const WORKSPACE: &str = "{workspace}";

/// The settings that all programs of a runtime that the operator names share. Cloning is cheap.
#[derive(Clone)]
pub struct ServerProcesses {
    /// The settings of all programs.
    context: Arc<ServerProcessContext>,
}

/// The settings that the launchers of all programs share.
struct ServerProcessContext {
    /// Starts the processes.
    launcher: Launcher,
    /// Confines the processes.
    sandbox: Sandbox,
    /// The directories that requirements are about.
    roots: WorkspaceRoots,
    /// The environment of all programs. A request adds variables.
    environment: Vec<(OsString, OsString)>,
    /// The rules that override requirements.
    rules: RuleSet,
    /// The values of the variables in path patterns.
    variables: PatternVariables,
    /// The programs that run.
    processes: ProcessRegistry,
}

/// The parts from which programs are started.
pub struct ServerProcessParts {
    /// Starts processes.
    pub launcher: Launcher,
    /// The sandbox that confines the programs, and the places that it hides from them.
    pub sandbox: Sandbox,
    /// The directories that requirements are about.
    pub roots: WorkspaceRoots,
    /// The environment of all programs. A program can get further variables.
    pub environment: Vec<(OsString, OsString)>,
    /// Rules that override requirements: no requirement grants an access that these rules deny.
    pub rules: Vec<(RuleScope, Rule)>,
    /// The values of the variables in path patterns.
    pub variables: PatternVariables,
}

/// Starts one program with the grant of its requirements.
pub struct ServerProcessLauncher {
    /// The settings of all programs.
    context: Arc<ServerProcessContext>,
    /// The directories of roots that the program can read, as absolute paths.
    readable: Vec<PathBuf>,
    /// The directories of roots that the program can change, as absolute paths.
    writable: Vec<PathBuf>,
    /// The same directories as `writable`, as the requirements name them.
    writable_patterns: Vec<String>,
    /// The hosts that the program may reach.
    hosts: Arc<HostScope>,
    /// The paths that rules keep from the program.
    denied: Option<Arc<DeniedPaths>>,
}

/// Says why a program cannot be granted what it requires.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerProcessError {
    /// Permission rules are not usable.
    #[error(transparent)]
    Rules(#[from] RuleErrors),
    /// A requirement is not usable.
    #[error(transparent)]
    Requirement(#[from] PatternError),
    /// The pattern is no directory of a root. A program can be confined to directories only.
    #[error(
        "{0:?} names no directory of the workspace: expected one such as \"notes/**\", or \"{WORKSPACE}/**\""
    )]
    NoDirectory(String),
    /// The place cannot be granted.
    #[error("{0}")]
    Directory(String),
}

impl ServerProcesses {
    /// Returns the settings from which programs get their grants.
    ///
    /// # Errors
    ///
    /// Names a rule that is not valid.
    pub fn new(parts: ServerProcessParts) -> Result<Self, ServerProcessError> {
        let ServerProcessParts { launcher, sandbox, roots, environment, rules, variables } = parts;
        let rules = RuleSet::compile(rules, &variables, Conditions::default())?;
        let processes = ProcessRegistry::default();
        let context = ServerProcessContext {
            launcher,
            sandbox,
            roots,
            environment,
            rules,
            variables,
            processes,
        };
        Ok(Self { context: Arc::new(context) })
    }

    /// Grants the program `name` its required files and hosts, and returns its launcher.
    ///
    /// # Errors
    ///
    /// Names a requirement that is not valid, a pattern that is no directory, or a directory that the sandbox or a
    /// rule keeps from the program.
    pub fn grant(
        &self,
        name: &ToolId,
        requires: &RequirementSet,
    ) -> Result<ServerProcessLauncher, ServerProcessError> {
        let changes = directories(&requires.fs.write)?;
        let writable = self.context.directory_paths(name, &changes, DirectoryUse::Change)?;
        let mut readable = self.context.directory_paths(
            name,
            &directories(&requires.fs.read)?,
            DirectoryUse::Read,
        )?;
        readable.retain(|place| !is_within(place, &writable));
        let own = Capabilities::compile(requires, &self.context.variables)?;
        let hosts = HostScope::of_tool(name, &own, &own, &self.context.rules);
        let denials = PathDenials::of_tool(name, &self.context.rules);
        let denied = DeniedPaths::new(denials, self.context.roots.paths());
        Ok(ServerProcessLauncher {
            context: Arc::clone(&self.context),
            readable,
            writable,
            writable_patterns: changes,
            hosts: Arc::new(hosts),
            denied,
        })
    }

    /// Ends all programs and waits until all their processes are gone. No program can start afterwards.
    pub async fn end_all(&self) {
        self.context.processes.end_all().await;
    }
}

/// The use of a directory by a program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DirectoryUse {
    /// The program reads the files in it.
    Read,
    /// The program changes the files in it.
    Change,
}

impl ServerProcessContext {
    /// Returns the paths of the directories, if neither the sandbox nor a rule keeps an entry of them from the program.
    fn directory_paths(
        &self,
        name: &ToolId,
        directories: &[String],
        usage: DirectoryUse,
    ) -> Result<Vec<PathBuf>, ServerProcessError> {
        let mut places = Vec::new();
        for directory in directories {
            let subjects = match directory.as_str() {
                "." => {
                    let root = |root: PathBuf| PathSubject::in_root(&root, Path::new(""));
                    self.roots.paths().into_iter().map(root).collect()
                }
                directory => vec![self.subject(directory)?],
            };
            for subject in subjects {
                let hidden = |err: ToolError| ServerProcessError::Directory(err.message);
                let path = subject.clone().with_reach(PathReach::Tree);
                let access = match usage {
                    DirectoryUse::Read => {
                        self.sandbox.check_read(&subject).map_err(hidden)?;
                        ResolvedAccess::Read { path }
                    }
                    DirectoryUse::Change => {
                        self.sandbox.check_write(&subject).map_err(hidden)?;
                        ResolvedAccess::Write { path }
                    }
                };
                let decision = decide_access(name, Some(&access), &self.rules);
                match decision.action {
                    RuleAction::Allow | RuleAction::Ask => places.push(subject.absolute),
                    RuleAction::Deny => {
                        return Err(ServerProcessError::Directory(decision.explain()));
                    }
                }
            }
        }
        Ok(places)
    }

    /// Resolves a directory of a requirement. Fails if it does not exist or is no directory.
    fn subject(&self, directory: &str) -> Result<PathSubject, ServerProcessError> {
        let unusable = |why: String| ServerProcessError::Directory(why);
        let (place, kind) = self.roots.resolve(directory).map_err(|err| unusable(err.message))?;
        match kind {
            Some(FsEntryKind::Directory) => Ok(self.roots.subject(&place)),
            None => Err(unusable(format!(
                "{directory:?} is not there: make the directory, so that a program can be confined to it"
            ))),
            Some(other) => Err(unusable(format!(
                "{directory:?} is {}, not a directory: a program can be confined to whole directories only",
                other.with_article()
            ))),
        }
    }
}

impl ServerProcessLauncher {
    /// Returns the directories that the program can change, relative to the workspace; `.` stands for all roots.
    pub fn writable_patterns(&self) -> &[String] {
        &self.writable_patterns
    }

    /// Returns the directories of roots that the program can read or change.
    pub fn directories(&self) -> impl Iterator<Item = &Path> {
        self.writable.iter().chain(&self.readable).map(PathBuf::as_path)
    }
}

impl BackgroundProcesses for ServerProcessLauncher {
    fn start(
        &self,
        request: BackgroundProcessRequest,
    ) -> BoxFuture<'_, Result<Box<dyn BackgroundProcess>, ToolError>> {
        Box::pin(async move {
            if request.writable != ProcessWriteAccess::Nothing {
                let message =
                    "the program changes what it was granted, and nothing that is asked for";
                return Err(ToolError::new(ErrorCode::CapabilityDenied, message));
            }
            let ServerProcessContext { launcher, sandbox, roots, environment, processes, .. } =
                &*self.context;
            // A program starts in a root only if the request names one. Some programs load parts of themselves from
            // where they start, and calls can put files into a root.
            let directory = match request.cwd.as_deref() {
                Some(directory) => root_directory(roots, directory)?,
                None => system_directory(sandbox, roots)?,
            };
            let access = ProcessReach {
                readable: self.readable.clone(),
                writable: self.writable.clone(),
                hosts: Arc::clone(&self.hosts),
                denied: self.denied.clone(),
            };
            let starter = ProcessStarter { launcher, sandbox, environment, processes };
            starter.start(request, directory, access).await
        })
    }
}

/// Returns the directories that the patterns name, relative to the workspace; only `.` if a pattern names all roots.
fn directories(patterns: &[String]) -> Result<Vec<String>, ServerProcessError> {
    let mut directories: Vec<String> = Vec::new();
    for pattern in patterns {
        let directory = directory_of(pattern)
            .ok_or_else(|| ServerProcessError::NoDirectory(pattern.clone()))?;
        if !directories.contains(&directory) {
            directories.push(directory);
        }
    }
    if directories.iter().any(|directory| directory == ".") {
        return Ok(vec![".".to_owned()]);
    }
    Ok(directories)
}

/// Returns the directory that a pattern names with all its entries; `None` if the pattern names anything else.
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
                ServerProcessError::NoDirectory(pattern) => pattern,
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
