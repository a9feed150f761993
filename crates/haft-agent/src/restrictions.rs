//! The restrictions of a session, as its row stores them: one layer for each agent above it and one for its agent. Each layer only
//! removes from the layers before it, so a subagent never has more than its ancestors. The runtime enforces them.

use haft::{Connection, Restrictions, RuntimeError};
use haft_contract::{RequirementSet, SubagentSummary};
use haft_policy::Rule;
use serde::{Deserialize, Serialize};

use crate::definition::AgentDefinition;

/// The declarations of one agent at the time when the session began.
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

    /// Returns the restriction of an agent to these tools.
    pub(crate) fn from_tools(agent: &AgentDefinition, tools: Vec<String>) -> Self {
        Self {
            agent: agent.name.clone(),
            tools: Some(tools),
            requires: None,
            permissions: Vec::new(),
        }
    }
}

/// Returns restrictions as rows store them.
pub(crate) fn restrictions_json(layers: &[AgentRestrictions]) -> String {
    serde_json::to_string(layers).expect("restrictions have text keys")
}

/// Returns the connection with all layers applied in order.
pub(crate) fn restrict_connection(
    connection: &Connection,
    layers: &[AgentRestrictions],
    subagents: &[SubagentSummary],
) -> Result<Connection, RuntimeError> {
    layers.iter().try_fold(connection.clone(), |connection, layer| {
        connection.restrict(Restrictions {
            tools: layer.tools.clone(),
            requires: layer.requires.clone(),
            permissions: layer.permissions.clone(),
            subagents: subagents.to_vec(),
        })
    })
}
