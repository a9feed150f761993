//! The limits of the journal, each with its unit in its name.

/// Records that may wait for the writer. If the queue is full, the next caller waits.
pub const QUEUE_ENTRIES_MAX: usize = 1_024;
/// Records that share one commit.
pub const COMMIT_ENTRIES_MAX: usize = 256;
/// Commits that may wait for the disk, beside as many that it is busy with, before the writer waits with the next one.
pub const UNSYNCED_COMMITS_MAX: usize = 8;
/// Longest time that a commit without haste waits to share the sync of an urgent one, in milliseconds.
pub const SYNC_PAUSE_MS: u64 = 1;
/// Pages of the write-ahead log after which a commit moves them into the database, which takes two syncs. With SQLite's own 1,000
/// it is one commit in about a hundred reads of 4 KiB, and so decides how long the slowest hundredth of the calls takes.
pub const LOG_PAGES_MAX: u32 = 4_000;
/// Length of the write-ahead log up to which it stays beside the database when the last process closes the journal, in bytes.
pub const LOG_KEPT_BYTES_MAX: u64 = 1024 * 1024;
/// Queries that may wait for the reader. If the queue is full, the next caller waits.
pub const QUEUE_QUERIES_MAX: usize = 64;
/// Compiled statements that a connection keeps; the one unused for longest goes first.
pub const STATEMENTS_MAX: usize = 64;
/// Time to wait for a journal that another process locks, in milliseconds.
///
/// Limit (journal): the call fails.
pub const LOCK_WAIT_MS_MAX: u64 = 10_000;
/// Time to connect to PostgreSQL, in milliseconds.
///
/// Limit (journal): the call fails.
pub const CONNECT_MS_MAX: u64 = 10_000;
/// Longest time that a connection which broke is replaced again and again, in milliseconds.
pub const RECONNECT_MS_MAX: u64 = 20_000;
/// Connections, one after the other, in which the same thing is tried.
pub const SESSIONS_MAX: u32 = 5;
/// Time without an answer of PostgreSQL after which haft says that it cannot be reached, in milliseconds.
///
/// Limit (journal): the log and the progress of waiting calls say so.
pub const OUTAGE_MS_MIN: u64 = 3_000;
/// Time for PostgreSQL to answer, in milliseconds.
///
/// Limit (journal): the connection counts as broken.
pub const ANSWER_MS_MAX: u64 = 60_000;
/// Silence after which a server is asked whether it is still there, in milliseconds.
pub const KEEPALIVE_IDLE_MS: u64 = 10_000;
/// Pause between two such questions, in milliseconds.
pub const KEEPALIVE_INTERVAL_MS: u64 = 5_000;
/// Such questions without an answer after which a connection is broken.
pub const KEEPALIVE_RETRIES_MAX: u32 = 3;
/// Calls in the answer to one query.
///
/// Limit (journal): the answer ends there.
pub const QUERY_CALLS_MAX: u32 = 10_000;
/// Runs in the answer to one query.
///
/// Limit (journal): the answer ends there.
pub const QUERY_RUNS_MAX: u32 = 1_000;
/// Sessions in the answer to one query.
///
/// Limit (journal): the answer ends there.
pub const QUERY_SESSIONS_MAX: u32 = 1_000;
/// Messages in the answer to one query.
///
/// Limit (journal): the answer ends there.
pub const QUERY_MESSAGES_MAX: u32 = 10_000;
/// Asks in the answer to one query.
///
/// Limit (journal): the answer ends there.
pub const QUERY_ASKS_MAX: u32 = 1_000;
/// Pause between two looks at an ask for an answer of another process, in milliseconds.
pub const ASK_POLL_MS: u64 = 100;
/// The same where the store tells of changes: a pooler or a cut connection may lose one.
pub const ASK_TOLD_POLL_MS: u64 = 1_000;
/// Bytes of inputs, accesses and envelopes after which a query answers with the calls it has, and bytes of what was said
/// after which it answers with the messages it has.
pub const QUERY_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Characters of the input of an earlier attempt's call that a retry is told.
pub const EARLIER_INPUT_CHARS: usize = 200;
/// Bytes after which the view `_smithers_tool_calls` cuts an output.
pub const VIEW_OUTPUT_BYTES_MAX: usize = haft_contract::limits::OUTPUT_BYTES_DEFAULT;

/// Longest time that a lease lasts without a renewal, in milliseconds.
pub const LEASE_MS_MAX: u64 = 10 * 60 * 1_000;
/// Resumes of a run that makes no progress.
///
/// Limit (journal): a person has to settle its call first.
pub const RESUMES_MAX: u32 = 10;
/// Rows of a session that are recorded together.
pub const SESSION_RECORDS_MAX: usize = 4_096;
/// Longest text of one part of a message, in bytes.
///
/// Limit (journal): the step is not recorded.
pub const SESSION_RECORD_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Bytes of the id that a provider gives a tool call: databases bound what they sort by.
pub const TOOL_CALL_ID_BYTES_MAX: usize = 1_024;
/// Calls that one commit removes, and rows of sessions.
pub const PRUNE_CALLS_MAX: u32 = 256;
/// Findings with which one look at a journal ends.
pub const FINDINGS_MAX: usize = 1_000;

/// Unused pages of an SQLite journal below which pruning leaves the file as it is: 1 MiB.
pub const COMPACT_PAGES_MIN: u64 = 256;

/// One page in so many must be unused before pruning makes the file smaller.
pub const COMPACT_SHARE: u64 = 8;
