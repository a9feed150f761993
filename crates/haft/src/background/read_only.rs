//! Programs that a front end starts outside of calls. They read the roots and the paths that a request names. They
//! change no file and reach no host, because no rule judges them and no journal records them.

use std::ffi::OsString;
use std::sync::Arc;

use haft_contract::{
    BackgroundProcess, BackgroundProcessRequest, BackgroundProcesses, BoxFuture, ErrorCode,
    ProcessWriteAccess, ToolError, ToolId,
};
use haft_policy::{PathDenials, RuleSet};
use haft_sandbox::Launcher;

use super::start::{ProcessReach, ProcessStarter, root_directory};
use crate::process_registry::ProcessRegistry;
use crate::roots::WorkspaceRoots;
use crate::sandbox::{DeniedPaths, Sandbox};

/// Starts programs that belong to no call and only read, confined like the programs of calls.
///
/// A front end needs such programs before it has a runtime, for example to list the tools of Python files. If the kernel
/// cannot confine a program, haft does not start it, unless the sandbox is [off](crate::ConfineMode::UnsafeNever).
pub struct ReadOnlyBackgroundProcesses {
    /// Starts the processes.
    launcher: Launcher,
    /// Confines the processes.
    sandbox: Sandbox,
    /// The directories that the processes can read.
    roots: WorkspaceRoots,
    /// The environment of all processes. A request adds variables.
    environment: Vec<(OsString, OsString)>,
    /// The paths that rules keep from every process.
    denied: Option<Arc<DeniedPaths>>,
    /// The processes that run.
    processes: ProcessRegistry,
}

impl ReadOnlyBackgroundProcesses {
    /// Returns a starter of programs with this environment. The programs can read the roots and the readable paths of the
    /// sandbox, without the paths that these rules deny to the tool `name`.
    pub fn new(
        launcher: Launcher,
        sandbox: Sandbox,
        roots: WorkspaceRoots,
        environment: Vec<(OsString, OsString)>,
        (name, rules): (&ToolId, &RuleSet),
    ) -> Self {
        let denied = DeniedPaths::new(PathDenials::of_tool(name, rules), roots.paths());
        let processes = ProcessRegistry::default();
        Self { launcher, sandbox, roots, environment, denied, processes }
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
            let Self { launcher, sandbox, roots, environment, denied, processes } = self;
            let directory = root_directory(roots, request.cwd.as_deref().unwrap_or("."))?;
            let (readable, denied) = (roots.paths(), denied.clone());
            let access = ProcessReach { readable, denied, ..ProcessReach::default() };
            let starter = ProcessStarter { launcher, sandbox, environment, processes };
            starter.start(request, directory, access).await
        })
    }
}
