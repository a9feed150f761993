//! The MCP servers of the settings, each with its grants, the files that it consists of, and the variables that it gets
//! from the environment of haft. If a server cannot be used, its tools are left out and a notice says why. This module does not know the
//! messages of a server.

mod grants;
mod packages;
mod remote;
mod runners;
mod server_paths;
mod tokens;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use haft::{Catalog, Registry, ServerProcessLauncher, ServerProcesses};
use haft_contract::{
    BackgroundProcessRequest, LOCKED_IDS, ProcessChannel, Remedy, ToolError, ToolId, ToolOrigin,
    canonical_json, sha256_hex,
};
use haft_mcp::{
    McpServerSpec, McpServerStatus, McpServers, McpTransport, ServerDiscovery, ToolListCache,
};
use haft_python::ParsedToolFileCache as _;
use serde_json::json;

use crate::app_error::{AppError, NextStep};
use crate::host::AppHost;
use crate::loaded_paths::{LoadedPath, RootProtection};
use crate::manifest::{ServerEntry, ServerVariables, VariableValue};
use crate::permission_names;
use crate::program_files::{
    MOVE_SCRIPT, PYTHON_ISOLATION, ProgramFiles, ProgramLine, isolation_place, packages_in_place,
    runs_from_start,
};
use crate::python::KeyedTextCache;
use crate::server_package::RegistryPackage;

pub use self::grants::grant_summary;
pub use self::remote::authorization;
pub(crate) use self::remote::networking;
pub use self::runners::Download;
pub(crate) use self::server_paths::server_paths;

/// Lines about tools that are left out, of one server, when tools are put together.
pub const SERVER_WARNINGS_MAX: usize = 5;

/// The servers that the settings name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct McpSettings {
    /// Those that hold, with absolute paths.
    pub entries: BTreeMap<String, ServerEntry>,
    /// The servers whose files cannot be protected, each with the reason.
    refused: BTreeMap<String, String>,
}

/// The servers, and what starts them.
#[derive(Clone)]
pub struct McpBridge {
    /// The servers that the settings name.
    servers: McpServers,
    /// The processes of local servers, with their grants.
    extensions: ServerProcesses,
    /// The packages of servers that are not installed for this user.
    missing_packages: BTreeMap<String, RegistryPackage>,
    /// The environment of the servers.
    host: AppHost,
}

impl McpSettings {
    /// Returns the servers of a manifest that lies in `directory`.
    pub fn resolve_entries(
        entries: BTreeMap<String, ServerEntry>,
        directory: &Path,
        host: &AppHost,
    ) -> Self {
        let user_data = host.user_data();
        let placed = |entry: ServerEntry| {
            let entry = packages::place_user_data(entry, user_data.as_deref());
            server_paths::resolve_program_path(entry.resolve_paths(directory), directory)
        };
        let placed = entries.into_iter().map(|(name, entry)| (name, placed(entry)));
        Self { entries: placed.collect(), refused: BTreeMap::new() }
    }

    /// Returns these servers and those of the user's own configuration, which come before others of the same name.
    pub(crate) fn overridden_by(mut self, of_user: Self, host: &AppHost) -> Self {
        for (name, entry) in of_user.entries {
            if self.entries.insert(name.clone(), entry).is_some() {
                host.mention(format!(
                    "mcp server {name}: your own configuration and haft.toml name one; yours is used"
                ));
            }
        }
        self
    }

    /// Returns the servers that are used.
    pub fn enabled(&self) -> impl Iterator<Item = (&String, &ServerEntry)> {
        self.entries.iter().filter(|(_, entry)| entry.is_enabled())
    }

