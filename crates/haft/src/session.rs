//! One front end that talks to haft: its todo list, its rules, its sidecars.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use haft_contract::{Contract, RunId, SubagentSummary, Todo, TodoStore, ToolId};
use haft_journal::RunRow;
use haft_policy::{Conditions, Rule, RuleSet};
use serde_json::Value;
use tokio::sync::MutexGuard;

use crate::ask::{Asker, Headless};
use crate::call::Call;
use crate::explain::Explanation;
use crate::files::Territory;
use crate::narrowing::{self, Narrowed, Narrowing};
use crate::run::{Resume, Run, RunError};
use crate::runtime::{RuntimeError, Shared};
use crate::sidecar::Sidecars;
use crate::skills::{SessionSkills, SkillPlaces};
pub use adopting::is_adopted;
pub(crate) use ground::check_start;
use listing::FoundTools;
pub(crate) use listing::{LISTED_TOOLS_MAX, SessionTools};
pub use listing::{Listing, ListingChanges};
use quotas::SessionQuotas;
use rules::SessionRules;

mod adopting;
mod ground;
mod listing;
mod quotas;
mod rules;

/// The front end of sessions that drive plans. The calls of a run which such a session began are nodes of its plan: no other
/// front end makes calls in it, since these would be taken for answers of nodes.
pub const PLAN_FRONT_END: &str = "plan";

/// The tool that loads skills.
const SKILL: &str = "skill";

/// What a front end says of itself when it opens a session.
pub struct SessionOptions {
    /// The session's name, unique among the sessions that live at the same time; also a directory name.
    pub id: String,
    /// The kind of front end, such as `cli` or `mcp`; recorded with every run. That of plans is [`PLAN_FRONT_END`].
    pub front_end: String,
    /// Permission rules of this session.
    pub rules: Vec<Rule>,
    /// Asks the person behind the front end.
    pub asker: Arc<dyn Asker>,
    /// Whether the first `once` call of a retry whose tool an earlier attempt called is held back once, with a warning
    /// in place of its answer. For front ends that have no other way to warn before it happens.
    pub holds_repeats_back: bool,
    /// Whether the front end shows the tools to a model.
    pub listing: Listing,
    /// Where the skills are looked for, once, when somebody first wants to know of them.
    pub skills: SkillPlaces,
    /// Whom `task` may be told to give a task. Without any, the tool is not listed.
    pub subagents: Vec<SubagentSummary>,
}

impl SessionOptions {
    /// Returns the options of a session without rules of its own and without anybody to ask.
    pub fn headless(id: impl Into<String>, front_end: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            front_end: front_end.into(),
            rules: Vec::new(),
            asker: Arc::new(Headless),
            holds_repeats_back: false,
            listing: Listing::Whole,
            skills: SkillPlaces::default(),
            subagents: Vec::new(),
        }
    }
}

/// One front end that talks to haft. Cloning is cheap; the sidecars go when the last clone and the last run go,
/// unless they are [kept](Session::keep_outputs).
#[derive(Clone)]
pub struct Session {
    state: Arc<SessionState>,
}

pub(crate) struct SessionState {
    pub(crate) shared: Arc<Shared>,
    pub(crate) id: String,
    pub(crate) front_end: String,
    // One for all sessions that were narrowed from one another: what a person answered holds in all of them, beneath the
    // ceilings of each.
    pub(crate) rules: Arc<SessionRules>,
    // Held by the call whose question is before the person, so that there is one at a time; every other call that has a
    // question waits for it.
    asking: Arc<tokio::sync::Mutex<()>>,
    pub(crate) asker: Arc<dyn Asker>,
    pub(crate) holds_repeats_back: bool,
    listing: Listing,
    found: FoundTools,
    pub(crate) todos: Arc<SessionTodos>,
    pub(crate) quotas: Arc<SessionQuotas>,
    pub(crate) skills: Arc<SessionSkills>,
    pub(crate) sidecars: Arc<Sidecars>,
    pub(crate) territory: Territory,
    pub(crate) narrowed: Narrowed,
    pub(crate) subagents: Arc<[SubagentSummary]>,
}

