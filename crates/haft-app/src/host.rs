//! The machine and the process that haft works in, as one value: environment, home, working directory, clock, the program
//! that confines processes, and the listener for notices. Nothing else in this crate reads them from the system, so that a
//! test or an embedder decides each of them.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft::{Clock, SystemClock};

use crate::app_error::{AppError, NextStep};
use crate::deliveries::Deliveries;
use crate::state::{StateDirectory, state_path};

/// Hears notices.
type NoticeListener = dyn Fn(&Notice) + Send + Sync;
/// Words a step for the person who uses this front end.
type StepWording = dyn Fn(&NextStep) -> Option<String> + Send + Sync;

/// The process that an application of haft runs in. Cloning is cheap.
///
/// A program starts with [`AppHost::from_process`], and a test with [`AppHost::isolated`]:
///
/// ```
/// use haft_app::host::AppHost;
///
/// # fn main() -> Result<(), haft_app::AppError> {
/// let state = std::env::temp_dir().join("haft-state");
/// let host = AppHost::isolated(&state)?.on_notice(|notice| eprintln!("{}", notice.message));
/// assert_eq!(host.home(), None);
/// assert_eq!(host.state().journal(), state.join("journal.sqlite"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct AppHost {
    /// The environment variables.
    variables: Arc<BTreeMap<OsString, OsString>>,
    /// The home directory of the user, as the environment names it.
    home: Option<PathBuf>,
    /// The directory where relative paths start, or why it is not known.
    working_directory: Result<PathBuf, String>,
    /// The program that starts confined processes, or why it is not known.
    program: Result<PathBuf, String>,
    /// The directory in which haft stores the state of the user.
    state: StateDirectory,
    /// Tells the time.
    clock: Arc<dyn Clock>,
    /// Receives the notices.
    listener: Arc<NoticeListener>,
    /// Words steps, where they leave the process as text.
    wording: Arc<StepWording>,
    /// The deliveries of notifications.
    deliveries: Arc<Deliveries>,
}

/// Something that a person should know and that stops nothing.
///
/// haft sends notices where a command line prints warnings: a server that does not start, a setting that is not trusted, a
/// call in doubt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// How important the notice is.
    pub level: NoticeLevel,
    /// The text. It may hold names that strangers chose, so a terminal must escape its control characters.
    pub message: String,
    /// The step that helps, if there is one.
    pub next: Option<NextStep>,
}

/// How much a notice matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoticeLevel {
    /// Something is not as its reader may expect.
    Warning,
    /// Only a person who watches cares.
    Aside,
}

impl AppHost {
    /// Returns the host of this process: its environment, home, working directory, program and the system's clock.
    /// Notices go to `tracing` as warnings until [`Self::on_notice`] names a listener.
    ///
    /// # Errors
    ///
    /// Fails if there is neither a home directory nor a variable that names the state directory, and for root if others may
    /// change that directory.
    pub fn from_process() -> Result<Self, AppError> {
        let variables: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
        let home = std::env::home_dir();
        let variable = |name: &str| variables.get(OsStr::new(name)).cloned();
        let state = StateDirectory::new(state_path(variable, home.clone())?)?;
        state.check_owner()?;
        let working_directory = std::env::current_dir().map_err(|err| err.to_string());
        let program = std::env::current_exe().map_err(|err| err.to_string());
        Ok(Self {
            variables: Arc::new(variables),
            home,
            working_directory,
            program,
            state,
            clock: Arc::new(SystemClock),
            listener: Arc::new(trace_notice),
            wording: Arc::new(|_| None),
            deliveries: Arc::default(),
        })
    }

    /// Returns a host with nothing of this process but its program and the system's clock: no environment, no home, no
    /// working directory, and the state in the directory that is named.
    ///
    /// # Errors
    ///
    /// Fails if `state` is a relative path and this process has no working directory.
    pub fn isolated(state: &Path) -> Result<Self, AppError> {
        Ok(Self {
            variables: Arc::default(),
            home: None,
            working_directory: Err("the host is isolated".to_owned()),
            program: std::env::current_exe().map_err(|err| err.to_string()),
            state: StateDirectory::new(state.to_owned())?,
            clock: Arc::new(SystemClock),
            listener: Arc::new(trace_notice),
            wording: Arc::new(|_| None),
            deliveries: Arc::default(),
        })
    }

    /// Returns the same host with another listener for notices.
    pub fn on_notice(mut self, listener: impl Fn(&Notice) + Send + Sync + 'static) -> Self {
        self.listener = Arc::new(listener);
        self
    }

    /// Returns the same host with words for steps in notifications, such as commands. Without them, a notification names the
    /// facts alone.
    pub fn with_step_words(
        mut self,
        wording: impl Fn(&NextStep) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.wording = Arc::new(wording);
        self
    }

    /// Returns the same host with deliveries that another owner waits for at the end of the program.
    pub fn delivering_through(mut self, deliveries: Arc<Deliveries>) -> Self {
        self.deliveries = deliveries;
        self
    }

    /// Returns the same host with another program that starts and confines processes, such as an installed `haft`. Its
    /// `main` must start as [`Self::program`] says.
    pub fn using_program(mut self, program: PathBuf) -> Self {
        self.program = Ok(program);
        self
    }

    /// Returns the same host with another value of an environment variable.
    #[cfg(test)]
    pub(crate) fn with_variable(mut self, name: &str, value: &OsStr) -> Self {
        Arc::make_mut(&mut self.variables).insert(name.into(), value.to_owned());
        self
    }

    /// Returns the same host with another home directory.
    #[cfg(test)]
    pub(crate) fn with_home(mut self, home: PathBuf) -> Self {
        self.home = Some(home);
        self
    }

