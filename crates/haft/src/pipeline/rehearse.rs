//! The stages that judge a call, passed without executing it and without a trace in the journal.

use haft_contract::{ErrorCode, ToolId};
use haft_policy::{Action, judge};

use super::capable::{Capable, capable};
use super::refusal::Stop;
use super::validate::validate;
use super::watch::{Objection, consult};
use super::{arrive, permit};
use crate::call::Call;
use crate::explain::{AccessExplanation, Explanation};
use crate::run::{RunError, RunState};

/// Says what would become of a call.
pub(crate) async fn rehearse(call: Call, run: &RunState) -> Result<Explanation, RunError> {
    let mut explanation = Explanation {
        tool: call.tool.clone(),
        accesses: Vec::new(),
        refusal: None,
        outcome: Action::Deny,
        reasons: Vec::new(),
    };
    match judged(arrive::rehearse(call, run)?, run, &mut explanation).await {
        Ok(()) => Ok(explanation),
        Err(Stop::Refused(refusal)) => {
            explanation.refusal = Some((refusal.code, refusal.message));
            Ok(explanation)
        }
        Err(Stop::Failed(err)) => Err(err),
    }
}

async fn judged(
    arrived: arrive::Arrived,
    run: &RunState,
    explanation: &mut Explanation,
) -> Result<(), Stop> {
    let capable = capable(validate(arrived, run)?, run)?;
    run.session.shared.learn_conditions(capable.accesses()).await;
    explanation.accesses = explained(&capable, run);
    let permitted = permit::permit(capable, run)?;
    let (capable, mut reasons) = permitted.into_parts();
    match consult(&capable, run).await {
        Ok(of_watchdogs) => reasons.extend(of_watchdogs),
        Err(Objection::Denied(reason)) => {
            return Err(capable.refuse(ErrorCode::WatchdogDenied, reason));
        }
        Err(Objection::Cancelled) => return Err(super::watch::cancelled(capable)),
    }
    explanation.outcome = if reasons.is_empty() { Action::Allow } else { Action::Ask };
    explanation.reasons = reasons;
    Ok(())
}

fn explained(capable: &Capable, run: &RunState) -> Vec<AccessExplanation> {
    let rules = run.session.rules();
    let tool: &ToolId = &capable.valid().contract().id;
    let accesses = capable.accesses();
    if accesses.is_empty() {
        let decision = judge(tool, None, &rules);
        let text = decision.explain();
        return vec![AccessExplanation { access: tool.to_string(), action: decision.action, text }];
    }
    let explain = |access| {
        let decision = judge(tool, Some(access), &rules);
        let text = decision.explain();
        AccessExplanation { access: access.to_string(), action: decision.action, text }
    };
    accesses.iter().map(explain).collect()
}
