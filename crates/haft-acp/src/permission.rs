//! Converts a question of the pipeline to a permission request, and the editor's response to an answer. «Always» is offered only if
//! every rule that it adds is shown completely. Only an offered option can allow a call.

use agent_client_protocol::v1::schema::{
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, ToolCallStatus,
    ToolCallUpdate, ToolCallUpdateFields,
};
use haft::{Ask, AskAnswer};
use haft_contract::{clean, cut};

use crate::call_content::{fenced, text_content};
use crate::limits::{ASKED_LINE_CHARS_MAX, ASKED_LINES_MAX};
use crate::updates::CallDisplay;

/// Longest rule that is a part of an option's name, in characters.
const NAMED_RULE_CHARS_MAX: usize = 64;
const ALLOW_ONCE: &str = "allow_once";
const ALLOW_ALWAYS: &str = "allow_always";
const ALLOW_ALWAYS_EXACT: &str = "allow_always_exact";
const REJECT_ONCE: &str = "reject_once";
const REJECT_ALWAYS: &str = "reject_always";

/// Returns the offered options.
pub(crate) fn options(ask: &Ask) -> Vec<PermissionOption> {
    let once = [
        PermissionOption::new(ALLOW_ONCE, "Allow once", PermissionOptionKind::AllowOnce),
        PermissionOption::new(REJECT_ONCE, "Reject once", PermissionOptionKind::RejectOnce),
    ];
    if !offers_always(ask) {
        return once.into();
    }
    let [allow, reject] = once;
    let always = |id: &'static str, name: String| {
        PermissionOption::new(id, name, PermissionOptionKind::AllowAlways)
    };
    let allow_always: Vec<PermissionOption> = match ask.exact_rules.as_slice() {
        [] => vec![always(ALLOW_ALWAYS, "Always allow until haft ends".to_owned())],
        exact => vec![
            always(ALLOW_ALWAYS_EXACT, always_name("exactly this", &rule_lines(exact))),
            always(ALLOW_ALWAYS, always_name("the wider rules", &rule_lines(&ask.always_rules))),
        ],
    };
    let reject_always = PermissionOption::new(
        REJECT_ALWAYS,
        "Always reject until haft ends",
        PermissionOptionKind::RejectAlways,
    );
    [allow].into_iter().chain(allow_always).chain([reject, reject_always]).collect()
}

/// Returns the name of an option that adds rules. A single short rule is a part of the name.
fn always_name(width: &str, rules: &[String]) -> String {
    match rules {
        [rule] if rule.chars().count() <= NAMED_RULE_CHARS_MAX => {
            format!("Always {rule} until haft ends")
        }
        _ => format!("Always allow {width} until haft ends"),
    }
}

/// Returns rules as they are written.
fn rule_lines<R: ToString>(rules: &[R]) -> Vec<String> {
    rules.iter().map(R::to_string).collect()
}

/// Returns the call as the question shows it: its changes, its accesses and the reasons for asking.
pub(crate) fn call_update(id: &str, ask: &Ask, shown: CallDisplay) -> ToolCallUpdate {
    let mut content = shown.changes;
    content.push(text_content(ask_text(ask)));
    let fields = ToolCallUpdateFields::new()
        .title(shown.title)
        .kind(shown.kind)
        .status(ToolCallStatus::Pending)
        .content(content);
    ToolCallUpdate::new(id.to_owned(), fields)
}

/// Returns the answer of a response.
pub(crate) fn parse_answer(ask: &Ask, outcome: &RequestPermissionOutcome) -> AskAnswer {
    let RequestPermissionOutcome::Selected(selected) = outcome else { return AskAnswer::Reject };
    match &*selected.option_id.0 {
        ALLOW_ONCE => AskAnswer::AllowOnce,
        ALLOW_ALWAYS if offers_always(ask) => AskAnswer::AllowForSession,
        ALLOW_ALWAYS_EXACT if offers_always(ask) && !ask.exact_rules.is_empty() => {
            AskAnswer::AllowExactForSession
        }
        REJECT_ALWAYS if offers_always(ask) => AskAnswer::RejectForSession,
        _ => AskAnswer::Reject,
    }
}

fn offers_always(ask: &Ask) -> bool {
    let is_whole =
        |rule: String| rule.chars().count() <= ASKED_LINE_CHARS_MAX && clean(&rule) == rule;
    (1..=ASKED_LINES_MAX).contains(&ask.always_rules.len())
        && ask.exact_rules.len() <= ASKED_LINES_MAX
        && ask.always_rules.iter().chain(&ask.exact_rules).all(|rule| is_whole(rule.to_string()))
}

fn ask_text(ask: &Ask) -> String {
    let mut text = format!("May {} run?", ask.tool);
    append_list(&mut text, "It would touch", &ask.accesses);
    append_list(&mut text, "You are asked because", &ask.reasons);
    if offers_always(ask) && ask.exact_rules.is_empty() {
        append_list(
            &mut text,
            "«Always allow» adds these rules, «always reject» the same with deny",
            &rule_lines(&ask.always_rules),
        );
    } else if offers_always(ask) {
        append_list(
            &mut text,
            "«Always allow», the narrower, adds these rules, «always reject» the same with deny",
            &rule_lines(&ask.exact_rules),
        );
        append_list(
            &mut text,
            "«Always allow», the wider, adds these rules",
            &rule_lines(&ask.always_rules),
        );
    }
    text
}

