//! Processes of a simulated history: a runtime whose journal and tools stop answering at a step that was chosen before.
//! The journal that lies beneath, the clock and the record of what really happened outlive them.

use std::collections::{BTreeSet, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use haft::{
    Call, Clock, Connection, ConnectionOptions, Registry, ResumeMode, Run, RunError, Runtime,
    RuntimeParts, TaskAttempt, WorkspaceRoots,
};
use haft_contract::{
    CallAddress, Cx, Effect, Envelope, EnvelopeMetadata, ProbeResult, RunId, Tool, ToolError,
};
use haft_journal::limits::LEASE_MS_MAX;
use haft_journal::{
    CallRow, Journal, LeaseOwner, MemoryJournal, SettledBy, Settlement, SettlementVerdict,
};
use haft_policy::{Rule, RuleAction, RuleScope};
use serde_json::Value;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::dying::DyingJournal;
use super::model::is_same_call;
use crate::stage::Text;

/// Something that really happened.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Happened {
    pub(super) call: String,
    attempt: u32,
    key: String,
}

/// The state that outlives processes.
pub(super) struct World {
    pub(super) journal: Arc<MemoryJournal>,
    now_ms: AtomicU64,
    effects: Mutex<Vec<Happened>>,
    gone: Mutex<HashSet<String>>,
    directory: tempfile::TempDir,
}

impl Default for World {
    fn default() -> Self {
        Self {
            journal: Arc::default(),
            now_ms: AtomicU64::new(1_700_000_000_000),
            effects: Mutex::default(),
            gone: Mutex::default(),
            directory: tempfile::tempdir().unwrap(),
        }
    }
}

impl World {
    pub(super) fn jump(&self, by_ms: i64) {
        let now_ms = self.clock();
        self.now_ms.store(now_ms.saturating_add_signed(by_ms), Ordering::SeqCst);
    }

    pub(super) fn clock(&self) -> u64 {
        self.now_ms.load(Ordering::SeqCst)
    }

    /// Returns whether a lease of that time is over now, as the journal counts.
    pub(super) fn lease_is_over(&self, since_ms: u64) -> bool {
        let left = (since_ms + haft::limits::LEASE_MS).checked_sub(self.clock());
        left.is_none_or(|left_ms| left_ms == 0 || left_ms > LEASE_MS_MAX)
    }

    pub(super) fn effects(&self) -> BTreeSet<Happened> {
        self.effects.lock().unwrap().iter().cloned().collect()
    }

    /// Returns how often the call of a row really happened, under whatever number.
    pub(super) fn times(&self, row: &CallRow, rows: &[CallRow]) -> u64 {
        let same = rows.iter().filter(|other| is_same_call(other, row));
        let ids: HashSet<String> = same.map(|row| row.id().to_string()).collect();
        let effects = self.effects.lock().unwrap();
        effects.iter().filter(|effect| ids.contains(&effect.call)).count() as u64
    }

    /// Settles a call in doubt as an operator does.
    pub(super) async fn settle(
        &self,
        call: CallAddress,
        verdict: SettlementVerdict,
        data: Value,
    ) -> Result<(), String> {
        let envelope = Envelope::Output { data, metadata: EnvelopeMetadata::default() };
        let (by, settled_at_ms) = (SettledBy::Operator, self.clock());
        let settlement = Settlement { call, verdict, by, envelope, settled_at_ms };
        self.journal.resolve(settlement).await.map(drop).map_err(|err| err.to_string())
    }
}

/// The clock of the world, which tests can set to any time.
struct WorldClock(Arc<World>);

impl Clock for WorldClock {
    fn now_ms(&self) -> u64 {
        self.0.clock()
    }
}

/// How many steps a process has left, and whether it still lives.
pub(super) struct Fate {
    left: AtomicU64,
    is_dead: AtomicBool,
    died: Notify,
    is_to_hang: AtomicBool,
    hanging: Notify,
    go_on: Notify,
}

impl Fate {
    /// Takes a step. Returns whether the process still lived to take it.
    pub(super) fn step(&self) -> bool {
        let take = |left: u64| left.checked_sub(1);
        if self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take).is_err() {
            self.die();
        }
        !self.is_dead.load(Ordering::SeqCst)
    }

    fn die(&self) {
        self.is_dead.store(true, Ordering::SeqCst);
        self.died.notify_one();
    }

    /// A step of a tool: nothing happens after death, not even an end.
    async fn step_or_hang(&self) {
        if !self.step() {
            std::future::pending::<()>().await;
        }
        if self.is_to_hang.swap(false, Ordering::SeqCst) {
            self.hanging.notify_one();
            self.go_on.notified().await;
        }
    }
}

/// Lets a process that hangs go on.
pub(super) struct HangingKey(Arc<Fate>);

impl HangingKey {
    pub(super) fn release(self) {
        self.0.go_on.notify_one();
    }
}

/// The answer of a call; `None` if its process died.
pub(super) type Answered = Option<Result<Envelope, RunError>>;

/// One process.
pub(super) struct Process {
    pub(super) runtime: Runtime,
    session: Connection,
    world: Arc<World>,
    fate: Arc<Fate>,
    owner: String,
}

