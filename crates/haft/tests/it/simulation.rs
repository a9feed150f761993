//! Many short histories of one journal, each from its seed: processes that begin runs, go on with them, retry them, hang
//! and die at any record and around any effect, under a clock that jumps both ways. Beside them a model that knows what
//! really happened. Nothing here is a real process or a real file; those are killed elsewhere.

mod dying;
mod model;
mod process;

use std::collections::BTreeSet;
use std::sync::Arc;

use haft::{ResumeMode, RunError, TaskAttempt};
use haft_contract::{Envelope, ErrorCode, RunId};
use haft_faults::SeededRandom;
use haft_journal::{CallQuery, CallStatus, Journal, JournalError, SettlementVerdict};
use serde_json::json;

use model::Model;
use process::{Process, World};

const HISTORIES: u64 = 300;
const PROCESSES: u64 = 10;
const RUNS: u64 = 2;

/// The calls of every attempt, in this order. Three are the same but for how often they were made.
const CALLS: [(&str, &str); 7] = [
    ("order", "milk"),
    ("look", "shelf"),
    ("order", "milk"),
    ("note", "list"),
    ("probed", "tea"),
    ("order", "milk"),
    ("look", "shelf"),
];

/// One history.
struct History {
    random: SeededRandom,
    world: Arc<World>,
    model: Model,
    attempts: [u32; RUNS as usize],
}

/// How a process came to its end.
enum End {
    /// All calls of the attempt were answered.
    Done,
    Died,
    /// Another process owns the run, or no process may take it any more.
    TurnedAway(JournalError),
}

#[tokio::test(start_paused = true)]
async fn whatever_happens_nothing_is_lost_or_silently_repeated() {
    let (mut in_doubt, mut deaths, mut fenced) = (0, 0, 0);
    for seed in 0..HISTORIES {
        let mut history = History::new(seed);
        if let Err(wrong) = history.unfold().await {
            panic!("history of seed {seed}: {wrong}");
        }
        in_doubt += history.model.in_doubt;
        deaths += history.model.deaths;
        fenced += history.model.fenced;
    }
    // The histories must reach each of these cases often enough.
    assert!(in_doubt > 50 && deaths > 500 && fenced > 20, "{in_doubt} {deaths} {fenced}");
}

impl History {
    fn new(seed: u64) -> Self {
        Self {
            random: SeededRandom::new(seed),
            world: Arc::default(),
            model: Model::default(),
            attempts: [1; RUNS as usize],
        }
    }

    async fn unfold(&mut self) -> Result<(), String> {
        for number in 0..PROCESSES {
            self.jump();
            let run = self.random.below(RUNS);
            if self.random.one_in(4) {
                self.attempts[run as usize] += 1;
            }
            let steps = if self.random.one_in(4) { u64::MAX } else { self.random.below(60) };
            let process = Process::start(&self.world, number, steps);
            if self.random.one_in(5) {
                self.hang_and_be_replaced(process, run, number).await?;
                continue;
            }
            if self.random.one_in(2) {
                // It may die in it.
                let _ = process.runtime.recover().await;
            }
            let end = self.live(&process, run).await?;
            self.end(process, &end).await;
        }
        self.close().await
    }

    /// A process that hangs in an effect while another one wants its run.
    async fn hang_and_be_replaced(
        &mut self,
        slow: Process,
        run: u64,
        number: u64,
    ) -> Result<(), String> {
        let key = slow.hang_at_next_effect();
        let handle = slow.handle(&self.run_id(run), ResumeMode::Continue);
        let call = slow.call_in(&handle, ("order", "slow"), self.place(run), None);
        let call = tokio::spawn(call);
        if !slow.hangs(&call).await {
            slow.die();
            self.model.deaths += 1;
            return Ok(());
        }
        let held_since = self.world.clock();
        self.jump();
        let quick = Process::start(&self.world, number + 1_000, u64::MAX);
        let end = self.live(&quick, run).await?;
        let was_held = matches!(&end, End::TurnedAway(JournalError::LeaseHeld { .. }));
        let is_over = self.world.lease_is_over(held_since);
        if was_held == is_over {
            return Err(format!("held: {was_held}, although over: {is_over}"));
        }
        key.release();
        let answer = call.await.map_err(|err| err.to_string())?;
        let is_fenced = match &answer {
            Some(Err(RunError::Journal(err))) => matches!(err, JournalError::Fenced { .. }),
            Some(Err(RunError::Unrecorded { source, .. })) => {
                matches!(**source, JournalError::Fenced { .. })
            }
            _ => false,
        };
        // The process that took the run may also have died in it, or lost it for good.
        let has_died = answer.is_none();
        if !has_died && is_fenced == was_held {
            return Err(format!("fenced: {is_fenced}, held: {was_held}: {answer:?}"));
        }
        if is_fenced {
            self.model.fenced += 1;
            let late = self.world.journal.late_outcomes(&self.run_id(run)).await;
            if !late.map_err(|err| err.to_string())?.iter().any(|late| late.tool == "order") {
                return Err("a late outcome was not kept".to_owned());
            }
        }
        slow.die();
        self.end(quick, &end).await;
        Ok(())
    }

