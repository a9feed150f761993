//! A call on one line: the member of its input that shows best what the call does.

use haft_contract::{cut, escape_controls};
use serde_json::{Map, Value};

/// Characters of an input that a line shows.
const INPUT_CHARS_MAX: usize = 60;

/// Members of inputs that show best what a call does, the best first.
const SUMMARY_KEYS: [&str; 6] = ["cmd", "path", "pattern", "url", "query", "file_path"];

/// Returns the beginning of an input on one line, the most useful member first. A redacted input is shown as its size.
/// Control characters are spelled out.
pub fn input_summary(input: &str) -> String {
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
    let text = escape_controls(&text).replace(['\n', '\t'], " ");
    cut(&text, INPUT_CHARS_MAX)
}

/// Returns the size of a redacted text, of which the journal has only size and hash.
fn redacted_size(members: &Map<String, Value>) -> Option<String> {
    let bytes = members.get("bytes")?.as_u64().filter(|_| members.len() == 2)?;
    members.get("sha256").map(|_| format!("{bytes} bytes"))
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