    /// Returns the names of the files in the roots that the servers load: a changed file would change the server. A server
    /// whose files cannot be protected is refused. Python does not look for modules where nothing protects them.
    pub(crate) fn protect(
        &mut self,
        roots: &[PathBuf],
        unprotected: &[String],
        host: &AppHost,
    ) -> RootProtection {
        let canonical: Vec<PathBuf> =
            roots.iter().filter_map(|root| root.canonicalize().ok()).collect();
        let mut protection = RootProtection::default();
        for (name, entry) in self.entries.iter_mut().filter(|(_, entry)| entry.is_enabled()) {
            let what = format!("the MCP server {name}");
            let (paths, problem) = loaded_files(what, entry, &canonical, host);
            let found = RootProtection::of(&paths, roots.iter(), unprotected);
            match (found, problem) {
                (Ok(found), None) => protection.extend(found),
                (Err(err), _) => {
                    self.refused.insert(name.clone(), err.message);
                }
                (Ok(_), Some(why)) => {
                    self.refused.insert(name.clone(), why);
                }
            }
        }
        protection
    }
}

/// Returns the paths that a server loads, and why it cannot be protected. Adds an option to a command of Python where that
/// protects it.
fn loaded_files(
    what: String,
    entry: &mut ServerEntry,
    roots: &[PathBuf],
    host: &AppHost,
) -> (Vec<LoadedPath>, Option<String>) {
    // A root that the manifest makes readable holds the data of a server.
    let is_root = |path: &PathBuf| path.canonicalize().is_ok_and(|path| roots.contains(&path));
    let own = server_paths(entry).into_iter().filter(|path| !is_root(path));
    let own: Vec<PathBuf> = own.chain(server_paths::deciding_paths(entry)).collect();
    // The server can load the files of a package that is installed in place only if it reads the root.
    let reads_roots = !entry.requires.fs.read.is_empty() || !entry.requires.fs.write.is_empty();
    let in_place = own.iter().filter(|_| reads_roots).flat_map(|it| packages_in_place(it));
    let mut paths: Vec<LoadedPath> = own
        .iter()
        .cloned()
        .chain(in_place)
        .map(|path| LoadedPath {
            what: format!("a file of {what}"),
            path,
            is_searched: false,
            mend: MOVE_SCRIPT,
        })
        .collect();
    let start = entry.cwd.as_ref().and_then(|cwd| Some(roots.first()?.join(cwd)));
    let starts_in_root = start.as_ref().is_some_and(|start| {
        let start = start.canonicalize().unwrap_or_else(|_| start.clone());
        roots.iter().any(|root| start.starts_with(root))
    });
    let line = ProgramLine {
        what,
        words: entry.words().map(String::as_str).collect(),
        start,
        search_path: host.variable("PATH").unwrap_or_default(),
        reads_roots,
    };
    let ProgramFiles { paths: found, has_script, alone } = line.files(roots);
    paths.extend(found);
    let texts = entry.env.0.iter().filter_map(|(name, value)| match value {
        VariableValue::Text(text) => Some((name.as_str(), text.as_str())),
        VariableValue::From(_) => None,
    });
    paths.extend(line.variable_paths(texts));
    let isolation = isolation_place(&line.words);
    let is_isolated = isolation.is_some() && (alone.is_some() || (starts_in_root && !has_script));
    let problem = match alone {
        Some(script) if !(script.can_be_isolated && is_isolated) => Some(format!(
            "its program {} lies in a root itself, so the files beside it that it may load cannot be protected: {MOVE_SCRIPT}",
            script.path.display()
        )),
        Some(_) | None if starts_in_root && !has_script && runs_from_start(&line.words) => {
            Some(
                "it starts in a root and runs what it finds there, which calls can change: leave out cwd, and name the \
                 program by its path"
                    .to_owned(),
            )
        }
        Some(_) | None => None,
    };
    if let Some(place) = isolation.filter(|_| is_isolated) {
        let before = entry.command.0.len();
        let (words, place) = match place <= before {
            true => (&mut entry.command.0, place),
            false => (&mut entry.args, place - before),
        };
        if words.get(place).is_none_or(|word| word != PYTHON_ISOLATION) {
            words.insert(place.min(words.len()), PYTHON_ISOLATION.to_owned());
        }
    }
    (paths, problem)
}

