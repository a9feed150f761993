//! Converts the questions of a tool to a form for the person at the editor, and the returned form to answers. An editor that shows
//! no forms gets a permission request for each question that offers answers. Both say that they allow nothing, so that no question
//! can look like one about a call.

use agent_client_protocol::v1::schema::{
    CreateElicitationRequest, CreateElicitationResponse, ElicitationAction,
    ElicitationContentValue, ElicitationFormMode, ElicitationPropertySchema, ElicitationSchema,
    ElicitationSessionScope, EnumOption, MultiSelectPropertySchema, PermissionOption,
    PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest, StringPropertySchema,
    ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
};
use haft::{Elicitation, ElicitationReply};
use haft_contract::limits::QUESTION_ANSWER_CHARS_MAX;
use haft_contract::{UserQuestion, clean};

use crate::call_content::text_content;

/// The heading, which distinguishes the questions from those of haft.
const HEADING: &str = "The agent asks. Your answers are for it to read; they allow nothing.";

/// The option of a permission request by which a person does not answer.
const SKIPPED: &str = "skip";

/// Returns the form with the questions of a call.
pub(crate) fn form(
    elicitation: &Elicitation,
    session: &str,
    call: &str,
) -> CreateElicitationRequest {
    let mut schema = ElicitationSchema::new();
    for (place, question) in elicitation.questions.iter().enumerate() {
        let title = question.header.as_deref();
        let title = title.map_or_else(|| format!("Question {}", place + 1), clean);
        let text = clean(&question.question);
        let choices = question.options.iter().map(|option| {
            let about = option.description.as_deref().map(clean);
            EnumOption::new(option.label.clone(), clean(&option.label)).description(about)
        });
        let choices: Vec<EnumOption> = choices.collect();
        let is_open = choices.is_empty();
        let field: ElicitationPropertySchema = if is_open {
            free_text_schema().title(title).description(text).into()
        } else if question.multi_select {
            MultiSelectPropertySchema::titled(choices).title(title).description(text).into()
        } else {
            StringPropertySchema::new().one_of(choices).title(title).description(text).into()
        };
        schema = schema.property(field_name(place), field, is_open);
        if !is_open {
            let other = free_text_schema()
                .title("Other".to_owned())
                .description("An answer in your own words".to_owned());
            schema = schema.property(other_field_name(place), other, false);
        }
    }
    let scope = ElicitationSessionScope::new(session.to_owned()).tool_call_id(call);
    let message = elicitation.questions.iter().enumerate().map(|(place, question)| {
        format!("\n\n{}. {}", place + 1, clean(&question.question).replace('\n', "\n   "))
    });
    let message: String = std::iter::once(HEADING.to_owned()).chain(message).collect();
    CreateElicitationRequest::new(ElicitationFormMode::new(scope, schema), message)
}

/// Returns the answers in an editor's response: the chosen labels in the order of the options, and then the person's own words.
pub(crate) fn parse_reply(
    response: &CreateElicitationResponse,
    elicitation: &Elicitation,
) -> ElicitationReply {
    match &response.action {
        ElicitationAction::Accept(accepted) => {
            let content = accepted.content.clone().unwrap_or_default();
            let text = |name: String| match content.get(&name) {
                Some(ElicitationContentValue::String(text)) => {
                    Some(text.trim()).filter(|text| !text.is_empty()).map(str::to_owned)
                }
                _ => None,
            };
            let mut answers: Vec<Vec<String>> = Vec::new();
            for (place, question) in elicitation.questions.iter().enumerate() {
                if question.options.is_empty() {
                    answers.push(text(field_name(place)).into_iter().collect());
                    continue;
                }
                // Only offered labels count.
                let is_chosen = |label: &&String| match content.get(&field_name(place)) {
                    Some(ElicitationContentValue::String(chosen)) => chosen == *label,
                    Some(ElicitationContentValue::StringArray(chosen)) => {
                        question.multi_select && chosen.contains(*label)
                    }
                    _ => false,
                };
                let labels = question.options.iter().map(|option| &option.label);
                let labels = labels.filter(is_chosen).cloned();
                answers.push(labels.chain(text(other_field_name(place))).collect());
            }
            if answers.iter().all(Vec::is_empty) {
                return dismissed_by_editor("sent the form back without an answer");
            }
            ElicitationReply::Answers(answers)
        }
        ElicitationAction::Decline => ElicitationReply::Dismissed(None),
        ElicitationAction::Cancel => dismissed_by_editor("closed the question without an answer"),
        _ => dismissed_by_editor("answered the question in a way that is not known here"),
    }
}

