//! The part of JSON-RPC that language servers use: parsing and writing messages. The meaning of
//! methods is defined elsewhere.

use serde_json::{Value, json};

/// The error code for a method that this side does not support.
const METHOD_NOT_FOUND: i64 = -32_601;

/// A message from a server.
#[derive(Debug, PartialEq)]
pub(crate) enum IncomingLspMessage {
    /// The answer to a request from this side.
    Answer {
        /// The number of the request.
        id: i64,
        /// The result, or the error.
        result: Result<Value, LspErrorResponse>,
    },
    /// A request, which must be answered.
    Request {
        /// The identifier for the answer: a number or a text.
        id: Value,
        /// The requested method.
        method: String,
        /// The parameters.
        params: Value,
    },
    /// A message without an answer.
    Notification {
        /// The method.
        method: String,
        /// The parameters.
        params: Value,
    },
}

/// An error answer to a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LspErrorResponse {
    /// Its code.
    pub(crate) code: i64,
    /// The server's message.
    pub(crate) message: String,
}

impl IncomingLspMessage {
    /// Parses a message; the error says what is wrong with it.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let message: Value = serde_json::from_slice(bytes)
            .map_err(|_| "it sent a message that is not JSON".to_owned())?;
        let Value::Object(mut fields) = message else {
            return Err("it sent a message that is not an object".to_owned());
        };
        let mut take = |name: &str| fields.shift_remove(name);
        let (id, params) = (take("id"), take("params").unwrap_or_default());
        match (take("method"), id) {
            (Some(Value::String(method)), None) => Ok(Self::Notification { method, params }),
            (Some(Value::String(method)), Some(id)) => Ok(Self::Request { id, method, params }),
            (Some(_), _) => Err("it sent a message whose method is not text".to_owned()),
            (None, id) => {
                let Some(id) = id.as_ref().and_then(Value::as_i64) else {
                    return Err("it answered without the number of a request".to_owned());
                };
                let result = match take("error") {
                    Some(error) if !error.is_null() => Err(LspErrorResponse {
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

/// Returns an encoded request.
pub(crate) fn request(id: i64, method: &str, params: &Value) -> Vec<u8> {
    bytes(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
}

/// Returns an encoded notification.
pub(crate) fn notification(method: &str, params: &Value) -> Vec<u8> {
    bytes(&json!({ "jsonrpc": "2.0", "method": method, "params": params }))
}

/// Returns the encoded answer to a request; `None` means that the method is not supported.
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

/// Returns an object's text field.
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
            let shown = match IncomingLspMessage::parse(text.as_bytes()) {
                Ok(message) => format!("{message:?}"),
                Err(why) => why,
            };
            assert_eq!(shown, expect, "{text}");
        };
        check(r#"{"id":1,"result":[2]}"#, "Answer { id: 1, result: Ok(Array [Number(2)]) }");
        check(r#"{"id":1,"result":null,"error":null}"#, "Answer { id: 1, result: Ok(Null) }");
        check(
            r#"{"id":1,"error":{"code":-5,"message":"m"}}"#,
            "Answer { id: 1, result: Err(LspErrorResponse { code: -5, message: \"m\" }) }",
        );
        check(
            r#"{"id":"a","method":"m","params":1}"#,
            "Request { id: String(\"a\"), method: \"m\", params: Number(1) }",
        );
        check(r#"{"method":"m"}"#, "Notification { method: \"m\", params: Null }");
        check("{", "it sent a message that is not JSON");
        check("[]", "it sent a message that is not an object");
        check(r#"{"method":1}"#, "it sent a message whose method is not text");
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
