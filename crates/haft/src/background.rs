//! Background processes as a call starts them. Each runs in a separate process tree, confined as the call's grant
//! allows, and talks to haft over a channel. A background process ends when its owner drops it, or with the runtime.
//! haft does not distinguish the actions of a process during its call from those after the call.

mod lines;
mod output;
mod process;
mod read_only;
mod server;
mod start;

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_contract::{
    BackgroundProcess, BackgroundProcessRequest, BackgroundProcesses, BoxFuture, ErrorCode,
    FsEntryKind, ProcessFileAccess, ProcessHostAccess, ProcessWriteAccess, ToolError, ToolId,
};
use haft_policy::{
    DecisionBasis, DirectoryTrees, Grant, HostScope, PathReach, PathSubject, PolicyDecision,
    ResolvedAccess, RuleRemedy, decide_access,
};
use rustix::fs::{Mode, mkdirat};
use rustix::io::Errno;
use tokio_util::sync::CancellationToken;

pub use self::read_only::ReadOnlyBackgroundProcesses;
pub use self::server::{
    ServerProcessError, ServerProcessLauncher, ServerProcessParts, ServerProcesses,
};
use self::start::{ProcessReach, ProcessStarter, is_within, system_directory};
use crate::connection_state::{ConnectionState, check_start_directory};
use crate::roots::path_error;
use crate::sandbox::DeniedPaths;
use crate::shared::RuntimeParts;
use crate::shell::working_directory;
use crate::wait_log::{CallWaitKind, CallWaitLog};

/// The permission bits of a directory that is made for a program, before the umask.
const DIRECTORY_MODE: u32 = 0o777;

/// Starts the programs of one call that outlive it.
pub(crate) struct CallBackgroundProcesses {
    /// The connection of the call. Its restrictions also limit the programs.
    pub(crate) connection: Arc<ConnectionState>,
    /// The tool that starts the programs. Rules about this tool decide what they may change.
    pub(crate) tool: ToolId,
    /// The accesses of the call. A program gets no access that the call does not have.
    pub(crate) grant: Arc<Grant>,
    /// The hosts that the programs may reach.
    pub(crate) hosts: Arc<HostScope>,
    /// The paths that rules keep from the programs.
    pub(crate) denied: Option<Arc<DeniedPaths>>,
    /// The places that the call declared it would change, and that were judged; nothing else is changed.
    pub(crate) declared_changes: Vec<PathBuf>,
    /// Cancelled when the call is to stop; from then on nothing is started.
    pub(crate) stop: CancellationToken,
    /// Measures how long the call waits for the start of its programs.
    pub(crate) waits: Arc<CallWaitLog>,
}

impl BackgroundProcesses for CallBackgroundProcesses {
    fn start(
        &self,
        request: BackgroundProcessRequest,
    ) -> BoxFuture<'_, Result<Box<dyn BackgroundProcess>, ToolError>> {
        Box::pin(async move {
            if self.stop.is_cancelled() {
                let message = "the call was told to stop, so no program was started";
                return Err(ToolError::new(ErrorCode::ProcessAborted, message));
            }
            let hosts = match request.hosts {
                ProcessHostAccess::Granted => Arc::clone(&self.hosts),
                ProcessHostAccess::Nothing => Arc::default(),
            };
            let trees = self.trees(&request);
            self.connection.check_enforceable(&trees, &hosts)?;
            let directory = self.directory(&request, &trees)?;
            let writable = self.writable(&request.writable)?;
            // A writable place is readable too, so the agent must reach all of it.
            if let Some(place) = writable.iter().find(|place| !is_within(place, &trees.writable)) {
                let message = format!(
                    "the program is to change {:?}, of which this agent may not read and change all",
                    place.display()
                );
                return Err(ToolError::new(ErrorCode::CapabilityDenied, message));
            }
            let readable = match request.files {
                ProcessFileAccess::Roots => {
                    trees.readable.iter().chain(&trees.writable).cloned().collect()
                }
                ProcessFileAccess::Nothing => Vec::new(),
            };
            let RuntimeParts { launcher, sandbox, environment, .. } = self.runtime_parts();
            let denied = self.denied.clone();
            let access = ProcessReach { readable, writable, hosts, denied };
            let processes = &self.connection.shared.processes;
            let starter = ProcessStarter { launcher, sandbox, environment, processes };
            let starting = starter.start(request, directory, access);
            self.waits.measure(CallWaitKind::Sandbox, starting).await
        })
    }
}

impl CallBackgroundProcesses {
    fn runtime_parts(&self) -> &RuntimeParts {
        &self.connection.shared.parts
    }

    /// Returns the directories of the roots that the program may reach. If it asks for no files, haft limits nothing.
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

    /// Returns the directories that the program can change. Each is judged with everything beneath it, because haft
    /// does not judge the program's later changes.
    fn writable(&self, asked: &ProcessWriteAccess) -> Result<Vec<PathBuf>, ToolError> {
        match asked {
            ProcessWriteAccess::Nothing => Ok(Vec::new()),
            ProcessWriteAccess::Roots => {
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
            ProcessWriteAccess::Directories(paths) => {
                paths.iter().map(|path| self.writable_path(path)).collect()
            }
        }
    }

    /// Returns the absolute path of a directory that the program may change, and makes the directory if it does not
    /// exist. Fails if the path is outside the workspace, is protected, or is no directory.
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
            None => {
                let failed = |why: &dyn std::fmt::Display| {
                    let message = format!("the directory {path:?} could not be made: {why}");
                    ToolError::new(ErrorCode::PathInvalid, message)
                };
                let relative = place.relative();
                let (Some(parent), Some(name)) = (relative.parent(), relative.file_name()) else {
                    return Err(failed(&"it has no name"));
                };
                let root = self.connection.paths.root_of(&place)?;
                let parent = root.open_dir(parent).map_err(|err| path_error(path, &err))?;
                match mkdirat(&parent, name, Mode::from_raw_mode(DIRECTORY_MODE)) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(errno) => return Err(failed(&errno)),
                }
            }
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

    /// Refuses a directory that the call was not granted as a whole. The pipeline judged only the directory itself. The
    /// program can change all entries, so requirements and rules about them count here.
    fn check_change(&self, subject: &PathSubject) -> Result<(), ToolError> {
        self.runtime_parts().sandbox.check_write(subject)?;
        let is_declared =
            self.declared_changes.iter().any(|place| subject.absolute.starts_with(place));
        let whole = subject.clone().with_reach(PathReach::Tree);
        let is_permitted = self.grant.permits_write(&whole);
        // The call was judged by the rules for the directory alone. Rules for its contents may be stricter.
        let rules = self.connection.rules();
        let judged =
            |path| decide_access(&self.tool, Some(&ResolvedAccess::Write { path }), &rules);
        let is_restricted = |decision: &PolicyDecision| {
            matches!(decision.reason.basis, DecisionBasis::MayReach(_))
                || matches!(decision.remedy, Some(RuleRemedy::Change(_)))
        };
        let (alone, whole) = (judged(subject.clone()), judged(whole));
        let is_stricter =
            whole.action > alone.action || is_restricted(&whole) && !is_restricted(&alone);
        let why = if !is_declared {
            "the call did not declare that it changes it".to_owned()
        } else if is_stricter {
            whole.explain()
        } else if !is_permitted {
            "requirements or rules keep it, or some of it, from the call".to_owned()
        } else {
            return Ok(());
        };
        let message = format!("changing all of {:?} was not granted: {why}", subject.to_string());
        Err(ToolError::new(ErrorCode::CapabilityDenied, message))
    }
}
