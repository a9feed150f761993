//! The runtime of both binaries. It keeps its journal in memory and allows every call.

use std::error::Error;
use std::sync::Arc;

use haft::{Registry, RuntimeParts, SystemClock, WorkspaceRoots};
use haft_journal::{LeaseOwner, MemoryJournal};
use haft_policy::{Rule, RuleAction, RuleScope};
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
        rules: vec![(RuleScope::Preset, Rule::new("*", "*", RuleAction::Allow))],
        ..RuntimeParts::new(
            Arc::new(MemoryJournal::new()),
            WorkspaceRoots::open(place.path(), &[])?,
            place.path().join("sidecars"),
            Arc::new(SystemClock),
            LeaseOwner { id: "conformance".to_owned(), location: "a test".to_owned() },
        )
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
