//! Measures what journaling costs, beside the least that the same database can do. Entrants take turns in one process. It
//! prints one sample a line, `case<TAB>entrant<TAB>nanoseconds`, and judges nothing.
//!
//! Arguments: DIRECTORY (to work in), ROUNDS, ROWS (calls that a long run has), and perhaps the one PART to measure:
//! `one`, `many`, `long` or `resumed`.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use haft::{
    Call, ConnectionOptions, Registry, ResumeMode, Runtime, RuntimeParts, SystemClock,
    WorkspaceRoots,
};
use haft_contract::{
    AttemptAddress, CallAddress, CallKey, Cx, Effect, Envelope, EnvelopeMetadata, RunId, Tool,
    ToolError,
};
use haft_journal::limits::COMMIT_ENTRIES_MAX;
use haft_journal::{
    CallStatus, Journal, LeaseOwner, LeaseRequest, MemoryJournal, NewRun, Outcome, PlannedCall,
    SqliteJournal,
};
use haft_policy::{Rule, RuleAction, RuleScope};
use rusqlite::Connection;
use serde_json::json;
use tokio::sync::{mpsc, oneshot};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// An input of the size that is usual.
const INPUT_BYTES: usize = 200;
/// The number of calls in the run that is resumed.
const RESUMED_ROWS: u32 = 10_000;
/// Calls that are made before and after each other in one turn.
const CALLS_A_TURN: u32 = 8;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [directory, rounds, rows, only @ ..] = arguments.as_slice() else {
        return Err("expected DIRECTORY ROUNDS ROWS [PART]".into());
    };
    let (directory, rounds, rows) = (Path::new(directory), rounds.parse()?, rows.parse()?);
    let is_asked = |part: &str| only.is_empty() || only.iter().any(|only| only == part);
    if is_asked("one") {
        one_in_flight(directory, rounds).await?;
    }
    if is_asked("many") {
        for in_flight in [1, 16, 128] {
            many_in_flight(directory, rounds / 4, in_flight).await?;
        }
    }
    if is_asked("long") {
        long_run(directory, rounds, rows).await?;
    }
    if is_asked("resumed") {
        resumed(directory, (rounds / 20).max(2)).await?;
    }
    Ok(())
}

fn print(case: &str, entrant: &str, sample: Duration) {
    println!("{case}\t{entrant}\t{}", sample.as_nanos());
}

/// A journal with a run in it.
struct Journaled {
    journal: Arc<SqliteJournal>,
    scope: AttemptAddress,
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
        let claim = LeaseRequest { owner: owner(), now_ms: 1, lasts_ms: 60_000 };
        let epoch = journal.open_run(new, claim).await?.fencing_token;
        Ok(Self { journal, scope: AttemptAddress::first_of_run(run), epoch })
    }

    /// Returns the call of that number, ready to be recorded.
    fn planned(&self, seq: u32) -> PlannedCall {
        let input = json!({"seq": seq, "text": "x".repeat(INPUT_BYTES)}).to_string();
        let key = CallKey::of_first_call(&self.scope, "order", &input);
        PlannedCall {
            id: CallAddress { scope: self.scope.clone(), seq },
            fencing_token: self.epoch,
            tool: "order".to_owned(),
            effect: Effect::Once,
            first_key: key,
            call_key: key,
            input,
            accesses: "[]".to_owned(),
            driver_call_id: None,
            started_at_ms: 1,
            announces_effects: false,
        }
    }

    /// Records one call from its intent to its end.
    async fn record(&self, call: PlannedCall) -> Result<(), Failure> {
        let intent = self.journal.intend(call).await?;
        let outcome =
            Outcome { status: CallStatus::Succeeded, envelope: answer(), finished_at_ms: 2 };
        Ok(self.journal.settle(intent, outcome).await?)
    }
}

fn answer() -> Envelope {
    Envelope::Output { data: "ok".into(), metadata: EnvelopeMetadata::default() }
}

/// Lets each task take one share of the work, and returns how long all of them took.
async fn shared<W, R>(
    shares: Vec<Vec<W>>,
    work: impl Fn(W) -> R + Clone + Send + 'static,
) -> Result<Duration, Failure>
where
    W: Send + 'static,
    R: Future<Output = Result<(), Failure>> + Send,
{
    let started = Instant::now();
    let mut workers = tokio::task::JoinSet::new();
    for share in shares {
        let work = work.clone();
        workers.spawn(async move {
            for item in share {
                work(item).await?;
            }
            Ok::<_, Failure>(())
        });
    }
    for ended in workers.join_all().await {
        ended?;
    }
    Ok(started.elapsed())
}

