//! Watchdogs, in order, and then the one question that rules and watchdogs together may put to a person.

use std::sync::Arc;

use haft_contract::ErrorCode;
use haft_policy::Grant;

use super::capable::Capable;
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
        match watchdog.judge(watched).await {
            Verdict::Allow => {}
            Verdict::Ask(reason) => reasons.push(reason),
            Verdict::Deny(reason) => return Err(capable.refuse(ErrorCode::WatchdogDenied, reason)),
        }
    }
    let capable =
        if reasons.is_empty() { capable } else { ask_once(capable, reasons, run).await? };
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
    match run.session.asker.ask(ask).await {
        Answer::Once => Ok(capable),
        Answer::Reject => {
            let message = format!("the user rejected the call ({explained})");
            Err(capable.refuse(ErrorCode::PermissionDenied, message))
        }
        Answer::Nobody => {
            let message = format!("nobody can be asked here, so the call is denied: {explained}");
            Err(capable.refuse(ErrorCode::PermissionDenied, message))
        }
    }
}

impl Watched {
    pub(super) fn capable(&self) -> &Capable {
        &self.capable
    }

    pub(super) fn grant(&self) -> &Arc<Grant> {
        &self.grant
    }
}
