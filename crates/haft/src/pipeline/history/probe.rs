//! Asks the tool whether a call in doubt happened. This comes after all gates, because a probe reaches the world
//! as the call would. It is the one case in which code of a tool runs before the intent of its call: the recorded
//! call that it asks about has an intent, and a probe can change nothing.

use std::sync::Arc;

use haft_contract::{Envelope, EnvelopeMetadata, ProbeResult};
use haft_journal::SettlementVerdict;

use super::evidence::{History, Unrepeated};
use super::in_doubt::record_resolution;
use super::recall::{acknowledge_row, recorded_envelope, stop_in_doubt};
use crate::connection_state::ConnectionState;
use crate::panic::PanicCatchingFuture;
use crate::pipeline::call_state::CallState;
use crate::pipeline::execute::{CallTiming, ExecutionRight, ToolContext};
use crate::pipeline::refusal::PipelineStop;
use crate::pipeline::truncate::OutputCutter;
use crate::pipeline::watch::Granted;

/// Asks the tool about a call in doubt. Any other call passes.
pub(in crate::pipeline) async fn probe(
    mut state: CallState,
    granted: &Granted,
    unrepeated: Unrepeated,
    connection: &Arc<ConnectionState>,
) -> Result<(CallState, History), PipelineStop> {
    let history = History { retry_warning: unrepeated.retry_warning };
    let Some(row) = state.in_doubt().cloned() else { return Ok((state, history)) };
    let shared = &connection.shared;
    let mut metadata =
        EnvelopeMetadata { call_id: Some(row.id().to_string()), ..EnvelopeMetadata::default() };
    let timing = CallTiming::for_call(&state, granted, &shared.parts.limits);
    let time = Arc::clone(&timing.time);
    let network = Arc::default();
    let cx = ToolContext { state: &state, granted, connection, timing, network: &network }
        .build(ExecutionRight::Probe);
    let probing = granted.tool().probe_unguarded(state.call().input.clone(), cx);
    let probed = tokio::select! {
        biased;
        probed = PanicCatchingFuture(Box::pin(probing)) => {
            probed.unwrap_or_else(|_panic| Ok(ProbeResult::Unknown))
        }
        () = time.wait_until_over() => Ok(ProbeResult::Unknown),
    };
    match probed {
        Ok(ProbeResult::Happened(output)) => {
            let cutter = OutputCutter::new(&state, granted.contract(), connection);
            let data = cutter.truncate_output(output, &mut metadata);
            let envelope = Envelope::Output { data, metadata };
            let row =
                record_resolution(shared, &row, SettlementVerdict::Happened, envelope).await?;
            acknowledge_row(&row, &*shared.parts.journal).await?;
            state.acknowledge(row.seq);
            Err(PipelineStop::Answered(Box::new(recorded_envelope(&row))))
        }
        Ok(ProbeResult::NotHappened) => {
            let error_text = "the tool found out that this call did not happen".to_owned();
            let envelope = Envelope::Error { error_text, metadata };
            let row =
                record_resolution(shared, &row, SettlementVerdict::NotHappened, envelope).await?;
            if row.verdict != Some(SettlementVerdict::NotHappened) {
                // Another process or person settled the call differently in the meantime.
                return Err(stop_in_doubt(&state, &row));
            }
            state.acknowledge(row.seq);
            Ok((state, history))
        }
        Ok(ProbeResult::Unknown) => Err(stop_in_doubt(&state, &row)),
        Err(err) => {
            tracing::warn!(call = %row.id(), err = %err.message, "the probe of a call in doubt failed");
            Err(stop_in_doubt(&state, &row))
        }
    }
}
