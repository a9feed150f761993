//! Keeps denied paths from a process while it runs. A cover holds until another process replaces the
//! covered file: the kernel then takes the cover away with the old file. The guard covers the new file,
//! and on request other paths that appeared. Where nothing can be mounted, it only finds such paths.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::sync::Arc;
use std::time::Duration;

use rustix::net::{SendFlags, SocketType};
use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;
use tokio::sync::Mutex;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, sleep, timeout};

use crate::protect::{
    PathAccess, ProtectedPathScan, ProtectedPaths, ProtectionMode, RuledPath, RuledPaths,
    ScanCache, ScanOptions,
};
use crate::wire::{self, COVER_ANSWER_BYTES, WireCover};

/// Between two looks at the covered paths, in milliseconds.
pub(crate) const GUARD_LOOK_MS: u64 = 50;

/// Looks may take one part in so many of the time.
const GUARD_SHARE: u32 = 20;

/// Time that a helper has to cover paths, in milliseconds.
pub(crate) const COVER_MS_MAX: u64 = 5_000;

/// Keeps denied paths from one process. Dropping it ends the looking.
#[derive(Debug)]
pub struct PathGuard {
    state: Arc<PathGuardState>,
    looking: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct PathGuardState {
    /// The socket to the process's supervisor; `None` if nothing can be mounted.
    supervisor: Option<OwnedFd>,
    ruled: RuledPaths,
    cache: ScanCache,
    /// The covered paths. Locked while more are covered, so that no path is covered twice.
    covered: Mutex<Vec<RuledPath>>,
}

/// Which of the paths that are not covered yet are covered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CoverExtent {
    /// Those where another file was covered before.
    Replaced,
    /// All of them.
    All,
}

impl PathGuard {
    pub(super) fn new(
        supervisor: Option<BorrowedFd<'_>>,
        ruled: RuledPaths,
        cache: ScanCache,
        covered: Vec<RuledPath>,
    ) -> io::Result<PathGuard> {
        let supervisor = supervisor.map(|socket| socket.try_clone_to_owned()).transpose()?;
        let needs_looks = supervisor.is_some() && !covered.is_empty();
        let state =
            Arc::new(PathGuardState { supervisor, ruled, cache, covered: Mutex::new(covered) });
        let looking = needs_looks.then(|| tokio::spawn(look_again(Arc::clone(&state))));
        Ok(PathGuard { state, looking })
    }

    /// Looks for denied paths that appeared since the process started, and covers them. Call it before the process is
    /// given more to do.
    ///
    /// # Errors
    ///
    /// A path appeared and cannot be kept from the process, so the process must not go on.
    pub async fn cover_new(&self) -> io::Result<()> {
        self.state.cover(CoverExtent::All).await
    }
}

impl Drop for PathGuard {
    fn drop(&mut self) {
        if let Some(looking) = &self.looking {
            looking.abort();
        }
    }
}

/// Covers files that replaced covered ones, again and again.
async fn look_again(state: Arc<PathGuardState>) {
    let mut pause = Duration::from_millis(GUARD_LOOK_MS);
    loop {
        sleep(pause).await;
        let started = Instant::now();
        let covered = state.covered.lock().await.clone();
        let looked = spawn_blocking(move || covered.iter().any(is_replaced)).await;
        if looked.unwrap_or_default() {
            // A process that has ended needs no cover.
            let _ = state.cover(CoverExtent::Replaced).await;
        }
        pause = (started.elapsed() * GUARD_SHARE).max(Duration::from_millis(GUARD_LOOK_MS));
    }
}

/// Returns whether another file is at the path.
fn is_replaced(covered: &RuledPath) -> bool {
    covered
        .path
        .symlink_metadata()
        .is_ok_and(|metadata| (metadata.dev(), metadata.ino()) != covered.identity)
}

impl PathGuardState {
    async fn cover(&self, extent: CoverExtent) -> io::Result<()> {
        let mut covered = self.covered.lock().await;
        let (cache, ruled) = (self.cache.clone(), self.ruled.clone());
        let scanning = spawn_blocking(move || {
            let mode = ProtectionMode::ReadOnlyMounts;
            let options = ScanOptions { mode, hidden: Vec::new(), quarantine: None, ruled };
            ProtectedPathScan::scan_directories(&cache, &[], &ProtectedPaths::empty(), options)
        });
        let scan = scanning.await.map_err(io::Error::other)??;
        let is_missing = |now: &RuledPath| {
            let mut here = covered.iter().filter(|it| it.path == now.path).peekable();
            let counts = extent == CoverExtent::All || here.peek().is_some();
            // A stricter cover is not taken away, and lies upon a looser one.
            let is_covered = here.any(|it| it.identity == now.identity && it.access <= now.access);
            now.is_denied() && counts && !is_covered
        };
        let missing: Vec<RuledPath> = scan.ruled_paths().into_iter().filter(is_missing).collect();
        if missing.is_empty() {
            return Ok(());
        }
        self.request(&missing).await?;
        covered.extend(missing);
        Ok(())
    }

    /// Has the supervisor cover the paths.
    async fn request(&self, missing: &[RuledPath]) -> io::Result<()> {
        let Some(supervisor) = &self.supervisor else {
            let paths: Vec<String> =
                missing.iter().map(|it| it.path.display().to_string()).collect();
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                format!("rules deny {}, which appeared while it ran", paths.join(", ")),
            ));
        };
        let covers: Vec<WireCover> = missing
            .iter()
            .map(|it| WireCover {
                path: it.path.clone(),
                is_readable: it.access == PathAccess::ReadOnly,
                keeps_place: false,
            })
            .collect();
        let (ours, theirs) = wire::socket_pair(SocketType::STREAM)?;
        let frame = wire::encode_covers(&covers)?;
        let sent = wire::send(supervisor, &frame, &[theirs.as_fd()], SendFlags::DONTWAIT)?;
        drop(theirs);
        if sent != frame.len() {
            // The supervisor takes a broken request for the end.
            return Err(io::ErrorKind::WriteZero.into());
        }
        let ours = StdUnixStream::from(ours);
        ours.set_nonblocking(true)?;
        let mut answer = [0; COVER_ANSWER_BYTES];
        let mut ours = UnixStream::from_std(ours)?;
        let reading = ours.read_exact(&mut answer);
        timeout(Duration::from_millis(COVER_MS_MAX), reading).await??;
        match i32::from_le_bytes(answer) {
            0 => Ok(()),
            number => Err(io::Error::from_raw_os_error(number)),
        }
    }
}
