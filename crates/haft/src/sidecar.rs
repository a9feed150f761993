//! The files that hold the rest of truncated outputs. Each session has one directory for them, outside every root. haft
//! makes it for the first truncated or recalled output, and removes it with the session unless the front end keeps it.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use haft_contract::EnvelopeMetadata;

/// The sidecars of one session.
#[derive(Debug)]
pub(crate) struct Sidecars {
    /// The directory of the sidecars, which need not exist yet.
    directory: PathBuf,
    /// Set once the directory exists.
    created_directory: OnceLock<SidecarDirectory>,
    /// Two calls that cut their outputs first at the same time make one directory; locked while it is made.
    making: Mutex<()>,
    /// The copies of earlier sessions' sidecars, by the path of the original; locked while a copy is made.
    adopted: Mutex<HashMap<PathBuf, PathBuf>>,
    /// Whether the sidecars stay when the session ends.
    is_kept: AtomicBool,
    /// Those of the session that this one was narrowed from: kept with them.
    parent: Option<Arc<Sidecars>>,
    /// How many sessions were narrowed from this one.
    subagent_count: AtomicU32,
}

/// The directory once it was made.
#[derive(Debug)]
struct SidecarDirectory {
    /// The absolute path of the directory.
    path: PathBuf,
    /// Locked for as long as the session lives, so that cleaning up skips the directory. `None` if the file system has
    /// no locks.
    _lock: Option<File>,
}

impl Sidecars {
    /// Returns the sidecars of a session that keeps them in `directory`, which need not exist yet.
    pub(crate) fn new(directory: PathBuf) -> Self {
        Self {
            directory,
            created_directory: OnceLock::new(),
            making: Mutex::default(),
            adopted: Mutex::default(),
            is_kept: AtomicBool::new(false),
            parent: None,
            subagent_count: AtomicU32::new(0),
        }
    }

    /// Returns the sidecars of a subagent's session, in a separate directory. A subagent must not read the outputs of its
    /// parent, which may reach more.
    pub(crate) fn for_subagent(self: &Arc<Self>) -> Self {
        let number = self.subagent_count.fetch_add(1, Ordering::Relaxed) + 1;
        let mut name = self.directory.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{number}"));
        let mut narrowed = Self::new(self.directory.with_file_name(name));
        narrowed.parent = Some(Arc::clone(self));
        narrowed
    }

    /// Keeps the sidecars when the session ends.
    pub(crate) fn keep(&self) {
        self.is_kept.store(true, Ordering::Relaxed);
    }

    /// Returns whether this session or a parent session keeps its sidecars.
    fn is_kept(&self) -> bool {
        let is_kept_above = || self.parent.as_ref().is_some_and(|above| above.is_kept());
        self.is_kept.load(Ordering::Relaxed) || is_kept_above()
    }

    /// Returns the directory once a sidecar was made.
    pub(crate) fn directory(&self) -> Option<&Path> {
        self.created_directory.get().map(|made| made.path.as_path())
    }

    /// Creates the sidecar of the call `seq` of `tool`. The name is new even if another run of the session counts
    /// alike.
    pub(crate) fn create(&self, tool: &str, seq: u32) -> io::Result<(File, PathBuf)> {
        let directory = self.make_directory()?;
        for number in 0_u32.. {
            let suffix = if number == 0 { String::new() } else { format!("-{number}") };
            let path = directory.join(format!("{seq}-{tool}{suffix}.txt"));
            match private(OpenOptions::new().write(true).create_new(true)).open(&path) {
                Ok(file) => return Ok((file, path)),
                Err(err) if err.kind() == io::ErrorKind::AlreadyExists => {}
                Err(err) => return Err(err),
            }
        }
        Err(io::Error::new(io::ErrorKind::AlreadyExists, "all sidecar names are taken"))
    }

    /// Marks the output of an answer as lost if its sidecar does not exist any more.
    pub(crate) fn mark_lost(metadata: &mut EnvelopeMetadata) {
        let is_gone = |path: &mut String| !Path::new(path).exists();
        if let Some(path) = metadata.output_path.take_if(is_gone) {
            metadata.output_lost = Some(format!("{path}, which held the rest, is gone since"));
        }
    }

