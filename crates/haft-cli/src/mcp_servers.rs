//! The MCP servers of the settings: each with what it is granted, what of its own it reads, and what it is told of haft's own
//! environment. What cannot be used leaves that server's tools out and is said in a line; nothing here knows what a server
//! says.

mod grants;
mod own_places;
mod remote;
mod runners;
mod tokens;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use haft::{Catalog, Extension, Extensions, Registry};
use haft_contract::{
    Channel, LOCKED_IDS, Origin, ResidentRequest, ToolError, ToolId, canonical_json, sha256_hex,
};
use haft_mcp::{Advice, Connect, KnownServer, ListingCache, McpServers, ServerSpec};
use haft_python::ReadingCache as _;
use haft_sandbox::ProtectedNames;
use serde_json::json;

use crate::error::CommandError;
use crate::manifest::{ServerEntry, ServerVariables, VariableValue};
use crate::permission_names;
use crate::python::Readings;
use crate::state::State;

pub(crate) use self::grants::granted;
use self::grants::hint;
pub(crate) use self::remote::authorization;
pub(crate) use self::runners::Download;
pub(crate) use self::tokens::LOGIN_BYTES_MAX;

/// Lines about tools that are left out, of one server, when tools are put together.
pub(crate) const SERVER_WARNINGS_MAX: usize = 5;

/// The servers that the settings name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct McpSettings {
    /// Those that hold, with absolute paths.
    pub(crate) entries: BTreeMap<String, ServerEntry>,
    /// Whether the manifest names some that do not hold, so that names of tools in it may be theirs.
    pub(crate) has_untrusted: bool,
}

/// The servers, and what starts them.
#[derive(Clone)]
pub(crate) struct Bridge {
    servers: McpServers,
    extensions: Extensions,
}

impl McpSettings {
    /// Returns the servers of a manifest that lies in `directory`.
    pub(crate) fn placed(
        entries: BTreeMap<String, ServerEntry>,
        directory: &Path,
        has_untrusted: bool,
    ) -> Self {
        let placed = |entry: ServerEntry| own_places::placed(entry.placed(directory), directory);
        let placed = entries.into_iter().map(|(name, entry)| (name, placed(entry)));
        Self { entries: placed.collect(), has_untrusted }
    }

    /// Returns the servers that are used.
    pub(crate) fn enabled(&self) -> impl Iterator<Item = (&String, &ServerEntry)> {
        self.entries.iter().filter(|(_, entry)| entry.is_enabled())
    }

    /// Adds to the protected names what of servers lies in the roots: whoever changes it decides what they do.
    pub(crate) fn protected<'a>(
        &self,
        protected: ProtectedNames,
        roots: impl Iterator<Item = &'a PathBuf>,
    ) -> Result<ProtectedNames, CommandError> {
        let roots: Vec<PathBuf> = roots.filter_map(|root| root.canonicalize().ok()).collect();
        let own = |entry| own_places::all(entry).into_iter().chain(own_places::deciding(entry));
        let own = self.enabled().flat_map(|(_, entry)| own(entry));
        let patterns: Vec<String> = own.flat_map(|place| patterns(&place, &roots)).collect();
        protected.extended(patterns).map_err(CommandError::usage)
    }
}

/// Returns the patterns of a place that lies in a root, as it is spelled and where it is.
fn patterns(place: &Path, roots: &[PathBuf]) -> Vec<String> {
    let spelled = place.parent().and_then(|parent| parent.canonicalize().ok());
    let spelled = spelled.zip(place.file_name()).map(|(parent, name)| parent.join(name));
    let real = place.canonicalize().ok();
    let within = |place: PathBuf| {
        let root = roots.iter().find(|root| place.starts_with(root))?;
        let within = place.strip_prefix(root).ok()?.to_str()?;
        let name = root.file_name()?.to_str()?;
        let is_plain = !within.is_empty() && !within.contains(['*', '\\']);
        is_plain.then(|| format!("{name}/{within}/**"))
    };
    spelled.into_iter().chain(real).filter_map(within).collect()
}

