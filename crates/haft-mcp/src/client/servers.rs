//! All servers of a manifest: their tools, which of them had to be started to list these, and their errors.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use haft_contract::{ConfinementReport, Effect, ErrorCode, Tool, ToolError, ToolId};
use tokio::time::{Instant, timeout_at};

use super::limits::{SERVER_FIND_MS_MAX, SERVER_SERVING_FIND_MS_MAX};
use super::naming::permission;
use super::server::{McpServer, McpServerSpec, McpTransport, ToolListCache, ToolsChangedCallback};
use super::tools::{convert_tools, effect};

/// The servers of a runtime. Cloning is cheap; a server ends with the last clone and the last tool of it.
#[derive(Clone)]
pub struct McpServers {
    servers: Vec<Arc<McpServer>>,
    tools_changed: Arc<ToolsChangedCallback>,
}

/// The servers that are started to find out their tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerDiscovery<'a> {
    /// All of which nothing is known, except those that did not come up the last time.
    All,
    /// Those that may have this tool.
    Tool(&'a str),
    /// All. The caller waits for a short time and not for those that did not come up the last time: it learns of their tools
    /// when they come up.
    Serving,
}

/// The tools of all servers.
pub struct McpServerTools {
    /// The tools, in the order of servers and names.
    pub tools: Vec<Tool>,
    /// Reasons for tools that are left out, by server.
    pub left_out: BTreeMap<String, Vec<String>>,
}

/// The status of a server that need not be running.
pub struct McpServerStatus {
    /// Its name.
    pub name: String,
    /// How many tools it listed last, if it ever did.
    pub tools: Option<usize>,
    /// Why it cannot be reached, if that is known.
    pub problem: Option<String>,
}

/// The result of starting a server.
pub struct McpServerTest {
    /// The version of the protocol that is spoken.
    pub protocol: String,
    /// The server's own name and version.
    pub server: String,
    /// Its tools in haft.
    pub tools: Vec<TestedServerTool>,
    /// Reasons for tools that are left out.
    pub left_out: Vec<String>,
    /// Its confinement.
    pub confined: Option<ConfinementReport>,
}

/// A tool of a server, and what haft makes of it.
pub struct TestedServerTool {
    /// Its name at the server.
    pub name: String,
    /// Its id, or why it is left out.
    pub id: Result<ToolId, String>,
    /// The permission that rules name it by.
    pub permission: String,
    /// The effect of a call, as haft assumes it.
    pub effect: Effect,
    /// The server's description.
    pub description: String,
}

impl McpServers {
    /// Returns the configured servers, without starting them.
    pub fn new(
        specs: impl IntoIterator<Item = McpServerSpec>,
        cache: &Arc<dyn ToolListCache>,
    ) -> Self {
        let changed: Arc<ToolsChangedCallback> = Arc::default();
        let server = |spec| McpServer::new(spec, Arc::clone(cache), Arc::clone(&changed));
        Self { servers: specs.into_iter().map(server).collect(), tools_changed: changed }
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.servers.is_empty()
    }

    /// Returns what is known of each server without starting it.
    pub fn statuses(&self) -> Vec<McpServerStatus> {
        let known = |server: &Arc<McpServer>| McpServerStatus {
            name: server.spec.name.clone(),
            tools: server.tool_list().map(|listing| listing.tools.len()),
            problem: match &server.spec.transport {
                McpTransport::Local { .. } | McpTransport::Remote(_) => server.remembered_failure(),
                McpTransport::Unavailable(why) => Some(why.clone()),
            },
        };
        self.servers.iter().map(known).collect()
    }

    /// Finds out the tools of all servers of which nothing is known: see [`discover_tools_for`](Self::discover_tools_for).
    pub async fn discover_tools(&self) -> BTreeMap<String, ToolError> {
        self.discover_tools_for(ServerDiscovery::All).await
    }