impl McpBridge {
    /// Returns the servers that the settings name, and starts no server.
    pub fn new(settings: &McpSettings, extensions: ServerProcesses, host: &AppHost) -> Self {
        let cache: Arc<dyn ToolListCache> =
            Arc::new(McpListingCache(KeyedTextCache::new(host.state().mcp())));
        let logins = host.state().mcp_logins();
        let specs = settings.enabled().map(|(name, entry)| {
            let spec = spec(name, entry, &extensions, &logins, host);
            match settings.refused.get(name) {
                Some(why) => {
                    McpServerSpec { transport: McpTransport::Unavailable(why.clone()), ..spec }
                }
                None => spec,
            }
        });
        let servers = McpServers::new(specs, &cache);
        let user_data = host.user_data();
        let missing = settings.enabled().filter_map(|(name, entry)| {
            Some((name.clone(), packages::missing_package(entry, user_data.as_deref())?))
        });
        let missing_packages = missing.collect();
        Self { servers, extensions, missing_packages, host: host.clone() }
    }

    /// Ends all servers, and waits for that.
    pub async fn end(&self) {
        self.servers.close().await;
        self.extensions.end_all().await;
    }

    /// Returns the servers.
    pub fn servers(&self) -> &McpServers {
        &self.servers
    }

    /// Adds the tools of the servers to a registry, and says what is left out; returns the names of servers that bring
    /// nothing. Servers of which nothing is known yet are started for that.
    ///
    /// # Errors
    ///
    /// Fails if a tool of a server cannot be registered. A server that does not start is no error: the host is notified.
    pub async fn add_tools(
        &self,
        registry: &mut Registry,
        discovery: ServerDiscovery<'_>,
    ) -> Result<OmittedTools, AppError> {
        let failed = self.servers.discover_tools_for(discovery).await;
        for (name, err) in &failed {
            let install = || Some(install_step(name, self.missing_packages.get(name)?));
            let step = login_step(err).or_else(install);
            let step = step.unwrap_or_else(|| NextStep::TestServer(name.clone()));
            self.host.warn_with(err.message.clone(), step);
        }
        let found = self.servers.tools(&|id| taken_id_message(registry, id));
        for (name, left_out) in &found.left_out {
            for why in left_out.iter().take(SERVER_WARNINGS_MAX) {
                self.host.warn(format!("mcp server {name}: {why}; the tool is left out"));
            }
            if let Some(rest @ 1..) = left_out.len().checked_sub(SERVER_WARNINGS_MAX) {
                let message = format!("mcp server {name}: {rest} more tools are left out");
                self.host.warn_with(message, NextStep::TestServer(name.to_owned()));
            }
        }
        for tool in found.tools {
            registry.add(tool)?;
        }
        let is_partial = !found.left_out.is_empty();
        let silent = self.servers.statuses().into_iter().filter(|known| known.tools.is_none());
        Ok(OmittedTools { servers: silent.map(|known| known.name).collect(), is_partial })
    }

    /// Has a runtime's tools follow what the servers list, and the servers end with the runtime. `offered` are the only tools
    /// on offer, if not all are; `missing` are the servers that were not ready when the tools were put together.
    pub fn watch_server_changes(
        &self,
        runtime: &haft::Runtime,
        offered: Option<Vec<ToolId>>,
        missing: &[String],
    ) {
        runtime.register_server_processes(self.extensions.clone());
        let (servers, catalog) = (self.servers.clone(), runtime.catalog().clone());
        // Several servers may change at the same time; what is offered last has the changes of all.
        let turn = Mutex::new(());
        let refresh = Arc::new(move || {
            let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
            refresh(&catalog, &servers, offered.as_deref());
        });
        let changed = Arc::clone(&refresh);
        self.servers.on_tools_changed(move || changed());
        let has_come =
            |known: &McpServerStatus| known.tools.is_some() && missing.contains(&known.name);
        if self.servers.statuses().iter().any(has_come) {
            refresh();
        }
    }
}

