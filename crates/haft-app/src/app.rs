//! An application of haft: the tools, rules, journal and sandbox of a workspace, put together as the command line does it,
//! with tools of the program beside them. The runtime executes the calls.

use std::path::Path;
use std::sync::Arc;

use haft::{Call, Run, RunError, Runtime};
use haft_contract::{Envelope, RunId, Tool, ToolId};
use haft_journal::Journal;
use serde_json::Value;

use crate::app_error::AppError;
use crate::compose::{self, AvailableTools};
use crate::deliveries::Deliveries;
use crate::host::AppHost;
use crate::overrides::SettingOverrides;
use crate::settings::{self, EffectiveSettings};

/// The kind of front end that runs of programs are recorded with.
const FRONT_END: &str = "app";

/// An application of haft in a workspace. Its settings are those of the workspace's `haft.toml`, as far as they hold.
pub struct App {
    /// The environment and the clock of the application.
    host: AppHost,
    /// The settings that hold in the workspace.
    settings: EffectiveSettings,
    /// The tools of the program, in addition to those of the settings.
    tools: Vec<Tool>,
    /// The journal of the program. Without one, calls are recorded where the settings say.
    journal: Option<Arc<dyn Journal>>,
}

/// A run of an application, to which calls belong.
pub struct AppRun {
    /// The run in which calls are made.
    run: Run,
    /// The runtime of the run. It ends when the application closes the run.
    runtime: Runtime,
    /// The deliveries of notifications.
    deliveries: Arc<Deliveries>,
}

impl App {
    /// Opens the application of a workspace in this process.
    ///
    /// # Errors
    ///
    /// Fails if the workspace is not a directory that can be opened, if its manifest or a rule in it cannot be used, and as
    /// [`AppHost::from_process`] does.
    pub fn open(workspace: impl AsRef<Path>) -> Result<Self, AppError> {
        Self::open_on(AppHost::from_process()?, workspace)
    }

    /// Opens the application of a workspace on a host. Nothing else of this process is read.
    ///
    /// # Errors
    ///
    /// Fails like [`Self::open`], except that the host is there already.
    pub fn open_on(host: AppHost, workspace: impl AsRef<Path>) -> Result<Self, AppError> {
        Self::open_with(host, workspace, &SettingOverrides::default())
    }

    /// Opens the application of a workspace on a host, with settings that come before those of the manifest.
    ///
    /// # Errors
    ///
    /// Fails like [`Self::open_on`], and if an override names something that does not exist.
    pub fn open_with(
        host: AppHost,
        workspace: impl AsRef<Path>,
        overrides: &SettingOverrides,
    ) -> Result<Self, AppError> {
        let workspace = workspace.as_ref();
        let directory = workspace.canonicalize().map_err(|err| {
            AppError::configuration(format!("{} cannot be used: {err}", workspace.display()))
        })?;
        let host = host.in_directory(directory);
        let settings = settings::resolve(overrides, &host)?;
        Ok(Self { host, settings, tools: Vec::new(), journal: None })
    }

    /// Adds a tool of this program, and allows its calls. A rule of the manifest that denies them still holds.
    pub fn tool(mut self, tool: Tool) -> Self {
        self.tools.push(tool);
        self
    }

    /// Records calls in this journal instead of the one that the settings name. Nothing is then recorded by which changes
    /// of the workspace could be undone.
    pub fn journal(mut self, journal: Arc<dyn Journal>) -> Self {
        self.journal = Some(journal);
        self
    }

    /// Returns the settings that hold.
    pub fn settings(&self) -> &EffectiveSettings {
        &self.settings
    }

    /// Returns the host.
    pub fn host(&self) -> &AppHost {
        &self.host
    }

    /// Opens a run by its name. A run that exists is continued.
    ///
    /// # Errors
    ///
    /// Fails if the name is no run id, if two tools have one id, if a rule names no tool, if the journal cannot be opened, and
    /// if what an earlier process left in it cannot be read or written.
    pub async fn run(self, name: &str) -> Result<AppRun, AppError> {
        let id = RunId::parse(name).map_err(AppError::configuration)?;
        let Self { host, mut settings, tools: own, journal } = self;
        let mut tools = AvailableTools::find(&settings, &host).await?;
        for tool in own {
            let id: ToolId = tools.add(tool)?;
            settings.allow.push(id.to_string());
        }
        let runtime = match journal {
            Some(journal) => compose::runtime_on(journal, &tools, &settings, &host)?,
            None => compose::runtime_of(&tools, &settings, &host).await?,
        };
        compose::recover(&runtime, &host).await?;
        let connection = compose::open_connection(&runtime, &settings, &host, FRONT_END)?;
        Ok(AppRun { run: connection.run(id), runtime, deliveries: Arc::clone(host.deliveries()) })
    }
}

impl AppRun {
    /// Makes a call, and returns its envelope.
    ///
    /// # Errors
    ///
    /// Fails only if haft cannot say what happened: the journal failed, or the run recorded another input for this call. An
    /// envelope says everything else, refusals included.
    pub async fn call(&self, tool: &str, input: Value) -> Result<Envelope, RunError> {
        self.run.call(Call::new(tool, input)).await
    }

    /// Returns the run, for calls with a place, a timeout or a name of their own.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Returns the runtime.
    pub fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// Ends what still runs, and returns once that is recorded. Notifications get a short time to be delivered.
    pub async fn close(&self) {
        self.runtime.shut_down().await;
        let deliveries = Arc::clone(&self.deliveries);
        // The thread of this task is not kept from its other work.
        let _ = tokio::task::spawn_blocking(move || deliveries.finish()).await;
    }
}
