//! The cost of a plan's node whose tool does nothing, beside the journal's cost for the same records. An example program
//! of haft-plan measures in one process.

use std::process::Command;

use super::Bench;
use super::journal::run_cases;
use super::report::{BenchTarget, ReportSection, time_table};
use super::turns::Case;

const ROUNDS: usize = 5;
/// Nodes that run at the same time.
const PARALLEL: usize = 16;
/// Nodes of a large plan, and how long all of them may take.
const LARGE_NODES: u32 = 10_000;
const LARGE_MS_MAX: u64 = 3_000;
/// How much longer a node of a chain may take than two commits.
const CHAIN_RATIO_MAX: f64 = 1.2;
const TWO_COMMITS: &str = "two bare commits a node";

const ABOUT: &str = "\
The time of one node whose tool does nothing. It is the time of the whole plan, from its first record to its trace, divided by its nodes. *Read* nodes have
one record each, which need not be on disk before the next node starts. *Once* nodes have an intent on disk before the tool is called, and an outcome
on disk before it is reported. *Fan-out* is one node before all others. A *chain* is one node after the other. *Layered* is a hundred at a time, each waiting
for two of the layer before. *The journal alone* writes the same records from a loop, with as many at the same time as the plan has running nodes (a chain
has one). *Two bare commits a node* writes rows of that size to a table without an index, each commit synced.";

pub(super) fn measure(bench: &Bench) -> anyhow::Result<ReportSection> {
    let dir = bench.make_dir("plans")?;
    let mut program = Command::new(&bench.peers.plans);
    program.arg(&dir).args([bench.rounds(ROUNDS), PARALLEL].map(|number| number.to_string()));
    let cases = run_cases(program)?;
    Ok(ReportSection {
        notes: vec![format!("{PARALLEL} nodes run at the same time, if the plan allows it.")],
        targets: cases.iter().filter_map(target).collect(),
        ..ReportSection::new("Plans", ABOUT, vec![time_table(&cases)])
    })
}

/// Returns what the whole of a large plan took, against what it may take.
fn target(case: &Case) -> Option<BenchTarget> {
    if !case.name.starts_with(&format!("{LARGE_NODES} ")) {
        return None;
    }
    if case.median(TWO_COMMITS).is_some() {
        return Some(BenchTarget::ratio("plan", case, TWO_COMMITS, CHAIN_RATIO_MAX));
    }
    let whole = case.own_median()? * LARGE_NODES;
    Some(BenchTarget::milliseconds(&case.name, whole, LARGE_MS_MAX))
}

#[cfg(test)]
mod tests {
    use super::super::journal::cases;
    use super::super::report::TargetVerdict;
    use super::*;

    #[test]
    fn only_large_plans_have_a_target() {
        let printed = "200 once nodes, chain\thaft\t900000\n\
                       10000 read nodes, chain\thaft\t300000\n\
                       10000 read nodes, chain\tthe journal alone\t100000\n\
                       10000 once nodes, fan-out\thaft\t300200\n\
                       10000 once nodes, chain\thaft\t300200\n\
                       10000 once nodes, chain\ttwo bare commits a node\t300000\n";
        let targets: Vec<BenchTarget> =
            cases(printed).expect("it is well formed").iter().filter_map(target).collect();
        let found: Vec<_> =
            targets.iter().map(|target| (target.found.as_str(), target.verdict)).collect();
        assert_eq!(
            found,
            [
                ("3,000 ms", TargetVerdict::Met),
                ("3,002 ms", TargetVerdict::NotMet),
                ("1.00 ×", TargetVerdict::Met)
            ]
        );
    }
}