/// Deals so many numbers out to `tasks`, which then go through them side by side.
fn shares<W>(first: u32, count: u32, tasks: u32, make: impl Fn(u32) -> W) -> Vec<Vec<W>> {
    let share = |task| (first + task..first + count).step_by(tasks as usize).map(&make).collect();
    (0..tasks).map(share).collect()
}

fn owner() -> LeaseOwner {
    LeaseOwner { id: "bench".to_owned(), location: "a measurement".to_owned() }
}

/// The same database without anything around it: one table, rows of the same size.
struct Raw {
    db: Connection,
    next: i64,
}

const RAW_INSERT: &str = "INSERT INTO rows (id, intent) VALUES (?1, ?2)";
const RAW_UPDATE: &str = "UPDATE rows SET outcome = ?2 WHERE id = ?1";

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
        let (intent, outcome) = raw_texts();
        for (text, statement) in [(intent, RAW_INSERT), (outcome, RAW_UPDATE)] {
            let transaction = self.db.transaction()?;
            for id in first..self.next {
                transaction.prepare_cached(statement)?.execute((id, &text))?;
            }
            transaction.commit()?;
        }
        Ok(())
    }
}

/// Returns an intent and an outcome with as many bytes as the texts of a recorded call have.
fn raw_texts() -> (String, String) {
    let scope = AttemptAddress::first_of_run(RunId::parse("measured").expect("it is an id"));
    let key = CallKey::of_first_call(&scope, "order", "").to_string();
    let input = json!({"seq": 10_000, "text": "x".repeat(INPUT_BYTES)}).to_string();
    let words = [scope.run.as_str(), &scope.node, "order", "once", "intended", "[]"].concat();
    let outcome = serde_json::to_string(&answer()).expect("an envelope is JSON");
    ([&input, &key, &key, &words].map(String::as_str).concat(), outcome)
}

/// The raw limit of group commit. Each writer gives its row to one thread and waits; the thread commits all waiting
/// rows together.
struct Group {
    queue: mpsc::Sender<Change>,
    thread: std::thread::JoinHandle<rusqlite::Result<()>>,
}

/// One half of a row on its way.
struct Change {
    id: u32,
    text: String,
    statement: RawStatement,
    committed: oneshot::Sender<()>,
}

#[derive(Clone, Copy)]
enum RawStatement {
    Insert,
    Update,
}

impl Group {
    fn open(path: &Path) -> Result<Self, Failure> {
        let Raw { db, .. } = Raw::open(path)?;
        let (queue, changes) = mpsc::channel(1_024);
        let thread = std::thread::spawn(move || commit_together(&db, changes));
        Ok(Self { queue, thread })
    }

    async fn write(
        queue: &mpsc::Sender<Change>,
        id: u32,
        text: String,
        statement: RawStatement,
    ) -> Result<(), Failure> {
        let (committed, answer) = oneshot::channel();
        queue.send(Change { id, text, statement, committed }).await.map_err(|_| "no writer")?;
        Ok(answer.await?)
    }

    /// Writes a row and then its end.
    async fn two_phases(
        queue: mpsc::Sender<Change>,
        (id, (intent, outcome)): (u32, (String, String)),
    ) -> Result<(), Failure> {
        Self::write(&queue, id, intent, RawStatement::Insert).await?;
        Self::write(&queue, id, outcome, RawStatement::Update).await
    }

    fn close(self) -> Result<(), Failure> {
        drop(self.queue);
        Ok(self.thread.join().map_err(|_| "the writer panicked")??)
    }
}

fn commit_together(db: &Connection, mut changes: mpsc::Receiver<Change>) -> rusqlite::Result<()> {
    let (mut begin, mut commit) = (db.prepare("BEGIN IMMEDIATE")?, db.prepare("COMMIT")?);
    let (mut insert, mut update) = (db.prepare(RAW_INSERT)?, db.prepare(RAW_UPDATE)?);
    let mut batch = Vec::new();
    while changes.blocking_recv_many(&mut batch, COMMIT_ENTRIES_MAX) > 0 {
        begin.execute([])?;
        for Change { id, text, statement, .. } in &batch {
            match statement {
                RawStatement::Insert => insert.execute((id, text))?,
                RawStatement::Update => update.execute((id, text))?,
            };
        }
        commit.execute([])?;
        for change in batch.drain(..) {
            // The receiver may have been dropped.
            let _ = change.committed.send(());
        }
    }
    Ok(())
}

