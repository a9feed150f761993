//! Reads one file in a single state: a file that changed meanwhile is read again, a limited number
//! of times. The caller stores the bytes.

use std::io::Read as _;
use std::path::Path;

use haft_sandbox::{InodeStamp, OpenedRootFile, PathMetadata, Root, RootError};
use rustix::fs::fstat;

use crate::limits::READ_ATTEMPTS_MAX;
use crate::state::{FileOwner, OmissionReason};

/// The result of reading a file.
#[derive(Debug)]
pub(super) enum FileReadResult {
    /// Its bytes, and its state, which was the same before and after reading them.
    Whole { bytes: Vec<u8>, stamp: InodeStamp, owner: FileOwner },
    /// It does not exist any more.
    Gone,
    /// It cannot be recorded.
    Omitted(OmissionReason),
}

/// Reads the file at a canonical path that was just seen to be a file.
pub(super) fn read_file(
    root: &Root,
    path: &Path,
    bytes_max: u64,
) -> Result<FileReadResult, RootError> {
    for _ in 0..READ_ATTEMPTS_MAX {
        let open = match root.open_checked_file(path) {
            Ok(open) => open,
            Err(RootError::NotFound { .. }) => return Ok(FileReadResult::Gone),
            Err(RootError::Denied { .. }) => {
                return Ok(FileReadResult::Omitted(OmissionReason::Unreadable));
            }
            Err(RootError::NotRegular { .. } | RootError::Exchanged { .. }) => continue,
            Err(err) => return Err(err),
        };
        if open.stamp.size_bytes > bytes_max {
            return Ok(FileReadResult::Omitted(OmissionReason::TooLarge));
        }
        let failed = |source| RootError::Io { path: path.to_path_buf(), source };
        if let Some(reading) = try_read(open, bytes_max).map_err(failed)? {
            return Ok(reading);
        }
    }
    Ok(FileReadResult::Omitted(OmissionReason::Changing))
}

/// Reads an open file; returns `None` if it changed meanwhile.
fn try_read(open: OpenedRootFile, bytes_max: u64) -> std::io::Result<Option<FileReadResult>> {
    let OpenedRootFile { mut file, stamp, .. } = open;
    let mut bytes = Vec::with_capacity(usize::try_from(stamp.size_bytes).unwrap_or(0));
    (&mut file).take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    let after = fstat(&file)?;
    let is_whole = u64::try_from(bytes.len()).is_ok_and(|length| length == stamp.size_bytes);
    if !is_whole || PathMetadata::from(&after).stamp != stamp {
        return Ok(None);
    }
    let owner = FileOwner { user: after.st_uid, group: after.st_gid };
    Ok(Some(FileReadResult::Whole { bytes, stamp, owner }))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::id::ObjectId;

    /// Opens a file, runs `meanwhile`, reads the file, and checks the result.
    fn check(meanwhile: impl FnOnce(&Path), expected: Option<&[u8]>) {
        let directory = tempfile::tempdir().unwrap();
        let root = Root::open(directory.path()).unwrap();
        let path = directory.path().join("file");
        fs::write(&path, "0123456789").unwrap();
        let open = root.open_checked_file(Path::new("file")).unwrap();
        meanwhile(&path);
        match (try_read(open, 100).unwrap(), expected) {
            (Some(FileReadResult::Whole { bytes, stamp, .. }), Some(expected)) => {
                assert_eq!(ObjectId::of(&bytes), ObjectId::of(expected));
                assert_eq!(stamp.size_bytes, 10);
            }
            (None, None) => {}
            (read, expected) => panic!("{read:?}, expected {expected:?}"),
        }
    }

    #[test]
    fn a_file_that_changes_while_it_is_read_is_not_taken() {
        check(|_| {}, Some(b"0123456789"));
        check(|path| fs::write(path, "0123").unwrap(), None);
        check(|path| fs::write(path, "0123456789a").unwrap(), None);
        check(|path| fs::remove_file(path).unwrap(), None);
        // A file that takes its place is another file; the opened one is complete.
        let replaced = |path: &Path| {
            let other = path.with_extension("other");
            fs::hard_link(path, path.with_extension("kept")).unwrap();
            fs::write(&other, "other").unwrap();
            fs::rename(other, path).unwrap();
        };
        // Removing a name changes the file's own time as well, so it is read once more.
        check(replaced, None);
    }

    #[test]
    fn what_took_the_place_of_a_file_is_no_error() {
        let directory = tempfile::tempdir().unwrap();
        let root = Root::open(directory.path()).unwrap();
        fs::create_dir(directory.path().join("directory")).unwrap();
        std::os::unix::fs::symlink("directory", directory.path().join("link")).unwrap();
        let reason = |path| match read_file(&root, Path::new(path), 100).unwrap() {
            FileReadResult::Omitted(reason) => Some(reason),
            FileReadResult::Gone => None,
            FileReadResult::Whole { .. } => panic!("{path} was read"),
        };
        assert_eq!(reason("directory"), Some(OmissionReason::Changing));
        assert_eq!(reason("link"), Some(OmissionReason::Changing));
        assert_eq!(reason("missing"), None);
    }
}