impl Session {
    pub(crate) fn open(shared: Arc<Shared>, options: SessionOptions) -> Result<Self, RuntimeError> {
        // The name is a directory's, which goes with the session.
        RunId::parse(&options.id)?;
        if options.id.starts_with('.') {
            return Err(RuntimeError::SessionName(options.id));
        }
        let rules = Arc::new(SessionRules::new(&shared, options.rules)?);
        let sidecars = Arc::new(Sidecars::new(shared.parts.sidecars.join(&options.id)));
        let skills = Arc::new(SessionSkills::new(options.skills));
        let roots = shared.parts.roots.clone();
        let territory = Territory::new(roots, Arc::clone(&sidecars), Arc::clone(&skills));
        let state = SessionState {
            shared,
            id: options.id,
            front_end: options.front_end,
            rules,
            asking: Arc::default(),
            asker: options.asker,
            holds_repeats_back: options.holds_repeats_back,
            listing: options.listing,
            found: FoundTools::default(),
            todos: Arc::default(),
            quotas: Arc::default(),
            skills,
            sidecars,
            territory,
            narrowed: Narrowed::default(),
            subagents: options.subagents.into(),
        };
        Ok(Self { state: Arc::new(state) })
    }

    /// Returns a session for a subagent of this one: it may do what this one may, as far as the narrowing leaves it, and
    /// nothing more ever. A call is judged by the rules of this session and by those of the narrowing, and the stricter
    /// decides; what it may reach lies within both; what the person answers «always» holds in both, and lifts nothing that a
    /// narrowing keeps back.
    ///
    /// Both ask the same person, count against the same quotas and have the same skills. The narrowed one has a todo list of
    /// its own, found tools of its own, and does not see what was cut out of this one's outputs.
    pub fn narrowed(&self, narrowing: Narrowing) -> Result<Self, RuntimeError> {
        let above = &*self.state;
        let narrowed = above.narrowed.with(&narrowing, &above.shared.parts.variables)?;
        let sidecars = Arc::new(above.sidecars.narrowed());
        // Files of a skill outside the roots are read by whoever can load it.
        let loads_skills = ToolId::parse(SKILL).is_ok_and(|skill| narrowed.keeps(&skill));
        let skills = if loads_skills { Arc::clone(&above.skills) } else { Arc::default() };
        let roots = above.shared.parts.roots.clone();
        let territory = Territory::new(roots, Arc::clone(&sidecars), Arc::clone(&skills));
        let state = SessionState {
            shared: Arc::clone(&above.shared),
            id: above.id.clone(),
            front_end: above.front_end.clone(),
            rules: Arc::clone(&above.rules),
            asking: Arc::clone(&above.asking),
            asker: Arc::clone(&above.asker),
            holds_repeats_back: above.holds_repeats_back,
            listing: above.listing,
            found: FoundTools::default(),
            todos: Arc::default(),
            quotas: Arc::clone(&above.quotas),
            skills,
            sidecars,
            territory,
            narrowed,
            subagents: narrowing.subagents.into(),
        };
        Ok(Self { state: Arc::new(state) })
    }

    /// Returns the run `id`, to begin it or to go on with it. It is in the journal from its first call on, or from
    /// when it is [opened](Run::open).
    pub fn run(&self, id: RunId) -> Run {
        self.resume(id, Resume::Continue)
    }

    /// Returns the run `id`, to go on with it as `resume` says. Each handle that starts over has a pass of its own.
    pub fn resume(&self, id: RunId, resume: Resume) -> Run {
        Run::new(Arc::clone(&self.state), id, resume)
    }

    /// Returns whether a run was begun by the same kind of front end, and in the same workspace.
    pub fn begins_like(&self, run: &RunRow) -> bool {
        let workspace = self.state.shared.parts.roots.workspace().to_string_lossy();
        run.front_end == self.state.front_end && run.root == workspace
    }

    /// Says what would become of a call and why: which rule decides each access, and what would change it. Nothing is
    /// executed, recorded or asked; watchdogs are consulted.
    pub async fn explain(&self, tool: &str, input: Value) -> Result<Explanation, RunError> {
        // The run is never begun, so its name is nobody else's.
        let run = self.run(RunId::parse("explained")?);
        run.rehearse(Call::new(tool, input)).await
    }