/// A runtime with one tool that does nothing and may not be repeated.
fn runtime(directory: &Path, journal: Arc<dyn Journal>) -> Result<Runtime, Failure> {
    let order = Tool::new("order")
        .effect(Effect::Once)
        .execute_with(|_: Order, _: Cx| async { Ok::<_, ToolError>("ok") });
    let roots = WorkspaceRoots::open(directory, &[])?;
    Ok(Runtime::new(RuntimeParts {
        registry: Registry::new([order])?,
        rules: vec![(RuleScope::Manifest, Rule::new("*", "*", RuleAction::Allow))],
        ..RuntimeParts::new(
            journal,
            roots,
            directory.join("sidecars"),
            Arc::new(SystemClock),
            owner(),
        )
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
    let with =
        runtime(directory, disk)?.open_connection(ConnectionOptions::headless("with", "bench"))?;
    let memory = Arc::new(MemoryJournal::new());
    let without = runtime(directory, memory)?
        .open_connection(ConnectionOptions::headless("without", "bench"))?;
    let run = RunId::parse("measured")?;
    let (with, without) = (with.run(run.clone()), without.run(run));
    for round in 0..rounds {
        let call = journaled.planned(round + 1);
        let started = Instant::now();
        journaled.record(call).await?;
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

/// Measures many calls at a time: through the journal, through a minimal thread that commits together, and as rows that
/// share commits in lock step without any waiting.
async fn many_in_flight(directory: &Path, rounds: u32, in_flight: u32) -> Result<(), Failure> {
    let case = format!("{in_flight} in flight, {CALLS_A_TURN} calls each");
    let path = |name| directory.join(format!("many-{name}-{in_flight}.sqlite"));
    let journaled = Arc::new(Journaled::open(&path("journal")).await?);
    let group = Group::open(&path("group"))?;
    let mut raw = Raw::open(&path("raw"))?;
    let count = in_flight * CALLS_A_TURN;
    for round in 0..rounds {
        let first = round * count + 1;
        let calls = shares(first, count, in_flight, |seq| journaled.planned(seq));
        let recorder = Arc::clone(&journaled);
        let record = move |call| {
            let journaled = Arc::clone(&recorder);
            async move { journaled.record(call).await }
        };
        print(&case, "haft's journal", shared(calls, record).await? / count);
        let rows = shares(first, count, in_flight, |id| (id, raw_texts()));
        let queue = group.queue.clone();
        let write = move |row| Group::two_phases(queue.clone(), row);
        print(&case, "raw group commit", shared(rows, write).await? / count);
        let started = Instant::now();
        for _ in 0..CALLS_A_TURN {
            raw.two_phases(in_flight)?;
        }
        print(&case, "bare commits in lock step", started.elapsed() / count);
    }
    group.close()
}

/// A call of a run that has many, beside one of a run that has few.
async fn long_run(directory: &Path, rounds: u32, rows: u32) -> Result<(), Failure> {
    let long = Arc::new(Journaled::open(&directory.join("long.sqlite")).await?);
    let short = Arc::new(Journaled::open(&directory.join("short.sqlite")).await?);
    let recorder = Arc::clone(&long);
    let record = move |seq| {
        let journaled = Arc::clone(&recorder);
        async move { journaled.record(journaled.planned(seq)).await }
    };
    shared(shares(1, rows, 128, |seq| seq), record).await?;
    for round in 0..rounds {
        let call = long.planned(rows + round + 1);
        let started = Instant::now();
        long.record(call).await?;
        print("a call of a long run", "after many calls", started.elapsed());
        let call = short.planned(round + 1);
        let started = Instant::now();
        short.record(call).await?;
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
        let session = runtime.open_connection(ConnectionOptions::headless("first", "bench"))?;
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
        let session =
            runtime.open_connection(ConnectionOptions::headless(format!("s{round}"), "bench"))?;
        let run = session.resume(id.clone(), ResumeMode::Replay);
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
