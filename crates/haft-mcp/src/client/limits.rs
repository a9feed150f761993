//! Every bound on servers of other people, each with its unit in its name. A server that goes beyond one harms its own calls
//! and no others.

use haft_contract::limits::Limit;

/// Longest message of a server, in bytes.
pub const SERVER_MESSAGE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// How long a server may take to start and to come to an understanding, in milliseconds.
pub const SERVER_START_MS_MAX: u64 = 30_000;
/// How long servers of which nothing is known are waited for when tools are put together, in milliseconds.
pub const SERVER_FIND_MS_MAX: u64 = 15_000;
/// How long a server may take to say which tools it has, in milliseconds.
pub const SERVER_LIST_MS_MAX: u64 = 15_000;
/// How long a server may take to read one message, in milliseconds.
pub const SERVER_SEND_MS_MAX: u64 = 10_000;
/// Messages of a server within a second that nobody asked for.
pub const SERVER_UNASKED_PER_SECOND_MAX: u32 = 2_000;
/// Lines of a server that are no messages, such as greetings.
pub const SERVER_NOISE_LINES_MAX: u32 = 1_000;
/// Pages of one list of tools.
pub const SERVER_PAGES_MAX: usize = 100;
/// Tools of one server.
pub const SERVER_TOOLS_MAX: usize = 1_000;
/// Schema of one tool of a server, in bytes.
pub const SERVER_SCHEMA_BYTES_MAX: usize = 256 * 1024;
/// Parts that are gone through to check an input against the schema of one tool of a server, at most.
pub const SERVER_SCHEMA_STEPS_MAX: u64 = 1_000_000;
/// Parts within parts of the schema of one tool of a server, with those that are referred to.
pub const SERVER_SCHEMA_DEPTH_MAX: usize = 400;
/// References in the schema of one tool of a server to parts by names of their own, which are not followed to count.
pub const SERVER_SCHEMA_NAMED_MAX: usize = 16;
/// All that a server says of its tools, in bytes.
pub const SERVER_LISTING_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Longest name of a tool of a server, in characters.
pub const SERVER_TOOL_NAME_CHARS_MAX: usize = 256;
/// Longest description of a tool of a server, in characters.
pub const SERVER_DESCRIPTION_CHARS_MAX: usize = 16 * 1024;
/// What is shown of the standard error of a server that failed, in bytes.
pub const SERVER_COMPLAINT_BYTES_MAX: usize = 1_000;
/// The least time between two looks at the tools of a server that says that they changed, in milliseconds.
pub const SERVER_RELIST_MS_MIN: u64 = 1_000;
/// How long the end of a server is waited for where somebody wants to know how it ended, in milliseconds.
pub const SERVER_END_MS_MAX: u64 = 5_000;
/// Longest message of a step that a server reports, in characters.
pub const SERVER_PROGRESS_CHARS_MAX: usize = 1_000;
/// Rounds of one call in which a server wants forms filled in.
pub const SERVER_ROUNDS_MAX: usize = 10;
/// How long a connection to a server that runs elsewhere may take to come about, in milliseconds.
pub const REMOTE_CONNECT_MS_MAX: u64 = 10_000;
/// Header fields of one answer of a server that runs elsewhere.
pub const REMOTE_HEADERS_MAX: usize = 200;
/// What is read of the body of an answer that is a refusal, in bytes.
pub const REMOTE_REFUSAL_BYTES_MAX: usize = 64 * 1024;
/// Requests to one server that runs elsewhere at the same time.
pub const REMOTE_REQUESTS_MAX: usize = 64;
/// Attempts in a row to resume a stream that broke off.
pub const REMOTE_RESUMES_MAX: usize = 5;
/// How long an answer about who somebody is may take, in milliseconds.
pub const OAUTH_MS_MAX: u64 = 30_000;
/// Longest answer about who somebody is, in bytes.
pub const OAUTH_ANSWER_BYTES_MAX: usize = 256 * 1024;
/// What a browser may say when it is sent to haft at the end of a login, in bytes.
pub const REDIRECT_HEAD_BYTES_MAX: u64 = 16 * 1024;
/// How long a browser may take to say it, in milliseconds.
pub const REDIRECT_READ_MS_MAX: u64 = 5_000;

