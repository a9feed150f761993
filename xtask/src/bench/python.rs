//! The cost of a call of a Python tool with a warm worker and without a worker, beside the least time that Python itself
//! takes for the same work. An example program of haft-python measures in one process.

use std::process::Command;

use super::Bench;
use super::journal::run_cases;
use super::report::{BenchTarget, ReportSection, time_table};
use super::turns::Case;

const ROUNDS: usize = 2_000;
/// The longest time that a warm call may take beyond a round trip to a Python that waits at a pipe, at the median.
const OVERHEAD_US_MAX: u64 = 300;
const WARM: &str = "a warm call";
const PIPE: &str = "a line to Python and back";

const ABOUT: &str = "\
A tool that returns the text that it receives, called through the whole pipeline, with its worker confined and its journal in memory. *A line to Python
and back* is the minimum: a Python process that waits at a pipe, reads one line of JSON and answers one. A cold call first starts the worker. Beside it, a bare
`python3 -c` does the same work once, unconfined.";

pub(super) fn measure(bench: &Bench) -> anyhow::Result<ReportSection> {
    let dir = bench.make_dir("python")?;
    let mut program = Command::new(&bench.peers.python);
    program.arg(&dir).arg(bench.rounds(ROUNDS).to_string());
    let mut cases = run_cases(program)?;
    let targets = cases.iter_mut().filter_map(target).collect();
    Ok(ReportSection {
        targets,
        ..ReportSection::new("Python tools", ABOUT, vec![time_table(&cases)])
    })
}

/// Compares what a warm call takes beyond the bare round trip with what it may take, and adds that to the case.
fn target(case: &mut Case) -> Option<BenchTarget> {
    if case.name != WARM {
        return None;
    }
    let what = "warm Python call, over the bare round trip, p50";
    BenchTarget::added(what, case, PIPE, OVERHEAD_US_MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::journal::cases;
    use super::super::report::TargetVerdict;
    use super::*;

    #[test]
    fn what_haft_adds_is_beside_what_it_is_added_to() {
        let printed = "a warm call\thaft\t350000\n\
                       a warm call\ta line to Python and back\t50000\n\
                       a cold call\thaft\t60000000\n";
        let mut cases = cases(printed).expect("it is well formed");
        let targets: Vec<BenchTarget> = cases.iter_mut().filter_map(target).collect();
        assert_eq!(cases[0].median("what haft adds to that"), Some(Duration::from_micros(300)));
        let found: Vec<_> =
            targets.iter().map(|target| (target.found.as_str(), target.verdict)).collect();
        assert_eq!(found, [("300 µs", TargetVerdict::Met)]);
    }
}
