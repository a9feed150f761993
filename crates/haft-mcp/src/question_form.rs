//! The questions of a tool as a form for a person behind an MCP client, and what the form said when it came back. As in
//! a question about a call, what a model wrote can look like nothing but itself; and the form says that it allows
//! nothing, so that no question can pass for one about a call.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use haft::{Elicitation, ElicitationReply};
use haft_contract::UserQuestion;
use haft_contract::limits::QUESTION_ANSWER_CHARS_MAX;
use rmcp::model::{
    BooleanSchema, ConstTitle, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationSchema, EnumSchema, LegacyEnumSchema, MultiSelectEnumSchema,
    PrimitiveSchemaDefinition as Field, SingleSelectEnumSchema, StringSchema, TitledItems,
    TitledMultiSelectEnumSchema, TitledSingleSelectEnumSchema,
};
use serde_json::Value;

use crate::approval_form::{EnumTitleStyle, escaped};

/// The name of the question where it has one.
pub(crate) const ANSWERS: &str = "answers";

/// The heading above the questions. With it they cannot be mistaken for a question of haft.
const HEADING: &str = "The agent asks. Your answers are for it to read; they allow nothing.";

pub(crate) fn form(inquiry: &Elicitation, titles: EnumTitleStyle) -> ElicitRequestParams {
    let free_text = StringSchema::new()
        .max_length(u32::try_from(QUESTION_ANSWER_CHARS_MAX).unwrap_or(u32::MAX));
    let mut fields = BTreeMap::new();
    let mut required = Vec::new();
    for (place, question) in inquiry.questions.iter().enumerate() {
        let name = field_name(place);
        let heading = match &question.header {
            Some(header) => escaped(header),
            None => format!("Question {}", place + 1),
        };
        let lines: Vec<String> = question.question.lines().map(escaped).collect();
        let text = lines.join(" ");
        if question.options.is_empty() {
            required.push(name.clone());
            let schema = free_text.clone().title(heading).description(text);
            fields.insert(name, Field::String(schema));
            continue;
        }
        let other = free_text.clone().title("Other").description("An answer in your own words");
        fields.insert(other_field_name(place), Field::String(other));
        let schema = match (titles, question.multi_select) {
            (EnumTitleStyle::OneOf, false) => {
                let mut schema = TitledSingleSelectEnumSchema::new(choices(question));
                (schema.title, schema.description) = (Some(heading.into()), Some(text.into()));
                EnumSchema::Single(SingleSelectEnumSchema::Titled(schema))
            }
            (EnumTitleStyle::EnumNames, false) => {
                let choices = choices(question).into_iter().map(|one| (one.const_, one.title));
                let (values, names) = choices.unzip();
                let mut schema = LegacyEnumSchema::new(values);
                schema.enum_names = Some(names);
                (schema.title, schema.description) = (Some(heading.into()), Some(text.into()));
                EnumSchema::Legacy(schema)
            }
            (EnumTitleStyle::OneOf, true) => {
                let schema = TitledMultiSelectEnumSchema::new(TitledItems::new(choices(question)));
                let schema = schema.with_title(heading).with_description(text);
                EnumSchema::Multi(MultiSelectEnumSchema::Titled(schema))
            }
            // Older forms have no lists, so each option is a box to tick.
            (EnumTitleStyle::EnumNames, true) => {
                for (option, choice) in choices(question).into_iter().enumerate() {
                    let schema = BooleanSchema::new().title(choice.title);
                    fields.insert(option_field_name(place, option), Field::Boolean(schema));
                }
                continue;
            }
        };
        fields.insert(name, Field::Enum(schema));
    }
    ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: message(&inquiry.questions),
        requested_schema: ElicitationSchema::new(fields).with_required(required),
    }
}

/// Returns the meaning of a client's answer to the questions: per question the labels that were chosen, in the order of the
/// options, and then the person's own words. A label that was not offered does not count.
pub(crate) fn parse_reply(result: &ElicitResult, inquiry: &Elicitation) -> ElicitationReply {
    match &result.action {
        ElicitationAction::Accept => {}
        ElicitationAction::Decline => return ElicitationReply::Dismissed(None),
        ElicitationAction::Cancel => {
            return dismissed_by_client("closed the question without an answer");
        }
        _ => return dismissed_by_client("answered the question in a way that is not known here"),
    }
    let content = result.content.as_ref().unwrap_or(&Value::Null);
    let own_words = |name: &str| {
        let text = content.get(name).and_then(Value::as_str).map(str::trim);
        text.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let mut answers: Vec<Vec<String>> = Vec::new();
    for (place, question) in inquiry.questions.iter().enumerate() {
        if question.options.is_empty() {
            answers.push(own_words(&field_name(place)).into_iter().collect());
            continue;
        }
        let chosen = content.get(field_name(place));
        let mut labels = Vec::new();
        for (option, offered) in question.options.iter().enumerate() {
            let label = escaped(&offered.label);
            let is_label = |value: &Value| value.as_str() == Some(&label);
            let is_listed = match chosen {
                Some(Value::Array(values)) => question.multi_select && values.iter().any(is_label),
                Some(value) => is_label(value),
                None => false,
            };
            let ticked = content.get(option_field_name(place, option));
            if is_listed || (question.multi_select && ticked == Some(&Value::Bool(true))) {
                labels.push(offered.label.clone());
            }
        }
        labels.extend(own_words(&other_field_name(place)));
        answers.push(labels);
    }
    if answers.iter().all(Vec::is_empty) {
        return dismissed_by_client("sent the form back without an answer");
    }
    ElicitationReply::Answers(answers)
}

/// Returns a reply without answers that is not a person's. `what` says what the client did.
pub(crate) fn dismissed_by_client(what: &str) -> ElicitationReply {
    ElicitationReply::Dismissed(Some(format!("the client {}", escaped(what))))
}

/// The fields of a form are shown in the order of their names.
fn field_name(place: usize) -> String {
    format!("q{:02}", place + 1)
}

fn option_field_name(place: usize, option: usize) -> String {
    format!("{}_option_{:02}", field_name(place), option + 1)
}

fn other_field_name(place: usize) -> String {
    format!("{}_other", field_name(place))
}

fn choices(question: &UserQuestion) -> Vec<ConstTitle> {
    let choice = |label: &str, about: Option<&str>| {
        let label = escaped(label);
        let title = match about {
            Some(about) => format!("{label}: {}", escaped(about)),
            None => label.clone(),
        };
        ConstTitle::new(label, title)
    };
    let options = question.options.iter();
    options.map(|option| choice(&option.label, option.description.as_deref())).collect()
}

fn message(questions: &[UserQuestion]) -> String {
    let mut text = HEADING.to_owned();
    for (place, question) in questions.iter().enumerate() {
        let _ = write!(text, "\n\n{}. ", place + 1);
        if let Some(header) = &question.header {
            let _ = write!(text, "{}: ", escaped(header));
        }
        // A question may have several lines; none of them begins like one of the form's own.
        let lines: Vec<String> = question.question.lines().map(escaped).collect();
        text.push_str(&lines.join("\n   "));
        for choice in choices(question) {
            let _ = write!(text, "\n   - {}", choice.title);
        }
        if question.multi_select && !question.options.is_empty() {
            text.push_str("\n   (several may be chosen)");
        }
    }
    text
}

#[cfg(test)]
mod tests;
