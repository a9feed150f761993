//! The cost of the journal beside bare commits to the same database: one call at a time, many, late in a long run, and when
//! a run is resumed. An example program of the runtime measures in one process.

use std::process::Command;
use std::time::Duration;

use anyhow::Context as _;

use super::Bench;
use super::report::{BenchTarget, ReportSection, time_table};
use super::samples::Samples;
use super::turns::{Case, CaseRow, Figure};
use crate::process::capture;

const ROUNDS: usize = 400;
/// Calls of a long run.
const ROWS: usize = 100_000;
const QUICK_ROWS: usize = 5_000;
/// The most time that two commits of the journal may take, relative to two bare ones.
const ALONE_RATIO: f64 = 1.3;
/// 85 hundredths of the raw rate of group commit, as the time that a call takes.
const SHARED_RATIO: f64 = 1.0 / 0.85;
/// How much slower a call may get in a long run.
const LONG_RATIO: f64 = 1.2;
const RESUME_MS_MAX: u64 = 1_000;

const ABOUT: &str = "\
An intent and an outcome of a `once` call, both on disk before the caller continues. *Bare commits* use the same database with one table, two columns of
the same size and no index. The *raw group commit* is a minimal thread that writes there for others. The same number of tasks send it their rows over a channel, wait
for the commit of an intent, and send the outcome. The thread commits all waiting rows together. In *lock step* no task waits: the same number of rows share each commit, one
after the other. Times are those of one call.";

pub(super) fn measure(bench: &Bench) -> anyhow::Result<ReportSection> {
    let dir = bench.make_dir("journal")?;
    let rows = if bench.is_quick { QUICK_ROWS } else { ROWS };
    let mut program = Command::new(&bench.peers.journal);
    program.arg(&dir).args([bench.rounds(ROUNDS), rows].map(|number| number.to_string()));
    let cases = run_cases(program)?;
    let mut targets = Vec::new();
    for case in &cases {
        targets.extend(match case.name.as_str() {
            "one in flight" => {
                Some(BenchTarget::ratio("journal", case, "two bare commits", ALONE_RATIO))
            }
            name if name.starts_with("128 in flight") => {
                Some(BenchTarget::ratio("journal", case, "raw group commit", SHARED_RATIO))
            }
            "a call of a long run" => {
                Some(BenchTarget::ratio("after many", case, "after few calls", LONG_RATIO))
            }
            name @ "resume of 10,000 rows" => case
                .own_median()
                .map(|median| BenchTarget::milliseconds(name, median, RESUME_MS_MAX)),
            _ => None,
        });
    }
    Ok(ReportSection {
        notes: vec![format!("The long run has {rows} calls.")],
        targets,
        ..ReportSection::new("The journal", ABOUT, vec![time_table(&cases)])
    })
}

/// Runs a measuring program, and puts the samples that it prints together.
pub(super) fn run_cases(mut program: Command) -> anyhow::Result<Vec<Case>> {
    cases(&capture(&mut program).context("the measuring program failed")?)
}

/// The times of the entrants of a case, in the order in which they first came.
type Entrants = Vec<(String, Samples<Duration>)>;

/// Puts the samples of each case and entrant together, in the order in which they come.
pub(super) fn cases(printed: &str) -> anyhow::Result<Vec<Case>> {
    let mut cases: Vec<(String, Entrants)> = Vec::new();
    for line in printed.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let [case, entrant, nanoseconds] = fields.as_slice() else {
            anyhow::bail!("{line:?} is no sample");
        };
        let nanoseconds = nanoseconds.parse().with_context(|| format!("{line:?} is no sample"))?;
        let rows = entry(&mut cases, case);
        entry(rows, entrant).push(Duration::from_nanos(nanoseconds));
    }
    let row = |(name, samples)| CaseRow { name, figure: Figure::Measured(samples) };
    let case =
        |(name, rows): (String, Entrants)| Case { name, rows: rows.into_iter().map(row).collect() };
    Ok(cases.into_iter().map(case).collect())
}

fn entry<'a, T: Default>(entries: &'a mut Vec<(String, T)>, name: &str) -> &'a mut T {
    let index = entries.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
        entries.push((name.to_owned(), T::default()));
        entries.len() - 1
    });
    &mut entries[index].1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_put_together() {
        let cases = cases("a\tx\t1\na\ty\t5\nb\tx\t9\na\tx\t3\na\tx\t2\n").unwrap();
        let names: Vec<_> =
            cases.iter().map(|case| (case.name.as_str(), case.rows.len())).collect();
        assert_eq!(names, [("a", 2), ("b", 1)]);
        assert_eq!(cases[0].median("x"), Some(Duration::from_nanos(2)));
        assert!(super::cases("a\tx\n").is_err());
        assert!(super::cases("a\tx\ty\n").is_err());
    }
}
