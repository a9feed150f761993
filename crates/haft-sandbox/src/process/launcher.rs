//! Starts a command through a supervisor: descriptors, one message, one answer. The launching
//! process itself never forks, however much memory it uses. The zygote forks, because it is small.
//! Waiting and reading are in `control` and `output`.

use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::{Component, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::net::SocketType;
use rustix::pipe::{PipeFlags, pipe_with};
use tokio::sync::Mutex;

use super::command::SandboxCommand;
use super::control::{ProcessControl, StartResult};
use super::enforcement::Enforcement;
use super::error::SpawnError;
use super::helper_socket::HelperSocket;
use super::hidden_paths::HiddenPathResolver;
use super::missing_layers::missing_layers;
use super::output::ProcessOutput;
use super::path_guard::PathGuard;
use super::recovery::{RecoveryReport, reconcile_all};
use super::ruled_view::add_covers;
use super::zygote::ZygoteHandle;
use crate::confinement::{Confinement, Mechanisms, Network};
use crate::protect::{
    ProtectedPathScan, ProtectedPaths, ProtectionMode, ProtectiveMountKind, RuledPath, RuledPaths,
    ScanCache, ScanOptions,
};
use crate::recovery_log::RecoveryLog;
use crate::wire::{
    self, SPEC_BYTES_MAX, StartStage, WireCommandSpec, WireConfinement, WireMount, ZygoteRequest,
};

/// Time that a helper has to start a command, in milliseconds. It usually needs one.
pub(crate) const ANSWER_MS_MAX: u64 = 20_000;

/// Attempts to start a command: a second one if the zygote died before it could fork.
pub(crate) const ATTEMPTS_MAX: u32 = 2;

/// Starts commands through one helper program.
///
/// Clones share one helper process, which is started with the first command.
#[derive(Debug, Clone)]
pub struct Launcher {
    helper: PathBuf,
    quarantine: Option<PathBuf>,
    recovery_log: Option<PathBuf>,
    uses_groups: bool,
    shared: Arc<SharedLauncherState>,
}

/// The state that clones of a launcher share.
#[derive(Debug, Default)]
struct SharedLauncherState {
    /// Written by the call that finds no living zygote; concurrent calls wait for that one.
    zygote: Mutex<Option<Arc<ZygoteHandle>>>,
    scans: ScanCache,
    hidden_paths: HiddenPathResolver,
}

/// A running command.
///
/// Dropping it kills the command and everything that the command started.
#[derive(Debug)]
pub struct SandboxProcess {
    /// The reading side of its output.
    pub output: ProcessOutput,
    /// Waits for its end, and requests it. Reading and waiting can run at once.
    pub control: ProcessControl,
    /// The enforcement around it.
    pub enforcement: Enforcement,
    /// The socket on which its proxy must accept, if its network has one.
    ///
    /// The socket listens on [`PROXY_PORT`] of a loopback interface that only this command has, so
    /// every client is this command. It is non-blocking, as tokio requires.
    ///
    /// [`PROXY_PORT`]: crate::PROXY_PORT
    pub listener: Option<TcpListener>,
    /// The launcher's end of its channel, if it has one.
    ///
    /// Reading returns the end once no process of the command holds the other end. It is
    /// non-blocking, as tokio requires.
    pub channel: Option<StdUnixStream>,
    /// The paths that rules kept from it, of those that it would have seen otherwise.
    pub denied: Vec<RuledPath>,
    /// Keeps these paths from it while it runs, if rules deny paths.
    pub guard: Option<PathGuard>,
}

/// The launcher's state of a start in progress.
struct PendingStart {
    control: ProcessControl,
    ends: StreamEnds,
    answer: StartResult,
}

/// The launcher's ends of a command's output pipe and channel.
struct StreamEnds {
    output: OwnedFd,
    channel: Option<OwnedFd>,
}

impl Launcher {
    /// Creates a launcher from the path of a program whose main function first calls
    /// [`helper::run_if_requested`].
    ///
    /// The program can be the running one, or `haft-sandbox-helper`.
    ///
    /// [`helper::run_if_requested`]: crate::helper::run_if_requested
    #[must_use]
    pub fn new(helper: PathBuf) -> Launcher {
        let (quarantine, recovery_log, shared) = (None, None, Arc::default());
        Launcher { helper, quarantine, recovery_log, uses_groups: false, shared }
    }

    /// Sets the directory for files that commands create under protected names. Without one, such
    /// files are removed.
    #[must_use]
    pub fn with_quarantine(mut self, directory: PathBuf) -> Launcher {
        self.quarantine = Some(directory);
        self
    }

    /// Sets a directory, outside of every writable one, that records the state of protected paths
    /// while commands run. If this process is killed, a later process reads the records and reverts
    /// the commands' changes with [`Launcher::recover_interrupted`]. Without such a directory, they
    /// are not reverted.
    #[must_use]
    pub fn with_recovery_log(mut self, directory: PathBuf) -> Launcher {
        self.recovery_log = Some(directory);
        self
    }

    /// Reverts changes to protected paths by commands of processes that were killed, in every root.
    ///
    /// Waits for helpers of such a process that are still at work. Commands of living processes are
    /// ignored. A change made after the command had died is not the command's and stays, if the
    /// helper lived long enough to record that time.
    pub async fn recover_interrupted(&self) -> RecoveryReport {
        let Some(logs) = self.recovery_log.clone() else { return RecoveryReport::default() };
        let quarantine = self.quarantine.clone();
        let recovering =
            tokio::task::spawn_blocking(move || reconcile_all(&logs, quarantine.as_deref()));
        recovering.await.unwrap_or_else(|error| {
            let problem = format!("interrupted commands could not be reconciled: {error}");
            RecoveryReport { problems: vec![problem], ..RecoveryReport::default() }
        })
    }

    /// Also limits each command by its own control group, where this process may create one.
    ///
    /// A control group limits memory exactly, including memory that no process has mapped. Entering
    /// a group adds milliseconds to every start and blocks other starts on the machine for that
    /// time, so it is off by default.
    #[must_use]
    pub fn with_control_groups(mut self) -> Launcher {
        self.uses_groups = true;
        self
    }

    /// Starts a command that can reach only what the confinement names.
    ///
    /// The command runs in its own session with default signal handling. It gets an empty standard
    /// input, one pipe for both outputs, the channel and the environment that it names, and nothing
    /// else. Needs a tokio runtime with I/O and time. Dropping the returned future early drops the
    /// command too.
    ///
    /// # Errors
    ///
    /// [`SpawnError::Unenforceable`] if part of the confinement cannot be enforced here, or one of
    /// the other variants, such as [`SpawnError::NotFound`], which name the program. In every case
    /// nothing was run.
    pub async fn spawn(
        &self,
        command: SandboxCommand,
        confinement: &Confinement,
    ) -> Result<SandboxProcess, SpawnError> {
        command.check()?;
        check(confinement)
            .map_err(|reason| SpawnError::Invalid { program: command.program.clone(), reason })?;
        let offer = self.running_zygote().await?.offer;
        let has_namespaces = offer.namespaces && confinement.mechanisms.namespaces;
        let (shared, mut requested) = (Arc::clone(&self.shared), confinement.clone());
        let finding = tokio::task::spawn_blocking(move || {
            requested.hidden = shared.hidden_paths.resolve_hidden(&requested);
            requested
        });
        let confinement = &finding.await.map_err(|error| self.failed(io::Error::other(error)))?;
        let is_unruled = confinement.ruled.rules.is_none();
        let scan = if confinement.protected == ProtectedPaths::empty() && is_unruled {
            None
        } else {
            let mode = if has_namespaces {
                ProtectionMode::ReadOnlyMounts
            } else {
                ProtectionMode::Copies
            };
            let (hidden, quarantine) = (confinement.hidden.clone(), self.quarantine.clone());
            let ruled = confinement.ruled.clone();
            let options = ScanOptions { mode, hidden, quarantine, ruled };
            let cache = self.shared.scans.clone();
            let (roots, names) = (confinement.writable.clone(), confinement.protected.clone());
            let scanning = tokio::task::spawn_blocking(move || {
                ProtectedPathScan::scan_directories(&cache, &roots, &names, options)
            });
            let scanned = scanning.await.map_err(io::Error::other).flatten();
            Some(scanned.map_err(|error| SpawnError::Survey {
                program: command.program.clone(),
                reason: error.to_string(),
            })?)
        };
        let mounts = scan.as_ref().map(ProtectedPathScan::protective_mounts);
        let mut hidden = confinement.hidden.clone();
        let mut pinned = Vec::new();
        for mount in mounts.unwrap_or_default() {
            let path = mount.path.clone();
            match mount.kind {
                ProtectiveMountKind::Anchor => pinned.push(WireMount { path, is_writable: true }),
                ProtectiveMountKind::ReadOnly => {
                    pinned.push(WireMount { path, is_writable: false })
                }
                ProtectiveMountKind::Hidden => hidden.push(path),
            }
        }
        let mut bounds = WireConfinement {
            writable: confinement.writable.clone(),
            readable: confinement.readable.clone(),
            hidden,
            mounts: pinned,
            covers: Vec::new(),
            takes_covers: !is_unruled,
            home: confinement.home.clone(),
            network: confinement.network,
            resources: confinement.resources,
            mechanisms: confinement.mechanisms,
            wants_group: self.uses_groups,
        };
        let ruled = scan.as_ref().map(ProtectedPathScan::ruled_paths).unwrap_or_default();
        add_covers(&mut bounds, &ruled, confinement, mounts.unwrap_or_default());
        let start = self.start(&command, Some(bounds), scan).await?;
        let mut process = self.finish(start, command, Some(confinement))?;
        process.denied = ruled.into_iter().filter(RuledPath::is_denied).collect();
        if !is_unruled {
            let supervisor = has_namespaces.then(|| process.control.supervisor_socket());
            let (ruled, cache) = (confinement.ruled.clone(), self.shared.scans.clone());
            let guard = PathGuard::new(supervisor, ruled, cache, process.denied.clone());
            process.guard = Some(guard.map_err(|source| self.failed(source))?);
        }
        Ok(process)
    }

    /// Starts a command with all rights of this process; only its process tree is supervised.
    ///
    /// Everything else is the same as for [`Launcher::spawn`].
    ///
    /// # Errors
    ///
    /// [`SpawnError::NotFound`] and the other variants, which name the program.
    pub async fn spawn_unconfined(
        &self,
        command: SandboxCommand,
    ) -> Result<SandboxProcess, SpawnError> {
        command.check()?;
        let start = self.start(&command, None, None).await?;
        self.finish(start, command, None)
    }

    /// Returns the enforcement that is possible around commands here, detected by trial. Runs no
    /// command.
    ///
    /// # Errors
    ///
    /// [`SpawnError::Helper`] and [`SpawnError::NoAnswer`] if the helper program does not work.
    pub async fn probe_enforcement(
        &self,
        network: Network,
        requested: Mechanisms,
    ) -> Result<Enforcement, SpawnError> {
        let offer = self.running_zygote().await?.offer;
        Ok(Enforcement::from_mechanisms(offer.restricted_to(requested), network))
    }

    /// Returns whether each command gets its own mounts, with these mechanisms. Then a command cannot
    /// link a file from one writable directory into another.
    pub async fn isolates_mounts(&self, requested: Mechanisms) -> bool {
        requested.namespaces
            && self.running_zygote().await.is_ok_and(|zygote| zygote.offer.namespaces)
    }

    /// Returns the paths at which rules leave another access than around them, with all of their names. Reads directories
    /// and blocks.
    ///
    /// # Errors
    ///
    /// A directory cannot be read, or there are too many.
    pub fn find_ruled_paths(&self, ruled: RuledPaths) -> io::Result<Vec<RuledPath>> {
        let mode = ProtectionMode::ReadOnlyMounts;
        let options = ScanOptions { mode, hidden: Vec::new(), quarantine: None, ruled };
        let (cache, names) = (&self.shared.scans, ProtectedPaths::empty());
        let scan = ProtectedPathScan::scan_directories(cache, &[], &names, options)?;
        Ok(scan.ruled_paths())
    }

    /// Starts the command through a supervisor.
    async fn start(
        &self,
        command: &SandboxCommand,
        bounds: Option<WireConfinement>,
        mut scan: Option<ProtectedPathScan>,
    ) -> Result<PendingStart, SpawnError> {
        let request = match &bounds {
            Some(bounds) if bounds.mechanisms.namespaces && bounds.network != Network::Host => {
                ZygoteRequest::Isolated
            }
            Some(_) | None => ZygoteRequest::Supervisor,
        };
        let spec = WireCommandSpec {
            program: command.program.clone(),
            args: command.args.clone(),
            env: command.env.clone(),
            channel: command.channel,
            bounds,
        };
        let body = spec.encode();
        let length = match u32::try_from(body.len()) {
            Ok(length) if body.len() <= SPEC_BYTES_MAX => length,
            Ok(_) | Err(_) => {
                return Err(SpawnError::TooLarge { bytes: body.len(), bytes_max: SPEC_BYTES_MAX });
            }
        };
        let spec = [length.to_le_bytes().as_slice(), &body].concat();
        let mut attempt = 1;
        loop {
            let zygote = self.running_zygote().await?;
            let (mut control, ends) = match connect(&zygote, request, command).await {
                Ok(connected) => connected,
                Err(_) if attempt < ATTEMPTS_MAX => {
                    self.forget_zygote(&zygote).await;
                    attempt += 1;
                    continue;
                }
                Err(source) => return Err(self.failed(source)),
            };
            // Records what must be checked after the command if this process dies first. Without
            // this record the command must not run.
            if let Some(log) = zygote.recovery_log.clone()
                && let Some(mut unsaved) = scan.take()
            {
                let writing = tokio::task::spawn_blocking(move || {
                    unsaved
                        .save_recovery_entry(|content| log.write_entry(content))
                        .map(|()| unsaved)
                });
                let written = writing.await.map_err(io::Error::other).flatten();
                scan = Some(written.map_err(|error| SpawnError::Survey {
                    program: command.program.clone(),
                    reason: format!("the state of protected paths could not be recorded: {error}"),
                })?);
            }
            control.protection.scan = scan.take();
            let wait = Duration::from_millis(ANSWER_MS_MAX);
            let started = tokio::time::timeout(wait, control.start(&spec)).await;
            let started = started.map_err(|_| self.no_answer())?;
            match started {
                Ok(answer) => return Ok(PendingStart { control, ends, answer }),
                // No process took the request: the zygote died.
                Err(_) if !control.is_supervised() && attempt < ATTEMPTS_MAX => {
                    scan = control.protection.scan.take();
                    scan.iter().for_each(ProtectedPathScan::erase_recovery_entry);
                    self.forget_zygote(&zygote).await;
                    attempt += 1;
                }
                Err(source) => return Err(self.failed(source)),
            }
        }
    }

    /// Builds the process of a successful start.
    fn finish(
        &self,
        start: PendingStart,
        command: SandboxCommand,
        confinement: Option<&Confinement>,
    ) -> Result<SandboxProcess, SpawnError> {
        let PendingStart { mut control, ends, answer } = start;
        if !matches!(answer, StartResult::Started(..)) {
            // No command ran, so nothing can have changed.
            control.protection.scan.take().iter().for_each(ProtectedPathScan::erase_recovery_entry);
        }
        let (applied, listener) = match answer {
            StartResult::Started(applied, listener) => (applied, listener),
            StartResult::Failed(failure) => {
                let source = failure.source();
                let (program, at) = (command.program, failure.at);
                return Err(match failure.stage {
                    StartStage::Setup => self.failed(source),
                    StartStage::Confine => SpawnError::Confine { program, at, source },
                    StartStage::Directory => SpawnError::WorkingDirectory { program, at, source },
                    StartStage::Missing => SpawnError::NotFound { program },
                    StartStage::Denied => SpawnError::Denied { program },
                    StartStage::Execute => SpawnError::Execute { program, source },
                });
            }
            StartResult::Lacking(applied, obstacle) => {
                let missing = confinement
                    .map(|requested| missing_layers(requested, applied, obstacle.as_ref()));
                return Err(SpawnError::Unenforceable {
                    program: command.program,
                    missing: missing.unwrap_or_default(),
                });
            }
        };
        let handle = control.supervisor_handle().map_err(|source| self.failed(source))?;
        let output =
            ProcessOutput::new(ends.output, handle).map_err(|source| self.failed(source))?;
        let enforcement = confinement.map_or(Enforcement::SUPERVISED, |requested| {
            Enforcement::from_mechanisms(applied, requested.network)
        });
        let listener = listener.map(TcpListener::from);
        let channel = ends.channel.map(StdUnixStream::from);
        let (denied, guard) = (Vec::new(), None);
        Ok(SandboxProcess { output, control, enforcement, listener, channel, denied, guard })
    }

    /// Returns the zygote; starts one if there is none.
    async fn running_zygote(&self) -> Result<Arc<ZygoteHandle>, SpawnError> {
        let mut place = self.shared.zygote.lock().await;
        if let Some(zygote) = place.as_ref() {
            return Ok(Arc::clone(zygote));
        }
        let wait = Duration::from_millis(ANSWER_MS_MAX);
        let underway = match self.recovery_log.clone() {
            None => None,
            Some(directory) => {
                let begun = tokio::task::spawn_blocking(move || RecoveryLog::create(&directory));
                let begun = begun.await.map_err(io::Error::other).flatten();
                Some(Arc::new(begun.map_err(|source| self.failed(source))?))
            }
        };
        let started = tokio::time::timeout(wait, ZygoteHandle::start(&self.helper, underway)).await;
        let zygote =
            started.map_err(|_| self.no_answer())?.map_err(|source| self.failed(source))?;
        let zygote = Arc::new(zygote);
        *place = Some(Arc::clone(&zygote));
        Ok(zygote)
    }

    /// Drops a zygote that has died, unless another call already did.
    async fn forget_zygote(&self, dead: &Arc<ZygoteHandle>) {
        let mut place = self.shared.zygote.lock().await;
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

/// Refuses a confinement that cannot be granted or would not mean what it says.
fn check(confinement: &Confinement) -> Result<(), &'static str> {
    let Confinement { writable, readable, hidden, home, .. } = confinement;
    let granted = || writable.iter().chain(readable);
    let is_plain = |path: &PathBuf| {
        path.is_absolute() && !path.components().any(|part| part == Component::ParentDir)
    };
    if !granted().chain(hidden).chain([home]).all(is_plain) {
        Err("a path of its confinement is not absolute, or contains ..")
    } else if granted().any(|path| path.parent().is_none()) {
        Err("its confinement grants the whole file system; grant only the needed directories")
    } else {
        Ok(())
    }
}

/// Creates a call's socket, its pipe and the command's channel, and passes the other ends to a
/// supervisor.
async fn connect(
    zygote: &Arc<ZygoteHandle>,
    request: ZygoteRequest,
    command: &SandboxCommand,
) -> io::Result<(ProcessControl, StreamEnds)> {
    let pair = || wire::socket_pair(SocketType::STREAM);
    let (ours, theirs) = pair()?;
    let (output, writer) = pipe_with(PipeFlags::CLOEXEC)?;
    let channel = command.channel.map(|_| pair()).transpose()?;
    let (channel, far_channel) = channel.unzip();
    let descriptors = [theirs.as_fd(), writer.as_fd(), command.cwd.as_fd()];
    let descriptors: Vec<BorrowedFd<'_>> =
        descriptors.into_iter().chain(far_channel.iter().map(AsFd::as_fd)).collect();
    zygote.request(request, &descriptors).await?;
    if let Some(channel) = &channel {
        // Only this side's end: programs expect a blocking one.
        rustix::io::ioctl_fionbio(channel, true)?;
    }
    let frames = HelperSocket::new(ours)?;
    Ok((ProcessControl::new(frames, Arc::clone(zygote)), StreamEnds { output, channel }))
}