/// Appends a list in fences, because others wrote its lines.
fn append_list(text: &mut String, heading: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    let shown = lines.iter().take(ASKED_LINES_MAX).map(|line| {
        let line = clean(line).replace('\n', " ");
        cut(&line, ASKED_LINE_CHARS_MAX)
    });
    let mut shown: Vec<String> = shown.collect();
    if let Some(more) = lines.len().checked_sub(ASKED_LINES_MAX).filter(|more| *more > 0) {
        shown.push(format!("and {more} more, not shown"));
    }
    text.push_str(&format!("\n\n{heading}:\n{}", fenced(&shown.join("\n"))));
}

#[cfg(test)]
mod tests {
    use agent_client_protocol::v1::schema::SelectedPermissionOutcome;
    use expect_test::expect;
    use haft_contract::ToolId;
    use haft_policy::{Rule, RuleAction};

    use super::*;

    fn ask(always: usize) -> Ask {
        Ask {
            id: String::new(),
            call_id: "ses_1/main/0/1/1".to_owned(),
            driver_call_id: Some("c1".to_owned()),
            tool: ToolId::parse("bash").unwrap(),
            input: "{}".to_owned(),
            accesses: vec!["shell.run of \"rm\n```\"".to_owned()],
            reasons: vec!["no rule matches".to_owned()],
            always_rules: vec![Rule::new("bash", "rm *", RuleAction::Allow); always],
            exact_rules: Vec::new(),
            connection: "s".to_owned(),
            root: "/work".into(),
        }
    }

    #[test]
    fn a_question_shows_what_it_is_about() {
        expect![[r#"
            May bash run?

            It would touch:
            ````
            shell.run of "rm ```"
            ````

            You are asked because:
            ```
            no rule matches
            ```

            «Always allow» adds these rules, «always reject» the same with deny:
            ```
            allow bash "rm *"
            ```"#]]
        .assert_eq(&ask_text(&ask(1)));
    }

    #[test]
    fn a_narrower_choice_is_offered_with_its_rule() {
        let exact = vec![Rule::new("bash", "rm a $", RuleAction::Allow)];
        let ask = Ask { exact_rules: exact, ..ask(1) };
        let names: Vec<String> = options(&ask).into_iter().map(|option| option.name).collect();
        assert_eq!(
            names,
            [
                "Allow once",
                "Always allow bash \"rm a $\" until haft ends",
                "Always allow bash \"rm *\" until haft ends",
                "Reject once",
                "Always reject until haft ends",
            ]
        );
        let text = ask_text(&ask);
        assert!(text.contains("the narrower") && text.contains("the wider"), "{text}");
        let chosen = SelectedPermissionOutcome::new(ALLOW_ALWAYS_EXACT.to_owned());
        let outcome = RequestPermissionOutcome::Selected(chosen);
        assert_eq!(parse_answer(&ask, &outcome), AskAnswer::AllowExactForSession);
    }

    #[test]
    fn only_what_was_offered_counts() {
        let check = |always: usize, chosen: &str, expect: AskAnswer| {
            let outcome = RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(
                chosen.to_owned(),
            ));
            assert_eq!(parse_answer(&ask(always), &outcome), expect, "{always} {chosen}");
        };
        check(1, ALLOW_ONCE, AskAnswer::AllowOnce);
        check(1, ALLOW_ALWAYS, AskAnswer::AllowForSession);
        check(1, REJECT_ONCE, AskAnswer::Reject);
        check(1, REJECT_ALWAYS, AskAnswer::RejectForSession);
        check(1, "yes", AskAnswer::Reject);
        check(0, ALLOW_ALWAYS, AskAnswer::Reject);
        check(1, ALLOW_ALWAYS_EXACT, AskAnswer::Reject);
        check(ASKED_LINES_MAX, ALLOW_ALWAYS, AskAnswer::AllowForSession);
        check(ASKED_LINES_MAX + 1, ALLOW_ALWAYS, AskAnswer::Reject);
        assert_eq!(parse_answer(&ask(1), &RequestPermissionOutcome::Cancelled), AskAnswer::Reject);
        assert_eq!((options(&ask(1)).len(), options(&ask(0)).len()), (4, 2));
    }

    #[test]
    fn lines_are_bounded() {
        let lines = |count: usize| Ask { accesses: vec!["a".to_owned(); count], ..ask(0) };
        assert!(!ask_text(&lines(ASKED_LINES_MAX)).contains("not shown"));
        assert!(ask_text(&lines(ASKED_LINES_MAX + 1)).contains("and 1 more, not shown"));
        let long = |chars: usize| Ask { reasons: vec!["x".repeat(chars)], ..ask(0) };
        assert!(!ask_text(&long(ASKED_LINE_CHARS_MAX)).contains('…'));
        assert!(ask_text(&long(ASKED_LINE_CHARS_MAX + 1)).contains('…'));
    }
}
