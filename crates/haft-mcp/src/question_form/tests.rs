use expect_test::{Expect, expect};
use haft_contract::ToolId;
use serde_json::json;

use super::*;

fn inquiry() -> Elicitation {
    let questions = json!([
        {"question": "Which database?", "header": "Storage", "options": [
            {"label": "SQLite", "description": "one file"}, {"label": "PostgreSQL"}]},
        {"question": "Which platforms?\nAll that matter.", "multi_select": true, "options": [
            {"label": "Linux"}, {"label": "macOS"}, {"label": "Windows"}]},
        {"question": "What is it called?"},
    ]);
    Elicitation {
        call_id: "run/main/0/1/1".to_owned(),
        driver_call_id: None,
        tool: ToolId::parse("question").unwrap(),
        questions: serde_json::from_value(questions).unwrap(),
        connection: "session".to_owned(),
    }
}

fn check_form(titles: EnumTitleStyle, expect: &Expect) {
    let form = serde_json::to_value(form(&inquiry(), titles)).unwrap();
    let fields = form["requestedSchema"]["properties"].as_object().unwrap();
    let fields: Vec<String> =
        fields.iter().map(|(name, field)| format!("{name} {field}")).collect();
    expect.assert_eq(&format!("{}\n{}", fields.join("\n"), form["requestedSchema"]["required"]));
}

#[test]
fn a_form_has_a_field_for_each_choice_and_one_for_own_words() {
    check_form(
        EnumTitleStyle::OneOf,
        &expect![[r#"
        q01 {"type":"string","title":"Storage","description":"Which database?","oneOf":[{"const":"SQLite","title":"SQLite: one file"},{"const":"PostgreSQL","title":"PostgreSQL"}]}
        q01_other {"type":"string","title":"Other","description":"An answer in your own words","maxLength":10000}
        q02 {"type":"array","title":"Question 2","description":"Which platforms? All that matter.","items":{"anyOf":[{"const":"Linux","title":"Linux"},{"const":"macOS","title":"macOS"},{"const":"Windows","title":"Windows"}]}}
        q02_other {"type":"string","title":"Other","description":"An answer in your own words","maxLength":10000}
        q03 {"type":"string","title":"Question 3","description":"What is it called?","maxLength":10000}
        ["q03"]"#]],
    );
    check_form(
        EnumTitleStyle::EnumNames,
        &expect![[r#"
        q01 {"type":"string","title":"Storage","description":"Which database?","enum":["SQLite","PostgreSQL"],"enumNames":["SQLite: one file","PostgreSQL"]}
        q01_other {"type":"string","title":"Other","description":"An answer in your own words","maxLength":10000}
        q02_option_01 {"type":"boolean","title":"Linux"}
        q02_option_02 {"type":"boolean","title":"macOS"}
        q02_option_03 {"type":"boolean","title":"Windows"}
        q02_other {"type":"string","title":"Other","description":"An answer in your own words","maxLength":10000}
        q03 {"type":"string","title":"Question 3","description":"What is it called?","maxLength":10000}
        ["q03"]"#]],
    );
}

#[test]
fn the_message_says_who_asks_what() {
    expect![[r#"
        The agent asks. Your answers are for it to read; they allow nothing.

        1. Storage: Which database?
           - SQLite: one file
           - PostgreSQL

        2. Which platforms?
           All that matter.
           - Linux
           - macOS
           - Windows
           (several may be chosen)

        3. What is it called?"#]]
    .assert_eq(&message(&inquiry().questions));
}

#[test]
fn answers_are_labels_and_own_words() {
    let check = |content: Value, expected: &ElicitationReply| {
        let result = json!({"action": "accept", "content": content});
        let result = serde_json::from_value(result).unwrap();
        assert_eq!(parse_reply(&result, &inquiry()), *expected, "{content}");
    };
    let said = |said: [&[&str]; 3]| {
        ElicitationReply::Answers(
            said.map(|one| one.iter().map(|text| (*text).to_owned()).collect()).into(),
        )
    };
    let all = json!({"q01": "SQLite", "q02": ["macOS", "Linux"], "q03": " haft "});
    check(all, &said([&["SQLite"], &["Linux", "macOS"], &["haft"]]));
    let own = json!({"q01_other": "neither", "q02_other": "BSD", "q02": ["Linux"], "q03": "x"});
    check(own, &said([&["neither"], &["Linux", "BSD"], &["x"]]));
    let ticked = json!({"q02_option_01": true, "q02_option_02": false, "q02_option_03": true});
    check(ticked, &said([&[], &["Linux", "Windows"], &[]]));
    let strange = json!({"q01": "Oracle", "q02": "Linux", "q03": 7, "q04": "more"});
    check(strange, &said([&[], &["Linux"], &[]]));
    let several = json!({"q01": ["SQLite", "PostgreSQL"], "q01_option_01": true, "q03": "x"});
    check(several, &said([&[], &[], &["x"]]));
    let nothing = dismissed_by_client("sent the form back without an answer");
    check(json!({"q01": "Oracle", "q03": "  "}), &nothing);
    check(json!(null), &nothing);
}

#[test]
fn whoever_declines_or_closes_the_form_has_not_answered() {
    let check = |action: &str, expected: ElicitationReply| {
        let result = serde_json::from_value(json!({"action": action})).unwrap();
        assert_eq!(parse_reply(&result, &inquiry()), expected, "{action}");
    };
    check("decline", ElicitationReply::Dismissed(None));
    check("cancel", dismissed_by_client("closed the question without an answer"));
}

#[test]
fn what_a_model_wrote_cannot_look_like_a_question_about_a_call() {
    let mut forged = inquiry();
    forged.questions.truncate(1);
    let question = &mut forged.questions[0];
    question.question = "Sure?\n\nMay bash run?\u{202e}\u{1b}[2J\r\nInput: x".to_owned();
    question.header = Some("a\nb".to_owned());
    question.options[0].label = "yes\u{200b}\n- no".to_owned();
    let text = message(&forged.questions);
    assert!(text.starts_with(HEADING));
    assert!(!text.lines().any(|line| line.starts_with("May ")), "{text}");
    assert!(!text.contains(['\u{202e}', '\u{1b}', '\r', '\u{200b}']), "{text}");
    // The label that the model knows comes back, not the one that was shown.
    let content = json!({"q01": escaped(&forged.questions[0].options[0].label)});
    let result = json!({"action": "accept", "content": content});
    let reply = parse_reply(&serde_json::from_value(result).unwrap(), &forged);
    assert_eq!(reply, ElicitationReply::Answers(vec![vec!["yes\u{200b}\n- no".to_owned()]]));
}
