//! Starting a command through a supervisor: descriptors for it, one message, one answer. The program of this
//! process is never forked, however much memory it holds: the zygote forks, which is small. Waiting and reading are
//! `control` and `output`.

use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::{Component, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::pipe::{PipeFlags, pipe_with};
use tokio::net::UnixStream;
use tokio::sync::Mutex;

use super::command::Command;
use super::control::{Answer, Control};
use super::enforced::Enforced;
use super::error::{SpawnError, WaitError};
use super::exit::{Exceeded, Exit};
use super::frames::Frames;
use super::hidden::HiddenPlaces;
use super::missing::missing;
use super::output::Output;
use super::underway::{Leftovers, Underway, settle_all};
use super::zygote::Zygote;
use crate::confinement::{Confinement, Mechanisms, Network};
use crate::protect::{Holding, Means, PinKind, ProtectedNames, Survey, SurveyCache, Undone};
use crate::wire::{Applied, Bounds, Failure, Pinned, Request, SPEC_BYTES_MAX, Spec, Stage};

/// How long a helper has to start a command. It usually needs a millisecond.
pub(crate) const ANSWER_MS_MAX: u64 = 20_000;

/// How often a start is tried: a second time if the zygote died before it could fork.
pub(crate) const ATTEMPTS_MAX: u32 = 2;

/// Starts commands by means of one helper program.
///
/// Clones share the one process of that program that there is; it is started with the first command.
#[derive(Debug, Clone)]
pub struct Launcher {
    helper: PathBuf,
    quarantine: Option<PathBuf>,
    notes: Option<PathBuf>,
    uses_groups: bool,
    /// Written by whichever call finds no living zygote; calls that come meanwhile wait for that one.
    zygote: Arc<Mutex<Option<Arc<Zygote>>>>,
    survey_cache: SurveyCache,
    hidden_places: HiddenPlaces,
}

/// A running command.
///
/// Dropping it kills the command and everything that the command started.
#[derive(Debug)]
pub struct Process {
    output: Output,
    control: Control,
    enforced: Enforced,
    listener: Option<TcpListener>,
    channel: Option<StdUnixStream>,
}

/// What a start has on this side.
struct Start {
    control: Control,
    ends: Ends,
    answer: Answer,
}

/// This side's ends of what a command writes to and is spoken to through.
struct Ends {
    output: OwnedFd,
    channel: Option<OwnedFd>,
}

impl Launcher {
    /// Takes the path of a program whose main function first calls [`helper::run_if_requested`].
    ///
    /// That can be the program that is running, or `haft-sandbox-helper`.
    ///
    /// [`helper::run_if_requested`]: crate::helper::run_if_requested
    #[must_use]
    pub fn new(helper: PathBuf) -> Launcher {
        let zygote = Arc::default();
        Launcher {
            helper,
            quarantine: None,
            notes: None,
            uses_groups: false,
            zygote,
            survey_cache: SurveyCache::default(),
            hidden_places: HiddenPlaces::default(),
        }
    }

    /// Names the directory that what appears under protected names is moved to; without one it is removed.
    #[must_use]
    pub fn quarantine(mut self, directory: PathBuf) -> Launcher {
        self.quarantine = Some(directory);
        self
    }

    /// Names the directory, outside of every writable one, where it is written down what existed under protected names as
    /// long as a command runs. Whoever comes after a process that was killed finds there what it had under way, and puts
    /// it right with [`Launcher::settle_leftovers`]; without such a directory nobody does.
    #[must_use]
    pub fn notes(mut self, directory: PathBuf) -> Launcher {
        self.notes = Some(directory);
        self
    }

    /// Puts right what commands of processes that were killed left under protected names, in whatever roots they ran.
    ///
    /// Where helpers of such a process are still at their work, this waits for them. What processes that live have under way
    /// is left alone. What was changed when the command was dead already is not its work and stays, where the helper lived
    /// to say when that was.
    pub async fn settle_leftovers(&self) -> Leftovers {
        let Some(notes) = self.notes.clone() else { return Leftovers::default() };
        let quarantine = self.quarantine.clone();
        let settling =
            tokio::task::spawn_blocking(move || settle_all(&notes, quarantine.as_deref()));
        settling.await.unwrap_or_else(|error| {
            let problem = format!("what commands left was not looked at: {error}");
            Leftovers { problems: vec![problem], ..Leftovers::default() }
        })
    }

    /// Bounds each command by a control group of its own, too, where this process may make one.
    ///
    /// That bounds memory to the page, also such as no process has mapped. Entering a group makes every start take some
    /// milliseconds, in which no other process of the machine can start another one; so it is not done unasked.
    #[must_use]
    pub fn control_groups(mut self) -> Launcher {
        self.uses_groups = true;
        self
    }

    /// Starts a command that reaches nothing but what the confinement names.
    ///
    /// It runs in a session of its own, with no descriptors but an empty standard input, one pipe for both outputs and
    /// the channel that it names, with default signal handling, and with exactly the environment that it names. Needs a tokio runtime with I/O
    /// and time. If the returned future is dropped before it is done, so is the command.
    ///
    /// # Errors
    ///
    /// [`SpawnError::Unenforceable`] when something that was asked for cannot be had here, [`SpawnError::NotFound`] and
    /// its siblings, each naming the program. In every case nothing was run.
    pub async fn spawn(
        &self,
        command: Command,
        confinement: &Confinement,
    ) -> Result<Process, SpawnError> {
        command.check()?;
        check(confinement)
            .map_err(|reason| SpawnError::Invalid { program: command.program.clone(), reason })?;
        let offer = self.living_zygote().await?.offer();
        let has_namespaces = offer.namespaces && confinement.mechanisms.namespaces;
        let confinement = &self.with_hidden_places(confinement).await?;
        let survey = self.survey(&command, confinement, has_namespaces).await?;
        let bounds =
            Bounds { wants_group: self.uses_groups, ..bounds(confinement, survey.as_ref()) };
        let start = self.start(&command, Some(bounds), survey).await?;
        self.finish(start, command, Some(confinement))
    }

    /// Starts a command that may do whatever this process may; only its end is seen to.
    ///
    /// Everything else is as with [`Launcher::spawn`].
    ///
    /// # Errors
    ///
    /// [`SpawnError::NotFound`] and its siblings, each naming the program.
    pub async fn spawn_unconfined(&self, command: Command) -> Result<Process, SpawnError> {
        command.check()?;
        let start = self.start(&command, None, None).await?;
        self.finish(start, command, None)
    }

    /// Returns what can be enforced around commands here, which was found out by trying. Runs no command.
    ///
    /// # Errors
    ///
    /// [`SpawnError::Helper`] and [`SpawnError::NoAnswer`] when the helper program does not do its part.
    pub async fn enforceable(
        &self,
        network: Network,
        wanted: Mechanisms,
    ) -> Result<Enforced, SpawnError> {
        let offer = self.living_zygote().await?.offer();
        let applied = Applied {
            namespaces: offer.namespaces && wanted.namespaces,
            landlock: offer.landlock && wanted.landlock,
            seccomp: offer.seccomp && wanted.seccomp,
            ..offer
        };
        Ok(Enforced::by(applied, network))
    }

    /// Adds where the hidden paths lead to.
    async fn with_hidden_places(
        &self,
        confinement: &Confinement,
    ) -> Result<Confinement, SpawnError> {
        let (places, mut confinement) = (self.hidden_places.clone(), confinement.clone());
        let finding = tokio::task::spawn_blocking(move || {
            confinement.hidden = places.of(&confinement);
            confinement
        });
        finding.await.map_err(|error| self.failed(io::Error::other(error)))
    }

    /// Looks up what is protected. Without anything that is, nothing is looked at.
    async fn survey(
        &self,
        command: &Command,
        confinement: &Confinement,
        has_namespaces: bool,
    ) -> Result<Option<Survey>, SpawnError> {
        if confinement.protected == ProtectedNames::none() {
            return Ok(None);
        }
        let holding = if has_namespaces { Holding::Pinning } else { Holding::Comparing };
        let hidden = confinement.hidden.clone();
        let means = Means { holding, hidden, quarantine: self.quarantine.clone() };
        let cache = self.survey_cache.clone();
        let (roots, names) = (confinement.writable.clone(), confinement.protected.clone());
        let taking =
            tokio::task::spawn_blocking(move || Survey::take(&cache, &roots, &names, means));
        let failed =
            |reason: String| SpawnError::Survey { program: command.program.clone(), reason };
        let taken = taking.await.map_err(|error| failed(error.to_string()))?;
        taken.map(Some).map_err(|error| failed(error.to_string()))
    }

    /// Has a supervisor start the command.
    async fn start(
        &self,
        command: &Command,
        bounds: Option<Bounds>,
        mut survey: Option<Survey>,
    ) -> Result<Start, SpawnError> {
        let request = match &bounds {
            Some(bounds) if bounds.mechanisms.namespaces && bounds.network != Network::Host => {
                Request::Isolated
            }
            Some(_) | None => Request::Supervisor,
        };
        let spec = Spec {
            program: command.program.clone(),
            args: command.args.clone(),
            env: command.env.clone(),
            channel: command.channel,
            bounds,
        };
        let spec = message(&spec)?;
        let mut attempt = 1;
        loop {
            let zygote = self.living_zygote().await?;
            let (mut control, ends) = match connect(&zygote, request, command).await {
                Ok(connected) => connected,
                Err(_) if attempt < ATTEMPTS_MAX => {
                    self.forget(&zygote).await;
                    attempt += 1;
                    continue;
                }
                Err(source) => return Err(self.failed(source)),
            };
            control.protect(write_down(survey.take(), &zygote, command).await?);
            let wait = Duration::from_millis(ANSWER_MS_MAX);
            let started = tokio::time::timeout(wait, control.start(&spec)).await;
            let started = started.map_err(|_| self.no_answer())?;
            match started {
                Ok(answer) => return Ok(Start { control, ends, answer }),
                // Nobody took the request: the zygote died.
                Err(_) if !control.is_supervised() && attempt < ATTEMPTS_MAX => {
                    survey = control.unprotect();
                    survey.iter().for_each(Survey::forget);
                    self.forget(&zygote).await;
                    attempt += 1;
                }
                Err(source) => return Err(self.failed(source)),
            }
        }
    }

    /// Makes a process of a start that went well.
    fn finish(
        &self,
        start: Start,
        command: Command,
        confinement: Option<&Confinement>,
    ) -> Result<Process, SpawnError> {
        let Start { mut control, ends, answer } = start;
        if !matches!(answer, Answer::Started(..)) {
            // Nothing was run that could have changed anything.
            control.unprotect().iter().for_each(Survey::forget);
        }
        let (applied, listener) = match answer {
            Answer::Started(applied, listener) => (applied, listener),
            Answer::Failed(failure) => return Err(self.refusal(failure, command)),
            Answer::Lacking(applied, obstacle) => {
                let missing = confinement.map(|wanted| missing(wanted, applied, obstacle.as_ref()));
                return Err(SpawnError::Unenforceable {
                    program: command.program,
                    missing: missing.unwrap_or_default(),
                });
            }
        };
        let handle = control.supervisor_handle().map_err(|source| self.failed(source))?;
        let output = Output::new(ends.output, handle).map_err(|source| self.failed(source))?;
        let enforced = confinement
            .map_or(Enforced::SUPERVISED, |wanted| Enforced::by(applied, wanted.network));
        let listener = listener.map(TcpListener::from);
        let channel = ends.channel.map(StdUnixStream::from);
        Ok(Process { output, control, enforced, listener, channel })
    }

    fn refusal(&self, failure: Failure, command: Command) -> SpawnError {
        let source = failure.source();
        let (program, at) = (command.program, failure.at);
        match failure.stage {
            Stage::Setup => self.failed(source),
            Stage::Confine => SpawnError::Confine { program, at, source },
            Stage::Directory => SpawnError::WorkingDirectory { program, at, source },
            Stage::Missing => SpawnError::NotFound { program },
            Stage::Denied => SpawnError::Denied { program },
            Stage::Execute => SpawnError::Execute { program, source },
        }
    }

    /// Returns the zygote, and starts one if there is none.
    async fn living_zygote(&self) -> Result<Arc<Zygote>, SpawnError> {
        let mut place = self.zygote.lock().await;
        if let Some(zygote) = place.as_ref() {
            return Ok(Arc::clone(zygote));
        }
        let wait = Duration::from_millis(ANSWER_MS_MAX);
        let underway = self.begin_notes().await?;
        let started = tokio::time::timeout(wait, Zygote::start(&self.helper, underway)).await;
        let zygote =
            started.map_err(|_| self.no_answer())?.map_err(|source| self.failed(source))?;
        let zygote = Arc::new(zygote);
        *place = Some(Arc::clone(&zygote));
        Ok(zygote)
    }

    /// Makes a place for the notes of one zygote's commands.
    async fn begin_notes(&self) -> Result<Option<Arc<Underway>>, SpawnError> {
        let Some(directory) = self.notes.clone() else { return Ok(None) };
        let begun = tokio::task::spawn_blocking(move || Underway::begin(&directory)).await;
        let begun = begun.map_err(io::Error::other).flatten();
        begun.map(|underway| Some(Arc::new(underway))).map_err(|source| self.failed(source))
    }

    /// Lets go of a zygote that has died, unless another call has done so already.
    async fn forget(&self, dead: &Arc<Zygote>) {
        let mut place = self.zygote.lock().await;
        if place.as_ref().is_some_and(|zygote| Arc::ptr_eq(zygote, dead)) {
            *place = None;
        }
    }

    fn failed(&self, source: io::Error) -> SpawnError {
        SpawnError::Helper { helper: self.helper.clone(), source }
    }

    fn no_answer(&self) -> SpawnError {
        SpawnError::NoAnswer { helper: self.helper.clone(), wait_ms: ANSWER_MS_MAX }
    }
}

impl Process {
    /// Reads what the command writes, standard output and error in the order of arrival; 0 is the end.
    ///
    /// What is not read fills a pipe of bounded size, and then the command waits. Can be cancelled without loss.
    ///
    /// # Errors
    ///
    /// Only what reading a pipe can fail with.
    pub async fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.output.read(buffer).await
    }

    /// Waits until the command has ended and nothing that it started is left.
    ///
    /// Output can still be read afterwards. Can be cancelled and called again, also after it has answered.
    ///
    /// # Errors
    ///
    /// [`WaitError`] when the supervisor does not live to tell the end.
    pub async fn wait(&mut self) -> Result<Exit, WaitError> {
        self.control.wait().await
    }

    /// Asks for the command and everything that it started to be killed; [`Process::wait`] tells when that is done.
    pub fn kill(&mut self) {
        self.control.kill();
    }

    /// Returns what is enforced around the command.
    #[must_use]
    pub fn enforced(&self) -> Enforced {
        self.enforced
    }

    /// Takes the socket that the command's proxy is to accept on, once, if its network has one.
    ///
    /// It listens on [`PROXY_PORT`] of a loopback interface that only this command has, so that whoever connects is this
    /// command. It does not block, as tokio wants it.
    ///
    /// [`PROXY_PORT`]: crate::PROXY_PORT
    pub fn take_listener(&mut self) -> Option<TcpListener> {
        self.listener.take()
    }

    /// Takes this side's end of the command's channel, once, if it has one.
    ///
    /// It reads its end when nothing of the command is left that holds the other one. It does not block, as tokio wants
    /// it.
    pub fn take_channel(&mut self) -> Option<StdUnixStream> {
        self.channel.take()
    }

    /// Returns the bound that the command met; known once it was waited for.
    ///
    /// One that meets the bound of its memory is ended for it.
    #[must_use]
    pub fn ended_by(&self) -> Option<Exceeded> {
        self.control.ended_by()
    }

    /// Returns what the command did to protected names and what became of it; known once it was waited for.
    #[must_use]
    pub fn undone(&self) -> &[Undone] {
        self.control.undone()
    }

    /// Separates reading from waiting, so that both can go on at once. What was not taken before is closed.
    #[must_use]
    pub fn split(self) -> (Output, Control) {
        (self.output, self.control)
    }
}

