//! Assembles tool calls from the pieces of each protocol, and reports the new part of each piece.
//! OpenAI sends differences, Anthropic the text so far, Gemini and Ollama complete calls.

use genai::chat::ToolCall as WireCall;
use serde_json::Value;

use crate::limits::TOOL_CALLS_MAX;
use crate::name::ProviderProtocol;
use crate::{ModelError, ModelEvent, ToolCall, ToolCallArguments};

#[derive(Debug)]
pub(super) struct ToolCallAssembler {
    wire: ProviderProtocol,
    open: Vec<PartialToolCall>,
}

#[derive(Debug)]
struct PartialToolCall {
    id: String,
    name: String,
    arguments: PartialToolCallArguments,
    signatures: Vec<String>,
}

#[derive(Debug)]
enum PartialToolCallArguments {
    Text(String),
    Whole(Value),
}

/// The new part of a piece.
#[derive(Debug, Default)]
pub(super) struct ToolCallGrowth {
    /// The number of bytes that the piece added.
    pub(super) bytes: usize,
    /// The event to report, if anything is new.
    pub(super) event: Option<ModelEvent>,
}

impl PartialToolCall {
    /// Adds a later piece of arguments that are sent as text.
    fn add(&mut self, wire: ProviderProtocol, text: String) -> ToolCallGrowth {
        let PartialToolCallArguments::Text(known) = &mut self.arguments else {
            return ToolCallGrowth::default();
        };
        let new = match wire {
            // A text that starts over cannot be reported as an addition; the complete call will
            // contain it.
            ProviderProtocol::Anthropic => {
                let new = text.strip_prefix(known.as_str()).unwrap_or_default().to_owned();
                *known = text;
                new
            }
            ProviderProtocol::OpenAi | ProviderProtocol::Gemini | ProviderProtocol::Ollama => {
                known.push_str(&text);
                text
            }
        };
        let bytes = new.len();
        let event = (bytes > 0).then(|| ModelEvent::ToolInput {
            id: self.id.clone(),
            name: self.name.clone(),
            text: new,
        });
        ToolCallGrowth { bytes, event }
    }
}

impl ToolCallAssembler {
    pub(super) fn new(wire: ProviderProtocol) -> Self {
        Self { wire, open: Vec::new() }
    }

    /// Adds a piece.
    pub(super) fn add(&mut self, piece: WireCall) -> Result<ToolCallGrowth, ModelError> {
        let WireCall { call_id, fn_name, fn_arguments, thought_signatures } = piece;
        let signatures = thought_signatures.unwrap_or_default();
        let (text, arguments) = match fn_arguments {
            Value::String(text) => (text.clone(), PartialToolCallArguments::Text(text)),
            whole => (whole.to_string(), PartialToolCallArguments::Whole(whole)),
        };
        let is_whole = matches!(arguments, PartialToolCallArguments::Whole(_));
        let place = if is_whole { None } else { self.place(&call_id, &fn_name) };
        match place.and_then(|place| self.open.get_mut(place)) {
            Some(open) => Ok(open.add(self.wire, text)),
            None => {
                let named = call_id.len() + fn_name.len();
                let bytes = named + text.len() + signatures.iter().map(String::len).sum::<usize>();
                let event =
                    ModelEvent::ToolInput { id: call_id.clone(), name: fn_name.clone(), text };
                if self.open.len() >= TOOL_CALLS_MAX {
                    return Err(ModelError::TooLong);
                }
                let (id, name) = (call_id, fn_name);
                self.open.push(PartialToolCall { id, name, arguments, signatures });
                Ok(ToolCallGrowth { bytes, event: Some(event) })
            }
        }
    }

    pub(super) fn finish(self) -> Vec<ToolCall> {
        let whole = |call: PartialToolCall| ToolCall {
            id: call.id,
            name: call.name,
            arguments: match call.arguments {
                PartialToolCallArguments::Text(text) => ToolCallArguments::parse(&text),
                PartialToolCallArguments::Whole(value) => ToolCallArguments::of_value(value),
            },
            signatures: call.signatures,
        };
        self.open.into_iter().map(whole).collect()
    }

    /// Returns the call of a piece. In OpenAI's protocol a later piece need not have an id; the
    /// library then gives it `call_` and its index. Some servers use such ids themselves and count
    /// from 0 or from 1, so the index takes precedence over the id.
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

    fn check(
        wire: ProviderProtocol,
        pieces: &[(&str, &str, Value)],
        expect: &[(&str, &str, Value)],
    ) {
        let mut calls = ToolCallAssembler::new(wire);
        let mut reported = std::collections::BTreeMap::<String, String>::new();
        for (id, name, arguments) in pieces {
            let piece = WireCall {
                call_id: (*id).to_owned(),
                fn_name: (*name).to_owned(),
                fn_arguments: arguments.clone(),
                thought_signatures: None,
            };
            if let Some(ModelEvent::ToolInput { id, text, .. }) = calls.add(piece).unwrap().event {
                reported.entry(id).or_default().push_str(&text);
            }
        }
        for call in &calls.open {
            // Complete calls may share a name.
            if let PartialToolCallArguments::Text(known) = &call.arguments {
                assert_eq!(reported.get(&call.id), Some(known), "what was told piece by piece");
            }
        }
        let found: Vec<_> = calls
            .finish()
            .into_iter()
            .map(|call| match call.arguments {
                ToolCallArguments::Object(value) => (call.id, call.name, value),
                ToolCallArguments::Malformed { text, .. } => (call.id, call.name, json!(text)),
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
            ProviderProtocol::OpenAi,
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
        check(ProviderProtocol::OpenAi, &pieces, &[("x", "read", json!({}))]);
        let pieces = [("call_0", "read", json!("{")), ("call_4000000000", "", json!("}"))];
        check(ProviderProtocol::OpenAi, &pieces, &[("call_0", "read", json!({}))]);
    }

    #[test]
    fn a_server_that_counts_its_calls_from_one_is_understood() {
        check(
            ProviderProtocol::OpenAi,
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
            ProviderProtocol::Anthropic,
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
        check(ProviderProtocol::Gemini, &[one.clone(), one.clone()], &[one.clone(), one]);
    }
}
