//! Checks that the concrete accesses of the input lie inside the capabilities of the tool and of the agent.

use std::net::IpAddr;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use haft_contract::{
    Access, CommandLine, Contract, Effect, ErrorCode, FilePath, FsEntryKind, Refusal, ToolError,
};
use haft_policy::{Capabilities, CommandReach, PathReach, PathSubject, ResolvedAccess};

use haft_sandbox::proxy::is_metadata_address;

use super::call_state::{CallState, json_or_digest};
use super::refusal::{PipelineStop, plain_refusal};
use super::validate::Valid;
use crate::connection_state::ConnectionState;
use crate::files::PathResolver;
use crate::panic::catch_panic;
use crate::registry::RegisteredTool;
use crate::sandbox::Sandbox;

/// Evidence that all accesses of the call lie inside its capabilities.
pub(super) struct Judged {
    /// The tool that is called.
    registered: Arc<RegisteredTool>,
    /// The accesses with resolved paths, as rules judge them.
    accesses: Vec<ResolvedAccess>,
    /// The accesses as JSON, as the journal records them.
    recorded_accesses: String,
    /// The capabilities of the tool, limited by the restrictions of the connection.
    capabilities: Capabilities,
    /// Whether the call only reads sidecars of its session or files of loaded skills.
    only_own_outputs: bool,
}

/// Resolves the declared accesses, and refuses the call if one of them lies outside its capabilities.
pub(super) fn capable(
    state: CallState,
    valid: Valid,
    connection: &ConnectionState,
) -> Result<(CallState, Judged), PipelineStop> {
    let shared = &connection.shared;
    let declared =
        catch_panic(|| valid.tool().accesses(&state.call().input)).unwrap_or_else(|panic| {
            Err(ToolError::new(
                ErrorCode::ToolPanicked,
                format!("the tool panicked over its input: {panic}"),
            ))
        });
    let declared = match declared {
        Ok(declared) => declared,
        Err(err) => return Err(capability_refusal(state, "[]".to_owned(), err)),
    };
    let ground = AccessResolver { paths: &connection.paths, sandbox: &shared.parts.sandbox };
    let (accesses, recorded_accesses) = match ground.resolve_accesses(&declared) {
        Ok(judged) => judged,
        Err(err) => {
            let json = serde_json::to_string(&declared).unwrap_or_else(|_| "[]".to_owned());
            return Err(capability_refusal(state, json_or_digest(json), err));
        }
    };
    let ad_hoc = connection.paths.granted.ad_hoc_paths();
    let compiled = shared.catalog.capabilities_of(state.catalog(), valid.contract(), &ad_hoc);
    let (capabilities, effective) = match compiled {
        Ok((own, effective)) => (connection.restrictions.restrict_capabilities(own), effective),
        Err(err) => {
            let err = ToolError::new(ErrorCode::CapabilityDenied, err.to_string());
            return Err(capability_refusal(state, recorded_accesses, err));
        }
    };
    let shortfall = accesses.iter().find_map(|access| {
        let outside_tool = capabilities.check(access).and_then(|()| effective.check(access));
        outside_tool.err()
    });
    if let Some(shortfall) = shortfall {
        let err = ToolError::new(ErrorCode::CapabilityDenied, shortfall.to_string());
        return Err(capability_refusal(state, recorded_accesses, err));
    }
    let only_reads = declared.iter().all(|access| matches!(access, Access::Read { .. }));
    let only_own_outputs = valid.contract().effect == Effect::Read
        && only_reads
        && !declared.is_empty()
        && accesses.is_empty();
    let registered = valid.into_registered();
    let judged = Judged { registered, accesses, recorded_accesses, capabilities, only_own_outputs };
    Ok((state, judged))
}

/// The roots and the sandbox that accesses are resolved and compared with.
struct AccessResolver<'a> {
    /// Resolves the paths of the call.
    paths: &'a PathResolver,
    /// The sandbox, which hides places and protects files.
    sandbox: &'a Sandbox,
}

