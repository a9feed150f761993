//! The source of all pages: the journal, and the settings and files of the workspace that the inspector was started in.

use std::path::Path;
use std::sync::Arc;

use haft_app::SettingOverrides;
use haft_app::host::AppHost;
use haft_app::process_identity;
use haft_app::settings::{self, EffectiveSettings};
use haft_contract::RunId;
use haft_journal::{Journal, RunQuery, RunRow};
use haft_server::BrowserSessions;
use tokio::sync::{Mutex, Semaphore};

use crate::limits::STREAMS_MAX;
use crate::page_error::PageError;
use crate::request::parse_run;

/// The parts of an inspector.
pub struct InspectorParts {
    /// The environment and the clock.
    pub host: AppHost,
    /// The settings of the workspace that the inspector was started in. They name the journal.
    pub settings: EffectiveSettings,
    /// The settings that come before those of a manifest.
    pub overrides: SettingOverrides,
    /// The browsers that may use the inspector.
    pub sessions: Arc<BrowserSessions>,
}

/// The source of all pages.
pub(crate) struct Source {
    pub(crate) host: AppHost,
    pub(crate) settings: EffectiveSettings,
    overrides: SettingOverrides,
    pub(crate) sessions: Arc<BrowserSessions>,
    /// The journal, once there is one. The first page that finds it writes it.
    journal: Mutex<Option<Arc<dyn Journal>>>,
    /// The places of streams of events.
    pub(crate) streams: Arc<Semaphore>,
}

impl Source {
    pub(crate) fn new(parts: InspectorParts) -> Self {
        let InspectorParts { host, settings, overrides, sessions } = parts;
        let streams = Arc::new(Semaphore::new(STREAMS_MAX));
        Self { host, settings, overrides, sessions, journal: Mutex::default(), streams }
    }

    /// Returns the journal; `None` if nothing was recorded yet.
    pub(crate) async fn journal(&self) -> Result<Option<Arc<dyn Journal>>, PageError> {
        let mut journal = self.journal.lock().await;
        if journal.is_none() {
            *journal = self.settings.durability.journal.open_to_read().await?;
        }
        Ok(journal.clone())
    }

    /// Returns the journal; an error if nothing was recorded yet.
    pub(crate) async fn present_journal(&self) -> Result<Arc<dyn Journal>, PageError> {
        let journal = self.journal().await?;
        journal.ok_or_else(|| PageError::not_found("nothing was recorded yet"))
    }

    /// Returns a run, with the journal that it is in.
    pub(crate) async fn present_run(
        &self,
        run: &str,
    ) -> Result<(Arc<dyn Journal>, RunRow), PageError> {
        let journal = self.present_journal().await?;
        let run = find_run(&*journal, &parse_run(run)?).await?;
        Ok((journal, run))
    }

    /// Forgets the opened journal after a failure. The next page opens it again.
    pub(crate) async fn forget_journal(&self) {
        *self.journal.lock().await = None;
    }

    /// Returns who answers on these pages, as the journal names that person.
    pub(crate) fn person(&self) -> Result<String, PageError> {
        let place = process_identity::this_process(self.host.now_ms())?.location;
        let user = ["USER", "LOGNAME"].iter().find_map(|name| self.host.variable_text(name));
        Ok(match user.filter(|user| !user.is_empty()) {
            Some(user) => format!("{user} ({place})"),
            None => place,
        })
    }

    /// Returns the settings for work in a root: those of its manifest, with this inspector's journal. Where these cannot be
    /// read, those of the inspector.
    pub(crate) fn settings_in(&self, root: &Path) -> (EffectiveSettings, AppHost) {
        let host = self.host.clone().in_directory(root.to_path_buf());
        match settings::resolve(&self.overrides, &host) {
            Ok(of_root) => {
                let durability = self.settings.durability.clone();
                (EffectiveSettings { durability, ..of_root }, host)
            }
            Err(_) => (self.settings.clone(), self.host.clone()),
        }
    }
}

/// Returns a run.
pub(crate) async fn find_run(journal: &dyn Journal, run: &RunId) -> Result<RunRow, PageError> {
    let query = RunQuery { run: Some(run.clone()), ..RunQuery::default() };
    let found = journal.runs(query).await?.pop();
    found.ok_or_else(|| PageError::not_found(format!("There is no run {run} in this journal.")))
}