    /// Returns the tools to show to a model now, by id: all of them, or those that are not [searched](Listing::Searched)
    /// and those that were found. The description of `skill` lists the skills, that of `task` the subagents.
    pub fn listed(&self) -> Vec<Arc<Contract>> {
        let listed = self.state.listed(&self.state.shared.catalog.registry());
        let published = |contract| {
            narrowing::published(self.state.skills.published(contract), &self.state.subagents)
        };
        listed.into_iter().map(published).collect()
    }

    /// Returns how many tools are not listed now, and can be found.
    pub fn unlisted(&self) -> usize {
        self.state.unlisted(&self.state.shared.catalog.registry())
    }

    /// Returns what is wrong with the skills that this session finds, one line each. May block.
    pub fn skill_problems(&self) -> &[String] {
        self.state.skills.problems()
    }

    /// Returns what tells when the tools to show change.
    pub fn listing_changes(&self) -> ListingChanges {
        self.state.listing_changes()
    }

    /// Leaves the files of cut outputs where they are when the session goes. Whoever calls this removes them some time.
    pub fn keep_outputs(&self) {
        self.state.sidecars.keep();
    }

    /// Reads a sidecar of this session, given its path.
    pub fn read_sidecar(&self, path: &Path) -> io::Result<Vec<u8>> {
        let text = path.to_string_lossy();
        let (place, _) =
            self.state.territory.resolve(&text).map_err(|err| io::Error::other(err.message))?;
        if self.state.territory.subject(&place).is_some() {
            return Err(io::Error::new(
                io::ErrorKind::NotFound,
                "no sidecar of this session has that path",
            ));
        }
        let root =
            self.state.territory.root(&place).map_err(|err| io::Error::other(err.message))?;
        let mut opened = root.open_file(place.relative()).map_err(io::Error::other)?.file;
        let mut contents = Vec::new();
        io::Read::read_to_end(&mut opened, &mut contents)?;
        Ok(contents)
    }

    /// Returns the todo list.
    pub fn todos(&self) -> Vec<Todo> {
        self.state.todos.current()
    }
}

impl SessionState {
    /// Returns the rules that hold now.
    pub(crate) fn rules(&self) -> RuleSet {
        let rules = self.rules.current(&self.shared);
        let conditions = self.shared.conditions();
        let rules =
            if conditions == Conditions::default() { rules } else { rules.under(conditions) };
        self.narrowed.beneath(rules, conditions)
    }

    /// Returns whether the session has the tool.
    pub(crate) fn keeps(&self, contract: &Contract) -> bool {
        self.narrowed.keeps(&contract.id)
    }

    /// Returns whether the session shows the tool to whoever lists or looks for tools.
    fn offers(&self, contract: &Contract) -> bool {
        self.keeps(contract) && (!contract.delegates || !self.subagents.is_empty())
    }

    /// Waits until no question of another call is before the person.
    pub(crate) async fn turn(&self) -> MutexGuard<'_, ()> {
        self.asking.lock().await
    }
}

/// The todo list. The mutex is written by the todo tool and read by front ends, a few times a session.
#[derive(Default)]
pub(crate) struct SessionTodos {
    list: Mutex<TodoList>,
}

#[derive(Default)]
struct TodoList {
    todos: Vec<Todo>,
    /// Whether a call of this session wrote it, so that nothing older takes its place.
    is_written: bool,
}

impl SessionTodos {
    fn list(&self) -> std::sync::MutexGuard<'_, TodoList> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes over the list of an earlier session, unless this one has one of its own.
    fn adopt(&self, todos: Vec<Todo>) {
        let mut list = self.list();
        if !list.is_written {
            list.todos = todos;
        }
    }
}

impl TodoStore for SessionTodos {
    fn replace(&self, todos: Vec<Todo>) {
        *self.list() = TodoList { todos, is_written: true };
    }

    fn current(&self) -> Vec<Todo> {
        self.list().todos.clone()
    }
}
