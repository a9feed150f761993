//! Compares the results of the workers with a world in which no worker was killed.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;

use haft::{AskKind, ShownAsk};
use haft_faults::crash::{CrashScenario, CrashTestError, FinishedWorld};
use haft_journal::{
    AskJournal as _, AskQuery, AskState, CallQuery, CallStatus, Journal as _, SqliteJournal,
};
use haft_plan::drive::PERSON_NODE_TOOL;

use crate::script::World;
use crate::worker;

/// The scenario, with what was counted over all worlds.
#[derive(Default)]
pub(crate) struct Plans {
    recalled: u64,
    happened: u64,
    not_happened: u64,
    asks: AskCounts,
}

/// The asks of all worlds, by how they ended.
#[derive(Default)]
struct AskCounts {
    received: u64,
    unreceived: u64,
    withdrawn: u64,
}

impl CrashScenario for Plans {
    const NAME: &'static str = "plans";
    const PROGRESS_PREFIX: &'static str = "made ";

    async fn work(world: PathBuf, life: u64) -> Result<(), CrashTestError> {
        worker::work(World(world), life).await
    }

    fn audit(&mut self, seen: &FinishedWorld<'_>) -> Result<(), CrashTestError> {
        let mut made = BTreeSet::new();
        for line in seen.lines {
            match line.split(' ').collect::<Vec<_>>().as_slice() {
                ["made", node, "succeeded"] if !made.insert(*node) => {
                    return Err(format!("node {node} was made twice").into());
                }
                ["recalled", ..] => self.recalled += 1,
                ["settled", _, "true"] => self.happened += 1,
                ["settled", _, "false"] => self.not_happened += 1,
                _ => {}
            }
        }
        let world = World::at(seen.world);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(self.check_asks(&world))?;
        compare(&World::at(seen.undisturbed), &world)
    }

    fn summary(&self) -> String {
        let Self { recalled, happened, not_happened, asks } = self;
        let AskCounts { received, unreceived, withdrawn } = asks;
        format!(
            "{recalled} answers recalled, in doubt {happened} calls that had happened and {not_happened} that had not, \
             {received} answers of persons received, {unreceived} lost with their process, {withdrawn} asks withdrawn"
        )
    }
}

impl Plans {
    /// Fails if a question has an outcome without an answer that its process received, or two outcomes, or waits still.
    async fn check_asks(&mut self, world: &World) -> Result<(), CrashTestError> {
        let journal = SqliteJournal::open(world.journal())?;
        let mut received: HashMap<String, u64> = HashMap::new();
        let mut is_tool_allowed = false;
        for ask in journal.asks(AskQuery::default()).await? {
            let kind = ShownAsk::parse(&ask.summary).map(|shown| shown.kind);
            let is_received = ask.answer.as_ref().map(|answer| answer.received_at_ms.is_some());
            match (ask.state, is_received) {
                (AskState::Answered, Some(true)) => {
                    self.asks.received += 1;
                    is_tool_allowed |= kind == Some(AskKind::Tool);
                    *received.entry(ask.call.to_string()).or_default() += 1;
                }
                (AskState::Answered, Some(false)) => self.asks.unreceived += 1,
                (AskState::Withdrawn, None) => self.asks.withdrawn += 1,
                _ => return Err(format!("an ask did not end well: {ask:?}").into()),
            }
        }
        if !is_tool_allowed {
            return Err("the dangerous tool was called without an answer".into());
        }
        let query = CallQuery { tool: Some(PERSON_NODE_TOOL.to_owned()), ..CallQuery::default() };
        let mut answered = BTreeSet::new();
        for row in journal.calls(query).await? {
            let is_answered = row.status == CallStatus::Succeeded;
            if is_answered && !received.contains_key(&row.id().to_string()) {
                return Err(format!("call {} ended without an answer", row.id()).into());
            }
            if is_answered && !answered.insert(row.scope.node.clone()) {
                return Err(format!("node {} was answered twice", row.scope.node).into());
            }
        }
        // The trace says which questions were answered. Without any, nothing was tested.
        if answered.is_empty() { Err("no question was answered".into()) } else { Ok(()) }
    }
}

/// Holds a world against the calm one: the same trace, and the same orders, each once.
fn compare(calm: &World, world: &World) -> Result<(), CrashTestError> {
    if std::fs::read(calm.trace())? != std::fs::read(world.trace())? {
        return Err("the trace is not that of an undisturbed run".into());
    }
    let orders = |world: &World| -> Result<Vec<String>, CrashTestError> {
        let ledger = std::fs::read_to_string(world.ledger())?;
        let mut lines: Vec<String> = ledger.lines().map(str::to_owned).collect();
        lines.sort();
        Ok(lines)
    };
    let (expected, found) = (orders(calm)?, orders(world)?);
    if expected != found {
        return Err(format!("{} orders were expected, {} made", expected.len(), found.len()).into());
    }
    Ok(())
}
