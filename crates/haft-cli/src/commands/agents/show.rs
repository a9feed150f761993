//! `haft agents show`: prints what an agent declares, and its prompt. The settings may restrict it further.

use std::fmt::Write as _;
use std::path::Path;

use haft::FileProblem;
use haft_agent::{AgentDefinition, AgentMode, AgentSource, find_agents};
use haft_contract::RequirementSet;
use haft_policy::Rule;
use serde::Serialize;

use crate::arguments::cli_context::CliContext;
use crate::commands::file_check_report::unknown_name_error;
use crate::error::{CommandResult, CommandStatus};
use haft_app::compose::agent_paths;

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
pub(super) fn run(name: &str, cx: &CliContext) -> CommandResult {
    let found = find_agents(&agent_paths(&cx.resolve_settings()?, &cx.host));
    let agent = found.get(name).ok_or_else(|| {
        let is_named =
            |problem: &&FileProblem| problem.file.file_stem().is_some_and(|stem| stem == name);
        let problem = found.problems.iter().find(is_named);
        unknown_name_error("agent", name, &found.names(), problem)
    })?;
    let details = AgentDetails {
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
    };
    cx.print_answer(&details, || text(agent))?;
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