impl Bridge {
    /// Returns the servers that the settings name. None is started.
    pub(crate) fn new(settings: &McpSettings, extensions: Extensions, state: &State) -> Self {
        let cache: Arc<dyn ListingCache> = Arc::new(Listings(Readings::new(state.mcp())));
        let logins = state.mcp_logins();
        let specs = settings.enabled().map(|(name, entry)| spec(name, entry, &extensions, &logins));
        Self { servers: McpServers::new(specs, &cache), extensions }
    }

    /// Ends all servers, and waits for that.
    pub(crate) async fn end(&self) {
        self.servers.close().await;
        self.extensions.end_all().await;
    }

    /// Returns the servers.
    pub(crate) fn servers(&self) -> &McpServers {
        &self.servers
    }

    /// Adds the tools of the servers to a registry, and says what is left out; returns the names of servers that bring
    /// nothing. A server of which nothing is known yet is started for that.
    pub(crate) async fn add_tools(&self, registry: &mut Registry) -> Result<LeftOut, CommandError> {
        let failed = self.servers.find().await;
        for (name, err) in &failed {
            tracing::warn!("{}; see haft mcp test {name}", err.message);
        }
        let found = self.servers.tools(&|id| why_taken(registry, id));
        for (name, left_out) in &found.left_out {
            warn_of_left_out(name, left_out);
        }
        for tool in found.tools {
            registry.add(tool)?;
        }
        let is_partial = !found.left_out.is_empty();
        Ok(LeftOut { servers: failed.into_keys().collect(), is_partial })
    }

    /// Has a runtime's tools follow what the servers list, and the servers end with the runtime. `offered` are the only tools
    /// on offer, if not all are; `missing` are the servers that were not ready when the tools were put together.
    pub(crate) fn follow(
        &self,
        runtime: &haft::Runtime,
        offered: Option<Vec<ToolId>>,
        missing: &[String],
    ) {
        runtime.adopt(self.extensions.clone());
        let (servers, catalog) = (self.servers.clone(), runtime.catalog().clone());
        // Several servers may change at the same time; what is offered last has the changes of all.
        let turn = Mutex::new(());
        let refresh = Arc::new(move || {
            let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
            refresh(&catalog, &servers, offered.as_deref());
        });
        let changed = Arc::clone(&refresh);
        self.servers.on_change(move || changed());
        let has_come = |known: &KnownServer| known.tools.is_some() && missing.contains(&known.name);
        if self.servers.known().iter().any(has_come) {
            refresh();
        }
    }
}

/// What servers do not bring.
pub(crate) struct LeftOut {
    /// The servers that bring nothing.
    pub(crate) servers: Vec<String>,
    /// Whether others bring less than they have.
    pub(crate) is_partial: bool,
}

impl LeftOut {
    /// Returns whether an id may be that of a tool that is left out.
    pub(crate) fn may_be(&self, id: &ToolId) -> bool {
        let is_of = |server: &String| {
            id.as_str().strip_prefix(server.as_str()).is_some_and(|rest| rest.starts_with('_'))
        };
        self.servers.iter().any(is_of)
    }
}

