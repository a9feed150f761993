//! The places that outlive processes: the journal, the workspace, and beside them what really happened, which haft knows
//! nothing of.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// A directory that workers work in, one after the other.
#[derive(Clone, Debug)]
pub(crate) struct World {
    directory: PathBuf,
}

impl World {
    pub(crate) fn at(directory: &Path) -> Self {
        Self { directory: directory.to_owned() }
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(crate) fn journal(&self) -> PathBuf {
        self.directory.join("journal.db")
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.directory.join("workspace")
    }

    /// Holds the key of every order, a line each.
    pub(crate) fn ledger(&self) -> PathBuf {
        self.directory.join("ledger")
    }

    pub(crate) fn notes(&self) -> PathBuf {
        self.directory.join("notes")
    }

    /// Holds the keys of the calls that may be repeated.
    pub(crate) fn retries(&self) -> PathBuf {
        self.directory.join("retries")
    }

    /// Holds the stores of snapshots.
    pub(crate) fn snapshots(&self) -> PathBuf {
        self.directory.join("snapshots")
    }

    pub(crate) fn sidecars(&self) -> PathBuf {
        self.directory.join("sidecars")
    }
}

/// Appends a line to a file in one write, so that it is there whole or not at all however the process dies.
pub(crate) fn append(path: &Path, line: &str) -> io::Result<fs::File> {
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    file.write_all(format!("{line}\n").as_bytes())?;
    Ok(file)
}

/// Counts how often each line is in a file.
pub(crate) fn count_lines(path: &Path) -> io::Result<BTreeMap<String, u64>> {
    let mut counts = BTreeMap::new();
    for line in read_or_nothing(path)?.lines() {
        *counts.entry(line.to_owned()).or_default() += 1;
    }
    Ok(counts)
}

fn read_or_nothing(path: &Path) -> io::Result<String> {
    match fs::read_to_string(path) {
        Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        read => read,
    }
}

/// Returns the files of a directory, and how many temporaries of changes lie among them.
pub(crate) fn files_of(directory: &Path) -> io::Result<(crate::script::Files, u64)> {
    let mut files = BTreeMap::new();
    let mut temporaries = 0;
    let entries = match fs::read_dir(directory) {
        Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok((files, 0)),
        entries => entries?,
    };
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default();
        if haft_sandbox::is_temporary(name) {
            temporaries += 1;
        } else {
            files.insert(name.to_string_lossy().into_owned(), fs::read_to_string(&path)?);
        }
    }
    Ok((files, temporaries))
}
