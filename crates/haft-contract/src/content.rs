//! Answers that are more than text: pictures, sounds, resources. Their bytes travel as base64 text, as every front end and
//! the journal hold them; nothing here decodes, shows or shrinks them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One part of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContentPart {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// A picture.
    Image {
        /// Its MIME type.
        mime_type: String,
        /// Its bytes as base64.
        data: String,
    },
    /// A sound.
    Audio {
        /// Its MIME type.
        mime_type: String,
        /// Its bytes as base64.
        data: String,
    },
    /// A resource with its content.
    Resource {
        /// Its address.
        uri: String,
        /// Its MIME type.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mime_type: Option<String>,
        /// Its content.
        #[serde(flatten)]
        body: ResourceBody,
    },
    /// The address of a resource.
    Link {
        /// Its address.
        uri: String,
        /// Its name.
        name: String,
        /// Its MIME type.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mime_type: Option<String>,
    },
}

/// The content of a resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResourceBody {
    /// Text.
    Text(String),
    /// Bytes as base64.
    Blob(String),
}

/// The field of an envelope's data that holds its parts.
const FIELD: &str = "content";

impl ContentPart {
    /// Returns parts as the data of an envelope.
    pub fn data(parts: &[Self]) -> Value {
        serde_json::json!({ FIELD: parts })
    }

    /// Returns the parts in the data of an envelope; `None` where it holds something else.
    pub fn of_data(data: &Value) -> Option<Vec<Self>> {
        Vec::deserialize(data.get(FIELD)?).ok()
    }

    /// Returns the part as a model reads it that is shown text alone.
    pub fn text(&self) -> String {
        match self {
            Self::Text { text } => text.clone(),
            Self::Image { mime_type, data } => described("image", mime_type, data),
            Self::Audio { mime_type, data } => described("audio", mime_type, data),
            Self::Resource { body: ResourceBody::Text(text), .. } => text.clone(),
            Self::Resource { uri, mime_type, body: ResourceBody::Blob(blob) } => {
                let mime_type = mime_type.as_deref().unwrap_or("bytes");
                format!("{uri}: {}", described("resource", mime_type, blob))
            }
            Self::Link { uri, name, .. } => format!("[{name}: {uri}]"),
        }
    }
}

fn described(kind: &str, mime_type: &str, data: &str) -> String {
    let padding = data.bytes().rev().take_while(|byte| *byte == b'=').count();
    let bytes = (data.len() / 4 * 3).saturating_sub(padding);
    format!("[{kind}, {mime_type}, {bytes} bytes]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_come_back_out_of_the_data_that_they_went_into() {
        let parts = [
            ContentPart::Text { text: "a".into() },
            ContentPart::Image { mime_type: "image/png".into(), data: "QUJD".into() },
            ContentPart::Resource {
                uri: "test://b".into(),
                mime_type: None,
                body: ResourceBody::Blob("QQ==".into()),
            },
            ContentPart::Link { uri: "test://l".into(), name: "l".into(), mime_type: None },
        ];
        let data = ContentPart::data(&parts);
        assert_eq!(
            data.to_string(),
            r#"{"content":[{"type":"text","text":"a"},{"type":"image","mime_type":"image/png","data":"QUJD"},{"type":"resource","uri":"test://b","blob":"QQ=="},{"type":"link","uri":"test://l","name":"l"}]}"#
        );
        assert_eq!(ContentPart::of_data(&data).as_deref(), Some(parts.as_slice()));
        assert_eq!(ContentPart::of_data(&serde_json::json!({"content": "text"})), None);
    }

    #[test]
    fn bytes_are_described_where_only_text_is_shown() {
        let check = |part: ContentPart, expect: &str| assert_eq!(part.text(), expect);
        let (mime_type, data) = ("image/png".to_owned(), "QUJDRA==".to_owned());
        check(ContentPart::Image { mime_type, data }, "[image, image/png, 4 bytes]");
        let body = ResourceBody::Blob("QQ==".into());
        let part = ContentPart::Resource { uri: "test://b".into(), mime_type: None, body };
        check(part, "test://b: [resource, bytes, 1 bytes]");
    }
}
