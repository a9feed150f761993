//! A server's answer to a call as haft's own: text is text, structure is data, pictures and the like are parts, and a failure is
//! an error that says whose it is.

use haft_contract::{ContentPart, ErrorCode, OutputBody, ResourceBody, ToolError, ToolOutput};
use serde_json::Value;

use haft::terminal_text;
use haft_contract::{clean, cut};

/// Longest name, address or type of a content that is described, in characters.
const SHOWN_CHARS_MAX: usize = 200;

pub(super) fn output(server: &str, result: &Value) -> Result<ToolOutput, ToolError> {
    let contents = match result.get("content") {
        None | Some(Value::Null) => &[],
        Some(Value::Array(contents)) => contents.as_slice(),
        Some(_) => return Err(bad_result_error(server)),
    };
    let structured = result.get("structuredContent").filter(|value| !value.is_null());
    if result.get("content").is_none() && structured.is_none() {
        return Err(bad_result_error(server));
    }
    let parts: Vec<ContentPart> = contents.iter().map(parse_part).collect();
    let texts: Vec<String> = parts.iter().map(ContentPart::text).collect();
    let text = texts.join("\n");
    if result.get("isError").and_then(Value::as_bool) == Some(true) {
        return Err(match (text.trim().is_empty(), structured) {
            (false, _) => refusal(server, &text),
            (true, Some(structured)) => refusal(server, &structured.to_string()),
            (true, None) => refusal(server, "the tool failed and did not say why"),
        });
    }
    // A structure whose only field is the text itself is returned as text, which a model reads better. Numbers and lists
    // that the text repeats are better read as data.
    let is_only_text = |structured: &Value| {
        let fields = structured.as_object().filter(|fields| fields.len() == 1);
        fields.is_some_and(|fields| fields.values().all(|only| *only == text))
    };
    match structured {
        Some(structured) if !is_only_text(structured) => Ok(ToolOutput::data(structured.clone())),
        Some(_) | None if parts.iter().all(|part| matches!(part, ContentPart::Text { .. })) => {
            Ok(ToolOutput::text(text))
        }
        Some(_) | None => Ok(ToolOutput::new(OutputBody::Content(parts))),
    }
}

pub(super) fn refusal(server: &str, message: &str) -> ToolError {
    let message = clean(&terminal_text(message));
    ToolError::new(ErrorCode::ToolFailed, format!("mcp server {server}: {}", message.trim()))
}

fn bad_result_error(server: &str) -> ToolError {
    let message = format!("mcp server {server}: the answer is no result of a call");
    ToolError::new(ErrorCode::ToolBadOutput, message)
}

/// Returns a content as a part of haft's own. An unknown content becomes a text that names it.
fn parse_part(content: &Value) -> ContentPart {
    let field = |name: &str| content.get(name).and_then(Value::as_str);
    let short = |text: &str| cut(&clean(text).replace('\n', " "), SHOWN_CHARS_MAX);
    let described = |what: String| ContentPart::Text { text: format!("[{what}: not shown]") };
    let mime_type = |name: Option<&str>| name.map(short);
    match field("type") {
        Some("text") => ContentPart::Text { text: field("text").unwrap_or_default().to_owned() },
        Some(kind @ ("image" | "audio")) => {
            let mime_type = mime_type(field("mimeType"));
            match (kind, mime_type, field("data").filter(|data| is_base64(data))) {
                ("image", Some(mime_type), Some(data)) => {
                    ContentPart::Image { mime_type, data: data.to_owned() }
                }
                (_, Some(mime_type), Some(data)) => {
                    ContentPart::Audio { mime_type, data: data.to_owned() }
                }
                (kind, _, _) => described(format!("{kind} without a type, or not in base64")),
            }
        }
        Some("resource_link") => ContentPart::Link {
            uri: short(field("uri").unwrap_or_default()),
            name: short(field("name").or(field("title")).unwrap_or("resource")),
            mime_type: mime_type(field("mimeType")),
        },
        Some("resource") => {
            let resource = content.get("resource");
            let inner = |name: &str| resource.and_then(|resource| resource.get(name)?.as_str());
            let uri = short(inner("uri").unwrap_or_default());
            let body = match (inner("text"), inner("blob").filter(|blob| is_base64(blob))) {
                (Some(text), _) => ResourceBody::Text(text.to_owned()),
                (None, Some(blob)) => ResourceBody::Blob(blob.to_owned()),
                (None, None) => return described(format!("resource {uri} without content")),
            };
            ContentPart::Resource { uri, mime_type: mime_type(inner("mimeType")), body }
        }
        Some(other) => described(format!("content of type {:?}", short(other))),
        None => described("content of no type".to_owned()),
    }
}

