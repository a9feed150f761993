//! The limits of the tool `lsp`, each with its unit in its name.

/// Maximum length of a header line of a server's message, in bytes.
pub const HEADER_LINE_BYTES_MAX: usize = 1_024;
/// Maximum number of lines in such a header.
pub const HEADER_LINES_MAX: usize = 16;
/// Maximum size of a server's message, in bytes.
pub const MESSAGE_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Maximum size of messages that a server sends between two messages to it, in bytes.
pub const UNASKED_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Time in which a server takes a message, in milliseconds.
pub const SEND_MS_MAX: u64 = 10_000;
/// Idle time of a language server, in milliseconds.
///
/// Limit (languages): the server is ended and starts again with the next call.
pub const IDLE_MS: u64 = 600_000;
/// Time for a program that has closed its output to end by itself, in milliseconds.
pub const LAST_MS: u64 = 1_000;
/// Language servers at the same time.
///
/// Limit (languages): the server that waited longest is ended.
pub const SERVERS_MAX: usize = 4;
/// Consecutive unanswered requests after which a server is stopped.
pub const UNANSWERED_MAX: u32 = 2;
/// Repetitions of a request that a server cancelled because files changed.
pub const REPEATS_MAX: u32 = 5;
/// Part of a call's time that is kept for its answer, in milliseconds.
pub const ANSWERING_MS_MAX: u64 = 2_000;
/// Largest file that a language server is asked about, in bytes.
///
/// Limit (languages): the call is refused.
pub const DOCUMENT_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Files that are open in a server at one time.
pub const DOCUMENTS_MAX: usize = 32;
/// Files whose changes are reported to a server.
pub const WATCHED_FILES_MAX: usize = 20_000;
/// Directories in which such files are looked for.
pub const WATCHED_DIRECTORIES_MAX: usize = 5_000;
/// Time to wait for work that a server announced, in milliseconds.
///
/// Limit (languages): the server is asked anyway and the answer says so.
pub const WORK_MS_MAX: u64 = 20_000;
/// Kinds of work under way that are kept.
pub const WORK_MAX: usize = 64;
/// Time to wait for diagnostics, in milliseconds.
///
/// Limit (languages): earlier diagnostics are returned and the answer says so.
pub const DIAGNOSTICS_MS_MAX: u64 = 20_000;
/// The same if the file itself did not change, in milliseconds.
pub const UNCHANGED_MS_MAX: u64 = 2_000;
/// Time without further diagnostics after which they count as complete, in milliseconds.
pub const SETTLE_MS: u64 = 400;
/// Files whose diagnostics are stored.
pub const DIAGNOSED_FILES_MAX: usize = 1_000;
/// Diagnostics that are kept of one file.
pub const DIAGNOSTICS_MAX: usize = 1_000;
/// Results in one answer.
///
/// Limit (languages): the others are counted.
pub const RESULTS_MAX: usize = 200;
/// Files from which one answer quotes lines.
pub const QUOTED_FILES_MAX: usize = 50;
/// Maximum length of a quoted line, in characters.
pub const LINE_CHARS_MAX: usize = 200;
/// Maximum length of a server's message that is passed on, in characters.
pub const SAID_CHARS_MAX: usize = 1_000;
/// Maximum length of a text about a symbol, in characters.
pub const HOVER_CHARS_MAX: usize = 20_000;
/// Deepest symbol that is listed.
pub const SYMBOL_DEPTH_MAX: usize = 16;
/// Longest query, in characters.
///
/// Limit (languages): the input is refused.
pub const QUERY_CHARS_MAX: usize = 200;
