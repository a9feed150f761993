//! The concrete accesses that the input implies lie inside the capabilities of the tool and of the agent.

use haft_contract::{Access, Effect, ErrorCode, ToolError};
use haft_policy::{Canonical, Capabilities};

use super::arrive::bounded;
use super::panic::contained;
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
    let declared =
        contained(|| valid.tool().accesses(&valid.call().input)).unwrap_or_else(|panic| {
            Err(ToolError::new(
                ErrorCode::ToolPanicked,
                format!("the tool panicked over its input: {panic}"),
            ))
        });
    let declared = match declared {
        Ok(declared) => declared,
        Err(err) => return Err(refused(valid, "[]".to_owned(), err)),
    };
    let (accesses, recorded_accesses) = match canonical(&declared, &run.session.territory) {
        Ok(judged) => judged,
        Err(err) => return Err(refused(valid, bounded(as_declared(&declared)), err)),
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
    let only_reads = declared.iter().all(|access| matches!(access, Access::Read { .. }));
    let only_own_outputs = valid.contract().effect == Effect::Read
        && only_reads
        && !declared.is_empty()
        && accesses.is_empty();
    Ok(Capable { valid, accesses, recorded_accesses, capabilities, only_own_outputs })
}

/// Resolves the paths of accesses, and says for the journal both how they were spelled and where they lead. Sidecars are
/// not judged: the session's own outputs are always readable, and a write to one is refused where files are changed.
fn canonical(
    declared: &[Access],
    territory: &Territory,
) -> Result<(Vec<Canonical>, String), ToolError> {
    let mut accesses = Vec::with_capacity(declared.len());
    let mut recorded = Vec::with_capacity(declared.len());
    for access in declared {
        let mut record = serde_json::to_value(access).unwrap_or_default();
        match access {
            Access::Read { path } | Access::Write { path } => {
                let place = territory.resolve(path)?.0;
                if place.display() != path {
                    record["resolved"] = place.display().into();
                }
                let is_write = matches!(access, Access::Write { .. });
                let judged = |path| {
                    if is_write { Canonical::Write { path } } else { Canonical::Read { path } }
                };
                accesses.extend(territory.subject(&place).map(judged));
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
        recorded.push(record);
    }
    Ok((accesses, bounded(serde_json::Value::from(recorded).to_string())))
}

fn as_declared(declared: &[Access]) -> String {
    serde_json::to_string(declared).unwrap_or_else(|_| "[]".to_owned())
}

fn refused(valid: Valid, accesses: String, err: ToolError) -> Stop {
    let recorded = err.recorded;
    Stop::refused_with(valid.into_entry(), accesses, err.code, err.message).recorded_as(recorded)
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
