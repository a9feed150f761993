//! The directory of a world, the lines that its processes write there, and the counts over all worlds.

use std::fmt;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::CrashFailure;

/// Calls of a world.
pub(crate) const CALLS: usize = 8;
/// The run of a world.
pub(crate) const RUN: &str = "asked";

/// The files of a world.
#[derive(Clone, Debug)]
pub(crate) struct World(PathBuf);

impl World {
    pub(crate) fn at(directory: &Path) -> Self {
        Self(directory.to_owned())
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.0
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.0.join("workspace")
    }

    pub(crate) fn journal(&self) -> PathBuf {
        self.0.join("journal.sqlite")
    }

    /// Returns the file to which an effect adds a line: its key and its text.
    pub(crate) fn ledger(&self) -> PathBuf {
        self.0.join("ledger")
    }

    /// Returns the file with the answers that the calls got, a line each.
    pub(crate) fn answered(&self) -> PathBuf {
        self.0.join("answered")
    }

    pub(crate) fn lines(path: &Path) -> Result<Vec<String>, CrashFailure> {
        match std::fs::read_to_string(path) {
            Ok(text) => Ok(text.lines().map(str::to_owned).collect()),
            Err(err) if err.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(err) => Err(err.into()),
        }
    }

    /// Adds a line in one write, which no kill can tear apart.
    pub(crate) fn append(path: &Path, line: &str) -> std::io::Result<()> {
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        file.write_all(format!("{line}\n").as_bytes())
    }
}

/// The counts over all worlds.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) kills: u64,
    pub(crate) askers_killed: u64,
    pub(crate) worlds: u64,
    pub(crate) asks: u64,
    pub(crate) allowed: u64,
    pub(crate) edited: u64,
    pub(crate) rejected: u64,
    pub(crate) withdrawn: u64,
    pub(crate) unreceived: u64,
    pub(crate) in_doubt: u64,
    pub(crate) contents_left: u64,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} kills ({} of processes that ask) in {} worlds: {} asks, {} allowed, {} edited, {} rejected, \
             {} withdrawn, {} answers not received, {} calls in doubt, {} contents left by kills",
            self.kills,
            self.askers_killed,
            self.worlds,
            self.asks,
            self.allowed,
            self.edited,
            self.rejected,
            self.withdrawn,
            self.unreceived,
            self.in_doubt,
            self.contents_left
        )
    }
}
