//! The files that hold what was cut out of long outputs: one directory a session, outside every root, made
//! when the first output is cut and removed with the session.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// The sidecars of one session.
#[derive(Debug)]
pub(crate) struct Sidecars {
    directory: PathBuf,
    made: OnceLock<PathBuf>,
    kept: AtomicBool,
}

impl Sidecars {
    /// Returns the sidecars of a session that keeps them in `directory`, which need not exist yet.
    pub(crate) fn new(directory: PathBuf) -> Self {
        Self { directory, made: OnceLock::new(), kept: AtomicBool::new(false) }
    }

    /// Leaves the sidecars where they are when the session goes.
    pub(crate) fn keep(&self) {
        self.kept.store(true, Ordering::Relaxed);
    }

    /// Returns the directory once a sidecar was made.
    pub(crate) fn directory(&self) -> Option<&Path> {
        self.made.get().map(PathBuf::as_path)
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

    fn make_directory(&self) -> io::Result<&Path> {
        if let Some(directory) = self.made.get() {
            return Ok(directory);
        }
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        if let Some(parent) = self.directory.parent() {
            builder.recursive(true).create(parent)?;
        }
        // The directory is removed with the session, so it must be one that nobody else has.
        builder.recursive(false).create(&self.directory)?;
        let canonical = self.directory.canonicalize()?;
        Ok(self.made.get_or_init(|| canonical))
    }
}

impl Drop for Sidecars {
    fn drop(&mut self) {
        if let Some(directory) = self.made.get()
            && !*self.kept.get_mut()
            && let Err(err) = fs::remove_dir_all(directory)
        {
            tracing::warn!(directory = %directory.display(), %err, "the session's sidecars could not be removed");
        }
    }
}

fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}
