//! One front end that talks to haft: its todo list, its rules, its sidecars.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use haft_contract::{Contract, RunId, Todo, TodoStore};
use haft_journal::RunRow;
use haft_policy::{Conditions, Rule, RuleSet};
use serde_json::Value;
use tokio::sync::MutexGuard;

use crate::ask::{Asker, Headless};
use crate::call::Call;
use crate::explain::Explanation;
use crate::files::Territory;
use crate::run::{Resume, Run, RunError};
use crate::runtime::{RuntimeError, Shared};
use crate::sidecar::Sidecars;
use crate::skills::{SessionSkills, SkillPlaces};
use listing::FoundTools;
pub(crate) use listing::{LISTED_TOOLS_MAX, SessionTools};
pub use listing::{Listing, ListingChanges};
use quotas::SessionQuotas;
use rules::SessionRules;

mod listing;
mod quotas;
mod rules;

/// The front end of sessions that drive plans. The calls of a run which such a session began are nodes of its plan: no other
/// front end makes calls in it, since these would be taken for answers of nodes.
pub const PLAN_FRONT_END: &str = "plan";

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
    pub(crate) rules: SessionRules,
    // Held by the call whose question is before the person, so that there is one at a time; every other call that has a
    // question waits for it.
    asking: tokio::sync::Mutex<()>,
    pub(crate) asker: Arc<dyn Asker>,
    pub(crate) holds_repeats_back: bool,
    listing: Listing,
    found: FoundTools,
    pub(crate) todos: Arc<SessionTodos>,
    pub(crate) quotas: Arc<SessionQuotas>,
    pub(crate) skills: Arc<SessionSkills>,
    pub(crate) sidecars: Arc<Sidecars>,
    pub(crate) territory: Territory,
}

impl Session {
    pub(crate) fn open(shared: Arc<Shared>, options: SessionOptions) -> Result<Self, RuntimeError> {
        // The name is a directory's, which goes with the session.
        RunId::parse(&options.id)?;
        if options.id.starts_with('.') {
            return Err(RuntimeError::SessionName(options.id));
        }
        let rules = SessionRules::new(&shared, options.rules)?;
        let sidecars = Arc::new(Sidecars::new(shared.parts.sidecars.join(&options.id)));
        let skills = Arc::new(SessionSkills::new(options.skills));
        let roots = shared.parts.roots.clone();
        let territory = Territory::new(roots, Arc::clone(&sidecars), Arc::clone(&skills));
        let state = SessionState {
            shared,
            id: options.id,
            front_end: options.front_end,
            rules,
            asking: tokio::sync::Mutex::default(),
            asker: options.asker,
            holds_repeats_back: options.holds_repeats_back,
            listing: options.listing,
            found: FoundTools::default(),
            todos: Arc::default(),
            quotas: Arc::default(),
            skills,
            sidecars,
            territory,
        };
        Ok(Self { state: Arc::new(state) })
    }

    /// Returns the run `id`, to begin it or to go on with it. It is in the journal from its first call on.
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
    /// and those that were found. The description of `skill` lists the skills.
    pub fn listed(&self) -> Vec<Arc<Contract>> {
        let listed = self.state.listed(&self.state.shared.catalog.registry());
        listed.into_iter().map(|contract| self.state.skills.published(contract)).collect()
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
        if conditions == Conditions::default() { rules } else { rules.under(conditions) }
    }

    /// Waits until no question of another call is before the person.
    pub(crate) async fn turn(&self) -> MutexGuard<'_, ()> {
        self.asking.lock().await
    }
}

/// The todo list. The mutex is written by the todo tool and read by front ends, a few times a session.
#[derive(Default)]
pub(crate) struct SessionTodos {
    todos: Mutex<Vec<Todo>>,
}

impl TodoStore for SessionTodos {
    fn replace(&self, todos: Vec<Todo>) {
        *self.todos.lock().unwrap_or_else(PoisonError::into_inner) = todos;
    }

    fn current(&self) -> Vec<Todo> {
        self.todos.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
