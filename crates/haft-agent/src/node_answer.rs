//! Reads the answer of an agent that must satisfy a JSON Schema. The functions are pure. The agent may write text around the
//! JSON, because models do.

use haft::{InputSchema, OpenValues};
use serde_json::Value;

use crate::limits::ANSWER_PROBLEMS_MAX;

/// The mark of a block of code.
const FENCE: &str = "```";

/// Returns the sentence that asks for an answer of this schema.
pub(crate) fn schema_request(schema: &Value) -> String {
    format!(
        "Your last message is read by a program. Answer with one JSON value that satisfies this JSON Schema, and with no other \
         text:\n{schema}"
    )
}

/// Returns the JSON value of an answer, or what is wrong with the answer.
pub(crate) fn read_answer(text: &str, schema: &InputSchema) -> Result<Value, String> {
    let Some(mut value) = find_json(text) else {
        let text = Value::String(text.trim().to_owned());
        // A schema of plain text is satisfied by plain text.
        return match schema.violations(&text, &OpenValues::default()).is_empty() {
            true => Ok(text),
            false => Err("it is not one JSON value".to_owned()),
        };
    };
    // Nodes that refer to the answer get what the schema promises, as tools do.
    schema.normalize(&mut value);
    let found = schema.violations(&value, &OpenValues::default());
    if found.is_empty() {
        return Ok(value);
    }
    let more = found.len().saturating_sub(ANSWER_PROBLEMS_MAX);
    let mut problems: Vec<String> =
        found.iter().take(ANSWER_PROBLEMS_MAX).map(ToString::to_string).collect();
    if more > 0 {
        problems.push(format!("and {more} more"));
    }
    Err(problems.join("; "))
}

/// Returns the message that asks for a better answer.
pub(crate) fn repair_request(problem: &str, schema: &Value) -> String {
    format!("Your answer cannot be used: {problem}.\n\n{}", schema_request(schema))
}

/// Returns the JSON value in a text: the whole text, its last block of code, or its part from the first to the last bracket.
fn find_json(text: &str) -> Option<Value> {
    let parse = |text: &str| serde_json::from_str(text.trim()).ok();
    let block = || {
        let (before, _) = text.rsplit_once(FENCE)?;
        let (_, block) = before.rsplit_once(FENCE)?;
        // The first line names the language.
        let (language, body) = block.split_once('\n')?;
        (!language.contains(['{', '['])).then_some(body).or(Some(block))
    };
    let brackets = || {
        let (start, end) = (text.find(['{', '['])?, text.rfind(['}', ']'])?);
        text.get(start..=end)
    };
    parse(text).or_else(|| parse(block()?)).or_else(|| parse(brackets()?))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_json_of_an_answer_is_found() {
        let schema = json!({"type": "object", "required": ["risks"]});
        let schema = InputSchema::compile(&schema).unwrap();
        let check = |text: &str, expect: Result<Value, &str>| {
            let read = read_answer(text, &schema);
            assert_eq!(read.as_ref().map_err(String::as_str), expect.as_ref().map_err(|err| *err));
        };
        let risks = json!({"risks": ["a"]});
        check(r#"{"risks": ["a"]}"#, Ok(risks.clone()));
        check("Here it is:\n```json\n{\"risks\": [\"a\"]}\n```\nDone.", Ok(risks.clone()));
        check("Here: {\"risks\": [\"a\"]}.", Ok(risks));
        check("I found none.", Err("it is not one JSON value"));
        check("{}", Err("risks: required, but missing"));
    }

    #[test]
    fn plain_text_satisfies_a_schema_of_text() {
        let schema = InputSchema::compile(&json!({"enum": ["yes", "no"]})).unwrap();
        assert_eq!(read_answer(" yes\n", &schema), Ok(json!("yes")));
        assert!(read_answer("perhaps", &schema).is_err());
    }

    #[test]
    fn an_answer_has_the_form_that_its_schema_promises() {
        let schema = json!({
            "type": "object",
            "properties": {"count": {"type": "integer"}, "note": {"type": "string"}},
            "required": ["count"]
        });
        let schema = InputSchema::compile(&schema).unwrap();
        let read = read_answer("{\"count\": 3.0, \"note\": null}", &schema);
        assert_eq!(read, Ok(json!({"count": 3})));
    }
}
