//! Changing several files, all or nothing.
//!
//! New contents are written to temporaries beside their targets first, which can take long and is done without a lock.
//! Then, under the root's lock, every target is compared with what the caller expects and the temporaries are renamed
//! into place, each original kept under a temporary name until the last rename is done, so that undoing is renaming
//! too. A crash can leave a set half done, each file whole; who recorded the set and its tag can have it
//! [finished](Root::finish). Recording is not this module's part.

mod commit;
mod finish;
mod stage;

use std::path::Path;

use rustix::rand::{GetRandomFlags, getrandom};

use super::Root;
use super::change::{CHANGES_MAX, Change, ChangeTag};
use super::error::{ApplyError, RootError};
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
        let mut random = [0_u8; 4];
        getrandom(&mut random, GetRandomFlags::empty())
            .map_err(|errno| RootError::from_errno(self.path(), errno))?;
        self.apply_tagged(ChangeTag::new(u32::from_ne_bytes(random)), changes)
    }

    /// Makes all of `changes`, or none, with temporaries that carry `tag`.
    ///
    /// # Errors
    ///
    /// As [`Root::apply`].
    pub fn apply_tagged(&self, tag: ChangeTag, changes: Vec<Change>) -> Result<(), ApplyError> {
        let (asked, changes_max) = (changes.len(), CHANGES_MAX);
        if asked > changes_max {
            return Err(ApplyError::TooMany { changes: asked, changes_max });
        }
        let mut paths: Vec<&Path> = changes.iter().map(Change::path).collect();
        paths.sort_unstable();
        if let Some([twice, _]) = paths.array_windows().find(|[a, b]| a == b) {
            return Err(ApplyError::Duplicate { path: twice.to_path_buf() });
        }
        let mut transaction = Transaction::new(self, tag);
        for change in changes {
            transaction.stage(change)?;
        }
        transaction.commit()
    }
}
