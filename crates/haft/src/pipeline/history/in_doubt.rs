//! Settles calls in doubt without a person. If a call changes only files, the files show whether it happened. The first
//! process to find out records the result; later results are dropped.

use haft_contract::{CallAddress, Effect, Envelope, EnvelopeMetadata};
use haft_journal::{
    CallQuery, CallRow, CallStatus, JournalError, SettledBy, Settlement, SettlementVerdict,
};
use haft_sandbox::ChangeSetState;

use crate::effects::FileEffects;
use crate::shared::RuntimeShared;

/// The result of settling a call in doubt without a person.
pub(super) enum DoubtResolution {
    /// The call happened, and its row has the answer.
    Happened(Box<CallRow>),
    /// The call did not happen, or may be made again.
    NotHappened,
    /// The result is not known.
    InDoubt,
}

/// Checks the files of calls in doubt, and returns the calls that it settled. This process must own the run.
pub(crate) async fn check_files_of_calls(
    shared: &RuntimeShared,
    calls: &[CallAddress],
) -> Result<Vec<CallAddress>, JournalError> {
    let mut settled = Vec::new();
    for call in calls {
        let rows = shared.parts.journal.calls(CallQuery::of_call(call.clone())).await?;
        if let Some(row) = rows.first()
            && let DoubtResolution::Happened(_) | DoubtResolution::NotHappened =
                check_files_of_call(shared, row).await?
        {
            settled.push(call.clone());
        }
    }
    Ok(settled)
}

/// Checks whether the files show the outcome of a call in doubt, and records it.
pub(super) async fn check_files_of_call(
    shared: &RuntimeShared,
    row: &CallRow,
) -> Result<DoubtResolution, JournalError> {
    if row.status != CallStatus::Unknown || row.verdict.is_some() {
        return Ok(DoubtResolution::InDoubt);
    }
    if row.details.is_none() {
        // A change of files is added to the intent before the first file is touched.
        let registry = shared.catalog.registry();
        let tool = registry.find(&row.tool);
        let only_changes_files = tool.is_some_and(|tool| tool.contract().only_changes_files);
        return match row.effect == Effect::Once && only_changes_files {
            true => settle_not_happened(shared, row).await,
            false => Ok(DoubtResolution::InDoubt),
        };
    }
    let Some(effects) = FileEffects::parse(row.details.as_deref()) else {
        return Ok(DoubtResolution::InDoubt);
    };
    let roots = shared.parts.roots.clone();
    let (answer, is_part) = (effects.answer.clone(), effects.is_part);
    let finished = tokio::task::spawn_blocking(move || effects.finish_changes(&roots)).await;
    match finished {
        // The files do not show whether the rest of the call's effect happened.
        Ok(Some(Ok(_))) if is_part => Ok(DoubtResolution::InDoubt),
        Ok(Some(Ok(ChangeSetState::Applied))) => {
            let metadata = EnvelopeMetadata {
                call_id: Some(row.id().to_string()),
                ..EnvelopeMetadata::default()
            };
            let envelope = Envelope::Output { data: answer, metadata };
            record_resolution(shared, row, SettlementVerdict::Happened, envelope)
                .await
                .map(settled_resolution)
        }
        Ok(Some(Ok(ChangeSetState::NotApplied))) => settle_not_happened(shared, row).await,
        Ok(Some(Ok(ChangeSetState::Unclear)) | None) => Ok(DoubtResolution::InDoubt),
        Ok(Some(Err(err))) => {
            tracing::warn!(call = %row.id(), %err, "the files of a call in doubt could not be looked at");
            Ok(DoubtResolution::InDoubt)
        }
        // A panic was reported when it happened.
        Err(_) => Ok(DoubtResolution::InDoubt),
    }
}

/// Records that a call in doubt did not change anything.
async fn settle_not_happened(
    shared: &RuntimeShared,
    row: &CallRow,
) -> Result<DoubtResolution, JournalError> {
    let metadata =
        EnvelopeMetadata { call_id: Some(row.id().to_string()), ..EnvelopeMetadata::default() };
    let error_text = "the process died before this call changed anything".to_owned();
    let envelope = Envelope::Error { error_text, metadata };
    record_resolution(shared, row, SettlementVerdict::NotHappened, envelope)
        .await
        .map(settled_resolution)
}

/// Returns the resolution that a settled row holds, from whichever process settled it.
fn settled_resolution(row: CallRow) -> DoubtResolution {
    match (row.status, row.verdict) {
        (CallStatus::Succeeded, _) => DoubtResolution::Happened(Box::new(row)),
        (_, Some(SettlementVerdict::NotHappened | SettlementVerdict::Retry)) => {
            DoubtResolution::NotHappened
        }
        (_, Some(SettlementVerdict::Happened) | None) => DoubtResolution::InDoubt,
    }
}

/// Records the resolution of a call in doubt, and returns its row. If another process was first, its resolution holds.
pub(super) async fn record_resolution(
    shared: &RuntimeShared,
    row: &CallRow,
    verdict: SettlementVerdict,
    envelope: Envelope,
) -> Result<CallRow, JournalError> {
    let settled_at_ms = shared.parts.clock.now_ms();
    let (call, by) = (row.id(), SettledBy::Probe);
    let journal = &shared.parts.journal;
    let settlement = Settlement { call: call.clone(), verdict, by, envelope, settled_at_ms };
    match journal.resolve(settlement).await {
        Err(JournalError::NotInDoubt { .. }) => {
            let mut rows = journal.calls(CallQuery::of_call(call.clone())).await?;
            rows.pop().ok_or(JournalError::UnknownCall { call })
        }
        answer => answer,
    }
}
