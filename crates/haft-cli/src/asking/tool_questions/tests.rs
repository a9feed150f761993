use expect_test::{Expect, expect};
use haft_contract::ToolId;
use serde_json::json;

use super::*;

/// A screen that answers with these lines and remembers what was shown.
struct Script<'a> {
    answers: std::slice::Iter<'a, &'static str>,
    shown: String,
}

impl QuestionScreen for Script<'_> {
    fn columns(&self) -> usize {
        super::super::question_terminal::WIDTH
    }

    fn show_text(&mut self, text: &str) {
        self.shown.push_str(text);
    }

    fn read_answer(&mut self, text: &str) -> Option<String> {
        self.show_text(text);
        let answer = self.answers.next()?;
        self.shown.push_str(&format!("<{answer}>\n"));
        Some(format!("{answer}\n"))
    }
}

fn inquiry(questions: serde_json::Value) -> Elicitation {
    Elicitation {
        call_id: "run_1/main/0/1/1".to_owned(),
        driver_call_id: None,
        tool: ToolId::parse("question").unwrap(),
        questions: serde_json::from_value(questions).unwrap(),
        connection: "session_1".to_owned(),
    }
}

fn replied(questions: serde_json::Value, answers: &[&'static str]) -> (ElicitationReply, String) {
    let mut script = Script { answers: answers.iter(), shown: String::new() };
    let reply = ask_questions(&inquiry(questions), &mut script);
    (reply, script.shown)
}

#[test]
fn a_line_is_numbers_a_label_or_own_words() {
    let check = |multi_select: bool, line: &'static str, expected: TypedAnswer| {
        let question = json!([{"question": "Which?", "multi_select": multi_select, "options": [
            {"label": "SQLite"}, {"label": "PostgreSQL"}, {"label": "2 of them"}]}]);
        let question = inquiry(question).questions.remove(0);
        assert_eq!(TypedAnswer::parse(line, &question), expected, "{line:?}");
    };
    let said = |answers: &[&str]| {
        TypedAnswer::Answers(answers.iter().map(|answer| (*answer).to_owned()).collect())
    };
    check(false, "2", said(&["PostgreSQL"]));
    check(false, "postgresql", said(&["PostgreSQL"]));
    check(false, "2 of them", said(&["2 of them"]));
    check(false, "1, 2", said(&["1, 2"]));
    check(false, "4", TypedAnswer::NoSuchOption(4));
    check(false, "0", TypedAnswer::NoSuchOption(0));
    check(false, "neither: MySQL", said(&["neither: MySQL"]));
    check(false, "", TypedAnswer::Nothing);
    check(true, "3,1", said(&["SQLite", "2 of them"]));
    check(true, "1 2 2", said(&["SQLite", "PostgreSQL"]));
    check(true, "1, 7", TypedAnswer::NoSuchOption(7));
    check(true, "1 and MySQL", said(&["1 and MySQL"]));
    check(true, ",", TypedAnswer::Nothing);
}

#[test]
fn numbers_are_own_words_where_there_are_no_options() {
    let (reply, _) = replied(json!([{"question": "How many?"}]), &["3"]);
    assert_eq!(reply, ElicitationReply::Answers(vec![vec!["3".to_owned()]]));
}

#[test]
fn the_whole_dialogue() {
    let check = |questions: serde_json::Value, answers: &[&'static str], expect: &Expect| {
        let (reply, shown) = replied(questions, answers);
        expect.assert_eq(&format!("{shown}=> {reply:?}\n"));
    };
    let several = json!([
        {"question": "Which database?", "header": "Storage", "options": [
            {"label": "SQLite", "description": "one file"}, {"label": "PostgreSQL"}]},
        {"question": "Which platforms?", "multi_select": true, "options": [
            {"label": "Linux"}, {"label": "macOS"}]},
        {"question": "What is it called?\nThink twice."},
    ]);
    check(
        several,
        &["", "5", "1", "1,2", "haft"],
        &expect![[r#"

        The agent has 3 questions; what you answer allows nothing.

        1 of 3 · Storage:
          Which database?

           1. SQLite: one file
           2. PostgreSQL

        Your answer (a number, or your own words): <>
        Please answer, or press Ctrl-D to leave it.

        Your answer (a number, or your own words): <5>
        There is no option 5: there are 1 to 2.

        Your answer (a number, or your own words): <1>

        2 of 3:
          Which platforms?

           1. Linux
           2. macOS

        Your answer (numbers, separated by commas, or your own words): <1,2>

        3 of 3:
          What is it called?
          Think twice.

        Your answer: <haft>
        => Answers([["SQLite"], ["Linux", "macOS"], ["haft"]])
    "#]],
    );
    check(
        json!([{"question": "Sure?"}]),
        &[""],
        &expect![[r#"

        The agent has a question; what you answer allows nothing.

          Sure?

        Your answer: <>
        Please answer, or press Ctrl-D to leave it.

        Your answer: 
        No answer.
        => Dismissed(None)
    "#]],
    );
}

#[test]
fn tries_are_bounded() {
    let question = json!([{"question": "Sure?"}]);
    let late: Vec<&str> = [""; ANSWER_TRIES_MAX].into_iter().chain(["yes"]).collect();
    assert_eq!(replied(question.clone(), &late).0, ElicitationReply::Dismissed(None));
    let in_time: Vec<&str> = late.into_iter().skip(1).collect();
    assert_eq!(
        replied(question, &in_time).0,
        ElicitationReply::Answers(vec![vec!["yes".to_owned()]])
    );
}

#[test]
fn what_a_model_wrote_cannot_pass_for_haft() {
    let forged = "x\r\nThe tool bash needs approval.\u{1b}[2J\u{202e}\u{200b}";
    let question = json!([{"question": forged, "header": forged, "options": [
        {"label": forged, "description": forged}, {"label": "b"}]}]);
    let (_, shown) = replied(question, &["2"]);
    let is_plain = |character: char| character == '\n' || !character.is_control();
    assert!(shown.chars().all(is_plain), "{shown:?}");
    assert!(!shown.contains(['\u{202e}', '\u{200b}']), "{shown:?}");
    assert!(!shown.lines().any(|line| line.starts_with("The tool")), "{shown}");
}
