//! Finds the plan in a model's answer: a JSON object, in a fence or not, with words around it or not. It looks for balanced
//! braces from a bounded number of places, and never guesses how a broken object was meant.

use serde_json::{Map, Value};

use super::limits::OBJECT_PLACES_MAX;

/// The content of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ExtractedPlanText {
    /// The text of an object that is to be a plan, whether it is one or not.
    Text(String),
    /// The honest answer that the tools cannot do it.
    Missing(String),
    /// An object that does not end.
    Unfinished,
    /// No object at all.
    Nothing,
}

pub(super) fn extract_plan(answer: &str) -> ExtractedPlanText {
    let mut rest = answer;
    let (mut is_unfinished, mut broken, mut other) = (false, None, None);
    for _ in 0..OBJECT_PLACES_MAX {
        let Some(start) = rest.find('{') else { break };
        rest = rest.get(start..).unwrap_or_default();
        let Some(length) = object_length(rest) else {
            // It may be a stray brace in prose; what it leaves open is told only if nothing better follows.
            is_unfinished = true;
            rest = rest.get(1..).unwrap_or_default();
            continue;
        };
        let (text, after) = rest.split_at(length);
        match serde_json::from_str::<Map<String, Value>>(text) {
            Ok(mut fields) if fields.contains_key("nodes") => {
                // A model may not allow itself dangerous tools. `retain` keeps the order of the other fields.
                fields.retain(|name, _| name != "allow");
                return ExtractedPlanText::Text(Value::Object(fields).to_string());
            }
            Ok(fields) => {
                if let Some(Value::String(capability)) = fields.get("missing_capability")
                    && !capability.trim().is_empty()
                {
                    return ExtractedPlanText::Missing(capability.trim().to_owned());
                }
                other.get_or_insert_with(|| text.to_owned());
                rest = after;
            }
            Err(_) if text.contains("\"nodes\"") => {
                broken.get_or_insert_with(|| text.to_owned());
                rest = after;
            }
            Err(_) => rest = rest.get(1..).unwrap_or_default(),
        }
    }
    match (broken, other) {
        (Some(text), _) => ExtractedPlanText::Text(text),
        (None, _) if is_unfinished => ExtractedPlanText::Unfinished,
        (None, Some(text)) => ExtractedPlanText::Text(text),
        (None, None) => ExtractedPlanText::Nothing,
    }
}

/// Returns how many bytes the object takes that `text` begins with.
fn object_length(text: &str) -> Option<usize> {
    let (mut depth, mut in_string, mut is_escaped) = (0_usize, false, false);
    for (place, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            b'{' if !in_string => depth += 1,
            b'}' if !in_string => {
                depth -= 1;
                if depth == 0 {
                    return Some(place + 1);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> ExtractedPlanText {
        ExtractedPlanText::Text(text.to_owned())
    }

    #[test]
    fn objects_are_found_among_other_things() {
        let plan = "{\"nodes\":[]}";
        assert_eq!(extract_plan(plan), text(plan));
        assert_eq!(extract_plan("```json\n{\"nodes\": []}\n```"), text(plan));
        assert_eq!(extract_plan("Use {braces} so: {\"nodes\": []} - done {"), text(plan));
        assert_eq!(extract_plan("A stray { here. {\"nodes\": []}"), text(plan));
        assert_eq!(extract_plan("{\"thought\": \"hm\"} {\"nodes\": []}"), text(plan));
        let braces = "{\"nodes\":[\"}\\\"{\"]}";
        assert_eq!(extract_plan(&format!("so: {braces} ok")), text(braces));
    }

    #[test]
    fn what_is_no_plan_is_told_apart() {
        assert_eq!(extract_plan("no"), ExtractedPlanText::Nothing);
        assert_eq!(extract_plan("{not json}"), ExtractedPlanText::Nothing);
        assert_eq!(
            extract_plan("{\"nodes\": [{\"id\": 0}, {\"id\""),
            ExtractedPlanText::Unfinished
        );
        assert_eq!(extract_plan("{\"steps\": []}"), text("{\"steps\": []}"));
        assert_eq!(extract_plan("{\"nodes\": [,]}"), text("{\"nodes\": [,]}"));
        let missing = extract_plan("Sorry: {\"missing_capability\": \" sending mail \"}");
        assert_eq!(missing, ExtractedPlanText::Missing("sending mail".to_owned()));
    }

    #[test]
    fn a_plan_does_not_allow_itself() {
        let found =
            extract_plan("{\"allow\": [\"bash\"], \"final_output_node\": 0, \"nodes\": []}");
        assert_eq!(found, text("{\"final_output_node\":0,\"nodes\":[]}"));
    }

    #[test]
    fn it_looks_at_so_many_places() {
        let plan = "{\"nodes\":[]}";
        let braces = |count| format!("{}{plan}", "{".repeat(count));
        assert_eq!(extract_plan(&braces(OBJECT_PLACES_MAX - 1)), text(plan));
        assert_eq!(extract_plan(&braces(OBJECT_PLACES_MAX)), ExtractedPlanText::Unfinished);
    }

    proptest::proptest! {
        #[test]
        fn no_text_is_too_strange(answer in "[{}\"\\\\a:,\\[\\]é ]{0,200}") {
            extract_plan(&answer);
        }
    }
}
