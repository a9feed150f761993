//! Every bound of the host of Python tools, each with its unit in its name. `docs/limits.md` is generated from [`TABLE`].

use haft_contract::limits::{Limit, OUTPUT_BYTES_MAX, TIMEOUT_MS_MAX};

/// Python files that one directory may hold.
pub const FILES_MAX: usize = 1_000;
/// Largest source of a tool, in bytes.
pub const SOURCE_BYTES_MAX: u64 = 1024 * 1024;
/// Longest answer about one file's METADATA, in bytes.
pub const READING_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Deepest nesting of METADATA. Deeper literals are no description of anything, and readers of JSON stop at about twice that.
pub const METADATA_DEPTH_MAX: usize = 48;
/// Names of functions of one file that are kept, to name a near one.
pub const FUNCTIONS_MAX: usize = 200;
/// Time to parse one file, in milliseconds.
pub const READING_MS_MAX: u64 = 10_000;
/// Files in a row that may bring the parser down before the rest is left unread.
pub const READER_ENDS_MAX: usize = 8;
/// Memory of the process that parses, in bytes.
pub const READER_MEMORY_BYTES: u64 = 1024 * 1024 * 1024;
/// Longest `timeout` in METADATA, in seconds.
pub const TIMEOUT_S_MAX: u64 = TIMEOUT_MS_MAX / 1_000;
/// Deepest nesting of a result.
pub const RESULT_DEPTH_MAX: usize = 100;
/// Largest result, in bytes of JSON.
pub const RESULT_BYTES_MAX: usize = OUTPUT_BYTES_MAX;
/// Longest answer of a worker, in bytes: a result with what is said around it.
pub const ANSWER_BYTES_MAX: usize = RESULT_BYTES_MAX + 64 * 1024;
/// What a tool printed during one call that is kept, in bytes.
pub const LOG_BYTES_MAX: usize = 16 * 1024;
/// Longest traceback in a message, in bytes.
pub const TRACEBACK_BYTES_MAX: usize = 4 * 1024;
/// Longest message of an exception, in characters.
pub const MESSAGE_CHARS_MAX: usize = 4_000;
/// Frames of one exception in a traceback.
pub const FRAMES_MAX: usize = 12;
/// Exceptions of a chain of causes in a traceback.
pub const CAUSES_MAX: usize = 4;
/// Worker processes of one file, unless configured.
pub const WORKERS_DEFAULT: usize = 1;
/// Worker processes of one file that can be configured.
pub const WORKERS_MAX: usize = 16;
/// Time after which a worker that nobody calls is ended, in milliseconds.
pub const IDLE_MS_DEFAULT: u64 = 300_000;
/// Memory that a worker may hold when its call is over, in bytes; one that holds more is replaced.
pub const WARM_BYTES_DEFAULT: u64 = 512 * 1024 * 1024;

/// All bounds of the host, in the order of the generated document.
pub const TABLE: &[Limit] = &[
    Limit::new(
        "FILES_MAX",
        FILES_MAX as u64,
        "files",
        "a directory of Python tools",
        "the directory is refused",
    ),
    Limit::new(
        "SOURCE_BYTES_MAX",
        SOURCE_BYTES_MAX,
        "bytes",
        "the source of a Python tool",
        "the file is refused",
    ),
    Limit::new(
        "READING_BYTES_MAX",
        READING_BYTES_MAX as u64,
        "bytes",
        "what is found out about one file",
        "the file is refused",
    ),
    Limit::new(
        "METADATA_DEPTH_MAX",
        METADATA_DEPTH_MAX as u64,
        "levels",
        "nesting of METADATA",
        "the file is refused",
    ),
    Limit::new(
        "FUNCTIONS_MAX",
        FUNCTIONS_MAX as u64,
        "names",
        "functions of one file among which a near name is looked for",
        "further ones are not looked at",
    ),
    Limit::new(
        "READING_MS_MAX",
        READING_MS_MAX,
        "milliseconds",
        "parsing one file",
        "the parser is ended and the file refused",
    ),
    Limit::new(
        "READER_ENDS_MAX",
        READER_ENDS_MAX as u64,
        "files",
        "files in a row that end the parser",
        "the other files are refused unread",
    ),
    Limit::new(
        "READER_MEMORY_BYTES",
        READER_MEMORY_BYTES,
        "bytes",
        "memory of the process that parses",
        "it is ended and the file refused",
    ),
    Limit::new(
        "TIMEOUT_S_MAX",
        TIMEOUT_S_MAX,
        "seconds",
        "timeout in METADATA",
        "the file is refused",
    ),
    Limit::new(
        "RESULT_DEPTH_MAX",
        RESULT_DEPTH_MAX as u64,
        "levels",
        "nesting of a result",
        "the result is an error",
    ),
    Limit::new(
        "RESULT_BYTES_MAX",
        RESULT_BYTES_MAX as u64,
        "bytes",
        "a result as JSON",
        "the result is an error",
    ),
    Limit::new(
        "ANSWER_BYTES_MAX",
        ANSWER_BYTES_MAX as u64,
        "bytes",
        "an answer of a worker",
        "the worker is replaced and the call fails",
    ),
    Limit::new(
        "LOG_BYTES_MAX",
        LOG_BYTES_MAX as u64,
        "bytes",
        "what a tool printed in one call",
        "its middle is left out",
    ),
    Limit::new(
        "TRACEBACK_BYTES_MAX",
        TRACEBACK_BYTES_MAX as u64,
        "bytes",
        "a traceback in a message",
        "its middle is left out",
    ),
    Limit::new(
        "MESSAGE_CHARS_MAX",
        MESSAGE_CHARS_MAX as u64,
        "characters",
        "the message of an exception",
        "its end is left out",
    ),
    Limit::new(
        "FRAMES_MAX",
        FRAMES_MAX as u64,
        "frames",
        "one exception in a traceback",
        "the outer ones are left out",
    ),
    Limit::new(
        "CAUSES_MAX",
        CAUSES_MAX as u64,
        "exceptions",
        "a chain of causes in a traceback",
        "further ones are left out",
    ),
    Limit::new(
        "WORKERS_DEFAULT",
        WORKERS_DEFAULT as u64,
        "processes",
        "workers of one file, unless configured",
        "further calls wait",
    ),
    Limit::new(
        "WORKERS_MAX",
        WORKERS_MAX as u64,
        "processes",
        "workers of one file that can be configured",
        "a higher number counts as this one",
    ),
    Limit::new(
        "IDLE_MS_DEFAULT",
        IDLE_MS_DEFAULT,
        "milliseconds",
        "a worker that nobody calls",
        "it is ended",
    ),
    Limit::new(
        "WARM_BYTES_DEFAULT",
        WARM_BYTES_DEFAULT,
        "bytes",
        "memory of a worker after a call",
        "it is replaced",
    ),
];
