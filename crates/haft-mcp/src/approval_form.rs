//! A question of the pipeline as a form for a person behind an MCP client, and what the form said when it came back. What
//! a model wrote is quoted so that it can look like nothing but itself: no line ends, no letters that hide or turn others
//! around. Nothing that comes back allows a call but a decision that the form offered.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use haft::{Ask, AskAnswer};
use rmcp::model::{
    ConstTitle, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema,
    EnumSchema, LegacyEnumSchema, PrimitiveSchemaDefinition, SingleSelectEnumSchema,
    TitledSingleSelectEnumSchema,
};

use crate::limits::{QUESTION_LINE_CHARS_MAX, QUESTION_LINES_MAX};

/// The only field of the form, and the name of the question where it has one.
pub(crate) const DECISION: &str = "decision";

/// How a form says what its values mean.
#[derive(Clone, Copy, Debug)]
pub(crate) enum EnumTitleStyle {
    /// As `oneOf`, since 2025-11-25.
    OneOf,
    /// As `enumNames`, before.
    EnumNames,
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ApprovalFormAnswer {
    pub(crate) answer: AskAnswer,
    /// Why the answer is no, where no person said so.
    pub(crate) note: Option<String>,
}

/// What a person may choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ApprovalFormDecision {
    Once,
    AlwaysSession,
    AlwaysProject,
    Reject,
}

const ALL_DECISIONS: &[ApprovalFormDecision] = &[
    ApprovalFormDecision::Once,
    ApprovalFormDecision::AlwaysSession,
    ApprovalFormDecision::AlwaysProject,
    ApprovalFormDecision::Reject,
];
const THIS_CALL_ONLY: &[ApprovalFormDecision] =
    &[ApprovalFormDecision::Once, ApprovalFormDecision::Reject];

impl ApprovalFormDecision {
    fn value(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::AlwaysSession => "always_session",
            Self::AlwaysProject => "always_project",
            Self::Reject => "reject",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Once => "Allow once",
            Self::AlwaysSession => "Always for this session",
            Self::AlwaysProject => "Always for this project",
            Self::Reject => "Reject",
        }
    }

    fn answer(self) -> AskAnswer {
        match self {
            Self::Once => AskAnswer::AllowOnce,
            Self::AlwaysSession => AskAnswer::AllowForSession,
            Self::AlwaysProject => AskAnswer::AllowForProject,
            Self::Reject => AskAnswer::Reject,
        }
    }
}

/// Returns the form that puts the question.
pub(crate) fn form(ask: &Ask, titles: EnumTitleStyle) -> ElicitRequestParams {
    let decision = PrimitiveSchemaDefinition::Enum(choices(offered_decisions(ask), titles));
    let schema = ElicitationSchema::new(BTreeMap::from([(DECISION.to_owned(), decision)]))
        .with_required(vec![DECISION.to_owned()]);
    ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: message(ask),
        requested_schema: schema,
    }
}

/// Returns what a client's answer to the question `ask` means.
pub(crate) fn parse_answer(result: &ElicitResult, ask: &Ask) -> ApprovalFormAnswer {
    let chosen = || {
        let value = result.content.as_ref()?.get(DECISION)?.as_str()?;
        offered_decisions(ask).iter().find(|decision| decision.value() == value)
    };
    match &result.action {
        ElicitationAction::Accept => match chosen() {
            Some(decision) => ApprovalFormAnswer { answer: decision.answer(), note: None },
            None => rejected_by_client(&format!(
                "gave none of the offered answers ({})",
                decision_values(ask)
            )),
        },
        ElicitationAction::Decline => ApprovalFormAnswer { answer: AskAnswer::Reject, note: None },
        ElicitationAction::Cancel => rejected_by_client("closed the question without an answer"),
        _ => rejected_by_client("answered the question in a way that is not known here"),
    }
}

