//! The limits of requests to a model, each with its unit in its name.

/// Longest answer of a model, in bytes.
///
/// Limit (agents): the turn ends with an error.
pub const ANSWER_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Tool calls in one answer of a model.
///
/// Limit (agents): the turn ends with an error.
pub const TOOL_CALLS_MAX: usize = 128;
/// Default time for an answer of a model with all retries, in milliseconds.
///
/// Limit (agents): the turn ends with an error.
pub const ANSWER_MS: u64 = 600_000;
/// Default silence of a provider, in milliseconds.
///
/// Limit (agents): the attempt ends; it is retried if nothing was received.
pub const IDLE_MS: u64 = 120_000;
/// How long connecting may take, in milliseconds.
pub const CONNECT_MS: u64 = 20_000;
/// Retries before a provider has answered.
///
/// Limit (agents): the last error is returned.
pub const RETRIES_MAX: u32 = 3;
/// Pause before the first retry, in milliseconds; it doubles with each.
pub const BACKOFF_FIRST_MS: u64 = 500;
/// Maximum pause, in milliseconds, even if the provider asks for a longer one.
pub const BACKOFF_MAX_MS: u64 = 30_000;
/// Maximum length of a provider's message in an error, in characters.
pub const DETAIL_CHARS_MAX: usize = 400;
/// Maximum length of a model's name, in bytes.
pub const NAME_BYTES_MAX: usize = 200;
/// Maximum length of a key, in bytes.
pub const KEY_BYTES_MAX: usize = 4096;
/// Events that are queued for a slow reader.
pub(crate) const EVENTS_WAITING_MAX: usize = 64;
/// Bytes of a provider's error that are read.
pub(crate) const ERROR_BYTES_MAX: usize = 64 * 1024;
/// Minimum length of a part of a key that is redacted from a provider's text, in bytes.
pub(crate) const KEY_PART_BYTES_MIN: usize = 8;