/// The tools of servers that are left out.
pub struct OmittedTools {
    /// The servers that bring nothing.
    pub servers: Vec<String>,
    /// Whether others bring less than they have.
    pub is_partial: bool,
}

impl OmittedTools {
    /// Returns whether an id may be that of a tool that is left out.
    pub fn may_include(&self, id: &ToolId) -> bool {
        let is_of = |server: &String| {
            id.as_str().strip_prefix(server.as_str()).is_some_and(|rest| rest.starts_with('_'))
        };
        self.servers.iter().any(is_of)
    }
}

/// Puts the tools that servers have now in place of those that they had.
fn refresh(catalog: &Catalog, servers: &McpServers, offered: Option<&[ToolId]>) {
    let mut registry = (*catalog.registry()).clone();
    registry.retain(|contract| !matches!(contract.origin, ToolOrigin::Mcp { .. }));
    let found = servers.tools(&|id| taken_id_message(&registry, id));
    for tool in found.tools {
        let is_offered = tool
            .valid_contract()
            .is_ok_and(|contract| offered.is_none_or(|offered| offered.contains(&contract.id)));
        if is_offered && let Err(err) = registry.add(tool) {
            tracing::warn!("a tool of an MCP server is left out: {err}");
        }
    }
    if let Err(err) = catalog.replace(registry) {
        tracing::warn!("the changed tools of an MCP server cannot be offered: {err}");
    }
}

/// Returns why a tool of a server cannot have an id.
pub fn taken_id_message(registry: &Registry, id: &ToolId) -> Option<String> {
    if LOCKED_IDS.contains(&id.as_str()) || permission_names::reserved().contains(id) {
        return Some(format!(
            "{id} is the id of a tool of haft, which no server's tool gets: call the server otherwise"
        ));
    }
    let wire_name = id.wire_name();
    (registry.contract(id.as_str()).is_some() || registry.contract(&wire_name).is_some())
        .then(|| format!("another tool is called {id} already: call the server otherwise"))
}

/// Returns the specification of a server. A call reports the reason if the server cannot be used.
fn spec(
    name: &str,
    entry: &ServerEntry,
    extensions: &ServerProcesses,
    logins: &Path,
    host: &AppHost,
) -> McpServerSpec {
    let (directories, changes, connect) = match entry.url {
        Some(_) => {
            let transport = match remote::remote(name, entry, logins, host) {
                Ok(remote) => McpTransport::Remote(Box::new(remote)),
                Err(why) => McpTransport::Unavailable(why),
            };
            (Vec::new(), Vec::new(), transport)
        }
        None => match start_request(name, entry, extensions, host) {
            Ok((extension, request)) => (
                extension.directories().map(Path::to_path_buf).collect(),
                extension.writable_patterns().to_vec(),
                McpTransport::Local { processes: Arc::new(extension), request: Box::new(request) },
            ),
            Err(why) => (Vec::new(), Vec::new(), McpTransport::Unavailable(why)),
        },
    };
    let cache_key = cache_key(entry, &directories, host);
    let (of_name, of_entry, seen) = (name.to_owned(), entry.clone(), directories.clone());
    let remedy = move |said: &str| grants::missing_grant(&of_name, &of_entry, &seen, said);
    McpServerSpec {
        name: name.to_owned(),
        transport: connect,
        requires: entry.requires.clone(),
        directories,
        writable_directories: changes,
        trusts_annotations: entry.trust_annotations,
        form_filler: None,
        failure_remedy: Some(Arc::new(remedy)),
        timeout_ms: entry.timeout_ms,
        cache_key,
    }
}