/// All bounds on servers, in the order of the generated document.
pub const TABLE: &[Limit] = &[
    Limit::new(
        "SERVER_MESSAGE_BYTES_MAX",
        SERVER_MESSAGE_BYTES_MAX as u64,
        "bytes",
        "one message of an MCP server",
        "the server is ended",
    ),
    Limit::new(
        "SERVER_START_MS_MAX",
        SERVER_START_MS_MAX,
        "milliseconds",
        "an MCP server that starts",
        "it is ended, and its tools are unavailable",
    ),
    Limit::new(
        "SERVER_FIND_MS_MAX",
        SERVER_FIND_MS_MAX,
        "milliseconds",
        "MCP servers of which nothing is known, when tools are put together",
        "it goes on without their tools, which come when they do",
    ),
    Limit::new(
        "SERVER_LIST_MS_MAX",
        SERVER_LIST_MS_MAX,
        "milliseconds",
        "an MCP server that is asked for its tools",
        "it is ended, and its tools are unavailable",
    ),
    Limit::new(
        "SERVER_SEND_MS_MAX",
        SERVER_SEND_MS_MAX,
        "milliseconds",
        "an MCP server that is sent one message",
        "the server is ended",
    ),
    Limit::new(
        "SERVER_UNASKED_PER_SECOND_MAX",
        SERVER_UNASKED_PER_SECOND_MAX as u64,
        "messages",
        "what an MCP server says within a second without being asked",
        "the server is ended",
    ),
    Limit::new(
        "SERVER_NOISE_LINES_MAX",
        SERVER_NOISE_LINES_MAX as u64,
        "lines",
        "what an MCP server writes among its messages that is none",
        "the server is ended",
    ),
    Limit::new(
        "SERVER_PAGES_MAX",
        SERVER_PAGES_MAX as u64,
        "pages",
        "the list of an MCP server's tools",
        "tools on further pages are left out",
    ),
    Limit::new(
        "SERVER_TOOLS_MAX",
        SERVER_TOOLS_MAX as u64,
        "tools",
        "the tools of an MCP server",
        "further ones are left out",
    ),
    Limit::new(
        "SERVER_SCHEMA_BYTES_MAX",
        SERVER_SCHEMA_BYTES_MAX as u64,
        "bytes",
        "the schema of a tool of an MCP server",
        "the tool is left out",
    ),
    Limit::new(
        "SERVER_SCHEMA_STEPS_MAX",
        SERVER_SCHEMA_STEPS_MAX,
        "steps",
        "checking an input against the schema of a tool of an MCP server",
        "the tool is left out",
    ),
    Limit::new(
        "SERVER_SCHEMA_DEPTH_MAX",
        SERVER_SCHEMA_DEPTH_MAX as u64,
        "parts",
        "parts within parts in the schema of a tool of an MCP server",
        "the tool is left out",
    ),
    Limit::new(
        "SERVER_SCHEMA_NAMED_MAX",
        SERVER_SCHEMA_NAMED_MAX as u64,
        "references",
        "references by name in the schema of a tool of an MCP server",
        "the tool is left out",
    ),
    Limit::new(
        "SERVER_LISTING_BYTES_MAX",
        SERVER_LISTING_BYTES_MAX as u64,
        "bytes",
        "all that an MCP server says of its tools",
        "further tools are left out",
    ),
    Limit::new(
        "SERVER_TOOL_NAME_CHARS_MAX",
        SERVER_TOOL_NAME_CHARS_MAX as u64,
        "characters",
        "the name that an MCP server gives a tool",
        "the tool is left out",
    ),
    Limit::new(
        "SERVER_DESCRIPTION_CHARS_MAX",
        SERVER_DESCRIPTION_CHARS_MAX as u64,
        "characters",
        "the description of a tool of an MCP server",
        "the description is cut",
    ),
    Limit::new(
        "SERVER_COMPLAINT_BYTES_MAX",
        SERVER_COMPLAINT_BYTES_MAX as u64,
        "bytes",
        "what is shown of the standard error of an MCP server that failed",
        "only its end is shown",
    ),
    Limit::new(
        "SERVER_RELIST_MS_MIN",
        SERVER_RELIST_MS_MIN,
        "milliseconds",
        "the time between two looks at the tools of an MCP server that says they changed",
        "it is looked again after that time",
    ),
    Limit::new(
        "SERVER_END_MS_MAX",
        SERVER_END_MS_MAX,
        "milliseconds",
        "the end of an MCP server that somebody waits for",
        "it is not said how it ended",
    ),
    Limit::new(
        "SERVER_PROGRESS_CHARS_MAX",
        SERVER_PROGRESS_CHARS_MAX as u64,
        "characters",
        "the message of a step that an MCP server reports",
        "the rest is left out",
    ),
    Limit::new(
        "SERVER_ROUNDS_MAX",
        SERVER_ROUNDS_MAX as u64,
        "rounds",
        "a call in which an MCP server wants forms filled in",
        "the call fails",
    ),
    Limit::new(
        "REMOTE_CONNECT_MS_MAX",
        REMOTE_CONNECT_MS_MAX,
        "milliseconds",
        "a connection to an MCP server that runs elsewhere",
        "the call fails",
    ),
    Limit::new(
        "REMOTE_HEADERS_MAX",
        REMOTE_HEADERS_MAX as u64,
        "fields",
        "the headers of an answer of an MCP server that runs elsewhere",
        "the call fails",
    ),
    Limit::new(
        "REMOTE_REFUSAL_BYTES_MAX",
        REMOTE_REFUSAL_BYTES_MAX as u64,
        "bytes",
        "the body of a refusal of an MCP server that runs elsewhere",
        "it is not shown",
    ),
    Limit::new(
        "REMOTE_REQUESTS_MAX",
        REMOTE_REQUESTS_MAX as u64,
        "requests",
        "what an MCP server that runs elsewhere is asked at the same time",
        "further ones wait",
    ),
    Limit::new(
        "REMOTE_RESUMES_MAX",
        REMOTE_RESUMES_MAX as u64,
        "attempts",
        "a stream of an MCP server that breaks off again and again",
        "the call fails, in doubt",
    ),
    Limit::new(
        "OAUTH_MS_MAX",
        OAUTH_MS_MAX,
        "milliseconds",
        "an answer of one who vouches for users of an MCP server",
        "the login fails",
    ),
    Limit::new(
        "OAUTH_ANSWER_BYTES_MAX",
        OAUTH_ANSWER_BYTES_MAX as u64,
        "bytes",
        "an answer of one who vouches for users of an MCP server",
        "the login fails",
    ),
    Limit::new(
        "REDIRECT_HEAD_BYTES_MAX",
        REDIRECT_HEAD_BYTES_MAX,
        "bytes",
        "what a browser says at the end of a login",
        "it is not listened to",
    ),
    Limit::new(
        "REDIRECT_READ_MS_MAX",
        REDIRECT_READ_MS_MAX,
        "milliseconds",
        "a browser at the end of a login",
        "it is not listened to",
    ),
];