/// Writes down what has to be looked at after the command, should this process not live to do it. Without that it must not
/// run.
async fn write_down(
    survey: Option<Survey>,
    zygote: &Zygote,
    command: &Command,
) -> Result<Option<Survey>, SpawnError> {
    let Some(mut survey) = survey else { return Ok(None) };
    let Some(underway) = zygote.underway().cloned() else { return Ok(Some(survey)) };
    let writing = tokio::task::spawn_blocking(move || {
        survey.write_down(|content| underway.note(content)).map(|()| survey)
    });
    let written = writing.await.map_err(io::Error::other).flatten();
    written.map(Some).map_err(|error| {
        let reason = format!("what is to be kept as it is could not be written down: {error}");
        SpawnError::Survey { program: command.program.clone(), reason }
    })
}

/// Refuses what cannot be granted, or would not mean what it says.
fn check(confinement: &Confinement) -> Result<(), &'static str> {
    let Confinement { writable, readable, hidden, home, .. } = confinement;
    let granted = || writable.iter().chain(readable);
    let is_plain = |path: &PathBuf| {
        path.is_absolute() && !path.components().any(|part| part == Component::ParentDir)
    };
    if !granted().chain(hidden).chain([home]).all(is_plain) {
        Err("a path of its confinement is not absolute, or goes up")
    } else if granted().any(|path| path.parent().is_none()) {
        Err("its confinement grants the whole file system; grant what is needed of it")
    } else {
        Ok(())
    }
}

