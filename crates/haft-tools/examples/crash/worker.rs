//! A process that makes the calls of a script until it is killed. It prints each answer as one line, and only after it got
//! the answer. The next process of the same world continues where this one died. The worker settles calls in doubt as a
//! person would: it looks at the effects that really happened.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use haft::{
    Call, Connection, ConnectionOptions, Registry, ResumeMode, Run, RunError, Runtime,
    RuntimeParts, SystemClock, TaskAttempt, WorkspaceRoots,
};
use haft_contract::{
    AttemptAddress, CallAddress, Envelope, EnvelopeMetadata, ErrorCode, sha256_hex,
};
use haft_faults::SeededRandom;
use haft_journal::{
    CallQuery, Journal, JournalError, LeaseOwner, SettledBy, Settlement, SettlementVerdict,
    SqliteJournal,
};
use haft_policy::{Rule, RuleAction, RuleScope};
use haft_sandbox::Launcher;
use serde_json::json;

use crate::Failure;
use crate::checkpoints::Checkpoints;
use crate::point::{PointedJournal, Points};
use crate::script::{Commands, Kind, Lane, RunScript, Step};
use crate::world::{World, append, count_lines, files_of};
use crate::{snapshots, tools};

/// The settings of a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Orders {
    pub(crate) world: PathBuf,
    pub(crate) seed: u64,
    pub(crate) commands: Commands,
    pub(crate) driver: DriverKind,
    /// The how manieth process of the world it is.
    pub(crate) life: u64,
    /// The run that it goes on with.
    pub(crate) run: u32,
    /// Whether it stops after that run instead of going on until it is killed.
    pub(crate) end: End,
    /// How many answers of each lane were heard.
    pub(crate) heard: Vec<usize>,
    /// Where it dies by itself.
    pub(crate) point: Option<String>,
}

/// How a driver goes on after a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DriverKind {
    /// From the start.
    Replays,
    /// After what it heard; it names its calls.
    GoesOn,
}

/// When a worker ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Killed,
    AfterRun,
}

/// The state of a worker.
struct Worker {
    orders: Orders,
    world: World,
    journal: Arc<dyn Journal>,
    session: Connection,
}

/// Lives the life of a worker.
pub(crate) fn live(orders: Orders) -> Result<(), Failure> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work(orders))
}

async fn work(orders: Orders) -> Result<(), Failure> {
    let world = World::at(&orders.world);
    let points: Points = orders.point.as_deref().map_or(Ok(Points::default()), str::parse)?;
    let points = Arc::new(points);
    let journal = SqliteJournal::open(world.journal())?;
    let checkpoints = Checkpoints::of_life(&world, orders.seed, orders.life, &points);
    let journal = PointedJournal::new(journal, Arc::clone(&points), checkpoints);
    let journal: Arc<dyn Journal> = Arc::new(journal);
    let runtime = runtime(&orders, &world, &journal, &points)?;
    let recovered = runtime.recover().await?;
    let temporaries = temporaries(&orders, &world)?;
    say(format_args!(
        "ready {} {} {temporaries}",
        recovered.in_doubt.len(),
        recovered.settled.len()
    ))?;
    let options = ConnectionOptions::headless(format!("life{}", orders.life), "crash");
    let session = runtime.open_connection(options)?;
    let worker = Arc::new(Worker { world, journal, session, orders });
    let (first, end) = (worker.orders.run, worker.orders.end);
    for number in first.. {
        if !worker.make(number).await? {
            break;
        }
        say(format_args!("done {number}"))?;
        if end == End::AfterRun {
            break;
        }
    }
    runtime.shut_down().await;
    Ok(())
}

