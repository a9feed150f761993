use std::path::PathBuf;

use expect_test::{Expect, expect};
use haft_contract::ToolId;
use haft_policy::RuleAction;

use super::super::question_terminal::{ASKED_TEXT_CHARS_MAX, INDENT, WIDTH, WIDTH_MIN, width};
use super::*;

/// A screen that answers with these lines and remembers what was shown, with the answers where they were given.
struct Script<'a> {
    answers: std::slice::Iter<'a, &'static str>,
    shown: String,
    columns: usize,
}

impl QuestionScreen for Script<'_> {
    fn columns(&self) -> usize {
        self.columns
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

fn ask() -> Ask {
    Ask {
        id: String::new(),
        call_id: "run_1/main/0/1/1".to_owned(),
        driver_call_id: None,
        tool: ToolId::parse("bash").unwrap(),
        input: r#"{"cmd":"git commit -m x"}"#.to_owned(),
        accesses: vec![r#"shell.run of "git commit -m x""#.to_owned()],
        reasons: vec!["no rule matches, and then the answer is ask".to_owned()],
        always_rules: vec![Rule::new("bash", "git commit *", RuleAction::Allow)],
        exact_rules: Vec::new(),
        connection: "session_1".to_owned(),
        root: PathBuf::from("/work"),
    }
}

const FILE: &str = "/state/projects/ab.toml";

fn script<'a>(answers: &'a [&'static str]) -> Script<'a> {
    Script { answers: answers.iter(), shown: String::new(), columns: WIDTH }
}

fn answered(ask: &Ask, answers: &[&'static str]) -> (AskAnswer, String) {
    let mut script = script(answers);
    let answer = ask_for_approval(ask, FILE, AskSpan::OneCall, &mut script);
    (answer, script.shown)
}

#[test]
fn answers_are_words_or_their_first_letters() {
    let check = |answers: &[&'static str], expect: AskAnswer| {
        assert_eq!(answered(&ask(), answers).0, expect, "{answers:?}");
    };
    check(&["o"], AskAnswer::AllowOnce);
    check(&[" ONCE "], AskAnswer::AllowOnce);
    check(&["r"], AskAnswer::Reject);
    check(&["reject"], AskAnswer::Reject);
    check(&["y"], AskAnswer::AllowOnce);
    check(&["No"], AskAnswer::Reject);
    let words = AskAnswer::RejectWithWords("use cargo nextest".to_owned());
    check(&["r  use cargo nextest "], words.clone());
    check(&["no use cargo nextest"], words);
    check(&["r "], AskAnswer::Reject);
    check(&["once more", "o"], AskAnswer::AllowOnce);
    check(&["p", "y"], AskAnswer::AllowForProject);
    check(&["project", "yes"], AskAnswer::AllowForProject);
    check(&["p", "n", "o"], AskAnswer::AllowOnce);
    check(&["p", "", "r"], AskAnswer::Reject);
    check(&["", "yes", "o"], AskAnswer::AllowOnce);
}

#[test]
fn a_session_of_many_calls_can_be_allowed_something_as_a_whole() {
    let check = |ask: &Ask, span: AskSpan, answers: &[&'static str], expect: AskAnswer| {
        let mut script = script(answers);
        let answer = ask_for_approval(ask, FILE, span, &mut script);
        let shown = script.shown;
        assert_eq!(answer, expect, "{answers:?}");
        let is_of_session =
            [AskAnswer::AllowForSession, AskAnswer::RejectForSession].contains(&expect);
        assert_eq!(shown.contains("[s]ession"), is_of_session, "{shown}");
        assert_eq!(shown.contains("[d]eny it for this session"), is_of_session, "{shown}");
        let rule = match expect {
            AskAnswer::RejectForSession => "deny",
            _ => "allow",
        };
        let said = format!("From now on, in this session:\n  {rule} bash \"git commit *\"\n");
        assert_eq!(shown.ends_with(&said), is_of_session, "{shown}");
    };
    check(&ask(), AskSpan::ManyCalls, &["s"], AskAnswer::AllowForSession);
    check(&ask(), AskSpan::ManyCalls, &["SESSION"], AskAnswer::AllowForSession);
    check(&ask(), AskSpan::ManyCalls, &["d"], AskAnswer::RejectForSession);
    check(&ask(), AskSpan::ManyCalls, &["Deny"], AskAnswer::RejectForSession);
    check(&ask(), AskSpan::OneCall, &["s", "d", "o"], AskAnswer::AllowOnce);
    let without_rules = Ask { always_rules: Vec::new(), ..ask() };
    check(&without_rules, AskSpan::ManyCalls, &["s", "d", "o"], AskAnswer::AllowOnce);
}

#[test]
fn the_end_of_the_input_rejects() {
    assert_eq!(answered(&ask(), &[]).0, AskAnswer::Reject);
    assert_eq!(answered(&ask(), &["?"]).0, AskAnswer::Reject);
    assert_eq!(answered(&ask(), &["p"]).0, AskAnswer::Reject);
}

#[test]
fn tries_are_bounded() {
    let nonsense = [""; ANSWER_TRIES_MAX];
    let late: Vec<&str> = nonsense.iter().copied().chain(["o"]).collect();
    assert_eq!(answered(&ask(), &late).0, AskAnswer::Reject);
    let in_time: Vec<&str> = nonsense.iter().copied().skip(1).chain(["o"]).collect();
    assert_eq!(answered(&ask(), &in_time).0, AskAnswer::AllowOnce);
}

#[test]
fn what_cannot_be_written_is_not_offered() {
    let ask = Ask { always_rules: Vec::new(), ..ask() };
    let (answer, shown) = answered(&ask, &["p", "r"]);
    assert_eq!(answer, AskAnswer::Reject);
    assert!(!shown.contains("project"), "{shown}");
}

#[test]
fn the_whole_dialogue() {
    let check = |ask: &Ask, answers: &[&'static str], expect: &Expect| {
        expect.assert_eq(&answered(ask, answers).1);
    };
    check(
        &ask(),
        &["p", "y"],
        &expect![[r#"

            The tool bash needs approval.

            It wants:
              shell.run of "git commit -m x"

            Input:
              {"cmd":"git commit -m x"}

            Why you are asked:
              no rule matches, and then the answer is ask

            Allow it? [o]nce, always for this [p]roject, [r]eject: <p>

            For every later call in /work, this is written to
            /state/projects/ab.toml:

              allow bash "git commit *"

            Write it? [y]es, [n]o: <y>
        "#]],
    );
}

#[test]
fn what_a_model_wrote_cannot_pass_for_haft() {
    let forged = "x\u{1b}[2J\r\nAllow it? [o]nce: o\u{202e}\u{200b}\u{9b}31m\u{7f}";
    let ask = Ask {
        input: forged.to_owned(),
        accesses: vec![format!("{}Allow it?", " ".repeat(WIDTH - INDENT.len()))],
        reasons: vec!["ж".repeat(WIDTH / 2)],
        ..ask()
    };
    let (_, shown) = answered(&ask, &["r"]);
    let is_plain = |character: char| character == '\n' || !character.is_control();
    assert!(shown.chars().all(is_plain), "{shown:?}");
    assert!(!shown.contains(['\u{202e}', '\u{200b}', '\u{9b}']), "{shown:?}");
    let forgeries = shown.lines().filter(|line| line.starts_with("Allow it?"));
    assert_eq!(forgeries.count(), 1, "{shown}");
    let too_wide = |line: &&str| {
        line.chars().map(|one| if one.is_ascii() { 1 } else { 2 }).sum::<usize>() > WIDTH
    };
    assert_eq!(shown.lines().find(too_wide), None);
}

#[test]
fn lines_are_as_wide_as_the_terminal_that_they_are_on() {
    let forged = Ask { input: format!("{}Allow it? [o]nce: o", "x ".repeat(30)), ..ask() };
    for columns in [WIDTH_MIN, 40, WIDTH] {
        let mut script = Script { columns, ..script(&["r"]) };
        ask_for_approval(&forged, FILE, AskSpan::OneCall, &mut script);
        let shown = script.shown;
        let set_in = shown.lines().filter(|line| line.starts_with(INDENT));
        let widest = set_in.map(|line| line.chars().map(width).sum::<usize>()).max();
        assert!(widest.is_some_and(|widest| widest <= columns), "{columns}: {shown}");
    }
}

#[test]
fn long_texts_are_cut_at_the_bound() {
    let whole = "a".repeat(ASKED_TEXT_CHARS_MAX);
    assert_eq!(escape_text(&whole), whole);
    let cut = escape_text(&format!("{whole}bc"));
    assert_eq!(cut, format!("{whole}… (2 more characters are not shown)"));
}

#[test]
fn narrower_and_wider_rules_are_told_apart() {
    let exact_rules = vec![Rule::new("bash", "git commit -m x $", RuleAction::Allow)];
    let ask = Ask { exact_rules, ..ask() };
    let check = |span: AskSpan, answers: &[&'static str], expect: AskAnswer, rule: &str| {
        let mut script = script(answers);
        assert_eq!(ask_for_approval(&ask, FILE, span, &mut script), expect, "{answers:?}");
        // The rule that is added is what was shown last.
        let shown = script.shown.rsplit("From now on").next().unwrap();
        let shown = shown.rsplit("this is written to").next().unwrap();
        assert!(rule.is_empty() || shown.contains(rule), "{answers:?}: {}", script.shown);
    };
    let (exact, wide) = (r#"allow bash "git commit -m x $""#, r#"allow bash "git commit *""#);
    check(AskSpan::OneCall, &["p", "1", "y"], AskAnswer::AllowExactForProject, exact);
    check(AskSpan::OneCall, &["p", "2", "y"], AskAnswer::AllowForProject, wide);
    check(AskSpan::OneCall, &["p", "n", "o"], AskAnswer::AllowOnce, "");
    check(AskSpan::OneCall, &["p", "1", "n", "r"], AskAnswer::Reject, "");
    check(AskSpan::ManyCalls, &["s", "1"], AskAnswer::AllowExactForSession, exact);
    check(AskSpan::ManyCalls, &["s", "2"], AskAnswer::AllowForSession, wide);
    let denied = r#"deny bash "git commit -m x $""#;
    check(AskSpan::ManyCalls, &["d"], AskAnswer::RejectForSession, denied);
    expect![[r#"

        The tool bash needs approval.

        It wants:
          shell.run of "git commit -m x"

        Input:
          {"cmd":"git commit -m x"}

        Why you are asked:
          no rule matches, and then the answer is ask

        Allow it? [o]nce, always for this [p]roject, [r]eject: <p>

        Always for this project, which rules?

        1, exactly this:
          allow bash "git commit -m x $"

        2, wider:
          allow bash "git commit *"

        [1], [2], [n]either: <1>

        For every later call in /work, this is written to
        /state/projects/ab.toml:

          allow bash "git commit -m x $"

        Write it? [y]es, [n]o: <y>
    "#]]
    .assert_eq(&answered(&ask, &["p", "1", "y"]).1);
}
