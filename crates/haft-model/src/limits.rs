//! The bounds of talking to a model, for the generated table of limits.

use haft_contract::limits::Limit;

/// The longest text, thoughts and arguments of one answer together, in bytes.
pub const ANSWER_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Tool calls in one answer.
pub const TOOL_CALLS_MAX: usize = 128;
/// How long one answer may take with everything that is tried for it, in milliseconds.
pub const ANSWER_MS: u64 = 600_000;
/// How long a provider may be silent, in milliseconds.
pub const IDLE_MS: u64 = 120_000;
/// How long connecting may take, in milliseconds.
pub const CONNECT_MS: u64 = 20_000;
/// Further attempts after one that failed before anything was received.
pub const RETRIES_MAX: u32 = 3;
/// The pause before the first further attempt, in milliseconds; it doubles with each.
pub const BACKOFF_FIRST_MS: u64 = 500;
/// The longest pause, in milliseconds, also when the provider names one.
pub const BACKOFF_MAX_MS: u64 = 30_000;
/// What is repeated of a provider's own words in an error, in characters.
pub const DETAIL_CHARS_MAX: usize = 400;
/// The longest name of a model, in bytes.
pub const NAME_BYTES_MAX: usize = 200;
/// The longest key, in bytes.
pub const KEY_BYTES_MAX: usize = 4096;
/// Events that wait for a slow reader.
pub(crate) const EVENTS_WAITING_MAX: usize = 64;
/// What is looked at of a provider's words in an error, in bytes.
pub(crate) const ERROR_BYTES_MAX: usize = 64 * 1024;
/// The shortest part of a key that is taken out of a provider's words, in bytes.
pub(crate) const KEY_PART_BYTES_MIN: usize = 8;

/// All bounds of models, in the order of the generated document.
pub const TABLE: &[Limit] = &[
    Limit::new(
        "ANSWER_BYTES_MAX",
        ANSWER_BYTES_MAX as u64,
        "bytes",
        "an answer of a model with its thoughts and arguments",
        "the answer is given up with an error",
    ),
    Limit::new(
        "TOOL_CALLS_MAX",
        TOOL_CALLS_MAX as u64,
        "calls",
        "tool calls in one answer",
        "the answer is given up with an error",
    ),
    Limit::new(
        "ANSWER_MS",
        ANSWER_MS,
        "milliseconds",
        "an answer with all attempts at it",
        "it is given up with an error",
    ),
    Limit::new(
        "IDLE_MS",
        IDLE_MS,
        "milliseconds",
        "a provider's silence",
        "the attempt is given up, and made anew if nothing was received",
    ),
    Limit::new(
        "CONNECT_MS",
        CONNECT_MS,
        "milliseconds",
        "connecting to a provider",
        "the attempt is made anew",
    ),
    Limit::new(
        "RETRIES_MAX",
        RETRIES_MAX as u64,
        "attempts",
        "further attempts before anything was received",
        "the last error is returned",
    ),
    Limit::new(
        "BACKOFF_FIRST_MS",
        BACKOFF_FIRST_MS,
        "milliseconds",
        "the first pause between attempts; it doubles",
        "the pause is the longest one",
    ),
    Limit::new(
        "BACKOFF_MAX_MS",
        BACKOFF_MAX_MS,
        "milliseconds",
        "a pause between attempts",
        "a provider that asks for a longer one is not asked again",
    ),
    Limit::new(
        "DETAIL_CHARS_MAX",
        DETAIL_CHARS_MAX as u64,
        "characters",
        "a provider's own words in an error",
        "they are cut",
    ),
    Limit::new(
        "NAME_BYTES_MAX",
        NAME_BYTES_MAX as u64,
        "bytes",
        "the name of a model",
        "the settings are refused",
    ),
    Limit::new("KEY_BYTES_MAX", KEY_BYTES_MAX as u64, "bytes", "a key", "the settings are refused"),
];
