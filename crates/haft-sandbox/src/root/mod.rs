//! A directory beneath which all access to files happens.
//!
//! The scheme has two steps. *Resolve* turns a path into its canonical form and says what is there; a caller judges
//! that form. *Use* (open, list, apply) takes canonical paths only and passes through no symbolic link at all: what was
//! exchanged between the two steps makes the use fail, and never leads it elsewhere. This module deliberately knows
//! nothing of rules about which paths are allowed.

#[cfg(target_os = "linux")]
mod apply;
#[cfg(target_os = "linux")]
mod beneath;
mod change;
mod error;
mod file;
#[cfg(target_os = "linux")]
mod handle;
#[cfg(target_os = "linux")]
mod list;
#[cfg(target_os = "linux")]
mod resolve;

#[cfg(target_os = "linux")]
pub(crate) use apply::ATTEMPTS_MAX as STAGE_ATTEMPTS_MAX;
#[cfg(target_os = "linux")]
pub(crate) use beneath::ATTEMPTS_MAX as OPEN_ATTEMPTS_MAX;
pub use change::{CHANGES_MAX, Change, ChangeTag, Expected, Finished, Target, is_temporary};
pub use error::{ApplyError, RootError};
pub use file::{DirEntry, FileKind, LINKS_MAX, Metadata, OpenFile, Resolved, Stamp};
#[cfg(target_os = "linux")]
pub use handle::Root;
#[cfg(target_os = "linux")]
pub(crate) use resolve::PATH_BYTES_MAX;
