//! Background processes as a call starts them. Each runs in a separate process tree, confined as the call's grant
//! allows, and talks to haft over a channel. A background process ends when its owner drops it, or with the runtime.
//! haft does not distinguish the actions of a process during its call from those after the call.

mod lines;
mod output;
mod process;
mod read_only;
mod server;

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_contract::{
    BackgroundProcess, BackgroundProcessRequest, BackgroundProcesses, BoxFuture, ErrorCode,
    FilePath, FsEntryKind, ProcessFileAccess, ProcessHostAccess, ProcessWriteAccess, ToolError,
    ToolId,
};
use haft_policy::{
    DecisionBasis, DirectoryTrees, Grant, HostScope, PathReach, PathSubject, PolicyDecision,
    ResolvedAccess, RuleRemedy, decide_access,
};
use haft_sandbox::{Network, SandboxCommand};
use rustix::fs::{Mode, OFlags, mkdirat, open};
use rustix::io::Errno;
use tokio_util::sync::CancellationToken;

use self::process::RunningProcess;
pub use self::read_only::ReadOnlyBackgroundProcesses;
pub use self::server::{
    ServerProcessError, ServerProcessLauncher, ServerProcessParts, ServerProcesses,
};
use crate::connection_state::{ConnectionState, check_start_directory};
use crate::roots::{WorkspaceRoots, path_error};
use crate::sandbox::Sandbox;
use crate::shared::RuntimeParts;
use crate::shell::{ProcessBounds, StartedProcess, start_process, working_directory};

/// The permission bits of a directory that is made for a program, before the umask.
const DIRECTORY_MODE: u32 = 0o777;

/// Starts the programs of one call that outlive it.
pub(crate) struct CallBackgroundProcesses {
    pub(crate) connection: Arc<ConnectionState>,
    pub(crate) tool: ToolId,
    pub(crate) grant: Arc<Grant>,
    /// The hosts that the programs may reach.
    pub(crate) hosts: Arc<HostScope>,
    /// The places that the call declared it would change, and that were judged; nothing else is changed.
    pub(crate) declared_changes: Vec<PathBuf>,
    /// Cancelled when the call is to stop; from then on nothing is started.
    pub(crate) stop: CancellationToken,
}

impl BackgroundProcesses for CallBackgroundProcesses {
    fn start(
        &self,
        request: BackgroundProcessRequest,
    ) -> BoxFuture<'_, Result<Box<dyn BackgroundProcess>, ToolError>> {
        boxed_process(self.start_running(request))
    }
}

/// Returns a background process that is starting, boxed for the caller.
fn boxed_process<'a>(
    starting: impl Future<Output = Result<RunningProcess, ToolError>> + Send + 'a,
) -> BoxFuture<'a, Result<Box<dyn BackgroundProcess>, ToolError>> {
    Box::pin(async move { Ok(Box::new(starting.await?) as Box<dyn BackgroundProcess>) })
}

impl CallBackgroundProcesses {
    fn runtime_parts(&self) -> &RuntimeParts {
        &self.connection.shared.parts
    }

    async fn start_running(
        &self,
        request: BackgroundProcessRequest,
    ) -> Result<RunningProcess, ToolError> {
        if self.stop.is_cancelled() {
            let message = "the call was told to stop, so no program was started";
            return Err(ToolError::new(ErrorCode::ProcessAborted, message));
        }
        let parts = self.runtime_parts();
        let hosts = match request.hosts {
            ProcessHostAccess::Granted => Arc::clone(&self.hosts),
            ProcessHostAccess::Nothing => Arc::default(),
        };
        let trees = self.trees(&request);
        self.connection.check_enforceable(&trees, &hosts)?;
        let directory = self.directory(&request, &trees)?;
        let writable = self.writable(&request.writable)?;
        self.check_writable(&writable, &trees)?;
        let readable = self.readable(&request, &trees, &writable)?;
        let mut command = SandboxCommand::new(request.program, directory)
            .args(request.args)
            .channel(sandbox_channel(request.channel));
        command.env = self.environment(request.env);
        let bounds = ProcessBounds {
            writable,
            readable,
            // The ordinary network is for commands, which are judged as such; this was judged by its hosts.
            network: if hosts.is_empty() { Network::Loopback } else { Network::Proxied },
            hosts,
            memory_bytes: request.memory_bytes,
        };
        let memory_bytes = bounds.memory_bytes(&parts.sandbox);
        let started: StartedProcess =
            start_process(&parts.launcher, &parts.sandbox, command, bounds).await?;
        RunningProcess::new(started, memory_bytes, &self.connection.shared.processes)
    }

