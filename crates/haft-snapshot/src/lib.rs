//! Snapshots of a workspace, stored outside of it and restored exactly.
//!
//! A [`SnapshotStore`] records the tree below a [`Root`](haft_sandbox::Root). It returns the
//! differences between two records, or restores them. It knows neither calls nor journals: the
//! caller keeps the [`TreeId`]s and says which of them are still needed. It uses no clock,
//! environment or randomness, and checks no rules, because the workspace's owner requests a
//! restore.
//!
//! # Example
//!
//! ```
//! use haft_sandbox::Root;
//! use haft_snapshot::{ChangeScope, RecordOptions, OverwritePolicy, SnapshotStore};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let (kept, workspace) = (tempfile::tempdir()?, tempfile::tempdir()?);
//! let store = SnapshotStore::open(kept.path())?;
//! let root = Root::open(workspace.path())?;
//! let options = RecordOptions::default();
//!
//! std::fs::write(workspace.path().join("notes"), "one\n")?;
//! let before = store.record(&root, &options, ChangeScope::Anything)?.tree;
//! std::fs::write(workspace.path().join("notes"), "two\n")?;
//! let after = store.record(&root, &options, ChangeScope::Anything)?.tree;
//!
//! store.restore(&root, [after, before], OverwritePolicy::Refuse)?;
//! assert_eq!(std::fs::read_to_string(workspace.path().join("notes"))?, "one\n");
//! # Ok(())
//! # }
//! ```
//!
//! # What is recorded
//!
//! - Files with their exact bytes; symbolic links with their targets; directories, including empty
//!   ones; all twelve permission bits of files and directories; names as bytes. Times, owners,
//!   access lists and extended attributes are not recorded, except the owner of a file that has a
//!   set-user-id or set-group-id bit.
//! - A directory or file called `.git`, in any letter case and at any depth, is never read or
//!   touched. The files of nested repositories are ordinary files. haft's own temporaries are
//!   skipped.
//! - Paths that the caller [hides](SnapshotStore::with_hidden), such as credentials and a journal,
//!   are skipped as if they did not exist, under any link-free name. They are not restored either.
//! - Ignored files are recorded too, within separate limits. A file larger than
//!   [`RecordOptions::ignored_bytes_max`] is omitted. An ignored directory is omitted as a whole if
//!   it contains more bytes, or more than [`RecordOptions::ignored_files_max`] names. Counting
//!   stops at the limit. It is repeated only when a name in the directory itself appears or
//!   disappears, so a large `target` or `node_modules` costs one check.
//! - Sockets, pipes, devices, files over [`RecordOptions::file_bytes_max`], unreadable files, files
//!   that keep changing, and paths that the caller excludes are recorded by name and reason only.
//!
//! A record is not atomic: files that change during recording are each recorded in a state at some
//! point during it.
//!
//! # What is restored
//!
//! [`SnapshotStore::restore`] changes only the paths that differ between two records. All of them
//! are compared with the first record before anything is changed. If one has changed since, nothing
//! is restored, unless [`OverwritePolicy::Force`] is given. Then each path changes in one step: if
//! the process dies in between, each path is in its old or new state. A path that changes between a
//! directory and another kind can also be absent. Restoring again completes it. For this purpose a
//! directory counts as unchanged if it has all recorded bits plus those that its owner needs to
//! work in it.
//!
//! Paths that either record omitted are left alone and listed. There is one exception: a file that
//! was small enough to be recorded and then became too large is a conflict. If an ignored directory
//! outgrew its limits, the paths in the earlier record are restored, even if they changed since. To
//! lose nothing, record them first, as [`SnapshotStore::backup_overwritten`] does. A path that no
//! record contains is never removed to make room.
//!
//! A file is replaced, not rewritten. If it had several hard links, the restored path becomes a
//! separate file, and the other links keep their content. If only permission bits differ, they are
//! changed in place. A replaced file keeps its owner as far as this process may set it; a new file
//! belongs to the current user.
//!
//! # Format
//!
//! | path | content |
//! |---|---|
//! | `format` | the version of the format |
//! | `objects/ab/cd…` | an object, named by the BLAKE3 hash of its bytes: the bytes of a file, or a directory |
//! | `tmp/` | new objects before they are renamed into place |
//! | `roots/…/cache` | the states of one root's files when they were last read |
//! | `roots/…/clock` | an empty file that is stamped to read the file system's clock |
//! | `roots/…/restoring` | lock of the process that restores this root |
//! | `lock` | shared lock while recording, restoring or [holding](SnapshotStore::lock_shared) the store; exclusive lock while pruning |
//!
//! Directories and files of the store are accessible only to their owner. An object that describes
//! a directory lists its names in byte order, with their states. A subdirectory is the name of
//! another object. Equal directories are one object, and two records differ only in directories on
//! the way to a change. An object that does not match its name, for example after a loss of power,
//! is an error when it is needed, and is replaced when its bytes are recorded again. All objects of
//! a record are on disk before its name is returned, unless the caller chooses to
//! [sync](SnapshotStore::sync) later.
//!
//! # Platforms
//!
//! Linux, with `/proc` mounted.

#![deny(missing_docs)]

mod bytes;
mod compose;
mod conflict;
mod diff;
mod directory;
mod error;
mod hidden_paths;
mod id;
pub mod limits;
mod objects;
mod quoting;
mod record;
mod restore;
mod state;
mod store;
mod tree;
mod unified;

pub use compose::ComposedChanges;
pub use conflict::{RestoreConflict, RestoreConflictReason};
pub use diff::{PathChange, PathChangeKind};
pub use error::{RecordError, RestoreError, SnapshotStoreError};
pub use id::{ContentId, ParseTreeIdError, TreeId};
pub use objects::RecordDurability;
pub use quoting::quote_path;
pub use record::{ChangeScope, OmittedPath, RecordOptions, RecordReport, RecordTracker};
pub use restore::{OverwritePolicy, RestoreReport, SkipReason, SkippedPath};
pub use state::{FileOwner, OmissionReason, OmittedEntry, PathState, RecordedFile};
pub use store::{ExclusiveStore, SharedStoreLock, SnapshotPruneReport, SnapshotStore, StoreSize};
pub use unified::UnifiedDiff;
