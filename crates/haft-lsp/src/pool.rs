//! The servers of a tool: one per project and language. The first call that needs a server starts
//! it, one call at a time uses it, it is kept running, and it is replaced after it has ended. A
//! server that fails repeatedly is not started for a while, and no call waits for that.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex as StdMutex, PoisonError};

use haft_contract::{Cx, ErrorCode, FailureBackoff, ToolError};
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::time::{Instant, timeout_at};

use crate::language::{Language, ServerProgram, ServerProgramError};
use crate::limits::SERVERS_MAX;
use crate::options::LspOptions;
use crate::project_files::ProjectFiles;
use crate::server::{LanguageServer, LanguageServerStart, LspCallError};

/// The servers, and the parameters for starting them.
pub(crate) struct LanguageServerPool {
    pub(crate) options: LspOptions,
    // Every call looks up its slot, and the first one of a project adds it. The lock is held only
    // for that.
    slots: StdMutex<HashMap<LanguageServerKey, Arc<Mutex<LanguageServerSlot>>>>,
}

/// A project and a language.
#[derive(Clone, PartialEq, Eq, Hash)]
struct LanguageServerKey {
    directory: PathBuf,
    language: String,
    /// The restrictions of the session. Servers are not shared between different restrictions,
    /// because a server knows every file that it was shown and answers any caller.
    restrictions: String,
}

/// The slot of one server.
#[derive(Default)]
pub(crate) struct LanguageServerSlot {
    server: Option<LanguageServer>,
    backoff: Option<FailureBackoff>,
}

/// The parameters for starting a server, if it is not running.
pub(crate) struct LanguageServerRequest<'a> {
    pub(crate) language: &'a Language,
    /// The project directory, absolute.
    pub(crate) directory: &'a Path,
    /// Its files.
    pub(crate) project_files: &'a ProjectFiles,
    pub(crate) deadline: Instant,
}

impl LanguageServerPool {
    pub(crate) fn new(options: LspOptions) -> Self {
        Self { options, slots: StdMutex::default() }
    }

    /// Waits for exclusive use of a project's server. No other call uses it while the slot is
    /// locked.
    pub(crate) async fn lock_slot(
        &self,
        language: &Language,
        directory: &Path,
        deadline: Instant,
        cx: &Cx,
    ) -> Result<OwnedMutexGuard<LanguageServerSlot>, ToolError> {
        let key = LanguageServerKey {
            directory: directory.to_owned(),
            language: language.name.clone(),
            restrictions: cx.restrictions().to_owned(),
        };
        let slot = {
            let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
            make_room(&mut slots, &key);
            Arc::clone(slots.entry(key).or_default())
        };
        timeout_at(deadline, slot.lock_owned()).await.map_err(|_| {
            let message = format!(
                "other calls kept the {} server busy for all of this call's time: ask again",
                language.name
            );
            ToolError::new(ErrorCode::ToolTimeout, message)
        })
    }

    /// Returns the server of a slot; starts it if it is not running.
    pub(crate) async fn running_server<'s>(
        &self,
        slot: &'s mut LanguageServerSlot,
        request: &LanguageServerRequest<'_>,
        cx: &Cx,
    ) -> Result<&'s mut LanguageServer, ToolError> {
        if let Some(server) = &slot.server
            && server.has_ended().await
        {
            // If a server ends between calls, no call has failed. After repeated ends it is not
            // started again.
            slot.server = None;
        }
        let server = match slot.server.take() {
            Some(server) => server,
            None => self.start_server(slot, request, cx).await?,
        };
        Ok(slot.server.insert(server))
    }

    async fn start_server(
        &self,
        slot: &mut LanguageServerSlot,
        request: &LanguageServerRequest<'_>,
        cx: &Cx,
    ) -> Result<LanguageServer, ToolError> {
        let language = request.language;
        let left = slot
            .backoff
            .as_ref()
            .and_then(|backoff| backoff.seconds_left(Instant::now().into_std()));
        if let Some(seconds) = left {
            let message = format!(
                "the {} server failed just now and is left alone for {seconds} more seconds: work without it, or ask \
                 again then",
                language.name
            );
            return Err(ToolError::new(ErrorCode::Unavailable, message));
        }
        let mut first_failed = None;
        for (command, program) in self.available_programs(language)? {
            let start = LanguageServerStart {
                language,
                program,
                command,
                directory: request.directory,
                project_files: request.project_files.clone(),
                is_unconfined: self.options.is_unconfined,
                deadline: request.deadline,
            };
            match LanguageServer::start(start, cx).await {
                Ok(server) => return Ok(server),
                // The next command may work: one program may lack a dependency that another one
                // includes.
                Err(failed @ LspCallError::Server(_)) => {
                    first_failed.get_or_insert((failed, command));
                }
                Err(failed @ LspCallError::Call(_)) => {
                    return Err(slot.record_failure(failed, language));
                }
            }
        }
        let (failed, command) = first_failed.expect("there is a program, and it did not start");
        Err(slot.record_start_failure(failed, command, language))
    }

    /// Returns the commands of a language whose programs are installed, at least one.
    fn available_programs<'l>(
        &self,
        language: &'l Language,
    ) -> Result<Vec<(&'l [String], ServerProgram)>, ToolError> {
        let (mut programs, mut why) = (Vec::new(), ServerProgramError::Missing);
        for command in &language.commands {
            match self.options.programs.find(command) {
                Ok(program) => programs.push((command.as_slice(), program)),
                Err(ServerProgramError::Missing) => {}
                Err(ServerProgramError::InWorkspace) => why = ServerProgramError::InWorkspace,
            }
        }
        if programs.is_empty() { Err(no_program_error(language, why)) } else { Ok(programs) }
    }
}

