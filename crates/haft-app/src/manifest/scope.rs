//! The table `[scope]` of a manifest: which run calls belong to that do not say so, and where in it. For drivers that
//! cannot say it themselves, as most MCP clients.

use haft_contract::{AttemptAddress, RunId};
use serde::Deserialize;

use super::problem::KeyProblem;

/// The values of the table. Every key is optional; a missing key has its default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScopeSection {
    /// The run.
    pub run: Option<String>,
    /// The task inside the run.
    pub node: Option<String>,
    /// The loop index of the task, from 0.
    pub iteration: Option<u32>,
    /// The retry number of the task, from 1.
    pub attempt: Option<u32>,
}

impl ScopeSection {
    /// Returns the keys whose values cannot be used, and what is wrong with them.
    pub(super) fn problems(&self) -> Vec<KeyProblem> {
        let mut problems = Vec::new();
        if let Some(Err(err)) = self.run.as_deref().map(RunId::parse) {
            problems.push(("run", err.to_string()));
        }
        // A node name is checked as part of a scope; the other parts only stand there.
        let with_node = |node: &String| -> Result<AttemptAddress, _> {
            let run = RunId::parse(AttemptAddress::NODE_DEFAULT)?;
            AttemptAddress { node: node.clone(), ..AttemptAddress::first_of_run(run) }.validated()
        };
        if let Some(Err(err)) = self.node.as_ref().map(with_node) {
            problems.push(("node", err.to_string()));
        }
        if self.attempt == Some(0) {
            problems.push(("attempt", "attempt: expected a number from 1, found 0".to_owned()));
        }
        problems
    }
}
