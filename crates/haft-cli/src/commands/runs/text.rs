//! Calls and holders in words, as all views of the journal show them.

use haft::{Clock as _, SystemClock};
use haft_contract::Effect;
use haft_contract::cut;
use haft_journal::{CallRow, CallStatus, LeaseHolder, RunRow};
use serde_json::{Map, Value};

use crate::views::output;
use haft_app::calendar::rfc3339;
use haft_app::process_identity;

/// Characters of an input that a line shows.
pub(crate) const INPUT_CHARS_MAX: usize = 60;

/// Returns the status of a call, with the verdict and its author if the call was settled.
pub(super) fn status(call: &CallRow) -> String {
    match (call.verdict, call.settled_by) {
        (Some(verdict), Some(by)) => {
            let verdict = verdict.as_str().replace('_', " ");
            format!("{} ({verdict}, says {by})", call.status)
        }
        (Some(_) | None, _) => call.status.to_string(),
    }
}

/// Returns the status of a call of a run. An open call of a dead process is no longer running.
pub(super) fn status_in_run(call: &CallRow, run: &RunRow) -> String {
    match (call.status, call.effect) {
        (CallStatus::Intended, Effect::Once) if is_holder_dead(run) => {
            "begun, end not recorded; in doubt".to_owned()
        }
        (CallStatus::Intended, Effect::Read | Effect::Idempotent) if is_holder_dead(run) => {
            "begun, end not recorded".to_owned()
        }
        _ => status(call),
    }
}

/// Returns whether the process that holds a run is gone.
pub(super) fn is_holder_dead(run: &RunRow) -> bool {
    run.holder.as_ref().is_some_and(|holder| process_identity::is_gone(&holder.owner))
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

/// Members of inputs that show best what a call does, the best first.
const SUMMARY_KEYS: [&str; 6] = ["cmd", "path", "pattern", "url", "query", "file_path"];

/// Returns the beginning of an input on one line, the most useful member first. A redacted input is shown as its size.
pub(super) fn input_summary(input: &str) -> String {
    let text = match serde_json::from_str(input) {
        Ok(Value::Object(members)) => match redacted_size(&members) {
            Some(size) => size,
            None => {
                let best = SUMMARY_KEYS
                    .iter()
                    .find_map(|name| Some((*name, members.get(*name)?.as_str()?)));
                let first = best.map(|(_, text)| text.to_owned());
                let is_other = |name: &str| best.is_none_or(|(first, _)| first != name);
                let others = members.iter().filter(|(name, _)| is_other(name));
                let others = others.map(|(name, value)| {
                    let text = match value {
                        Value::String(text) => text.clone(),
                        Value::Object(members) => {
                            redacted_size(members).unwrap_or_else(|| value.to_string())
                        }
                        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
                            value.to_string()
                        }
                    };
                    format!("{name}={text}")
                });
                first.into_iter().chain(others).collect::<Vec<_>>().join("  ")
            }
        },
        Ok(_) | Err(_) => input.to_owned(),
    };
    let text = output::escape_controls(&text).replace(['\n', '\t'], " ");
    cut(&text, INPUT_CHARS_MAX)
}

/// Returns the size of a redacted text, of which the journal has only size and hash.
fn redacted_size(members: &Map<String, Value>) -> Option<String> {
    let bytes = members.get("bytes")?.as_u64().filter(|_| members.len() == 2)?;
    members.get("sha256").map(|_| format!("{bytes} bytes"))
}

/// Returns the holder of a run, and whether it is dead or its lease has expired.
pub(super) fn holder_text(holder: &LeaseHolder) -> String {
    let place = output::escape_controls(&holder.owner.location);
    if process_identity::is_gone(&holder.owner) {
        format!("{place}, which is gone")
    } else if holder.is_expired(SystemClock.now_ms()) {
        format!("{place}, whose lease expired at {}", rfc3339(holder.expires_at_ms))
    } else {
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tells_most_of_an_input_comes_first() {
        let check = |input: &str, expect: &str| assert_eq!(input_summary(input), expect);
        check(r#"{"path":"notes.txt"}"#, "notes.txt");
        check(r#"{"timeout_ms":5,"cmd":"ls\n-a"}"#, "ls -a  timeout_ms=5");
        let digest = r#"{"bytes":4,"sha256":"af4d"}"#;
        check(&format!(r#"{{"content":{digest},"path":"a"}}"#), "a  content=4 bytes");
        check(digest, "4 bytes");
        check(r#"{"todos":[1]}"#, "todos=[1]");
        check(r#"{"path":7}"#, "path=7");
        check("[1]", "[1]");
        check("{", "{");
        let long = format!(r#"{{"cmd":"{}"}}"#, "x".repeat(INPUT_CHARS_MAX + 1));
        check(&long, &format!("{}…", "x".repeat(INPUT_CHARS_MAX)));
    }
}
