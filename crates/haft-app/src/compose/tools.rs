//! Finds the tools: those of the profile, the commands that the manifest declares, the Python tools of the configured
//! directories and the tools of MCP servers. Rules may name more tools than are offered. A command finds its tools once:
//! reading Python files takes time, and the files may change meanwhile.

use haft::{
    ReadOnlyBackgroundProcesses, Registry, Runtime, ServerProcessParts, ServerProcesses,
    UntrustedTools,
};
use haft_contract::{Tool, ToolId};
use haft_mcp::ServerDiscovery;
use haft_policy::{Conditions, RuleSet};
use haft_tools::Profile;

use super::{ProcessParts, lsp, process_parts, unknown_tool, variables, web};
use crate::app_error::AppError;
use crate::host::AppHost;
use crate::mcp_servers::{McpBridge, OmittedTools};
use crate::permission_names::ToolNames;
use crate::python::{self, KeyedTextCache, PythonToolFinder};
use crate::settings::EffectiveSettings;

/// The name under which rules decide about the process that reads METADATA.
const METADATA_READER: &str = "python.metadata";

/// The tools of one command.
#[derive(Clone)]
pub struct AvailableTools {
    /// All tools that were found, including those that are not offered.
    all: Registry,
    /// The tools that the settings offer.
    offered: Registry,
    /// The MCP servers, if there are any.
    bridge: Option<McpBridge>,
    /// The servers that could not be used, or not yet.
    missing_servers: Vec<String>,
    /// Whether some configured tools could not be used, so that an unknown name may be theirs.
    has_omitted_tools: bool,
}

impl AvailableTools {
    /// Finds the tools. Python tools and servers that cannot be used are left out, and the host is notified of them.
    ///
    /// # Errors
    ///
    /// Fails if two sources bring tools of one id, if the settings name a tool that does not exist, or if a root cannot be
    /// used.
    pub async fn find(settings: &EffectiveSettings, host: &AppHost) -> Result<Self, AppError> {
        Self::find_with(settings, host, ServerDiscovery::All).await
    }

    /// Finds the tools like [`find`](Self::find), and starts only these MCP servers to find out their tools.
    pub(super) async fn find_with(
        settings: &EffectiveSettings,
        host: &AppHost,
        discovery: ServerDiscovery<'_>,
    ) -> Result<Self, AppError> {
        let mut all =
            Registry::new(haft_tools::tools(settings.profile, &web::options(settings, host)?))?;
        // The other profile has the tools of its specification and no others.
        if settings.profile == Profile::Contract {
            all.add(haft_lsp::lsp(lsp::options(settings, host)?))?;
        }
        let mut has_left_out =
            settings.untrusted.iter().any(|untrusted| untrusted.names.has_tools());
        for entry in &settings.commands {
            // The entry was checked when the manifest was read.
            all.add(entry.tool().map_err(|problems| {
                let messages: Vec<&str> = problems.iter().map(|it| it.message.as_str()).collect();
                let (id, why) = (&entry.id, messages.join("; "));
                AppError::configuration(format!("command {id} cannot be used: {why}"))
            })?)?;
        }
        let directories = &settings.python.entries;
        if !directories.is_empty() {
            let finder = finder(settings, host)?;
            has_left_out |= python::add_tools(&mut all, directories, &finder, host).await?;
        }
        let bridge = bridge(settings, host)?;
        let mut left_out = OmittedTools { servers: Vec::new(), is_partial: false };
        if let Some(bridge) = &bridge {
            left_out = bridge.add_tools(&mut all, discovery).await?;
        }
        has_left_out |= left_out.is_partial || !left_out.servers.is_empty();
        all.set_untrusted(UntrustedTools {
            ids: settings.untrusted.iter().flat_map(|it| it.names.commands.clone()).collect(),
            servers: settings.untrusted.iter().flat_map(|it| it.names.servers.clone()).collect(),
        });
        let mut offered = all.clone();
        if let Some(tools) = &settings.tools {
            // A tool that a missing MCP server would bring is no mistake of the settings.
            // Nor is one that the user has not trusted yet.
            let is_missing =
                |id: &ToolId| left_out.may_include(id) || all.is_untrusted(id.as_str());
            let is_there = |id: &&ToolId| all.contract(id.as_str()).is_some() || !is_missing(id);
            let tools: Vec<ToolId> = tools.iter().filter(is_there).cloned().collect();
            if let Err(unknown) = offered.keep_only(&tools) {
                let names: Vec<String> =
                    unknown.iter().map(|id| unknown_tool(&all, id.as_str())).collect();
                return Err(AppError::configuration(format!("tools: {}", names.join("; "))));
            }
        }
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

    /// Lets a runtime of these tools follow changes of the tools of MCP servers. The servers end with the runtime.
    pub fn watch_server_changes(&self, runtime: &Runtime, settings: &EffectiveSettings) {
        if let Some(bridge) = &self.bridge {
            bridge.watch_server_changes(runtime, settings.tools.clone(), &self.missing_servers);
        }
    }

    /// Returns those that are on offer.
    pub fn offered(&self) -> &Registry {
        &self.offered
    }

    /// Returns the names that rules may use, also of tools that are not offered.
    pub fn names(&self) -> ToolNames<'_> {
        ToolNames { registry: &self.all, has_omitted_tools: self.has_omitted_tools }
    }
}

/// Returns the MCP servers that the settings name, if they name any.
///
/// # Errors
///
/// Fails if a root cannot be used, or if the rules of the settings cannot be compiled.
pub fn bridge(settings: &EffectiveSettings, host: &AppHost) -> Result<Option<McpBridge>, AppError> {
    if settings.mcp.enabled().next().is_none() {
        return Ok(None);
    }
    let ProcessParts { roots, launcher, sandbox, environment } = process_parts(settings, host)?;
    let extensions = ServerProcesses::new(ServerProcessParts {
        launcher,
        sandbox,
        environment,
        rules: settings.rules.clone(),
        variables: variables(&roots, settings, host),
        roots,
    });
    let extensions = extensions.map_err(AppError::configuration)?;
    Ok(Some(McpBridge::new(&settings.mcp, extensions, host)))
}

/// Returns the finder of Python tools. It starts a process only for files that the cache does not know.
///
/// # Errors
///
/// Fails if a root cannot be used, or if the rules of the settings cannot be compiled.
pub fn finder(settings: &EffectiveSettings, host: &AppHost) -> Result<PythonToolFinder, AppError> {
    let ProcessParts { roots, launcher, sandbox, environment } = process_parts(settings, host)?;
    let rules = settings.rules.iter().cloned();
    let rules = RuleSet::compile(rules, &variables(&roots, settings, host), Conditions::default());
    let rules = rules.map_err(AppError::configuration)?;
    let reader = ToolId::parse(METADATA_READER).expect("the name of the reader is an id");
    Ok(PythonToolFinder {
        roots: roots.paths(),
        residents: ReadOnlyBackgroundProcesses::new(
            launcher,
            sandbox,
            roots,
            environment,
            (&reader, &rules),
        ),
        readings: KeyedTextCache::new(host.state().python()),
        is_unconfined: settings.sandbox.is_off,
        host: host.clone(),
    })
}