impl AccessResolver<'_> {
    /// Resolves the paths of accesses, and records both their spellings and their targets for the journal. Sidecars are
    /// not judged. The connection's own outputs are always readable, and the file access of tools refuses to write
    /// them.
    fn resolve_accesses(
        &self,
        declared: &[Access],
    ) -> Result<(Vec<ResolvedAccess>, String), ToolError> {
        let sweep = CommandReach::of(commands(declared));
        let runs_commands = commands(declared).next().is_some();
        let mut accesses = Vec::with_capacity(declared.len());
        let mut recorded = Vec::with_capacity(declared.len());
        for access in declared {
            let mut record = serde_json::to_value(access).unwrap_or_default();
            match access {
                Access::Read { path } | Access::Write { path } => {
                    let is_write = matches!(access, Access::Write { .. });
                    let target = match self.paths.resolve(path) {
                        Ok((place, kind)) => AccessTarget::Inside(place, kind),
                        Err(err) if runs_commands => self.command_target(path, is_write, err)?,
                        Err(err) => return Err(err),
                    };
                    if let Some(display) = target.display().filter(|display| display != path) {
                        record["resolved"] = display.into();
                    }
                    if is_write {
                        let spellings = self.paths.spellings(path);
                        spellings.iter().try_for_each(|path| self.sandbox.check_write(path))?;
                    }
                    let reach = if is_write { sweep.writes } else { sweep.reads };
                    let judged = match (target, reach) {
                        (AccessTarget::Inside(place, kind), reach) => {
                            // A target that is no directory now has no entries.
                            let is_directory = kind == Some(FsEntryKind::Directory);
                            let reach = if is_directory { reach } else { PathReach::PathOnly };
                            let subject = self.paths.subject(&place);
                            subject.map(|subject| subject.with_reach(reach)).into_iter().collect()
                        }
                        (AccessTarget::Outside(directory), PathReach::Tree) => {
                            self.paths.roots.roots_within(&directory)
                        }
                        (AccessTarget::Outside(_), PathReach::PathOnly) => Vec::new(),
                    };
                    for path in judged {
                        accesses.push(if is_write {
                            self.sandbox.check_write(&path)?;
                            ResolvedAccess::Write { path }
                        } else {
                            self.sandbox.check_read(&path)?;
                            ResolvedAccess::Read { path }
                        });
                    }
                }
                Access::Net { host } if is_metadata_host(host) => {
                    let message =
                        format!("{host} is the metadata service of a cloud, which no call reaches");
                    return Err(ToolError::new(ErrorCode::CapabilityDenied, message));
                }
                Access::Net { host } => accesses.push(ResolvedAccess::Net { host: host.clone() }),
                Access::Shell { command } => {
                    accesses.push(ResolvedAccess::Shell { command: command.clone() })
                }
                Access::Named { name } => {
                    accesses.push(ResolvedAccess::Named { name: name.clone() })
                }
                _ => {
                    let message = format!("access {access:?} is of a kind that cannot be judged");
                    return Err(ToolError::new(ErrorCode::CapabilityDenied, message));
                }
            }
            recorded.push(record);
        }
        Ok((accesses, json_or_digest(serde_json::Value::from(recorded).to_string())))
    }

    /// Returns the target of a command's path that does not resolve now.
    fn command_target(
        &self,
        path: &str,
        is_write: bool,
        err: ToolError,
    ) -> Result<AccessTarget, ToolError> {
        let Some(lexical) = without_parents(path) else { return Err(err) };
        if err.code == ErrorCode::PathInvalid {
            // The same command line may make a directory on the path before it uses the path.
            let lexical = lexical.to_string_lossy();
            if let Ok((place, kind)) = self.paths.resolve(&lexical) {
                return Ok(AccessTarget::Inside(place, kind));
            }
            let place = self.paths.unresolved_path(&lexical)?;
            return Ok(AccessTarget::Inside(place, None));
        }
        if !lexical.is_absolute() {
            return Err(err);
        }
        self.sandbox.check_read(&PathSubject::outside_roots(lexical.clone()))?;
        let is_private = self.sandbox.is_private(&lexical);
        let is_shown = !is_write && self.sandbox.may_show(&lexical);
        if is_private || is_shown {
            return Ok(AccessTarget::Outside(lexical));
        }
        let verb = if is_write { "change" } else { "read" };
        Err(ToolError {
            message: format!(
                "nothing was run, because the command would {verb} this place: {}",
                err.message
            ),
            ..err
        })
    }
}

