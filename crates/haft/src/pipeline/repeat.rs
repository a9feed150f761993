//! What earlier attempts did must not be repeated without a word: the driver is told, or the call is refused or
//! recalled, as configured. Only `once` calls matter here; anything else is safe to repeat.

use haft_contract::{Effect, Envelope, ErrorCode};
use haft_journal::{CallQuery, EarlierEffect, EarlierEffects, Status, Verdict};

use super::recall;
use super::refusal::Stop;
use super::validate::Valid;
use crate::limits::{REPEATED_CALLS_MAX, WARNED_CALLS_MAX};
use crate::run::{RetryWarning, RunError, RunState};
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
    let parts = &run.session.shared.parts;
    let calls_max = match parts.on_repeat {
        OnRepeat::Warn => WARNED_CALLS_MAX,
        OnRepeat::Refuse | OnRepeat::Recall => REPEATED_CALLS_MAX,
    };
    let load = || parts.journal.earlier_effects(&scope, calls_max);
    let earlier = attempt.earlier.get_or_try_init(load).await.map_err(RunError::from)?;
    let Some(warning) = RetryWarning::of(&scope, earlier) else {
        return Ok(Repeated::Go(Box::new(valid)));
    };
    let is_once = valid.entry().effect() == Effect::Once;
    match parts.on_repeat {
        OnRepeat::Warn => {
            let called_before = earlier.tools.iter().any(|tool| tool == valid.entry().tool());
            if run.session.holds_repeats_back && is_once && called_before && attempt.gate() {
                attempt.tell();
                attempt.take_back(valid.entry().first_key());
                return Err(held_back(valid, &warning));
            }
        }
        OnRepeat::Refuse | OnRepeat::Recall if is_once => {
            if let Some(before) = same_call(earlier, &valid) {
                return of_earlier(valid, before, run).await;
            }
        }
        OnRepeat::Refuse | OnRepeat::Recall => {}
    }
    if attempt.tell() {
        valid.warn(warning.to_string());
    }
    Ok(Repeated::Go(Box::new(valid)))
}

/// Returns the latest call of an earlier attempt that is this very one and may have happened.
fn same_call<'a>(earlier: &'a EarlierEffects, valid: &Valid) -> Option<&'a EarlierEffect> {
    let key = valid.entry().call_key().to_string();
    let may_have_happened = |call: &&EarlierEffect| match (call.status, call.verdict) {
        (_, Some(Verdict::NotHappened | Verdict::Retry))
        | (Status::Failed | Status::Refused, _) => false,
        (Status::Succeeded | Status::Unknown | Status::Intended, _) => true,
    };
    earlier.first.iter().rev().filter(|call| call.call_key == key).find(may_have_happened)
}

async fn of_earlier(
    valid: Valid,
    before: &EarlierEffect,
    run: &RunState,
) -> Result<Repeated, Stop> {
    let parts = &run.session.shared.parts;
    let mut id = valid.entry().id().clone();
    (id.scope.attempt, id.seq) = (before.attempt, before.seq);
    let rows = parts.journal.calls(CallQuery::of_call(id)).await.map_err(RunError::from)?;
    let Some(row) = rows.into_iter().next() else { return Ok(Repeated::Go(Box::new(valid))) };
    if row.status != Status::Succeeded {
        return Ok(Repeated::Answered(Box::new(recall::in_doubt(&row))));
    }
    match parts.on_repeat {
        OnRepeat::Recall => Ok(Repeated::Answered(Box::new(recall::answer(&row)?))),
        OnRepeat::Refuse | OnRepeat::Warn => {
            let message = format!(
                "{} was called with this very input in attempt {} (call {}) and succeeded; it is not repeated \
                 (on_repeat = \"refuse\")",
                valid.entry().tool(),
                before.attempt,
                row.id()
            );
            Err(Stop::refused(valid.into_entry(), ErrorCode::InDoubt, message))
        }
    }
}

fn held_back(valid: Valid, warning: &RetryWarning) -> Stop {
    let message = format!(
        "not executed yet, because an earlier attempt called {} too. {warning} If it is right to make this call, make it \
         again: the next one is executed.",
        valid.entry().tool()
    );
    Stop::refused(valid.into_entry(), ErrorCode::InDoubt, message)
}
