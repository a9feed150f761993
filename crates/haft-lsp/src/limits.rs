//! Every bound of the tool `lsp`, each with its unit in its name. `docs/limits.md` is generated from [`TABLE`].

use haft_contract::limits::Limit;

/// Longest line of the header of a server's message, in bytes.
pub const HEADER_LINE_BYTES_MAX: usize = 1_024;
/// Lines of such a header.
pub const HEADER_LINES_MAX: usize = 16;
/// Longest message of a server, in bytes.
pub const MESSAGE_BYTES_MAX: usize = 32 * 1024 * 1024;
/// What a server may say between two messages to it, in bytes.
pub const UNASKED_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Time in which a server takes a message, in milliseconds.
pub const SEND_MS_MAX: u64 = 10_000;
/// Time after which a server that nobody asks is ended, in milliseconds.
pub const IDLE_MS: u64 = 600_000;
/// Time for a program that has closed its output to end by itself, in milliseconds.
pub const LAST_MS: u64 = 1_000;
/// Servers that run at one time.
pub const SERVERS_MAX: usize = 4;
/// Requests in a row that a server leaves without an answer before it is ended.
pub const UNANSWERED_MAX: u32 = 2;
/// How often a request is repeated that a server withdrew because files changed.
pub const REPEATS_MAX: u32 = 5;
/// Part of a call's time that is kept for its answer, in milliseconds.
pub const ANSWERING_MS_MAX: u64 = 2_000;
/// Largest file that a server is shown, in bytes.
pub const DOCUMENT_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Files that a server is shown at one time.
pub const DOCUMENTS_MAX: usize = 32;
/// Files whose changes a server is told of.
pub const WATCHED_FILES_MAX: usize = 20_000;
/// Directories in which such files are looked for.
pub const WATCHED_DIRECTORIES_MAX: usize = 5_000;
/// Time that a call waits for work which a server announced, in milliseconds; then it asks all the same.
pub const WORK_MS_MAX: u64 = 20_000;
/// Kinds of work under way that are kept.
pub const WORK_MAX: usize = 64;
/// Time that a call waits for diagnostics that a server sends by itself, in milliseconds.
pub const DIAGNOSTICS_MS_MAX: u64 = 20_000;
/// The same where the file itself did not change, in milliseconds.
pub const UNCHANGED_MS_MAX: u64 = 2_000;
/// Time without further diagnostics after which they are taken for all, in milliseconds.
pub const SETTLE_MS: u64 = 400;
/// Files whose diagnostics are kept.
pub const DIAGNOSED_FILES_MAX: usize = 1_000;
/// Diagnostics that are kept of one file.
pub const DIAGNOSTICS_MAX: usize = 1_000;
/// Entries of one answer.
pub const RESULTS_MAX: usize = 200;
/// Files of which one answer quotes lines.
pub const QUOTED_FILES_MAX: usize = 50;
/// Longest quoted line, in characters.
pub const LINE_CHARS_MAX: usize = 200;
/// Longest message of a server that is passed on, in characters.
pub const SAID_CHARS_MAX: usize = 1_000;
/// Longest text about a symbol, in characters.
pub const HOVER_CHARS_MAX: usize = 20_000;
/// Deepest symbol that is listed.
pub const SYMBOL_DEPTH_MAX: usize = 16;
/// Longest query, in characters.
pub const QUERY_CHARS_MAX: usize = 200;