    /// Makes the calls of the run's latest attempt, as a driver that starts over or one that names its calls.
    async fn live(&mut self, process: &Process, run: u64) -> Result<End, String> {
        // A driver names its calls, or it does not; it cannot change its mind within an attempt.
        let names = run % 2 == 1;
        let place = self.place(run);
        self.check_warning(process, run, &place).await?;
        'pass: loop {
            let resumed = process.handle(
                &self.run_id(run),
                if names { ResumeMode::Continue } else { ResumeMode::Replay },
            );
            for (number, call) in CALLS.into_iter().enumerate() {
                let name = names.then(|| format!("{number}"));
                let answer = process.call_in(&resumed, call, place.clone(), name).await;
                let envelope = match answer {
                    None => return Ok(End::Died),
                    Some(Ok(envelope)) => envelope,
                    Some(Err(RunError::Journal(
                        err @ (JournalError::LeaseHeld { .. } | JournalError::Stuck { .. }),
                    ))) => return Ok(End::TurnedAway(err)),
                    Some(Err(err)) => return Err(format!("{call:?}: {err}")),
                };
                if envelope.code() == Some(ErrorCode::InDoubt) {
                    self.settle(&envelope).await?;
                    continue 'pass;
                }
                self.model.answered((run, place.attempt, number), &envelope)?;
            }
            return Ok(End::Done);
        }
    }

    /// Settles a call in doubt, by the truth or to be repeated.
    async fn settle(&mut self, envelope: &Envelope) -> Result<(), String> {
        self.model.in_doubt += 1;
        let named = envelope.metadata().call_id.clone().unwrap_or_default();
        let rows = self.rows().await?;
        let row = rows.iter().find(|row| row.id().to_string() == named);
        let row = row.ok_or_else(|| format!("{named} is in doubt and has no row"))?;
        if row.status != CallStatus::Unknown {
            return Err(format!("{named} is answered IN_DOUBT and recorded as {}", row.status));
        }
        let happened = self.world.times(row, &rows) > 0;
        let verdict = match happened {
            _ if self.random.one_in(3) => SettlementVerdict::Retry,
            true => SettlementVerdict::Happened,
            false => SettlementVerdict::NotHappened,
        };
        if verdict == SettlementVerdict::Retry {
            self.model.allow(row);
        }
        self.world.settle(row.id(), verdict, json!("settled")).await
    }

    /// An attempt is warned exactly if an earlier one called a `once` tool and that may have happened.
    async fn check_warning(
        &self,
        process: &Process,
        run: u64,
        place: &TaskAttempt,
    ) -> Result<(), String> {
        let handle = process.handle(&self.run_id(run), ResumeMode::Continue);
        let Ok(warning) = handle.retry_warning(place).await else { return Ok(()) };
        let earlier = |row: &&haft_journal::CallRow| {
            row.scope.run == self.run_id(run)
                && row.scope.attempt < place.attempt
                && row.effect == haft_contract::Effect::Once
                && row.verdict != Some(SettlementVerdict::NotHappened)
        };
        let rows = self.rows().await?;
        let expected = rows.iter().filter(earlier).count();
        match (warning, expected) {
            (None, 0) => Ok(()),
            (Some(_), count) if count > 0 => Ok(()),
            (warning, count) => Err(format!("{count} earlier effects and the warning {warning:?}")),
        }
    }

    async fn end(&mut self, process: Process, end: &End) {
        match end {
            End::Died => self.model.deaths += 1,
            End::Done if self.random.one_in(3) => {}
            // Its steps may end in this, too.
            End::Done | End::TurnedAway(_) => process.runtime.shut_down().await,
        }
        process.die();
    }

    /// Lets every run come to its end, and compares the journal with the truth.
    async fn close(&mut self) -> Result<(), String> {
        for run in 0..RUNS {
            let process = Process::start(&self.world, 2_000 + run, u64::MAX);
            let recovered = process.runtime.recover().await;
            recovered.map_err(|err| err.to_string())?;
            match self.live(&process, run).await? {
                End::Done | End::TurnedAway(JournalError::Stuck { .. }) => {}
                End::Died => return Err("it cannot die".to_owned()),
                End::TurnedAway(err) => return Err(err.to_string()),
            }
            process.runtime.shut_down().await;
        }
        let rows = self.rows().await?;
        for row in &rows {
            let times = self.world.times(row, &rows);
            self.model.check(row, times, &rows)?;
        }
        let ids: BTreeSet<String> = rows.iter().map(|row| row.id().to_string()).collect();
        if let Some(stray) = self.world.effects().iter().find(|effect| !ids.contains(&effect.call))
        {
            return Err(format!("an effect without a row: {stray:?}"));
        }
        let findings = self.world.journal.verify().await.map_err(|err| err.to_string())?;
        if findings.is_empty() { Ok(()) } else { Err(format!("{findings:?}")) }
    }

    /// Time passes, or the clock is set: a little, or by hours in either direction.
    fn jump(&mut self) {
        let by_ms = match self.random.below(4) {
            0 => 7_200_000,
            1 => -7_200_000,
            _ => i64::try_from(self.random.below(5_000)).unwrap_or_default(),
        };
        self.world.jump(by_ms);
    }

    fn run_id(&self, run: u64) -> RunId {
        RunId::parse(&format!("run{run}")).unwrap()
    }

    fn place(&self, run: u64) -> TaskAttempt {
        TaskAttempt { attempt: self.attempts[run as usize], ..TaskAttempt::default() }
    }

    async fn rows(&self) -> Result<Vec<haft_journal::CallRow>, String> {
        self.world.journal.calls(CallQuery::default()).await.map_err(|err| err.to_string())
    }
}
