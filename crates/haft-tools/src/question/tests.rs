use serde_json::json;

use super::*;

#[test]
fn options_are_distinct_and_nothing_is_blank() {
    let check = |question: serde_json::Value, expected: Option<&str>| {
        let shown = question.to_string();
        let question: UserQuestion = serde_json::from_value(question).unwrap();
        let found = super::check(2, &question).err().map(|err| err.message);
        assert_eq!(found.as_deref(), expected, "{shown}");
    };
    check(json!({"question": "a?"}), None);
    check(json!({"question": "a?", "options": [{"label": "b"}, {"label": "c"}]}), None);
    check(json!({"question": " "}), Some("questions[2]: the question is blank"));
    let blank = json!({"question": "a?", "options": [{"label": " "}]});
    check(blank, Some("questions[2]: an option's label is blank"));
    let same =
        json!({"question": "a?", "options": [{"label": "b"}, {"label": "c"}, {"label": "b "}]});
    let expected = "questions[2]: two options have the label \"b\": give each its own";
    check(same, Some(expected));
}
