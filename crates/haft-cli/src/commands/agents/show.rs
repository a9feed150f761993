//! `haft agents show`: prints what an agent declares, and its prompt. The settings may restrict it further.

use std::fmt::Write as _;
use std::path::Path;

use haft::near_matches;
use haft_agent::{AgentDefinition, AgentMode, AgentSource, find_agents};
use haft_contract::RequirementSet;
use haft_policy::Rule;
use serde::Serialize;

use crate::error::{CommandError, CommandStatus};
use crate::views::output;
use haft_app::compose::agent_paths;
use haft_app::host::AppHost;
use haft_app::settings::EffectiveSettings;

#[derive(Serialize)]
struct AgentDetails<'a> {
    name: &'a str,
    description: &'a str,
    mode: AgentMode,
    source: AgentSource,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a Path>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    requires: Option<&'a RequirementSet>,
    #[serde(skip_serializing_if = "<[Rule]>::is_empty")]
    permissions: &'a [Rule],
    inspectable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_steps: Option<u32>,
    prompt: &'a str,
}

/// Runs the command.
pub(super) fn run(
    name: &str,
    settings: &EffectiveSettings,
    host: &AppHost,
    is_json: bool,
) -> Result<CommandStatus, CommandError> {
    let found = find_agents(&agent_paths(settings, host));
    let agent = found.get(name).ok_or_else(|| {
        let near = near_matches(name, found.names().into_iter());
        let advice = if near.is_empty() {
            format!("expected one of {}", found.names().join(", "))
        } else {
            format!("did you mean {}?", near.join(" or "))
        };
        // If the agent's file has a problem, that is why the agent is left out.
        let problem = found
            .problems
            .iter()
            .find(|problem| problem.file.file_stem().is_some_and(|stem| stem == name))
            .map(|problem| format!("\n{problem}"));
        let problem = problem.unwrap_or_default();
        CommandError::usage(format!("no agent is called {name:?}: {advice}{problem}"))
            .hint("haft agents list")
    })?;
    if is_json {
        output::write_json(&AgentDetails {
            name: &agent.name,
            description: &agent.description,
            mode: agent.mode,
            source: agent.source,
            file: agent.file.as_deref(),
            model: agent.model.as_deref(),
            tools: agent.tools.as_deref(),
            requires: agent.requires.as_ref(),
            permissions: &agent.permissions,
            inspectable: agent.inspectable,
            max_steps: agent.max_steps,
            prompt: &agent.prompt,
        })?;
    } else {
        output::write_data(&output::escape_controls(&text(agent)))?;
    }
    Ok(CommandStatus::Done)
}

fn text(agent: &AgentDefinition) -> String {
    let AgentDefinition { name, description, mode, model, tools, requires, permissions, .. } =
        agent;
    let file =
        agent.file.as_ref().map_or("(bundled)".to_owned(), |file| file.display().to_string());
    let who = match mode {
        AgentMode::Primary => "primary: people talk to it",
        AgentMode::Subagent => "subagent: other agents give it tasks",
        AgentMode::All => "all: people talk to it, and other agents give it tasks",
        AgentMode::Internal => "internal: haft summarises long conversations with it",
    };
    let model = model.as_deref().unwrap_or("that of the agent that calls it");
    let tools = match tools.as_deref() {
        None => "all".to_owned(),
        Some([]) => "none".to_owned(),
        Some(tools) => tools.join(", "),
    };
    let mut text =
        format!("{name}: {description}\nfile: {file}\nmode: {who}\nmodel: {model}\ntools: {tools}");
    if let Some(requires) = requires {
        let requires = serde_json::to_string(requires).unwrap_or_else(|err| format!("({err})"));
        let _ = write!(text, "\nreaches at most: {requires}");
    }
    for rule in permissions {
        let _ = write!(text, "\nrule: {rule}");
    }
    if !agent.inspectable {
        text.push_str("\nits work for others is not a separate session");
    }
    if let Some(steps) = agent.max_steps {
        let _ = write!(text, "\nat most {steps} answers in one turn");
    }
    let _ = write!(text, "\n\n{}", agent.prompt);
    text
}
