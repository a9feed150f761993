//! The table `[plan]` of a manifest: how much of a plan happens at the same time, and how often its tools are called.
//! Everything in it only bounds what a plan does; what the plan may call is a matter of rules.

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroUsize};

use haft_contract::ToolId;
use haft_plan::drive::PlanToolBounds;
use haft_plan::drive::limits::PARALLEL_MAX;
use serde::Deserialize;

use super::problem::KeyProblem;

/// The values of the table. Every key is optional; a missing key has its default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PlanSection {
    /// Nodes that run at the same time.
    parallel: Option<usize>,
    /// How often single tools are called.
    tools: BTreeMap<ToolId, ToolSection>,
}

/// How often one tool is called by a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ToolSection {
    /// Calls that run at the same time.
    concurrency: Option<u32>,
    /// Calls that start in any minute.
    per_minute: Option<u32>,
}

impl PlanSection {
    /// Returns how many nodes run at the same time, if the table says so.
    pub fn parallel(&self) -> Option<NonZeroUsize> {
        self.parallel.and_then(NonZeroUsize::new)
    }

    /// Returns the bounds of single tools.
    pub fn tool_bounds(&self) -> BTreeMap<ToolId, PlanToolBounds> {
        let bounds = |tool: &ToolSection| PlanToolBounds {
            at_once: tool.concurrency.and_then(NonZeroU32::new),
            per_minute: tool.per_minute.and_then(NonZeroU32::new),
        };
        self.tools.iter().map(|(id, tool)| (id.clone(), bounds(tool))).collect()
    }

    /// Returns the keys whose values cannot be used, and what is wrong with them.
    pub(super) fn problems(&self) -> Vec<KeyProblem> {
        let mut problems = Vec::new();
        if let Some(number) =
            self.parallel.filter(|number| !(1..=PARALLEL_MAX.get()).contains(number))
        {
            let message = format!(
                "parallel: expected 1 to {PARALLEL_MAX} nodes (PARALLEL_MAX), found {number}"
            );
            problems.push(("parallel", message));
        }
        for (id, tool) in &self.tools {
            let named = [("concurrency", tool.concurrency), ("per_minute", tool.per_minute)];
            for (key, _) in named.into_iter().filter(|(_, number)| *number == Some(0)) {
                let message = format!(
                    "tools.{id}.{key}: expected at least 1, found 0: to forbid a tool, deny it in [[permissions]]"
                );
                problems.push(("tools", message));
            }
        }
        problems
    }
}
