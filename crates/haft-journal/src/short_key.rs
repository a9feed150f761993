//! The short key of a run or a session: the part of its id by whose beginning people name it. haft makes an id of a prefix, a
//! time and chance, and the short key is the chance. It is the whole id if a person chose that.

use haft_contract::RunId;

/// Prefixes of the ids that haft makes.
const PREFIXES: [&str; 2] = ["run_", "ses_"];
/// Characters of such an id after its prefix.
const ID_CHARS: usize = 26;
/// Characters of these that tell the time. The rest is chance.
const TIME_CHARS: usize = 10;

/// Returns the short key of an id.
pub fn short_key(id: &RunId) -> &str {
    made_key(id).unwrap_or(id.as_str())
}

/// Returns whether haft made an id.
pub fn is_made_id(id: &RunId) -> bool {
    made_key(id).is_some()
}

/// Returns the part of an id that is chance, if haft made the id.
fn made_key(id: &RunId) -> Option<&str> {
    let digits = PREFIXES.iter().find_map(|prefix| id.as_str().strip_prefix(prefix))?;
    let is_made =
        digits.len() == ID_CHARS && digits.bytes().all(|byte| byte.is_ascii_alphanumeric());
    digits.get(TIME_CHARS..).filter(|_| is_made)
}