    /// Returns the configured environment and what the program wants beside it. Keys of a call are not among it, since the
    /// program belongs to none.
    fn environment(&self, own: Vec<(OsString, OsString)>) -> Vec<(OsString, OsString)> {
        self.runtime_parts().environment.iter().cloned().chain(own).collect()
    }

    /// Returns the directories of roots that are left to the program; all of them to one that asks for none.
    fn trees(&self, request: &BackgroundProcessRequest) -> DirectoryTrees {
        match (request.files, &request.writable) {
            (ProcessFileAccess::Nothing, ProcessWriteAccess::Nothing) => DirectoryTrees {
                readable: Vec::new(),
                writable: self.runtime_parts().roots.paths(),
            },
            (ProcessFileAccess::Nothing | ProcessFileAccess::Roots, _) => {
                self.connection.process_trees(&self.tool)
            }
        }
    }

    /// Refuses to have the program change, and so read, what is not left to it of the roots.
    fn check_writable(
        &self,
        writable: &[PathBuf],
        trees: &DirectoryTrees,
    ) -> Result<(), ToolError> {
        let Some(place) = writable.iter().find(|place| !is_within(place, &trees.writable)) else {
            return Ok(());
        };
        let message = format!(
            "the program is to change {:?}, of which this agent may not read and change all",
            place.display()
        );
        Err(ToolError::new(ErrorCode::CapabilityDenied, message))
    }

    /// Opens the directory that the program starts in.
    fn directory(
        &self,
        request: &BackgroundProcessRequest,
        trees: &DirectoryTrees,
    ) -> Result<OwnedFd, ToolError> {
        let asked = request.cwd.as_deref();
        match request.files {
            ProcessFileAccess::Nothing if asked.is_none() => {
                system_directory(&self.runtime_parts().sandbox, &self.runtime_parts().roots)
            }
            ProcessFileAccess::Nothing | ProcessFileAccess::Roots => {
                let directory = working_directory(&self.connection.paths, asked)?;
                check_start_directory(&directory.path, trees)?;
                Ok(directory.handle)
            }
        }
    }

    /// Returns what the program reads beyond what every command does: what is left to it of the roots, and what it asks for.
    fn readable(
        &self,
        request: &BackgroundProcessRequest,
        trees: &DirectoryTrees,
        writable: &[PathBuf],
    ) -> Result<Vec<PathBuf>, ToolError> {
        let mut readable: Vec<PathBuf> = match request.files {
            ProcessFileAccess::Roots => {
                trees.readable.iter().chain(&trees.writable).cloned().collect()
            }
            ProcessFileAccess::Nothing => Vec::new(),
        };
        for path in &request.readable {
            readable.push(readable_path(&self.runtime_parts().sandbox, path)?);
        }
        // A writable path is readable too. Naming it twice would make it read-only.
        readable.retain(|path| !is_within(path, writable));
        Ok(readable)
    }

    /// Returns the directories that the program can change. Each is judged with everything beneath it, because haft
    /// does not judge the program's later changes.
    fn writable(&self, asked: &ProcessWriteAccess) -> Result<Vec<PathBuf>, ToolError> {
        match asked {
            ProcessWriteAccess::Nothing => Ok(Vec::new()),
            ProcessWriteAccess::Roots => self.writable_roots(),
            ProcessWriteAccess::Directories(paths) => {
                paths.iter().map(|path| self.writable_path(path)).collect()
            }
        }
    }

    fn writable_roots(&self) -> Result<Vec<PathBuf>, ToolError> {
        let roots = self.runtime_parts().roots.paths();
        let declared: Vec<PathBuf> =
            roots.into_iter().filter(|root| self.declared_changes.contains(root)).collect();
        if declared.is_empty() {
            let message = "the program is to change the roots, and the call did not declare that it changes any";
            return Err(ToolError::new(ErrorCode::CapabilityDenied, message));
        }
        for root in &declared {
            self.check_change(&PathSubject::in_root(root, Path::new("")))?;
        }
        Ok(declared)
    }

    fn writable_path(&self, path: &str) -> Result<PathBuf, ToolError> {
        let (place, kind) = self.connection.paths.resolve(path)?;
        let Some(subject) = self.connection.paths.subject(&place) else {
            let message = format!(
                "{path:?} is outside the workspace: a program changes directories within it"
            );
            return Err(ToolError::new(ErrorCode::PathEscape, message));
        };
        let spellings = self.connection.paths.spellings(path);
        spellings
            .iter()
            .try_for_each(|spelling| self.runtime_parts().sandbox.check_write(spelling))?;
        self.check_change(&subject)?;
        match kind {
            Some(FsEntryKind::Directory) => {}
            None => self.make_directory(path, &place)?,
            Some(other) => {
                let message = format!(
                    "{path:?} is {}, not a directory: a program can be confined to whole directories only",
                    other.with_article()
                );
                return Err(ToolError::new(ErrorCode::PathInvalid, message));
            }
        }
        Ok(subject.absolute)
    }

