//! Every bound of the HTTP side, each with its unit in its name. [`TABLE`] is its part of the generated table of limits.

use haft_contract::limits::Limit;

/// Connections that are open at the same time; further ones wait to be accepted.
pub const CONNECTIONS_MAX: usize = 256;
/// All headers of a request, in bytes.
pub const HEADER_BYTES_MAX: usize = 32 * 1024;
/// Headers of a request.
pub const HEADERS_MAX: usize = 64;
/// How long the headers of a request may take from the end of the one before, in milliseconds.
pub const HEADER_MS_MAX: u64 = 30_000;
/// Body of a request, in bytes. A message with a content at its own largest bound fits in, even if half of it is escaped.
pub const BODY_BYTES_MAX: usize = 32 * 1024 * 1024;
/// How long the body of a request may take, in milliseconds.
pub const BODY_MS_MAX: u64 = 30_000;
/// How long a client may leave what is sent to it unread, in milliseconds.
pub const UNREAD_MS_MAX: u32 = 60_000;
/// How long connections may take to end when the server does, in milliseconds.
pub const DRAIN_MS_MAX: u64 = 500;
/// Shortest bearer token, in characters.
pub const TOKEN_CHARS_MIN: usize = 16;
/// Longest bearer token, in characters.
pub const TOKEN_CHARS_MAX: usize = 512;

/// All bounds of the HTTP side, in the order of the generated document.
pub const TABLE: &[Limit] = &[
    Limit::new(
        "CONNECTIONS_MAX",
        CONNECTIONS_MAX as u64,
        "connections",
        "what is open at the same time",
        "further ones wait to be accepted",
    ),
    Limit::new(
        "HEADER_BYTES_MAX",
        HEADER_BYTES_MAX as u64,
        "bytes",
        "all headers of an HTTP request",
        "the request is refused with 431",
    ),
    Limit::new(
        "HEADERS_MAX",
        HEADERS_MAX as u64,
        "headers",
        "one HTTP request",
        "the request is refused with 431",
    ),
    Limit::new(
        "HEADER_MS_MAX",
        HEADER_MS_MAX,
        "milliseconds",
        "the wait for the headers of the next HTTP request",
        "the connection is closed",
    ),
    Limit::new(
        "BODY_BYTES_MAX",
        BODY_BYTES_MAX as u64,
        "bytes",
        "the body of an HTTP request",
        "the request is refused with 413",
    ),
    Limit::new(
        "BODY_MS_MAX",
        BODY_MS_MAX,
        "milliseconds",
        "the arrival of the body of an HTTP request",
        "the request is refused with 408",
    ),
    Limit::new(
        "UNREAD_MS_MAX",
        UNREAD_MS_MAX as u64,
        "milliseconds",
        "what is sent to an HTTP client and not taken by it",
        "the connection is closed",
    ),
    Limit::new(
        "DRAIN_MS_MAX",
        DRAIN_MS_MAX,
        "milliseconds",
        "the end of HTTP connections when the server ends",
        "they are closed",
    ),
    Limit::new(
        "TOKEN_CHARS_MIN",
        TOKEN_CHARS_MIN as u64,
        "characters",
        "the shortest bearer token",
        "the token is refused when the server starts",
    ),
    Limit::new(
        "TOKEN_CHARS_MAX",
        TOKEN_CHARS_MAX as u64,
        "characters",
        "the longest bearer token",
        "the token is refused when the server starts",
    ),
];
