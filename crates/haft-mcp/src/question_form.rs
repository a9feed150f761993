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

/// What stands above the questions, so that they cannot be taken for one of haft's own.
const HEADING: &str = "The agent asks. Your answers are for it to read; they allow nothing.";

/// Returns the form that puts the questions.
pub(crate) fn form(inquiry: &Elicitation, titles: EnumTitleStyle) -> ElicitRequestParams {
    let mut fields = BTreeMap::new();
    let mut required = Vec::new();
    for (place, question) in inquiry.questions.iter().enumerate() {
        if question.options.is_empty() {
            required.push(field_name(place));
        }
        fields.extend(fields_of(place, question, titles));
    }
    ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: message(&inquiry.questions),
        requested_schema: ElicitationSchema::new(fields).with_required(required),
    }
}

/// Returns what a client's answer to the questions means.
pub(crate) fn parse_reply(result: &ElicitResult, inquiry: &Elicitation) -> ElicitationReply {
    match &result.action {
        ElicitationAction::Accept => {
            let content = result.content.as_ref().unwrap_or(&Value::Null);
            let questions = inquiry.questions.iter().enumerate();
            let answers =
                questions.map(|(place, question)| chosen_answers(place, question, content));
            let answers: Vec<Vec<String>> = answers.collect();
            if answers.iter().all(Vec::is_empty) {
                return dismissed_by_client("sent the form back without an answer");
            }
            ElicitationReply::Answers(answers)
        }
        ElicitationAction::Decline => ElicitationReply::Dismissed(None),
        ElicitationAction::Cancel => dismissed_by_client("closed the question without an answer"),
        _ => dismissed_by_client("answered the question in a way that is not known here"),
    }
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

fn fields_of(
    place: usize,
    question: &UserQuestion,
    titles: EnumTitleStyle,
) -> Vec<(String, Field)> {
    let heading = match &question.header {
        Some(header) => escaped(header),
        None => format!("Question {}", place + 1),
    };
    let lines: Vec<String> = question.question.lines().map(escaped).collect();
    let text = lines.join(" ");
    if question.options.is_empty() {
        return vec![(
            field_name(place),
            Field::String(free_text_schema().title(heading).description(text)),
        )];
    }
    let other = free_text_schema().title("Other").description("An answer in your own words");
    let mut fields = match (titles, question.multi_select) {
        (_, false) => {
            vec![(field_name(place), Field::Enum(one_of(question, heading, text, titles)))]
        }
        (EnumTitleStyle::OneOf, true) => {
            let items = TitledItems::new(choices(question));
            let schema =
                TitledMultiSelectEnumSchema::new(items).with_title(heading).with_description(text);
            let schema = EnumSchema::Multi(MultiSelectEnumSchema::Titled(schema));
            vec![(field_name(place), Field::Enum(schema))]
        }
        // Forms had no lists once, so each option is a box to tick.
        (EnumTitleStyle::EnumNames, true) => boxes(place, question),
    };
    fields.push((other_field_name(place), Field::String(other)));
    fields
}

fn free_text_schema() -> StringSchema {
    StringSchema::new().max_length(u32::try_from(QUESTION_ANSWER_CHARS_MAX).unwrap_or(u32::MAX))
}

fn one_of(
    question: &UserQuestion,
    heading: String,
    text: String,
    titles: EnumTitleStyle,
) -> EnumSchema {
    match titles {
        EnumTitleStyle::OneOf => {
            let mut schema = TitledSingleSelectEnumSchema::new(choices(question));
            (schema.title, schema.description) = (Some(heading.into()), Some(text.into()));
            EnumSchema::Single(SingleSelectEnumSchema::Titled(schema))
        }
        EnumTitleStyle::EnumNames => {
            let choices = choices(question).into_iter().map(|one| (one.const_, one.title));
            let (values, names) = choices.unzip();
            let mut schema = LegacyEnumSchema::new(values);
            schema.enum_names = Some(names);
            (schema.title, schema.description) = (Some(heading.into()), Some(text.into()));
            EnumSchema::Legacy(schema)
        }
    }
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

fn boxes(place: usize, question: &UserQuestion) -> Vec<(String, Field)> {
    let choices = choices(question).into_iter().enumerate();
    let field = |(option, choice): (usize, ConstTitle)| {
        let schema = BooleanSchema::new().title(choice.title);
        (option_field_name(place, option), Field::Boolean(schema))
    };
    choices.map(field).collect()
}

/// Returns the labels that were chosen, in the order of the options, and then the person's own words. What was not
/// offered was not chosen.
fn chosen_answers(place: usize, question: &UserQuestion, content: &Value) -> Vec<String> {
    let text = |name: &str| content.get(name).and_then(Value::as_str).map(str::trim);
    if question.options.is_empty() {
        let own = text(&field_name(place)).filter(|own| !own.is_empty());
        return own.map(str::to_owned).into_iter().collect();
    }
    let chosen = content.get(field_name(place));
    let is_chosen = |option: usize, label: &str| {
        let is_label = |value: &Value| value.as_str() == Some(label);
        let is_listed = match chosen {
            Some(Value::Array(values)) => question.multi_select && values.iter().any(is_label),
            Some(value) => is_label(value),
            None => false,
        };
        let is_ticked =
            || content.get(option_field_name(place, option)) == Some(&Value::Bool(true));
        is_listed || (question.multi_select && is_ticked())
    };
    let options = question.options.iter().enumerate();
    let chosen = options.filter(|(place, option)| is_chosen(*place, &escaped(&option.label)));
    let other = other_field_name(place);
    let own = text(&other).filter(|own| !own.is_empty());
    chosen.map(|(_, option)| option.label.as_str()).chain(own).map(str::to_owned).collect()
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
