//! The cost of recording a workspace around effects: all of it, and one file of it. An example program of haft-snapshot
//! measures on a tree that is made here.

use std::process::Command;
use std::time::Duration;

use super::Bench;
use super::journal::run_cases;
use super::report::{BenchTarget, ReportSection, time_table};
use crate::files;

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
    for number in 0..FILES {
        let directory = tree.join(format!("directory_{}", number / FILES_PER_DIRECTORY));
        files::create_dir(&directory)?;
        // No two files are the same, or they would share an object.
        let line = format!("line of file {number}\n");
        let text = line.repeat(FILE_BYTES / line.len());
        files::write(&directory.join(format!("file_{number}.txt")), text)?;
    }
    let mut program = Command::new(&bench.peers.snapshot);
    program.arg(&tree).arg(bench.rounds(ROUNDS).to_string());
    let cases = run_cases(program)?;
    let targets = cases.iter().map(|case| {
        let found = case.own_median().unwrap_or(Duration::MAX);
        let what = "snapshot, one of 5,000 files changed";
        BenchTarget::milliseconds(what, found, LOOKED_FOR_MS_MAX)
    });
    Ok(ReportSection {
        targets: targets.collect(),
        ..ReportSection::new("Snapshots", ABOUT, vec![time_table(&cases)])
    })
}