/// Returns a question as a permission request whose options are the offered answers.
pub(crate) fn permission_request(
    question: &UserQuestion,
    session: &str,
    call: &str,
) -> RequestPermissionRequest {
    let text = clean(&question.question);
    let mut about = format!("{HEADING}\n\n{text}");
    for option in &question.options {
        if let Some(description) = &option.description {
            about.push_str(&format!("\n- {}: {}", clean(&option.label), clean(description)));
        }
    }
    let fields = ToolCallUpdateFields::new()
        .title(text)
        .status(ToolCallStatus::Pending)
        .content(vec![text_content(about)]);
    let options = question.options.iter().enumerate().map(|(place, option)| {
        let label = clean(&option.label);
        PermissionOption::new(option_name(place), label, PermissionOptionKind::AllowOnce)
    });
    let skip = PermissionOption::new(SKIPPED, "Do not answer", PermissionOptionKind::RejectOnce);
    let update = ToolCallUpdate::new(call.to_owned(), fields);
    RequestPermissionRequest::new(session.to_owned(), update, options.chain([skip]).collect())
}

/// Returns the answer to a question that was a permission request: the chosen label, nothing if the person skipped the question,
/// and an error if the editor ended the question.
pub(crate) fn parse_permission(
    outcome: &RequestPermissionOutcome,
    question: &UserQuestion,
) -> Result<Vec<String>, ElicitationReply> {
    let RequestPermissionOutcome::Selected(selected) = outcome else {
        return Err(dismissed_by_editor("cancelled the question"));
    };
    let is_chosen = |place: &usize| *selected.option_id.0 == *option_name(*place);
    let chosen = (0..question.options.len()).find(is_chosen);
    let label = chosen.and_then(|place| question.options.get(place)).map(|it| it.label.clone());
    Ok(label.into_iter().collect())
}

fn option_name(place: usize) -> String {
    format!("answer_{}", place + 1)
}

/// Returns a reply without answers that no person gave. `what` says what the editor did.
pub(crate) fn dismissed_by_editor(what: &str) -> ElicitationReply {
    ElicitationReply::Dismissed(Some(format!("the editor {}", clean(what))))
}

/// Returns the name of a field. Editors show the fields in the order of their names.
fn field_name(place: usize) -> String {
    format!("q{:02}", place + 1)
}

fn other_field_name(place: usize) -> String {
    format!("{}_other", field_name(place))
}

