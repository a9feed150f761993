//! The limits of the pipeline that other crates need too.

/// Lease of a run, in milliseconds. Its owner renews it.
///
/// Limit (journal): another process may take the run over.
pub const LEASE_MS: u64 = 30_000;
/// How often the owner of a run renews its lease, in milliseconds.
pub const LEASE_RENEW_MS: u64 = 8_000;
/// Time for the snapshot before an effect, and once more after it, in milliseconds.
///
/// Limit (journal): the snapshot is abandoned and the journal notes it.
pub const SNAPSHOT_MS: u64 = 10_000;
/// Time for a client to answer the request of a tool, in milliseconds. It does not count as time of the call.
///
/// Limit (calls): the tool gets no answer.
pub const INQUIRY_MS_MAX: u64 = 3_600_000;
/// Time for a person to answer an ask, in milliseconds, unless the settings say otherwise.
///
/// Limit (calls): the call is denied, or the question has no answer.
pub const ANSWER_MS_DEFAULT: u64 = 600_000;
/// Shortest time for a person to answer that the settings can name, in milliseconds.
pub const ANSWER_MS_MIN: u64 = 1_000;
/// Longest time for a person to answer that the settings can name, in milliseconds: a week.
pub const ANSWER_MS_MAX: u64 = 604_800_000;
/// Longest words for the model in an answer, in characters.
///
/// Limit (calls): the words are cut.
pub const ANSWER_WORDS_CHARS_MAX: usize = 4_000;
/// Pause between two reports that a call waits for an answer, in milliseconds.
pub const ANSWER_PROGRESS_MS: u64 = 10_000;
/// Calls of earlier attempts that a retry warning lists in full.
pub const WARNED_CALLS_MAX: u32 = 10;