    /// Finds out the tools of servers of which nothing is known, by starting them, all at once; returns why some cannot be
    /// found out, by server. A server that did not come up is not started again, unless one of its tools is wanted, or it can
    /// come up while others work.
    pub async fn discover_tools_for(
        &self,
        discovery: ServerDiscovery<'_>,
    ) -> BTreeMap<String, ToolError> {
        let unknown = self.servers.iter().filter(|server| server.tool_list().is_none());
        let find_ms_max = match discovery {
            ServerDiscovery::All | ServerDiscovery::Tool(_) => SERVER_FIND_MS_MAX,
            ServerDiscovery::Serving => SERVER_SERVING_FIND_MS_MAX,
        };
        let starting: Vec<_> = unknown
            .filter(|server| match (discovery, server.remembered_failure()) {
                (ServerDiscovery::Tool(tool), _) => is_id_of_server(tool, &server.spec.name),
                (ServerDiscovery::All | ServerDiscovery::Serving, None) => true,
                (ServerDiscovery::All, Some(_)) => false,
                (ServerDiscovery::Serving, Some(_)) => {
                    let starting = Arc::clone(server);
                    // If it comes up, the front end lists its tools.
                    drop(tokio::spawn(async move { drop(starting.connection().await) }));
                    false
                }
            })
            .map(|server| {
                let starting = Arc::clone(server);
                // It goes on after the deadline: its tools come later then.
                let started = tokio::spawn(async move { starting.connection().await.err() });
                (Arc::clone(server), started)
            })
            .collect();
        let until = Instant::now() + Duration::from_millis(find_ms_max);
        let mut failed = BTreeMap::new();
        for (server, started) in starting {
            let name = server.spec.name.clone();
            let err = match timeout_at(until, started).await {
                Ok(Ok(err)) => err,
                Ok(Err(_)) => Some(unavailable(&name, "haft failed to start it")),
                Err(_) => {
                    let why = format!("it is not ready after {find_ms_max} ms");
                    Some(unavailable(&name, &why))
                }
            };
            // A missing variable or login is found out at once, and may be there the next time.
            let is_slow = !matches!(server.spec.transport, McpTransport::Unavailable(_));
            if let Some(err) = err.as_ref().filter(|err| is_slow && err.grounds.is_none()) {
                server.remember_failure(&err.message);
            }
            failed.extend(err.map(|err| (name, err)));
        }
        failed
    }

    /// Returns the tools that are known now. None gets an id for which `is_taken` says why it cannot be had.
    pub fn tools(&self, is_taken: &dyn Fn(&ToolId) -> Option<String>) -> McpServerTools {
        let mut tools: Vec<Tool> = Vec::new();
        let mut left_out = BTreeMap::new();
        let mut given: Vec<ToolId> = Vec::new();
        for server in &self.servers {
            let mut is_taken = |id: &ToolId| match given.contains(id) {
                true => Some(format!("another server has a tool that is called {id} here, too")),
                false => self.reserved_by_other_server(server, id).or_else(|| is_taken(id)),
            };
            let made = convert_tools(server, &mut is_taken);
            given.extend(made.ids.into_iter().filter_map(|(_, id)| id.ok()));
            tools.extend(made.tools);
            if !made.left_out.is_empty() {
                left_out.insert(server.spec.name.clone(), made.left_out);
            }
        }
        McpServerTools { tools, left_out }
    }

    /// Returns for which other server an id is kept, in words: `a_b_c` is one of `a_b` where there is such a server, and
    /// none that `a` can give a tool, or rules about the one would be about the other.
    fn reserved_by_other_server(&self, server: &Arc<McpServer>, id: &ToolId) -> Option<String> {
        let beneath =
            |name: &str| id.as_str().strip_prefix(name).is_some_and(|rest| rest.starts_with('_'));
        let names = self.servers.iter().map(|server| server.spec.name.as_str());
        let owner = names.filter(|name| beneath(name)).max_by_key(|name| name.len())?;
        (owner != server.spec.name).then(|| {
            format!("ids that begin with {owner}_ are those of the server {owner}: call one of the two otherwise")
        })
    }

    /// Has this called whenever a server turns out to have other tools, once; a second call of this does nothing.
    pub fn on_tools_changed(&self, changed: impl Fn() + Send + Sync + 'static) {
        // The first holds.
        let _ = self.tools_changed.set(Box::new(changed));
    }

    /// Starts a server and says what was found out; nothing if there is none of that name.
    pub async fn test_server(
        &self,
        name: &str,
        is_taken: &dyn Fn(&ToolId) -> Option<String>,
    ) -> Option<Result<McpServerTest, ToolError>> {
        let server = self.servers.iter().find(|server| server.spec.name == name)?;
        let connection = match server.connection().await {
            Ok((connection, _)) => connection,
            Err(err) => return Some(Err(err)),
        };
        let made = convert_tools(server, &mut |id| {
            self.reserved_by_other_server(server, id).or_else(|| is_taken(id))
        });
        let listing = server.tool_list().unwrap_or_default();
        let tools =
            listing.tools.iter().zip(made.ids).map(|(listed, (name, id))| TestedServerTool {
                permission: permission(&server.spec.name, &name),
                effect: effect(&server.spec, listed.hints),
                description: listed.description.clone(),
                name,
                id,
            });
        let (protocol, about) = connection.server_info();
        let tools = tools.collect();
        let confined = connection.link.take_confinement().await;
        Some(Ok(McpServerTest {
            protocol,
            server: about,
            tools,
            left_out: made.left_out,
            confined,
        }))
    }