/// All bounds, in the order of the generated document.
pub const TABLE: &[Limit] = &[
    Limit::new(
        "HEADER_LINE_BYTES_MAX",
        HEADER_LINE_BYTES_MAX as u64,
        "bytes",
        "a line of the header of a server's message",
        "the server is ended",
    ),
    Limit::new(
        "HEADER_LINES_MAX",
        HEADER_LINES_MAX as u64,
        "lines",
        "the header of a server's message",
        "the server is ended",
    ),
    Limit::new(
        "language server MESSAGE_BYTES_MAX",
        MESSAGE_BYTES_MAX as u64,
        "bytes",
        "a message of a server",
        "the server is ended",
    ),
    Limit::new(
        "UNASKED_BYTES_MAX",
        UNASKED_BYTES_MAX as u64,
        "bytes",
        "what a server says between two messages to it",
        "the server is ended",
    ),
    Limit::new(
        "SEND_MS_MAX",
        SEND_MS_MAX,
        "milliseconds",
        "a server's taking a message",
        "the server is ended",
    ),
    Limit::new(
        "IDLE_MS",
        IDLE_MS,
        "milliseconds",
        "a server that nobody asks",
        "it is ended, and started again when it is asked",
    ),
    Limit::new(
        "LAST_MS",
        LAST_MS,
        "milliseconds",
        "a server that closed its output",
        "it is killed",
    ),
    Limit::new(
        "SERVERS_MAX",
        SERVERS_MAX as u64,
        "servers",
        "servers at one time",
        "the one that waited longest is ended",
    ),
    Limit::new(
        "UNANSWERED_MAX",
        UNANSWERED_MAX as u64,
        "requests",
        "requests in a row without an answer",
        "the server is ended",
    ),
    Limit::new(
        "REPEATS_MAX",
        REPEATS_MAX as u64,
        "times",
        "repeating a request that a server withdrew",
        "the call fails",
    ),
    Limit::new(
        "ANSWERING_MS_MAX",
        ANSWERING_MS_MAX,
        "milliseconds",
        "the part of a call's time that is kept for its answer",
        "servers are waited for so much less",
    ),
    Limit::new(
        "DOCUMENT_BYTES_MAX",
        DOCUMENT_BYTES_MAX,
        "bytes",
        "a file that a server is asked about",
        "the call is refused",
    ),
    Limit::new(
        "DOCUMENTS_MAX",
        DOCUMENTS_MAX as u64,
        "files",
        "the files that a server is shown at one time",
        "the one shown longest ago is closed",
    ),
    Limit::new(
        "WATCHED_FILES_MAX",
        WATCHED_FILES_MAX as u64,
        "files",
        "the files whose changes a server is told of",
        "it learns of changes of others only if it looks by itself",
    ),
    Limit::new(
        "WATCHED_DIRECTORIES_MAX",
        WATCHED_DIRECTORIES_MAX as u64,
        "directories",
        "where such files are looked for",
        "the same",
    ),
    Limit::new(
        "WORK_MS_MAX",
        WORK_MS_MAX,
        "milliseconds",
        "waiting for work that a server announced",
        "it is asked all the same, and the answer says so",
    ),
    Limit::new(
        "WORK_MAX",
        WORK_MAX as u64,
        "kinds",
        "work of a server that is under way",
        "more is not waited for",
    ),
    Limit::new(
        "DIAGNOSTICS_MS_MAX",
        DIAGNOSTICS_MS_MAX,
        "milliseconds",
        "waiting for diagnostics that a server sends by itself",
        "the earlier ones are answered, and the answer says so",
    ),
    Limit::new(
        "UNCHANGED_MS_MAX",
        UNCHANGED_MS_MAX,
        "milliseconds",
        "the same for a file that did not change while others did",
        "the same",
    ),
    Limit::new(
        "SETTLE_MS",
        SETTLE_MS,
        "milliseconds",
        "quiet after which diagnostics are complete",
        "they are answered",
    ),
    Limit::new(
        "DIAGNOSED_FILES_MAX",
        DIAGNOSED_FILES_MAX as u64,
        "files",
        "files whose diagnostics are kept",
        "those of others are dropped",
    ),
    Limit::new(
        "DIAGNOSTICS_MAX",
        DIAGNOSTICS_MAX as u64,
        "diagnostics",
        "the diagnostics of one file that are kept",
        "further ones are dropped",
    ),
    Limit::new(
        "RESULTS_MAX",
        RESULTS_MAX as u64,
        "entries",
        "one answer",
        "the others are counted",
    ),
    Limit::new(
        "QUOTED_FILES_MAX",
        QUOTED_FILES_MAX as u64,
        "files",
        "files of which one answer quotes lines",
        "places in others are named without their text",
    ),
    Limit::new("LINE_CHARS_MAX", LINE_CHARS_MAX as u64, "characters", "a quoted line", "it is cut"),
    Limit::new(
        "SAID_CHARS_MAX",
        SAID_CHARS_MAX as u64,
        "characters",
        "a message of a server",
        "it is cut",
    ),
    Limit::new(
        "HOVER_CHARS_MAX",
        HOVER_CHARS_MAX as u64,
        "characters",
        "what a server says of a name",
        "it is cut",
    ),
    Limit::new(
        "SYMBOL_DEPTH_MAX",
        SYMBOL_DEPTH_MAX as u64,
        "levels",
        "symbols within symbols",
        "deeper ones are left out",
    ),
    Limit::new(
        "QUERY_CHARS_MAX",
        QUERY_CHARS_MAX as u64,
        "characters",
        "a query",
        "the input is refused",
    ),
];
