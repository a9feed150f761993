//! Compiles the regular expression of a search, within bounds, and explains what is wrong with one in words that
//! a model can act on.

use grep_regex::{ErrorKind, RegexMatcher, RegexMatcherBuilder};
use haft_contract::{ErrorCode, ToolError};

/// Longest regular expression of `grep`, in bytes.
///
/// Limit (files): the pattern is refused.
pub(crate) const PATTERN_BYTES_MAX: usize = 16 * 1024;
/// Largest compiled program of a regular expression, in bytes.
pub(crate) const PROGRAM_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Largest cache of states that one thread builds while it matches, in bytes.
pub(crate) const STATES_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Returns the matcher of `pattern`, which finds nothing across line ends.
pub(crate) fn compile(pattern: &str, ignore_case: bool) -> Result<RegexMatcher, ToolError> {
    if pattern.len() > PATTERN_BYTES_MAX {
        let found = pattern.len();
        return Err(failed(format!(
            "the pattern is {found} bytes long: expected at most {PATTERN_BYTES_MAX}"
        )));
    }
    let mut builder = RegexMatcherBuilder::new();
    builder
        .multi_line(true)
        .case_insensitive(ignore_case)
        .size_limit(PROGRAM_BYTES_MAX)
        .dfa_size_limit(STATES_BYTES_MAX)
        // `$` matches before `\r\n` too, unless the pattern is about `\r` itself.
        .crlf(!pattern.contains('\r') && !pattern.contains(r"\r"))
        .line_terminator(Some(b'\n'));
    let err = match builder.build(pattern) {
        Ok(matcher) => return Ok(matcher),
        Err(err) => err,
    };
    if matches!(err.kind(), ErrorKind::NotAllowed(_)) {
        return Err(failed(format!(
            "the pattern {pattern:?} spans lines, but each line is searched by itself: \
             search for the part on one line and use `context` to see its neighbours"
        )));
    }
    // A syntax error is a picture of the pattern, which has been wrapped, and then a line that says what is wrong.
    let text = err.to_string();
    let reason = text.rsplit_once("error: ").map_or(text.as_str(), |(_, reason)| reason);
    let advice = if reason.contains("size limit") {
        "; repeat less, or shorter things"
    } else if reason.contains("not supported") {
        "; take it out, and pick from the matches of the rest"
    } else {
        r"; put a backslash before each of . + * ? ( ) | [ ] { } ^ $ \ that is meant literally"
    };
    Err(failed(format!("the pattern {pattern:?} is not a valid Rust regex: {reason}{advice}")))
}

fn failed(message: String) -> ToolError {
    ToolError::new(ErrorCode::GrepFailed, message)
}
