//! Programs of a front end's own, started outside of any call: they read the roots and what they are given to read, change
//! nothing and reach no host. No rule and no journal knows of them, which is why they are granted nothing else.

use std::ffi::OsString;
use std::sync::Arc;

use haft_contract::{
    BackgroundProcess, BackgroundProcessRequest, BackgroundProcesses, BoxFuture, ErrorCode,
    ProcessWriteAccess, ToolError,
};
use haft_policy::HostScope;
use haft_sandbox::{Launcher, Network};

use super::start::{ProcessStarter, readable_path, root_directory};
use crate::process_registry::ProcessRegistry;
use crate::roots::WorkspaceRoots;
use crate::sandbox::Sandbox;
use crate::shell::ProcessBounds;

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
}

impl BackgroundProcesses for ReadOnlyBackgroundProcesses {
    fn start(
        &self,
        request: BackgroundProcessRequest,
    ) -> BoxFuture<'_, Result<Box<dyn BackgroundProcess>, ToolError>> {
        Box::pin(async move {
            if request.writable != ProcessWriteAccess::Nothing {
                let message = "the program is to change files, which only programs of calls do";
                return Err(ToolError::new(ErrorCode::CapabilityDenied, message));
            }
            let Self { launcher, sandbox, roots, environment, processes } = self;
            let directory = root_directory(roots, request.cwd.as_deref().unwrap_or("."))?;
            let mut readable = roots.paths();
            for path in &request.readable {
                readable.push(readable_path(sandbox, path)?);
            }
            let bounds = ProcessBounds {
                writable: Vec::new(),
                readable,
                network: Network::Loopback,
                hosts: Arc::new(HostScope::default()),
                memory_bytes: request.memory_bytes,
            };
            let starter = ProcessStarter { launcher, sandbox, environment, processes };
            starter.start(request, directory, bounds).await
        })
    }
}
