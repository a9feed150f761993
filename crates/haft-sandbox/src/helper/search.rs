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
    let program = &spec.program;
    let candidates: Vec<PathBuf> = if program.as_bytes().contains(&b'/') {
        vec![program.into()]
    } else {
        // If a name occurs twice, the last value counts.
        let path = spec.env.iter().rev().find(|(name, _)| name == "PATH");
        let path = path.map(|(_, path)| path.as_bytes()).filter(|path| !path.is_empty());
        let directories = path.into_iter().flat_map(|path| path.split(|byte| *byte == b':'));
        // An empty entry means the working directory, as in every shell.
        let directories = directories.map(|it| if it.is_empty() { b"." } else { it });
        directories.map(|it| Path::new(OsStr::from_bytes(it)).join(program)).collect()
    };
    let mut denied = None;
    for path in candidates {
        let checked = stat(&path).and_then(|stat| match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => accessat(CWD, &path, Access::EXEC_OK, AtFlags::EACCESS),
            _ => Err(Errno::ACCESS),
        });
        match checked {
            Ok(()) => return Ok(path),
            Err(Errno::NOENT | Errno::NOTDIR) => {}
            // A later directory may contain an executable one.
            Err(errno) => denied = Some(errno),
        }
    }
    Err(match denied {
        Some(errno) => StartFailure::new(StartStage::Denied, "", errno),
        None => StartFailure::new(StartStage::Missing, "", Errno::NOENT),
    })
}
