//! What earlier attempts did must not be repeated without a word: the driver is told, or the call is refused or
//! recalled, as configured. Only `once` calls matter here; anything else is safe to repeat.

use haft_contract::{CallId, Effect, Envelope, ErrorCode, Scope};
use haft_journal::{CallQuery, CallRow, Status, Verdict};

use super::recall;
use super::refusal::Stop;
use super::validate::Valid;
use crate::limits::WARNED_CALLS_MAX;
use crate::run::{Earlier, RetryWarning, RunError, RunState};
use crate::runtime::OnRepeat;

/// A call that may be made as far as earlier attempts go, or what an earlier one answered.
pub(super) enum Repeated {
    Go(Box<Valid>),
    Answered(Box<Envelope>),
}

pub(super) async fn repeat(mut valid: Valid, run: &RunState) -> Result<Repeated, Stop> {
    let scope = valid.entry().id().scope.clone();
    if scope.attempt <= 1 {
        return Ok(Repeated::Go(Box::new(valid)));
    }
    let attempt = std::sync::Arc::clone(valid.entry().attempt());
    let earlier = attempt.earlier.get_or_try_init(|| load(&scope, run)).await?;
    let Some(warning) = RetryWarning::of(&scope, &earlier.effects) else {
        return Ok(Repeated::Go(Box::new(valid)));
    };
    let is_once = valid.entry().effect() == Effect::Once;
    match run.session.shared.parts.on_repeat {
        OnRepeat::Warn => {
            let called_before =
                earlier.effects.tools.iter().any(|tool| tool == valid.entry().tool());
            let is_unwarned = attempt.is_unwarned(valid.entry().arrived());
            if run.session.holds_repeats_back && is_once && called_before && is_unwarned {
                attempt.tell();
                valid.entry().take_back(run);
                return Err(held_back(valid, &warning));
            }
        }
        OnRepeat::Refuse | OnRepeat::Recall if is_once => {
            let same = earlier.same_calls(&scope, valid.entry().call_key());
            if let Some(row) = may_have_happened(same, run).await? {
                return of_earlier(valid, &row, run);
            }
        }
        OnRepeat::Refuse | OnRepeat::Recall => {}
    }
    if attempt.tell() {
        valid.warn(warning.to_string());
    }
    Ok(Repeated::Go(Box::new(valid)))
}

async fn load(scope: &Scope, run: &RunState) -> Result<Earlier, RunError> {
    let parts = &run.session.shared.parts;
    Ok(match parts.on_repeat {
        OnRepeat::Warn => {
            Earlier::in_short(parts.journal.earlier_effects(scope, WARNED_CALLS_MAX).await?)
        }
        OnRepeat::Refuse | OnRepeat::Recall => {
            Earlier::all(parts.journal.earlier_effects(scope, u32::MAX).await?)
        }
    })
}

/// Returns the first of the calls that may have happened, as it is recorded now.
async fn may_have_happened(
    calls: Vec<CallId>,
    run: &RunState,
) -> Result<Option<CallRow>, RunError> {
    for call in calls {
        let journal = &run.session.shared.parts.journal;
        let rows = journal.calls(CallQuery::of_call(call)).await?;
        let may_have_happened = |row: &CallRow| match (row.status, row.verdict) {
            (_, Some(Verdict::NotHappened | Verdict::Retry))
            | (Status::Failed | Status::Refused, _) => false,
            (Status::Succeeded | Status::Unknown | Status::Intended, _) => true,
        };
        if let Some(row) = rows.into_iter().find(may_have_happened) {
            return Ok(Some(row));
        }
    }
    Ok(None)
}

/// Answers a call that an earlier attempt made. One that is not recalled is not made, so it is the same one again when it
/// comes again.
fn of_earlier(valid: Valid, row: &CallRow, run: &RunState) -> Result<Repeated, Stop> {
    let on_repeat = run.session.shared.parts.on_repeat;
    if row.status == Status::Succeeded && on_repeat == OnRepeat::Recall {
        return Ok(Repeated::Answered(Box::new(recall::answer(row)?)));
    }
    valid.entry().take_back(run);
    if row.status != Status::Succeeded {
        return Ok(Repeated::Answered(Box::new(recall::in_doubt(row))));
    }
    let message = format!(
        "{} was called with this very input in attempt {} (call {}) and succeeded; it is not repeated \
         (on_repeat = \"refuse\")",
        valid.entry().tool(),
        row.scope.attempt,
        row.id()
    );
    Err(Stop::refused(valid.into_entry(), ErrorCode::PermissionDenied, message).held_back())
}

fn held_back(valid: Valid, warning: &RetryWarning) -> Stop {
    let message = format!(
        "not executed yet, because an earlier attempt called {} too. {warning} If it is right to make this call, make it \
         again: the next one is executed.",
        valid.entry().tool()
    );
    Stop::refused(valid.into_entry(), ErrorCode::InDoubt, message).held_back()
}
