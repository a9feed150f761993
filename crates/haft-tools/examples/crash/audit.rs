//! Compares what the journal says with what really happened and with what was acknowledged, after a worker died or at the
//! end. It only looks: nothing is recovered, settled or opened for a run here.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use haft_journal::{
    CallQuery, CallRow, CallStatus, Journal, SettledBy, SettlementVerdict, SqliteJournal,
};

use crate::Failure;
use crate::counts::Counts;
use crate::heard::Heard;
use crate::recorded::{Findings, Recorded};
use crate::script::{Commands, Files, Kind, Lane, RunScript, Step};
use crate::snapshots;
use crate::worker::digest;
use crate::world::{World, count_lines, files_of};

/// The findings of an audit that the next audit of the same world needs.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// Calls that were open when a worker was dead.
    open: BTreeSet<String>,
    /// The idempotency keys of all calls that have a row.
    keys: BTreeSet<String>,
    /// Runs that were complete, and complete forever.
    complete: BTreeSet<u32>,
    /// Calls whose snapshots were looked at.
    recorded: BTreeSet<String>,
}

/// How much of a run has to be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// As much as was made before the worker died.
    SoFar,
    /// All of it, nothing open.
    Whole,
}

/// One look at one world.
pub(crate) struct Audit<'a> {
    pub(crate) world: &'a World,
    pub(crate) seed: u64,
    pub(crate) commands: Commands,
    pub(crate) heard: &'a Heard,
    pub(crate) known: &'a mut Known,
    pub(crate) counts: &'a mut Counts,
    pub(crate) wrong: Vec<String>,
}

/// The effects that really happened, by idempotency key.
struct Truth {
    ledger: BTreeMap<String, u64>,
    notes: BTreeMap<String, u64>,
    retries: BTreeMap<String, u64>,
}

/// The rows of a lane, those of each step together.
struct LaneRows<'a> {
    lane: &'a Lane,
    by_step: Vec<Vec<&'a CallRow>>,
    /// The effects of its commands.
    log: BTreeMap<String, u64>,
}

