//! The title of a call: its tool and the argument that tells it from others.

use haft_contract::cut;
use serde_json::Value;

/// Parameters by which a call is told from others of its tool, the most telling first.
const TITLE_PARAMETERS: &[&str] =
    &["path", "cmd", "pattern", "url", "query", "subagent_type", "name", "question"];
/// The longest title of a call, in characters.
const CALL_TITLE_CHARS_MAX: usize = 120;

/// Returns a call in a few words, as events name it.
pub fn call_title(tool: &str, input: &Value) -> String {
    let telling = TITLE_PARAMETERS.iter().find_map(|name| input.get(name)?.as_str());
    let Some(telling) = telling else { return tool.to_owned() };
    let args = input.get("args").and_then(Value::as_array).into_iter().flatten();
    let words = std::iter::once(telling).chain(args.filter_map(Value::as_str));
    let words: String = words.collect::<Vec<_>>().join(" ");
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("{tool} {}", cut(&haft_contract::clean(&words), CALL_TITLE_CHARS_MAX))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_call_has_a_title() {
        let check = |tool: &str, input: Value, expect: Expect| {
            expect.assert_eq(&call_title(tool, &input));
        };
        check("read", json!({"path": "src/lib.rs", "offset": 1}), expect!["read src/lib.rs"]);
        check("bash", json!({"cmd": "cargo", "args": ["test", 1]}), expect!["bash cargo test"]);
        check("bash", json!({"cmd": "a\n\u{1b}[2Jb"}), expect!["bash a [2Jb"]);
        check("todo", json!({"todos": []}), expect!["todo"]);
        check("todo", json!("{half"), expect!["todo"]);
        let long = call_title("bash", &json!({"cmd": "x".repeat(CALL_TITLE_CHARS_MAX + 1)}));
        assert_eq!(long.chars().count(), "bash ".len() + CALL_TITLE_CHARS_MAX + 1);
    }
}
