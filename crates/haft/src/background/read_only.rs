//! Programs of a front end's own, started outside of any call: they read the roots and what they are given to read, change
//! nothing and reach no host. No rule and no journal knows of them, which is why they are granted nothing else.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_contract::{
    BackgroundProcess, BackgroundProcessRequest, BackgroundProcesses, BoxFuture, ErrorCode,
    ProcessWriteAccess, ToolError,
};
use haft_policy::HostScope;
use haft_sandbox::{Launcher, Network, SandboxCommand};

use super::process::RunningProcess;
use super::{boxed_process, readable_path, sandbox_channel};
use crate::process_registry::ProcessRegistry;
use crate::roots::{WorkspaceRoots, path_error};
use crate::sandbox::Sandbox;
use crate::shell::{ProcessBounds, start_process};

/// Starts programs that belong to no call and only read, confined like those of calls.
///
/// A front end needs them while it puts a runtime together, such as to find out which tools there are. Where the kernel
/// cannot confine them they are not started, unless the sandbox says that nothing is confined.
pub struct ReadOnlyBackgroundProcesses {
    launcher: Launcher,
    sandbox: Sandbox,
    roots: WorkspaceRoots,
    environment: Vec<(OsString, OsString)>,
    processes: ProcessRegistry,
}

impl ReadOnlyBackgroundProcesses {
    /// Returns what starts programs with this environment; they see the roots, and may read what the sandbox names.
    pub fn new(
        launcher: Launcher,
        sandbox: Sandbox,
        roots: WorkspaceRoots,
        environment: Vec<(OsString, OsString)>,
    ) -> Self {
        Self { launcher, sandbox, roots, environment, processes: ProcessRegistry::default() }
    }

    async fn start_running(
        &self,
        request: BackgroundProcessRequest,
    ) -> Result<RunningProcess, ToolError> {
        if request.writable != ProcessWriteAccess::Nothing {
            let message = "the program is to change files, which only programs of calls do";
            return Err(ToolError::new(ErrorCode::CapabilityDenied, message));
        }
        let directory = request.cwd.as_deref().unwrap_or(".");
        let (place, _) = self.roots.resolve(directory)?;
        let root = self.roots.root(place.root()).ok_or_else(|| {
            let message = format!("cwd {directory:?} is outside the workspace");
            ToolError::new(ErrorCode::PathEscape, message)
        })?;
        let handle = root.open_dir(place.relative()).map_err(|err| path_error(directory, &err))?;
        let mut command = SandboxCommand::new(request.program, handle)
            .args(request.args)
            .channel(sandbox_channel(request.channel));
        command.env = self.environment.iter().cloned().chain(request.env).collect();
        let bounds = ProcessBounds {
            writable: Vec::new(),
            readable: self.readable(&request.readable)?,
            network: Network::Loopback,
            hosts: Arc::new(HostScope::default()),
            memory_bytes: request.memory_bytes,
        };
        let memory_bytes = bounds.memory_bytes(&self.sandbox);
        let started = start_process(&self.launcher, &self.sandbox, command, bounds).await?;
        RunningProcess::new(started, memory_bytes, &self.processes)
    }

    fn readable(&self, asked: &[PathBuf]) -> Result<Vec<PathBuf>, ToolError> {
        let mut readable = self.roots.paths();
        for path in asked.iter().map(|path| readable_path(&self.sandbox, Path::new(path))) {
            readable.push(path?);
        }
        Ok(readable)
    }
}

impl BackgroundProcesses for ReadOnlyBackgroundProcesses {
    fn start(
        &self,
        request: BackgroundProcessRequest,
    ) -> BoxFuture<'_, Result<Box<dyn BackgroundProcess>, ToolError>> {
        boxed_process(self.start_running(request))
    }
}
