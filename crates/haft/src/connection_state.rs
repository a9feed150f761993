//! The state of one connection: its todo list, its rules, its sidecars and the tools that it shows. It does not know
//! how runs begin.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use haft_contract::{ConnectionStore, Contract, RunId, SubagentSummary, Todo, TodoStore, ToolId};
use haft_policy::{Conditions, Rule, RuleSet};

use crate::ask::{Asker, HeadlessAsker};
use crate::files::PathResolver;
use crate::model_view::{ModelView, published_name};
use crate::restrictions::{RestrictionStack, Restrictions};
use crate::shared::{RuntimeError, RuntimeShared};
use crate::sidecar::Sidecars;
use crate::skills::{ConnectionSkills, SkillSearchPaths};
pub(crate) use listing::ConnectionTools;
use listing::SearchedTools;
pub use listing::{ToolListing, ToolListingWatcher};
pub(crate) use process_access::check_start_directory;
use quotas::ConnectionQuotas;
use rules::ConnectionRules;

mod adoption;
mod listing;
mod process_access;
mod quotas;
mod rules;

/// The front end of connections that drive plans. The calls of a run that such a connection began are nodes of its
/// plan. Other front ends cannot make calls in it, because haft would take these for answers of nodes.
pub const PLAN_FRONT_END: &str = "plan";

/// The member of a run's settings that names the client behind the front end.
pub const CLIENT_SETTING: &str = "client";

/// The options with which a front end opens a connection.
pub struct ConnectionOptions {
    /// The connection's name, unique among open connections; also a directory name.
    pub id: String,
    /// The kind of front end, such as `cli` or `mcp`; recorded with every run. Plans have [`PLAN_FRONT_END`].
    pub front_end: String,
    /// Permission rules of this connection.
    pub rules: Vec<Rule>,
    /// Rules of this connection for what no other rule matches, as those of a preset.
    pub preset_rules: Vec<Rule>,
    /// Asks the person behind the front end.
    pub asker: Arc<dyn Asker>,
    /// Whether to hold back the first `once` call of a retry once, if an earlier attempt called its tool. The answer is
    /// a warning. For front ends that have no other way to warn before the effect.
    pub holds_repeated_calls: bool,
    /// Whether the front end shows the tools to a model.
    pub listing: ToolListing,
    /// How the front end shows answers to a model, if it does. Messages then name tools as they are published.
    pub model_view: Option<ModelView>,
    /// The directories that haft searches for skills, once, when a caller first needs a skill.
    pub skills: SkillSearchPaths,
    /// The subagents that `task` can start. If there are none, the tool is not listed.
    pub subagents: Vec<SubagentSummary>,
}

impl ConnectionOptions {
    /// Returns the options of a connection without rules and without a person to ask.
    pub fn headless(id: impl Into<String>, front_end: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            front_end: front_end.into(),
            rules: Vec::new(),
            preset_rules: Vec::new(),
            asker: Arc::new(HeadlessAsker),
            holds_repeated_calls: false,
            listing: ToolListing::All,
            model_view: None,
            skills: SkillSearchPaths::default(),
            subagents: Vec::new(),
        }
    }
}

/// The state of one connection.
pub(crate) struct ConnectionState {
    /// The state of the runtime.
    pub(crate) shared: Arc<RuntimeShared>,
    /// The name of the connection, which is also the name of its directory for sidecars.
    pub(crate) id: String,
    /// The kind of front end, as runs record it.
    pub(crate) front_end: String,
    /// The name of the client behind the front end, once it is known. Runs that begin later record it.
    pub(crate) client: OnceLock<String>,
    /// Shared by a connection and its restricted connections: the answers of a person hold in all of them, within the
    /// restrictions of each.
    pub(crate) rules: Arc<ConnectionRules>,
    /// Asks the person behind the front end. A call can bring an asker that is used instead.
    pub(crate) asker: Arc<dyn Asker>,
    /// Whether to hold back the first `once` call of a retry; see [`ConnectionOptions::holds_repeated_calls`].
    pub(crate) holds_repeated_calls: bool,
    /// Whether the front end shows the tools to a model.
    listing: ToolListing,
    /// How the front end shows answers to a model, if it does.
    pub(crate) model_view: Option<ModelView>,
    /// The tools that `tool_search` found. A restricted connection begins with none.
    found_tools: SearchedTools,
    /// The todo list. A restricted connection has a separate one.
    pub(crate) todos: Arc<ConnectionTodos>,
    /// The counts of limited actions. A restricted connection shares them with its parent.
    pub(crate) quotas: Arc<ConnectionQuotas>,
    /// The skills that calls can load. A restricted connection without a tool that loads skills has none.
    pub(crate) skills: Arc<ConnectionSkills>,
    /// The outputs that were too long for an answer. A restricted connection cannot read those of its parent.
    pub(crate) sidecars: Arc<Sidecars>,
    /// Resolves the paths of calls within the roots, the sidecars and the loaded skills.
    pub(crate) paths: PathResolver,
    /// The restrictions of this connection and of all its parents.
    pub(crate) restrictions: RestrictionStack,
    /// The subagents that `task` can start.
    pub(crate) subagents: Arc<[SubagentSummary]>,
}

