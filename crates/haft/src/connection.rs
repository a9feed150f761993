//! A connection of one front end to haft: it begins runs, lists tools, and reads the state that calls created.

use std::io;
use std::path::Path;
use std::sync::Arc;

use haft_contract::{
    Contract, Envelope, EnvelopeMetadata, RunId, SkillSummary, Skills as _, Todo, TodoStore,
};
use haft_journal::RunRow;
use serde_json::Value;

use crate::call::Call;
use crate::connection_state::{ConnectionOptions, ConnectionState, ToolListingWatcher};
use crate::explain::CallExplanation;
use crate::pipeline::ResumeMode;
use crate::restrictions::{self, Restrictions};
use crate::run::{Run, RunRegistry};
use crate::run_error::RunError;
use crate::shared::RuntimeError;
use crate::sidecar::Sidecars;
use crate::skills::lists_skills;

/// Characters of a client's name that runs record.
const CLIENT_CHARS_MAX: usize = 64;

/// A connection of one front end to haft. Cloning is cheap. The sidecars are removed with the last clone and the last
/// run, unless they are [kept](Connection::keep_outputs).
#[derive(Clone)]
pub struct Connection {
    /// The rules, the tools and the files of the connection.
    state: Arc<ConnectionState>,
    /// The runs of the runtime, which all connections share.
    runs: Arc<RunRegistry>,
}

impl Connection {
    /// Opens a connection without any run. Fails if its name or one of its rules is not valid.
    pub(crate) fn open(
        runs: Arc<RunRegistry>,
        options: ConnectionOptions,
    ) -> Result<Self, RuntimeError> {
        let state = ConnectionState::open(Arc::clone(runs.shared()), options)?;
        Ok(Self { state: Arc::new(state), runs })
    }

    /// Returns a connection for a subagent of this one, which may do no more than both this connection and the
    /// restrictions allow. haft judges a call by the rules of this connection and by those of the restrictions; the
    /// stricter one decides. The accesses of a call must lie within both. The answer «always» of a person holds in
    /// both, but lifts no restriction.
    ///
    /// Both ask the same person, count against the same quotas and have the same skills. The restricted connection
    /// has a separate todo list and separate tools from `tool_search`. It does not see the sidecars of this one.
    ///
    /// # Errors
    ///
    /// Names a rule, a pattern or a requirement of the restrictions that is not valid.
    pub fn restrict(&self, narrowing: Restrictions) -> Result<Self, RuntimeError> {
        let state = self.state.restrict(narrowing)?;
        Ok(Self { state: Arc::new(state), runs: Arc::clone(&self.runs) })
    }

    /// Returns the run `id`, to begin or resume it. The run is in the journal from its first call on, or from when it
    /// is [opened](Run::take_lease).
    pub fn run(&self, id: RunId) -> Run {
        self.resume(id, ResumeMode::Continue)
    }

    /// Returns the run `id`, to be resumed as `resume` says. Each handle that starts over has separate replay cursors.
    pub fn resume(&self, id: RunId, resume: ResumeMode) -> Run {
        Run::new(&self.runs, Arc::clone(&self.state), id, resume)
    }

    /// Names the client behind the front end, such as an editor or an agent. Runs that begin from now on record the name. The
    /// first name counts.
    pub fn name_client(&self, name: &str) {
        let _ = self.state.client.set(haft_contract::cut(name, CLIENT_CHARS_MAX));
    }

    /// Returns whether a run was begun by the same kind of front end, and in the same workspace.
    pub fn is_same_origin(&self, run: &RunRow) -> bool {
        let workspace = self.state.shared.parts.roots.workspace().to_string_lossy();
        run.front_end == self.state.front_end && run.root == workspace
    }

    /// Explains the decision about a call: which rule decides each access, and what would change it. This executes
    /// and records nothing and asks no person; it does ask watchdogs.
    ///
    /// # Errors
    ///
    /// Fails if the journal cannot be read. A refusal is part of the explanation, not an error.
    pub async fn explain(&self, tool: &str, input: Value) -> Result<CallExplanation, RunError> {
        // The run never begins, so its name cannot clash with another run.
        let run = self.run(RunId::parse("explained")?);
        run.rehearse(Call::new(tool, input)).await
    }

    /// Returns the tools to show to a model now, by id. With [`ToolListing::Searched`](crate::ToolListing::Searched),
    /// tools that must be searched for are left out until they are found. The description of `skill` lists the skills,
    /// and the description of `task` lists the subagents. May block, because it reads the skills.
    pub fn listed_tools(&self) -> Vec<Arc<Contract>> {
        self.tools_listed_for(false)
    }

