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
/// Largest body of a request for a page, in bytes.
///
/// Limit (HTTP): the request is refused with 413.
pub const PAGE_BODY_BYTES_MAX: usize = 1024 * 1024;
/// Largest body with which a browser logs in, in bytes.
pub const SECRET_BODY_BYTES_MAX: usize = 256;
/// Links to pages that were made and not used yet.
///
/// Limit (HTTP): the oldest link stops working.
pub const LINKS_MAX: usize = 16;
/// Browsers that are logged in.
///
/// Limit (HTTP): the browser that logged in first has to log in again.
pub const BROWSERS_MAX: usize = 64;
/// Tabs that can change something.
///
/// Limit (HTTP): the oldest tab has to be loaded again before it can change something.
pub const TABS_MAX: usize = 256;
/// Offered changes that were not made yet.
///
/// Limit (HTTP): the page with the oldest has to be loaded again.
pub const NONCES_MAX: usize = 4_096;
