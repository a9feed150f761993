//! Puts tool calls together from the pieces that come over the wires. OpenAI sends differences, Anthropic what there is so
//! far, Gemini and Ollama whole calls.

use genai::chat::ToolCall as WireCall;
use serde_json::Value;

use super::name::Wire;
use crate::limits::TOOL_CALLS_MAX;
use crate::{Arguments, ModelError, ToolCall};

#[derive(Debug)]
pub(super) struct Calls {
    wire: Wire,
    open: Vec<Open>,
}

#[derive(Debug)]
struct Open {
    id: String,
    name: String,
    arguments: Pieces,
    signatures: Vec<String>,
}

#[derive(Debug)]
enum Pieces {
    Text(String),
    Whole(Value),
}

impl Calls {
    pub(super) fn new(wire: Wire) -> Self {
        Self { wire, open: Vec::new() }
    }

    /// Takes a piece in, and returns by how many bytes the calls grew.
    pub(super) fn add(&mut self, piece: WireCall) -> Result<usize, ModelError> {
        let WireCall { call_id, fn_name, fn_arguments, thought_signatures } = piece;
        let signatures = thought_signatures.unwrap_or_default();
        let size =
            call_id.len() + fn_name.len() + signatures.iter().map(String::len).sum::<usize>();
        let text = match fn_arguments {
            Value::String(text) => text,
            whole => {
                let size = size + whole.to_string().len();
                let arguments = Pieces::Whole(whole);
                self.begin(Open { id: call_id, name: fn_name, arguments, signatures })?;
                return Ok(size);
            }
        };
        let Some(place) = self.place(&call_id, &fn_name) else {
            let size = size + text.len();
            let arguments = Pieces::Text(text);
            self.begin(Open { id: call_id, name: fn_name, arguments, signatures })?;
            return Ok(size);
        };
        let Some(Open { arguments: Pieces::Text(known), .. }) = self.open.get_mut(place) else {
            return Ok(0);
        };
        match self.wire {
            Wire::Anthropic => {
                let grown = text.len().saturating_sub(known.len());
                *known = text;
                Ok(grown)
            }
            Wire::OpenAi | Wire::Gemini | Wire::Ollama => {
                known.push_str(&text);
                Ok(text.len())
            }
        }
    }

    pub(super) fn finish(self) -> Vec<ToolCall> {
        let whole = |call: Open| ToolCall {
            id: call.id,
            name: call.name,
            arguments: match call.arguments {
                Pieces::Text(text) => Arguments::parse(&text),
                Pieces::Whole(value) => Arguments::of_value(value),
            },
            signatures: call.signatures,
        };
        self.open.into_iter().map(whole).collect()
    }

    fn begin(&mut self, call: Open) -> Result<(), ModelError> {
        if self.open.len() >= TOOL_CALLS_MAX {
            return Err(ModelError::TooLong);
        }
        self.open.push(call);
        Ok(())
    }

    /// Returns which call a piece belongs to. A later piece on OpenAI's wire need have no id, in which case the library
    /// gives it `call_` and its index.
    fn place(&self, id: &str, name: &str) -> Option<usize> {
        let by_id = self.open.iter().position(|call| !id.is_empty() && call.id == id);
        let by_index = || id.strip_prefix("call_")?.parse().ok().filter(|at| *at < self.open.len());
        let last = || self.open.len().checked_sub(1);
        match name.is_empty() {
            false => by_id,
            true => by_id.or_else(by_index).or_else(last),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(wire: Wire, pieces: &[(&str, &str, Value)], expect: &[(&str, &str, Value)]) {
        let mut calls = Calls::new(wire);
        for (id, name, arguments) in pieces {
            let piece = WireCall {
                call_id: (*id).to_owned(),
                fn_name: (*name).to_owned(),
                fn_arguments: arguments.clone(),
                thought_signatures: None,
            };
            calls.add(piece).unwrap();
        }
        let found: Vec<_> = calls
            .finish()
            .into_iter()
            .map(|call| match call.arguments {
                Arguments::Object(value) => (call.id, call.name, value),
                Arguments::Malformed { text, .. } => (call.id, call.name, json!(text)),
            })
            .collect();
        let expect: Vec<_> = expect
            .iter()
            .map(|(id, name, value)| ((*id).to_owned(), (*name).to_owned(), value.clone()))
            .collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn differences_are_added_up_for_each_call() {
        check(
            Wire::OpenAi,
            &[
                ("call_abc", "read", json!("")),
                ("call_0", "", json!("{\"path\":")),
                ("call_def", "grep", json!("")),
                ("call_0", "", json!("\"a\"}")),
                ("call_1", "", json!("{\"pattern\":\"b\"}")),
            ],
            &[
                ("call_abc", "read", json!({"path": "a"})),
                ("call_def", "grep", json!({"pattern": "b"})),
            ],
        );
    }

    #[test]
    fn servers_that_repeat_or_leave_out_ids_are_understood() {
        let pieces = [("x", "read", json!("{")), ("x", "read", json!("}")), ("", "", json!(" "))];
        check(Wire::OpenAi, &pieces, &[("x", "read", json!({}))]);
        let pieces = [("call_0", "read", json!("{")), ("call_4000000000", "", json!("}"))];
        check(Wire::OpenAi, &pieces, &[("call_0", "read", json!({}))]);
    }

    #[test]
    fn what_there_is_so_far_replaces_what_was() {
        check(
            Wire::Anthropic,
            &[
                ("t1", "read", json!("")),
                ("t1", "read", json!("{\"path\"")),
                ("t1", "read", json!("{\"path\":\"a\"}")),
                ("t2", "read", json!("")),
            ],
            &[("t1", "read", json!({"path": "a"})), ("t2", "read", json!({}))],
        );
    }

    #[test]
    fn whole_calls_stay_apart_though_they_are_alike() {
        let one = ("read", "read", json!({"path": "a"}));
        check(Wire::Gemini, &[one.clone(), one.clone()], &[one.clone(), one]);
    }
}