    /// Copies the sidecar of an earlier session that a recalled answer names, and names the copy in the answer. This
    /// session can read the copy, which outlives the earlier session. If copying fails, the answer stays as it was.
    pub(crate) fn adopt(&self, metadata: &mut EnvelopeMetadata) {
        let Some(recorded) = metadata.output_path.as_deref().map(Path::new) else { return };
        match self.copy(recorded) {
            Ok(Some(path)) => metadata.output_path = Some(path.to_string_lossy().into_owned()),
            Ok(None) => {}
            Err(err) => {
                tracing::warn!(sidecar = %recorded.display(), %err, "a sidecar could not be taken over");
            }
        }
    }

    /// Copies the sidecar of an earlier session, which its former path then leads to.
    pub(crate) fn adopt_path(&self, recorded: &Path) {
        if let Err(err) = self.copy(recorded) {
            tracing::warn!(sidecar = %recorded.display(), %err, "a sidecar could not be taken over");
        }
    }

    /// Returns the copy of an earlier session's sidecar that was adopted.
    pub(crate) fn adopted_copy(&self, recorded: &Path) -> Option<PathBuf> {
        self.adopted.lock().unwrap_or_else(PoisonError::into_inner).get(recorded).cloned()
    }

    /// Returns whether a path is in the directory of this session, or of an adopted sidecar.
    pub(crate) fn holds(&self, path: &Path) -> bool {
        self.directory().is_some_and(|directory| path.starts_with(directory))
            || self.adopted_copy(path).is_some()
    }

    /// Returns the copy of another session's sidecar; `None` if the recorded path is no sidecar. A recorded path must not
    /// bring any other file into a session. A hard link would not do, because tools cannot read a file with two names if
    /// one name is in a hidden place.
    fn copy(&self, recorded: &Path) -> io::Result<Option<PathBuf>> {
        let (Some(session), Some(name)) = (recorded.parent(), recorded.file_name()) else {
            return Ok(None);
        };
        let directory = self.make_directory()?;
        let is_sidecar = session != directory
            && session.parent() == directory.parent()
            && fs::symlink_metadata(session)?.is_dir()
            && fs::symlink_metadata(recorded)?.is_file();
        if !is_sidecar {
            return Ok(None);
        }
        let mut adopted = self.adopted.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = adopted.get(recorded) {
            return Ok(Some(known.clone()));
        }
        let path =
            directory.join(format!("recalled-{}-{}", adopted.len() + 1, name.to_string_lossy()));
        let mut copy = private(OpenOptions::new().write(true).create_new(true)).open(&path)?;
        io::copy(&mut File::open(recorded)?, &mut copy)?;
        adopted.insert(recorded.to_owned(), path.clone());
        Ok(Some(path))
    }

    /// Returns what commands of the session can read: the directory of its sidecars, and the originals of those that it took over.
    pub(crate) fn readable_paths(&self) -> Vec<PathBuf> {
        let adopted = self.adopted.lock().unwrap_or_else(PoisonError::into_inner);
        self.directory().map(Path::to_path_buf).into_iter().chain(adopted.keys().cloned()).collect()
    }

    /// Writes a whole sidecar and returns its path.
    pub(crate) fn write<'a>(
        &self,
        tool: &str,
        seq: u32,
        pieces: impl IntoIterator<Item = &'a str>,
    ) -> io::Result<PathBuf> {
        let (file, path) = self.create(tool, seq)?;
        let mut file = BufWriter::new(file);
        for piece in pieces {
            file.write_all(piece.as_bytes())?;
        }
        file.flush()?;
        Ok(path)
    }

    /// Makes the directory of the sidecars once, and returns its path.
    fn make_directory(&self) -> io::Result<&Path> {
        let _making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(directory) = self.directory() {
            return Ok(directory);
        }
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        if let Some(parent) = self.directory.parent() {
            builder.recursive(true).create(parent)?;
        }
        // The directory is removed with the session, so it must be new and private.
        builder.recursive(false).create(&self.directory)?;
        let path = self.directory.canonicalize()?;
        let lock = File::open(&path).ok().filter(|directory| directory.try_lock().is_ok());
        Ok(&self.created_directory.get_or_init(|| SidecarDirectory { path, _lock: lock }).path)
    }
}

impl Drop for Sidecars {
    fn drop(&mut self) {
        if let Some(SidecarDirectory { path: directory, .. }) = self.created_directory.get()
            && !self.is_kept()
            && let Err(err) = fs::remove_dir_all(directory)
        {
            tracing::warn!(directory = %directory.display(), %err, "the session's sidecars could not be removed");
        }
    }
}

/// Lets only the user read and write a new file.
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}