    /// Refuses a directory that the call was not granted as a whole. The call was judged by the directory itself; here it
    /// matters as well what requirements and rules say of what is in it.
    fn check_change(&self, subject: &PathSubject) -> Result<(), ToolError> {
        self.runtime_parts().sandbox.check_write(subject)?;
        let is_declared =
            self.declared_changes.iter().any(|place| subject.absolute.starts_with(place));
        let whole = subject.clone().with_reach(PathReach::Tree);
        let is_permitted = self.grant.permits_write(&whole);
        let why = if !is_declared {
            "the call did not declare that it changes it".to_owned()
        } else if let Some(held) = self.restricting_decision(subject, whole) {
            held.explain()
        } else if !is_permitted {
            "requirements or rules keep it, or some of it, from the call".to_owned()
        } else {
            return Ok(());
        };
        let message = format!("changing all of {:?} was not granted: {why}", subject.to_string());
        Err(ToolError::new(ErrorCode::CapabilityDenied, message))
    }

    /// Returns what rules say of all of a directory if that is less than what they say of it alone, which is what they were
    /// asked before.
    fn restricting_decision(
        &self,
        place: &PathSubject,
        whole: PathSubject,
    ) -> Option<PolicyDecision> {
        let rules = self.connection.rules();
        let judged =
            |path| decide_access(&self.tool, Some(&ResolvedAccess::Write { path }), &rules);
        let (place, whole) = (judged(place.clone()), judged(whole));
        let is_less =
            whole.action > place.action || is_restricted(&whole) && !is_restricted(&place);
        is_less.then_some(whole)
    }

    /// Makes a directory in one that exists.
    fn make_directory(&self, path: &str, place: &FilePath) -> Result<(), ToolError> {
        let failed = |why: &dyn std::fmt::Display| {
            let message = format!("the directory {path:?} could not be made: {why}");
            ToolError::new(ErrorCode::PathInvalid, message)
        };
        let (Some(parent), Some(name)) = (place.relative().parent(), place.relative().file_name())
        else {
            return Err(failed(&"it has no name"));
        };
        let root = self.connection.paths.root_of(place)?;
        let parent = root.open_dir(parent).map_err(|err| path_error(path, &err))?;
        match mkdirat(&parent, name, Mode::from_raw_mode(DIRECTORY_MODE)) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(errno) => Err(failed(&errno)),
        }
    }
}

/// Opens a directory of the system's, for a program that is not to start in a root.
fn system_directory(sandbox: &Sandbox, roots: &WorkspaceRoots) -> Result<OwnedFd, ToolError> {
    let mut system = sandbox.readable.iter().filter_map(|place| place.canonicalize().ok());
    let is_apart = |place: &PathBuf| place.is_dir() && !is_within(place, &roots.paths());
    let place = system.find(is_apart).unwrap_or_else(|| PathBuf::from("/usr"));
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    open(&place, flags, Mode::empty()).map_err(|errno| {
        let message = format!("{} cannot be entered: {errno}", place.display());
        ToolError::new(ErrorCode::ProcessSpawnFailed, message)
    })
}

fn is_within(place: &Path, directories: &[PathBuf]) -> bool {
    directories.iter().any(|directory| place.starts_with(directory))
}

/// Returns the place of a path that a program asks to read, unless the sandbox hides the path from everyone.
fn readable_path(sandbox: &Sandbox, path: &Path) -> Result<PathBuf, ToolError> {
    // The grant leaves out a path that does not exist.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    sandbox.check_read(&PathSubject::outside_roots(path.clone()))?;
    Ok(path)
}

/// Returns whether a rule about something else keeps an access from being allowed.
fn is_restricted(decision: &PolicyDecision) -> bool {
    matches!(decision.reason.basis, DecisionBasis::MayReach(_))
        || matches!(decision.remedy, Some(RuleRemedy::Change(_)))
}

fn sandbox_channel(channel: haft_contract::ProcessChannel) -> haft_sandbox::CommandChannel {
    match channel {
        haft_contract::ProcessChannel::Descriptor => haft_sandbox::CommandChannel::Descriptor,
        haft_contract::ProcessChannel::Stdio => haft_sandbox::CommandChannel::Stdio,
    }
}

// The contract names the number without knowing the sandbox.
const _: () = assert!(haft_contract::CHANNEL_DESCRIPTOR == haft_sandbox::CHANNEL_DESCRIPTOR);