/// Returns whether a text can be bytes in base64, as front ends are to hand them on.
fn is_base64(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    let is_good = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    text.len().is_multiple_of(4) && text.len() - body.len() <= 2 && body.bytes().all(is_good)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(result: Value) -> String {
        match output("git", &result) {
            Ok(ToolOutput { body: OutputBody::Text(text), .. }) => format!("text {text:?}"),
            Ok(ToolOutput { body: OutputBody::Data(data), .. }) => format!("data {data}"),
            Ok(other) => format!("{other:?}"),
            Err(err) => format!("{}: {}", err.code, err.message),
        }
    }

    #[test]
    fn answers_are_text_data_or_errors() {
        let check = |result: Value, expect: &str| assert_eq!(shown(result), expect);
        let text = |text: &str| json!({"type": "text", "text": text});
        check(json!({"content": [text("a"), text("b")]}), r#"text "a\nb""#);
        check(json!({"content": []}), r#"text """#);
        check(
            json!({"content": [text("{\"n\":1}")], "structuredContent": {"n": 1}}),
            r#"data {"n":1}"#,
        );
        check(
            json!({"content": [text("hi")], "structuredContent": {"result": "hi"}}),
            r#"text "hi""#,
        );
        check(json!({"structuredContent": {"n": 1}}), r#"data {"n":1}"#);
        check(
            json!({"content": [text("no \u{1b}[31mway\n")], "isError": true}),
            "TOOL_FAILED: mcp server git: no way",
        );
        check(
            json!({"content": [], "isError": true}),
            "TOOL_FAILED: mcp server git: the tool failed and did not say why",
        );
        check(
            json!({"odd": true}),
            "TOOL_BAD_OUTPUT: mcp server git: the answer is no result of a call",
        );
        check(
            json!({"content": "odd"}),
            "TOOL_BAD_OUTPUT: mcp server git: the answer is no result of a call",
        );
    }

    #[test]
    fn what_is_more_than_text_is_kept_as_it_is() {
        let check = |content: Value, expect: Value| {
            assert_eq!(serde_json::to_value(parse_part(&content)).unwrap(), expect);
        };
        let image = json!({"type": "image", "mimeType": "image/png", "data": "AAAA"});
        let kept = json!({"type": "image", "mime_type": "image/png", "data": "AAAA"});
        check(image.clone(), kept);
        check(
            json!({"type": "resource_link", "uri": "file:///a", "name": "a\u{1b}b"}),
            json!({"type": "link", "uri": "file:///a", "name": "ab"}),
        );
        check(
            json!({"type": "resource", "resource": {"uri": "x:y", "text": "inside"}}),
            json!({"type": "resource", "uri": "x:y", "text": "inside"}),
        );
        let text = |text: &str| json!({"type": "text", "text": text});
        check(
            json!({"type": "audio", "mimeType": "audio/wav", "data": "<script>"}),
            text("[audio without a type, or not in base64: not shown]"),
        );
        check(json!({"type": "video"}), text("[content of type \"video\": not shown]"));
        check(json!(5), text("[content of no type: not shown]"));
        let mixed = output("git", &json!({"content": [{"type": "text", "text": "a"}, image]}));
        assert!(matches!(mixed.unwrap().body, OutputBody::Content(parts) if parts.len() == 2));
    }

    #[test]
    fn bytes_are_told_by_their_letters() {
        for good in ["", "AAAA", "AA==", "AAA=", "a+/9"] {
            assert!(is_base64(good), "{good}");
        }
        for bad in ["A", "A===", "AA=A", "AA A", "ä==="] {
            assert!(!is_base64(bad), "{bad}");
        }
    }
}
