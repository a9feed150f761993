//! How a call went, beside its answer.

use serde::{Deserialize, Serialize};

use crate::output_gap::OutputGap;
use crate::{CallWaits, EnforcedConfinement, ErrorCode, OutboundConnection, Refusal, WithheldPath};

/// How a call went.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EnvelopeMetadata {
    /// From the arrival of the call to its envelope, in milliseconds.
    pub duration_ms: u64,
    /// How much of that the call waited for something else than its tool. Only the envelope in the journal has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<CallWaits>,
    /// Whether the output was cut.
    #[serde(default, skip_serializing_if = "is_false")]
    pub truncated: bool,
    /// The sidecar that holds the rest of a cut output; readable with `read`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_path: Option<String>,
    /// How the rest is read where the tool `read` takes no range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_reader: Option<String>,
    /// Why the rest of a cut output could not be kept, or why not all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_lost: Option<String>,
    /// The part of a cut output that is left out, and where to read on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<OutputGap>,
    /// A remark on the output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The sentence that a model reads if the output is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub empty_note: Option<String>,
    /// The journal's name of the call: `run/node/iteration/attempt/seq`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// Whether the envelope was recalled from the journal and nothing was executed.
    #[serde(default, skip_serializing_if = "is_false")]
    pub replayed: bool,
    /// Why the call was refused or failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<ErrorCode>,
    /// The source of a refusal or a doubt, and the remedies.
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
    /// The confinement of the processes of this call.
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
    /// The changes of the call's processes at protected paths, and how haft undid them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undone: Vec<String>,
    /// The paths that rules kept from the call's processes, the first ones in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub withheld: Vec<WithheldPath>,
    /// How many such paths there were beyond those listed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub withheld_unlisted: u64,
    /// The paths that rules deny and that appeared while the call's processes ran, which may have made or read them. The
    /// rules hold around the processes of later calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub appeared: Vec<String>,
    /// The text that the tool printed beside its answer. Models do not see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    /// Whether the data is a list of parts, of which some are more than text ([`ContentPart::of_data`](crate::ContentPart::of_data)).
    #[serde(default, skip_serializing_if = "is_false")]
    pub content: bool,
    /// Which effects of earlier attempts may already have happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_warning: Option<String>,
    /// The words of the person who allowed the call, and the change of its input, for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_note: Option<String>,
}

/// Says what was cut out between `head` and `tail`, in words for a model.
pub(crate) fn cut_text(head: &str, tail: Option<&str>, metadata: &EnvelopeMetadata) -> String {
    let rest = gap_note(metadata);
    let newline = if head.is_empty() || head.ends_with('\n') { "" } else { "\n" };
    match tail {
        Some(tail) => format!("{head}{newline}{rest}\n{tail}"),
        None => format!("{head}{newline}{rest}"),
    }
}

/// Returns the line that stands in place of what was cut.
fn gap_note(metadata: &EnvelopeMetadata) -> String {
    let what = match &metadata.gap {
        Some(gap) => gap.to_string(),
        None => "output cut here".to_owned(),
    };
    let next = metadata.gap.as_ref().and_then(OutputGap::next_part);
    let next = match (&metadata.output_reader, next) {
        (Some(reader), _) => format!("use {reader}"),
        (None, Some(next)) => format!("read it with {next}"),
        (None, None) => "use read".to_owned(),
    };
    match (&metadata.output_path, &metadata.output_lost) {
        (Some(path), None) => format!("[{what}; all of it: {path} ({next})]"),
        (Some(path), Some(lost)) => format!("[{what}; more of it: {path} ({next}), but {lost}]"),
        (None, Some(lost)) => format!("[{what}; {lost}]"),
        (None, None) => format!("[{what}]"),
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
fn is_false(value: &bool) -> bool {
    !value
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
fn is_zero(value: &u64) -> bool {
    *value == 0
}
