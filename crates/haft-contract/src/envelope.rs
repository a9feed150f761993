//! The one shape that every caller gets back.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::document::document_text;
use crate::{ContentPart, ErrorCode, Refusal, RefusalGrounds, RefusalSource, Remedy};

/// What a call did, or was not allowed to do.
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
        /// What was wrong and what to do next.
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

    /// Returns the answer as a model reads it: strings bare, lists one entry a line, anything else as JSON.
    ///
    /// A cut output is its `head`, a line that says what was cut and where the rest is, and its `tail`.
    pub fn text(&self) -> String {
        match self {
            Self::Error { error_text, .. } => error_text.clone(),
            Self::Output { data, metadata } => output_text(data, metadata),
        }
    }
}

fn output_text(data: &Value, metadata: &EnvelopeMetadata) -> String {
    let mut text = body_text(data, metadata);
    for undone in &metadata.undone {
        let newline = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        text.push_str(&format!("{newline}[haft: {undone}]"));
    }
    text
}

fn body_text(data: &Value, metadata: &EnvelopeMetadata) -> String {
    if let Some(text) = document_text(data, metadata) {
        return text;
    }
    let text_field = |name: &str| data.get(name).and_then(Value::as_str);
    if let Some(head) = text_field("head").filter(|_| metadata.truncated) {
        return crate::output::cut_text(head, text_field("tail"), metadata);
    }
    if let Some(parts) = metadata.content.then(|| ContentPart::of_data(data)).flatten() {
        return parts.iter().map(ContentPart::text).collect::<Vec<_>>().join("\n");
    }
    match (data, text_field("output"), only_list(data)) {
        (Value::String(text), _, _) => text.clone(),
        (_, Some(output), _) => output.to_owned(),
        (_, None, Some(lines)) => lines.join("\n"),
        (_, None, None) => data.to_string(),
    }
}

/// Returns the texts of data that is one list of texts and nothing else, such as the paths of glob.
fn only_list(data: &Value) -> Option<Vec<&str>> {
    let fields = data.as_object().filter(|fields| fields.len() == 1)?;
    fields.values().next()?.as_array()?.iter().map(Value::as_str).collect()
}

/// How a call went.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EnvelopeMetadata {
    /// From the arrival of the call to its envelope, in milliseconds.
    pub duration_ms: u64,
    /// Whether the output was cut.
    #[serde(default, skip_serializing_if = "is_false")]
    pub truncated: bool,
    /// The sidecar that holds the rest of a cut output; readable with `read`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_path: Option<String>,
    /// Why the rest of a cut output could not be kept, or why not all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_lost: Option<String>,
    /// The journal's name of the call: `run/node/iteration/attempt/seq`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// Whether the envelope was recalled from the journal and nothing was executed.
    #[serde(default, skip_serializing_if = "is_false")]
    pub replayed: bool,
    /// Why the call was refused or failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<ErrorCode>,
    /// What decided that the call was refused or is in doubt, and what would lift that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<Box<Refusal>>,
    /// How long the call was allowed to take, in milliseconds, where it was stopped because that time was over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Whether the call was refused because of what earlier calls did, and counts as not made: it keeps its key, and is the
    /// same call when it comes again.
    #[serde(default, skip_serializing_if = "is_false")]
    pub held_back: bool,
    /// The exit status of a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// What confined the processes of this call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enforced: Option<EnforcedConfinement>,
    /// Whether the operator had commands run without the kernel sandbox.
    #[serde(default, skip_serializing_if = "is_false")]
    pub unsafe_no_sandbox: bool,
    /// The connections that the call's processes made or were refused, the first ones in the order of their end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub connections: Vec<OutboundConnection>,
    /// How many connections there were beyond those listed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub connections_unlisted: u64,
    /// What the call's processes left at protected places, and what became of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undone: Vec<String>,
    /// What the tool printed beside its answer. Models are not shown it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    /// Whether the data is a list of parts, of which some are more than text ([`ContentPart::of_data`]).
    #[serde(default, skip_serializing_if = "is_false")]
    pub content: bool,
    /// Which effects of earlier attempts may already have happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_warning: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
fn is_false(value: &bool) -> bool {
    !value
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
fn is_zero(value: &u64) -> bool {
    *value == 0
}

/// One connection out of a confined process, as its proxy saw it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutboundConnection {
    /// The host's name or address, as it was asked for.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Whether it was let through.
    pub admitted: bool,
    /// The address that was dialled, or why none was.
    pub detail: String,
}

/// A part of the world that a process can be confined in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConfinementLayer {
    /// Which files a process sees and changes.
    Filesystem,
    /// Which hosts and sockets it reaches.
    Network,
    /// Which processes it sees, and that all of its own end with the call.
    Processes,
    /// Which system calls it can make.
    SystemCalls,
    /// How much memory, disk and time it takes.
    Resources,
}

/// How strongly a layer was enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConfinementLevel {
    /// Not at all.
    None,
    /// By haft, against a process that does not work against it.
    Cooperative,
    /// By the kernel.
    Kernel,
}

/// What was enforced around the processes of a call, layer by layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each field is the layer of its name")]
pub struct EnforcedConfinement {
    pub filesystem: ConfinementLevel,
    pub network: ConfinementLevel,
    pub processes: ConfinementLevel,
    pub system_calls: ConfinementLevel,
    pub resources: ConfinementLevel,
}

impl EnforcedConfinement {
    /// Nothing was enforced.
    pub const NOTHING: Self = Self {
        filesystem: ConfinementLevel::None,
        network: ConfinementLevel::None,
        processes: ConfinementLevel::None,
        system_calls: ConfinementLevel::None,
        resources: ConfinementLevel::None,
    };

    /// Returns whether the kernel holds every layer.
    pub fn is_full(&self) -> bool {
        let layers =
            [self.filesystem, self.network, self.processes, self.system_calls, self.resources];
        layers.iter().all(|level| *level == ConfinementLevel::Kernel)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
    }
}
