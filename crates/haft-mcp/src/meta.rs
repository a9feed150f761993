//! The `_meta` of a request: the address of its call. Unknown keys of haft are refused and not ignored: a driver that asks
//! for a replay must not get an execution.

use haft::{ResumeMode, TaskAttempt};
use haft_contract::{AttemptAddress, CallAddressError, RunId};
use rmcp::ErrorData;
use rmcp::model::JsonObject;
use serde_json::Value;

use crate::limits::DRIVER_CALL_ID_CHARS_MAX;

const PREFIX: &str = "haft/";
const RUN: &str = "haft/run";
const NODE: &str = "haft/node";
const ITERATION: &str = "haft/iteration";
const ATTEMPT: &str = "haft/attempt";
const CALL: &str = "haft/call";
const RESUME: &str = "haft/resume";
const KNOWN_KEYS: [&str; 6] = [RUN, NODE, ITERATION, ATTEMPT, CALL, RESUME];
/// Facts that haft publishes about a tool. Some clients send the `_meta` of a tool back with each call of it.
pub(crate) const EFFECT: &str = "haft/effect";
pub(crate) const REQUIRES: &str = "haft/requires";

/// Where a call belongs, as its driver says.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct CallMeta {
    /// The run, `None` for the connection's own.
    pub(crate) run: Option<RunId>,
    pub(crate) address: TaskAttempt,
    pub(crate) driver_call_id: Option<String>,
    /// How the driver goes on with what was begun before.
    pub(crate) resume: ResumeMode,
}

/// Where calls of the connection's own run belong that do not say so.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallMetaDefaults {
    pub(crate) address: TaskAttempt,
    pub(crate) resume: ResumeMode,
}

impl CallMeta {
    /// Returns what `meta` says, and for calls of the connection's own run what `usual` says where it is silent; an error
    /// names the key, what was expected and what was found.
    pub(crate) fn parse(meta: &JsonObject, usual: &CallMetaDefaults) -> Result<Self, ErrorData> {
        let is_known = |key: &String| {
            KNOWN_KEYS.contains(&key.as_str()) || [EFFECT, REQUIRES].contains(&key.as_str())
        };
        if let Some(unknown) = meta.keys().find(|key| key.starts_with(PREFIX) && !is_known(key)) {
            let message =
                format!("_meta {unknown:?} is not known: expected {}", KNOWN_KEYS.join(", "));
            return Err(ErrorData::invalid_params(message, None));
        }
        let run = text(meta, RUN)?
            .map(RunId::parse)
            .transpose()
            .map_err(|err| address_error(RUN, &err))?;
        let elsewhere = CallMetaDefaults::default();
        let CallMetaDefaults { address: usual, resume: usually } =
            if run.is_none() { usual } else { &elsewhere };
        let node = match text(meta, NODE)? {
            None => usual.node.clone(),
            // A node name is checked as part of an address; the other parts are placeholders.
            Some(node) => {
                RunId::parse(AttemptAddress::NODE_DEFAULT)
                    .and_then(|run| {
                        let node = node.to_owned();
                        AttemptAddress { node, ..AttemptAddress::first_of_run(run) }.validated()
                    })
                    .map_err(|err| address_error(NODE, &err))?
                    .node
            }
        };
        let place = TaskAttempt {
            node,
            iteration: count(meta, ITERATION, 0)?.unwrap_or(usual.iteration),
            attempt: count(meta, ATTEMPT, 1)?.unwrap_or(usual.attempt),
        };
        let driver_call_id = text(meta, CALL)?.map(str::to_owned);
        let id_chars = driver_call_id.as_ref().map_or(1, |id| id.chars().count());
        if !(1..=DRIVER_CALL_ID_CHARS_MAX).contains(&id_chars) {
            let message = format!(
                "_meta {CALL:?}: expected 1 to {DRIVER_CALL_ID_CHARS_MAX} characters, found {id_chars}"
            );
            return Err(ErrorData::invalid_params(message, None));
        }
        let resume = match text(meta, RESUME)? {
            None => *usually,
            Some("continue") => ResumeMode::Continue,
            Some("replay") => ResumeMode::Replay,
            Some(other) => {
                let message = format!(
                    "_meta {RESUME:?}: expected \"continue\" or \"replay\", found {other:?}"
                );
                return Err(ErrorData::invalid_params(message, None));
            }
        };
        Ok(Self { run, address: place, driver_call_id, resume })
    }
}

fn text<'a>(meta: &'a JsonObject, key: &str) -> Result<Option<&'a str>, ErrorData> {
    match meta.get(key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(unexpected(key, "a string", other)),
    }
}

fn count(meta: &JsonObject, key: &str, min: u32) -> Result<Option<u32>, ErrorData> {
    let Some(value) = meta.get(key) else { return Ok(None) };
    let count = value.as_u64().and_then(|count| u32::try_from(count).ok());
    match count.filter(|count| *count >= min) {
        Some(count) => Ok(Some(count)),
        None => Err(unexpected(key, &format!("an integer from {min} to {}", u32::MAX), value)),
    }
}

fn address_error(key: &str, err: &CallAddressError) -> ErrorData {
    ErrorData::invalid_params(format!("_meta {key:?}: {err}"), None)
}

fn unexpected(key: &str, expected: &str, found: &Value) -> ErrorData {
    let kind = match found {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "a boolean".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(_) => "a string".to_owned(),
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    };
    ErrorData::invalid_params(format!("_meta {key:?}: expected {expected}, found {kind}"), None)
}

#[cfg(test)]
mod tests;
