//! A question of the pipeline as a request for permission, and what the editor's answer means. «Always» is offered only
//! where every rule that it writes is shown whole; nothing that comes back allows a call but an option that was offered.

use agent_client_protocol::v1::schema::{
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, ToolCallStatus,
    ToolCallUpdate, ToolCallUpdateFields,
};
use haft::{Answer, Ask};
use haft_contract::{clean, cut};

use crate::limits::{ASKED_LINE_CHARS_MAX, ASKED_LINES_MAX};
use crate::shown::{fenced, text_content};
use crate::updates::Shown;

const ALLOW_ONCE: &str = "allow_once";
const ALLOW_ALWAYS: &str = "allow_always";
const REJECT_ONCE: &str = "reject_once";
const REJECT_ALWAYS: &str = "reject_always";

/// Returns what may be chosen.
pub(crate) fn options(ask: &Ask) -> Vec<PermissionOption> {
    let once = [
        PermissionOption::new(ALLOW_ONCE, "Allow once", PermissionOptionKind::AllowOnce),
        PermissionOption::new(REJECT_ONCE, "Reject once", PermissionOptionKind::RejectOnce),
    ];
    if !offers_always(ask) {
        return once.into();
    }
    let [allow, reject] = once;
    let allow_always = PermissionOption::new(
        ALLOW_ALWAYS,
        "Always allow until haft ends",
        PermissionOptionKind::AllowAlways,
    );
    let reject_always = PermissionOption::new(
        REJECT_ALWAYS,
        "Always reject until haft ends",
        PermissionOptionKind::RejectAlways,
    );
    vec![allow, allow_always, reject, reject_always]
}

/// Returns the call as the question shows it: what it changes, what it would touch and why somebody is asked.
pub(crate) fn call(id: &str, ask: &Ask, shown: Shown) -> ToolCallUpdate {
    let mut content = shown.changes;
    content.push(text_content(reasons(ask)));
    let fields = ToolCallUpdateFields::new()
        .title(shown.title)
        .kind(shown.kind)
        .status(ToolCallStatus::Pending)
        .content(content);
    ToolCallUpdate::new(id.to_owned(), fields)
}

/// Returns what an answer means.
pub(crate) fn answer(ask: &Ask, outcome: &RequestPermissionOutcome) -> Answer {
    let RequestPermissionOutcome::Selected(selected) = outcome else { return Answer::Reject };
    match &*selected.option_id.0 {
        ALLOW_ONCE => Answer::Once,
        ALLOW_ALWAYS if offers_always(ask) => Answer::AlwaysSession,
        REJECT_ALWAYS if offers_always(ask) => Answer::RejectSession,
        _ => Answer::Reject,
    }
}

fn offers_always(ask: &Ask) -> bool {
    let is_whole =
        |rule: String| rule.chars().count() <= ASKED_LINE_CHARS_MAX && clean(&rule) == rule;
    (1..=ASKED_LINES_MAX).contains(&ask.always.len())
        && ask.always.iter().all(|rule| is_whole(rule.to_string()))
}

fn reasons(ask: &Ask) -> String {
    let mut text = format!("May {} run?", ask.tool);
    list(&mut text, "It would touch", &ask.accesses);
    list(&mut text, "You are asked because", &ask.reasons);
    if offers_always(ask) {
        let rules: Vec<String> = ask.always.iter().map(ToString::to_string).collect();
        list(
            &mut text,
            "«Always allow» adds these rules, «always reject» the same with deny",
            &rules,
        );
    }
    text
}

/// What somebody else wrote stands between fences, one line each.
fn list(text: &mut String, heading: &str, lines: &[String]) {
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
    use haft_policy::{Action, Rule};

    use super::*;

    fn ask(always: usize) -> Ask {
        Ask {
            call_id: "ses_1/main/0/1/1".to_owned(),
            driver_call_id: Some("c1".to_owned()),
            tool: ToolId::parse("bash").unwrap(),
            input: "{}".to_owned(),
            accesses: vec!["shell.run of \"rm\n```\"".to_owned()],
            reasons: vec!["no rule matches".to_owned()],
            always: vec![Rule::new("bash", "rm *", Action::Allow); always],
            session: "s".to_owned(),
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
        .assert_eq(&reasons(&ask(1)));
    }

    #[test]
    fn only_what_was_offered_counts() {
        let check = |always: usize, chosen: &str, expect: Answer| {
            let outcome = RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(
                chosen.to_owned(),
            ));
            assert_eq!(answer(&ask(always), &outcome), expect, "{always} {chosen}");
        };
        check(1, ALLOW_ONCE, Answer::Once);
        check(1, ALLOW_ALWAYS, Answer::AlwaysSession);
        check(1, REJECT_ONCE, Answer::Reject);
        check(1, REJECT_ALWAYS, Answer::RejectSession);
        check(1, "yes", Answer::Reject);
        check(0, ALLOW_ALWAYS, Answer::Reject);
        check(ASKED_LINES_MAX, ALLOW_ALWAYS, Answer::AlwaysSession);
        check(ASKED_LINES_MAX + 1, ALLOW_ALWAYS, Answer::Reject);
        assert_eq!(answer(&ask(1), &RequestPermissionOutcome::Cancelled), Answer::Reject);
        assert_eq!((options(&ask(1)).len(), options(&ask(0)).len()), (4, 2));
    }

    #[test]
    fn lines_are_bounded() {
        let lines = |count: usize| Ask { accesses: vec!["a".to_owned(); count], ..ask(0) };
        assert!(!reasons(&lines(ASKED_LINES_MAX)).contains("not shown"));
        assert!(reasons(&lines(ASKED_LINES_MAX + 1)).contains("and 1 more, not shown"));
        let long = |chars: usize| Ask { reasons: vec!["x".repeat(chars)], ..ask(0) };
        assert!(!reasons(&long(ASKED_LINE_CHARS_MAX)).contains('…'));
        assert!(reasons(&long(ASKED_LINE_CHARS_MAX + 1)).contains('…'));
    }
}