/// Returns a no that is not a person's. `what` says what the client did.
pub(crate) fn rejected_by_client(what: &str) -> ApprovalFormAnswer {
    let note = format!("the client {}; that counts as a rejection", bounded_line(what));
    ApprovalFormAnswer { answer: AskAnswer::Reject, note: Some(note) }
}

/// «Always» is offered only where every rule that it writes is shown whole.
fn offered_decisions(ask: &Ask) -> &'static [ApprovalFormDecision] {
    let is_whole = |rule: String| escaped(&rule).chars().count() <= QUESTION_LINE_CHARS_MAX;
    let shown_whole = (1..=QUESTION_LINES_MAX).contains(&ask.always_rules.len())
        && ask.always_rules.iter().all(|rule| is_whole(rule.to_string()));
    if shown_whole { ALL_DECISIONS } else { THIS_CALL_ONLY }
}

fn decision_values(ask: &Ask) -> String {
    offered_decisions(ask).iter().map(|decision| decision.value()).collect::<Vec<_>>().join(", ")
}

fn choices(offered: &[ApprovalFormDecision], titles: EnumTitleStyle) -> EnumSchema {
    match titles {
        EnumTitleStyle::OneOf => {
            let choice = |one: &ApprovalFormDecision| ConstTitle::new(one.value(), one.title());
            let choices = TitledSingleSelectEnumSchema::new(offered.iter().map(choice).collect());
            EnumSchema::Single(SingleSelectEnumSchema::Titled(choices))
        }
        EnumTitleStyle::EnumNames => {
            let texts = |text: fn(ApprovalFormDecision) -> &'static str| {
                offered.iter().map(|one| text(*one).to_owned()).collect()
            };
            let mut choices = LegacyEnumSchema::new(texts(ApprovalFormDecision::value));
            choices.enum_names = Some(texts(ApprovalFormDecision::title));
            EnumSchema::Legacy(choices)
        }
    }
}

fn message(ask: &Ask) -> String {
    // The input is bounded by the pipeline, and what is left out of it is said there.
    let mut text = format!("May {} run?\n\nInput: {}", ask.tool.as_str(), escaped(&ask.input));
    append_list(&mut text, "It would touch", &ask.accesses);
    append_list(&mut text, "You are asked because", &ask.reasons);
    if offered_decisions(ask).contains(&ApprovalFormDecision::AlwaysSession) {
        let rules: Vec<String> = ask.always_rules.iter().map(ToString::to_string).collect();
        append_list(&mut text, "\"Always\" adds the permission rules", &rules);
    }
    text
}

fn append_list(text: &mut String, heading: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    let _ = write!(text, "\n\n{heading}:");
    for line in lines.iter().take(QUESTION_LINES_MAX) {
        let _ = write!(text, "\n- {}", bounded_line(line));
    }
    if let Some(more) = lines.len().checked_sub(QUESTION_LINES_MAX).filter(|more| *more > 0) {
        let _ = write!(text, "\n- and {more} more, not shown");
    }
}

/// One line of what somebody else wrote.
fn bounded_line(line: &str) -> String {
    let escaped = escaped(line);
    let Some((end, _)) = escaped.char_indices().nth(QUESTION_LINE_CHARS_MAX) else {
        return escaped;
    };
    let rest = escaped.split_at(end).1.chars().count();
    format!("{} … and {rest} more characters", escaped.split_at(end).0)
}

/// Returns a text on one line in which every letter that does not plainly show itself is spelled out.
pub(crate) fn escaped(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut safe, letter| {
        if is_plain(letter) {
            safe.push(letter);
        } else {
            safe.extend(letter.escape_unicode());
        }
        safe
    })
}

/// Whether a letter shows itself and leaves the others where they are. Those that do not: control characters, line and
/// paragraph separators, marks of direction, and those without width.
fn is_plain(letter: char) -> bool {
    !letter.is_control()
        && !matches!(
            letter,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'
                | '\u{1160}'
                | '\u{17b4}'
                | '\u{17b5}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{3164}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

#[cfg(test)]
mod tests;
