//! Finds the program to execute: by path, or by name on the command's own PATH, never on this
//! process's. It distinguishes only missing from forbidden; the kernel decides at execution whether
//! a file is executable.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, FileType, accessat, stat};
use rustix::io::Errno;

use crate::wire::{StartFailure, StartStage, WireCommandSpec};

/// Returns the path of the program. The working directory must already be entered, because paths
/// may be relative.
pub(super) fn find(spec: &WireCommandSpec) -> Result<PathBuf, StartFailure> {
    let failure = |stage, errno: Errno| StartFailure::new(stage, "", errno);
    if spec.program.as_bytes().contains(&b'/') {
        let path = PathBuf::from(&spec.program);
        return match check(&path) {
            Ok(()) => Ok(path),
            Err(errno @ (Errno::NOENT | Errno::NOTDIR)) => Err(failure(StartStage::Missing, errno)),
            Err(errno) => Err(failure(StartStage::Denied, errno)),
        };
    }
    let mut denied = None;
    let path = spec.env.iter().rev().find(|(name, _)| name == "PATH");
    let path = path.map(|(_, path)| path.as_bytes()).filter(|path| !path.is_empty());
    for directory in path.into_iter().flat_map(|path| path.split(|byte| *byte == b':')) {
        // An empty entry means the working directory, as in every shell.
        let directory = if directory.is_empty() { b"." } else { directory };
        let path = Path::new(OsStr::from_bytes(directory)).join(&spec.program);
        match check(&path) {
            Ok(()) => return Ok(path),
            Err(Errno::NOENT | Errno::NOTDIR) => {}
            // A later directory may contain an executable one.
            Err(errno) => denied = Some(errno),
        }
    }
    Err(match denied {
        Some(errno) => failure(StartStage::Denied, errno),
        None => failure(StartStage::Missing, Errno::NOENT),
    })
}

fn check(path: &Path) -> rustix::io::Result<()> {
    match FileType::from_raw_mode(stat(path)?.st_mode) {
        FileType::RegularFile => accessat(CWD, path, Access::EXEC_OK, AtFlags::EACCESS),
        _ => Err(Errno::ACCESS),
    }
}
