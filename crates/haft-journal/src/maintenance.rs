//! The upkeep of a journal as a whole: which runs are removed, and the findings of a check.

use std::collections::{HashMap, HashSet};

use haft_contract::RunId;
use serde::Serialize;

use crate::session_id::SessionId;

/// Says which runs may go. A run with a lease stays, whatever its age. A run and the sessions that it began go together, when all
/// of them were quiet that long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// Runs whose latest record is older than this go, in milliseconds since 1970.
    pub before_ms: Option<u64>,
    /// While the texts of all calls and sessions together hold more than this many bytes, the run that was quiet for longest
    /// goes.
    pub bytes_max: Option<u64>,
    /// Whether a run stays that has a call in doubt without a verdict. A driver that does not know of the call would make it
    /// again. Another run goes in its place.
    pub keeps_in_doubt: bool,
}

/// The runs that would be removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DueRuns {
    /// The runs that would go, the one that was quiet for longest first.
    pub runs: Vec<RunId>,
    /// Runs that stay because calls of theirs are in doubt.
    pub kept_in_doubt: Vec<RunId>,
}

/// The runs that were removed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PrunedRuns {
    /// The runs that are gone.
    pub runs: Vec<RunId>,
    /// How many calls went with them.
    pub calls: u64,
    /// Runs that stayed because calls of theirs are in doubt.
    pub kept_in_doubt: Vec<RunId>,
}

/// Something in a journal that is not as haft leaves it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct JournalFinding {
    /// The rule that does not hold, in one word or two.
    pub rule: String,
    /// Where, and what was found instead.
    pub detail: String,
}

/// The facts that decide whether a run may go.
#[derive(Debug)]
pub(crate) struct RunAge {
    pub(crate) run: RunId,
    /// The run of the session that began it.
    pub(crate) parent: Option<RunId>,
    /// When the run was heard of last, in milliseconds since 1970.
    pub(crate) latest_ms: u64,
    /// How much its calls hold, and what was said.
    pub(crate) bytes: u64,
    pub(crate) is_held: bool,
    /// Whether it has a `once` call in doubt.
    pub(crate) is_in_doubt: bool,
}

/// The runs that are to be removed, and those that are kept.
pub(crate) struct Candidates<C> {
    /// The runs that go, with those whose removal was interrupted.
    pub(crate) going: Vec<C>,
    pub(crate) kept_in_doubt: Vec<RunId>,
}

impl<C> Candidates<C> {
    pub(crate) fn due(self, run: impl FnMut(C) -> RunId) -> DueRuns {
        let runs = self.going.into_iter().map(run).collect();
        DueRuns { runs, kept_in_doubt: self.kept_in_doubt }
    }
}

impl Retention {
    /// Finds those of all runs that go, behind those that are going already.
    pub(crate) fn candidates<C>(self, mut going: Vec<C>, seen: Vec<(RunAge, C)>) -> Candidates<C> {
        let mut by_run = HashMap::new();
        let aged = |(age, candidate): (RunAge, C)| {
            by_run.insert(age.run.clone(), candidate);
            age
        };
        let ages = seen.into_iter().map(aged).collect();
        let DueRuns { runs, kept_in_doubt } = self.chosen(ages);
        going.extend(runs.iter().filter_map(|run| by_run.remove(run)));
        Candidates { going, kept_in_doubt }
    }

    /// Returns the runs that go, the one that was quiet for longest first. In a family, a parent comes before its children.
    pub(crate) fn chosen(self, ages: Vec<RunAge>) -> DueRuns {
        let mut bytes: u64 = ages.iter().map(|age| age.bytes).sum();
        let mut chosen = DueRuns::default();
        let mut families = families(ages);
        families.sort_by_key(|family| family.latest_ms);
        for family in families {
            let is_old = self.before_ms.is_some_and(|before_ms| family.latest_ms < before_ms);
            let is_too_much = self.bytes_max.is_some_and(|bytes_max| bytes > bytes_max);
            if family.is_held || !(is_old || is_too_much) {
                continue;
            }
            if self.keeps_in_doubt && !family.in_doubt.is_empty() {
                chosen.kept_in_doubt.extend(family.in_doubt);
            } else {
                bytes -= family.bytes;
                chosen.runs.extend(family.runs);
            }
        }
        chosen
    }
}

/// A run, and the runs of the sessions that were begun in it: what decides whether one may go decides it for all.
#[derive(Debug, Default)]
struct Family {
    runs: Vec<RunId>,
    in_doubt: Vec<RunId>,
    latest_ms: u64,
    bytes: u64,
    is_held: bool,
}

/// Puts runs together that go together, each behind the one that began it, which was recorded before.
fn families(ages: Vec<RunAge>) -> Vec<Family> {
    let mut families: Vec<Family> = Vec::new();
    let mut by_run: HashMap<RunId, usize> = HashMap::new();
    for age in ages {
        // A run whose parent is gone already begins a family.
        let known = age.parent.as_ref().and_then(|parent| by_run.get(parent).copied());
        let index = known.unwrap_or(families.len());
        by_run.insert(age.run.clone(), index);
        by_run.insert(SessionId::standing_for(&age.run).run(), index);
        if known.is_none() {
            families.push(Family::default());
        }
        if let Some(family) = families.get_mut(index) {
            family.latest_ms = family.latest_ms.max(age.latest_ms);
            family.bytes += age.bytes;
            family.is_held |= age.is_held;
            family.in_doubt.extend(age.is_in_doubt.then(|| age.run.clone()));
            family.runs.push(age.run);
        }
    }
    families
}

/// Which runs stay although they were to go, because they are in use again: with them stays what they began.
#[derive(Debug, Default)]
pub(crate) struct Families {
    kept: HashSet<RunId>,
}

impl Families {
    /// Returns whether a run may go, which it may not if the one that began it stays.
    pub(crate) fn may_go(&mut self, run: &RunId, parent: Option<&RunId>) -> bool {
        let may_go = parent.is_none_or(|parent| !self.kept.contains(parent));
        if !may_go {
            self.keep(run.clone());
        }
        may_go
    }

    /// Says that a run stays.
    pub(crate) fn keep(&mut self, run: RunId) {
        self.kept.insert(SessionId::standing_for(&run).run());
        self.kept.insert(run);
    }
}
