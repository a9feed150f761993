//! JSON-RPC as far as it is spoken with language servers: what a message is, and what is written. Nothing here knows what
//! methods mean.

use serde_json::{Value, json};

/// The code of an error for a method that this side does not have.
const METHOD_NOT_FOUND: i64 = -32_601;

/// A message of a server.
#[derive(Debug, PartialEq)]
pub(crate) enum Incoming {
    /// The answer to a request of this side.
    Answer {
        /// The number of the request.
        id: i64,
        /// The result, or why there is none.
        result: Result<Value, Refusal>,
    },
    /// A request, which is to be answered.
    Request {
        /// What the answer names: a number or a text.
        id: Value,
        /// What is asked.
        method: String,
        /// The rest.
        params: Value,
    },
    /// A message that wants no answer.
    Notification {
        /// What it is about.
        method: String,
        /// The rest.
        params: Value,
    },
}

/// The error that a request was answered with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// Its code.
    pub(crate) code: i64,
    /// What the server says.
    pub(crate) message: String,
}

impl Incoming {
    /// Returns the message in these bytes, or what is wrong with them.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let message: Value = serde_json::from_slice(bytes)
            .map_err(|_| "it sent a message that is not JSON".to_owned())?;
        let Value::Object(mut fields) = message else {
            return Err("it sent a message that is no object".to_owned());
        };
        let mut take = |name: &str| fields.shift_remove(name);
        let (id, params) = (take("id"), take("params").unwrap_or_default());
        match (take("method"), id) {
            (Some(Value::String(method)), None) => Ok(Self::Notification { method, params }),
            (Some(Value::String(method)), Some(id)) => Ok(Self::Request { id, method, params }),
            (Some(_), _) => Err("it sent a message whose method is no text".to_owned()),
            (None, id) => {
                let Some(id) = id.as_ref().and_then(Value::as_i64) else {
                    return Err("it answered without the number of a request".to_owned());
                };
                let result = match take("error") {
                    Some(error) if !error.is_null() => Err(Refusal {
                        code: error.get("code").and_then(Value::as_i64).unwrap_or_default(),
                        message: text_of(&error, "message").unwrap_or_default().to_owned(),
                    }),
                    Some(_) | None => Ok(take("result").unwrap_or_default()),
                };
                Ok(Self::Answer { id, result })
            }
        }
    }
}

/// Returns a request.
pub(crate) fn request(id: i64, method: &str, params: &Value) -> Vec<u8> {
    bytes(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
}

/// Returns a message that wants no answer.
pub(crate) fn notification(method: &str, params: &Value) -> Vec<u8> {
    bytes(&json!({ "jsonrpc": "2.0", "method": method, "params": params }))
}

/// Returns the answer to a request; none means that this side does not have such a method.
pub(crate) fn answer(id: &Value, result: Option<Value>) -> Vec<u8> {
    bytes(&match result {
        Some(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        None => json!({
            "jsonrpc": "2.0",
            "id": id,
            "error": { "code": METHOD_NOT_FOUND, "message": "this client does not do that" },
        }),
    })
}

/// Returns the text that an object has under a name.
pub(crate) fn text_of<'v>(value: &'v Value, name: &str) -> Option<&'v str> {
    value.get(name).and_then(Value::as_str)
}

fn bytes(message: &Value) -> Vec<u8> {
    message.to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_told_apart() {
        let check = |text: &str, expect: &str| {
            let shown = match Incoming::parse(text.as_bytes()) {
                Ok(message) => format!("{message:?}"),
                Err(why) => why,
            };
            assert_eq!(shown, expect, "{text}");
        };
        check(r#"{"id":1,"result":[2]}"#, "Answer { id: 1, result: Ok(Array [Number(2)]) }");
        check(r#"{"id":1,"result":null,"error":null}"#, "Answer { id: 1, result: Ok(Null) }");
        check(
            r#"{"id":1,"error":{"code":-5,"message":"m"}}"#,
            "Answer { id: 1, result: Err(Refusal { code: -5, message: \"m\" }) }",
        );
        check(
            r#"{"id":"a","method":"m","params":1}"#,
            "Request { id: String(\"a\"), method: \"m\", params: Number(1) }",
        );
        check(r#"{"method":"m"}"#, "Notification { method: \"m\", params: Null }");
        check("{", "it sent a message that is not JSON");
        check("[]", "it sent a message that is no object");
        check(r#"{"method":1}"#, "it sent a message whose method is no text");
        check(r#"{"id":"x","result":1}"#, "it answered without the number of a request");
        check("{}", "it answered without the number of a request");
    }

    #[test]
    fn what_is_not_done_is_said() {
        let text = String::from_utf8(answer(&json!("a"), None)).unwrap();
        assert_eq!(
            text,
            r#"{"jsonrpc":"2.0","id":"a","error":{"code":-32601,"message":"this client does not do that"}}"#
        );
        let text = String::from_utf8(answer(&json!(1), Some(Value::Null))).unwrap();
        assert_eq!(text, r#"{"jsonrpc":"2.0","id":1,"result":null}"#);
    }
}
