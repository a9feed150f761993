//! Every bound of the journal, each with its unit in its name. [`TABLE`] is the journal's part of the generated table of
//! limits.

use haft_contract::limits::Limit;

/// Records that may wait for the writer before whoever brings another one has to wait.
pub const QUEUE_ENTRIES_MAX: usize = 1_024;
/// Records that share one commit.
pub const COMMIT_ENTRIES_MAX: usize = 256;
/// Commits that may wait for the disk, beside as many that it is busy with, before the writer waits with the next one.
pub const UNSYNCED_COMMITS_MAX: usize = 8;
/// Longest time that a commit which nobody is in a hurry for waits for one that somebody is, in milliseconds.
pub const SYNC_PAUSE_MS: u64 = 1;
/// Queries that may wait for the reader before whoever brings another one has to wait.
pub const QUEUE_QUERIES_MAX: usize = 64;
/// Compiled statements that a connection keeps; the one unused for longest goes first.
pub const STATEMENTS_MAX: usize = 64;
/// Longest wait for another process to release the database, in milliseconds.
pub const LOCK_WAIT_MS_MAX: u64 = 10_000;
/// Longest wait for a connection to a server, in milliseconds.
pub const CONNECT_MS_MAX: u64 = 10_000;
/// Longest time that a connection which broke is replaced again and again, in milliseconds.
pub const RECONNECT_MS_MAX: u64 = 20_000;
/// Connections, one after the other, in which the same thing is tried.
pub const SESSIONS_MAX: u32 = 5;
/// Longest wait for a server's answer to a commit, in milliseconds.
pub const ANSWER_MS_MAX: u64 = 60_000;
/// Silence after which a server is asked whether it is still there, in milliseconds.
pub const KEEPALIVE_IDLE_MS: u64 = 10_000;
/// Pause between two such questions, in milliseconds.
pub const KEEPALIVE_INTERVAL_MS: u64 = 5_000;
/// Such questions without an answer after which a connection is broken.
pub const KEEPALIVE_RETRIES_MAX: u32 = 3;
/// Most calls that one query answers.
pub const QUERY_CALLS_MAX: u32 = 10_000;
/// Most runs that one query answers.
pub const QUERY_RUNS_MAX: u32 = 1_000;
/// Most chats that one query answers.
pub const QUERY_CHATS_MAX: u32 = 1_000;
/// Most messages that one query answers.
pub const QUERY_MESSAGES_MAX: u32 = 10_000;
/// Bytes of inputs, accesses and envelopes after which a query answers with the calls it has, and bytes of what was said
/// after which it answers with the messages it has.
pub const QUERY_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Characters of the input of an earlier attempt's call that a retry is told.
pub const EARLIER_INPUT_CHARS: usize = 200;
/// Bytes after which the view `_smithers_tool_calls` cuts an output.
pub const VIEW_OUTPUT_BYTES_MAX: usize = haft_contract::limits::OUTPUT_BYTES_DEFAULT;

