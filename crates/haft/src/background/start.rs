//! The steps that all ways to start a background process share. The callers decide what the process may reach.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_contract::{BackgroundProcess, BackgroundProcessRequest, ErrorCode, ToolError};
use haft_policy::{HostScope, PathSubject};
use haft_sandbox::{Launcher, Network, SandboxCommand};
use rustix::fs::{Mode, OFlags, open};

use super::process::RunningProcess;
use crate::process_registry::ProcessRegistry;
use crate::roots::{WorkspaceRoots, path_error};
use crate::sandbox::{DeniedPaths, Sandbox};
use crate::shell::{ProcessBounds, start_process};

/// The parts with which a background process is started.
pub(super) struct ProcessStarter<'a> {
    /// Starts the processes.
    pub(super) launcher: &'a Launcher,
    /// Confines the processes.
    pub(super) sandbox: &'a Sandbox,
    /// The environment of every process. A request adds variables.
    pub(super) environment: &'a [(OsString, OsString)],
    /// The running processes, to which the started one is added.
    pub(super) processes: &'a ProcessRegistry,
}

/// The places that a background process may reach.
#[derive(Default)]
pub(super) struct ProcessReach {
    /// The directories that it can read, in addition to those of every process.
    pub(super) readable: Vec<PathBuf>,
    /// The directories that it can change.
    pub(super) writable: Vec<PathBuf>,
    /// The hosts that its proxy admits.
    pub(super) hosts: Arc<HostScope>,
    /// The paths that rules keep from it.
    pub(super) denied: Option<Arc<DeniedPaths>>,
}

impl ProcessStarter<'_> {
    /// Starts the requested program in a directory, with this access and the readable paths of its request.
    ///
    /// Fails if the sandbox hides one of these paths from every process, or if the program cannot be started.
    pub(super) async fn start(
        &self,
        request: BackgroundProcessRequest,
        directory: OwnedFd,
        access: ProcessReach,
    ) -> Result<Box<dyn BackgroundProcess>, ToolError> {
        let ProcessReach { mut readable, writable, hosts, denied } = access;
        for path in &request.readable {
            // The grant leaves out a path that does not exist.
            let path = path.canonicalize().unwrap_or_else(|_| path.clone());
            self.sandbox.check_read(&PathSubject::outside_roots(path.clone()))?;
            readable.push(path);
        }
        // A writable path is readable too. Naming it twice would make it read-only.
        readable.retain(|path| !is_within(path, &writable));
        let bounds = ProcessBounds {
            outputs: Vec::new(),
            readable,
            writable,
            // The ordinary network is for commands, which are judged as such. Programs are judged by their hosts.
            network: if hosts.is_empty() { Network::Loopback } else { Network::Proxied },
            hosts,
            denied,
            memory_bytes: request.memory_bytes,
        };
        let channel = match request.channel {
            haft_contract::ProcessChannel::Descriptor => haft_sandbox::CommandChannel::Descriptor,
            haft_contract::ProcessChannel::Stdio => haft_sandbox::CommandChannel::Stdio,
        };
        let mut command =
            SandboxCommand::new(request.program, directory).args(request.args).channel(channel);
        // The keys of a call are not added, because the process outlives the call.
        command.env = self.environment.iter().cloned().chain(request.env).collect();
        let memory_bytes = bounds.memory_bytes(self.sandbox);
        let started = start_process(self.launcher, self.sandbox, command, bounds).await?;
        Ok(Box::new(RunningProcess::new(started, memory_bytes, self.processes)?))
    }
}

// The contract names the number without knowing the sandbox.
const _: () = assert!(haft_contract::CHANNEL_DESCRIPTOR == haft_sandbox::CHANNEL_DESCRIPTOR);

/// Opens a directory within a root.
pub(super) fn root_directory(roots: &WorkspaceRoots, cwd: &str) -> Result<OwnedFd, ToolError> {
    let (place, _) = roots.resolve(cwd)?;
    let root = roots.root(place.root()).ok_or_else(|| {
        let message = format!("cwd {cwd:?} is outside the workspace");
        ToolError::new(ErrorCode::PathEscape, message)
    })?;
    root.open_dir(place.relative()).map_err(|err| path_error(cwd, &err))
}

/// Opens a directory of the system, for a program that must not start in a root.
pub(super) fn system_directory(
    sandbox: &Sandbox,
    roots: &WorkspaceRoots,
) -> Result<OwnedFd, ToolError> {
    let mut system = sandbox.readable.iter().filter_map(|place| place.canonicalize().ok());
    let is_apart = |place: &PathBuf| place.is_dir() && !is_within(place, &roots.paths());
    let place = system.find(is_apart).unwrap_or_else(|| PathBuf::from("/usr"));
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    open(&place, flags, Mode::empty()).map_err(|errno| {
        let message = format!("{} cannot be entered: {errno}", place.display());
        ToolError::new(ErrorCode::ProcessSpawnFailed, message)
    })
}

/// Returns whether a path is one of the directories or lies in one.
pub(super) fn is_within(place: &Path, directories: &[PathBuf]) -> bool {
    directories.iter().any(|directory| place.starts_with(directory))
}