/// Makes a call's socket, its pipe and the command's channel, and hands the other ends to a supervisor.
async fn connect(
    zygote: &Arc<Zygote>,
    request: Request,
    command: &Command,
) -> io::Result<(Control, Ends)> {
    let pair = || socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None);
    let (ours, theirs) = pair()?;
    let (output, writer) = pipe_with(PipeFlags::CLOEXEC)?;
    let channel = command.channel.map(|_| pair()).transpose()?;
    let (channel, far_channel) = channel.unzip();
    let descriptors = [theirs.as_fd(), writer.as_fd(), command.cwd.as_fd()];
    let descriptors: Vec<BorrowedFd<'_>> =
        descriptors.into_iter().chain(far_channel.iter().map(AsFd::as_fd)).collect();
    zygote.request(request, &descriptors).await?;
    let socket = StdUnixStream::from(ours);
    socket.set_nonblocking(true)?;
    if let Some(channel) = &channel {
        // Only this side's end: the command finds its own as programs expect it.
        rustix::io::ioctl_fionbio(channel, true)?;
    }
    let frames = Frames::new(UnixStream::from_std(socket)?);
    Ok((Control::new(frames, Arc::clone(zygote)), Ends { output, channel }))
}

/// Returns the specification with its length in front.
fn message(spec: &Spec) -> Result<Vec<u8>, SpawnError> {
    let body = spec.encode();
    match u32::try_from(body.len()) {
        Ok(length) if body.len() <= SPEC_BYTES_MAX => {
            Ok([length.to_le_bytes().as_slice(), &body].concat())
        }
        Ok(_) | Err(_) => {
            Err(SpawnError::TooLarge { bytes: body.len(), bytes_max: SPEC_BYTES_MAX })
        }
    }
}

fn bounds(confinement: &Confinement, survey: Option<&Survey>) -> Bounds {
    let pins = survey.map(Survey::pins).unwrap_or_default();
    let mut hidden = confinement.hidden.clone();
    let mut pinned = Vec::new();
    for pin in pins {
        let path = pin.path.clone();
        match pin.kind {
            PinKind::Anchor => pinned.push(Pinned { path, is_writable: true }),
            PinKind::ReadOnly => pinned.push(Pinned { path, is_writable: false }),
            PinKind::Hidden => hidden.push(path),
        }
    }
    Bounds {
        writable: confinement.writable.clone(),
        readable: confinement.readable.clone(),
        hidden,
        pinned,
        home: confinement.home.clone(),
        network: confinement.network,
        resources: confinement.resources,
        mechanisms: confinement.mechanisms,
        wants_group: false,
    }
}
