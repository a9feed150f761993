//! The agents that people can talk to, as modes of a session and as the configuration option that newer editors show instead. Both
//! always list the same agents.

use agent_client_protocol::v1::schema::{
    SessionConfigOption, SessionConfigOptionCategory, SessionConfigSelectOption, SessionMode,
    SessionModeState,
};
use haft_agent::{AgentDefinition, AgentRegistry};

/// The configuration option.
pub(crate) const AGENT_OPTION: &str = "agent";

/// Returns the agents as modes.
pub(crate) fn modes(agents: &AgentRegistry, current: &str) -> SessionModeState {
    let mode = |agent: &AgentDefinition| {
        SessionMode::new(agent.name.clone(), agent.name.clone())
            .description(agent.description.clone())
    };
    SessionModeState::new(current.to_owned(), offered(agents).map(mode).collect())
}

/// Returns the agents as a configuration option.
pub(crate) fn options(agents: &AgentRegistry, current: &str) -> Vec<SessionConfigOption> {
    let choice = |agent: &AgentDefinition| {
        SessionConfigSelectOption::new(agent.name.clone(), agent.name.clone())
            .description(agent.description.clone())
    };
    let choices: Vec<_> = offered(agents).map(choice).collect();
    let option = SessionConfigOption::select(AGENT_OPTION, "Agent", current.to_owned(), choices)
        .description("Who works in this session".to_owned())
        .category(SessionConfigOptionCategory::Mode);
    vec![option]
}

/// Returns the agents that people can talk to.
pub(crate) fn offered(agents: &AgentRegistry) -> impl Iterator<Item = &AgentDefinition> {
    agents.iter().filter(|agent| agent.mode.is_primary())
}
