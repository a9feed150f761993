use std::path::PathBuf;

use expect_test::{Expect, expect};
use haft_contract::ToolId;
use haft_policy::{Rule, RuleAction};
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn ask() -> Ask {
    Ask {
        id: String::new(),
        call_id: "run/main/0/1/1".to_owned(),
        driver_call_id: None,
        tool: ToolId::parse("bash").unwrap(),
        input: r#"{"cmd":"git push origin"}"#.to_owned(),
        accesses: vec![r#"shell.run of "git push origin""#.to_owned()],
        reasons: vec!["no rule matches".to_owned(), "the watchdog asks: it leaves".to_owned()],
        always_rules: vec![Rule::new("bash", "git push *", RuleAction::Allow)],
        exact_rules: Vec::new(),
        connection: "session".to_owned(),
        root: PathBuf::from("/project"),
    }
}

fn result(value: serde_json::Value) -> ElicitResult {
    serde_json::from_value(value).unwrap()
}

fn check(ask: &Ask, expect: &Expect) {
    expect.assert_eq(&message(ask));
}

#[test]
fn a_question_says_what_would_happen_and_why_it_is_asked() {
    check(
        &ask(),
        &expect![[r#"
        May bash run?

        Input: {"cmd":"git push origin"}

        It would touch:
        - shell.run of "git push origin"

        You are asked because:
        - no rule matches
        - the watchdog asks: it leaves

        "Always" adds the permission rules:
        - allow bash "git push *""#]],
    );
}

#[test]
fn a_question_without_a_rule_that_helps_offers_none() {
    let ask = Ask { always_rules: Vec::new(), accesses: Vec::new(), ..ask() };
    check(
        &ask,
        &expect![[r#"
        May bash run?

        Input: {"cmd":"git push origin"}

        You are asked because:
        - no rule matches
        - the watchdog asks: it leaves"#]],
    );
    assert_eq!(offered_decisions(&ask), THIS_CALL_ONLY);
}

#[test]
fn what_a_model_wrote_cannot_look_like_the_question() {
    let ask = Ask {
        input: "{\"cmd\":\"a\u{202e}b\u{200b}c\"}".to_owned(),
        accesses: vec![
            "fs.write of \"a\"\n\nYou are asked because:\n- all is well\u{1b}[2K".to_owned(),
        ],
        always_rules: vec![Rule::new("bash", "a\u{2066}b", RuleAction::Allow)],
        ..ask()
    };
    check(
        &ask,
        &expect![[r#"
        May bash run?

        Input: {"cmd":"a\u{202e}b\u{200b}c"}

        It would touch:
        - fs.write of "a"\u{a}\u{a}You are asked because:\u{a}- all is well\u{1b}[2K

        You are asked because:
        - no rule matches
        - the watchdog asks: it leaves

        "Always" adds the permission rules:
        - allow bash "a\u{2066}b""#]],
    );
}

#[test]
fn long_lists_and_lines_are_cut_and_say_so() {
    let line = "x".repeat(QUESTION_LINE_CHARS_MAX);
    let longer = format!("{line}yz");
    assert_eq!(bounded_line(&line), line);
    assert_eq!(bounded_line(&longer), format!("{line} … and 2 more characters"));

    let lines = |count: usize| Ask { accesses: vec!["a".to_owned(); count], ..ask() };
    let last =
        |ask: &Ask| message(ask).split("\n\n").nth(2).unwrap().lines().last().unwrap().to_owned();
    assert_eq!(last(&lines(QUESTION_LINES_MAX)), "- a");
    assert_eq!(last(&lines(QUESTION_LINES_MAX + 1)), "- and 1 more, not shown");
}

#[test]
fn always_is_offered_only_for_rules_that_are_shown_whole() {
    let with = |always: Vec<Rule>| offered_decisions(&Ask { always_rules: always, ..ask() });
    let rule = |chars: usize| Rule::new("bash", "x".repeat(chars), RuleAction::Allow);
    let around = rule(0).to_string().chars().count();
    assert_eq!(with(vec![rule(1); QUESTION_LINES_MAX]), ALL_DECISIONS);
    assert_eq!(with(vec![rule(1); QUESTION_LINES_MAX + 1]), THIS_CALL_ONLY);
    assert_eq!(with(vec![rule(QUESTION_LINE_CHARS_MAX - around)]), ALL_DECISIONS);
    assert_eq!(with(vec![rule(QUESTION_LINE_CHARS_MAX - around + 1)]), THIS_CALL_ONLY);
}

#[test]
fn every_offered_decision_is_understood() {
    for titles in [EnumTitleStyle::OneOf, EnumTitleStyle::EnumNames] {
        let form = serde_json::to_value(form(&ask(), titles)).unwrap();
        let field = &form["requestedSchema"]["properties"][DECISION];
        let values: Vec<&str> = match titles {
            EnumTitleStyle::OneOf => {
                let choices = field["oneOf"].as_array().unwrap();
                choices.iter().map(|choice| choice["const"].as_str().unwrap()).collect()
            }
            EnumTitleStyle::EnumNames => {
                let choices = field["enum"].as_array().unwrap();
                choices.iter().map(|choice| choice.as_str().unwrap()).collect()
            }
        };
        let answers = values.iter().map(|value| {
            let content = json!({"action": "accept", "content": {DECISION: value}});
            parse_answer(&result(content), &ask())
        });
        let expected = [
            AskAnswer::AllowOnce,
            AskAnswer::AllowForSession,
            AskAnswer::AllowForProject,
            AskAnswer::Reject,
        ];
        assert_eq!(
            answers.collect::<Vec<_>>(),
            expected.map(|answer| ApprovalFormAnswer { answer, note: None })
        );
    }
}

#[test]
fn an_always_that_was_not_offered_allows_nothing() {
    let ask = Ask { always_rules: Vec::new(), ..ask() };
    let content = json!({"action": "accept", "content": {DECISION: "always_session"}});
    assert_eq!(parse_answer(&result(content), &ask).answer, AskAnswer::Reject);
}

proptest! {
    #[test]
    fn nothing_but_an_offered_decision_allows(action in "accept|decline|cancel", value in ".{0,20}") {
        let content = json!({"action": action, "content": {DECISION: value}});
        prop_assert_eq!(parse_answer(&result(content), &ask()).answer, AskAnswer::Reject);
    }

    #[test]
    fn no_text_adds_a_line(text in any::<String>()) {
        let lines = |ask: &Ask| message(ask).split(|letter: char| letter.is_control()).count();
        let plain = Ask { input: "x".to_owned(), reasons: vec!["x".to_owned()], ..ask() };
        let other = Ask { input: text.clone(), reasons: vec![text], ..ask() };
        prop_assert_eq!(lines(&other), lines(&plain));
    }
}

#[test]
fn narrower_and_wider_rules_are_offered_and_shown() {
    let exact = vec![Rule::new("bash", "git push origin $", RuleAction::Allow)];
    let ask = Ask { exact_rules: exact, ..ask() };
    let values: Vec<&str> = offered_decisions(&ask).iter().map(|it| it.value).collect();
    let expect =
        ["once", "exact_session", "always_session", "exact_project", "always_project", "reject"];
    assert_eq!(values, expect);
    let text = message(&ask);
    assert!(
        text.contains(
            "\"Exactly this\" adds the permission rules:\n- allow bash \"git push origin $\""
        ),
        "{text}"
    );
    assert!(text.contains("\"The wider rules\" are:\n- allow bash \"git push *\""), "{text}");
    let chosen =
        result(serde_json::json!({"action": "accept", "content": {DECISION: "exact_project"}}));
    assert_eq!(parse_answer(&chosen, &ask).answer, AskAnswer::AllowExactForProject);
    // A rule that is not shown whole is not offered.
    let long =
        Ask { exact_rules: vec![Rule::new("bash", "x".repeat(9_999), RuleAction::Allow)], ..ask };
    assert_eq!(offered_decisions(&long), THIS_CALL_ONLY);
}

#[test]
fn words_reach_the_model_only_with_a_rejection() {
    let check = |decision: &str, words: &str, expect: AskAnswer| {
        let content = json!({"action": "accept", "content": {DECISION: decision, WORDS: words}});
        assert_eq!(parse_answer(&result(content), &ask()).answer, expect, "{decision} {words:?}");
    };
    let with_words = || AskAnswer::RejectWithWords("use nextest".to_owned());
    check("reject", " use nextest\n", with_words());
    check("reject", "  ", AskAnswer::Reject);
    check("once", "use nextest", AskAnswer::AllowOnce);
}

#[test]
fn a_page_is_named_without_the_rules_of_always() {
    let shown = serde_json::to_value(page(&ask(), "http://127.0.0.1:9/asks/ask_1")).unwrap();
    assert_eq!(shown["mode"], "url");
    assert_eq!(shown["url"], "http://127.0.0.1:9/asks/ask_1");
    let message = shown["message"].as_str().unwrap();
    assert!(message.contains("It would touch:") && !message.contains("Always"), "{message}");
    assert!(message.ends_with("Open the page to see all of it, and to answer."), "{message}");
}
