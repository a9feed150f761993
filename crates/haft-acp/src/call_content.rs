//! Formats results for editors, which draw them as Markdown. Results are bounded and fenced, so that a tool's output cannot look like
//! anything else.

use agent_client_protocol::v1::schema::{
    Content, ContentBlock, ImageContent, TextContent, ToolCallContent, ToolKind as AcpToolKind,
};
use haft_contract::{ContentPart, Envelope, ToolKind, cut};

use crate::advice::sentence_for_editor;
use crate::limits::SHOWN_RESULT_CHARS_MAX;

/// Tools whose output is Markdown.
const MARKDOWN: &[&str] = &["task", "web_fetch", "skill"];

/// Returns a text as a content of a call.
pub(crate) fn text_content(text: impl Into<String>) -> ToolCallContent {
    ToolCallContent::Content(Content::new(ContentBlock::Text(TextContent::new(text))))
}

/// Returns the result of a call, or `None` if it is empty.
pub(crate) fn result_content(tool: &str, envelope: &Envelope) -> Option<ToolCallContent> {
    let mut text = envelope.text();
    if let Some(advice) = envelope.metadata().refusal.as_deref().and_then(sentence_for_editor) {
        text.push_str(&format!("\n\n{advice}"));
    }
    if text.trim().is_empty() {
        return None;
    }
    let text = cut(&text, SHOWN_RESULT_CHARS_MAX);
    let is_markdown = MARKDOWN.contains(&tool) && matches!(envelope, Envelope::Output { .. });
    Some(text_content(if is_markdown { text } else { fenced(&text) }))
}

/// Returns the images in the result of a call.
pub(crate) fn result_images(envelope: &Envelope) -> Vec<ToolCallContent> {
    let Envelope::Output { data, metadata } = envelope else { return Vec::new() };
    let parts = metadata.content.then(|| ContentPart::of_data(data)).flatten();
    let images = parts.into_iter().flatten().filter_map(|part| match part {
        ContentPart::Image { mime_type, data } => {
            let image = ContentBlock::Image(ImageContent::new(data, mime_type));
            Some(ToolCallContent::Content(Content::new(image)))
        }
        ContentPart::Text { .. }
        | ContentPart::Audio { .. }
        | ContentPart::Resource { .. }
        | ContentPart::Link { .. } => None,
    });
    images.collect()
}

/// Returns a text between fences that are longer than any fence in it.
pub(crate) fn fenced(text: &str) -> String {
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    let newline = if text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}\n{text}{newline}{fence}")
}

/// Returns the kind of a tool as editors know it.
pub(crate) fn tool_kind(kind: ToolKind) -> AcpToolKind {
    match kind {
        ToolKind::Read => AcpToolKind::Read,
        ToolKind::Edit => AcpToolKind::Edit,
        ToolKind::Delete => AcpToolKind::Delete,
        ToolKind::Move => AcpToolKind::Move,
        ToolKind::Search => AcpToolKind::Search,
        ToolKind::Execute => AcpToolKind::Execute,
        ToolKind::Think => AcpToolKind::Think,
        ToolKind::Fetch => AcpToolKind::Fetch,
        // A new kind has no equivalent here.
        _ => AcpToolKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use haft_contract::EnvelopeMetadata;
    use serde_json::Value;

    use super::*;

    fn shown(tool: &str, text: &str) -> Option<String> {
        let data = Value::from(text);
        let content = result_content(
            tool,
            &Envelope::Output { data, metadata: EnvelopeMetadata::default() },
        )?;
        let content = serde_json::to_value(content).unwrap();
        Some(content["content"]["text"].as_str().unwrap().to_owned())
    }

    #[test]
    fn a_result_looks_like_nothing_but_itself() {
        let check = |tool: &str, text: &str, expect: Option<&str>| {
            assert_eq!(shown(tool, text).as_deref(), expect, "{text:?}");
        };
        check("read", "# one\ntwo\n", Some("```\n# one\ntwo\n```"));
        check("read", "a ``` b ````", Some("`````\na ``` b ````\n`````"));
        check("task", "# done", Some("# done"));
        check("read", " \n", None);
    }

    #[test]
    fn images_of_a_result_are_shown_as_images() {
        let image =
            ContentPart::Image { mime_type: "image/png".to_owned(), data: "QUJD".to_owned() };
        let data = ContentPart::data(&[ContentPart::Text { text: "a.png".to_owned() }, image]);
        let metadata = EnvelopeMetadata { content: true, ..EnvelopeMetadata::default() };
        let images = result_images(&Envelope::Output { data, metadata });
        assert_eq!(
            serde_json::to_value(images).unwrap(),
            serde_json::json!([{
                "type": "content",
                "content": {"type": "image", "data": "QUJD", "mimeType": "image/png"},
            }])
        );
    }

    #[test]
    fn so_much_of_a_result_is_shown() {
        let around = "```\n\n```".len();
        let chars = |chars: usize| shown("read", &"ä".repeat(chars)).unwrap().chars().count();
        assert_eq!(chars(SHOWN_RESULT_CHARS_MAX), SHOWN_RESULT_CHARS_MAX + around);
        // One more than is shown is the mark that the rest is left out.
        assert_eq!(chars(SHOWN_RESULT_CHARS_MAX + 9), SHOWN_RESULT_CHARS_MAX + 1 + around);
    }
}
