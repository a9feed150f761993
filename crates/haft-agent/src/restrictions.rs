//! What a chat is narrowed to, as it is kept with the chat: one layer for each agent above it and one for its own. Each
//! only takes away from those before, so that a subagent has nothing that an ancestor has not; how that is held is the
//! runtime's business.

use haft::{Connection, Restrictions, RuntimeError};
use haft_contract::{RequirementSet, SubagentSummary};
use haft_policy::Rule;
use serde::{Deserialize, Serialize};

use crate::definition::AgentDefinition;

/// What one agent declared when the chat was begun.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AgentRestrictions {
    pub(crate) agent: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tools: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    requires: Option<RequirementSet>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    permissions: Vec<Rule>,
}

impl AgentRestrictions {
    pub(crate) fn from_agent(agent: &AgentDefinition) -> Self {
        Self {
            agent: agent.name.clone(),
            tools: agent.tools.clone(),
            requires: agent.requires.clone(),
            permissions: agent.permissions.clone(),
        }
    }
}

/// Returns layers as a chat keeps them.
pub(crate) fn restrictions_json(layers: &[AgentRestrictions]) -> String {
    serde_json::to_string(layers).expect("layers have text keys alone")
}

/// Returns a session that is narrowed by all layers, one after the other.
pub(crate) fn restrict_connection(
    session: &Connection,
    layers: &[AgentRestrictions],
    subagents: &[SubagentSummary],
) -> Result<Connection, RuntimeError> {
    let mut narrowed = session.clone();
    for layer in layers {
        narrowed = narrowed.restrict(Restrictions {
            tools: layer.tools.clone(),
            requires: layer.requires.clone(),
            permissions: layer.permissions.clone(),
            subagents: subagents.to_vec(),
        })?;
    }
    Ok(narrowed)
}
