//! The answers of calls, as rows store them and as events report them. This module makes no calls.

use haft_contract::{Envelope, EnvelopeMetadata, ErrorCode, cut};
use haft_journal::{CallRow, MessagePart, PartState};

use crate::event::{AgentEventKind, ToolResultStatus};
use crate::limits::KEPT_RESULT_BYTES_MAX;

/// The stored characters of an answer that is too long. Each character takes at most six bytes as JSON.
const KEPT_RESULT_CHARS: usize = KEPT_RESULT_BYTES_MAX / 8;

/// Stores the answer of a call.
pub(crate) fn set_call_answer(part: &mut MessagePart, envelope: &Envelope, now_ms: u64) {
    part.state = Some(match envelope {
        Envelope::Output { .. } => PartState::OutputAvailable,
        Envelope::Error { .. } => PartState::OutputError,
    });
    part.output_json = Some(stored_envelope(envelope));
    part.call_id = envelope.metadata().call_id.clone();
    part.updated_at_ms = now_ms;
}

/// Returns an answer as rows store it. An answer that is too long loses its end.
pub(crate) fn stored_envelope(envelope: &Envelope) -> String {
    let json =
        |envelope: &Envelope| serde_json::to_string(envelope).expect("an envelope has text keys");
    let whole = json(envelope);
    if whole.len() <= KEPT_RESULT_BYTES_MAX {
        return whole;
    }
    let text = format!(
        "{}\n[haft: the rest is too long to be kept here]",
        cut(&envelope.text(), KEPT_RESULT_CHARS)
    );
    let metadata = envelope.metadata().clone();
    json(&match envelope {
        Envelope::Output { .. } => Envelope::Output { data: text.into(), metadata },
        Envelope::Error { .. } => Envelope::Error { error_text: text, metadata },
    })
}

/// Records in a part that its call is not made, and returns the event of that.
pub(crate) fn set_call_unmade(part: &mut MessagePart, why: &str, now_ms: u64) -> AgentEventKind {
    let envelope = unmade_envelope(why);
    set_call_answer(part, &envelope, now_ms);
    tool_result_event(part, envelope)
}

pub(crate) fn unmade_envelope(why: &str) -> Envelope {
    let metadata =
        EnvelopeMetadata { code: Some(ErrorCode::ProcessAborted), ..EnvelopeMetadata::default() };
    Envelope::Error { error_text: format!("this call was not made: {why}"), metadata }
}

/// Returns the answer of a call that was begun. If its end is unknown, the answer says that it is in doubt, and why.
pub(crate) fn recorded_envelope(row: &CallRow, why: &str) -> Envelope {
    let call = row.id().to_string();
    let answered = row.envelope.as_deref().map(serde_json::from_str::<Envelope>);
    if let Some(Ok(mut envelope)) = answered {
        let (Envelope::Output { metadata, .. } | Envelope::Error { metadata, .. }) = &mut envelope;
        metadata.call_id = Some(call);
        return envelope;
    }
    let error_text = format!(
        "in doubt: {} was begun as call {call}, and {why}, so it may or may not have happened. It is not repeated.",
        row.tool
    );
    Envelope::in_doubt(call, error_text)
}

/// Returns the event of a call's answer.
pub(crate) fn tool_result_event(part: &MessagePart, envelope: Envelope) -> AgentEventKind {
    let status = match &envelope {
        Envelope::Output { .. } => ToolResultStatus::OutputAvailable,
        Envelope::Error { .. } => ToolResultStatus::OutputError,
    };
    AgentEventKind::ToolResult {
        id: part.tool_call_id.clone().unwrap_or_default(),
        tool: part.tool.clone().unwrap_or_default(),
        status,
        duration_ms: envelope.metadata().duration_ms,
        envelope,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn an_answer_that_is_too_long_for_a_row_loses_its_end() {
        let check = |chars: usize, is_cut: bool| {
            let data = Value::from("\u{1}".repeat(chars));
            let envelope = Envelope::Output { data, metadata: EnvelopeMetadata::default() };
            let kept = stored_envelope(&envelope);
            assert!(kept.len() <= KEPT_RESULT_BYTES_MAX, "{}", kept.len());
            assert_eq!(serde_json::from_str::<Envelope>(&kept).unwrap() != envelope, is_cut);
        };
        let around = json!({"type": "output", "data": "", "metadata": {"duration_ms": 0}});
        let fits = (KEPT_RESULT_BYTES_MAX - around.to_string().len()) / 6;
        check(fits, false);
        check(fits + 1, true);
    }
}
