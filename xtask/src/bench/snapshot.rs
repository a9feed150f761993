//! The cost of recording a workspace around effects: all of it, and one file of it. An example program of haft-snapshot
//! measures on a tree that is made here.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::Context as _;

use super::Bench;
use super::journal::cases;
use super::report::{BenchTarget, ReportSection, time_table};
use crate::process::capture;

const ROUNDS: usize = 41;
const FILES: usize = 5_000;
const FILES_PER_DIRECTORY: usize = 25;
const FILE_BYTES: usize = 2_000;
/// The longest time that a record may take if one unknown file changed.
const LOOKED_FOR_MS_MAX: u64 = 50;

const ABOUT: &str = "\
The time to record a workspace of 5,000 files. *looked for*: before and after a command, when haft must find the changed file. *its file alone*:
before and after a change of one file by haft itself, which is the same for any workspace. The figure includes the sync of a whole record, and not that of
a single file. haft syncs both in the background.";

pub(super) fn measure(bench: &Bench) -> anyhow::Result<ReportSection> {
    let dir = bench.make_dir("snapshot")?;
    let tree = dir.join("tree");
    write_tree(&tree).with_context(|| format!("cannot write {}", tree.display()))?;
    let mut program = Command::new(bench.peers.snapshot_program());
    program.arg(&tree).arg(bench.rounds(ROUNDS).to_string());
    let cases = cases(&capture(&mut program).context("the measuring program failed")?)?;
    let median = |row: Option<Duration>| row.map_or(u64::MAX, milliseconds);
    let targets = cases.iter().map(|case| {
        let found = median(case.rows.first().and_then(|row| row.figure.median()));
        BenchTarget::number("snapshot, one of 5,000 files changed", "ms", found, LOOKED_FOR_MS_MAX)
    });
    Ok(ReportSection {
        title: "Snapshots".to_owned(),
        about: ABOUT.to_owned(),
        targets: targets.collect(),
        tables: vec![time_table(&cases)],
        notes: Vec::new(),
    })
}

/// Returns whole milliseconds; what has begun counts.
fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros().div_ceil(1_000)).unwrap_or(u64::MAX)
}

fn write_tree(tree: &Path) -> std::io::Result<()> {
    for number in 0..FILES {
        let directory = tree.join(format!("directory_{}", number / FILES_PER_DIRECTORY));
        std::fs::create_dir_all(&directory)?;
        // No two files are the same, or they would share an object.
        let line = format!("line of file {number}\n");
        let text = line.repeat(FILE_BYTES / line.len());
        std::fs::write(directory.join(format!("file_{number}.txt")), text)?;
    }
    Ok(())
}