fn runtime(
    orders: &Orders,
    world: &World,
    journal: &Arc<dyn Journal>,
    points: &Arc<Points>,
) -> Result<Runtime, Failure> {
    let roots = WorkspaceRoots::open(&world.workspace(), &[])?;
    let life = orders.life;
    Ok(Runtime::new(RuntimeParts {
        registry: Registry::new(tools::of_world(world, points))?,
        rules: vec![(RuleScope::Manifest, Rule::new("*", "*", RuleAction::Allow))],
        launcher: Launcher::new(std::env::current_exe()?),
        environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
        // There is one process at a time, and the driver starts none before the one before is gone.
        is_gone: Arc::new(move |owner: &LeaseOwner| {
            owner.id.parse().ok().map(|other: u64| other < life)
        }),
        snapshots: snapshots::of_world(world, orders.seed, (&roots, journal, points)),
        ..RuntimeParts::new(
            Arc::clone(journal),
            roots,
            world.sidecars(),
            Arc::new(SystemClock),
            LeaseOwner { id: life.to_string(), location: format!("life {life}") },
        )
    })?)
}

/// Counts what changes of files left lying about, after they were brought to an end.
fn temporaries(orders: &Orders, world: &World) -> Result<u64, Failure> {
    let mut count = 0;
    for lane in &RunScript::of(orders.seed, orders.run, orders.commands)?.lanes {
        count += files_of(&world.workspace().join(&lane.directory))?.1;
    }
    Ok(count)
}

impl Worker {
    /// Makes the calls of a run, all lanes at once. Returns whether it came to the end of them.
    async fn make(self: &Arc<Self>, number: u32) -> Result<bool, Failure> {
        let script = RunScript::of(self.orders.seed, number, self.orders.commands)?;
        let directories = script.lanes.iter().map(|lane| &lane.directory);
        for directory in directories {
            std::fs::create_dir_all(self.world.workspace().join(directory))?;
        }
        // This process owns the run while a holder exists, also between two passes of a lane.
        let run = self.session.run(script.id.clone());
        let mut lanes = tokio::task::JoinSet::new();
        for (index, lane) in script.lanes.into_iter().enumerate() {
            let worker = Arc::clone(self);
            let heard = match number == self.orders.run {
                true => self.orders.heard.get(index).copied().unwrap_or_default(),
                false => 0,
            };
            let run = run.clone();
            lanes.spawn(async move {
                match worker.orders.driver {
                    DriverKind::Replays => worker.replay(number, index, &lane).await,
                    DriverKind::GoesOn => worker.go_on(&run, number, index, (&lane, heard)).await,
                }
            });
        }
        while let Some(lane) = lanes.join_next().await {
            let Err(err) = lane? else { continue };
            let stuck = matches!(
                err.downcast_ref::<RunError>(),
                Some(RunError::Journal(JournalError::Stuck { .. }))
            );
            if !stuck {
                return Err(err);
            }
            say(format_args!("stuck {number}"))?;
            return Ok(false);
        }
        Ok(true)
    }

