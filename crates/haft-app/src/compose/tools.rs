//! Which tools there are: those of the profile, the commands that the manifest declares, and the Python tools of the configured directories; and which of them are on
//! offer, since rules may speak of others, too. They are found once for a command, because looking at Python files takes
//! time and what they say may change meanwhile.

use haft::{ReadOnlyBackgroundProcesses, Registry, Runtime, ServerProcessParts, ServerProcesses};
use haft_contract::{Tool, ToolId};
use haft_tools::{CommandToolProblem, Profile};

use super::{command_environment, host_paths, launcher, lsp, roots, sandbox, unknown_tool, web};
use crate::app_error::AppError;
use crate::host::AppHost;
use crate::mcp_servers::{McpBridge, OmittedTools};
use crate::permission_names::ToolNames;
use crate::python::{self, KeyedTextCache, PythonToolFinder};
use crate::settings::EffectiveSettings;

/// The tools of one command.
#[derive(Clone)]
pub struct AvailableTools {
    all: Registry,
    offered: Registry,
    /// The MCP servers, if there are any.
    bridge: Option<McpBridge>,
    /// The servers that could not be used, or not yet.
    missing_servers: Vec<String>,
    /// Whether some of those that are configured could not be used, so that what a name means is not known.
    has_omitted_tools: bool,
}

impl AvailableTools {
    /// Finds the tools. What of the Python tools cannot be used is said on standard error.
    pub async fn find(settings: &EffectiveSettings, host: &AppHost) -> Result<Self, AppError> {
        let mut all =
            Registry::new(haft_tools::tools(settings.profile, &web::options(settings, host)?))?;
        // The other profile has the tools of its specification and no others.
        if settings.profile == Profile::Contract {
            all.add(haft_lsp::lsp(lsp::options(settings, host)?))?;
        }
        let mut has_left_out = settings.python.has_untrusted || settings.commands.has_untrusted;
        for entry in &settings.commands.entries {
            // It was checked when the manifest was read.
            let tool = entry.tool().map_err(|problems| unusable(&entry.id, &problems))?;
            all.add(tool)?;
        }
        let directories = &settings.python.entries;
        if !directories.is_empty() {
            let finder = finder(settings, host)?;
            has_left_out |= python::add_tools(&mut all, directories, &finder, host).await?;
        }
        has_left_out |= settings.mcp.has_untrusted;
        let bridge = bridge(settings, host)?;
        let mut left_out = OmittedTools { servers: Vec::new(), is_partial: false };
        if let Some(bridge) = &bridge {
            left_out = bridge.add_tools(&mut all).await?;
        }
        has_left_out |= left_out.is_partial || !left_out.servers.is_empty();
        let offered = on_offer(all.clone(), settings, &left_out)?;
        Ok(Self {
            all,
            offered,
            bridge,
            missing_servers: left_out.servers,
            has_omitted_tools: has_left_out,
        })
    }

    /// Offers one more tool, and returns its id.
    pub(crate) fn add(&mut self, tool: Tool) -> Result<ToolId, AppError> {
        let id = tool.valid_contract().map_err(AppError::configuration)?.id.clone();
        self.all.add(tool.clone())?;
        self.offered.add(tool)?;
        Ok(id)
    }

    /// Has the tools of a runtime that was made of these follow what MCP servers list, and the servers end with it.
    pub fn watch_server_changes(&self, runtime: &Runtime, settings: &EffectiveSettings) {
        if let Some(bridge) = &self.bridge {
            bridge.watch_server_changes(runtime, settings.tools.clone(), &self.missing_servers);
        }
    }

    /// Returns those that are on offer.
    pub fn offered(&self) -> &Registry {
        &self.offered
    }

    /// Returns what rules may speak of, also what is not on offer.
    pub fn names(&self) -> ToolNames<'_> {
        ToolNames { registry: &self.all, has_omitted_tools: self.has_omitted_tools }
    }
}

/// Says what is wrong with a declared command.
fn unusable(id: &ToolId, problems: &[CommandToolProblem]) -> AppError {
    let messages: Vec<&str> = problems.iter().map(|problem| problem.message.as_str()).collect();
    AppError::configuration(format!("command {id} cannot be used: {}", messages.join("; ")))
}

/// Returns those that the settings name. What an MCP server would bring that cannot be used now is no mistake of theirs.
fn on_offer(
    mut registry: Registry,
    settings: &EffectiveSettings,
    left_out: &OmittedTools,
) -> Result<Registry, AppError> {
    let Some(tools) = &settings.tools else { return Ok(registry) };
    let is_there =
        |id: &&ToolId| registry.contract(id.as_str()).is_some() || !left_out.may_include(id);
    let tools: Vec<ToolId> = tools.iter().filter(is_there).cloned().collect();
    // A registry that refuses to be narrowed stays as it was.
    if let Err(unknown) = registry.keep_only(&tools) {
        let names: Vec<String> =
            unknown.iter().map(|id| unknown_tool(&registry, id.as_str())).collect();
        return Err(AppError::configuration(format!("tools: {}", names.join("; "))));
    }
    Ok(registry)
}

/// Returns the MCP servers that the settings name, if they name any.
pub fn bridge(settings: &EffectiveSettings, host: &AppHost) -> Result<Option<McpBridge>, AppError> {
    if settings.mcp.enabled().next().is_none() {
        return Ok(None);
    }
    let roots = roots(settings)?;
    let places = host_paths(settings, host, &roots.paths());
    let sandbox = sandbox(settings, host, &places, &roots.paths())?;
    let extensions = ServerProcesses::new(ServerProcessParts {
        launcher: launcher(host.program()?, settings, host),
        sandbox,
        environment: command_environment(host, &places),
        rules: settings.rules.clone(),
        variables: super::variables(&roots, host),
        roots,
    });
    let extensions = extensions.map_err(AppError::configuration)?;
    Ok(Some(McpBridge::new(&settings.mcp, extensions, host)))
}

/// Returns what finds out about Python tools. No process is started before a file is met that nothing is known of.
pub fn finder(settings: &EffectiveSettings, host: &AppHost) -> Result<PythonToolFinder, AppError> {
    let roots = roots(settings)?;
    let places = host_paths(settings, host, &roots.paths());
    let sandbox = sandbox(settings, host, &places, &roots.paths())?;
    let launcher = launcher(host.program()?, settings, host);
    let environment = command_environment(host, &places);
    Ok(PythonToolFinder {
        roots: roots.paths(),
        residents: ReadOnlyBackgroundProcesses::new(launcher, sandbox, roots, environment),
        readings: KeyedTextCache::new(host.state().python()),
        is_unconfined: settings.sandbox.is_off,
        host: host.clone(),
    })
}
