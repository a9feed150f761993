//! What finding a tool costs where there are many: making the index, which a session pays once, and a query. An example
//! program of the runtime does the measuring in one process.

use std::process::Command;
use std::time::Duration;

use anyhow::Context as _;

use super::Bench;
use super::journal::cases;
use super::report::{Section, Target, time_table};
use super::turns::Case;
use crate::process::capture;

const ROUNDS: usize = 1_000;
const TOOLS: usize = 10_000;
/// What making the index may take, at the median.
const BUILD_MS_MAX: u64 = 500;
/// What a query may take, at the median.
const QUERY_US_MAX: u64 = 1_000;
const QUERY: &str = "a query";

const ABOUT: &str = "\
`tool_search` over 10,000 tools, whose ids and descriptions share most of their words: making the index, which happens once for a \
list of tools, and a query of four words, which finds the tool that it means among the first ten. Beside it, the same query \
answered by reading every description.";

pub(super) fn measure(bench: &Bench) -> anyhow::Result<Section> {
    let mut program = Command::new(bench.peers.tools_program());
    program.arg(TOOLS.to_string()).arg(bench.rounds(ROUNDS).to_string());
    let cases = cases(&capture(&mut program).context("the measuring program failed")?)?;
    Ok(Section {
        title: "Finding tools".to_owned(),
        about: ABOUT.to_owned(),
        targets: cases.iter().filter_map(target).collect(),
        tables: vec![time_table(&cases)],
        notes: Vec::new(),
    })
}

fn target(case: &Case) -> Option<Target> {
    let median: Duration = case.rows.first()?.figure.median()?;
    let micros = u64::try_from(median.as_micros()).unwrap_or(u64::MAX);
    Some(if case.name == QUERY {
        Target::number("tool_search, a query over 10,000 tools, p50", "µs", micros, QUERY_US_MAX)
    } else {
        let millis = micros.div_ceil(1_000);
        Target::number("tool_search, an index of 10,000 tools, p50", "ms", millis, BUILD_MS_MAX)
    })
}

#[cfg(test)]
mod tests {
    use super::super::report::Verdict;
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
            [("90 ms".to_owned(), Verdict::Met), ("200 µs".to_owned(), Verdict::Met)]
        );
    }
}
