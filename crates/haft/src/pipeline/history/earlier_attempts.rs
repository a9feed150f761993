//! Warns about effects of earlier attempts that the call would repeat, or refuses the call. Only `once` calls
//! matter here; anything else is safe to repeat.

use std::sync::Arc;

use haft_contract::{Effect, ErrorCode};
use haft_journal::{CallQuery, CallRow, CallStatus, SettlementVerdict};

use super::earlier_effects::EarlierAttempts;
use super::evidence::Unrepeated;
use super::recall::{in_doubt_envelope, recorded_envelope};
use super::retry_warning::RetryWarning;
use crate::connection_state::ConnectionState;
use crate::limits::WARNED_CALLS_MAX;
use crate::pipeline::call_state::CallState;
use crate::pipeline::refusal::PipelineStop;
use crate::run_error::RunError;
use crate::shared::{RepeatPolicy, RuntimeParts};

/// Checks whether an earlier attempt made the call, and applies the policy for such calls. First attempts always pass.
pub(in crate::pipeline) async fn check_earlier_attempts(
    state: CallState,
    connection: &ConnectionState,
) -> Result<(CallState, Unrepeated), PipelineStop> {
    let RuntimeParts { journal, on_repeat: policy, .. } = &connection.shared.parts;
    let retry_warning = state.repeat_warning();
    let scope = state.id().scope.clone();
    if scope.attempt <= 1 {
        return Ok((state, Unrepeated { retry_warning }));
    }
    let attempt = Arc::clone(state.attempt());
    let load = || async {
        Ok::<_, RunError>(match policy {
            RepeatPolicy::Warn => EarlierAttempts::from_summary(
                journal.earlier_effects(&scope, WARNED_CALLS_MAX).await?,
            ),
            RepeatPolicy::Refuse | RepeatPolicy::Recall => {
                EarlierAttempts::from_all_calls(journal.earlier_effects(&scope, u32::MAX).await?)
            }
        })
    };
    let earlier = attempt.earlier.get_or_try_init(load).await?;
    let Some(warning) = RetryWarning::from_effects(&scope, &earlier.effects) else {
        return Ok((state, Unrepeated { retry_warning }));
    };
    let is_once = state.effect() == Effect::Once;
    match policy {
        RepeatPolicy::Warn => {
            let called_before = earlier.effects.tools.iter().any(|tool| tool == state.tool());
            let is_unwarned = attempt.is_unwarned(state.arrived_at());
            if connection.holds_repeated_calls && is_once && called_before && is_unwarned {
                attempt.take_driver_warning();
                state.roll_back_numbering();
                let message = format!(
                    "not executed yet, because an earlier attempt called {} too. {warning} If it is right to make this \
                     call, make it again: the next one is executed.",
                    state.tool()
                );
                return Err(PipelineStop::refused(state, ErrorCode::InDoubt, message).held_back());
            }
        }
        RepeatPolicy::Refuse | RepeatPolicy::Recall if is_once => {
            for call in earlier.same_calls(&scope, state.call_key()) {
                let rows = journal.calls(CallQuery::of_call(call)).await?;
                let may_have_happened = |row: &CallRow| match (row.status, row.verdict) {
                    (_, Some(SettlementVerdict::NotHappened | SettlementVerdict::Retry))
                    | (CallStatus::Failed | CallStatus::Refused, _) => false,
                    (CallStatus::Succeeded | CallStatus::Unknown | CallStatus::Intended, _) => true,
                };
                let Some(row) = rows.into_iter().find(may_have_happened) else { continue };
                if row.status == CallStatus::Succeeded && *policy == RepeatPolicy::Recall {
                    return Err(PipelineStop::Answered(Box::new(recorded_envelope(&row))));
                }
                // The call counts as not made, so a repetition gets the same key.
                state.roll_back_numbering();
                if row.status != CallStatus::Succeeded {
                    return Err(PipelineStop::Answered(Box::new(in_doubt_envelope(&row))));
                }
                let message = format!(
                    "{} was called with this very input in attempt {} (call {}) and succeeded; it is not repeated \
                     (on_repeat = \"refuse\")",
                    state.tool(),
                    row.scope.attempt,
                    row.id()
                );
                return Err(
                    PipelineStop::refused(state, ErrorCode::PermissionDenied, message).held_back()
                );
            }
        }
        RepeatPolicy::Refuse | RepeatPolicy::Recall => {}
    }
    let retry_warning = if attempt.take_driver_warning() {
        Some(match retry_warning {
            Some(before) => format!("{before}. {warning}"),
            None => warning.to_string(),
        })
    } else {
        retry_warning
    };
    Ok((state, Unrepeated { retry_warning }))
}
