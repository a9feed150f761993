//! An envelope as the result of an MCP call. Text tools answer with text alone: several clients show a model the
//! structured content instead of the text. A tool that promises a schema gives both, equal.

use haft_contract::{ContentPart, Contract, Envelope, EnvelopeMetadata};
use rmcp::model::{CallToolResult, ContentBlock, MetaObject, Resource};
use serde_json::{Value, json};

use crate::content::content_block;
use crate::server_parts::RefusalAdviser;
use crate::tool::output_schema;

/// Returns the result of a call of the tool `contract`. `link` leads to all of an output that was cut.
pub(crate) fn call_result(
    envelope: &Envelope,
    contract: Option<&Contract>,
    link: Option<Resource>,
    advise: RefusalAdviser,
) -> CallToolResult {
    let promised = contract.and_then(output_schema).is_some();
    let mut result = match envelope {
        Envelope::Error { error_text, metadata } => {
            let advice = metadata.refusal.as_deref().and_then(advise);
            let texts = std::iter::once(error_text.clone()).chain(advice);
            CallToolResult::error(texts.map(ContentBlock::text).collect())
        }
        Envelope::Output { metadata, .. } if promised && metadata.truncated => {
            // A success without the promised structure is an error of haft to a client that checks.
            let text = format!(
                "the call succeeded, but its answer is too long to be given in the form that the \
                 tool's output schema promises\n{}",
                envelope.text_for_model()
            );
            CallToolResult::error(vec![ContentBlock::text(text)])
        }
        Envelope::Output { data, .. } if promised => {
            let mut result = CallToolResult::success(vec![ContentBlock::text(data.to_string())]);
            result.structured_content = Some(data.clone());
            result
        }
        Envelope::Output { data, metadata } => {
            let parts = metadata.content.then(|| ContentPart::of_data(data)).flatten();
            CallToolResult::success(match parts {
                Some(parts) => parts.into_iter().map(content_block).collect(),
                None => vec![ContentBlock::text(envelope.text_for_model())],
            })
        }
    };
    if let Some(warning) = &envelope.metadata().retry_warning {
        // A long output must not hide it from the model.
        result.content.insert(0, ContentBlock::text(format!("[haft: {warning}]")));
    }
    if let Some(note) = &envelope.metadata().approval_note {
        result.content.insert(0, ContentBlock::text(format!("[haft: {note}]")));
    }
    result.content.extend(link.map(ContentBlock::resource_link));
    result.with_meta(Some(meta(envelope.metadata())))
}

/// Returns facts about the call beside its answer, for drivers; models do not see them.
fn meta(metadata: &EnvelopeMetadata) -> MetaObject {
    let mut meta = MetaObject::new();
    let mut say = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            meta.insert(format!("haft/{key}"), value);
        }
    };
    say("approvalNote", metadata.approval_note.as_deref().map(Value::from));
    say("appeared", (!metadata.appeared.is_empty()).then(|| json!(metadata.appeared)));
    say("call", metadata.call_id.as_deref().map(Value::from));
    let connections = &metadata.connections;
    say("connections", (!connections.is_empty()).then(|| json!(connections)));
    let unlisted = metadata.connections_unlisted;
    say("connectionsUnlisted", (unlisted > 0).then(|| unlisted.into()));
    say("code", metadata.code.map(|code| code.as_str().into()));
    say("durationMs", Some(metadata.duration_ms.into()));
    say("enforced", metadata.enforced.map(|enforced| json!(enforced)));
    say("exitCode", metadata.exit_code.map(Value::from));
    say("heldBack", metadata.held_back.then_some(Value::Bool(true)));
    say("log", metadata.log.as_deref().map(Value::from));
    say("outputLost", metadata.output_lost.as_deref().map(Value::from));
    say("refusal", metadata.refusal.as_deref().map(|refusal| json!(refusal)));
    say("replayed", metadata.replayed.then_some(Value::Bool(true)));
    say("retryWarning", metadata.retry_warning.as_deref().map(Value::from));
    say("undone", (!metadata.undone.is_empty()).then(|| json!(metadata.undone)));
    say("unsafeNoSandbox", metadata.unsafe_no_sandbox.then_some(Value::Bool(true)));
    say("truncated", metadata.truncated.then_some(Value::Bool(true)));
    say("withheld", (!metadata.withheld.is_empty()).then(|| json!(metadata.withheld)));
    let unlisted = metadata.withheld_unlisted;
    say("withheldUnlisted", (unlisted > 0).then(|| unlisted.into()));
    meta
}

#[cfg(test)]
mod tests;
