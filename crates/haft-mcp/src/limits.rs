//! Every bound of the MCP front end, each with its unit in its name. [`TABLE`] is its part of the generated table of
//! limits.

use haft_contract::limits::{Limit, OUTPUT_BYTES_MAX};

/// Longest message that is read, in bytes. A content at its own largest bound fits in, even if half of it is escaped.
pub const MESSAGE_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Calls of one connection that run at the same time.
pub const CALLS_IN_FLIGHT_MAX: u32 = 64;
/// Calls of one connection that wait for others to end, before more of them are turned away.
pub const CALLS_WAITING_MAX: u32 = 1_024;
/// Runs that are kept open for one connection, beside its own. The one that was named longest ago makes room.
pub const RUNS_MAX: usize = 1_024;
/// Longest name that a driver may give to a call, in characters.
pub const DRIVER_CALL_ID_CHARS_MAX: usize = 256;
/// Cut outputs of one connection that are listed as resources; the oldest go first.
pub const RESOURCES_MAX: usize = 1_000;
/// Largest resource that is answered whole, in bytes.
pub const RESOURCE_BYTES_MAX: usize = OUTPUT_BYTES_MAX;
/// Calls of one connection that wait for a later request to answer their question; the oldest is refused when another
/// one comes.
pub const CALLS_SUSPENDED_MAX: usize = 64;
/// How long a client may take to answer a question, in milliseconds.
pub const QUESTION_MS_MAX: u64 = 600_000;
/// Accesses, reasons or rules that a question lists, each; of more it says how many.
pub const QUESTION_LINES_MAX: usize = 50;
/// Longest line of a question but for its input, in characters.
pub const QUESTION_LINE_CHARS_MAX: usize = 1_000;
/// How long calls may go on after the end of input, in milliseconds: those about to end still answer.
pub const GRACE_MS: u64 = 40;
/// How long calls that were told to stop are waited for, in milliseconds.
pub const SETTLE_MS_MAX: u64 = 1_000;
/// How long the last answers may take to be written, in milliseconds.
pub const FLUSH_MS_MAX: u64 = 20;
/// Sessions of one HTTP server.
pub const HTTP_SESSIONS_MAX: usize = 64;
/// How long a session over HTTP may go without a request, a stream or a running call, in milliseconds.
pub const HTTP_SESSION_IDLE_MS_MAX: u64 = 1_800_000;
/// How long a session over HTTP has to have been idle before it makes room for another one, in milliseconds.
pub const HTTP_SESSION_SPARE_MS: u64 = 60_000;
/// How often idle sessions are looked for, in milliseconds.
pub const HTTP_SWEEP_MS: u64 = 15_000;
/// How often a stream over HTTP says that it lives while there is nothing to say, in milliseconds.
pub const KEEP_ALIVE_MS: u64 = 15_000;
/// Lines of a tool's log that wait to be sent, for each call.
pub const LOG_LINES_MAX: usize = 64;
/// Values that a completion answers with.
pub const COMPLETIONS_MAX: usize = 100;
/// Times that a prompt may ask its client before it is filled in.
pub const PROMPT_ROUNDS_MAX: usize = 8;
/// Resources that one connection is told the changes of.
pub const SUBSCRIPTIONS_MAX: usize = 1_000;
/// How long a client may keep what does not change while the server runs, in milliseconds. A server that is started
/// anew may offer other tools.
pub const CACHE_MS: u64 = 60_000;

