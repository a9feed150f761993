//! The limits of the MCP front end, each with its unit in its name.

use haft_contract::limits::OUTPUT_BYTES_MAX;

/// Longest message from a client, in bytes. A content at its own largest bound fits in, even if
/// half of it is escaped.
///
/// Limit (MCP): the message is not read.
pub const MESSAGE_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Calls of one connection at the same time.
///
/// Limit (MCP): further calls wait.
pub const CALLS_IN_FLIGHT_MAX: u32 = 64;
/// Calls of one connection that wait.
///
/// Limit (MCP): the call is refused.
pub const CALLS_WAITING_MAX: u32 = 1_024;
/// Open runs of one connection. The one that was named longest ago makes room.
///
/// Limit (MCP): the oldest run is closed.
pub const RUNS_MAX: usize = 1_024;
/// Longest call id of a driver, in characters.
///
/// Limit (MCP): the call is refused.
pub const DRIVER_CALL_ID_CHARS_MAX: usize = 256;
/// Sidecars of one connection that are listed as resources.
///
/// Limit (MCP): the oldest leaves the list.
pub const RESOURCES_MAX: usize = 1_000;
/// Largest sidecar that is read whole, in bytes.
///
/// Limit (MCP): the request is refused and names the file.
pub const RESOURCE_BYTES_MAX: usize = OUTPUT_BYTES_MAX;
/// Calls of one connection that wait for an answer of a later request.
///
/// Limit (MCP): the call that waits longest is refused.
pub const CALLS_SUSPENDED_MAX: usize = 64;
/// Time for a client to answer a question, in milliseconds.
///
/// Limit (MCP): the call is rejected.
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
/// Connections over HTTP.
///
/// Limit (MCP): the longest idle one ends, or the new one is refused with 503.
pub const HTTP_SESSIONS_MAX: usize = 64;
/// Idle time of a connection over HTTP, in milliseconds.
///
/// Limit (MCP): the connection ends.
pub const HTTP_SESSION_IDLE_MS_MAX: u64 = 1_800_000;
/// How long a session over HTTP has to have been idle before it makes room for another one, in milliseconds.
pub const HTTP_SESSION_SPARE_MS: u64 = 60_000;
/// Time after which a client resumes a stream that broke, in milliseconds, if haft tells it so.
pub(crate) const HTTP_STREAM_RETRY_MS: u64 = 3_000;
/// How often idle sessions are looked for, in milliseconds.
pub const HTTP_SWEEP_MS: u64 = 15_000;
/// How often a stream over HTTP says that it lives while there is nothing to say, in milliseconds.
pub const KEEP_ALIVE_MS: u64 = 15_000;
/// Lines of a tool's log that wait to be sent, for each call.
pub const LOG_LINES_MAX: usize = 64;
/// Values in the answer to a completion.
///
/// Limit (MCP): the rest is left out and the answer says so.
pub const COMPLETIONS_MAX: usize = 100;
/// Times that a prompt may ask its client before it is filled in.
pub const PROMPT_ROUNDS_MAX: usize = 8;
/// Resources that one connection subscribes to.
///
/// Limit (MCP): the subscription is refused.
pub const SUBSCRIPTIONS_MAX: usize = 1_000;
/// How long a client may keep what does not change while the server runs, in milliseconds. A server that is started
/// anew may offer other tools.
pub const CACHE_MS: u64 = 60_000;
/// Time after which a client is to ask again for a call in the background, in milliseconds.
pub(crate) const BACKGROUND_POLL_MS: u64 = 1_000;