    /// Returns the same host with another working directory, from which a manifest is looked for.
    pub fn in_directory(mut self, directory: PathBuf) -> Self {
        self.working_directory = Ok(directory);
        self
    }

    /// Returns the value of an environment variable.
    pub fn variable(&self, name: &str) -> Option<OsString> {
        self.variables.get(OsStr::new(name)).cloned()
    }

    /// Returns the value of an environment variable, if it is set to something.
    pub fn variable_if_set(&self, name: &str) -> Option<OsString> {
        self.variable(name).filter(|value| !value.is_empty())
    }

    /// Returns the value of an environment variable as text.
    pub fn variable_text(&self, name: &str) -> Option<String> {
        Some(self.variable(name)?.to_string_lossy().into_owned())
    }

    /// Returns all environment variables.
    pub fn variables(&self) -> impl Iterator<Item = (OsString, OsString)> + '_ {
        self.variables.iter().map(|(name, value)| (name.clone(), value.clone()))
    }

    /// Returns the user's home directory, if there is one.
    pub fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// Returns the user's home directory, if there is one and its path is absolute.
    pub fn absolute_home(&self) -> Option<&Path> {
        self.home().filter(|home| home.is_absolute())
    }

    /// Returns the directory that the user keeps configuration in, whether it exists or not.
    pub fn config_directory(&self) -> Option<PathBuf> {
        self.directory_of_user("XDG_CONFIG_HOME", ".config", self.absolute_home())
    }

    /// Returns the directory of the user's data, which `{user-data}` in patterns stands for.
    pub fn user_data(&self) -> Option<PathBuf> {
        self.directory_of_user("XDG_DATA_HOME", ".local/share", self.home())
    }

    /// Returns a directory that a variable names, or its usual place in the home directory.
    fn directory_of_user(
        &self,
        variable: &str,
        below_home: &str,
        home: Option<&Path>,
    ) -> Option<PathBuf> {
        // The XDG specification wants a relative path there to be ignored.
        let named = self.variable(variable).map(PathBuf::from).filter(|path| path.is_absolute());
        named.or_else(|| Some(home?.join(below_home)))
    }

    /// Returns the directory that relative paths start at, and from which a manifest is looked for.
    ///
    /// # Errors
    ///
    /// Fails if the directory of the process is gone, and on an isolated host that was given none.
    pub fn working_directory(&self) -> Result<PathBuf, AppError> {
        self.working_directory
            .clone()
            .map_err(|why| AppError::configuration(format!("there is no working directory: {why}")))
    }

    /// Returns a path for a message: relative to the working directory if it lies there, and whole otherwise.
    pub fn shown_path(&self, path: &Path) -> String {
        let current = self.working_directory.as_deref().unwrap_or(Path::new(""));
        match path.strip_prefix(current) {
            Ok(inside) if inside.as_os_str().is_empty() => ".".to_owned(),
            Ok(inside) => inside.display().to_string(),
            Err(_) => path.display().to_string(),
        }
    }

    /// Returns the program that starts and confines processes: the one of this process. Its `main` must call
    /// `haft_sandbox::helper::run_if_requested` first, or commands do not start.
    ///
    /// # Errors
    ///
    /// Fails if the system does not tell the path of the program of this process.
    pub fn program(&self) -> Result<PathBuf, AppError> {
        let program = self.program.clone();
        program
            .map_err(|why| AppError::failed(format!("haft does not find its own program: {why}")))
    }

    /// Returns the path of another program of haft, which is installed beside this one. It may be missing.
    ///
    /// # Errors
    ///
    /// Fails like [`Self::program`].
    pub fn companion(&self, name: &str) -> Result<PathBuf, AppError> {
        Ok(self.program()?.with_file_name(name))
    }

    /// Returns the directory of the files that outlive a process, such as the journal.
    pub fn state(&self) -> &StateDirectory {
        &self.state
    }

    /// Returns the clock.
    pub fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.clock)
    }

    /// Returns the time, in milliseconds since 1970.
    pub fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    /// Returns a step in the words of the front end, if it has any.
    pub(crate) fn words_of(&self, step: &NextStep) -> Option<String> {
        (self.wording)(step)
    }

    /// Returns the deliveries of notifications. A program waits for them at its end.
    pub fn deliveries(&self) -> &Arc<Deliveries> {
        &self.deliveries
    }

    /// Tells the listener that something is not as its reader may expect.
    pub fn warn(&self, message: impl Into<String>) {
        self.notify(NoticeLevel::Warning, message.into(), None);
    }

    /// Tells the listener that something is not as its reader may expect, and what helps.
    pub fn warn_with(&self, message: impl Into<String>, next: NextStep) {
        self.notify(NoticeLevel::Warning, message.into(), Some(next));
    }

    /// Tells the listener something that only a person who watches cares about.
    pub fn mention(&self, message: impl Into<String>) {
        self.notify(NoticeLevel::Aside, message.into(), None);
    }

    /// Tells the listener something that only a person who watches cares about, and what helps.
    pub fn mention_with(&self, message: impl Into<String>, next: NextStep) {
        self.notify(NoticeLevel::Aside, message.into(), Some(next));
    }

    /// Passes a notice to the listener.
    fn notify(&self, level: NoticeLevel, message: String, next: Option<NextStep>) {
        (self.listener)(&Notice { level, message, next });
    }
}

impl fmt::Debug for AppHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The environment holds secrets.
        f.debug_struct("AppHost").field("home", &self.home).field("state", &self.state).finish()
    }
}

/// Writes a notice to the log.
fn trace_notice(notice: &Notice) {
    match notice.level {
        NoticeLevel::Warning => tracing::warn!("{}", notice.message),
        NoticeLevel::Aside => tracing::info!("{}", notice.message),
    }
}
