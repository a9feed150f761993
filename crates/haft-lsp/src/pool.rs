//! The servers of a tool: one per project and language. The first call that needs a server starts
//! it, one call at a time uses it, it is kept running, and it is replaced after it has ended. A
//! server that fails repeatedly is not started for a while, and no call waits for that.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex as StdMutex, PoisonError};

use haft_contract::{Cx, ErrorCode, FailureBackoff, ToolError};
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::time::{Instant, timeout_at};

use crate::language::{Language, ServerProgramError};
use crate::limits::SERVERS_MAX;
use crate::options::LspOptions;
use crate::server::{LanguageServer, LanguageServerStart, LspCallError};

/// The servers, and the parameters for starting them.
pub(crate) struct LanguageServerPool {
    pub(crate) options: LspOptions,
    // Every call looks up its slot, and the first one of a project adds it. The outer lock is held
    // only for that. A call owns its slot until the server has answered; other calls queue for it,
    // and the map still holds it, to see which slots are in use.
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
            // Too many servers: the least recently used one that no call uses is stopped.
            if !slots.contains_key(&key) && slots.len() >= SERVERS_MAX {
                let unused = slots.iter().filter_map(|(key, slot)| {
                    let last_used =
                        slot.try_lock().ok()?.server.as_ref().map(|server| server.last_used);
                    Some((last_used, key.clone()))
                });
                if let Some((_, longest)) = unused.min_by_key(|(last_used, _)| *last_used) {
                    slots.remove(&longest);
                }
            }
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
        start: &LanguageServerStart<'_>,
        cx: &Cx,
    ) -> Result<&'s mut LanguageServer, ToolError> {
        // If a server ended between calls, no call has failed: another one is started.
        if let Some(server) = slot.server.take()
            && !server.has_ended().await
        {
            return Ok(slot.server.insert(server));
        }
        let language = start.language;
        let Language { name, commands, install, .. } = language;
        let now = Instant::now().into_std();
        if let Some(seconds) = slot.backoff.as_ref().and_then(|backoff| backoff.seconds_left(now)) {
            let message = format!(
                "the {name} server failed just now and is left alone for {seconds} more seconds: work without it, or \
                 ask again then"
            );
            return Err(ToolError::new(ErrorCode::Unavailable, message));
        }
        let mut first_failure = None;
        let mut unusable = ServerProgramError::Missing;
        for command in commands {
            let program = match self.options.programs.find(command) {
                Ok(program) => program,
                Err(ServerProgramError::Missing) => continue,
                Err(ServerProgramError::InWorkspace) => {
                    unusable = ServerProgramError::InWorkspace;
                    continue;
                }
            };
            match LanguageServer::start(start, command, program, cx).await {
                Ok(server) => return Ok(slot.server.insert(server)),
                // The next command may work: one program may lack a dependency that another one
                // includes.
                Err(LspCallError::Server(why)) => {
                    first_failure.get_or_insert((command, why));
                }
                Err(LspCallError::Call(err)) => return Err(err),
            }
        }
        if let Some((command, why)) = first_failure {
            let program = command.first().map_or("", String::as_str);
            let why = format!(
                "{program} could not be started: {why} (if it is not installed as it should be: {install})"
            );
            return Err(slot.record_failure(LspCallError::Server(why), language));
        }
        let programs = commands.iter().filter_map(|command| command.first().map(String::as_str));
        let programs = programs.collect::<Vec<_>>().join(" or ");
        let message = match unusable {
            ServerProgramError::Missing => format!(
                "no language server for {name} is here: {programs} is not on PATH; install it ({install}), name \
                 another one with command under [lsp.{name}] in haft.toml, or work with grep"
            ),
            ServerProgramError::InWorkspace => format!(
                "no language server for {name} can be used: {programs}, or what its command names, lies in the \
                 workspace, where it could be replaced; move it elsewhere, or work with grep"
            ),
        };
        Err(ToolError::new(ErrorCode::Unavailable, message))
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

    /// Records that a call was answered.
    pub(crate) fn record_answer(&mut self) {
        self.backoff = None;
        if let Some(server) = &mut self.server {
            server.last_used = Instant::now();
        }
    }
}
