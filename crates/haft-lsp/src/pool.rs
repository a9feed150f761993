//! The servers of a tool: one for each project and language, started by the first call that needs it, used by one call at
//! a time, kept warm, and replaced when it has ended. One that fails again and again is left alone for a while, and no
//! call waits for that.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex as StdMutex, PoisonError};

use haft_contract::{Backoff, Cx, ErrorCode, ToolError};
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::time::{Instant, timeout_at};

use crate::language::{Language, NoProgram, ProgramFound};
use crate::limits::SERVERS_MAX;
use crate::server::{Failed, Server, Start};
use crate::tool::LspOptions;
use crate::watch::Watched;

/// The servers, and what they are started with.
pub(crate) struct Pool {
    pub(crate) options: LspOptions,
    // Every call looks its seat up, and the first one of a project adds it: locked only for that.
    seats: StdMutex<HashMap<Key, Arc<Mutex<Seat>>>>,
}

/// A project and the language in which it is asked about.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    directory: PathBuf,
    language: String,
    /// How the session is narrowed whose calls it answers: a server knows all that it was shown, and says it to anybody.
    narrowing: String,
}

/// The place of one server.
#[derive(Default)]
pub(crate) struct Seat {
    server: Option<Server>,
    backoff: Option<Backoff>,
}

/// What is to be asked, should it have to be started.
pub(crate) struct Wanted<'a> {
    pub(crate) language: &'a Language,
    /// The directory of the project, absolute.
    pub(crate) directory: &'a Path,
    /// What is in it.
    pub(crate) watched: &'a Watched,
    pub(crate) deadline: Instant,
}

impl Pool {
    pub(crate) fn new(options: LspOptions) -> Self {
        Self { options, seats: StdMutex::default() }
    }

    /// Waits for the seat of a project's server. No other call uses it as long as this one holds it.
    pub(crate) async fn seat(
        &self,
        language: &Language,
        directory: &Path,
        deadline: Instant,
        cx: &Cx,
    ) -> Result<OwnedMutexGuard<Seat>, ToolError> {
        let key = Key {
            directory: directory.to_owned(),
            language: language.name.clone(),
            narrowing: cx.narrowing().to_owned(),
        };
        let seat = {
            let mut seats = self.seats.lock().unwrap_or_else(PoisonError::into_inner);
            make_room(&mut seats, &key);
            Arc::clone(seats.entry(key).or_default())
        };
        timeout_at(deadline, seat.lock_owned()).await.map_err(|_| {
            let message = format!(
                "other calls kept the {} server busy for all of this call's time: ask again",
                language.name
            );
            ToolError::new(ErrorCode::ToolTimeout, message)
        })
    }

    /// Returns the server of a seat, after starting it where there is none.
    pub(crate) async fn server<'s>(
        &self,
        seat: &'s mut Seat,
        wanted: &Wanted<'_>,
        cx: &Cx,
    ) -> Result<&'s mut Server, ToolError> {
        if let Some(server) = &seat.server
            && server.has_ended().await
        {
            // An end between calls is no failure of any call, but one after the other is not to go on.
            seat.server = None;
        }
        let server = match seat.server.take() {
            Some(server) => server,
            None => self.start(seat, wanted, cx).await?,
        };
        Ok(seat.server.insert(server))
    }

    async fn start(
        &self,
        seat: &mut Seat,
        wanted: &Wanted<'_>,
        cx: &Cx,
    ) -> Result<Server, ToolError> {
        let language = wanted.language;
        let left = seat
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
        for (command, program) in self.programs(language)? {
            let start = Start {
                language,
                program,
                command,
                directory: wanted.directory,
                watched: wanted.watched.clone(),
                is_unconfined: self.options.is_unconfined,
                deadline: wanted.deadline,
            };
            match Server::start(start, cx).await {
                Ok(server) => return Ok(server),
                // The next one may do: one program is there without what it needs, and another brings that along.
                Err(failed @ Failed::Server(_)) => {
                    first_failed.get_or_insert((failed, command));
                }
                Err(failed @ Failed::Call(_)) => return Err(seat.failed(failed, language)),
            }
        }
        let (failed, command) = first_failed.expect("there is a program, and it did not start");
        Err(seat.not_started(failed, command, language))
    }

    /// Returns the commands of a language whose programs are there, at least one.
    fn programs<'l>(
        &self,
        language: &'l Language,
    ) -> Result<Vec<(&'l [String], ProgramFound)>, ToolError> {
        let (mut programs, mut why) = (Vec::new(), NoProgram::Missing);
        for command in &language.commands {
            match self.options.programs.find(command) {
                Ok(program) => programs.push((command.as_slice(), program)),
                Err(NoProgram::Missing) => {}
                Err(NoProgram::InWorkspace) => why = NoProgram::InWorkspace,
            }
        }
        if programs.is_empty() { Err(no_program(language, why)) } else { Ok(programs) }
    }
}

