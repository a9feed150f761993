//! The concrete accesses that the input implies lie inside the capabilities of the tool and of the agent.

use haft_contract::{Access, ErrorCode, ToolError};
use haft_policy::{Canonical, Capabilities};

use super::refusal::Stop;
use super::validate::Valid;
use crate::files::Territory;
use crate::run::RunState;

/// A call that stays inside its capabilities, and what it would touch.
pub(super) struct Capable {
    valid: Valid,
    accesses: Vec<Canonical>,
    recorded_accesses: String,
    capabilities: Capabilities,
    only_own_outputs: bool,
}

pub(super) fn capable(valid: Valid, run: &RunState) -> Result<Capable, Stop> {
    let shared = &run.session.shared;
    let declared = match valid.tool().accesses(&valid.call().input) {
        Ok(declared) => declared,
        Err(err) => return Err(refused(valid, "[]".to_owned(), err)),
    };
    let recorded_accesses = serde_json::to_string(&declared).unwrap_or_else(|_| "[]".to_owned());
    let accesses = match canonical(&declared, &run.session.territory) {
        Ok(accesses) => accesses,
        Err(err) => return Err(refused(valid, recorded_accesses, err)),
    };
    let capabilities = match shared.capabilities_of(valid.contract()) {
        Ok(capabilities) => capabilities,
        Err(err) => {
            let err = ToolError::new(ErrorCode::CapabilityDenied, err.to_string());
            return Err(refused(valid, recorded_accesses, err));
        }
    };
    let shortfall = accesses.iter().find_map(|access| {
        let outside_tool = capabilities.check(access).and_then(|()| shared.effective.check(access));
        outside_tool.err()
    });
    if let Some(shortfall) = shortfall {
        let err = ToolError::new(ErrorCode::CapabilityDenied, shortfall.to_string());
        return Err(refused(valid, recorded_accesses, err));
    }
    let only_own_outputs = accesses.is_empty() && !declared.is_empty();
    Ok(Capable { valid, accesses, recorded_accesses, capabilities, only_own_outputs })
}

/// Resolves the paths of accesses. Sidecars are left out: the session's own outputs are always readable, and a write
/// to one is refused where files are changed.
fn canonical(declared: &[Access], territory: &Territory) -> Result<Vec<Canonical>, ToolError> {
    let mut accesses = Vec::with_capacity(declared.len());
    for access in declared {
        match access {
            Access::Read { path } => {
                let subject = territory.subject(&territory.resolve(path)?.0);
                accesses.extend(subject.map(|path| Canonical::Read { path }));
            }
            Access::Write { path } => {
                let subject = territory.subject(&territory.resolve(path)?.0);
                accesses.extend(subject.map(|path| Canonical::Write { path }));
            }
            Access::Net { host } => accesses.push(Canonical::Net { host: host.clone() }),
            Access::Shell { command } => {
                accesses.push(Canonical::Shell { command: command.clone() })
            }
            Access::Named { name } => accesses.push(Canonical::Named { name: name.clone() }),
            _ => {
                let message = format!("access {access:?} is of a kind that cannot be judged");
                return Err(ToolError::new(ErrorCode::CapabilityDenied, message));
            }
        }
    }
    Ok(accesses)
}

fn refused(valid: Valid, accesses: String, err: ToolError) -> Stop {
    Stop::refused_with(valid.into_entry(), accesses, err.code, err.message)
}

impl Capable {
    pub(super) fn valid(&self) -> &Valid {
        &self.valid
    }

    pub(super) fn accesses(&self) -> &[Canonical] {
        &self.accesses
    }

    pub(super) fn recorded_accesses(&self) -> &str {
        &self.recorded_accesses
    }

    pub(super) fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    /// Returns whether all that the call touches are sidecars of its own session, about which nobody is asked.
    pub(super) fn only_own_outputs(&self) -> bool {
        self.only_own_outputs
    }

    pub(super) fn refuse(self, code: ErrorCode, message: String) -> Stop {
        Stop::refused_with(self.valid.into_entry(), self.recorded_accesses, code, message)
    }
}
