//! Compares the results of the workers with a world in which no worker was killed.

use std::collections::BTreeSet;
use std::path::PathBuf;

use haft_faults::crash::{CrashScenario, CrashTestError, FinishedWorld};

use crate::script::World;
use crate::worker;

/// The scenario, with what was counted over all worlds.
#[derive(Default)]
pub(crate) struct Plans {
    recalled: u64,
    happened: u64,
    not_happened: u64,
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
        compare(&World::at(seen.undisturbed), &World::at(seen.world))
    }

    fn summary(&self) -> String {
        let Self { recalled, happened, not_happened } = self;
        format!(
            "{recalled} answers recalled, in doubt {happened} calls that had happened and {not_happened} that had not"
        )
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
