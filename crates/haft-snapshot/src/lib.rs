//! What a workspace looked like, kept outside of it, and brought back exactly.
//!
//! A [`Store`] records the tree beneath a [`Root`](haft_sandbox::Root) and says what differs between two records, or brings back what
//! differs. It knows neither calls nor journals: whoever records keeps the [`TreeId`]s, and says which of them are still
//! needed. Nothing here asks a clock, the environment or chance, and nothing asks rules: restoring is the owner's act.
//!
//! # Example
//!
//! ```
//! use haft_sandbox::Root;
//! use haft_snapshot::{Changed, Options, Overwrite, Store};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let (kept, workspace) = (tempfile::tempdir()?, tempfile::tempdir()?);
//! let store = Store::open(kept.path())?;
//! let root = Root::open(workspace.path())?;
//! let options = Options::default();
//!
//! std::fs::write(workspace.path().join("notes"), "one\n")?;
//! let before = store.record(&root, &options, Changed::Anything)?.tree;
//! std::fs::write(workspace.path().join("notes"), "two\n")?;
//! let after = store.record(&root, &options, Changed::Anything)?.tree;
//!
//! store.restore(&root, [after, before], Overwrite::Refuse)?;
//! assert_eq!(std::fs::read_to_string(workspace.path().join("notes"))?, "one\n");
//! # Ok(())
//! # }
//! ```
//!
//! # What is recorded
//!
//! - Files with their bytes, unaltered; symbolic links with their targets; directories, empty ones too; of files and directories
//!   all twelve permission bits; names as the bytes that they are. Times, owners, access lists and extended attributes are not
//!   recorded, except the owner of a file that has a set-user-id or set-group-id bit.
//! - Neither a directory nor a file called `.git`, in any case of letters, at any depth, is ever looked into or touched. The files
//!   of nested repositories are files like others. Temporaries of haft itself are passed over.
//! - What the caller [hides](Store::hiding), such as credentials and a journal, is passed over as if it were not there, by
//!   whatever name without links it is reached. It is not restored either.
//! - Ignored files are recorded as well, within bounds of their own: one larger than [`Options::ignored_bytes_max`] is left
//!   out, and so is, as a whole, an ignored directory which holds more bytes or more than [`Options::ignored_files_max`]
//!   names. Counting ends at the bound, and is repeated only when a name in the directory itself came or went, so that a
//!   large `target` or `node_modules` costs one look.
//! - Sockets, pipes, devices, files over [`Options::file_bytes_max`], what may not be read or does not hold still, and what the
//!   caller excludes, are noted by name and reason.
//!
//! A record is no frozen moment: files that change while it is made are recorded as they were at some moment in between, each by
//! itself.
//!
//! # What is restored
//!
//! [`Store::restore`] changes the paths that differ between two records, and only those. All of them are compared with the first
//! record before anything is changed; if one changed since, nothing is, unless [`Overwrite::Force`] asks for it. Then each path
//! changes in one step: a process that dies in between leaves it as it was or as it should be, or, where a directory and something
//! else change places, absent; restoring again completes it. To that end a directory that has all bits of its record and in addition
//! those that its owner needs to work in it counts as unchanged.
//!
//! What was left out of either record is left alone and listed. An exception is a file that was small enough to be recorded and then
//! became too large: it is a conflict. Of an ignored directory that outgrew its bounds, what the earlier record knows is brought
//! back, whoever changed it since: who is to lose nothing by that records it first, as [`Store::unrecorded`] does. Nothing that no record knows is ever removed to make room.
//!
//! A file is replaced, not rewritten: of several hard links to it the restored path becomes a file of its own, and the others
//! keep what they have. Where only bits differ they are changed in place. A replaced file keeps its owner as far as this process may
//! decide that; a new one belongs to whoever restores.
//!
//! # Format
//!
//! | path | what it is |
//! |---|---|
//! | `format` | the version of all this |
//! | `objects/ab/cd…` | an object, named by the BLAKE3 hash of its bytes: the bytes of a file, or a directory |
//! | `tmp/` | objects being written, which are renamed into place |
//! | `roots/…/cache` | what the files of one root looked like when they were last read |
//! | `roots/…/clock` | an empty file that is stamped to know the time by the clock of files |
//! | `roots/…/restoring` | locked by the one process that restores this root |
//! | `lock` | locked shared by whoever records, restores or [holds](Store::hold) the store, and alone by who prunes it |
//!
//! Directories are for their owner alone, and so are files. An object that describes a directory lists its names in the order of
//! their bytes, with what each looks like; a directory in it is the name of another object. Equal directories are one object, and two
//! records differ only in directories on the way to a change. An object that does not hold what its name says, as after a loss
//! of power, is an error when it is needed, and is replaced when its bytes are recorded again. Everything that a record consists of is
//! on disk before its name is returned, unless the caller wants to [sync](Store::sync) later.
//!
//! # Platforms
//!
//! Linux, with `/proc` mounted.

#![deny(missing_docs)]

mod bytes;
mod compose;
mod diff;
mod directory;
mod error;
mod hidden;
mod id;
pub mod limits;
mod objects;
mod quoted;
mod record;
mod restore;
mod state;
mod store;
mod tree;
mod unified;

pub use compose::Composed;
pub use diff::{Change, ChangeKind};
pub use error::{RecordError, RestoreError, StoreError};
pub use id::{ContentId, ParseIdError, TreeId};
pub use quoted::quoted;
pub use record::{Changed, Lasting, LeftOutPath, Options, Recorded};
pub use restore::{Conflict, ConflictReason, LeftAlone, LeftAloneReason, Overwrite, Restored};
pub use state::{FileState, LeftOut, Owner, Reason, State};
pub use store::{Hold, Pruned, Pruning, Size, Store};
pub use unified::Unified;
