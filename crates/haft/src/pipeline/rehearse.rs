//! Passes a call through the stages that judge it, without executing or recording it.

use haft_contract::{Access, Remedy};
use haft_policy::{ResolvedAccess, RuleAction, decide_access};

use super::call_state::{ArrivedCall, CallState};
use super::capable::capable;
use super::history::{self, RunHistory};
use super::permit::{RulePermission, permit};
use super::refusal::PipelineStop;
use super::validate::validate;
use super::watch::check_watchdogs;
use crate::connection_state::ConnectionState;
use crate::explain::{AccessExplanation, CallExplanation};
use crate::panic::catch_panic;
use crate::run_error::RunError;

/// Returns the decision about a call.
pub(crate) async fn rehearse(
    arrived: ArrivedCall,
    history: &RunHistory,
    connection: &ConnectionState,
) -> Result<CallExplanation, RunError> {
    let mut explanation = CallExplanation {
        tool: arrived.call().tool.clone(),
        paths: Vec::new(),
        accesses: Vec::new(),
        refusal: None,
        outcome: RuleAction::Deny,
        reasons: Vec::new(),
    };
    let now_ms = connection.shared.parts.clock.now_ms();
    let state = history::rehearse(arrived, history, now_ms);
    match judge_call(state, connection, &mut explanation).await {
        Ok(()) => Ok(explanation),
        Err(PipelineStop::Refused(refused)) => {
            explanation.refusal = Some(refused.refusal);
            Ok(explanation)
        }
        // A rehearsal ignores earlier calls.
        Err(PipelineStop::Answered(_)) => Ok(explanation),
        Err(PipelineStop::Failed(err)) => Err(err),
    }
}

/// Returns the path of an access, if it is about one.
fn path_of(access: Access) -> Option<String> {
    match access {
        Access::Read { path } | Access::Write { path } => Some(path),
        _ => None,
    }
}

/// Passes the call through the judging stages, and adds their decisions to the explanation.
async fn judge_call(
    state: CallState,
    connection: &ConnectionState,
    explanation: &mut CallExplanation,
) -> Result<(), PipelineStop> {
    let (state, valid) = validate(state, connection)?;
    let declared = catch_panic(|| valid.tool().accesses(&state.call().input));
    explanation.paths = declared.into_iter().flatten().flatten().filter_map(path_of).collect();
    let (state, judged) = capable(state, valid, connection)?;
    connection.shared.load_conditions(judged.accesses()).await;
    let judged = judged.with_held_paths(connection.shared.holds_paths());
    let rules = connection.rules();
    let tool = &judged.contract().id;
    let explain = |access: Option<&ResolvedAccess>| {
        let decision = decide_access(tool, access, &rules);
        // Without an access, the rules decide about the tool, and there is nothing narrower to allow.
        let remedies = access.map(|_| decision.grounds().remedies).unwrap_or_default();
        let texts =
            std::iter::once(decision.explain()).chain(remedies.iter().map(Remedy::to_string));
        let text = texts.collect::<Vec<_>>().join("; ");
        let access = access.map_or_else(|| tool.to_string(), ToString::to_string);
        AccessExplanation { access, action: decision.action, text }
    };
    explanation.accesses = match judged.accesses() {
        [] => vec![explain(None)],
        accesses => accesses.iter().map(Some).map(explain).collect(),
    };
    let (state, judged, RulePermission { mut reasons }) = permit(state, judged, connection)?;
    let (_, _, of_watchdogs) = check_watchdogs(state, judged, connection).await?;
    reasons.extend(of_watchdogs);
    explanation.outcome = if reasons.is_empty() { RuleAction::Allow } else { RuleAction::Ask };
    explanation.reasons = reasons;
    Ok(())
}