/// Stops the least recently used server if there would be too many. Servers in use stay.
fn make_room(
    slots: &mut HashMap<LanguageServerKey, Arc<Mutex<LanguageServerSlot>>>,
    key: &LanguageServerKey,
) {
    if slots.contains_key(key) || slots.len() < SERVERS_MAX {
        return;
    }
    let waiting = slots.iter().filter_map(|(key, slot)| {
        let slot = slot.try_lock().ok()?;
        Some((key.clone(), slot.server.as_ref().map(|server| server.last_used)))
    });
    if let Some((longest, _)) = waiting.min_by_key(|(_, last_used)| *last_used) {
        slots.remove(&longest);
    }
}

impl LanguageServerSlot {
    /// Records the failure of a call, and returns its error. A failed server is dropped.
    pub(crate) fn record_failure(
        &mut self,
        failed: LspCallError,
        language: &Language,
    ) -> ToolError {
        let why = match failed {
            LspCallError::Call(err) => return err,
            LspCallError::Server(why) => why,
        };
        self.server = None;
        let before = self.backoff.as_ref().map_or(0, FailureBackoff::failures);
        let now = Instant::now().into_std();
        let backoff = self.backoff.insert(FailureBackoff::after(before, now));
        let seconds = backoff.seconds_left(now).unwrap_or_default();
        let message = format!(
            "the {} server failed: {why}; work without it, or ask again in {seconds} s, which starts another one",
            language.name
        );
        ToolError::new(ErrorCode::Unavailable, message)
    }

    /// Records that a server could not be started, and returns the call's error.
    fn record_start_failure(
        &mut self,
        failed: LspCallError,
        command: &[String],
        language: &Language,
    ) -> ToolError {
        let LspCallError::Server(why) = failed else {
            return self.record_failure(failed, language);
        };
        let program = command.first().map_or("", String::as_str);
        let why = format!(
            "{program} could not be started: {why} (if it is not installed as it should be: {})",
            language.install
        );
        self.record_failure(LspCallError::Server(why), language)
    }

    /// Records that a call was answered.
    pub(crate) fn record_answer(&mut self) {
        self.backoff = None;
        if let Some(server) = &mut self.server {
            server.last_used = Instant::now();
        }
    }
}

fn no_program_error(language: &Language, why: ServerProgramError) -> ToolError {
    let Language { name, commands, install, .. } = language;
    let programs = commands.iter().filter_map(|command| command.first().map(String::as_str));
    let programs = programs.collect::<Vec<_>>().join(" or ");
    let message = match why {
        ServerProgramError::Missing => format!(
            "no language server for {name} is here: {programs} is not on PATH; install it ({install}), name another \
             one with command under [lsp.{name}] in haft.toml, or work with grep"
        ),
        ServerProgramError::InWorkspace => format!(
            "no language server for {name} can be used: {programs}, or what its command names, lies in the workspace, \
             where it could be replaced; move it elsewhere, or work with grep"
        ),
    };
    ToolError::new(ErrorCode::Unavailable, message)
}
