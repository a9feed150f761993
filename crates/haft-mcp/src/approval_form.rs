//! A question of the pipeline as a form for a person behind an MCP client, and the meaning of the returned form. Text of a
//! model is quoted so that it cannot imitate the form: without line ends, and without characters that hide or reorder
//! others. Only a decision that the form offered allows a call.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use haft::limits::ANSWER_WORDS_CHARS_MAX;
use haft::{Ask, AskAnswer};
use rmcp::model::{
    ConstTitle, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema,
    EnumSchema, LegacyEnumSchema, PrimitiveSchemaDefinition, SingleSelectEnumSchema, StringSchema,
    TitledSingleSelectEnumSchema,
};

use crate::limits::{QUESTION_LINE_CHARS_MAX, QUESTION_LINES_MAX};

/// The field of the form that needs a value, and the name of the question where it has one.
pub(crate) const DECISION: &str = "decision";
/// The field for words of the person, which reach the model with a rejection.
const WORDS: &str = "words";

/// How a form says what its values mean.
#[derive(Clone, Copy, Debug)]
pub(crate) enum EnumTitleStyle {
    /// As `oneOf`, since 2025-11-25.
    OneOf,
    /// As `enumNames`, before.
    EnumNames,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ApprovalFormAnswer {
    pub(crate) answer: AskAnswer,
    /// Why the answer is no, where no person said so.
    pub(crate) note: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct ApprovalFormDecision {
    value: &'static str,
    title: &'static str,
    answer: AskAnswer,
}

const ONCE: ApprovalFormDecision =
    ApprovalFormDecision { value: "once", title: "Allow once", answer: AskAnswer::AllowOnce };
const REJECT: ApprovalFormDecision =
    ApprovalFormDecision { value: "reject", title: "Reject", answer: AskAnswer::Reject };
const ALL_DECISIONS: &[ApprovalFormDecision] = &[
    ONCE,
    ApprovalFormDecision {
        value: "always_session",
        title: "Always for this session",
        answer: AskAnswer::AllowForSession,
    },
    ApprovalFormDecision {
        value: "always_project",
        title: "Always for this project",
        answer: AskAnswer::AllowForProject,
    },
    REJECT,
];
const ALL_WITH_EXACT: &[ApprovalFormDecision] = &[
    ONCE,
    ApprovalFormDecision {
        value: "exact_session",
        title: "Always for this session, exactly this",
        answer: AskAnswer::AllowExactForSession,
    },
    ApprovalFormDecision {
        value: "always_session",
        title: "Always for this session, the wider rules",
        answer: AskAnswer::AllowForSession,
    },
    ApprovalFormDecision {
        value: "exact_project",
        title: "Always for this project, exactly this",
        answer: AskAnswer::AllowExactForProject,
    },
    ApprovalFormDecision {
        value: "always_project",
        title: "Always for this project, the wider rules",
        answer: AskAnswer::AllowForProject,
    },
    REJECT,
];
const THIS_CALL_ONLY: &[ApprovalFormDecision] = &[ONCE, REJECT];

pub(crate) fn form(ask: &Ask, titles: EnumTitleStyle) -> ElicitRequestParams {
    let decision = PrimitiveSchemaDefinition::Enum(choices(offered_decisions(ask), titles));
    let mut words = StringSchema::new().title("Words for the model").description(
        "If you reject the call: what the model should do instead. You can leave this empty.",
    );
    words.max_length = u32::try_from(ANSWER_WORDS_CHARS_MAX).ok();
    let words = PrimitiveSchemaDefinition::String(words);
    let fields = BTreeMap::from([(DECISION.to_owned(), decision), (WORDS.to_owned(), words)]);
    let schema = ElicitationSchema::new(fields).with_required(vec![DECISION.to_owned()]);
    ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: message(ask),
        requested_schema: schema,
    }
}

/// Returns the question as a page that the person opens. The page shows the whole call, and the answer is given there. The
/// address holds no secret: the protocol forbids that, because the client would have it too.
pub(crate) fn page(ask: &Ask, url: &str) -> ElicitRequestParams {
    let mut text = question(ask);
    text.push_str("\n\nOpen the page to see all of it, and to answer.");
    ElicitRequestParams::UrlElicitationParams {
        meta: None,
        message: text,
        url: url.to_owned(),
        elicitation_id: ask.id.clone(),
    }
}

/// Returns what a client's answer to the question `ask` means.
pub(crate) fn parse_answer(result: &ElicitResult, ask: &Ask) -> ApprovalFormAnswer {
    let chosen = || {
        let value = result.content.as_ref()?.get(DECISION)?.as_str()?;
        offered_decisions(ask).iter().find(|decision| decision.value == value)
    };
    match &result.action {
        ElicitationAction::Accept => match chosen() {
            Some(decision) => {
                let words =
                    result.content.as_ref().and_then(|content| content.get(WORDS)?.as_str());
                let words = words.map(str::trim).filter(|words| !words.is_empty());
                let answer = match (&decision.answer, words) {
                    (AskAnswer::Reject, Some(words)) => {
                        AskAnswer::RejectWithWords(words.to_owned())
                    }
                    (answer, _) => answer.clone(),
                };
                ApprovalFormAnswer { answer, note: None }
            }
            None => {
                let offered = offered_decisions(ask).iter().map(|decision| decision.value);
                let offered = offered.collect::<Vec<_>>().join(", ");
                rejected_by_client(&format!("gave none of the offered answers ({offered})"))
            }
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
    let are_whole = (1..=QUESTION_LINES_MAX).contains(&ask.always_rules.len())
        && ask.exact_rules.len() <= QUESTION_LINES_MAX
        && ask.always_rules.iter().chain(&ask.exact_rules).all(|rule| is_whole(rule.to_string()));
    match (are_whole, ask.exact_rules.is_empty()) {
        (true, true) => ALL_DECISIONS,
        (true, false) => ALL_WITH_EXACT,
        (false, _) => THIS_CALL_ONLY,
    }
}

fn choices(offered: &[ApprovalFormDecision], titles: EnumTitleStyle) -> EnumSchema {
    match titles {
        EnumTitleStyle::OneOf => {
            let choice = |one: &ApprovalFormDecision| ConstTitle::new(one.value, one.title);
            let choices = TitledSingleSelectEnumSchema::new(offered.iter().map(choice).collect());
            EnumSchema::Single(SingleSelectEnumSchema::Titled(choices))
        }
        EnumTitleStyle::EnumNames => {
            let values = offered.iter().map(|one| one.value.to_owned()).collect();
            let mut choices = LegacyEnumSchema::new(values);
            choices.enum_names = Some(offered.iter().map(|one| one.title.to_owned()).collect());
            EnumSchema::Legacy(choices)
        }
    }
}

fn message(ask: &Ask) -> String {
    let mut text = question(ask);
    let always: Vec<String> = ask.always_rules.iter().map(ToString::to_string).collect();
    let exact: Vec<String> = ask.exact_rules.iter().map(ToString::to_string).collect();
    let offered = offered_decisions(ask);
    if offered == ALL_DECISIONS {
        append_list(&mut text, "\"Always\" adds the permission rules", &always);
    } else if offered == ALL_WITH_EXACT {
        append_list(&mut text, "\"Exactly this\" adds the permission rules", &exact);
        append_list(&mut text, "\"The wider rules\" are", &always);
    }
    text
}

/// Returns the call and the reasons to ask, without the rules that an answer can add.
fn question(ask: &Ask) -> String {
    // The input is bounded by the pipeline, and what is left out of it is said there.
    let mut text = format!("May {} run?\n\nInput: {}", ask.tool.as_str(), escaped(&ask.input));
    append_list(&mut text, "It would touch", &ask.accesses);
    append_list(&mut text, "You are asked because", &ask.reasons);
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

/// Returns one line of foreign text, escaped and cut.
fn bounded_line(line: &str) -> String {
    let escaped = escaped(line);
    let Some((end, _)) = escaped.char_indices().nth(QUESTION_LINE_CHARS_MAX) else {
        return escaped;
    };
    let rest = escaped.split_at(end).1.chars().count();
    format!("{} … and {rest} more characters", escaped.split_at(end).0)
}

/// Returns a text on one line, in which each letter that is not plainly visible is escaped: control characters, line and
/// paragraph separators, direction marks, and letters without width.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        let is_hidden = letter.is_control()
            || matches!(
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
            );
        if is_hidden {
            safe.extend(letter.escape_unicode());
        } else {
            safe.push(letter);
        }
    }
    safe
}

#[cfg(test)]
mod tests;