/// All bounds of the MCP front end, in the order of the generated document.
pub const TABLE: &[Limit] = &[
    Limit::new(
        "MESSAGE_BYTES_MAX",
        MESSAGE_BYTES_MAX as u64,
        "bytes",
        "one MCP message",
        "the message is not read",
    ),
    Limit::new(
        "CALLS_IN_FLIGHT_MAX",
        CALLS_IN_FLIGHT_MAX as u64,
        "calls",
        "what runs at the same time for one MCP connection",
        "further calls wait",
    ),
    Limit::new(
        "CALLS_WAITING_MAX",
        CALLS_WAITING_MAX as u64,
        "calls",
        "what waits to run for one MCP connection",
        "the call is turned away",
    ),
    Limit::new(
        "RUNS_MAX",
        RUNS_MAX as u64,
        "runs",
        "what is kept open of the runs that one MCP connection names in `haft/run`",
        "the one named longest ago is let go, or the call is refused if all are started over",
    ),
    Limit::new(
        "DRIVER_CALL_ID_CHARS_MAX",
        DRIVER_CALL_ID_CHARS_MAX as u64,
        "characters",
        "a driver's name of a call in `haft/call`",
        "the call is refused",
    ),
    Limit::new(
        "RESOURCES_MAX",
        RESOURCES_MAX as u64,
        "resources",
        "the list of cut outputs over MCP",
        "the oldest leaves the list",
    ),
    Limit::new(
        "RESOURCE_BYTES_MAX",
        RESOURCE_BYTES_MAX as u64,
        "bytes",
        "a cut output read whole over MCP",
        "the request is refused, and says where the file is",
    ),
    Limit::new(
        "CALLS_SUSPENDED_MAX",
        CALLS_SUSPENDED_MAX as u64,
        "calls",
        "what waits for a later MCP request to answer its question",
        "the call that waits longest is refused",
    ),
    Limit::new(
        "QUESTION_MS_MAX",
        QUESTION_MS_MAX,
        "milliseconds",
        "an MCP client's answer to a question",
        "the call is rejected",
    ),
    Limit::new(
        "QUESTION_LINES_MAX",
        QUESTION_LINES_MAX as u64,
        "lines",
        "the accesses, reasons or rules in a question over MCP",
        "further ones are counted",
    ),
    Limit::new(
        "QUESTION_LINE_CHARS_MAX",
        QUESTION_LINE_CHARS_MAX as u64,
        "characters",
        "one access, reason or rule in a question over MCP",
        "the line is cut",
    ),
    Limit::new(
        "GRACE_MS",
        GRACE_MS,
        "milliseconds",
        "calls that go on after the end of MCP input",
        "they are told to stop",
    ),
    Limit::new(
        "SETTLE_MS_MAX",
        SETTLE_MS_MAX,
        "milliseconds",
        "the wait for stopped calls at the end of an MCP connection",
        "they are given up",
    ),
    Limit::new(
        "FLUSH_MS_MAX",
        FLUSH_MS_MAX,
        "milliseconds",
        "writing the last answers of an MCP connection",
        "they are not sent",
    ),
    Limit::new(
        "HTTP_SESSIONS_MAX",
        HTTP_SESSIONS_MAX as u64,
        "sessions",
        "clients with handshake at one MCP server over HTTP",
        "the longest idle one ends, else a new one is refused with 503",
    ),
    Limit::new(
        "HTTP_SESSION_IDLE_MS_MAX",
        HTTP_SESSION_IDLE_MS_MAX,
        "milliseconds",
        "an MCP session over HTTP without request, stream or running call",
        "the session ends",
    ),
    Limit::new(
        "HTTP_SESSION_SPARE_MS",
        HTTP_SESSION_SPARE_MS,
        "milliseconds",
        "idleness of an MCP session over HTTP that makes room for another",
        "it is not ended for another one before",
    ),
    Limit::new(
        "HTTP_SWEEP_MS",
        HTTP_SWEEP_MS,
        "milliseconds",
        "the time between two looks for idle sessions",
        "a session ends by so much later",
    ),
    Limit::new(
        "KEEP_ALIVE_MS",
        KEEP_ALIVE_MS,
        "milliseconds",
        "silence on an open stream over HTTP",
        "a comment is sent",
    ),
    Limit::new(
        "LOG_LINES_MAX",
        LOG_LINES_MAX as u64,
        "lines",
        "what a tool's log has that is not sent yet",
        "further lines are dropped",
    ),
    Limit::new(
        "COMPLETIONS_MAX",
        COMPLETIONS_MAX as u64,
        "values",
        "the answer to a completion over MCP",
        "the rest is left out, and said to be",
    ),
    Limit::new(
        "PROMPT_ROUNDS_MAX",
        PROMPT_ROUNDS_MAX as u64,
        "rounds",
        "what a prompt asks its MCP client before it is filled in",
        "the prompt is refused",
    ),
    Limit::new(
        "SUBSCRIPTIONS_MAX",
        SUBSCRIPTIONS_MAX as u64,
        "resources",
        "what one MCP connection is told the changes of",
        "the subscription is refused; to clients of 2026-07-28 it is said which ones were accepted",
    ),
    Limit::new(
        "CACHE_MS",
        CACHE_MS,
        "milliseconds",
        "what a client keeps of what does not change while the server runs",
        "the client asks anew",
    ),
];
