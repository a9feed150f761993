//! The cost of finding a tool among many: making the index, once for each connection, and a query. An example program of
//! the runtime measures in one process.

use std::process::Command;

use super::Bench;
use super::journal::run_cases;
use super::report::{BenchTarget, ReportSection, time_table};
use super::turns::Case;

const ROUNDS: usize = 1_000;
const TOOLS: usize = 10_000;
/// The longest median time for making the index.
const BUILD_MS_MAX: u64 = 500;
/// The longest median time of a query.
const QUERY_US_MAX: u64 = 1_000;
const QUERY: &str = "a query";

const ABOUT: &str = "\
`tool_search` over 10,000 tools, whose ids and descriptions share most of their words. *The index* is built once for a list of tools. A query of four
words finds the right tool among the first ten. Beside it, the same query is answered by reading every description.";

pub(super) fn measure(bench: &Bench) -> anyhow::Result<ReportSection> {
    let mut program = Command::new(&bench.peers.tools);
    program.arg(TOOLS.to_string()).arg(bench.rounds(ROUNDS).to_string());
    let cases = run_cases(program)?;
    Ok(ReportSection {
        targets: cases.iter().filter_map(target).collect(),
        ..ReportSection::new("Finding tools", ABOUT, vec![time_table(&cases)])
    })
}

fn target(case: &Case) -> Option<BenchTarget> {
    let median = case.own_median()?;
    Some(if case.name == QUERY {
        let what = "tool_search, a query over 10,000 tools, p50";
        BenchTarget::microseconds(what, median, QUERY_US_MAX)
    } else {
        let what = "tool_search, an index of 10,000 tools, p50";
        BenchTarget::milliseconds(what, median, BUILD_MS_MAX)
    })
}

#[cfg(test)]
mod tests {
    use super::super::journal::cases;
    use super::super::report::TargetVerdict;
    use super::*;

    #[test]
    fn each_case_has_its_target() {
        let printed = "an index is made\thaft\t90000000\na query\thaft\t200000\n\
                       a query\tevery description read\t9000000\n";
        let cases = cases(printed).expect("it is well formed");
        let found: Vec<_> =
            cases.iter().filter_map(target).map(|target| (target.found, target.verdict)).collect();
        assert_eq!(
            found,
            [("90 ms".to_owned(), TargetVerdict::Met), ("200 µs".to_owned(), TargetVerdict::Met)]
        );
    }
}
