//! Finding the program to execute: by path, or by name on the command's own PATH, never on this process's. It only
//! tells missing from forbidden; whether the kernel can execute a file shows when it tries.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, FileType, accessat, stat};
use rustix::io::Errno;

use crate::wire::{Failure, Spec, Stage};

/// Returns the path of the program; the working directory must be entered already, because paths may be relative.
pub(super) fn find(spec: &Spec) -> Result<PathBuf, Failure> {
    let failure = |stage, errno: Errno| Failure::new(stage, "", &errno.into());
    if spec.program.as_bytes().contains(&b'/') {
        let path = PathBuf::from(&spec.program);
        return match check(&path) {
            Ok(()) => Ok(path),
            Err(errno @ (Errno::NOENT | Errno::NOTDIR)) => Err(failure(Stage::Missing, errno)),
            Err(errno) => Err(failure(Stage::Denied, errno)),
        };
    }
    let mut denied = None;
    for directory in search_path(spec) {
        // An empty entry means the working directory, as in every shell.
        let directory = if directory.is_empty() { b"." } else { directory };
        let path = Path::new(OsStr::from_bytes(directory)).join(&spec.program);
        match check(&path) {
            Ok(()) => return Ok(path),
            Err(Errno::NOENT | Errno::NOTDIR) => {}
            // A later directory may hold one that can be executed.
            Err(errno) => denied = Some(errno),
        }
    }
    Err(match denied {
        Some(errno) => failure(Stage::Denied, errno),
        None => failure(Stage::Missing, Errno::NOENT),
    })
}

/// Returns the directories on the command's PATH; without one there are none.
fn search_path(spec: &Spec) -> impl Iterator<Item = &[u8]> {
    let last = spec.env.iter().rev().find(|(name, _)| name == "PATH");
    let path = last.map(|(_, path)| path.as_bytes()).filter(|path| !path.is_empty());
    path.into_iter().flat_map(|path| path.split(|byte| *byte == b':'))
}

fn check(path: &Path) -> rustix::io::Result<()> {
    match FileType::from_raw_mode(stat(path)?.st_mode) {
        FileType::RegularFile => accessat(CWD, path, Access::EXEC_OK, AtFlags::EACCESS),
        _ => Err(Errno::ACCESS),
    }
}