    /// Returns the tools to show to a model as [`listed_tools`](Self::listed_tools) does, for calls that bring a separate asker.
    /// `can_ask` says whether its questions can be answered.
    pub fn tools_listed_for(&self, can_ask: bool) -> Vec<Arc<Contract>> {
        let can_ask = can_ask || self.state.asker.is_answerable();
        let listed = self.state.listed_tools(&self.state.shared.catalog.registry(), can_ask);
        let published = |contract| {
            restrictions::describe_with_subagents(
                self.state.skills.describe_with_skills(contract),
                &self.state.subagents,
            )
        };
        listed.into_iter().map(published).collect()
    }

    /// Returns the number of tools that are not listed now and can be found.
    pub fn unlisted_count(&self) -> usize {
        self.state.unlisted_count(&self.state.shared.catalog.registry())
    }

    /// Returns the skills that calls can load, sorted by name. There are none if no listed tool loads skills. May block.
    pub fn skills(&self) -> Vec<SkillSummary> {
        let listed = self
            .state
            .listed_tools(&self.state.shared.catalog.registry(), self.state.asker.is_answerable());
        let is_offered = listed.iter().any(|contract| lists_skills(contract));
        if is_offered { self.state.skills.index() } else { Vec::new() }
    }

    /// Returns the problems of the skills that this connection finds, one line each. May block.
    pub fn skill_problems(&self) -> &[String] {
        self.state.skills.problems()
    }

    /// Returns a watcher for changes of the listed tools.
    pub fn listing_changes(&self) -> ToolListingWatcher {
        self.state.listing_changes()
    }

    /// Keeps the sidecars when the connection ends. The caller must remove them later.
    pub fn keep_outputs(&self) {
        self.state.sidecars.keep();
    }

    /// Reads a sidecar of this connection, given its absolute path.
    ///
    /// # Errors
    ///
    /// `NotFound` for a path of the workspace. Every other path that is no sidecar is an error as well, and so is a
    /// sidecar that cannot be read.
    pub fn read_sidecar(&self, path: &Path) -> io::Result<Vec<u8>> {
        let text = path.to_string_lossy();
        let (place, _) =
            self.state.paths.resolve(&text).map_err(|err| io::Error::other(err.message))?;
        if self.state.paths.subject(&place).is_some() {
            return Err(io::Error::new(
                io::ErrorKind::NotFound,
                "no sidecar of this session has that path",
            ));
        }
        let root = self.state.paths.root_of(&place).map_err(|err| io::Error::other(err.message))?;
        let mut opened = root.open_file(place.relative()).map_err(io::Error::other)?.file;
        let mut contents = Vec::new();
        io::Read::read_to_end(&mut opened, &mut contents)?;
        Ok(contents)
    }

    /// Adds a file or directory outside the roots by hand, as a person does who attaches it. For this connection and its subagents,
    /// `{ad-hoc}` in requirements and rules stands for it, too, and calls may read it.
    ///
    /// Returns whether it was added: it must be there, and a connection takes at most 64.
    pub fn add_ad_hoc(&self, path: &Path) -> bool {
        let is_in_root = |path: &Path| {
            self.state.shared.parts.roots.all().any(|root| path.starts_with(root.path()))
        };
        let Ok(canonical) = path.canonicalize() else { return false };
        if is_in_root(&canonical) {
            return true;
        }
        let Some(place) = self.state.paths.granted.add(path) else { return false };
        self.state.rules.add_ad_hoc(&place, &self.state.shared);
        true
    }

    /// Returns the todo list.
    pub fn todos(&self) -> Vec<Todo> {
        self.state.todos.current()
    }

    /// Adopts the sidecar of an earlier session's output, so that calls of this connection can read it. The answer then
    /// names a copy, or says that the rest is gone. For drivers that continue after a transcript.
    pub fn adopt_output(&self, metadata: &mut EnvelopeMetadata) {
        Sidecars::mark_lost(metadata);
        self.state.sidecars.adopt(metadata);
    }

    /// Returns whether connections [adopt](Self::adopt_call) state from calls of a tool.
    pub fn is_adopted(&self, tool: &str) -> bool {
        let registry = self.state.shared.catalog.registry();
        registry.contract(tool).is_some_and(|contract| contract.connection_store.is_some())
    }

    /// Adopts the state that a call of an earlier session created. The tools that it found are listed, the files of its
    /// skill can be read, and its todo list is the list. It gives no more than a call of this connection could. For
    /// drivers that continue after a transcript, one call after the other. May block.
    pub fn adopt_call(&self, tool: &str, input: &Value, answer: &Envelope) {
        self.state.adopt_call(tool, input, answer);
    }
}
