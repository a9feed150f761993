//! Watchdogs, in order, and then the one question that rules and watchdogs together may put to a person.

use std::sync::Arc;

use haft_contract::ErrorCode;
use haft_policy::Grant;

use super::capable::Capable;
use super::panic::Contained;
use super::permit::Permitted;
use super::refusal::Stop;
use crate::ask::{Answer, Ask};
use crate::run::RunState;
use crate::watchdog::{Verdict, WatchedCall};

/// A call that may execute, and what it may touch while it does.
pub(super) struct Watched {
    capable: Capable,
    grant: Arc<Grant>,
}

pub(super) async fn watch(permitted: Permitted, run: &RunState) -> Result<Watched, Stop> {
    let (capable, ask) = permitted.into_parts();
    let mut reasons: Vec<String> = ask.into_iter().collect();
    for watchdog in &run.session.shared.parts.watchdogs {
        let watched = WatchedCall {
            tool: &capable.valid().contract().id,
            input: &capable.valid().call().input,
            accesses: capable.accesses(),
            session: &run.session.id,
        };
        let judged = Contained(Box::pin(async move { watchdog.judge(watched).await }));
        let verdict = unless_cancelled(&capable, judged).await;
        match verdict {
            Some(Ok(Verdict::Allow)) => {}
            Some(Ok(Verdict::Ask(reason))) => reasons.push(reason),
            Some(Ok(Verdict::Deny(reason))) => {
                return Err(capable.refuse(ErrorCode::WatchdogDenied, reason));
            }
            // A watchdog that fails has not allowed anything.
            Some(Err(panic)) => {
                let message = format!("the watchdog failed, so the call is denied: {panic}");
                return Err(capable.refuse(ErrorCode::WatchdogDenied, message));
            }
            None => return Err(cancelled(capable)),
        }
    }
    let capable =
        if reasons.is_empty() { capable } else { ask_once(capable, reasons, run).await? };
    if capable.valid().call().cancellation.is_cancelled() {
        return Err(cancelled(capable));
    }
    let tool = &capable.valid().contract().id;
    let grant = Grant::of_call(tool, capable.capabilities(), &run.session.rules)
        .with_allowed(capable.accesses());
    Ok(Watched { grant: Arc::new(grant), capable })
}

async fn ask_once(capable: Capable, reasons: Vec<String>, run: &RunState) -> Result<Capable, Stop> {
    let ask = Ask {
        tool: capable.valid().contract().id.clone(),
        accesses: capable.accesses().iter().map(ToString::to_string).collect(),
        reasons,
    };
    let explained = ask.reasons.join("; ");
    let asked = Contained(Box::pin(async move { run.session.asker.ask(ask).await }));
    let answer = unless_cancelled(&capable, asked).await;
    match answer {
        None => Err(cancelled(capable)),
        Some(Ok(Answer::Once)) => Ok(capable),
        Some(Ok(Answer::Reject)) => {
            let message = format!("the user rejected the call ({explained})");
            Err(capable.refuse(ErrorCode::PermissionDenied, message))
        }
        Some(Ok(Answer::Nobody)) => {
            let message = format!("nobody can be asked here, so the call is denied: {explained}");
            Err(capable.refuse(ErrorCode::PermissionDenied, message))
        }
        Some(Err(panic)) => {
            let message = format!("asking failed, so the call is denied: {panic}");
            Err(capable.refuse(ErrorCode::PermissionDenied, message))
        }
    }
}

/// Waits for somebody else, but not beyond the call's cancellation.
async fn unless_cancelled<T>(capable: &Capable, others: impl Future<Output = T>) -> Option<T> {
    let cancellation = &capable.valid().call().cancellation;
    tokio::select! {
        biased;
        () = cancellation.cancelled() => None,
        answer = others => Some(answer),
    }
}

fn cancelled(capable: Capable) -> Stop {
    capable.refuse(ErrorCode::ProcessAborted, "the call was cancelled before it began".to_owned())
}

impl Watched {
    pub(super) fn capable(&self) -> &Capable {
        &self.capable
    }

    pub(super) fn grant(&self) -> &Arc<Grant> {
        &self.grant
    }
}