/// Ends the server that waited longest where one more would be too many. Servers in use stay.
fn make_room(seats: &mut HashMap<Key, Arc<Mutex<Seat>>>, key: &Key) {
    if seats.contains_key(key) || seats.len() < SERVERS_MAX {
        return;
    }
    let waiting = seats.iter().filter_map(|(key, seat)| {
        let seat = seat.try_lock().ok()?;
        Some((key.clone(), seat.server.as_ref().map(|server| server.last_used)))
    });
    if let Some((longest, _)) = waiting.min_by_key(|(_, last_used)| *last_used) {
        seats.remove(&longest);
    }
}

impl Seat {
    /// Takes note of how a call went, and returns its error. A server that failed is gone.
    pub(crate) fn failed(&mut self, failed: Failed, language: &Language) -> ToolError {
        let why = match failed {
            Failed::Call(err) => return err,
            Failed::Server(why) => why,
        };
        self.server = None;
        let before = self.backoff.as_ref().map_or(0, Backoff::failures);
        let now = Instant::now().into_std();
        let backoff = self.backoff.insert(Backoff::after(before, now));
        let seconds = backoff.seconds_left(now).unwrap_or_default();
        let message = format!(
            "the {} server failed: {why}; work without it, or ask again in {seconds} s, which starts another one",
            language.name
        );
        ToolError::new(ErrorCode::Unavailable, message)
    }

    /// Takes note of a server that could not even be started, and returns the call's error.
    fn not_started(
        &mut self,
        failed: Failed,
        command: &[String],
        language: &Language,
    ) -> ToolError {
        let Failed::Server(why) = failed else { return self.failed(failed, language) };
        let program = command.first().map_or("", String::as_str);
        let why = format!(
            "{program} could not be started: {why} (if it is not installed as it should be: {})",
            language.install
        );
        self.failed(Failed::Server(why), language)
    }

    /// Takes note that a call was answered.
    pub(crate) fn answered(&mut self) {
        self.backoff = None;
        if let Some(server) = &mut self.server {
            server.last_used = Instant::now();
        }
    }
}

fn no_program(language: &Language, why: NoProgram) -> ToolError {
    let Language { name, commands, install, .. } = language;
    let programs = commands.iter().filter_map(|command| command.first().map(String::as_str));
    let programs = programs.collect::<Vec<_>>().join(" or ");
    let message = match why {
        NoProgram::Missing => format!(
            "no language server for {name} is here: {programs} is not on PATH; install it ({install}), name another \
             one with command under [lsp.{name}] in haft.toml, or work with grep"
        ),
        NoProgram::InWorkspace => format!(
            "no language server for {name} can be used: {programs}, or what its command names, lies in the workspace, \
             where it could be replaced; move it elsewhere, or work with grep"
        ),
    };
    ToolError::new(ErrorCode::Unavailable, message)
}
