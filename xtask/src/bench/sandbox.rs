//! The cost of confinement: a command that does nothing, started bare, supervised, confined, and by bubblewrap, from a
//! small process, from one with much memory, and many at once. An example program of the sandbox does the measuring,
//! because the process that starts the commands is part of what is measured.

use std::process::Command;

use anyhow::{Context as _, ensure};

use super::report::{BenchTarget, ReportSection, time_table};
use super::turns::Case;
use super::{Bench, journal};
use crate::process::capture;

const ROUNDS: usize = 200;
const HEAP_MIB: usize = 1_024;
const AT_ONCE: usize = 16;
/// The longest time that confinement may add to a bare start.
const ADDED_MICROSECONDS_MAX: u64 = 1_200;
/// The most that rules about paths may make a confined start take, relative to one without them.
const DENIED_RATIO: f64 = 1.1;
/// The least time that a start by bubblewrap must take relative to ours.
const BWRAP_RATIO: f64 = 2.5;

const ABOUT: &str = "\
The start of `true`, and the wait for its end. *bare* is the standard library's spawn. *supervised* is haft's launcher without confinement. *confined* has all
layers: namespaces, mounts, scans for protected paths before and after, Landlock, system call filters, limits. *5,000 files* is the same in a root of that
size, and *denied paths* adds a rule that denies the files of one name, of which there are two. *bwrap* is bubblewrap with the same namespaces and similar
mounts, without Landlock, filters and limits. All take turns in one process.";

/// The processes that start commands.
struct Parent {
    name: &'static str,
    heap_mib: usize,
    at_once: usize,
}

/// The entrant that the others are compared with.
const OURS: &str = "confined";
const AT_ONCE_NAME: &str = "16 at once";

const PARENTS: [Parent; 3] = [
    Parent { name: "small parent", heap_mib: 0, at_once: 1 },
    Parent { name: "parent with 1 GiB", heap_mib: HEAP_MIB, at_once: 1 },
    Parent { name: AT_ONCE_NAME, heap_mib: 0, at_once: AT_ONCE },
];

pub(super) fn measure(bench: &Bench) -> anyhow::Result<ReportSection> {
    let dir = bench.make_dir("sandbox")?;
    let bwrap = capture(Command::new("bwrap").arg("--version")).is_ok();
    let mut cases = Vec::new();
    for parent in &PARENTS {
        let rounds = bench.rounds(ROUNDS).div_ceil(parent.at_once);
        let mut program = Command::new(&bench.peers.spawn);
        program.arg(&dir).args([parent.heap_mib, parent.at_once, rounds].map(|it| it.to_string()));
        if bwrap {
            program.arg("bwrap");
        }
        let printed = capture(&mut program).context("the measuring program failed")?;
        cases.push(case(parent.name, &printed)?);
    }
    let note = match bwrap {
        true => "bubblewrap is Debian's package `bubblewrap`.",
        false => "bubblewrap is not installed: Debian's package `bubblewrap`.",
    };
    Ok(ReportSection {
        notes: vec![note.to_owned()],
        targets: cases.iter().flat_map(targets).collect(),
        ..ReportSection::new("A confined process", ABOUT, vec![time_table(&cases)])
    })
}

/// Puts the samples of each entrant together. The first row is the cost of confinement.
fn case(name: &str, printed: &str) -> anyhow::Result<Case> {
    let printed: String = printed.lines().map(|line| format!("{name}\t{line}\n")).collect();
    let mut case = journal::cases(&printed)?.pop().context("nothing was measured")?;
    case.rows.sort_by_key(|row| row.name != OURS);
    ensure!(case.rows.first().is_some_and(|row| row.name == OURS), "{OURS} was not measured");
    Ok(case)
}

fn targets(case: &Case) -> Vec<BenchTarget> {
    let mut targets = Vec::new();
    if let Some((own, bare)) = case.median(OURS).zip(case.median("bare"))
        && case.name != AT_ONCE_NAME
    {
        let what = format!("confined less bare, {}", case.name);
        let added = own.saturating_sub(bare);
        targets.push(BenchTarget::microseconds(&what, added, ADDED_MICROSECONDS_MAX));
    }
    targets.push(BenchTarget::ratio("confined", case, "bwrap", 1.0 / BWRAP_RATIO));
    let denied = "5,000 files, denied paths";
    let times = (case.median(denied), "5,000 files");
    targets.push(BenchTarget::ratio_between(denied, case, times, DENIED_RATIO));
    targets
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn samples_are_put_together() {
        let case = case("x", "bare\t1000\nconfined\t5000\nbare\t3000\nbare\t2000\n").unwrap();
        let names: Vec<_> = case.rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, ["confined", "bare"]);
        assert_eq!(case.median("bare"), Some(Duration::from_nanos(2000)));
        assert!(super::case("x", "bare\t1\n").is_err());
        assert!(super::case("x", "nonsense\n").is_err());
    }
}
