//! The limits of Python tools, each with its unit in its name.

use haft_contract::limits::{OUTPUT_BYTES_MAX, TIMEOUT_MS_MAX};

/// Python files in one directory.
///
/// Limit (Python): the directory is refused.
pub const FILES_MAX: usize = 1_000;
/// Largest source of a tool, in bytes.
///
/// Limit (Python): the file is refused.
pub const SOURCE_BYTES_MAX: u64 = 1024 * 1024;
/// Maximum size of the parser's answer about one file, in bytes.
pub const READING_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Nesting of METADATA. Deeper literals are no description of anything, and readers of JSON stop at
/// about twice that.
///
/// Limit (Python): the file is refused.
pub const METADATA_DEPTH_MAX: usize = 48;
/// Names of functions of one file that are kept, to name a near one.
pub const FUNCTIONS_MAX: usize = 200;
/// Time to parse one file, in milliseconds.
///
/// Limit (Python): the file is refused.
pub const READING_MS_MAX: u64 = 10_000;
/// Consecutive files that may crash the parser before the rest is left unread.
pub const READER_ENDS_MAX: usize = 8;
/// Memory of the process that parses, in bytes.
pub const READER_MEMORY_BYTES: u64 = 1024 * 1024 * 1024;
/// Longest `timeout` in METADATA, in seconds.
///
/// Limit (Python): the file is refused.
pub const TIMEOUT_S_MAX: u64 = TIMEOUT_MS_MAX / 1_000;
/// Time of one call that tries whether a tool is deterministic, in milliseconds.
///
/// Limit (Python): the tool is not tried, with a warning.
pub const TRIAL_MS_MAX: u64 = 10_000;
/// Nesting of a result.
///
/// Limit (Python): the call fails.
pub const RESULT_DEPTH_MAX: usize = 100;
/// Largest result, in bytes of JSON.
///
/// Limit (Python): the call fails.
pub const RESULT_BYTES_MAX: usize = OUTPUT_BYTES_MAX;
/// Longest answer of a worker, in bytes: a result with what is said around it.
pub const ANSWER_BYTES_MAX: usize = RESULT_BYTES_MAX + 64 * 1024;
/// Printed text of one call that is kept, in bytes.
///
/// Limit (Python): the middle is dropped.
pub const LOG_BYTES_MAX: usize = 16 * 1024;
/// Maximum size of a traceback in a message, in bytes.
pub const TRACEBACK_BYTES_MAX: usize = 4 * 1024;
/// Maximum length of an exception's message, in characters.
pub const MESSAGE_CHARS_MAX: usize = 4_000;
/// Maximum number of frames per exception in a traceback.
pub const FRAMES_MAX: usize = 12;
/// Exceptions of a chain of causes in a traceback.
pub const CAUSES_MAX: usize = 4;
/// Default number of worker processes of one file.
///
/// Limit (Python): further calls wait.
pub const WORKERS_DEFAULT: usize = 1;
/// Largest number of worker processes of one file.
///
/// Limit (Python): a larger setting counts as this one.
pub const WORKERS_MAX: usize = 16;
/// Default idle time of a worker, in milliseconds.
///
/// Limit (Python): the worker is ended.
pub const IDLE_MS_DEFAULT: u64 = 300_000;
/// Memory of a worker after its call, in bytes.
///
/// Limit (Python): the worker is replaced.
pub const WARM_BYTES_DEFAULT: u64 = 512 * 1024 * 1024;
