//! Landlock: which files can be reached, decided by the kernel at every access, whatever is mounted. It is the layer
//! that is left where namespaces are forbidden, and the second wall where they are not. It governs what is done with
//! files, not that they exist: names and metadata outside can still be looked at, and modes, owners and times of files
//! that belong to the user can be changed, because the kernel has no access right for these.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, BitFlags, LandlockStatus, PathBeneath, RestrictionStatus, Ruleset,
    RulesetAttr, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat2};
use rustix::io::Errno;

/// What may be done at one path and beneath it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PathRule {
    /// An absolute path without symbolic links. One that is missing, or leads through a link, grants nothing.
    pub(crate) path: PathBuf,
    pub(crate) access: PathAccess,
}

/// A kind of access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathAccess {
    /// Reading, listing and executing.
    Read,
    /// Everything.
    Write,
    /// Reading, and writing to what is there, without making or removing anything: for `/dev`.
    Device,
}

/// The newest set of rights that is used. Newer kernels have them all; what these add is left until it is known here.
const NEWEST: ABI = ABI::V6;

/// The oldest kernel interface that governs every change to a file's contents. Before it, any file that the user may
/// write could be cut to nothing.
const COMPLETE: ABI = ABI::V3;

/// Confines this process, and all that it starts, to the rules for good. Needs `no_new_privs`.
///
/// `true` means that access to files is governed completely. `false` means that the kernel has no Landlock, or one that
/// leaves something open, which is then in force as far as it goes: that does not count as confined.
pub(crate) fn restrict(rules: &[PathRule]) -> io::Result<bool> {
    let status = enforce(rules)?;
    Ok(match (status.ruleset, status.landlock) {
        (RulesetStatus::NotEnforced, _) => false,
        (
            RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced,
            LandlockStatus::Available { effective_abi, .. },
        ) => effective_abi >= COMPLETE,
        (
            RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced,
            LandlockStatus::NotEnabled | LandlockStatus::NotImplemented,
        ) => false,
    })
}

/// Returns the version of the kernel's interface.
pub(crate) fn version() -> io::Result<i32> {
    const ASK_VERSION: u32 = 1;
    let nothing = std::ptr::null::<libc::c_void>();
    #[expect(unsafe_code, reason = "the library does not tell without confining")]
    // SAFETY: with this flag the kernel wants no structure, and only answers.
    let answer =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, nothing, 0, ASK_VERSION) };
    if answer < 0 {
        return Err(io::Error::last_os_error());
    }
    i32::try_from(answer).map_err(io::Error::other)
}

/// Returns what an interface of this version leaves open, for people.
pub(crate) fn gaps(version: i32) -> Vec<&'static str> {
    let gaps = [
        (2, "moving files between directories is always refused"),
        (3, "files anywhere can be truncated, so that it does not count alone"),
        (5, "devices that can be opened take every control call"),
        (6, "signals and abstract sockets are not confined"),
    ];
    gaps.iter().filter(|(since, _)| version < *since).map(|(_, gap)| *gap).collect()
}

fn enforce(rules: &[PathRule]) -> io::Result<RestrictionStatus> {
    let mut ruleset = Ruleset::default()
        .handle_access(AccessFs::from_all(NEWEST))
        .and_then(|ruleset| ruleset.scope(Scope::from_all(NEWEST)))
        .and_then(Ruleset::create)
        .map_err(refused)?
        // Set by whoever calls, who must know that it holds.
        .no_new_privs(false);
    for rule in rules {
        let Some(file) = open(&rule.path)? else { continue };
        let rights = rule.access.rights(FileType::from_raw_mode(fstat(&file)?.st_mode));
        ruleset = ruleset.add_rule(PathBeneath::new(file, rights)).map_err(refused)?;
    }
    ruleset.restrict_self().map_err(refused)
}

impl PathAccess {
    /// Returns the rights for a file of this kind; the kernel takes no rights of directories for others.
    fn rights(self, kind: FileType) -> BitFlags<AccessFs> {
        let rights = match self {
            PathAccess::Read => AccessFs::from_read(NEWEST),
            PathAccess::Write => AccessFs::from_all(NEWEST),
            PathAccess::Device => {
                (AccessFs::from_file(NEWEST) | AccessFs::ReadDir)
                    & !BitFlags::from(AccessFs::Execute)
            }
        };
        if kind == FileType::Directory { rights } else { rights & AccessFs::from_file(NEWEST) }
    }
}

/// Opens what a rule is about, without following any link: what has been replaced by one since it was looked at must
/// not open another place.
fn open(path: &Path) -> io::Result<Option<OwnedFd>> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        Ok(file) => Ok(Some(file)),
        // Missing, behind a link, or behind a directory that the command could not enter either.
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

/// The library's errors carry the operating system's at varying depth.
fn refused(error: RulesetError) -> io::Error {
    let mut source: Option<&(dyn std::error::Error + 'static)> = Some(&error);
    while let Some(error) = source {
        if let Some(number) = error.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error) {
            return io::Error::from_raw_os_error(number);
        }
        source = error.source();
    }
    io::Error::other(error)
}

#[cfg(test)]
mod tests;
