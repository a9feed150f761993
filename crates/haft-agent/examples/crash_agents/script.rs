//! The work in a world, the tools for it, and the ledger in which the tools note their effects. haft does not know the ledger.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use haft_contract::{Cx, Effect, Tool, ToolError};
use haft_faults::crash::CrashTestError;
use schemars::JsonSchema;
use serde::Deserialize;

/// The orders of the agent itself, of a subagent that it waits for, and of a background subagent, which need not arrive.
pub(crate) const OWN: RangeInclusive<u64> = 1..=12;
pub(crate) const DELEGATED: RangeInclusive<u64> = 101..=106;
pub(crate) const ASIDE: RangeInclusive<u64> = 201..=206;

/// The places of one world.
pub(crate) struct World(pub(crate) PathBuf);

#[derive(Deserialize, JsonSchema)]
struct Item {
    number: u64,
    /// Tells a call from those before it of which it was found out that they had not happened: the very same call stays in
    /// doubt until a person has settled it.
    #[serde(default)]
    #[expect(dead_code, reason = "only the journal looks at it")]
    tries: u64,
}

impl World {
    pub(crate) fn at(path: &Path) -> Self {
        Self(path.to_path_buf())
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.0.join("root")
    }

    pub(crate) fn journal(&self) -> PathBuf {
        self.0.join("journal.sqlite")
    }

    fn ledger(&self) -> PathBuf {
        self.0.join("ledger")
    }

    /// Returns how often each number was ordered.
    pub(crate) fn orders(&self) -> Result<BTreeMap<u64, u32>, CrashTestError> {
        let mut orders = BTreeMap::new();
        let ledger = std::fs::read_to_string(self.ledger()).unwrap_or_default();
        for line in ledger.lines() {
            *orders.entry(line.parse()?).or_default() += 1;
        }
        Ok(orders)
    }
}

/// Returns the prompt of an agent that orders these numbers.
pub(crate) fn prompt(numbers: &RangeInclusive<u64>) -> String {
    format!("order {} to {}", numbers.start(), numbers.end())
}

/// Returns what a prompt asks for.
pub(crate) fn wanted(prompt: &str) -> Option<RangeInclusive<u64>> {
    let (first, last) = prompt.strip_prefix("order ")?.split_once(" to ")?;
    Some(first.parse().ok()?..=last.parse().ok()?)
}

/// The answer of the tools.
pub(crate) fn ordered(number: u64) -> String {
    format!("ordered {number}")
}

pub(crate) fn missing(number: u64) -> String {
    format!("there is no {number}")
}

/// Returns the tools of a world: one that orders, and one that looks whether something was ordered.
pub(crate) fn tools(world: &World) -> [Tool; 2] {
    let ledger = world.ledger();
    let order =
        Tool::new("order").effect(Effect::Once).execute_blocking(move |item: Item, _: &Cx| {
            let mut file = OpenOptions::new().create(true).append(true).open(&ledger)?;
            file.write_all(format!("{}\n", item.number).as_bytes())?;
            Ok::<_, ToolError>(ordered(item.number))
        });
    let ledger = world.ledger();
    let look = Tool::new("look").execute(move |item: Item| {
        let ledger = std::fs::read_to_string(&ledger).unwrap_or_default();
        let is_there = ledger.lines().any(|line| line == item.number.to_string());
        let answer = if is_there { ordered(item.number) } else { missing(item.number) };
        async move { Ok::<_, ToolError>(answer) }
    });
    [order, look]
}
