//! A directory for one command's temporary files, for machines where no mount namespace makes
//! `/tmp` private. Only this user can enter it, and it is removed with the value.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::process::getpid;

use crate::wire::{StartFailure, StartStage};

/// Its parent. The launching process handles any other directory from the environment.
const PARENT: &str = "/tmp";

/// Attempts to find a free name. A name is taken only if a helper with the same process number died
/// without removing its directory.
pub(crate) const NAMES_MAX: u32 = 64;

/// A directory that is removed with all its content when the value is dropped.
#[derive(Debug)]
pub(crate) struct PrivateDirectory {
    path: PathBuf,
}

impl PrivateDirectory {
    pub(crate) fn create() -> Result<PrivateDirectory, StartFailure> {
        let failure = |error: io::Error| {
            StartFailure::new(StartStage::Confine, "making a private temporary directory", error)
        };
        let pid = getpid();
        for number in 0..NAMES_MAX {
            let path = Path::new(PARENT).join(format!("haft-{pid}-{number}"));
            // Creating a directory follows no link and fails if the name exists.
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(PrivateDirectory { path }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failure(error)),
            }
        }
        Err(failure(io::ErrorKind::AlreadyExists.into()))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for PrivateDirectory {
    /// Removes the directory by descriptors, without following links. Errors cannot be reported;
    /// what cannot be removed stays.
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}