impl Audit<'_> {
    /// Looks at these runs, of which the last one is the latest.
    pub(crate) async fn look(&mut self, runs: &[u32], extent: Extent) -> Result<(), Failure> {
        let journal = SqliteJournal::open(self.world.journal())?;
        let truth = Truth {
            ledger: count_lines(&self.world.ledger())?,
            notes: count_lines(&self.world.notes())?,
            retries: count_lines(&self.world.retries())?,
        };
        let mut open = BTreeSet::new();
        for &number in runs {
            if self.known.complete.contains(&number) {
                continue;
            }
            let script = RunScript::of(self.seed, number, self.commands)?;
            let rows = journal.calls(CallQuery::of_run(script.id.clone())).await?;
            self.check_run(&script, &rows, &truth)?;
            self.check_acks(number, &rows)?;
            self.check_fates(&rows);
            self.check_recorded(number, (&script, &rows)).await?;
            let still = rows.iter().filter(|row| row.status == CallStatus::Intended);
            open.extend(still.map(|row| row.id().to_string()));
            if extent == Extent::Whole {
                self.known.complete.insert(number);
                self.check_whole(&script, &rows);
            }
        }
        self.known.open.extend(open);
        Ok(())
    }

    /// Looks for effects that none of the runs looked at has a row for.
    pub(crate) fn look_for_strays(&mut self) -> Result<(), Failure> {
        for key in count_lines(&self.world.ledger())?.into_keys() {
            if !self.known.keys.contains(&key) {
                self.wrong.push(format!("an effect without a row: {key}"));
            }
        }
        Ok(())
    }

    /// Looks whether the journal is sound, and at the end whether anybody still holds a run.
    pub(crate) async fn look_at_journal(&mut self, extent: Extent) -> Result<(), Failure> {
        let journal = SqliteJournal::open(self.world.journal())?;
        let findings = journal.verify().await?;
        self.wrong.extend(findings.iter().map(|it| format!("{}: {}", it.rule, it.detail)));
        let holders = journal.lease_holders().await?;
        if extent == Extent::Whole && !holders.is_empty() {
            self.wrong.push(format!("not given back at the end: {holders:?}"));
        }
        Ok(())
    }

    /// Undoes the recorded changes of these runs. No worker makes their calls any more.
    pub(crate) async fn undo(&mut self, runs: &[u32]) -> Result<(), Failure> {
        if !snapshots::are_in(self.seed) {
            return Ok(());
        }
        let recorded = Recorded::of(self.world)?;
        let journal = SqliteJournal::open(self.world.journal())?;
        for &number in runs {
            let script = RunScript::of(self.seed, number, self.commands)?;
            let rows = journal.calls(CallQuery::of_run(script.id.clone())).await?;
            recorded.undo(&script, &rows, &mut self.findings()).await?;
        }
        Ok(())
    }

    async fn check_recorded(
        &mut self,
        number: u32,
        (script, rows): (&RunScript, &[CallRow]),
    ) -> Result<(), Failure> {
        if !snapshots::are_in(self.seed) {
            return Ok(());
        }
        let heard = (number, self.heard);
        let recorded = Recorded::of(self.world)?;
        recorded.look(script, rows, heard, &mut self.findings()).await
    }

    fn findings(&mut self) -> Findings<'_> {
        Findings {
            counts: self.counts,
            wrong: &mut self.wrong,
            looked_at: &mut self.known.recorded,
        }
    }

    fn check_run(
        &mut self,
        script: &RunScript,
        rows: &[CallRow],
        truth: &Truth,
    ) -> Result<(), Failure> {
        let steps = script.lanes.iter().flat_map(|lane| &lane.steps);
        let keys: BTreeSet<String> = steps.map(|step| step.key.to_string()).collect();
        for row in rows.iter().filter(|row| !keys.contains(&row.call_key)) {
            self.wrong.push(format!("nobody makes a call of this key: {row:?}"));
        }
        for lane in &script.lanes {
            let mut by_key: HashMap<&str, Vec<&CallRow>> = HashMap::new();
            for row in rows {
                by_key.entry(&row.call_key).or_default().push(row);
            }
            let rows_of = |step: &Step| {
                by_key.get(step.key.to_string().as_str()).cloned().unwrap_or_default()
            };
            let by_step = lane.steps.iter().map(rows_of).collect();
            let log = count_lines(&self.world.workspace().join(&lane.log))?;
            let lane = LaneRows { lane, by_step, log };
            self.check_lane(&lane, truth);
            self.check_files(&lane)?;
        }
        Ok(())
    }

    fn check_lane(&mut self, rows: &LaneRows<'_>, truth: &Truth) {
        let all = rows.by_step.iter().flatten();
        let open = all.filter(|row| row.status == CallStatus::Intended).count();
        if open > 1 {
            self.wrong.push(format!("{open} intents of {} are open", rows.lane.scope.node));
        }
        let position = rows.position();
        for (step, (of_step, script)) in rows.by_step.iter().zip(&rows.lane.steps).enumerate() {
            if step > position && !of_step.is_empty() {
                self.wrong.push(format!("made before its time: {of_step:?}"));
            }
            if !of_step.is_empty() {
                self.known.keys.insert(script.key.idempotency_key());
            }
            self.check_step(rows, (script, of_step), truth);
        }
    }

    fn check_step(
        &mut self,
        lane: &LaneRows<'_>,
        (step, rows): (&Step, &[&CallRow]),
        truth: &Truth,
    ) {
        let key = step.key.idempotency_key();
        let times = |counts: &BTreeMap<String, u64>| counts.get(&key).copied().unwrap_or_default();
        let count = match step.kind {
            Kind::Order | Kind::Probed => times(&truth.ledger),
            Kind::Bash => times(&lane.log),
            Kind::Note => times(&truth.notes),
            Kind::Read | Kind::Files | Kind::Refused => return self.check_plain(step, rows),
        };
        let allowed = if step.kind == Kind::Note { u64::MAX } else { 1 + times(&truth.retries) };
        if count > allowed {
            self.wrong.push(format!("{count} times instead of at most {allowed}: {rows:?}"));
        }
        let Some(last) = rows.last() else {
            if count > 0 {
                self.wrong.push(format!("an effect without a row: {step:?}"));
            }
            return;
        };
        let fits = match (last.status, last.verdict) {
            (CallStatus::Succeeded, _) => count > 0,
            (CallStatus::Failed, Some(SettlementVerdict::NotHappened)) => {
                count == 0 || times(&truth.retries) > 0 || step.kind == Kind::Note
            }
            // A command whose processes were killed.
            (CallStatus::Failed, None) => step.kind == Kind::Bash,
            (CallStatus::Failed | CallStatus::Refused, _) => false,
            (CallStatus::Intended | CallStatus::Unknown, _) => true,
        };
        if !fits {
            self.wrong.push(format!("happened {count} times, and the row says {last:?}"));
        }
        if last.status == CallStatus::Intended {
            let effect = if count > 0 { "had happened" } else { "had not happened" };
            self.counts.add(&format!("open after a kill: {}, {effect}", step.tool));
        }
    }

    /// Checks what leaves no trace but its row, or one that is looked at elsewhere.
    fn check_plain(&mut self, step: &Step, rows: &[&CallRow]) {
        let Some(last) = rows.last() else { return };
        let fits = match (step.kind, last.status, last.verdict) {
            (Kind::Refused, CallStatus::Refused, _) => true,
            (Kind::Refused, _, _) => false,
            (_, CallStatus::Succeeded | CallStatus::Intended, _) => true,
            (Kind::Files, CallStatus::Failed, Some(SettlementVerdict::NotHappened)) => true,
            (Kind::Files, CallStatus::Unknown, None) => {
                // A worker has not yet looked at the files.
                self.counts.add("changes of files met before they were looked at");
                true
            }
            (_, _, _) => false,
        };
        if !fits {
            self.wrong.push(format!("cannot end like this: {last:?}"));
        }
        let settled = last.settled_by.is_some() || rows.iter().any(|row| row.settled_by.is_some());
        if settled && last.settled_by == Some(SettledBy::Operator) {
            self.wrong.push(format!("a change of files had to be settled by hand: {last:?}"));
        }
    }

    fn check_files(&mut self, rows: &LaneRows<'_>) -> Result<(), Failure> {
        let lane = rows.lane;
        let (found, _) = files_of(&self.world.workspace().join(&lane.directory))?;
        let position = rows.position();
        let before = lane.files_before(position);
        let next = lane.steps.get(position).filter(|step| step.kind == Kind::Files);
        let last = rows.by_step.get(position).and_then(|rows| rows.last());
        let is_open =
            |row: &&&CallRow| matches!(row.status, CallStatus::Intended | CallStatus::Unknown);
        match (next, last.filter(is_open)) {
            (Some(step), Some(row)) => self.check_half_done(&found, (&before, &step.files), row),
            _ if found == before => {}
            _ => self.wrong.push(format!(
                "files of {} are not as after step {position}: {}",
                lane.directory,
                difference(&before, &found)
            )),
        }
        Ok(())
    }

    /// Checks files in the middle of a change: each is as before or as after.
    fn check_half_done(&mut self, found: &Files, ends: (&Files, &Files), row: &CallRow) {
        let (before, after) = ends;
        let names: BTreeSet<&String> =
            found.keys().chain(before.keys()).chain(after.keys()).collect();
        let changed = names.iter().filter(|name| before.get(**name) != after.get(**name));
        let (mut done, mut left) = (0, 0);
        for name in changed.copied() {
            match found.get(name) {
                content if content == after.get(name) => done += 1,
                content if content == before.get(name) => left += 1,
                _ => self.wrong.push(format!("{name} is neither old nor new: {row:?}")),
            }
        }
        let how = match (done, left) {
            (0, _) => "not begun",
            (_, 0) => "complete",
            _ => "between two files",
        };
        self.counts.add(&format!("open after a kill: change of files, {how}"));
    }

    /// Checks that what was acknowledged is recorded, as it was said.
    fn check_acks(&mut self, number: u32, rows: &[CallRow]) -> Result<(), Failure> {
        let by_id: HashMap<String, &CallRow> =
            rows.iter().map(|row| (row.id().to_string(), row)).collect();
        for ack in self.heard.of_run(number) {
            let Some(row) = by_id.get(&ack.call) else {
                self.wrong.push(format!("acknowledged and lost: {ack:?}"));
                continue;
            };
            let status = match ack.code.as_str() {
                "OK" => CallStatus::Succeeded,
                "TOOL_NOT_FOUND" => CallStatus::Refused,
                // A command that was killed.
                _ => CallStatus::Failed,
            };
            let answer = row.parsed_envelope()?.map(|envelope| digest(&envelope));
            if row.status != status || answer.as_ref() != Some(&ack.digest) {
                self.wrong.push(format!("acknowledged as {ack:?} and recorded as {row:?}"));
            }
        }
        Ok(())
    }

    /// Checks that a call that was open when its worker died got its outcome from a later worker.
    fn check_fates(&mut self, rows: &[CallRow]) {
        for row in rows {
            let call = row.id().to_string();
            if !self.known.open.contains(&call) {
                continue;
            }
            let is_decided = matches!(
                row.status,
                CallStatus::Succeeded | CallStatus::Failed | CallStatus::Refused
            );
            if is_decided && row.settled_by.is_none() {
                self.wrong.push(format!("it was open when its process was dead, and is {row:?}"));
            }
            if let (Some(by), Some(verdict)) = (row.settled_by, row.verdict) {
                self.known.open.remove(&call);
                self.counts.add(&format!("found out: {} by {by}, {verdict}", row.tool));
            }
        }
    }

    fn check_whole(&mut self, script: &RunScript, rows: &[CallRow]) {
        for row in rows.iter().filter(|row| row.status == CallStatus::Intended) {
            self.wrong.push(format!("open in a complete run: {row:?}"));
        }
        for lane in &script.lanes {
            for step in &lane.steps {
                let key = step.key.to_string();
                let last = rows.iter().rev().find(|row| row.call_key == key);
                let is_settled = last.is_some_and(has_ended);
                if !is_settled {
                    self.wrong.push(format!("not settled in a complete run: {step:?} {last:?}"));
                }
            }
        }
    }
}

impl LaneRows<'_> {
    /// Returns the first step that is not settled.
    fn position(&self) -> usize {
        let is_settled = |rows: &Vec<&CallRow>| rows.last().is_some_and(|row| has_ended(row));
        self.by_step.iter().take_while(|rows| is_settled(rows)).count()
    }
}

/// Returns whether nothing is left to be done about a call.
fn has_ended(row: &CallRow) -> bool {
    match (row.status, row.verdict) {
        (CallStatus::Succeeded | CallStatus::Refused, _) | (CallStatus::Failed, None) => true,
        (CallStatus::Failed, Some(_)) | (CallStatus::Intended | CallStatus::Unknown, _) => false,
    }
}

fn difference(expected: &Files, found: &Files) -> String {
    let heads = |files: &Files| {
        let head = |(name, content): (&String, &String)| {
            format!("{name}: {:?} of {} bytes", content.lines().next(), content.len())
        };
        files.iter().map(head).collect::<Vec<_>>().join(", ")
    };
    format!("expected {}; found {}", heads(expected), heads(found))
}
