//! A directory for one command's temporary files where there is no mount namespace to make `/tmp` private. It goes with
//! the value; nothing is kept of it, and nobody else may enter it.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::process::getpid;

use crate::wire::{Failure, Stage};

/// Where it is made. Which place the environment names is the launching side's business.
const PARENT: &str = "/tmp";

/// How many names are tried; each is taken only if a helper of the same number once died without tidying up.
pub(crate) const NAMES_MAX: u32 = 64;

/// A directory that is removed with all its content when the value is dropped.
#[derive(Debug)]
pub(crate) struct PrivateDirectory {
    path: PathBuf,
}

impl PrivateDirectory {
    pub(crate) fn create() -> Result<PrivateDirectory, Failure> {
        let failure =
            |error| Failure::new(Stage::Confine, "making a private temporary directory", &error);
        let pid = getpid();
        for number in 0..NAMES_MAX {
            let path = Path::new(PARENT).join(format!("haft-{pid}-{number}"));
            // Making a directory follows no link and takes none that exists.
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
    /// Removes it by descriptors, through no link. What cannot be removed stays; nobody could be told.
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}