/// Longest time that a run stays somebody's without a word from them, in milliseconds.
pub const LEASE_MS_MAX: u64 = 10 * 60 * 1_000;
/// Times in a row that a run is taken up and comes no further before nobody may take it up again.
pub const RESUMES_MAX: u32 = 10;
/// Rows of a chat that are recorded together.
pub const CHAT_RECORDS_MAX: usize = 4_096;
/// Bytes of text in one row of a chat: in a part of a message, its text or its arguments and answer.
pub const CHAT_RECORD_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Bytes of the id that a provider gives a tool call: databases bound what they sort by.
pub const TOOL_CALL_ID_BYTES_MAX: usize = 1_024;
/// Calls that one commit removes, and rows of chats.
pub const PRUNE_CALLS_MAX: u32 = 256;
/// Findings with which one look at a journal ends.
pub const FINDINGS_MAX: usize = 1_000;

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
        "UNSYNCED_COMMITS_MAX",
        UNSYNCED_COMMITS_MAX as u64,
        "commits",
        "of the journal that wait for the disk, beside as many that it is busy with",
        "the next commit waits",
    ),
    Limit::new(
        "SYNC_PAUSE_MS",
        SYNC_PAUSE_MS,
        "milliseconds",
        "that a commit which nobody is in a hurry for waits for one that somebody is",
        "it is brought to the disk by itself",
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
        "QUERY_CHATS_MAX",
        QUERY_CHATS_MAX as u64,
        "sessions",
        "the answer to one query",
        "the answer ends there",
    ),
    Limit::new(
        "QUERY_MESSAGES_MAX",
        QUERY_MESSAGES_MAX as u64,
        "messages",
        "the answer to one query",
        "the answer ends there",
    ),
    Limit::new(
        "CONNECT_MS_MAX",
        CONNECT_MS_MAX,
        "milliseconds",
        "the wait for a connection to PostgreSQL",
        "the journal cannot be used, and the call fails",
    ),
    Limit::new(
        "RECONNECT_MS_MAX",
        RECONNECT_MS_MAX,
        "milliseconds",
        "replacing a connection to PostgreSQL that broke",
        "the call fails",
    ),
    Limit::new(
        "SESSIONS_MAX",
        SESSIONS_MAX as u64,
        "connections",
        "trying the same commit or query again",
        "the call fails",
    ),
    Limit::new(
        "ANSWER_MS_MAX",
        ANSWER_MS_MAX,
        "milliseconds",
        "the wait for the answer to a commit in PostgreSQL",
        "the connection counts as broken",
    ),
    Limit::new(
        "KEEPALIVE_IDLE_MS",
        KEEPALIVE_IDLE_MS,
        "milliseconds",
        "silence of PostgreSQL before it is asked whether it is there",
        "the question is sent",
    ),
    Limit::new(
        "KEEPALIVE_INTERVAL_MS",
        KEEPALIVE_INTERVAL_MS,
        "milliseconds",
        "the pause between two such questions",
        "the next question is sent",
    ),
    Limit::new(
        "KEEPALIVE_RETRIES_MAX",
        KEEPALIVE_RETRIES_MAX as u64,
        "questions",
        "such questions that go without an answer",
        "the connection counts as broken",
    ),
    Limit::new(
        "QUERY_BYTES_MAX",
        QUERY_BYTES_MAX as u64,
        "bytes",
        "the calls that answer one query, or the messages",
        "the answer ends with the call or the message that crosses it",
    ),
    Limit::new(
        "EARLIER_INPUT_CHARS",
        EARLIER_INPUT_CHARS as u64,
        "characters",
        "of the input of an earlier attempt's call that a retry is told",
        "the rest is left out",
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
    Limit::new(
        "LEASE_MS_MAX",
        LEASE_MS_MAX,
        "milliseconds",
        "a lease without a word from its owner",
        "the lease counts as over",
    ),
    Limit::new(
        "RESUMES_MAX",
        RESUMES_MAX as u64,
        "times",
        "taking up a run that comes no further",
        "nobody may take it up before a person settled its call",
    ),
    Limit::new(
        "CHAT_RECORDS_MAX",
        CHAT_RECORDS_MAX as u64,
        "rows",
        "what is recorded of a session in one step",
        "nothing of it is recorded",
    ),
    Limit::new(
        "CHAT_RECORD_BYTES_MAX",
        CHAT_RECORD_BYTES_MAX as u64,
        "bytes",
        "the texts of one row of a session: of a part of a message, for one",
        "nothing of the step is recorded",
    ),
    Limit::new(
        "TOOL_CALL_ID_BYTES_MAX",
        TOOL_CALL_ID_BYTES_MAX as u64,
        "bytes",
        "the id of a tool call in a session",
        "nothing of the step is recorded",
    ),
    Limit::new(
        "PRUNE_CALLS_MAX",
        PRUNE_CALLS_MAX as u64,
        "calls, or rows of sessions",
        "one commit that removes old runs",
        "the others go in the next commit",
    ),
    Limit::new(
        "FINDINGS_MAX",
        FINDINGS_MAX as u64,
        "findings",
        "one look whether a journal is sound",
        "the look ends there",
    ),
];