impl ConnectionState {
    /// Opens the connection of a front end. Fails if its name or one of its rules is not valid.
    pub(crate) fn open(
        shared: Arc<RuntimeShared>,
        options: ConnectionOptions,
    ) -> Result<Self, RuntimeError> {
        // The name is also the name of a directory, which is removed with the connection.
        RunId::parse(&options.id)?;
        if options.id.starts_with('.') {
            return Err(RuntimeError::ConnectionName(options.id));
        }
        let rules = Arc::new(ConnectionRules::new(&shared, options.rules, options.preset_rules)?);
        let sidecars = Arc::new(Sidecars::new(shared.parts.sidecars.join(&options.id)));
        let skills = Arc::new(ConnectionSkills::new(options.skills));
        let roots = shared.parts.roots.clone();
        let granted = shared.granted.without_ad_hoc();
        let territory =
            PathResolver::new(roots, Arc::clone(&sidecars), Arc::clone(&skills), granted);
        Ok(Self {
            shared,
            id: options.id,
            front_end: options.front_end,
            client: OnceLock::new(),
            rules,
            asker: options.asker,
            holds_repeated_calls: options.holds_repeated_calls,
            listing: options.listing,
            model_view: options.model_view,
            found_tools: SearchedTools::default(),
            todos: Arc::default(),
            quotas: Arc::default(),
            skills,
            sidecars,
            paths: territory,
            restrictions: RestrictionStack::default(),
            subagents: options.subagents.into(),
        })
    }

    /// Returns the state of a subagent's connection; see [`Connection::restrict`](crate::Connection::restrict).
    pub(crate) fn restrict(&self, narrowing: Restrictions) -> Result<Self, RuntimeError> {
        let narrowed =
            self.restrictions.push_restrictions(&narrowing, &self.shared.parts.variables)?;
        let sidecars = Arc::new(self.sidecars.for_subagent());
        // If the connection has a tool that loads skills, its calls can also read files of skills outside the roots.
        let registry = self.shared.catalog.registry();
        let loads_skills = registry.contracts().any(|contract| {
            contract.connection_store == Some(ConnectionStore::Skills)
                && narrowed.allows_tool(&contract.id)
        });
        let skills = if loads_skills { Arc::clone(&self.skills) } else { Arc::default() };
        let roots = self.shared.parts.roots.clone();
        // A file that is attached to one session later is not attached to the others.
        let granted = self.paths.granted.detached();
        let territory =
            PathResolver::new(roots, Arc::clone(&sidecars), Arc::clone(&skills), granted);
        Ok(Self {
            shared: Arc::clone(&self.shared),
            id: self.id.clone(),
            front_end: self.front_end.clone(),
            client: self.client.clone(),
            rules: Arc::clone(&self.rules),
            asker: Arc::clone(&self.asker),
            holds_repeated_calls: self.holds_repeated_calls,
            listing: self.listing,
            model_view: self.model_view,
            found_tools: SearchedTools::default(),
            todos: Arc::default(),
            quotas: Arc::clone(&self.quotas),
            skills,
            sidecars,
            paths: territory,
            restrictions: narrowed,
            subagents: narrowing.subagents.into(),
        })
    }

    /// Returns the settings that a run records: those of the runtime, and the client, if it is known.
    pub(crate) fn recorded_settings(&self) -> String {
        let settings = &self.shared.parts.settings;
        let members = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(settings);
        match (self.client.get(), members) {
            (Some(client), Ok(mut members)) => {
                members.insert(CLIENT_SETTING.to_owned(), client.as_str().into());
                serde_json::Value::Object(members).to_string()
            }
            // Settings that are no object are recorded as they are.
            (Some(_), Err(_)) | (None, _) => settings.clone(),
        }
    }

    /// Returns the rules that hold now.
    pub(crate) fn rules(&self) -> RuleSet {
        let rules = self.rules.current(&self.shared);
        let conditions = self.shared.conditions();
        let rules = if conditions == Conditions::default() {
            rules
        } else {
            rules.with_conditions(conditions)
        };
        self.restrictions.restrict_rules(rules, conditions)
    }

    /// Returns whether the connection has the tool. Agents have restrictions, and tools of haft itself are not for them.
    pub(crate) fn has_tool(&self, contract: &Contract) -> bool {
        self.restrictions.allows_tool(&contract.id)
            && (!contract.is_internal || self.restrictions.is_empty())
            && (!contract.only_if_named || self.restrictions.names_tool(&contract.id))
    }

    /// Returns the name of a tool as callers of this connection know it.
    pub(crate) fn published_name(&self, id: &ToolId) -> String {
        published_name(id, self.model_view)
    }

    /// Returns whether the connection shows the tool in lists and searches.
    fn shows_tool(&self, contract: &Contract) -> bool {
        self.has_tool(contract)
            && !contract.is_internal
            && (!contract.delegates || !self.subagents.is_empty())
    }
}

/// The todo list. The mutex is written by the todo tool and read by front ends, a few times a session.
#[derive(Default)]
pub(crate) struct ConnectionTodos {
    /// The list with its origin, locked for one read or write.
    list: Mutex<TodoList>,
}

/// A todo list, and whether it may be replaced by an adopted one.
#[derive(Default)]
struct TodoList {
    /// The items, in the order of the last call that wrote them.
    todos: Vec<Todo>,
    /// Whether a call of this connection wrote the list, so that adopting cannot replace it.
    is_written: bool,
}

impl ConnectionTodos {
    fn list(&self) -> std::sync::MutexGuard<'_, TodoList> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adopts the todo list of an earlier connection, unless this connection already has one.
    fn adopt_todos(&self, todos: Vec<Todo>) {
        let mut list = self.list();
        if !list.is_written {
            list.todos = todos;
        }
    }
}

impl TodoStore for ConnectionTodos {
    fn replace(&self, todos: Vec<Todo>) {
        *self.list() = TodoList { todos, is_written: true };
    }

    fn current(&self) -> Vec<Todo> {
        self.list().todos.clone()
    }
}
