//! Lists a directory below a root, sorted, without a system call per entry. It neither descends nor
//! follows links. The caller walks a tree by canonical paths, so that no handle is kept per
//! directory.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, OFlags, RawDir, statat};
use rustix::io::Errno;

use super::Root;
use super::error::RootError;
use super::file::DirEntry;

/// Bytes of entries that are read per system call; about 700 names of usual length.
const BUFFER_BYTES: usize = 32 * 1024;

impl Root {
    /// Returns the entries of the directory at `canonical`, sorted by the bytes of their names.
    ///
    /// # Errors
    ///
    /// [`RootError::NotADirectory`] for anything else; [`RootError::Exchanged`] if a link has
    /// replaced a component since the path was resolved.
    pub fn list(&self, canonical: &Path) -> Result<Vec<DirEntry>, RootError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK;
        let directory = self.open_strictly(canonical, flags)?;
        let failed = RootError::at(canonical);
        let mut buffer = Vec::with_capacity(BUFFER_BYTES);
        let mut raw = RawDir::new(&directory, buffer.spare_capacity_mut());
        let mut entries = Vec::new();
        while let Some(entry) = raw.next() {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            let kind = match entry.file_type() {
                // Some file systems do not store kinds in their directories.
                FileType::Unknown => match statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                    // It was removed meanwhile.
                    Err(Errno::NOENT) => continue,
                    Err(errno) => return Err(failed(errno)),
                },
                listed => listed,
            };
            let name = OsString::from(OsStr::from_bytes(name.to_bytes()));
            entries.push(DirEntry { name, kind: kind.into() });
        }
        entries.sort_unstable_by(|a, b| a.name.as_bytes().cmp(b.name.as_bytes()));
        Ok(entries)
    }
}
