//! Measures what journaling costs, beside the least that the same database can do. Entrants take turns in one process. It
//! prints one sample a line, `case<TAB>entrant<TAB>nanoseconds`, and judges nothing.
//!
//! Arguments: DIRECTORY (to work in), ROUNDS, ROWS (calls that a long run has).

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use haft::{
    Call, Limits, OnRepeat, Registry, Resume, Roots, Runtime, RuntimeParts, SessionOptions,
    SystemClock,
};
use haft_contract::{
    CallId, CallKey, Cx, Effect, Envelope, Metadata, RunId, Scope, Tool, ToolError, Variables,
};
use haft_journal::{
    Claim, Journal, MemoryJournal, NewRun, Outcome, Owner, PlannedCall, SqliteJournal, Status,
};
use haft_policy::{Action, Rule, RuleScope};
use haft_sandbox::Launcher;
use rusqlite::Connection;
use serde_json::json;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// An input of the size that is usual.
const INPUT_BYTES: usize = 200;
/// Calls of a run that somebody resumes.
const RESUMED_ROWS: u32 = 10_000;
/// Calls that are made before and after each other in one turn.
const CALLS_A_TURN: u32 = 8;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [directory, rounds, rows] = arguments.as_slice() else {
        return Err("expected DIRECTORY ROUNDS ROWS".into());
    };
    let (directory, rounds, rows) = (Path::new(directory), rounds.parse()?, rows.parse()?);
    one_in_flight(directory, rounds).await?;
    for in_flight in [1, 16, 128] {
        many_in_flight(directory, rounds / 4, in_flight).await?;
    }
    long_run(directory, rounds, rows).await?;
    resumed(directory, (rounds / 20).max(2)).await
}

fn print(case: &str, entrant: &str, sample: Duration) {
    println!("{case}\t{entrant}\t{}", sample.as_nanos());
}

/// A journal with a run in it.
struct Journaled {
    journal: Arc<SqliteJournal>,
    scope: Scope,
    epoch: u64,
}

impl Journaled {
    async fn open(path: &Path) -> Result<Self, Failure> {
        let journal = Arc::new(SqliteJournal::open(path)?);
        let run = RunId::parse("measured")?;
        let new = NewRun {
            id: run.clone(),
            front_end: "bench".to_owned(),
            root: "/project".to_owned(),
            started_at_ms: 1,
            version: "0".to_owned(),
            settings: "{}".to_owned(),
        };
        let claim = Claim { owner: owner(), now_ms: 1, lasts_ms: 60_000 };
        let epoch = journal.open_run(new, claim).await?.epoch;
        Ok(Self { journal, scope: Scope::of_run(run), epoch })
    }

    /// Records one call from its intent to its end.
    async fn call(&self, seq: u32) -> Result<(), Failure> {
        let input = json!({"seq": seq, "text": "x".repeat(INPUT_BYTES)}).to_string();
        let key = CallKey::first(&self.scope, "order", &input);
        let planned = PlannedCall {
            id: CallId { scope: self.scope.clone(), seq },
            epoch: self.epoch,
            tool: "order".to_owned(),
            effect: Effect::Once,
            first_key: key,
            call_key: key,
            input,
            accesses: "[]".to_owned(),
            driver_call_id: None,
            started_at_ms: 1,
        };
        let intent = self.journal.intend(planned).await?;
        let envelope = Envelope::Output { data: "ok".into(), metadata: Metadata::default() };
        let outcome = Outcome { status: Status::Succeeded, envelope, finished_at_ms: 2 };
        Ok(self.journal.settle(intent, outcome).await?)
    }

    /// Records so many calls, `in_flight` of them at a time.
    async fn calls(
        self: &Arc<Self>,
        first: u32,
        count: u32,
        in_flight: u32,
    ) -> Result<(), Failure> {
        let mut workers = tokio::task::JoinSet::new();
        for worker in 0..in_flight {
            let journaled = Arc::clone(self);
            workers.spawn(async move {
                for seq in (first + worker..first + count).step_by(in_flight as usize) {
                    journaled.call(seq).await?;
                }
                Ok::<_, Failure>(())
            });
        }
        for ended in workers.join_all().await {
            ended?;
        }
        Ok(())
    }
}

fn owner() -> Owner {
    Owner { id: "bench".to_owned(), place: "a measurement".to_owned() }
}

/// The same database without anything around it: one table, rows of the same size.
struct Raw {
    db: Connection,
    next: i64,
}

impl Raw {
    fn open(path: &Path) -> Result<Self, Failure> {
        let db = Connection::open(path)?;
        db.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; \
             CREATE TABLE rows (id INTEGER PRIMARY KEY, intent TEXT NOT NULL, outcome TEXT) STRICT",
        )?;
        Ok(Self { db, next: 1 })
    }

    /// Commits so many rows together, and then their ends together.
    fn two_phases(&mut self, rows: u32) -> Result<(), Failure> {
        let first = self.next;
        self.next += i64::from(rows);
        let intent = "x".repeat(INPUT_BYTES + 250);
        let transaction = self.db.transaction()?;
        for id in first..self.next {
            transaction
                .prepare_cached("INSERT INTO rows (id, intent) VALUES (?1, ?2)")?
                .execute((id, &intent))?;
        }
        transaction.commit()?;
        let transaction = self.db.transaction()?;
        for id in first..self.next {
            transaction
                .prepare_cached("UPDATE rows SET outcome = ?2 WHERE id = ?1")?
                .execute((id, "x".repeat(80)))?;
        }
        Ok(transaction.commit()?)
    }
}

