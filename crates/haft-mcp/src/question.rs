//! A question of the pipeline as a form for a person behind an MCP client, and what the form said when it came back. What
//! a model wrote is quoted so that it can look like nothing but itself: no line ends, no letters that hide or turn others
//! around. Nothing that comes back allows a call but a decision that the form offered.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use haft::{Answer, Ask};
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
pub(crate) enum Titles {
    /// As `oneOf`, since 2025-11-25.
    OneOf,
    /// As `enumNames`, before.
    EnumNames,
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Heard {
    pub(crate) answer: Answer,
    /// Why the answer is no, where no person said so.
    pub(crate) note: Option<String>,
}

/// What a person may choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decision {
    Once,
    AlwaysSession,
    AlwaysProject,
    Reject,
}

const ALL: &[Decision] =
    &[Decision::Once, Decision::AlwaysSession, Decision::AlwaysProject, Decision::Reject];
const THIS_CALL_ONLY: &[Decision] = &[Decision::Once, Decision::Reject];

impl Decision {
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

    fn answer(self) -> Answer {
        match self {
            Self::Once => Answer::Once,
            Self::AlwaysSession => Answer::AlwaysSession,
            Self::AlwaysProject => Answer::AlwaysProject,
            Self::Reject => Answer::Reject,
        }
    }
}

/// Returns the form that puts the question.
pub(crate) fn form(ask: &Ask, titles: Titles) -> ElicitRequestParams {
    let decision = PrimitiveSchemaDefinition::Enum(choices(offered(ask), titles));
    let schema = ElicitationSchema::new(BTreeMap::from([(DECISION.to_owned(), decision)]))
        .with_required(vec![DECISION.to_owned()]);
    ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: message(ask),
        requested_schema: schema,
    }
}

/// Returns what a client's answer to the question `ask` means.
pub(crate) fn heard(result: &ElicitResult, ask: &Ask) -> Heard {
    let chosen = || {
        let value = result.content.as_ref()?.get(DECISION)?.as_str()?;
        offered(ask).iter().find(|decision| decision.value() == value)
    };
    match &result.action {
        ElicitationAction::Accept => match chosen() {
            Some(decision) => Heard { answer: decision.answer(), note: None },
            None => rejected(&format!("gave none of the offered answers ({})", values(ask))),
        },
        ElicitationAction::Decline => Heard { answer: Answer::Reject, note: None },
        ElicitationAction::Cancel => rejected("closed the question without an answer"),
        _ => rejected("answered the question in a way that is not known here"),
    }
}

/// Returns a no that is not a person's. `what` says what the client did.
pub(crate) fn rejected(what: &str) -> Heard {
    let note = format!("the client {}; that counts as a rejection", shown(what));
    Heard { answer: Answer::Reject, note: Some(note) }
}

/// «Always» is offered only where every rule that it writes is shown whole.
fn offered(ask: &Ask) -> &'static [Decision] {
    let is_whole = |rule: String| escaped(&rule).chars().count() <= QUESTION_LINE_CHARS_MAX;
    let shown_whole = (1..=QUESTION_LINES_MAX).contains(&ask.always.len())
        && ask.always.iter().all(|rule| is_whole(rule.to_string()));
    if shown_whole { ALL } else { THIS_CALL_ONLY }
}

fn values(ask: &Ask) -> String {
    offered(ask).iter().map(|decision| decision.value()).collect::<Vec<_>>().join(", ")
}

fn choices(offered: &[Decision], titles: Titles) -> EnumSchema {
    match titles {
        Titles::OneOf => {
            let choice = |one: &Decision| ConstTitle::new(one.value(), one.title());
            let choices = TitledSingleSelectEnumSchema::new(offered.iter().map(choice).collect());
            EnumSchema::Single(SingleSelectEnumSchema::Titled(choices))
        }
        Titles::EnumNames => {
            let texts = |text: fn(Decision) -> &'static str| {
                offered.iter().map(|one| text(*one).to_owned()).collect()
            };
            let mut choices = LegacyEnumSchema::new(texts(Decision::value));
            choices.enum_names = Some(texts(Decision::title));
            EnumSchema::Legacy(choices)
        }
    }
}

fn message(ask: &Ask) -> String {
    // The input is bounded by the pipeline, and what is left out of it is said there.
    let mut text = format!("May {} run?\n\nInput: {}", ask.tool.as_str(), escaped(&ask.input));
    list(&mut text, "It would touch", &ask.accesses);
    list(&mut text, "You are asked because", &ask.reasons);
    if offered(ask).contains(&Decision::AlwaysSession) {
        let rules: Vec<String> = ask.always.iter().map(ToString::to_string).collect();
        list(&mut text, "\"Always\" adds the permission rules", &rules);
    }
    text
}

fn list(text: &mut String, heading: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    let _ = write!(text, "\n\n{heading}:");
    for line in lines.iter().take(QUESTION_LINES_MAX) {
        let _ = write!(text, "\n- {}", shown(line));
    }
    if let Some(more) = lines.len().checked_sub(QUESTION_LINES_MAX).filter(|more| *more > 0) {
        let _ = write!(text, "\n- and {more} more, not shown");
    }
}

/// One line of what somebody else wrote.
fn shown(line: &str) -> String {
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
