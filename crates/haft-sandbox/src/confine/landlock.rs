//! Landlock: the kernel checks every access to files, independent of mounts. It is the remaining
//! layer where namespaces are forbidden, and a second barrier where they are not. It controls
//! operations on files, not their visibility: names and metadata outside can still be read. Modes,
//! owners and times of the user's files can be changed, because the kernel has no access right for
//! these.

use std::io;
use std::path::PathBuf;

use landlock::{
    ABI, Access, AccessFs, BitFlags, LandlockStatus, PathBeneath, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat2};
use rustix::io::Errno;

/// The access that is allowed at one path and below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LandlockRule {
    /// An absolute path without symbolic links. A path that is missing or leads through a link
    /// grants nothing.
    pub(crate) path: PathBuf,
    pub(crate) access: LandlockAccess,
}

/// A kind of access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LandlockAccess {
    /// Reading, listing and executing.
    Read,
    /// All access.
    Write,
    /// Listing directories.
    List,
    /// Reading, and writing to existing files, without creating or removing any: for `/dev`.
    Device,
}

/// The newest set of rights in use. Newer kernels include them all; rights that they add are
/// ignored until this crate knows them.
const NEWEST: ABI = ABI::V6;

/// The oldest kernel interface that controls every change to a file's contents. Before it, every
/// file that the user may write could be truncated.
const COMPLETE: ABI = ABI::V3;

/// Permanently restricts this process, and all processes that it starts, to the rules. Needs
/// `no_new_privs`.
///
/// `true` means that all access to files is controlled. `false` means that the kernel has no
/// Landlock, or only an incomplete one. The incomplete one is in force then, but does not count as
/// confinement.
pub(crate) fn restrict(rules: &[LandlockRule]) -> io::Result<bool> {
    let mut ruleset = Ruleset::default()
        .handle_access(AccessFs::from_all(NEWEST))
        .and_then(|ruleset| ruleset.scope(Scope::from_all(NEWEST)))
        .and_then(Ruleset::create)
        .map_err(refused)?
        // The caller sets it and must verify it.
        .no_new_privs(false);
    for rule in rules {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        // No link is followed: a path that was replaced by a link since it was checked must not
        // open another file.
        let file = match openat2(CWD, &rule.path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
            Ok(file) => file,
            // Missing, behind a link, or behind a directory that the command could not enter either.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => continue,
            Err(errno) => return Err(errno.into()),
        };
        let rights = rule.access.rights(FileType::from_raw_mode(fstat(&file)?.st_mode));
        ruleset = ruleset.add_rule(PathBeneath::new(file, rights)).map_err(refused)?;
    }
    let status = ruleset.restrict_self().map_err(refused)?;
    let is_complete = matches!(
        status.landlock,
        LandlockStatus::Available { effective_abi, .. } if effective_abi >= COMPLETE
    );
    Ok(status.ruleset != RulesetStatus::NotEnforced && is_complete)
}

/// Returns the version of the kernel's Landlock interface.
pub(crate) fn version() -> io::Result<i32> {
    const ASK_VERSION: u32 = 1;
    let nothing = std::ptr::null::<libc::c_void>();
    #[expect(unsafe_code, reason = "the library does not tell without confining")]
    // SAFETY: with this flag the kernel reads no structure and only returns a number.
    let answer =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, nothing, 0, ASK_VERSION) };
    if answer < 0 {
        return Err(io::Error::last_os_error());
    }
    i32::try_from(answer).map_err(io::Error::other)
}

/// Returns the gaps of an interface of this version, for people.
pub(crate) fn gaps(version: i32) -> Vec<&'static str> {
    let gaps = [
        (2, "moving files between directories is always refused"),
        (3, "files anywhere can be truncated, so that it does not count alone"),
        (5, "devices that can be opened take every control call"),
        (6, "signals and abstract sockets are not confined"),
    ];
    gaps.iter().filter(|(since, _)| version < *since).map(|(_, gap)| *gap).collect()
}

impl LandlockAccess {
    /// Returns the rights for a file of this kind; the kernel accepts directory rights only for
    /// directories.
    fn rights(self, kind: FileType) -> BitFlags<AccessFs> {
        let rights = match self {
            LandlockAccess::List => AccessFs::ReadDir.into(),
            LandlockAccess::Read => AccessFs::from_read(NEWEST),
            LandlockAccess::Write => AccessFs::from_all(NEWEST),
            LandlockAccess::Device => {
                (AccessFs::from_file(NEWEST) | AccessFs::ReadDir)
                    & !BitFlags::from(AccessFs::Execute)
            }
        };
        if kind == FileType::Directory { rights } else { rights & AccessFs::from_file(NEWEST) }
    }
}

/// Finds the operating system's error in the library's error, which nests it at varying depth.
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
