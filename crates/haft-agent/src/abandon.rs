//! Puts right what a subagent in the background left whose process was killed. Nobody goes on with it, so its chat has to say
//! by itself what became of its calls: what was answered is answered, what was begun is in doubt, and nothing else was made. The
//! same holds for all that it had others do. Nothing is executed, and no model is asked.

use std::sync::Arc;

use haft_contract::{BoxFuture, Envelope, ErrorCode, Metadata, Scope};
use haft_journal::{
    CallRow, ChatFirmness, ChatId, ChatPart, ChatRecord, ChatSession, ChatStatus, PartState,
};

use crate::calls::{answer, unmade_envelope};
use crate::delegate::children_of;
use crate::error::AgentError;
use crate::host::HostShared;
use crate::ledger::Ledger;
use crate::open::layers;

/// Ends a chat that nobody goes on with, and those that it began.
pub(crate) fn abandon(
    host: &Arc<HostShared>,
    row: ChatSession,
) -> BoxFuture<'_, Result<(), AgentError>> {
    Box::pin(async move {
        let core = host.core_of_silent(&row, host.agent(&row.agent)?, &layers(&row)?)?;
        core.run.open().await?;
        let mut ledger = Ledger::load(&core, row).await?;
        ledger.settle_interrupted().await?;
        answer_all(&mut ledger).await?;
        abandon_children(host, &core.id).await?;
        ledger.stand(ChatStatus::Failed, ChatFirmness::Durable).await
    })
}

/// Ends those that a chat began and that nobody goes on with. Some may be beneath others that are over.
pub(crate) fn abandon_children<'a>(
    host: &'a Arc<HostShared>,
    parent: &'a ChatId,
) -> BoxFuture<'a, Result<(), AgentError>> {
    Box::pin(async move {
        for child in children_of(host, parent).await? {
            match child.status {
                ChatStatus::Completed | ChatStatus::Failed | ChatStatus::Aborted => {
                    abandon_children(host, &child.id).await?;
                }
                ChatStatus::Idle | ChatStatus::Running => abandon(host, child).await?,
            }
        }
        Ok(())
    })
}

/// Answers the calls that have no answer, as the journal knows them.
pub(crate) async fn answer_all(ledger: &mut Ledger) -> Result<(), AgentError> {
    let core = Arc::clone(&ledger.core);
    let mut answered = Vec::new();
    let parts = ledger.entries.iter_mut().flat_map(|entry| &mut entry.parts);
    for part in parts.filter(|part| part.state == Some(PartState::InputAvailable)) {
        let id = part.tool_call_id.as_deref().unwrap_or_default();
        let known = begun(&core.host, &core.id, id).await?;
        let envelope = match known {
            Some(row) => recorded(&row, "haft ended while it ran"),
            None => unmade_envelope("haft ended before it was begun"),
        };
        answer(part, &envelope, core.now_ms());
        answered.push(ChatRecord::Part(ChatPart::clone(part)));
    }
    if answered.is_empty() {
        return Ok(());
    }
    ledger.record(answered, ChatFirmness::Ordered).await
}

/// Returns the call of a chat that has this name, if it was begun.
pub(crate) async fn begun(
    host: &HostShared,
    chat: &ChatId,
    name: &str,
) -> Result<Option<CallRow>, AgentError> {
    let scope = Scope::of_run(chat.run());
    Ok(host.parts.runtime.journal().by_driver_id(&scope, name).await?)
}

/// Returns the answer of a call that was begun; of one whose end is not known, that it is in doubt because of this.
pub(crate) fn recorded(row: &CallRow, why: &str) -> Envelope {
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
    let metadata =
        Metadata { code: Some(ErrorCode::InDoubt), call_id: Some(call), ..Metadata::default() };
    Envelope::Error { error_text, metadata }
}