    /// Ends all servers, and waits for that.
    pub async fn close(&self) {
        for server in &self.servers {
            server.close().await;
        }
    }
}

/// Returns whether an id, as haft or a client spells it, may be that of a tool of a server.
fn is_id_of_server(id: &str, server: &str) -> bool {
    id.strip_prefix(server).is_some_and(|rest| rest.starts_with('_'))
}

fn unavailable(name: &str, why: &str) -> ToolError {
    ToolError::new(ErrorCode::Unavailable, format!("mcp server {name} is unavailable: {why}"))
}

#[cfg(test)]
mod tests {
    use haft_contract::{LOCKED_IDS, RequirementSet};
    use serde_json::{Value, json};

    use super::*;

    /// Keeps one list of tools for each server, as if it had listed them.
    struct Lists(BTreeMap<String, Value>);

    impl ToolListCache for Lists {
        fn get(&self, key: &str) -> Option<String> {
            let tool = |tool: &Value| {
                let described = json!({
                    "name": tool["name"], "description": "", "parameters": tool["schema"],
                    "hints": {"is_read_only": false, "is_idempotent": false},
                });
                described
            };
            let tools: Vec<Value> = self.0.get(key)?.as_array()?.iter().map(tool).collect();
            Some(json!({"era": "handshake", "tools": tools, "left_out": []}).to_string())
        }

        fn put(&self, _: &str, _: &str) {}
    }

    fn spec(name: &str) -> McpServerSpec {
        McpServerSpec {
            name: name.to_owned(),
            transport: McpTransport::Unavailable("it is not there".to_owned()),
            requires: RequirementSet::default(),
            directories: Vec::new(),
            writable_directories: Vec::new(),
            trusts_annotations: false,
            form_filler: None,
            failure_remedy: None,
            timeout_ms: None,
            cache_key: name.to_owned(),
        }
    }

    /// Says which ids the tools of servers get, and what is left out.
    fn check(lists: Value, ids: &[&str], left_out: &[&str]) {
        let lists: BTreeMap<String, Value> = serde_json::from_value(lists).unwrap();
        let specs: Vec<McpServerSpec> = lists.keys().map(|name| spec(name)).collect();
        let cache: Arc<dyn ToolListCache> = Arc::new(Lists(lists));
        let found = McpServers::new(specs, &cache)
            .tools(&|id| LOCKED_IDS.contains(&id.as_str()).then(|| format!("{id} is locked")));
        let id = |tool: &Tool| tool.valid_contract().unwrap().id.to_string();
        assert_eq!(found.tools.iter().map(id).collect::<Vec<_>>(), ids);
        assert_eq!(found.left_out.into_values().flatten().collect::<Vec<_>>(), left_out);
    }

    fn named(names: &[&str]) -> Value {
        let tool = |name: &&str| json!({"name": name, "schema": {"type": "object"}});
        names.iter().map(tool).collect()
    }

    #[test]
    fn no_tool_takes_the_place_of_another_one() {
        check(
            json!({"web": named(&["search", "look"])}),
            &["web_look"],
            &["tool \"search\": web_search is locked"],
        );
        // The digest of the name `a-b` begins so.
        check(
            json!({"s": named(&["a-b", "a.b", "a_b_d44362d6"])}),
            &["s_a_b_d44362d6", "s_a_b_2e7336dc"],
            &["tool \"a_b_d44362d6\": another tool of the server is called s_a_b_d44362d6 already"],
        );
        check(
            json!({"a": named(&["b_c", "c"]), "a_b": named(&["c"])}),
            &["a_c", "a_b_c"],
            &[
                "tool \"b_c\": ids that begin with a_b_ are those of the server a_b: call one of the two otherwise",
            ],
        );
        check(json!({"a": named(&["b_c"]), "ab": named(&["c"])}), &["a_b_c", "ab_c"], &[]);
    }

    #[test]
    fn a_tool_whose_schema_takes_for_ever_is_left_out() {
        let steep = json!([{"name": "a", "schema": {"type": "object", "$defs": {
            "0": {"allOf": vec![json!({"$ref": "#/$defs/1"}); 2_000]},
            "1": {"allOf": vec![json!({"type": "object"}); 2_000]},
        }, "$ref": "#/$defs/0"}}, {"name": "b", "schema": {"type": "object"}}]);
        check(
            json!({"s": steep}),
            &["s_b"],
            &["tool \"a\": its schema takes more than 1000000 steps to check"],
        );
    }
}
