//! Every bound of the journal, each with its unit in its name. [`TABLE`] is the journal's part of the generated table of
//! limits.

use haft_contract::limits::Limit;

/// Records that may wait for the writer before whoever brings another one has to wait.
pub const QUEUE_ENTRIES_MAX: usize = 1_024;
/// Records that share one commit.
pub const COMMIT_ENTRIES_MAX: usize = 256;
/// Queries that may wait for the reader before whoever brings another one has to wait.
pub const QUEUE_QUERIES_MAX: usize = 64;
/// Compiled statements that a connection keeps; the one unused for longest goes first.
pub const STATEMENTS_MAX: usize = 64;
/// Longest wait for another process to release the database, in milliseconds.
pub const LOCK_WAIT_MS_MAX: u64 = 10_000;
/// Most calls that one query answers.
pub const QUERY_CALLS_MAX: u32 = 10_000;
/// Most runs that one query answers.
pub const QUERY_RUNS_MAX: u32 = 1_000;
/// Bytes of inputs, accesses and envelopes after which a query answers with the calls it has.
pub const QUERY_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Bytes after which the view `_smithers_tool_calls` cuts an output.
pub const VIEW_OUTPUT_BYTES_MAX: usize = haft_contract::limits::OUTPUT_BYTES_DEFAULT;

/// All bounds of the journal, in the order of the generated document.
pub const TABLE: &[Limit] = &[
    Limit::new(
        "QUEUE_ENTRIES_MAX",
        QUEUE_ENTRIES_MAX as u64,
        "records",
        "what waits for the journal's writer",
        "whoever brings another one waits",
    ),
    Limit::new(
        "COMMIT_ENTRIES_MAX",
        COMMIT_ENTRIES_MAX as u64,
        "records",
        "one commit of the journal",
        "the others are in the next commit",
    ),
    Limit::new(
        "QUEUE_QUERIES_MAX",
        QUEUE_QUERIES_MAX as u64,
        "queries",
        "what waits for the journal's reader",
        "whoever brings another one waits",
    ),
    Limit::new(
        "LOCK_WAIT_MS_MAX",
        LOCK_WAIT_MS_MAX,
        "milliseconds",
        "the wait for a journal that another process locks",
        "the journal cannot be used, and the call fails",
    ),
    Limit::new(
        "QUERY_CALLS_MAX",
        QUERY_CALLS_MAX as u64,
        "calls",
        "the answer to one query",
        "the answer ends there",
    ),
    Limit::new(
        "QUERY_RUNS_MAX",
        QUERY_RUNS_MAX as u64,
        "runs",
        "the answer to one query",
        "the answer ends there",
    ),
    Limit::new(
        "QUERY_BYTES_MAX",
        QUERY_BYTES_MAX as u64,
        "bytes",
        "the calls that answer one query",
        "the answer ends with the call that crosses it",
    ),
    Limit::new(
        "VIEW_OUTPUT_BYTES_MAX",
        VIEW_OUTPUT_BYTES_MAX as u64,
        "bytes",
        "an output in the view `_smithers_tool_calls`",
        "the output is cut",
    ),
    Limit::new(
        "STATEMENTS_MAX",
        STATEMENTS_MAX as u64,
        "statements",
        "what one connection to the database keeps compiled",
        "the one that was used longest ago is compiled anew",
    ),
];
