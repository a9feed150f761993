//! A directory that confines all access to files.
//!
//! An access has two steps. *Resolve* returns the canonical form of a path and the kind of file
//! there; the caller judges that form. *Use* (open, list, apply) takes only canonical paths and
//! follows no symbolic link. A path that was exchanged between the two steps makes the use fail and
//! never redirects it. The module deliberately knows no rules about allowed paths.

mod apply;
mod beneath_directory;
mod change;
mod error;
mod file;
mod handle;
mod list;
mod resolve;

pub use change::{
    CHANGES_MAX, ChangeSetState, ChangeTag, ChangeTarget, ExpectedFile, RootFileChange,
    is_temporary,
};
pub use error::{ChangeSetError, RootError};
pub use file::{
    DirEntry, InodeKind, InodeStamp, LINKS_MAX, OpenedRootFile, PathMetadata, ResolvedPath,
};
pub use handle::Root;
