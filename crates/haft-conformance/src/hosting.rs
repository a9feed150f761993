//! The runtime of both binaries. It keeps its journal in memory and allows every call.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use haft::{
    CallLimits, Registry, RepeatPolicy, RuntimeParts, Sandbox, SystemClock, WorkspaceRoots,
};
use haft_contract::{PatternVariables, RequirementSet};
use haft_journal::{LeaseOwner, MemoryJournal};
use haft_policy::{NetworkGuard, Rule, RuleAction, RuleScope};
use haft_sandbox::Launcher;
use rustix::rand::{GetRandomFlags, getrandom};

/// Why there is nothing to show.
pub(crate) type Failure = Box<dyn Error + Send + Sync>;

/// Returns what a runtime of these tools is made of, in which everything is allowed.
pub(crate) fn parts(
    place: &tempfile::TempDir,
    registry: Registry,
) -> Result<RuntimeParts, Failure> {
    Ok(RuntimeParts {
        registry,
        journal: Arc::new(MemoryJournal::new()),
        roots: WorkspaceRoots::open(place.path(), &[])?,
        variables: PatternVariables::default(),
        requires: RequirementSet::default(),
        rules: vec![(RuleScope::Preset, Rule::new("*", "*", RuleAction::Allow))],
        limits: CallLimits::default(),
        allow_network: false,
        network_guard: NetworkGuard::default(),
        sandbox: Sandbox::system(),
        project_rules: None,
        watchdogs: Vec::new(),
        // No tool here runs a command.
        launcher: Launcher::new(PathBuf::from("/nonexistent")),
        networking: haft::Networking::default(),
        environment: Vec::new(),
        sidecars: place.path().join("sidecars"),
        clock: Arc::new(SystemClock),
        owner: LeaseOwner { id: "conformance".to_owned(), location: "a test".to_owned() },
        is_gone: Arc::new(|_| None),
        snapshots: None,
        on_repeat: RepeatPolicy::Warn,
        settings: "{}".to_owned(),
    })
}

/// Returns random bytes.
pub(crate) fn random<const COUNT: usize>() -> Result<[u8; COUNT], Failure> {
    let mut bytes = [0; COUNT];
    match getrandom(&mut bytes, GetRandomFlags::empty())? {
        filled if filled == COUNT => Ok(bytes),
        filled => Err(format!("the system gave {filled} random bytes of {COUNT}").into()),
    }
}
