//! Permission rules, and the network guard in front of commands.

use haft_contract::{Command, ErrorCode};
use haft_policy::{
    Action, Canonical, Ground, NetworkRefusal, Question, decide, network_guard, network_guard_line,
};

use super::capable::Capable;
use super::refusal::Stop;
use crate::run::RunState;

/// A call that rules allow, or about which they want a person asked.
pub(super) struct Permitted {
    capable: Capable,
    ask: Option<String>,
}

pub(super) fn permit(capable: Capable, run: &RunState) -> Result<Permitted, Stop> {
    let decision = decide(
        &Question { tool: &capable.valid().contract().id, accesses: capable.accesses() },
        &run.session.rules,
    );
    let ask = match decision.action {
        Action::Allow => None,
        // Nobody is asked about the session's own outputs, unless a rule says so.
        Action::Ask if capable.only_own_outputs() && decision.because.ground == Ground::NoRule => {
            None
        }
        Action::Ask => Some(decision.explain()),
        Action::Deny => {
            return Err(capable.refuse(ErrorCode::PermissionDenied, decision.explain()));
        }
    };
    if !run.session.shared.parts.allow_network
        && let Some(refusal) = capable.accesses().iter().find_map(guard)
    {
        return Err(capable.refuse(refusal.code, refusal.message));
    }
    Ok(Permitted { capable, ask })
}

fn guard(access: &Canonical) -> Option<NetworkRefusal> {
    match access {
        Canonical::Shell { command: Command::Argv(argv) } => network_guard(argv),
        Canonical::Shell { command: Command::Unknown(line) } => network_guard_line(line),
        Canonical::Read { .. }
        | Canonical::Write { .. }
        | Canonical::Net { .. }
        | Canonical::Named { .. } => None,
    }
}

impl Permitted {
    /// Returns the call and why rules want a person asked, if they do.
    pub(super) fn into_parts(self) -> (Capable, Option<String>) {
        (self.capable, self.ask)
    }
}