/// Puts the tools that servers have now in place of those that they had.
fn refresh(catalog: &Catalog, servers: &McpServers, offered: Option<&[ToolId]>) {
    let mut registry = (*catalog.registry()).clone();
    registry.retain(|contract| !matches!(contract.origin, Origin::Mcp { .. }));
    let found = servers.tools(&|id| why_taken(&registry, id));
    for tool in found.tools {
        let is_offered = tool
            .checked_contract()
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
pub(crate) fn why_taken(registry: &Registry, id: &ToolId) -> Option<String> {
    if LOCKED_IDS.contains(&id.as_str()) || permission_names::reserved().contains(id) {
        return Some(format!(
            "{id} is the id of a tool of haft, which no server's tool gets: call the server otherwise"
        ));
    }
    let wire_name = id.wire_name();
    (registry.contract(id.as_str()).is_some() || registry.contract(&wire_name).is_some())
        .then(|| format!("another tool is called {id} already: call the server otherwise"))
}

fn warn_of_left_out(name: &str, left_out: &[String]) {
    for why in left_out.iter().take(SERVER_WARNINGS_MAX) {
        tracing::warn!("mcp server {name}: {why}; the tool is left out");
    }
    if left_out.len() > SERVER_WARNINGS_MAX {
        let rest = left_out.len() - SERVER_WARNINGS_MAX;
        tracing::warn!(
            "mcp server {name}: {rest} more tools are left out; see haft mcp test {name}"
        );
    }
}

/// Returns a server as it is to be used. What keeps it from that is said when it is called.
fn spec(name: &str, entry: &ServerEntry, extensions: &Extensions, logins: &Path) -> ServerSpec {
    let (directories, changes, connect) = match entry.url {
        Some(_) => (Vec::new(), Vec::new(), elsewhere(name, entry, logins)),
        None => match to_start(name, entry, extensions) {
            Ok((extension, request)) => (
                extension.directories().map(Path::to_path_buf).collect(),
                extension.changes().to_vec(),
                Connect::Local { residents: Arc::new(extension), request: Box::new(request) },
            ),
            Err(why) => (Vec::new(), Vec::new(), Connect::Not(why)),
        },
    };
    let cache_key = cache_key(entry, &directories);
    ServerSpec {
        name: name.to_owned(),
        connect,
        requires: entry.requires.clone(),
        directories,
        changes,
        trusts_annotations: entry.trust_annotations,
        forms: None,
        advice: advice(name, entry),
        timeout_ms: entry.timeout_ms,
        cache_key,
    }
}

/// Returns what is said to failures of a server that may lack something.
fn advice(name: &str, entry: &ServerEntry) -> Option<Arc<Advice>> {
    let (name, entry) = (name.to_owned(), entry.clone());
    Some(Arc::new(move |said: &str| grants::lacking(&name, &entry, said)))
}

fn elsewhere(name: &str, entry: &ServerEntry, logins: &Path) -> Connect {
    match remote::remote(name, entry, logins) {
        Ok(remote) => Connect::Remote(Box::new(remote)),
        Err(why) => Connect::Not(why),
    }
}

fn to_start(
    name: &str,
    entry: &ServerEntry,
    extensions: &Extensions,
) -> Result<(Extension, ResidentRequest), String> {
    let principal = ToolId::parse(name).map_err(|err| err.to_string())?;
    let extension = extensions.grant(&principal, &entry.requires).map_err(|err| err.to_string())?;
    let mut words = entry.words().map(OsString::from);
    let program = words.next().ok_or("there is no command that starts it")?;
    let mut request = ResidentRequest::new(program);
    request.args = words.collect();
    request.env = runners::offline(entry);
    request.env.extend(environment(&entry.env)?);
    request.cwd.clone_from(&entry.cwd);
    request.readable = own_places::all(entry);
    request.channel = Channel::Stdio;
    Ok((extension, request))
}

/// Returns the variables of a server, or which of haft's own is missing.
fn environment(variables: &ServerVariables) -> Result<Vec<(OsString, OsString)>, String> {
    let value = |(name, value): (&String, &VariableValue)| Ok((name.into(), value_of(value)?));
    variables.0.iter().map(value).collect()
}

/// Returns a value, or which of haft's own variables is missing.
fn value_of(value: &VariableValue) -> Result<OsString, String> {
    match value {
        VariableValue::Text(text) => Ok(text.into()),
        VariableValue::From(from) => std::env::var_os(from).ok_or_else(|| {
            format!("it is to be given the variable {from}, which is not set: export {from}=…")
        }),
    }
}

/// Returns what the tools of a server are kept under. It changes with everything that decides what the server is and sees.
fn cache_key(entry: &ServerEntry, directories: &[PathBuf]) -> String {
    let words: Vec<&String> = entry.words().collect();
    let variables = environment(&entry.env).unwrap_or_default();
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
struct Listings(Readings);

impl ListingCache for Listings {
    fn get(&self, key: &str) -> Option<String> {
        self.0.get(key)
    }

    fn put(&self, key: &str, text: &str) {
        self.0.put(key, text);
    }
}

/// Returns the places that a program reads because they are its own.
pub(crate) fn own_places_of(entry: &ServerEntry) -> Vec<PathBuf> {
    own_places::all(entry)
}

/// Returns the error of a server that cannot be used, for a person.
pub(crate) fn unusable(name: &str, entry: Option<&ServerEntry>, err: &ToolError) -> CommandError {
    let failed = CommandError::failed(err.message.clone());
    match entry.and_then(|entry| hint(name, entry, &err.message)) {
        Some(hint) => failed.hint(hint),
        None => failed,
    }
}
