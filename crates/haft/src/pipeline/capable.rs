//! The concrete accesses that the input implies lie inside the capabilities of the tool and of the agent.

use std::path::{Component, Path, PathBuf};

use haft_contract::{Access, Command, Effect, ErrorCode, FileKind, FilePath, ToolError};
use haft_policy::{Canonical, Capabilities, PathSubject, Reach, Sweep};

use super::arrive::{Entry, bounded};
use super::panic::contained;
use super::refusal::Stop;
use super::validate::Valid;
use crate::files::Territory;
use crate::run::RunState;
use crate::sandbox::Sandbox;

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
    let ground = Ground { territory: &run.session.territory, sandbox: &shared.parts.sandbox };
    let (accesses, recorded_accesses) = match ground.canonical(&declared) {
        Ok(judged) => judged,
        Err(err) => return Err(refused(valid, bounded(as_declared(&declared)), err)),
    };
    let capabilities = match shared.catalog.capabilities_of(valid.offer(), valid.contract()) {
        Ok(capabilities) => run.session.narrowed.within(capabilities),
        Err(err) => {
            let err = ToolError::new(ErrorCode::CapabilityDenied, err.to_string());
            return Err(refused(valid, recorded_accesses, err));
        }
    };
    let shortfall = accesses.iter().find_map(|access| {
        let outside_tool =
            capabilities.check(access).and_then(|()| valid.offer().effective.check(access));
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

/// What the paths of accesses are resolved and compared with.
struct Ground<'a> {
    territory: &'a Territory,
    sandbox: &'a Sandbox,
}

impl Ground<'_> {
    /// Resolves the paths of accesses, and says for the journal both how they were spelled and where they lead. Sidecars
    /// are not judged: the session's own outputs are always readable, and a write to one is refused where files are
    /// changed.
    fn canonical(&self, declared: &[Access]) -> Result<(Vec<Canonical>, String), ToolError> {
        let sweep = Sweep::of(commands(declared));
        let runs_commands = commands(declared).next().is_some();
        let mut accesses = Vec::with_capacity(declared.len());
        let mut recorded = Vec::with_capacity(declared.len());
        for access in declared {
            let mut record = serde_json::to_value(access).unwrap_or_default();
            match access {
                Access::Read { path } | Access::Write { path } => {
                    let is_write = matches!(access, Access::Write { .. });
                    let target = match self.territory.resolve(path) {
                        Ok((place, kind)) => Target::Place(place, kind),
                        Err(err) if runs_commands => self.target_of_command(path, is_write, err)?,
                        Err(err) => return Err(err),
                    };
                    if let Some(display) = target.display().filter(|display| display != path) {
                        record["resolved"] = display.into();
                    }
                    if is_write {
                        let spellings = self.territory.spellings(path);
                        spellings.iter().try_for_each(|path| self.sandbox.check_write(path))?;
                    }
                    let reach = if is_write { sweep.writes } else { sweep.reads };
                    for path in self.subjects(target, reach) {
                        accesses.push(self.judged(path, is_write)?);
                    }
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

    /// Refuses what no rule can allow.
    fn judged(&self, path: PathSubject, is_write: bool) -> Result<Canonical, ToolError> {
        if is_write {
            self.sandbox.check_write(&path)?;
            return Ok(Canonical::Write { path });
        }
        self.sandbox.check_read(&path)?;
        Ok(Canonical::Read { path })
    }

    /// Returns what rules judge of a target that is reached so far. What is no directory now has nothing beneath it.
    fn subjects(&self, target: Target, reach: Reach) -> Vec<PathSubject> {
        match (target, reach) {
            (Target::Place(place, kind), reach) => {
                let is_directory = kind == Some(FileKind::Directory);
                let reach = if is_directory { reach } else { Reach::Place };
                let subject = self.territory.subject(&place);
                subject.map(|subject| subject.reaching(reach)).into_iter().collect()
            }
            (Target::Outside(directory), Reach::Tree) => self.territory.roots_within(&directory),
            (Target::Outside(_), Reach::Place) => Vec::new(),
        }
    }

    /// Returns where a path leads that a command names and that does not resolve now.
    fn target_of_command(
        &self,
        path: &str,
        is_write: bool,
        err: ToolError,
    ) -> Result<Target, ToolError> {
        let Some(lexical) = without_parents(path) else { return Err(err) };
        if err.code == ErrorCode::PathInvalid {
            // A directory on the way may be made by the same line, before the path is used.
            let lexical = lexical.to_string_lossy();
            if let Ok((place, kind)) = self.territory.resolve(&lexical) {
                return Ok(Target::Place(place, kind));
            }
            return self.territory.unresolved(&lexical).map(|place| Target::Place(place, None));
        }
        if !lexical.is_absolute() {
            return Err(err);
        }
        self.sandbox.check_read(&PathSubject::outside(lexical.clone()))?;
        let is_private = self.sandbox.is_private(&lexical);
        let is_shown = !is_write && self.sandbox.shows(&lexical);
        if is_private || is_shown {
            return Ok(Target::Outside(lexical));
        }
        let verb = if is_write { "change" } else { "read" };
        Err(ToolError {
            message: format!("the command would {verb} what is not its own: {}", err.message),
            ..err
        })
    }
}

/// Where a path leads.
enum Target {
    /// To a place beneath a root, or to a sidecar.
    Place(FilePath, Option<FileKind>),
    /// To a place in which rules have no say, but for roots within it: what the sandbox shows to every command, and what
    /// it makes for this one alone.
    Outside(PathBuf),
}

impl Target {
    fn display(&self) -> Option<&str> {
        match self {
            Self::Place(place, _) => Some(place.display()),
            Self::Outside(_) => None,
        }
    }
}

fn commands(declared: &[Access]) -> impl Iterator<Item = &Command> {
    declared.iter().filter_map(|access| match access {
        Access::Shell { command } => Some(command),
        _ => None,
    })
}

/// Takes `..` out of a path by its spelling alone; nothing if it climbs above where it starts.
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

fn as_declared(declared: &[Access]) -> String {
    serde_json::to_string(declared).unwrap_or_else(|_| "[]".to_owned())
}

fn refused(valid: Valid, accesses: String, err: ToolError) -> Stop {
    let recorded = err.recorded;
    Stop::refused_with(valid.into_entry(), accesses, err.code, err.message).recorded_as(recorded)
}

impl Capable {
    pub(super) fn into_entry(self) -> Entry {
        self.valid.into_entry()
    }

    /// Says that the driver hears how a recorded call ended, or that it is executed again.
    pub(super) fn heard(&mut self, seq: u32) {
        self.valid.heard(seq);
    }

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
