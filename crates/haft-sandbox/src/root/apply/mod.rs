//! Changing several files, all or nothing.
//!
//! New contents are written to temporaries beside their targets first, which can take long and is done without a lock.
//! Then, under the root's lock, every target is compared with what the caller expects and the temporaries are renamed
//! into place, each original kept under a temporary name until the last rename is done, so that undoing is renaming
//! too. A crash of the machine can leave a set half done, each file whole; recording such sets is not this module's
//! part.

mod commit;
mod stage;

use std::path::Path;

use rustix::io;
use rustix::rand::{GetRandomFlags, getrandom};

use super::Root;
use super::change::{CHANGES_MAX, Change, TEMPORARY_LETTERS, TEMPORARY_PREFIX, TEMPORARY_SUFFIX};
use super::error::ApplyError;
pub(crate) use stage::ATTEMPTS_MAX;
use stage::Transaction;

impl Root {
    /// Makes all of `changes`, or none.
    ///
    /// A replaced file keeps its permission bits and, where that is allowed, its owner. Everything is on disk when this
    /// returns. Only regular files are replaced or removed, and only through paths without links.
    ///
    /// # Errors
    ///
    /// [`ApplyError::Changed`] when a file is not as expected. After any error but [`ApplyError::RollbackFailed`] the
    /// files are as they were.
    pub fn apply(&self, changes: Vec<Change>) -> Result<(), ApplyError> {
        let (asked, changes_max) = (changes.len(), CHANGES_MAX);
        if asked > changes_max {
            return Err(ApplyError::TooMany { changes: asked, changes_max });
        }
        let mut paths: Vec<&Path> = changes.iter().map(Change::path).collect();
        paths.sort_unstable();
        if let Some([twice, _]) = paths.array_windows().find(|[a, b]| a == b) {
            return Err(ApplyError::Duplicate { path: twice.to_path_buf() });
        }
        let mut transaction = Transaction::new(self);
        for change in changes {
            transaction.stage(change)?;
        }
        transaction.commit()
    }
}

/// Returns a name that is very unlikely to be taken.
fn temporary_name() -> io::Result<String> {
    let mut random = [0_u8; TEMPORARY_LETTERS / 2];
    getrandom(&mut random, GetRandomFlags::empty())?;
    let letters = format!("{:08x}", u32::from_ne_bytes(random));
    Ok(format!("{TEMPORARY_PREFIX}{letters}{TEMPORARY_SUFFIX}"))
}
