//! What one call may touch while it runs. The file surface asks it for every path that a walk comes to, so it is made
//! once and answers without allocating; it decides nothing that [`decide`](crate::decide) would decide otherwise.

use std::sync::Arc;

use haft_contract::ToolId;

use crate::access::{Canonical, PathSubject, Subject};
use crate::capability::{Capabilities, PathScope};
use crate::rank::{Verdict, verdict};
use crate::rule::{Action, Exactness};
use crate::rule_set::{CompiledRule, RuleSet};

#[cfg(test)]
mod tests;

/// The files that one call may read and write. Cloning is cheap enough for one per call.
#[derive(Clone, Debug)]
pub struct Grant {
    read: Side,
    write: Side,
}

/// One of the two: reading or writing.
#[derive(Clone, Debug)]
struct Side {
    scope: Arc<PathScope>,
    /// The rules that speak of this tool or this capability.
    rules: Vec<(Exactness, Arc<CompiledRule>)>,
    answered: Vec<PathSubject>,
}

impl Grant {
    /// Returns the grant of one call of `tool`, from the capabilities that are effective for it.
    pub fn of_call(tool: &ToolId, capabilities: &Capabilities, rules: &RuleSet) -> Self {
        Self {
            read: Side::new(capabilities.read(), tool, "fs.read", rules),
            write: Side::new(capabilities.write(), tool, "fs.write", rules),
        }
    }

    /// Returns the grant after these accesses of the call were judged and allowed, by a rule or by an answer.
    ///
    /// An answer covers what was asked: the path itself, and beneath it whatever would be asked for the same
    /// reason. It lifts no deny, and no narrower rule that asks about a path beneath.
    pub fn with_allowed(mut self, accesses: &[Canonical]) -> Self {
        for access in accesses {
            match access {
                Canonical::Read { path } => self.read.answered.push(path.clone()),
                Canonical::Write { path } => self.write.answered.push(path.clone()),
                Canonical::Net { .. } | Canonical::Shell { .. } | Canonical::Named { .. } => {}
            }
        }
        self
    }

    /// Returns whether the call may read the path.
    pub fn permits_read(&self, path: &PathSubject) -> bool {
        self.read.permits(path)
    }

    /// Returns whether a rule denies reading the path, whether the call was granted it or not.
    pub fn denies_read(&self, path: &PathSubject) -> bool {
        self.read.verdict(path).action == Action::Deny
    }

    /// Returns whether the call may create, change or remove the path.
    pub fn permits_write(&self, path: &PathSubject) -> bool {
        self.write.permits(path)
    }
}

impl Side {
    fn new(scope: &Arc<PathScope>, tool: &ToolId, capability: &str, rules: &RuleSet) -> Self {
        let speaking = rules.iter().filter_map(|rule| {
            let exactness = rule.permission.exactness(tool, Some(capability))?;
            Some((exactness, Arc::clone(rule)))
        });
        Self { scope: Arc::clone(scope), rules: speaking.collect(), answered: Vec::new() }
    }

    fn permits(&self, path: &PathSubject) -> bool {
        if !self.scope.contains(path) {
            return false;
        }
        let verdict = self.verdict(path);
        match verdict.action {
            Action::Allow => true,
            Action::Deny => false,
            Action::Ask => {
                self.answered.iter().any(|answered| self.covers(answered, path, &verdict))
            }
        }
    }

    fn covers(&self, answered: &PathSubject, path: &PathSubject, asked: &Verdict<'_>) -> bool {
        path.absolute == answered.absolute
            || path.absolute.starts_with(&answered.absolute)
                && asked.is_same_rule(&self.verdict(answered))
    }

    fn verdict(&self, path: &PathSubject) -> Verdict<'_> {
        let rules = self.rules.iter().map(|(exactness, rule)| (*exactness, &**rule));
        verdict(rules, Subject::Path(path))
    }
}