impl Process {
    /// Starts a process that dies after so many steps.
    pub(super) fn start(world: &Arc<World>, number: u64, steps: u64) -> Self {
        let fate = Arc::new(Fate {
            left: AtomicU64::new(steps),
            is_dead: AtomicBool::new(false),
            died: Notify::new(),
            is_to_hang: AtomicBool::new(false),
            hanging: Notify::new(),
            go_on: Notify::new(),
        });
        let owner = format!("p{number}");
        let runtime = runtime(world, &fate, &owner);
        let session = runtime.open_connection(ConnectionOptions::headless(&owner, "test")).unwrap();
        Self { runtime, session, world: Arc::clone(world), fate, owner }
    }

    pub(super) fn handle(&self, run: &RunId, resume: ResumeMode) -> Run {
        self.session.resume(run.clone(), resume)
    }

    /// Makes a call, and hears its answer unless the process dies first.
    pub(super) fn call_in(
        &self,
        run: &Run,
        (tool, input): (&str, &str),
        place: TaskAttempt,
        driver_call_id: Option<String>,
    ) -> impl Future<Output = Answered> + Send + use<> {
        let input = serde_json::json!({ "text": input });
        let call = Call { task_attempt: place, driver_call_id, ..Call::new(tool, input) };
        let (run, fate) = (run.clone(), Arc::clone(&self.fate));
        async move {
            tokio::select! {
                biased;
                answer = run.call(call) => match fate.is_dead.load(Ordering::SeqCst) {
                    true => None,
                    false => Some(answer),
                },
                () = fate.died.notified() => None,
            }
        }
    }

    /// Has the next effect wait until it is released.
    pub(super) fn hang_at_next_effect(&self) -> HangingKey {
        self.fate.is_to_hang.store(true, Ordering::SeqCst);
        HangingKey(Arc::clone(&self.fate))
    }

    /// Waits until the process hangs. Returns whether it does, instead of being done with the call.
    pub(super) async fn hangs(&self, call: &JoinHandle<Answered>) -> bool {
        loop {
            tokio::select! {
                biased;
                () = self.fate.hanging.notified() => return true,
                () = tokio::task::yield_now() => {}
            }
            if call.is_finished() {
                return false;
            }
        }
    }

    /// Ends the process without a word.
    pub(super) fn die(self) {
        self.fate.die();
        self.world.gone.lock().unwrap().insert(self.owner);
    }
}

fn runtime(world: &Arc<World>, fate: &Arc<Fate>, owner: &str) -> Runtime {
    let root = world.directory.path().join("root");
    std::fs::create_dir_all(&root).unwrap();
    let roots = WorkspaceRoots::open(&root, &[]).unwrap();
    let gone = Arc::clone(world);
    Runtime::new(RuntimeParts {
        registry: Registry::new(tools(world, fate)).unwrap(),
        rules: vec![(RuleScope::Manifest, Rule::new("*", "*", RuleAction::Allow))],
        is_gone: Arc::new(move |owner: &LeaseOwner| {
            gone.gone.lock().unwrap().contains(&owner.id).then_some(true)
        }),
        ..RuntimeParts::new(
            Arc::new(DyingJournal::new(Arc::clone(&world.journal), Arc::clone(fate))),
            roots,
            world.directory.path().join("sidecars"),
            Arc::new(WorldClock(Arc::clone(world))),
            LeaseOwner { id: owner.to_owned(), location: format!("process {owner}") },
        )
    })
    .unwrap()
}

fn tools(world: &Arc<World>, fate: &Arc<Fate>) -> Vec<Tool> {
    let effectful = |id: &str, effect: Effect| {
        let (world, fate) = (Arc::clone(world), Arc::clone(fate));
        let run = move |args: Text, cx: Cx| {
            let (world, fate) = (Arc::clone(&world), Arc::clone(&fate));
            async move {
                fate.step_or_hang().await;
                world.effects.lock().unwrap().push(happened(&cx));
                fate.step_or_hang().await;
                Ok::<_, ToolError>(format!("{} done", args.text))
            }
        };
        (Tool::new(id).effect(effect), run)
    };
    let (order, run_order) = effectful("order", Effect::Once);
    let (note, run_note) = effectful("note", Effect::Idempotent);
    let (probed, run_probed) = effectful("probed", Effect::Once);
    let asked = Arc::clone(world);
    let probed = probed.probe(move |args: Text, cx: Cx| {
        let Happened { attempt, key, .. } = happened(&cx);
        let effects = asked.effects();
        let found = effects.iter().any(|effect| effect.attempt == attempt && effect.key == key);
        async move {
            Ok::<_, ToolError>(match found {
                true => ProbeResult::Happened(format!("{} done", args.text)),
                false => ProbeResult::NotHappened,
            })
        }
    });
    let look = Tool::new("look")
        .execute(|args: Text| async move { Ok::<_, ToolError>(format!("{} seen", args.text)) });
    vec![
        order.execute_with(run_order),
        note.execute_with(run_note),
        probed.execute_with(run_probed),
        look,
    ]
}

fn happened(cx: &Cx) -> Happened {
    Happened {
        call: cx.call_address().to_string(),
        attempt: cx.attempt_address().attempt,
        key: cx.idempotency_key(),
    }
}