/// Returns the grant of a local server and the request that starts it. Fails if a requirement or a variable is missing.
fn start_request(
    name: &str,
    entry: &ServerEntry,
    extensions: &ServerProcesses,
    host: &AppHost,
) -> Result<(ServerProcessLauncher, BackgroundProcessRequest), String> {
    let principal = ToolId::parse(name).map_err(|err| err.to_string())?;
    let extension = extensions.grant(&principal, &entry.requires).map_err(|err| err.to_string())?;
    let mut words = entry.words().map(OsString::from);
    let program = words.next().ok_or("there is no command that starts it")?;
    let mut request = BackgroundProcessRequest::new(program);
    request.args = words.collect();
    request.env = runners::offline(entry);
    request.env.extend(environment(&entry.env, host)?);
    request.cwd.clone_from(&entry.cwd);
    request.readable = server_paths(entry);
    request.channel = ProcessChannel::Stdio;
    Ok((extension, request))
}

/// Returns the variables of a server, or which of haft's own is missing.
fn environment(
    variables: &ServerVariables,
    host: &AppHost,
) -> Result<Vec<(OsString, OsString)>, String> {
    let value =
        |(name, value): (&String, &VariableValue)| Ok((name.into(), value_of(value, host)?));
    variables.0.iter().map(value).collect()
}

/// Returns a value, or which of haft's own variables is missing.
fn value_of(value: &VariableValue, host: &AppHost) -> Result<OsString, String> {
    match value {
        VariableValue::Text(text) => Ok(text.into()),
        VariableValue::From(from) => host.variable(from).ok_or_else(|| {
            format!("it is to be given the variable {from}, which is not set: export {from}=…")
        }),
    }
}

/// Returns what the tools of a server are kept under. It changes with everything that decides what the server is and sees.
fn cache_key(entry: &ServerEntry, directories: &[PathBuf], host: &AppHost) -> String {
    let words: Vec<&String> = entry.words().collect();
    let variables = environment(&entry.env, host).unwrap_or_default();
    let variables: Vec<_> = variables
        .iter()
        .map(|(name, value)| (name.to_string_lossy(), value.to_string_lossy()))
        .collect();
    let what = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "command": words,
        "env": variables,
        "cwd": entry.cwd,
        "url": entry.url,
        "requires": entry.requires,
        "readable": entry.readable,
        "directories": directories,
    });
    sha256_hex(canonical_json(&what).as_bytes())
}

/// Lists of tools, kept a file each.
struct McpListingCache(KeyedTextCache);

impl ToolListCache for McpListingCache {
    fn get(&self, key: &str) -> Option<String> {
        self.0.get(key)
    }

    fn put(&self, key: &str, text: &str) {
        self.0.put(key, text);
    }
}

/// Returns the error of a server that cannot be used, with the step that helps.
pub fn unusable(
    name: &str,
    entry: Option<&ServerEntry>,
    err: &ToolError,
    host: &AppHost,
) -> AppError {
    let failed = AppError::failed(err.message.clone());
    let step = || {
        let entry = entry?;
        match packages::missing_package(entry, host.user_data().as_deref()) {
            Some(package) => Some(install_step(name, &package)),
            None => grants::start_step(name, entry, err, environment(&entry.env, host).is_ok()),
        }
    };
    match login_step(err).or_else(step) {
        Some(step) => failed.next(step),
        None => failed,
    }
}

/// Returns the installation of the package that a server is.
fn install_step(server: &str, package: &RegistryPackage) -> NextStep {
    NextStep::InstallPackage { server: server.to_owned(), package: package.clone() }
}

/// Returns the login that a server wants, if that is why it cannot be used.
fn login_step(err: &ToolError) -> Option<NextStep> {
    let grounds = err.grounds.as_ref()?;
    grounds.remedies.iter().find_map(|remedy| match remedy {
        Remedy::Login(server) => Some(NextStep::LogIn(server.clone())),
        Remedy::AllowTool(_)
        | Remedy::AllowHost(_)
        | Remedy::AddRule(_)
        | Remedy::Unprotect(_)
        | Remedy::Trust
        | Remedy::Settle(_)
        | Remedy::AnswerQuestion(_)
        | Remedy::NameFiles(_) => None,
    })
}
