//! Every bound of the store, named with its unit. What a caller may set per record is in [`Options`](crate::Options), with
//! these as defaults.

/// The largest file that is recorded unless a caller says otherwise; a file is held in memory while it is recorded.
pub const FILE_BYTES_MAX: u64 = 32 * 1024 * 1024;

/// How many files, directories and links one record holds unless a caller says otherwise.
pub const FILES_MAX: u64 = 200_000;

/// The largest ignored file, and the most that an ignored directory holds in all, that is recorded unless a caller says
/// otherwise.
pub const IGNORED_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// How many files, directories and links an ignored directory holds at most to be recorded, unless a caller says
/// otherwise.
pub const IGNORED_FILES_MAX: u64 = 1_000;

/// How many directories deep a workspace is recorded; what lies deeper is left out.
pub const DEPTH_MAX: usize = 200;

/// How often a file that changes while it is read is read at most before it is left out.
pub const READ_ATTEMPTS_MAX: u32 = 3;

/// What is read of one `.gitignore`; rules past it do not count.
pub const IGNORE_FILE_BYTES_MAX: u64 = 1_000_000;

/// How many paths a record lists as left out; of the rest it gives the number.
pub const LEFT_OUT_LISTED_MAX: usize = 1_000;

/// The largest object that describes one directory, which is some million names.
pub const TREE_BYTES_MAX: u64 = 128 * 1024 * 1024;

/// The largest list of what files looked like when they were last read.
pub const CACHE_BYTES_MAX: u64 = 512 * 1024 * 1024;

/// The largest file whose difference is shown as text.
pub const UNIFIED_BYTES_MAX: u64 = 1024 * 1024;

/// The most lines of both sides together whose difference is shown as text; the time that it takes grows with the square.
pub const UNIFIED_LINES_MAX: usize = 20_000;

/// How many new objects are synced one by one; more are synced by one call for the whole file system.
pub const SYNCED_EACH_MAX: u64 = 32;

/// How many names for a new file of the store are tried before giving up.
pub const NAME_ATTEMPTS_MAX: u32 = 1_000;