/// The target of a path.
enum AccessTarget {
    /// A place beneath a root, or a sidecar.
    Inside(FilePath, Option<FsEntryKind>),
    /// A place that rules do not judge, except for roots within it. The sandbox shows it to every command, or makes it
    /// for this command alone.
    Outside(PathBuf),
}

impl AccessTarget {
    /// Returns the resolved path as messages show it, or `None` outside of the roots.
    fn display(&self) -> Option<&str> {
        match self {
            Self::Inside(place, _) => Some(place.display()),
            Self::Outside(_) => None,
        }
    }
}

/// Returns whether a host is the address of a metadata service.
fn is_metadata_host(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    address.parse::<IpAddr>().is_ok_and(is_metadata_address)
}

/// Returns the declared commands.
fn commands(declared: &[Access]) -> impl Iterator<Item = &CommandLine> {
    declared.iter().filter_map(|access| match access {
        Access::Shell { command } => Some(command),
        _ => None,
    })
}

/// Removes `..` from a path by its spelling alone; returns `None` if the path climbs above its start.
fn without_parents(path: &str) -> Option<PathBuf> {
    let mut lexical = PathBuf::new();
    for component in Path::new(path).components() {
        match component {
            Component::ParentDir => {
                let is_named =
                    matches!(lexical.components().next_back(), Some(Component::Normal(_)));
                if !is_named || !lexical.pop() {
                    return None;
                }
            }
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => {
                lexical.push(component);
            }
        }
    }
    Some(lexical)
}

/// Refuses the call with the error of resolving its accesses.
fn capability_refusal(state: CallState, accesses: String, err: ToolError) -> PipelineStop {
    let refusal = err.refusal().unwrap_or_else(|| plain_refusal(err.code, err.message));
    PipelineStop::refused_with(state, accesses, refusal).recorded_as(err.recorded)
}

impl Judged {
    /// Returns the contract of the tool.
    pub(super) fn contract(&self) -> &Contract {
        self.registered.contract()
    }

    /// Returns the accesses as rules judge them.
    pub(super) fn accesses(&self) -> &[ResolvedAccess] {
        &self.accesses
    }

    /// Returns the capabilities of the tool in this connection.
    pub(super) fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    /// Returns the evidence for rules where the kernel holds the rules about paths around commands. A command then gets
    /// nothing that is denied, however far it reaches, so only the paths that it names are judged.
    pub(super) fn with_held_paths(mut self, are_held: bool) -> Self {
        let is_command =
            self.accesses.iter().any(|access| matches!(access, ResolvedAccess::Shell { .. }));
        if are_held && is_command {
            for access in &mut self.accesses {
                match access {
                    ResolvedAccess::Read { path } | ResolvedAccess::Write { path }
                        if path.relative.is_some() =>
                    {
                        path.reach = PathReach::PathOnly;
                    }
                    ResolvedAccess::Read { .. }
                    | ResolvedAccess::Write { .. }
                    | ResolvedAccess::Net { .. }
                    | ResolvedAccess::Shell { .. }
                    | ResolvedAccess::Named { .. } => {}
                }
            }
        }
        self
    }

    /// Returns whether the call touches only sidecars of its session. Such a call needs no answer from a person.
    pub(super) fn only_own_outputs(&self) -> bool {
        self.only_own_outputs
    }

    /// Returns the refusal of a call because of its accesses.
    pub(super) fn refuse(self, state: CallState, code: ErrorCode, message: String) -> PipelineStop {
        self.refuse_as(state, plain_refusal(code, message))
    }

    /// Refuses the call, and records its accesses with the refusal.
    pub(super) fn refuse_as(self, state: CallState, refusal: Refusal) -> PipelineStop {
        PipelineStop::refused_with(state, self.recorded_accesses, refusal)
    }

    /// Returns the refusal of a call that was cancelled while it was judged.
    pub(super) fn refuse_cancelled(self, state: CallState) -> PipelineStop {
        let message = "the call was cancelled before it began".to_owned();
        self.refuse(state, ErrorCode::ProcessAborted, message)
    }

    /// Returns the tool, and the accesses as rules judge them and as the journal records them.
    pub(super) fn into_parts(self) -> (Arc<RegisteredTool>, Vec<ResolvedAccess>, String) {
        (self.registered, self.accesses, self.recorded_accesses)
    }
}
