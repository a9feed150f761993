//! Every bound of the store, named with its unit. A caller sets the bounds of one record in
//! [`RecordOptions`](crate::RecordOptions); the values here are its defaults.

/// Default size of a file in a snapshot, in bytes.
///
/// Limit (journal): the file is left out.
pub const FILE_BYTES_MAX: u64 = 32 * 1024 * 1024;

/// Default number of files, directories and links in a snapshot.
///
/// Limit (journal): the snapshot is not taken.
pub const FILES_MAX: u64 = 300_000;

/// Default size of an ignored file, or of all files in an ignored directory, in a snapshot, in
/// bytes.
///
/// Limit (journal): the file or directory is left out.
pub const IGNORED_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// Default number of entries of an ignored directory in a snapshot.
///
/// Limit (journal): the directory is left out.
pub const IGNORED_FILES_MAX: u64 = 1_000;

/// Depth of the directories in a snapshot.
///
/// Limit (journal): deeper ones are left out.
pub const DEPTH_MAX: usize = 200;

/// Files with several names (hard links) that are checked for each record. If there are more, each
/// record walks everything.
pub const LINKED_FILES_MAX: usize = 4_096;

/// Attempts to read a file that changes meanwhile, before it is omitted.
pub const READ_ATTEMPTS_MAX: u32 = 3;

/// Bytes that are read of one `.gitignore`; rules after them are ignored.
pub const IGNORE_FILE_BYTES_MAX: u64 = 1_000_000;

/// Maximum number of omitted paths that a record lists; the rest is only counted.
pub const LEFT_OUT_LISTED_MAX: usize = 1_000;

/// Maximum size of an object that describes one directory, in bytes; about a million names.
pub const TREE_BYTES_MAX: u64 = 128 * 1024 * 1024;

/// Maximum size of a cache of file states, in bytes.
pub const CACHE_BYTES_MAX: u64 = 512 * 1024 * 1024;

/// Largest file whose difference is shown as text, in bytes.
///
/// Limit (journal): only the change itself is named.
pub const UNIFIED_BYTES_MAX: u64 = 1024 * 1024;

/// Maximum number of lines of both sides together whose difference is shown as text; the time grows
/// with the square.
pub const UNIFIED_LINES_MAX: usize = 20_000;

/// Maximum number of new objects that are synced one by one; more are synced by one call for the
/// whole file system.
pub const SYNCED_EACH_MAX: u64 = 32;

/// Maximum number of unsynced objects that are synced one by one later; more are synced by one call
/// for the whole file system.
pub const SYNCED_LATER_EACH_MAX: usize = 1_000;

/// Attempts to find a free name for a new file of the store.
pub const NAME_ATTEMPTS_MAX: u32 = 1_000;
