//! Which tools there are: those of the profile, the commands that the manifest declares, and the Python tools of the configured directories; and which of them are on
//! offer, since rules may speak of others, too. They are found once for a command, because looking at Python files takes
//! time and what they say may change meanwhile.

use haft::{ExtensionParts, Extensions, ReadOnlyResidents, Registry, Runtime};
use haft_contract::ToolId;
use haft_tools::{CommandProblem, Profile};

use super::{
    command_environment, helper, launcher, lsp, places, roots, sandbox, unknown_tool, web,
};
use crate::error::CommandError;
use crate::mcp_servers::{Bridge, LeftOut};
use crate::permission_names::ToolNames;
use crate::python::{self, Finder, Readings};
use crate::settings::Settings;
use crate::state::State;

/// The tools of one command.
#[derive(Clone)]
pub(crate) struct Tools {
    all: Registry,
    offered: Registry,
    /// The MCP servers, if there are any.
    bridge: Option<Bridge>,
    /// The servers that could not be used, or not yet.
    missing_servers: Vec<String>,
    /// Whether some of those that are configured could not be used, so that what a name means is not known.
    has_left_out: bool,
}

impl Tools {
    /// Finds the tools. What of the Python tools cannot be used is said on standard error.
    pub(crate) async fn find(settings: &Settings, state: &State) -> Result<Self, CommandError> {
        let mut all = Registry::new(haft_tools::tools(settings.profile, &web::options(settings)?))?;
        // The other profile has the tools of its specification and no others.
        if settings.profile == Profile::Contract {
            all.add(haft_lsp::lsp(lsp::options(settings)?))?;
        }
        let mut has_left_out = settings.python.has_untrusted || settings.commands.has_untrusted;
        for entry in &settings.commands.entries {
            // It was checked when the manifest was read.
            let tool = entry.tool().map_err(|problems| unusable(&entry.id, &problems))?;
            all.add(tool)?;
        }
        let directories = &settings.python.entries;
        if !directories.is_empty() {
            let finder = finder(settings, state)?;
            has_left_out |= python::add_tools(&mut all, directories, &finder).await?;
        }
        has_left_out |= settings.mcp.has_untrusted;
        let bridge = bridge(settings, state)?;
        let mut left_out = LeftOut { servers: Vec::new(), is_partial: false };
        if let Some(bridge) = &bridge {
            left_out = bridge.add_tools(&mut all).await?;
        }
        has_left_out |= left_out.is_partial || !left_out.servers.is_empty();
        let offered = on_offer(all.clone(), settings, &left_out)?;
        Ok(Self { all, offered, bridge, missing_servers: left_out.servers, has_left_out })
    }

    /// Has the tools of a runtime that was made of these follow what MCP servers list, and the servers end with it.
    pub(crate) fn follow(&self, runtime: &Runtime, settings: &Settings) {
        if let Some(bridge) = &self.bridge {
            bridge.follow(runtime, settings.tools.clone(), &self.missing_servers);
        }
    }

    /// Returns those that are on offer.
    pub(crate) fn offered(&self) -> &Registry {
        &self.offered
    }

    /// Returns what rules may speak of, also what is not on offer.
    pub(crate) fn names(&self) -> ToolNames<'_> {
        ToolNames { registry: &self.all, has_left_out: self.has_left_out }
    }
}

/// Says what is wrong with a declared command.
fn unusable(id: &ToolId, problems: &[CommandProblem]) -> CommandError {
    let messages: Vec<&str> = problems.iter().map(|problem| problem.message.as_str()).collect();
    CommandError::usage(format!("command {id} cannot be used: {}", messages.join("; ")))
}

/// Returns those that the settings name. What an MCP server would bring that cannot be used now is no mistake of theirs.
fn on_offer(
    mut registry: Registry,
    settings: &Settings,
    left_out: &LeftOut,
) -> Result<Registry, CommandError> {
    let Some(tools) = &settings.tools else { return Ok(registry) };
    let is_there = |id: &&ToolId| registry.contract(id.as_str()).is_some() || !left_out.may_be(id);
    let tools: Vec<ToolId> = tools.iter().filter(is_there).cloned().collect();
    // A registry that refuses to be narrowed stays as it was.
    if let Err(unknown) = registry.keep_only(&tools) {
        let names: Vec<String> =
            unknown.iter().map(|id| unknown_tool(&registry, id.as_str())).collect();
        return Err(CommandError::usage(format!("tools: {}", names.join("; "))));
    }
    Ok(registry)
}

/// Returns the MCP servers that the settings name, if they name any.
pub(crate) fn bridge(settings: &Settings, state: &State) -> Result<Option<Bridge>, CommandError> {
    if settings.mcp.enabled().next().is_none() {
        return Ok(None);
    }
    let roots = roots(settings)?;
    let places = places(settings, state, &roots.paths());
    let sandbox = sandbox(settings, &places, &roots.paths())?;
    let extensions = Extensions::new(ExtensionParts {
        launcher: launcher(helper()?, settings, state),
        sandbox,
        environment: command_environment(&places),
        rules: settings.rules.clone(),
        variables: super::variables(&roots),
        roots,
    });
    let extensions = extensions.map_err(CommandError::usage)?;
    Ok(Some(Bridge::new(&settings.mcp, extensions, state)))
}

/// Returns what finds out about Python tools. No process is started before a file is met that nothing is known of.
pub(crate) fn finder(settings: &Settings, state: &State) -> Result<Finder, CommandError> {
    let roots = roots(settings)?;
    let places = places(settings, state, &roots.paths());
    let sandbox = sandbox(settings, &places, &roots.paths())?;
    let launcher = launcher(helper()?, settings, state);
    let environment = command_environment(&places);
    Ok(Finder {
        roots: roots.paths(),
        residents: ReadOnlyResidents::new(launcher, sandbox, roots, environment),
        readings: Readings::new(state.python()),
        is_unconfined: settings.sandbox.is_off,
    })
}
