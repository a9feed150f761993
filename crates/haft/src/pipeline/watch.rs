//! Watchdogs, in order, and then the one question that rules and watchdogs together may put to a person.

use std::sync::Arc;

use haft_contract::ErrorCode;
use haft_policy::{Grant, HostScope};

use super::approve::approve;
use super::arrive::Entry;
use super::capable::Capable;
use super::permit::{self, Permitted};
use super::refusal::Stop;
use crate::run::RunState;
use crate::watchdog::{self, WatchedCall};

/// A call that may execute, and what it may touch while it does.
pub(super) struct Watched {
    capable: Capable,
    grant: Arc<Grant>,
    hosts: Arc<HostScope>,
}

/// Why a call does not pass the watchdogs.
pub(super) enum Objection {
    /// One of them denies it, or failed.
    Denied(String),
    /// It was cancelled while they judged it.
    Cancelled,
}

pub(super) async fn watch(permitted: Permitted, run: &RunState) -> Result<Watched, Stop> {
    let (capable, of_rules) = permitted.into_parts();
    let of_watchdogs = match consult(&capable, run).await {
        Ok(reasons) => reasons,
        Err(Objection::Denied(reason)) => {
            return Err(capable.refuse(ErrorCode::WatchdogDenied, reason));
        }
        Err(Objection::Cancelled) => return Err(cancelled(capable)),
    };
    let was_asked = !of_rules.is_empty();
    let capable = if of_rules.is_empty() && of_watchdogs.is_empty() {
        capable
    } else {
        approve(capable, of_watchdogs, run).await?
    };
    if capable.valid().call().cancellation.is_cancelled() {
        return Err(cancelled(capable));
    }
    let rules = run.session.rules();
    let tool = &capable.valid().contract().id;
    let grant = Grant::of_call(tool, capable.capabilities(), &rules);
    let hosts = permit::hosts(&capable, &rules, run);
    let hosts = if was_asked { hosts.after_asking() } else { hosts };
    Ok(Watched {
        grant: Arc::new(grant.with_allowed(capable.accesses())),
        hosts: Arc::new(hosts.with_allowed(capable.accesses())),
        capable,
    })
}

/// Returns why watchdogs want a person asked; nothing if all of them let the call pass.
pub(super) async fn consult(capable: &Capable, run: &RunState) -> Result<Vec<String>, Objection> {
    let parts = &run.session.shared.parts;
    let watched = WatchedCall {
        tool: &capable.valid().contract().id,
        input: &capable.valid().call().input,
        accesses: capable.accesses(),
        session: &run.session.id,
        root: parts.roots.workspace(),
        has_hosts: !permit::hosts(capable, &run.session.rules(), run).is_empty(),
        led_to: None,
    };
    match unless_cancelled(capable, watchdog::consult(&parts.watchdogs, watched)).await {
        Some(judged) => judged.map_err(Objection::Denied),
        None => Err(Objection::Cancelled),
    }
}

/// Waits for somebody else, but not beyond the call's cancellation.
pub(super) async fn unless_cancelled<T>(
    capable: &Capable,
    others: impl Future<Output = T>,
) -> Option<T> {
    let cancellation = &capable.valid().call().cancellation;
    tokio::select! {
        biased;
        () = cancellation.cancelled() => None,
        answer = others => Some(answer),
    }
}

pub(super) fn cancelled(capable: Capable) -> Stop {
    capable.refuse(ErrorCode::ProcessAborted, "the call was cancelled before it began".to_owned())
}

impl Watched {
    pub(super) fn into_entry(self) -> Entry {
        self.capable.into_entry()
    }

    /// Says that the driver hears how a recorded call ended, or that it is executed again.
    pub(super) fn heard(&mut self, seq: u32) {
        self.capable.heard(seq);
    }

    pub(super) fn capable(&self) -> &Capable {
        &self.capable
    }

    pub(super) fn grant(&self) -> &Arc<Grant> {
        &self.grant
    }

    /// Returns the hosts that the call may reach.
    pub(super) fn hosts(&self) -> &Arc<HostScope> {
        &self.hosts
    }
}