/// A runtime with one tool that does nothing and may not be repeated.
fn runtime(directory: &Path, journal: Arc<dyn Journal>) -> Result<Runtime, Failure> {
    let order = Tool::new("order")
        .effect(Effect::Once)
        .execute_with(|_: Order, _: Cx| async { Ok::<_, ToolError>("ok") });
    let roots = Roots::open(directory, &[])?;
    Ok(Runtime::new(RuntimeParts {
        registry: Registry::new([order])?,
        journal,
        variables: Variables { workspace: roots.paths(), ..Variables::default() },
        roots,
        requires: Default::default(),
        rules: vec![(RuleScope::Manifest, Rule::new("*", "*", Action::Allow))],
        limits: Limits::default(),
        allow_network: false,
        network_guard: Default::default(),
        sandbox: haft::Sandbox::system(),
        project_rules: None,
        watchdogs: Vec::new(),
        launcher: Launcher::new("haft".into()),
        environment: Vec::new(),
        sidecars: directory.join("sidecars"),
        clock: Arc::new(SystemClock),
        owner: owner(),
        is_gone: Arc::new(|_| None),
        snapshots: None,
        on_repeat: OnRepeat::Warn,
        settings: "{}".to_owned(),
    })?)
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[expect(dead_code, reason = "the tool does nothing with its input")]
struct Order {
    seq: u32,
    text: String,
}

fn order(seq: u32) -> Call {
    Call::new("order", json!({"seq": seq, "text": "x".repeat(INPUT_BYTES)}))
}

/// One call at a time: the journal alone, the whole call with and without it, and two bare commits.
async fn one_in_flight(directory: &Path, rounds: u32) -> Result<(), Failure> {
    let journaled = Journaled::open(&directory.join("one.sqlite")).await?;
    let mut raw = Raw::open(&directory.join("one-raw.sqlite"))?;
    let disk = Arc::new(SqliteJournal::open(directory.join("one-call.sqlite"))?);
    let with = runtime(directory, disk)?.session(SessionOptions::headless("with", "bench"))?;
    let memory = Arc::new(MemoryJournal::new());
    let without =
        runtime(directory, memory)?.session(SessionOptions::headless("without", "bench"))?;
    let run = RunId::parse("measured")?;
    let (with, without) = (with.run(run.clone()), without.run(run));
    for round in 0..rounds {
        let started = Instant::now();
        journaled.call(round + 1).await?;
        print("one in flight", "haft's journal", started.elapsed());
        let started = Instant::now();
        raw.two_phases(1)?;
        print("one in flight", "two bare commits", started.elapsed());
        let started = Instant::now();
        with.call(order(round)).await?;
        print("a whole call", "journal on disk", started.elapsed());
        let started = Instant::now();
        without.call(order(round)).await?;
        print("a whole call", "journal in memory", started.elapsed());
    }
    Ok(())
}

/// Many calls at a time, against the same number of rows that share their commits.
async fn many_in_flight(directory: &Path, rounds: u32, in_flight: u32) -> Result<(), Failure> {
    let case = format!("{in_flight} in flight, {CALLS_A_TURN} calls each");
    let journal = directory.join(format!("many-{in_flight}.sqlite"));
    let journaled = Arc::new(Journaled::open(&journal).await?);
    let mut raw = Raw::open(&directory.join(format!("many-raw-{in_flight}.sqlite")))?;
    let count = in_flight * CALLS_A_TURN;
    for round in 0..rounds {
        let started = Instant::now();
        journaled.calls(round * count + 1, count, in_flight).await?;
        print(&case, "haft's journal", started.elapsed() / count);
        let started = Instant::now();
        for _ in 0..CALLS_A_TURN {
            raw.two_phases(in_flight)?;
        }
        print(&case, "shared bare commits", started.elapsed() / count);
    }
    Ok(())
}

/// A call of a run that has many, beside one of a run that has few.
async fn long_run(directory: &Path, rounds: u32, rows: u32) -> Result<(), Failure> {
    let long = Arc::new(Journaled::open(&directory.join("long.sqlite")).await?);
    let short = Arc::new(Journaled::open(&directory.join("short.sqlite")).await?);
    long.calls(1, rows, 128).await?;
    for round in 0..rounds {
        let started = Instant::now();
        long.call(rows + round + 1).await?;
        print("a call of a long run", "after many calls", started.elapsed());
        let started = Instant::now();
        short.call(round + 1).await?;
        print("a call of a long run", "after few calls", started.elapsed());
    }
    Ok(())
}

/// From nothing to the first recalled answer of a run that is started over.
async fn resumed(directory: &Path, rounds: u32) -> Result<(), Failure> {
    let path = directory.join("resumed.sqlite");
    let id = RunId::parse("resumed")?;
    {
        let runtime = runtime(directory, Arc::new(SqliteJournal::open(&path)?))?;
        let session = runtime.session(SessionOptions::headless("first", "bench"))?;
        let run = session.run(id.clone());
        let mut calls = tokio::task::JoinSet::new();
        for seq in 0..RESUMED_ROWS {
            let run = run.clone();
            calls.spawn(async move { run.call(order(seq)).await });
            if calls.len() >= 128 {
                calls.join_next().await;
            }
        }
        calls.join_all().await;
        runtime.shut_down().await;
    }
    for round in 0..rounds {
        let started = Instant::now();
        let runtime = runtime(directory, Arc::new(SqliteJournal::open(&path)?))?;
        let session = runtime.session(SessionOptions::headless(format!("s{round}"), "bench"))?;
        let run = session.resume(id.clone(), Resume::Replay);
        let envelope = run.call(order(RESUMED_ROWS / 2)).await?;
        print("resume of 10,000 rows", "to the first recalled answer", started.elapsed());
        if !envelope.metadata().replayed {
            return Err("the call was executed again".into());
        }
        drop(run);
        runtime.shut_down().await;
    }
    Ok(())
}