    /// Starts over until no call of the lane is in doubt. A settled call is made again, in the same pass or in another one.
    async fn replay(&self, number: u32, index: usize, lane: &Lane) -> Result<(), Failure> {
        let mut random =
            SeededRandom::from_seeds(self.orders.seed ^ self.orders.life, u64::from(number));
        'pass: loop {
            let run = self.session.resume(lane.scope.run.clone(), ResumeMode::Replay);
            for (at, step) in lane.steps.iter().enumerate() {
                let envelope = loop {
                    let envelope = run.call(call(lane, step)).await?;
                    if envelope.code() != Some(ErrorCode::InDoubt) {
                        break envelope;
                    }
                    self.insist(&run, call(lane, step), &envelope).await?;
                    self.settle(&envelope, lane, step).await?;
                    if random.one_in(2) {
                        continue 'pass;
                    }
                };
                acknowledge(number, index, at, &envelope)?;
            }
            return Ok(());
        }
    }

    /// Makes a call again that is in doubt, as drivers do that do not read what they are told: it stays in doubt, and it
    /// stays the same call.
    async fn insist(&self, run: &Run, call: Call, told: &Envelope) -> Result<(), Failure> {
        let again = run.call(call).await?;
        if (again.code(), &again.metadata().call_id) == (told.code(), &told.metadata().call_id) {
            return Ok(());
        }
        Err(format!("{told:?} was followed by {again:?}").into())
    }

    /// Goes on after the answers that were heard, naming each call.
    async fn go_on(
        &self,
        run: &Run,
        number: u32,
        index: usize,
        (lane, heard): (&Lane, usize),
    ) -> Result<(), Failure> {
        for (at, step) in lane.steps.iter().enumerate().skip(heard) {
            loop {
                let driver_call_id = Some(format!("call {at}"));
                let named = Call { driver_call_id, ..call(lane, step) };
                let envelope = run.call(named.clone()).await?;
                if envelope.code() != Some(ErrorCode::InDoubt) {
                    acknowledge(number, index, at, &envelope)?;
                    break;
                }
                self.insist(run, named, &envelope).await?;
                self.settle(&envelope, lane, step).await?;
            }
        }
        Ok(())
    }

    /// Says what became of a call in doubt: mostly the truth, and now and then that it is to be repeated.
    async fn settle(&self, envelope: &Envelope, lane: &Lane, step: &Step) -> Result<(), Failure> {
        let named = envelope.metadata().call_id.clone().unwrap_or_default();
        let call = self.find(&lane.scope, &named).await?;
        let key = step.key.idempotency_key();
        let record = match step.kind {
            Kind::Bash => self.world.workspace().join(&lane.log),
            _ => self.world.ledger(),
        };
        let happened = count_lines(&record)?.contains_key(&key);
        let mut random =
            SeededRandom::from_seeds(self.orders.seed ^ self.orders.life, u64::from(call.seq));
        let verdict = match happened {
            _ if random.one_in(4) => SettlementVerdict::Retry,
            true => SettlementVerdict::Happened,
            false => SettlementVerdict::NotHappened,
        };
        if verdict == SettlementVerdict::Retry {
            append(&self.world.retries(), &key)?;
        }
        let data = json!("somebody looked it up");
        let metadata =
            EnvelopeMetadata { call_id: Some(named.clone()), ..EnvelopeMetadata::default() };
        let envelope = Envelope::Output { data, metadata };
        let (by, settled_at_ms) = (SettledBy::Operator, 1);
        self.journal.resolve(Settlement { call, verdict, by, envelope, settled_at_ms }).await?;
        say(format_args!("settled {named} {verdict} {happened}"))
    }

    async fn find(&self, scope: &AttemptAddress, named: &str) -> Result<CallAddress, Failure> {
        let rows = self.journal.calls(CallQuery::of_attempt(scope.clone())).await?;
        let found = rows.iter().map(haft_journal::CallRow::id).find(|id| id.to_string() == named);
        found.ok_or_else(|| format!("call {named} is in doubt and not in the journal").into())
    }
}

fn call(lane: &Lane, step: &Step) -> Call {
    let place = TaskAttempt { node: lane.scope.node.clone(), ..TaskAttempt::default() };
    Call { task_attempt: place, ..Call::new(step.tool, step.input.clone()) }
}

fn acknowledge(number: u32, lane: usize, step: usize, envelope: &Envelope) -> Result<(), Failure> {
    let EnvelopeMetadata { call_id, replayed, code, .. } = envelope.metadata();
    let call = call_id.as_deref().unwrap_or("none");
    let code = match (envelope, code) {
        (Envelope::Output { .. }, _) => "OK".to_owned(),
        (Envelope::Error { .. }, Some(code)) => code.to_string(),
        (Envelope::Error { .. }, None) => "ERROR".to_owned(),
    };
    let digest = digest(envelope);
    say(format_args!("ack {number} {lane} {step} {call} {code} {replayed} {digest}"))
}

/// Returns what tells two answers apart.
pub(crate) fn digest(envelope: &Envelope) -> String {
    sha256_hex(envelope.text().as_bytes()).chars().take(16).collect()
}

/// Writes a line in one piece, past every buffer.
pub(crate) fn say(line: std::fmt::Arguments<'_>) -> Result<(), Failure> {
    let line = format!("{line}\n");
    std::io::stdout().write_all(line.as_bytes())?;
    Ok(std::io::stdout().flush()?)
}
