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

/// How many objects that were left unsynced are synced one by one; more are synced by one call for the whole file system.
pub const SYNCED_LATER_EACH_MAX: usize = 1_000;

/// How many names for a new file of the store are tried before giving up.
pub const NAME_ATTEMPTS_MAX: u32 = 1_000;

/// A bound, for a table of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    /// The constant's name.
    pub name: &'static str,
    /// Its value.
    pub value: u64,
    /// The unit of the value.
    pub unit: &'static str,
    /// What it bounds.
    pub what: &'static str,
    /// What happens beyond it.
    pub beyond: &'static str,
}

const fn bound(
    name: &'static str,
    value: u64,
    unit: &'static str,
    [what, beyond]: [&'static str; 2],
) -> Bound {
    Bound { name, value, unit, what, beyond }
}

/// All bounds of the store.
pub const TABLE: &[Bound] = &[
    bound(
        "FILE_BYTES_MAX",
        FILE_BYTES_MAX,
        "bytes",
        ["a file that is recorded", "it is left out, and listed"],
    ),
    bound(
        "FILES_MAX",
        FILES_MAX,
        "names",
        [
            "files, directories and links in a workspace",
            "the workspace is not recorded around commands",
        ],
    ),
    bound(
        "IGNORED_BYTES_MAX",
        IGNORED_BYTES_MAX,
        "bytes",
        ["an ignored file, and all that an ignored directory holds", "it is left out as a whole"],
    ),
    bound(
        "IGNORED_FILES_MAX",
        IGNORED_FILES_MAX,
        "names",
        ["what an ignored directory holds", "it is left out as a whole"],
    ),
    bound(
        "DEPTH_MAX",
        DEPTH_MAX as u64,
        "directories",
        ["how deep a workspace is recorded", "what lies deeper is left out"],
    ),
    bound(
        "READ_ATTEMPTS_MAX",
        READ_ATTEMPTS_MAX as u64,
        "attempts",
        ["reading a file that changes meanwhile", "it is left out"],
    ),
    bound(
        "IGNORE_FILE_BYTES_MAX",
        IGNORE_FILE_BYTES_MAX,
        "bytes",
        ["what is read of one `.gitignore`", "rules past it do not count"],
    ),
    bound(
        "LEFT_OUT_LISTED_MAX",
        LEFT_OUT_LISTED_MAX as u64,
        "paths",
        ["what a record lists as left out", "further ones are counted"],
    ),
    bound(
        "TREE_BYTES_MAX",
        TREE_BYTES_MAX,
        "bytes",
        ["what describes one directory", "the directory cannot be read back"],
    ),
    bound(
        "CACHE_BYTES_MAX",
        CACHE_BYTES_MAX,
        "bytes",
        ["what files of a root looked like", "files are read again"],
    ),
    bound(
        "UNIFIED_BYTES_MAX",
        UNIFIED_BYTES_MAX,
        "bytes",
        ["a file whose difference is shown", "it is said to be too large"],
    ),
    bound(
        "UNIFIED_LINES_MAX",
        UNIFIED_LINES_MAX as u64,
        "lines",
        ["both sides of a difference that is shown", "it is said to be too large"],
    ),
    bound(
        "SYNCED_EACH_MAX",
        SYNCED_EACH_MAX,
        "objects",
        ["new objects that are synced one by one", "one call syncs all of the file system"],
    ),
    bound(
        "SYNCED_LATER_EACH_MAX",
        SYNCED_LATER_EACH_MAX as u64,
        "objects",
        [
            "objects left unsynced that are synced one by one",
            "one call syncs all of the file system",
        ],
    ),
    bound(
        "NAME_ATTEMPTS_MAX",
        NAME_ATTEMPTS_MAX as u64,
        "names",
        ["names tried for a new file of the store", "the record fails"],
    ),
];
