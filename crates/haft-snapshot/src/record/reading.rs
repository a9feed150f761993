//! Reading one file as it was at one moment: a file that changed meanwhile is read again, a bounded number of times. Where its
//! bytes go is the caller's part.

use std::io::Read as _;
use std::path::Path;

use haft_sandbox::{Metadata, OpenFile, Root, RootError, Stamp};
use rustix::fs::fstat;

use crate::limits::READ_ATTEMPTS_MAX;
use crate::state::{Owner, Reason};

/// What came of reading a file.
#[derive(Debug)]
pub(super) enum Reading {
    /// Its bytes, and its state before and after they were read.
    Whole { bytes: Vec<u8>, stamp: Stamp, owner: Owner },
    /// It is not there any more.
    Gone,
    /// It cannot be recorded.
    Not(Reason),
}

/// Reads the file at a canonical path, which was just seen to be one.
pub(super) fn read(root: &Root, path: &Path, bytes_max: u64) -> Result<Reading, RootError> {
    for _ in 0..READ_ATTEMPTS_MAX {
        let open = match root.open_seen_file(path) {
            Ok(open) => open,
            Err(RootError::NotFound { .. }) => return Ok(Reading::Gone),
            Err(RootError::Denied { .. }) => return Ok(Reading::Not(Reason::Unreadable)),
            Err(RootError::NotRegular { .. } | RootError::Exchanged { .. }) => continue,
            Err(err) => return Err(err),
        };
        if open.stamp.size_bytes > bytes_max {
            return Ok(Reading::Not(Reason::TooLarge));
        }
        let failed = |source| RootError::Io { path: path.to_path_buf(), source };
        if let Some(reading) = try_read(open, bytes_max).map_err(failed)? {
            return Ok(reading);
        }
    }
    Ok(Reading::Not(Reason::Changing))
}

/// Reads an open file; none if it changed meanwhile.
fn try_read(open: OpenFile, bytes_max: u64) -> std::io::Result<Option<Reading>> {
    let OpenFile { mut file, stamp, .. } = open;
    let mut bytes = Vec::with_capacity(usize::try_from(stamp.size_bytes).unwrap_or(0));
    (&mut file).take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    let after = fstat(&file)?;
    let is_whole = u64::try_from(bytes.len()).is_ok_and(|length| length == stamp.size_bytes);
    if !is_whole || Metadata::from(&after).stamp != stamp {
        return Ok(None);
    }
    let owner = Owner { user: after.st_uid, group: after.st_gid };
    Ok(Some(Reading::Whole { bytes, stamp, owner }))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::id::ObjectId;

    /// Opens a file, lets something happen, reads it, and says what came of it.
    fn check(meanwhile: impl FnOnce(&Path), expected: Option<&[u8]>) {
        let directory = tempfile::tempdir().unwrap();
        let root = Root::open(directory.path()).unwrap();
        let path = directory.path().join("file");
        fs::write(&path, "0123456789").unwrap();
        let open = root.open_seen_file(Path::new("file")).unwrap();
        meanwhile(&path);
        match (try_read(open, 100).unwrap(), expected) {
            (Some(Reading::Whole { bytes, stamp, .. }), Some(expected)) => {
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
        // A file that takes its place is another file; this one is whole.
        let replaced = |path: &Path| {
            let other = path.with_extension("other");
            fs::hard_link(path, path.with_extension("kept")).unwrap();
            fs::write(&other, "other").unwrap();
            fs::rename(other, path).unwrap();
        };
        // Taking a name away changes the file's own time as well, so that it is read once more.
        check(replaced, None);
    }

    #[test]
    fn what_took_the_place_of_a_file_is_no_error() {
        let directory = tempfile::tempdir().unwrap();
        let root = Root::open(directory.path()).unwrap();
        fs::create_dir(directory.path().join("directory")).unwrap();
        std::os::unix::fs::symlink("directory", directory.path().join("link")).unwrap();
        let reason = |path| match read(&root, Path::new(path), 100).unwrap() {
            Reading::Not(reason) => Some(reason),
            Reading::Gone => None,
            Reading::Whole { .. } => panic!("{path} was read"),
        };
        assert_eq!(reason("directory"), Some(Reason::Changing));
        assert_eq!(reason("link"), Some(Reason::Changing));
        assert_eq!(reason("missing"), None);
    }
}
