//! The records of a plan of that size, written to the journal by a plain loop: an intent and an outcome for each node, so
//! many at the same time. And as many bare commits to the same kind of database.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use haft_contract::{AttemptAddress, CallAddress, CallKey, Envelope, EnvelopeMetadata, RunId};
use haft_journal::{CallStatus, Journal, LeaseOwner, LeaseRequest, NewRun, Outcome, PlannedCall};
use rusqlite::Connection;
use serde_json::json;
use tokio::task::JoinSet;

use crate::{Failure, Work};

/// Records as many calls as the plan has nodes, and returns how long that took.
pub(crate) async fn recorded(
    journal: &Arc<dyn Journal>,
    work: &Work,
    at_once: NonZeroUsize,
) -> Result<Duration, Failure> {
    let run = RunId::parse(&format!("bare-{}-{}-{}", work.shape, work.tool, work.size))?;
    let epoch = opened(journal, &run).await?;
    let next = Arc::new(AtomicUsize::new(0));
    let started = Instant::now();
    let mut tasks = JoinSet::new();
    for _ in 0..at_once.get() {
        let (journal, next, run) = (Arc::clone(journal), Arc::clone(&next), run.clone());
        let (tool, effect, size) = (work.tool, work.effect(), work.size);
        tasks.spawn(async move {
            loop {
                let node = next.fetch_add(1, Ordering::Relaxed);
                if node >= size {
                    return Ok::<(), Failure>(());
                }
                let planned =
                    PlannedCall { effect, fencing_token: epoch, ..planned(&run, tool, node) };
                let intent = journal.intend(planned).await?;
                journal.settle(intent, outcome()).await?;
            }
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended??;
    }
    Ok(started.elapsed())
}

async fn opened(journal: &Arc<dyn Journal>, run: &RunId) -> Result<u64, Failure> {
    let new = NewRun {
        id: run.clone(),
        front_end: "bench".to_owned(),
        root: String::new(),
        started_at_ms: 1,
        version: String::new(),
        settings: "{}".to_owned(),
    };
    let owner = LeaseOwner { id: "bare".to_owned(), location: "a measurement".to_owned() };
    let claim = LeaseRequest { owner, now_ms: 1, lasts_ms: 60_000 };
    Ok(journal.open_run(new, claim).await?.fencing_token)
}

fn planned(run: &RunId, tool: &str, node: usize) -> PlannedCall {
    let scope =
        AttemptAddress { run: run.clone(), node: format!("n{node}"), iteration: 0, attempt: 1 };
    let input = json!({"number": node}).to_string();
    let key = CallKey::of_first_call(&scope, tool, &input);
    PlannedCall {
        id: CallAddress { scope, seq: 1 },
        fencing_token: 1,
        tool: tool.to_owned(),
        effect: haft_contract::Effect::Read,
        first_key: key,
        call_key: key,
        input,
        accesses: "[]".to_owned(),
        driver_call_id: None,
        started_at_ms: 1,
        announces_effects: false,
    }
}

fn outcome() -> Outcome {
    let envelope = Envelope::Output { data: json!("ok"), metadata: EnvelopeMetadata::default() };
    Outcome { status: CallStatus::Succeeded, envelope, finished_at_ms: 2 }
}

/// Makes two bare commits for each node, one after the other: a row, and then its outcome.
pub(crate) fn committed(directory: &Path, work: &Work) -> Result<Duration, Failure> {
    let path = directory.join("bare.sqlite");
    let db = Connection::open(&path)?;
    db.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; DROP TABLE IF EXISTS rows; \
         CREATE TABLE rows (id INTEGER PRIMARY KEY, intent TEXT NOT NULL, outcome TEXT) STRICT",
    )?;
    let mut insert = db.prepare("INSERT INTO rows (id, intent) VALUES (?1, ?2)")?;
    let mut update = db.prepare("UPDATE rows SET outcome = ?2 WHERE id = ?1")?;
    // As many bytes as the texts of such a call have.
    let run = RunId::parse("bare")?;
    let planned = planned(&run, work.tool, work.size);
    let intent = [&*planned.input, &*planned.call_key.to_string(), work.tool].concat().repeat(2);
    let outcome = serde_json::to_string(&outcome().envelope)?;
    let started = Instant::now();
    for id in 0..i64::try_from(work.size)? {
        insert.execute((id, &intent))?;
        update.execute((id, &outcome))?;
    }
    Ok(started.elapsed())
}
