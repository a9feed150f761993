//! The one shape that every caller gets back.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::document::document_text;
use crate::envelope_metadata::{EnvelopeMetadata, cut_text};
use crate::{ContentPart, ErrorCode, RefusalGrounds, RefusalSource, Remedy};

/// The result of a call: its output, or the reason why it was refused or failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Envelope {
    /// The tool answered.
    Output {
        /// The tool's own JSON; when it was cut, an object whose `head` holds the first part as text.
        data: Value,
        /// How it went.
        metadata: EnvelopeMetadata,
    },
    /// The call was refused or failed.
    Error {
        /// The mistake and the next step.
        error_text: String,
        /// How it went.
        metadata: EnvelopeMetadata,
    },
}

impl Envelope {
    /// Returns the answer about a call that may or may not have happened: a person finds out, and settles it.
    pub fn in_doubt(call: String, error_text: String) -> Self {
        let refusal = RefusalGrounds::new(RefusalSource::Journal)
            .with_remedy(Remedy::Settle(call.clone()))
            .into_refusal(ErrorCode::InDoubt, error_text.clone());
        let metadata = EnvelopeMetadata {
            call_id: Some(call),
            code: Some(ErrorCode::InDoubt),
            refusal: Some(Box::new(refusal)),
            ..EnvelopeMetadata::default()
        };
        Self::Error { error_text, metadata }
    }

    /// Returns how the call went.
    pub fn metadata(&self) -> &EnvelopeMetadata {
        match self {
            Self::Output { metadata, .. } | Self::Error { metadata, .. } => metadata,
        }
    }

    /// Returns the error code, or `None` for an output.
    pub fn code(&self) -> Option<ErrorCode> {
        self.metadata().code
    }

    /// Returns the answer as a model reads it. It is the [text](Self::text), or a sentence if the text is empty: a model takes
    /// an empty answer for a failure, and some providers refuse it.
    pub fn text_for_model(&self) -> String {
        let text = self.text();
        if !text.is_empty() {
            return text;
        }
        let metadata = self.metadata();
        match (&metadata.empty_note, metadata.exit_code) {
            (Some(note), _) => note.clone(),
            (None, Some(status)) => format!("(exit {status}, no output)"),
            (None, None) => "(no output)".to_owned(),
        }
    }

    /// Returns the answer as text: strings bare, lists one entry a line, anything else as JSON.
    ///
    /// A cut output is its `head`, a line that says what was cut and where the rest is, and its `tail`.
    pub fn text(&self) -> String {
        match self {
            Self::Error { error_text, .. } => error_text.clone(),
            Self::Output { data, metadata } => {
                let mut text = body_text(data, metadata);
                for remark in metadata.note.iter().chain(&metadata.undone) {
                    let newline = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
                    text.push_str(&format!("{newline}[haft: {remark}]"));
                }
                text
            }
        }
    }
}

fn body_text(data: &Value, metadata: &EnvelopeMetadata) -> String {
    if let Some(text) = document_text(data, metadata) {
        return text;
    }
    let text_field = |name: &str| data.get(name).and_then(Value::as_str);
    if let Some(head) = text_field("head").filter(|_| metadata.truncated) {
        return cut_text(head, text_field("tail"), metadata);
    }
    if let Some(parts) = metadata.content.then(|| ContentPart::of_data(data)).flatten() {
        return parts.iter().map(ContentPart::text).collect::<Vec<_>>().join("\n");
    }
    if let Some(text) = data.as_str().or(text_field("output")) {
        return text.to_owned();
    }
    // Data that is one list of texts and nothing else, such as the paths of glob, is one entry a line.
    let only_field = data.as_object().filter(|fields| fields.len() == 1);
    let entries = only_field.and_then(|fields| fields.values().next()?.as_array());
    let lines: Option<Vec<&str>> =
        entries.and_then(|entries| entries.iter().map(Value::as_str).collect());
    lines.map_or_else(|| data.to_string(), |lines| lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_model_never_reads_an_empty_answer() {
        let check = |metadata: EnvelopeMetadata, expect: &str| {
            assert_eq!(Envelope::Output { data: json!(""), metadata }.text_for_model(), expect);
        };
        check(EnvelopeMetadata::default(), "(no output)");
        let command = EnvelopeMetadata { exit_code: Some(0), ..EnvelopeMetadata::default() };
        check(command, "(exit 0, no output)");
        let empty_note = Some("(empty file)".to_owned());
        check(EnvelopeMetadata { empty_note, ..EnvelopeMetadata::default() }, "(empty file)");
    }

    #[test]
    fn a_model_reads_text_where_there_is_text() {
        let check = |data: Value, metadata: EnvelopeMetadata, expect: &str| {
            assert_eq!(
                Envelope::Output { data: data.clone(), metadata }.text(),
                expect,
                "for {data}"
            );
        };
        check(json!("a\nb"), EnvelopeMetadata::default(), "a\nb");
        check(json!({"output": "a\n"}), EnvelopeMetadata::default(), "a\n");
        check(json!({"paths": ["a", "b"]}), EnvelopeMetadata::default(), "a\nb");
        check(json!({"paths": []}), EnvelopeMetadata::default(), "");
        check(json!({"replacements": 1}), EnvelopeMetadata::default(), "{\"replacements\":1}");
        check(json!({"head": "x"}), EnvelopeMetadata::default(), "{\"head\":\"x\"}");
        let cut = EnvelopeMetadata {
            truncated: true,
            output_path: Some("/s/1".to_owned()),
            ..EnvelopeMetadata::default()
        };
        let rest = "[output cut here; all of it: /s/1 (use read)]";
        check(json!({"head": "x", "tail": "y"}), cut.clone(), &format!("x\n{rest}\ny"));
        check(json!({"head": "x\n"}), cut, &format!("x\n{rest}"));
        let undone = EnvelopeMetadata {
            undone: vec!["a was removed".to_owned()],
            ..EnvelopeMetadata::default()
        };
        check(json!("x"), undone.clone(), "x\n[haft: a was removed]");
        check(json!(""), undone, "[haft: a was removed]");
        let note = Some("converted".to_owned());
        let converted = EnvelopeMetadata { note, ..EnvelopeMetadata::default() };
        check(json!("x\n"), converted, "x\n[haft: converted]");
    }
}
