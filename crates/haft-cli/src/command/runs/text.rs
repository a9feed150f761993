//! Calls and holders in words, as all views of the journal show them.

use haft::{Clock as _, SystemClock};
use haft_journal::{CallRow, Holder};

use crate::time::rfc3339;
use crate::{output, owner};

/// Characters of an input that a line shows.
pub(crate) const INPUT_CHARS_MAX: usize = 60;

/// Returns the call's place inside its run; most runs have one node, one iteration and one attempt.
pub(super) fn place(call: &CallRow) -> String {
    let scope = &call.scope;
    format!("{}/{}/{}/{}", scope.node, scope.iteration, scope.attempt, call.seq)
}

/// Returns the status, and where it was found out later what became of the call, by whom.
pub(super) fn status(call: &CallRow) -> String {
    match (call.verdict, call.settled_by) {
        (Some(verdict), Some(by)) => {
            let verdict = verdict.as_str().replace('_', " ");
            format!("{} ({verdict}, says {by})", call.status)
        }
        (Some(_) | None, _) => call.status.to_string(),
    }
}

/// Returns how long the call took, in milliseconds.
pub(super) fn duration(call: &CallRow) -> String {
    let finished = call.finished_at_ms;
    finished.map_or("-".to_owned(), |at| at.saturating_sub(call.started_at_ms).to_string())
}

/// Returns the error code.
pub(super) fn code(call: &CallRow) -> String {
    let envelope = call.parsed_envelope().ok().flatten();
    let code = envelope.and_then(|envelope| envelope.code());
    code.map_or("-".to_owned(), |code| code.to_string())
}

/// Returns the beginning of an input, on one line.
pub(super) fn summary(input: &str) -> String {
    let mut text: String = output::visible(input).chars().take(INPUT_CHARS_MAX).collect();
    if input.chars().nth(INPUT_CHARS_MAX).is_some() {
        text.push('…');
    }
    text.replace('\n', " ")
}

/// Returns who holds a run, and whether anything is to be expected of them.
pub(super) fn holder(holder: &Holder) -> String {
    let place = output::visible(&holder.owner.place);
    if owner::is_gone(&holder.owner) {
        format!("{place}, which is gone")
    } else if holder.is_over(SystemClock.now_ms()) {
        format!("{place}, not heard of since {}", rfc3339(holder.expires_at_ms))
    } else {
        place
    }
}
