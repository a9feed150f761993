//! Puts tool calls together from the pieces that come over the wires, and tells of each piece what is new in it. OpenAI sends
//! differences, Anthropic what there is so far, Gemini and Ollama whole calls.

use genai::chat::ToolCall as WireCall;
use serde_json::Value;

use super::name::Wire;
use crate::limits::TOOL_CALLS_MAX;
use crate::{Arguments, Event, ModelError, ToolCall};

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

/// What a piece added.
#[derive(Debug, Default)]
pub(super) struct Grown {
    /// By how many bytes the calls grew.
    pub(super) bytes: usize,
    /// What there is to tell, if anything is new.
    pub(super) event: Option<Event>,
}

impl Open {
    /// Adds a later piece of arguments that come as text.
    fn add(&mut self, wire: Wire, text: String) -> Grown {
        let Pieces::Text(known) = &mut self.arguments else { return Grown::default() };
        let new = match wire {
            // Whatever is said anew from its beginning cannot be told as an addition; the whole call will say it.
            Wire::Anthropic => {
                let new = text.strip_prefix(known.as_str()).unwrap_or_default().to_owned();
                *known = text;
                new
            }
            Wire::OpenAi | Wire::Gemini | Wire::Ollama => {
                known.push_str(&text);
                text
            }
        };
        let bytes = new.len();
        let event = (bytes > 0).then(|| Event::ToolInput {
            id: self.id.clone(),
            name: self.name.clone(),
            text: new,
        });
        Grown { bytes, event }
    }
}

impl Calls {
    pub(super) fn new(wire: Wire) -> Self {
        Self { wire, open: Vec::new() }
    }

    /// Takes a piece in.
    pub(super) fn add(&mut self, piece: WireCall) -> Result<Grown, ModelError> {
        let WireCall { call_id, fn_name, fn_arguments, thought_signatures } = piece;
        let signatures = thought_signatures.unwrap_or_default();
        let (text, arguments) = match fn_arguments {
            Value::String(text) => (text.clone(), Pieces::Text(text)),
            whole => (whole.to_string(), Pieces::Whole(whole)),
        };
        let is_whole = matches!(arguments, Pieces::Whole(_));
        let place = if is_whole { None } else { self.place(&call_id, &fn_name) };
        match place.and_then(|place| self.open.get_mut(place)) {
            Some(open) => Ok(open.add(self.wire, text)),
            None => {
                let named = call_id.len() + fn_name.len();
                let bytes = named + text.len() + signatures.iter().map(String::len).sum::<usize>();
                let event = Event::ToolInput { id: call_id.clone(), name: fn_name.clone(), text };
                self.begin(Open { id: call_id, name: fn_name, arguments, signatures })?;
                Ok(Grown { bytes, event: Some(event) })
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
    /// gives it `call_` and its index. Servers that call their calls so themselves count from 0 or from 1, so that the
    /// index is believed before the id.
    fn place(&self, id: &str, name: &str) -> Option<usize> {
        let by_id = self.open.iter().position(|call| !id.is_empty() && call.id == id);
        let by_index = || id.strip_prefix("call_")?.parse().ok().filter(|at| *at < self.open.len());
        let last = || self.open.len().checked_sub(1);
        match name.is_empty() {
            false => by_id,
            true => by_index().or(by_id).or_else(last),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(wire: Wire, pieces: &[(&str, &str, Value)], expect: &[(&str, &str, Value)]) {
        let mut calls = Calls::new(wire);
        let mut told = std::collections::BTreeMap::<String, String>::new();
        for (id, name, arguments) in pieces {
            let piece = WireCall {
                call_id: (*id).to_owned(),
                fn_name: (*name).to_owned(),
                fn_arguments: arguments.clone(),
                thought_signatures: None,
            };
            if let Some(Event::ToolInput { id, text, .. }) = calls.add(piece).unwrap().event {
                told.entry(id).or_default().push_str(&text);
            }
        }
        for call in &calls.open {
            // Calls that come whole may share a name.
            if let Pieces::Text(known) = &call.arguments {
                assert_eq!(told.get(&call.id), Some(known), "what was told piece by piece");
            }
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
    fn a_server_that_counts_its_calls_from_one_is_understood() {
        check(
            Wire::OpenAi,
            &[
                ("call_1", "read", json!("")),
                ("call_0", "", json!("{\"path\":\"a\"}")),
                ("call_2", "grep", json!("")),
                ("call_1", "", json!("{\"pattern\":\"b\"}")),
            ],
            &[
                ("call_1", "read", json!({"path": "a"})),
                ("call_2", "grep", json!({"pattern": "b"})),
            ],
        );
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
