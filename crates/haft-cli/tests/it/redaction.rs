//! Replaces what differs from run to run by something of the same length: names of runs, moments, durations, keys and
//! the world's own directory. Everything else is compared as it is.

use std::path::Path;

/// Returns the text with everything replaced that no test can know.
pub(crate) fn redact(text: &str, world: &Path) -> String {
    let text = text.replace(&*world.to_string_lossy(), "/world");
    let text = text.replace(env!("CARGO_PKG_VERSION"), "VERSION");
    let text = replace_hashes(&text, "/projects/", "HASH");
    let text = replace_hashes(&text, "idempotency key haft_", "KEY");
    let text = replace_owners(&replace_names(&text));
    let text = without_waits(&replace_passed(&replace_moments(&text)));
    ["duration_ms", "started_at_ms", "finished_at_ms", "last_call_at_ms", "first_key", "call_key"]
        .iter()
        .fold(text, |text, field| replace_field(&text, field))
}

/// The hash behind some words: of the root in the name of a project's file, of the run in a key.
fn replace_hashes(text: &str, before: &str, name: &str) -> String {
    let mut parts = text.split(before);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let digits = part.bytes().take_while(u8::is_ascii_hexdigit).count();
        let rest =
            if digits == 64 { format!("{name}{}", &part[digits..]) } else { part.to_owned() };
        format!("{text}{before}{rest}")
    })
}

/// A process and its machine, as messages name them.
fn replace_owners(text: &str) -> String {
    const PLACE: &str = "process ";
    let mut parts = text.split(PLACE);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        let host = part[digits..].strip_prefix(" on ").filter(|_| digits > 0);
        let part = host.map_or(part.to_owned(), |host| {
            let is_end = |character: char| character.is_whitespace() || ",\"".contains(character);
            let end = host.find(is_end).unwrap_or(host.len());
            format!("7 on host{}", &host[end..])
        });
        format!("{text}{PLACE}{part}")
    })
}

/// `run_` and `session_` with 26 digits.
fn replace_names(text: &str) -> String {
    let mut text = text.to_owned();
    for prefix in ["run_", "session_"] {
        let mut from = 0;
        while let Some(found) = text.get(from..).and_then(|rest| rest.find(prefix)) {
            let start = from + found + prefix.len();
            let digits = text[start..].bytes().take_while(u8::is_ascii_alphanumeric).count();
            if digits == 26 {
                text.replace_range(start..start + digits, &"X".repeat(digits));
            }
            from = start;
        }
    }
    text
}

/// Moments, and the duration that follows one in a table.
fn replace_moments(text: &str) -> String {
    const MOMENT: &str = "2000-01-01T00:00:00.000Z";
    let is_moment = |candidate: &str| {
        candidate.len() == MOMENT.len()
            && candidate.bytes().zip(MOMENT.bytes()).all(|(byte, model)| {
                if model.is_ascii_digit() { byte.is_ascii_digit() } else { byte == model }
            })
    };
    let mut redacted = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        match rest.get(..MOMENT.len()) {
            Some(candidate) if is_moment(candidate) => {
                redacted.push_str(MOMENT);
                rest = &rest[MOMENT.len()..];
                // A column of milliseconds is as wide as its longest one.
                let padding = rest.len() - rest.trim_start_matches(' ').len();
                let digits = rest[padding..].bytes().take_while(u8::is_ascii_digit).count();
                let after = &rest[padding + digits..];
                if padding > 0 && digits > 0 && after.starts_with(' ') {
                    redacted.push_str("  0  ");
                    rest = after.trim_start_matches(' ');
                }
            }
            _ => {
                redacted.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    redacted
}

/// How long something took, where that is said in words.
fn replace_passed(text: &str) -> String {
    const IN: &str = " in ";
    let mut parts = text.split(IN);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let number = part.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
        let unit = [" ms", " s"].into_iter().find(|unit| part[number..].starts_with(unit));
        match unit.filter(|_| number > 0) {
            Some(unit) => format!("{text}{IN}0 ms{}", &part[number + unit.len()..]),
            None => format!("{text}{IN}{part}"),
        }
    })
}

/// Leaves out the waits of a call, which are there if they were long enough. Another field always follows them.
fn without_waits(text: &str) -> String {
    let mut parts = text.split("\"waits\":");
    let mut redacted = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (_, rest) = part.split_once("},").unwrap_or_default();
        redacted.push_str(rest.trim_start());
    }
    redacted
}

/// The number or the text of a field of JSON.
fn replace_field(text: &str, field: &str) -> String {
    let key = format!("\"{field}\":");
    let mut parts = text.split(&key);
    let mut redacted = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let space = part.len() - part.trim_start_matches(' ').len();
        let (value, rest) = part[space..].split_at(value_bytes(&part[space..]));
        redacted.push_str(&key);
        redacted.push_str(&part[..space]);
        redacted.push_str(match value.chars().next() {
            Some('"') => "\"…\"",
            Some('0'..='9') => "0",
            _ => value,
        });
        redacted.push_str(rest);
    }
    redacted
}

fn value_bytes(text: &str) -> usize {
    match text.strip_prefix('"') {
        Some(rest) => rest.find('"').map_or(text.len(), |end| end + 2),
        None => text.bytes().take_while(u8::is_ascii_digit).count(),
    }
}

#[test]
fn only_what_differs_is_replaced() {
    let check = |text: &str, expect: &str| assert_eq!(redact(text, Path::new("/tmp/x")), expect);
    check("/tmp/x/a run_ run_short", "/world/a run_ run_short");
    check("run_01m7y2wbsbj97pa84yferxrgp9/main", "run_XXXXXXXXXXXXXXXXXXXXXXXXXX/main");
    check("2026-11-21T03:37:27.725Z  12  code", "2000-01-01T00:00:00.000Z  0  code");
    check("2026-11-21 T", "2026-11-21 T");
    check("finished in 1.2 s: 3 in doubt", "finished in 0 ms: 3 in doubt");
    check("by process 12 on box-1, until", "by process 7 on host, until");
    check("a process ends", "a process ends");
    check(
        r#"{"duration_ms":12,"first_key":"ab","x":1}"#,
        r#"{"duration_ms":0,"first_key":"…","x":1}"#,
    );
    check(
        r#"{"duration_ms":12,"waits":{"sandbox_ms":9},"call_id":"r"}"#,
        r#"{"duration_ms":0,"call_id":"r"}"#,
    );
    check(r#"{"finished_at_ms":null}"#, r#"{"finished_at_ms":null}"#);
}
