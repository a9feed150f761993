//! The requests of the fixtures to a client, in the exact words that the suite expects.

use haft_contract::{ClientRequest, ClientRequestMethod};
use serde_json::{Value, json};

/// A form with one field.
pub(crate) fn form(name: &str, message: &str, field: &str, schema: Value) -> ClientRequest {
    let properties = json!({ field: schema });
    whole_form(name, message, properties, json!([field]))
}

/// A form with these fields.
pub(crate) fn whole_form(
    name: &str,
    message: &str,
    properties: Value,
    required: Value,
) -> ClientRequest {
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    ClientRequest {
        name: name.to_owned(),
        method: ClientRequestMethod::Form,
        params: json!({ "message": message, "requestedSchema": schema }),
    }
}

/// A question to the client's model.
pub(crate) fn sampling(name: &str, text: &str, tokens_max: u32) -> ClientRequest {
    let message = json!({ "role": "user", "content": { "type": "text", "text": text } });
    ClientRequest {
        name: name.to_owned(),
        method: ClientRequestMethod::Sampling,
        params: json!({ "messages": [message], "maxTokens": tokens_max }),
    }
}

/// A question for the client's directories.
pub(crate) fn roots(name: &str) -> ClientRequest {
    ClientRequest { name: name.to_owned(), method: ClientRequestMethod::Roots, params: json!({}) }
}

/// The text that a client's model answered with.
pub(crate) fn sampled(answer: &Value) -> &str {
    let content = answer.get("content");
    let first = content.and_then(|content| content.get(0)).or(content);
    first.and_then(|part| part.get("text")).and_then(Value::as_str).unwrap_or("no text")
}

/// Returns the text of one field of a form that a person filled in.
pub(crate) fn entered<'a>(answer: &'a Value, field: &str) -> &'a str {
    let content = answer.get("content").and_then(|content| content.get(field));
    content.and_then(Value::as_str).unwrap_or("stranger")
}
