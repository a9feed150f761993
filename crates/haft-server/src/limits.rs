//! The limits of HTTP, each with its unit in its name.

/// Open connections.
///
/// Limit (HTTP): the oldest one that did not show the token is closed; if all did, further connections wait.
pub const CONNECTIONS_MAX: usize = 256;
/// Open connections from one address that did not show the token.
///
/// Limit (HTTP): the oldest one is closed.
pub const PEER_CONNECTIONS_MAX: usize = 128;
/// Time until a new connection shows the token, in milliseconds.
///
/// Limit (HTTP): the connection is closed.
pub const TOKEN_MS_MAX: u64 = 5_000;
/// Headers of a request, in bytes.
///
/// Limit (HTTP): the request is refused with 431.
pub const HEADER_BYTES_MAX: usize = 32 * 1024;
/// Header fields of a request.
///
/// Limit (HTTP): the request is refused with 431.
pub const HEADERS_MAX: usize = 64;
/// Time for the headers of the next request to arrive, in milliseconds.
///
/// Limit (HTTP): the connection is closed.
pub const HEADER_MS_MAX: u64 = 30_000;
/// Largest body of a request, in bytes. A message with a content at its own largest bound fits in,
/// even if half of it is escaped.
///
/// Limit (HTTP): the request is refused with 413.
pub const BODY_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Time for the body of a request to arrive, in milliseconds.
///
/// Limit (HTTP): the request is refused with 408.
pub const BODY_MS_MAX: u64 = 30_000;
/// Time that a client leaves an answer unread, in milliseconds.
///
/// Limit (HTTP): the connection is closed.
pub const UNREAD_MS_MAX: u32 = 60_000;
/// How long connections may take to end when the server does, in milliseconds.
pub const DRAIN_MS_MAX: u64 = 500;
/// Shortest bearer token, in characters.
///
/// Limit (HTTP): the server does not start.
pub const TOKEN_CHARS_MIN: usize = 16;
/// Longest bearer token, in characters.
///
/// Limit (HTTP): the server does not start.
pub const TOKEN_CHARS_MAX: usize = 512;
