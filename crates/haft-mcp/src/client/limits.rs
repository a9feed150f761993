//! The limits of MCP servers that haft connects to, each with its unit in its name. A server that exceeds one harms only
//! its own calls.

/// Longest message of an MCP server, in bytes.
///
/// Limit (MCP): the server is ended.
pub const SERVER_MESSAGE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Time for an MCP server to start, in milliseconds.
///
/// Limit (MCP): the server is ended and its tools are unavailable.
pub const SERVER_START_MS_MAX: u64 = 30_000;
/// How long servers of which nothing is known are waited for when tools are put together, in milliseconds.
pub const SERVER_FIND_MS_MAX: u64 = 15_000;
/// Time for servers to list their tools for the first time before a server of haft itself answers its clients, in
/// milliseconds.
///
/// Limit (MCP): the tools are listed when they are known.
pub const SERVER_SERVING_FIND_MS_MAX: u64 = 5_000;
/// Time for an MCP server to list its tools, in milliseconds.
///
/// Limit (MCP): the server is ended and its tools are unavailable.
pub const SERVER_LIST_MS_MAX: u64 = 15_000;
/// How long a server may take to read one message, in milliseconds.
pub const SERVER_SEND_MS_MAX: u64 = 10_000;
/// Unsolicited messages of a server within a second.
pub const SERVER_UNASKED_PER_SECOND_MAX: u32 = 2_000;
/// Lines of a server that are no messages, such as greetings.
pub const SERVER_NOISE_LINES_MAX: u32 = 1_000;
/// Pages of one list of tools.
pub const SERVER_PAGES_MAX: usize = 100;
/// Tools of one MCP server.
///
/// Limit (MCP): further tools are left out.
pub const SERVER_TOOLS_MAX: usize = 1_000;
/// Largest schema of a tool of an MCP server, in bytes.
///
/// Limit (MCP): the tool is left out.
pub const SERVER_SCHEMA_BYTES_MAX: usize = 256 * 1024;
/// Parts that are gone through to check an input against the schema of one tool of a server, at most.
pub const SERVER_SCHEMA_STEPS_MAX: u64 = 1_000_000;
/// Parts within parts of the schema of one tool of a server, with those that are referred to.
pub const SERVER_SCHEMA_DEPTH_MAX: usize = 400;
/// References in the schema of one tool of a server to parts by names of their own, which are not followed to count.
pub const SERVER_SCHEMA_NAMED_MAX: usize = 16;
/// All that a server says of its tools, in bytes.
pub const SERVER_LISTING_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Longest name of a tool of an MCP server, in characters.
///
/// Limit (MCP): the tool is left out.
pub const SERVER_TOOL_NAME_CHARS_MAX: usize = 256;
/// Longest description of a tool of an MCP server, in characters.
///
/// Limit (MCP): the description is cut.
pub const SERVER_DESCRIPTION_CHARS_MAX: usize = 16 * 1024;
/// Longest excerpt of the standard error of a failed server, in bytes.
pub const SERVER_COMPLAINT_BYTES_MAX: usize = 1_000;
/// The least time between two looks at the tools of a server that says that they changed, in milliseconds.
pub const SERVER_RELIST_MS_MIN: u64 = 1_000;
/// Time for a server to list its tools after a call was stopped, in milliseconds.
///
/// Limit (MCP): the server is restarted for the next call, unless another call waits for it.
pub const SERVER_STUCK_MS: u64 = 1_000;
/// Time to wait for the end of a server in order to report it, in milliseconds.
pub const SERVER_END_MS_MAX: u64 = 5_000;
/// Longest message of a step that a server reports, in characters.
pub const SERVER_PROGRESS_CHARS_MAX: usize = 1_000;
/// Forms that an MCP server asks for in one call.
///
/// Limit (MCP): the call fails.
pub const SERVER_ROUNDS_MAX: usize = 10;
/// Time to connect to a remote MCP server, in milliseconds.
///
/// Limit (MCP): the call fails.
pub const REMOTE_CONNECT_MS_MAX: u64 = 10_000;
/// Header fields of one answer of a server that runs elsewhere.
pub const REMOTE_HEADERS_MAX: usize = 200;
/// Longest part of a refusal's body that is read, in bytes.
pub const REMOTE_REFUSAL_BYTES_MAX: usize = 64 * 1024;
/// Requests to one remote MCP server at the same time.
///
/// Limit (MCP): further requests wait.
pub const REMOTE_REQUESTS_MAX: usize = 64;
/// Attempts in a row to resume a stream that broke off.
pub const REMOTE_RESUMES_MAX: usize = 5;
/// Time for an answer of an authorization server, in milliseconds.
pub const OAUTH_MS_MAX: u64 = 30_000;
/// Longest answer of an authorization server, in bytes.
pub const OAUTH_ANSWER_BYTES_MAX: usize = 256 * 1024;
/// Longest request of a browser at the end of a login, in bytes.
pub const REDIRECT_HEAD_BYTES_MAX: u64 = 16 * 1024;
/// How long a browser may take to say it, in milliseconds.
pub const REDIRECT_READ_MS_MAX: u64 = 5_000;
