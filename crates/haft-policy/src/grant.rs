//! The files that one call may touch while it runs. The file surface asks for every path of a walk, so a grant is made
//! once and answers without allocating. Its answers agree with those of [`decide`](crate::decide).

use std::sync::Arc;

use haft_contract::ToolId;

use crate::access::{MatchSubject, PathSubject, ResolvedAccess};
use crate::capability::{Capabilities, PathScope};
use crate::rank::{RuleVerdict, verdict};
use crate::rule::{Exactness, RuleAction};
use crate::rule_set::{CompiledRule, RuleSet};

#[cfg(test)]
mod tests;

/// The files that one call may read and write. Cloning is cheap enough for one per call.
#[derive(Clone, Debug)]
pub struct Grant {
    read: PathGrant,
    write: PathGrant,
}

/// One of the two: reading or writing.
#[derive(Clone, Debug)]
struct PathGrant {
    /// A path has to lie in each of them.
    scopes: Vec<Arc<PathScope>>,
    own_rules: GrantRules,
    /// The restrictions above the rules; each may only take access away.
    restrictions: Vec<GrantRules>,
    approved_paths: Vec<PathSubject>,
}

/// The rules of one set that speak of this tool or this capability.
#[derive(Clone, Debug)]
pub(crate) struct GrantRules {
    pub(crate) rules: Vec<(Exactness, Arc<CompiledRule>)>,
}

impl Grant {
    /// Returns the grant of one call of `tool`, from the capabilities that are effective for it.
    pub fn of_call(tool: &ToolId, capabilities: &Capabilities, rules: &RuleSet) -> Self {
        Self {
            read: PathGrant::new(capabilities.read_scopes(), tool, "fs.read", rules),
            write: PathGrant::new(capabilities.write_scopes(), tool, "fs.write", rules),
        }
    }

    /// Returns the grant after these accesses of the call were judged and allowed, by a rule or by an answer.
    ///
    /// An answer covers what was asked: the path itself, and beneath it whatever would be asked for the same
    /// reason. It lifts no deny, and no narrower rule that asks about a path beneath.
    pub fn with_allowed(mut self, accesses: &[ResolvedAccess]) -> Self {
        for access in accesses {
            match access {
                ResolvedAccess::Read { path } => self.read.approved_paths.push(path.clone()),
                ResolvedAccess::Write { path } => self.write.approved_paths.push(path.clone()),
                ResolvedAccess::Net { .. }
                | ResolvedAccess::Shell { .. }
                | ResolvedAccess::Named { .. } => {}
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
        self.read.layers().any(|layer| layer.verdict(path).action == RuleAction::Deny)
    }

    /// Returns the rules about reading, and the answers to them.
    pub(crate) fn reads(&self) -> (impl Iterator<Item = &GrantRules> + Clone, &[PathSubject]) {
        (self.read.layers(), &self.read.approved_paths)
    }

    /// Returns the rules about changing, and the answers to them.
    pub(crate) fn writes(&self) -> (impl Iterator<Item = &GrantRules> + Clone, &[PathSubject]) {
        (self.write.layers(), &self.write.approved_paths)
    }

    /// Returns whether the call may create, change or remove the path.
    pub fn permits_write(&self, path: &PathSubject) -> bool {
        self.write.permits(path)
    }
}

impl PathGrant {
    fn new(scopes: Vec<Arc<PathScope>>, tool: &ToolId, capability: &str, rules: &RuleSet) -> Self {
        let layer = |rules: &RuleSet| GrantRules::new(tool, capability, rules);
        let ceilings = rules.restrictions.iter().map(layer);
        Self {
            scopes,
            own_rules: layer(rules),
            restrictions: ceilings.collect(),
            approved_paths: Vec::new(),
        }
    }

    fn layers(&self) -> impl Iterator<Item = &GrantRules> + Clone {
        std::iter::once(&self.own_rules).chain(&self.restrictions)
    }

    fn permits(&self, path: &PathSubject) -> bool {
        let is_left_open = |ceiling: &GrantRules| {
            let verdict = ceiling.verdict(path);
            !verdict.has_match() || self.admits(ceiling, path, &verdict)
        };
        self.scopes.iter().all(|scope| scope.contains(path))
            && self.admits(&self.own_rules, path, &self.own_rules.verdict(path))
            && self.restrictions.iter().all(is_left_open)
    }

    fn admits(&self, layer: &GrantRules, path: &PathSubject, verdict: &RuleVerdict<'_>) -> bool {
        match verdict.action {
            RuleAction::Allow => true,
            RuleAction::Deny => false,
            // A path was asked about together with another one if the reason was the same.
            RuleAction::Ask => self.approved_paths.iter().any(|answered| {
                if !path.absolute.starts_with(&answered.absolute) {
                    return false;
                }
                let answer = layer.verdict(answered);
                let is_same = path.absolute == answered.absolute || verdict.is_same_rule(&answer);
                // A possible match beneath a directory was asked about only with the whole directory.
                is_same && (verdict.possible_match.is_none() || answer.possible_match.is_some())
            }),
        }
    }
}

impl GrantRules {
    pub(crate) fn new(tool: &ToolId, capability: &str, rules: &RuleSet) -> Self {
        let speaking = rules.iter().filter_map(|rule| {
            let exactness = rule.permission.exactness(tool, Some(capability))?;
            Some((exactness, Arc::clone(rule)))
        });
        Self { rules: speaking.collect() }
    }

    pub(crate) fn verdict(&self, path: &PathSubject) -> RuleVerdict<'_> {
        let rules = self.rules.iter().map(|(exactness, rule)| (*exactness, &**rule));
        verdict(rules, MatchSubject::Path(path))
    }
}
