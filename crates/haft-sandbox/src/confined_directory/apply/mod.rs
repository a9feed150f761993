//! Changes several files, all or nothing.
//!
//! First, new contents are written to temporaries beside their targets; this can take long and
//! needs no lock. Then, under the root's lock, every target is compared with the expected state and
//! the temporaries are renamed into place. Each original keeps a temporary name until the last
//! rename, so undoing is renaming too. A crash can leave a set half done, but each file is whole. A
//! caller that recorded the set and its tag can [finish](Root::finish_changes) it; this module records
//! nothing.

mod commit;
mod finish;
mod stage;

use std::path::Path;

use rustix::rand::{GetRandomFlags, getrandom};

use super::Root;
use super::change::{CHANGES_MAX, ChangeTag, RootFileChange};
use super::error::{ChangeSetError, RootError};
use stage::FileTransaction;

impl Root {
    /// Applies all of `changes`, or none.
    ///
    /// A replaced file keeps its permission bits and, where allowed, its owner. Everything is on
    /// disk when this returns. Only regular files are replaced or removed, and only through paths
    /// without links.
    ///
    /// # Errors
    ///
    /// [`ChangeSetError::Changed`] if a file is not in the expected state. After any error but
    /// [`ChangeSetError::RollbackFailed`] the files are unchanged.
    pub fn apply(&self, changes: Vec<RootFileChange>) -> Result<(), ChangeSetError> {
        let mut random = [0_u8; 4];
        getrandom(&mut random, GetRandomFlags::empty()).map_err(RootError::at(self.path()))?;
        self.apply_tagged(ChangeTag::new(u32::from_ne_bytes(random)), changes)
    }

    /// Applies all of `changes`, or none, with temporaries that carry `tag`.
    ///
    /// # Errors
    ///
    /// The same as for [`Root::apply`].
    pub fn apply_tagged(
        &self,
        tag: ChangeTag,
        changes: Vec<RootFileChange>,
    ) -> Result<(), ChangeSetError> {
        let (count, changes_max) = (changes.len(), CHANGES_MAX);
        if count > changes_max {
            return Err(ChangeSetError::TooMany { changes: count, changes_max });
        }
        let mut paths: Vec<&Path> = changes.iter().map(RootFileChange::path).collect();
        paths.sort_unstable();
        if let Some([twice, _]) = paths.array_windows().find(|[a, b]| a == b) {
            return Err(ChangeSetError::Duplicate { path: twice.to_path_buf() });
        }
        let mut transaction = FileTransaction::new(self, tag);
        for change in changes {
            transaction.stage(change)?;
        }
        transaction.commit()
    }
}
