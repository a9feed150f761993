//! Why an application cannot be put together, and the step that helps, as values. A front end words the step for its
//! reader and decides how its own process ends; no option of a command is named here.

use std::fmt;
use std::path::PathBuf;

use haft::{RegistryError, RunError, RuntimeError, WorkspaceRootsError};
use haft_contract::RunId;
use haft_journal::JournalError;
use haft_model::ModelError;

use crate::server_package::{PackageRegistry, RegistryPackage};

/// Says why an application cannot do its work.
///
/// Its text is the message alone. A front end words [`AppError::next`] for its reader,
/// as a command, a button or a request.
#[derive(Debug)]
pub struct AppError {
    /// The kind of failure, with the error of the crate that reported it.
    pub kind: AppErrorKind,
    /// The failure in words: lower case, without a full stop at the end.
    pub message: String,
    /// The step that helps, if there is one.
    pub next: Option<NextStep>,
}

/// The kinds of [`AppError`]. A front end derives the exit status of its process from the kind.
#[derive(Debug)]
#[non_exhaustive]
pub enum AppErrorKind {
    /// The configuration or the input is not usable. Nothing was executed.
    Configuration,
    /// The work failed in another way.
    Failed,
    /// The journal is not usable.
    Journal(Box<JournalError>),
    /// A run cannot say what happened.
    Run(Box<RunError>),
    /// A model is not usable, or gave no answer.
    Model(Box<ModelError>),
}

/// One step that a person can take about an error or a notice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextStep {
    /// Name a state directory.
    NameStateDirectory,
    /// Name a state directory that can be written.
    NameWritableStateDirectory,
    /// Name another root.
    NameRoot,
    /// Name a model.
    NameModel,
    /// Make a manifest.
    MakeManifest,
    /// Trust this manifest.
    Trust(PathBuf),
    /// Look which tools there are.
    ListTools,
    /// Look which rules there are.
    ListRules,
    /// Look what became of the calls of this run.
    ShowRun(RunId),
    /// Look at this ask, and answer it.
    ShowAsk(String),
    /// Test this MCP server.
    TestServer(String),
    /// Log in to this MCP server.
    LogIn(String),
    /// Install the program of this MCP server once, and start it instead of downloading it.
    InstallServer(Box<ServerInstall>),
    /// Install the package of a registry that this MCP server is. Its settings stay as they are.
    InstallPackage {
        /// The server.
        server: String,
        /// The package.
        package: RegistryPackage,
    },
    /// Check the skills.
    CheckSkills,
    /// Check the agents.
    CheckAgents,
    /// Remove this file.
    RemoveFile(PathBuf),
    /// Look who may use this file.
    InspectFile(PathBuf),
    /// Take the right to write these files from everyone but their owner.
    RestrictFiles(Vec<PathBuf>),
    /// Look how much room is left in this directory.
    InspectDisk(PathBuf),
    /// Do what the text says, which names what to change.
    Advice(String),
}

/// An installation of the program of an MCP server, which then needs no download.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerInstall {
    /// The name of the server.
    pub server: String,
    /// The reason why the download does not work.
    pub problem: String,
    /// The registry that has the package.
    pub registry: PackageRegistry,
    /// The package, if the command of the server names one.
    pub package: Option<String>,
    /// The arguments that the server gets.
    pub arguments: Vec<String>,
}

impl AppError {
    /// Returns the error of a configuration or an input that is not usable.
    pub fn configuration(message: impl fmt::Display) -> Self {
        Self::new(AppErrorKind::Configuration, message)
    }

    /// Returns the error of work that failed.
    pub fn failed(message: impl fmt::Display) -> Self {
        Self::new(AppErrorKind::Failed, message)
    }

    /// Returns the error with a step that helps.
    pub fn next(mut self, step: NextStep) -> Self {
        self.next = Some(step);
        self
    }

    /// Returns an error of this kind, without a next step.
    fn new(kind: AppErrorKind, message: impl fmt::Display) -> Self {
        Self { kind, message: message.to_string(), next: None }
    }
}

impl fmt::Display for AppError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for AppError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.kind {
            AppErrorKind::Configuration | AppErrorKind::Failed => None,
            AppErrorKind::Journal(err) => Some(err.as_ref()),
            AppErrorKind::Run(err) => Some(err.as_ref()),
            AppErrorKind::Model(err) => Some(err.as_ref()),
        }
    }
}

impl From<RuntimeError> for AppError {
    fn from(err: RuntimeError) -> Self {
        Self::configuration(err)
    }
}

impl From<WorkspaceRootsError> for AppError {
    fn from(err: WorkspaceRootsError) -> Self {
        Self::configuration(err)
    }
}

impl From<RegistryError> for AppError {
    fn from(err: RegistryError) -> Self {
        Self::configuration(err)
    }
}

impl From<JournalError> for AppError {
    fn from(err: JournalError) -> Self {
        let message = err.to_string();
        Self::new(AppErrorKind::Journal(Box::new(err)), message)
    }
}

impl From<RunError> for AppError {
    fn from(err: RunError) -> Self {
        let message = err.to_string();
        Self::new(AppErrorKind::Run(Box::new(err)), message)
    }
}

impl From<ModelError> for AppError {
    fn from(err: ModelError) -> Self {
        let message = err.to_string();
        Self::new(AppErrorKind::Model(Box::new(err)), message)
    }
}