fn free_text_schema() -> StringPropertySchema {
    StringPropertySchema::new()
        .max_length(u32::try_from(QUESTION_ANSWER_CHARS_MAX).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use agent_client_protocol::v1::schema::SelectedPermissionOutcome;
    use expect_test::expect;
    use haft_contract::ToolId;
    use serde_json::{Value, json};

    use super::*;

    fn inquiry() -> Elicitation {
        let questions = json!([
            {"question": "Which database?", "header": "Database", "options": [
                {"label": "SQLite", "description": "one file"}, {"label": "PostgreSQL"}]},
            {"question": "Which platforms?", "multi_select": true, "options": [
                {"label": "Linux"}, {"label": "macOS"}]},
            {"question": "What is it called?"},
        ]);
        Elicitation {
            call_id: "ses_1/main/0/1/1".to_owned(),
            driver_call_id: Some("c1".to_owned()),
            tool: ToolId::parse("question").unwrap(),
            questions: serde_json::from_value(questions).unwrap(),
            connection: "session".to_owned(),
        }
    }

    #[test]
    fn a_question_is_a_permission_request_with_its_answers() {
        let question = &inquiry().questions[0];
        let request = serde_json::to_value(permission_request(question, "ses_1", "c1")).unwrap();
        expect![[r#"
            {
              "sessionId": "ses_1",
              "toolCall": {
                "toolCallId": "c1",
                "status": "pending",
                "title": "Which database?",
                "content": [
                  {
                    "type": "content",
                    "content": {
                      "type": "text",
                      "text": "The agent asks. Your answers are for it to read; they allow nothing.\n\nWhich database?\n- SQLite: one file"
                    }
                  }
                ]
              },
              "options": [
                {
                  "optionId": "answer_1",
                  "name": "SQLite",
                  "kind": "allow_once"
                },
                {
                  "optionId": "answer_2",
                  "name": "PostgreSQL",
                  "kind": "allow_once"
                },
                {
                  "optionId": "skip",
                  "name": "Do not answer",
                  "kind": "reject_once"
                }
              ]
            }"#]].assert_eq(&serde_json::to_string_pretty(&request).unwrap());
        let chosen = |option: &str| {
            let selected = SelectedPermissionOutcome::new(option.to_owned());
            parse_permission(&RequestPermissionOutcome::Selected(selected), question).unwrap()
        };
        assert_eq!(chosen("answer_2"), ["PostgreSQL"]);
        assert_eq!(chosen("skip"), [""; 0]);
        assert_eq!(chosen("answer_3"), [""; 0]);
        assert!(parse_permission(&RequestPermissionOutcome::Cancelled, question).is_err());
    }

    #[test]
    fn questions_are_a_form() {
        let form = serde_json::to_value(form(&inquiry(), "ses_1", "c1")).unwrap();
        expect![[r#"
            {
              "mode": "form",
              "sessionId": "ses_1",
              "toolCallId": "c1",
              "requestedSchema": {
                "type": "object",
                "properties": {
                  "q01": {
                    "type": "string",
                    "title": "Database",
                    "description": "Which database?",
                    "oneOf": [
                      {
                        "const": "SQLite",
                        "title": "SQLite",
                        "description": "one file"
                      },
                      {
                        "const": "PostgreSQL",
                        "title": "PostgreSQL"
                      }
                    ]
                  },
                  "q01_other": {
                    "type": "string",
                    "title": "Other",
                    "description": "An answer in your own words",
                    "maxLength": 10000
                  },
                  "q02": {
                    "type": "array",
                    "title": "Question 2",
                    "description": "Which platforms?",
                    "items": {
                      "anyOf": [
                        {
                          "const": "Linux",
                          "title": "Linux"
                        },
                        {
                          "const": "macOS",
                          "title": "macOS"
                        }
                      ]
                    }
                  },
                  "q02_other": {
                    "type": "string",
                    "title": "Other",
                    "description": "An answer in your own words",
                    "maxLength": 10000
                  },
                  "q03": {
                    "type": "string",
                    "title": "Question 3",
                    "description": "What is it called?",
                    "maxLength": 10000
                  }
                },
                "required": [
                  "q03"
                ]
              },
              "message": "The agent asks. Your answers are for it to read; they allow nothing.\n\n1. Which database?\n\n2. Which platforms?\n\n3. What is it called?"
            }"#]]
        .assert_eq(&serde_json::to_string_pretty(&form).unwrap());
    }

    #[test]
    fn what_was_not_offered_was_not_chosen() {
        let check = |response: Value, expect: ElicitationReply| {
            let read = serde_json::from_value(response.clone()).unwrap();
            assert_eq!(parse_reply(&read, &inquiry()), expect, "{response}");
        };
        let answers = |answers: [&[&str]; 3]| {
            ElicitationReply::Answers(
                answers.iter().map(|it| it.iter().map(|it| (*it).to_owned()).collect()).collect(),
            )
        };
        check(
            json!({"action": "accept", "content": {"q01": "SQLite", "q02": ["macOS", "Linux", "x"], "q03": " a "}}),
            answers([&["SQLite"], &["Linux", "macOS"], &["a"]]),
        );
        check(
            json!({"action": "accept", "content": {"q01": "Oracle", "q01_other": "none", "q02": "Linux"}}),
            answers([&["none"], &["Linux"], &[]]),
        );
        check(
            json!({"action": "accept", "content": {"q03": " "}}),
            dismissed_by_editor("sent the form back without an answer"),
        );
        check(json!({"action": "decline"}), ElicitationReply::Dismissed(None));
        check(
            json!({"action": "cancel"}),
            dismissed_by_editor("closed the question without an answer"),
        );
        check(
            json!({"action": "_later"}),
            dismissed_by_editor("answered the question in a way that is not known here"),
        );
    }
}
