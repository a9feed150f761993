//! Figures as people read them: Markdown that is as good in a terminal as in a browser. Nothing is computed here but
//! ratios.

use std::fmt;
use std::time::Duration;

use super::machine::Machine;
use super::samples::{milliseconds, ratio};
use super::turns::{Case, CaseRow, Figure};
use crate::markers::grouped;

/// The results of one measurement.
pub(super) struct ReportSection {
    pub(super) title: String,
    /// The procedure, and the facts that a reader of the figures needs.
    pub(super) about: String,
    pub(super) tables: Vec<ReportTable>,
    /// Further observations.
    pub(super) notes: Vec<String>,
    pub(super) targets: Vec<BenchTarget>,
}

impl ReportSection {
    /// Returns a section without notes and targets.
    pub(super) fn new(title: &str, about: &str, tables: Vec<ReportTable>) -> Self {
        let (title, about) = (title.to_owned(), about.to_owned());
        Self { title, about, tables, notes: Vec::new(), targets: Vec::new() }
    }
}

/// A figure that haft is meant to reach.
pub(super) struct BenchTarget {
    pub(super) what: String,
    pub(super) limit: String,
    /// The figure, or the reason why there is none.
    pub(super) found: String,
    pub(super) verdict: TargetVerdict,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TargetVerdict {
    Met,
    NotMet,
    NotMeasured,
}

impl BenchTarget {
    /// Compares the median of the first row with that of the row called `peer`.
    pub(super) fn ratio(what: &str, case: &Case, peer: &str, limit: f64) -> Self {
        Self::ratio_between(what, case, (case.own_median(), peer), limit)
    }

    /// Compares a time of a case with that of a peer in the same case.
    pub(super) fn ratio_between(
        what: &str,
        case: &Case,
        (own, peer): (Option<Duration>, &str),
        limit: f64,
    ) -> Self {
        let what = format!("{what}, {}", case.name);
        let (found, verdict) = match own.zip(case.median(peer)) {
            Some((own, other)) => {
                let found = ratio(own, other);
                (format!("{found:.2} ×"), TargetVerdict::of(found <= limit))
            }
            None => (format!("{peer} is absent"), TargetVerdict::NotMeasured),
        };
        Self { what, limit: format!("{limit:.2} × {peer}"), found, verdict }
    }

    /// Compares a duration with the most milliseconds that it may take; one that has begun counts.
    pub(super) fn milliseconds(what: &str, found: Duration, limit: u64) -> Self {
        Self::number(what, "ms", whole_units(found, 1_000_000), limit)
    }

    /// Compares a duration with the most microseconds that it may take; one that has begun counts.
    pub(super) fn microseconds(what: &str, found: Duration, limit: u64) -> Self {
        Self::number(what, "µs", whole_units(found, 1_000), limit)
    }

    /// Compares what haft takes beyond another row with the most microseconds that it may take, and adds it to the case.
    pub(super) fn added(what: &str, case: &mut Case, beyond: &str, limit: u64) -> Option<Self> {
        let added = case.own_median()?.saturating_sub(case.median(beyond)?);
        let name = "what haft adds to that".to_owned();
        case.rows.push(CaseRow { name, figure: Figure::Computed(added) });
        Some(Self::microseconds(what, added, limit))
    }

    /// Compares a number with the most that it may be.
    pub(super) fn number(what: &str, unit: &str, found: u64, limit: u64) -> Self {
        Self {
            what: what.to_owned(),
            limit: format!("{} {unit}", grouped(limit)),
            found: format!("{} {unit}", grouped(found)),
            verdict: TargetVerdict::of(found <= limit),
        }
    }
}

fn whole_units(duration: Duration, unit_ns: u128) -> u64 {
    u64::try_from(duration.as_nanos().div_ceil(unit_ns)).unwrap_or(u64::MAX)
}

impl TargetVerdict {
    fn of(is_met: bool) -> Self {
        if is_met { Self::Met } else { Self::NotMet }
    }

    fn text(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::NotMet => "**not met**",
            Self::NotMeasured => "not measured",
        }
    }
}

/// A table of texts. The first column is aligned to the left, the others to the right.
pub(super) struct ReportTable {
    rows: Vec<Vec<String>>,
}

impl ReportTable {
    pub(super) fn new(head: &[&str]) -> Self {
        Self { rows: vec![head.iter().map(ToString::to_string).collect()] }
    }

    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    fn widths(&self) -> Vec<usize> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row: &Vec<String>| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
        };
        (0..columns).map(width).collect()
    }
}

impl fmt::Display for ReportTable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths = self.widths();
        for (number, row) in self.rows.iter().enumerate() {
            for (column, width) in widths.iter().enumerate() {
                let cell = row.get(column).map_or("", String::as_str);
                match column {
                    0 => write!(formatter, "| {cell:<width$} |")?,
                    _ => write!(formatter, " {cell:>width$} |")?,
                }
            }
            writeln!(formatter)?;
            if number == 0 {
                for (column, width) in widths.iter().enumerate() {
                    match column {
                        0 => write!(formatter, "|:{:-<width$}-|", "")?,
                        _ => write!(formatter, "-{:-<width$}:|", "")?,
                    }
                }
                writeln!(formatter)?;
            }
        }
        Ok(())
    }
}

/// Returns a table of times, each row compared with the first of its case.
pub(super) fn time_table(cases: &[Case]) -> ReportTable {
    let mut table = ReportTable::new(&["", "p50 ms", "p99 ms", "samples", "haft's p50 ÷ this"]);
    for case in cases {
        for (index, row) in case.rows.iter().enumerate() {
            let name = row_name(case, index, &row.name);
            let comparison = row.figure.median().zip(case.own_median()).filter(|_| index > 0);
            let comparison = comparison
                .map(|(other, own)| format!("{:.2}", ratio(own, other)))
                .unwrap_or_default();
            let median = row.figure.median().map(milliseconds).unwrap_or_default();
            let (median, slowest, count) = match &row.figure {
                Figure::Measured(samples) => {
                    (median, samples.percentile(99).map(milliseconds), grouped(samples.len()))
                }
                Figure::Computed(_) => (median, None, String::new()),
                Figure::Absent(reason) => (reason.clone(), None, String::new()),
            };
            table.row([name, median, slowest.unwrap_or_default(), count, comparison]);
        }
    }
    table
}

/// Returns a table of rates from cases whose samples are the times of so many calls.
pub(super) fn rate_table(cases: &[Case], calls_per_sample: u32) -> ReportTable {
    let mut table = ReportTable::new(&["", "calls/s", "samples", "haft's rate ÷ this"]);
    for case in cases {
        for (index, row) in case.rows.iter().enumerate() {
            let name = row_name(case, index, &row.name);
            let median = row.figure.median();
            let comparison = median.zip(case.own_median()).filter(|_| index > 0);
            let comparison = comparison.map(|(other, own)| format!("{:.2}", ratio(other, own)));
            let rate = median.map(|median| {
                grouped(format!("{:.0}", f64::from(calls_per_sample) / median.as_secs_f64()))
            });
            let (rate, count) = match &row.figure {
                Figure::Measured(samples) => (rate, grouped(samples.len())),
                Figure::Computed(_) => (rate, String::new()),
                Figure::Absent(reason) => (Some(reason.clone()), String::new()),
            };
            table.row([name, rate.unwrap_or_default(), count, comparison.unwrap_or_default()]);
        }
    }
    table
}

/// Returns the first cell of a row; the case is named once.
fn row_name(case: &Case, index: usize, name: &str) -> String {
    match (index, case.name.as_str()) {
        (_, "") => name.to_owned(),
        (0, case) => format!("**{case}**: {name}"),
        _ => format!("… {name}"),
    }
}

impl fmt::Display for ReportSection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "## {}\n\n{}", self.title, self.about)?;
        for table in &self.tables {
            write!(formatter, "\n{table}")?;
        }
        if !self.notes.is_empty() {
            writeln!(formatter)?;
        }
        for note in &self.notes {
            writeln!(formatter, "- {note}")?;
        }
        Ok(())
    }
}

/// Returns the table of all targets.
pub(super) fn targets(sections: &[ReportSection]) -> ReportTable {
    let mut table = ReportTable::new(&["target", "at most", "found", ""]);
    for target in sections.iter().flat_map(|section| &section.targets) {
        let BenchTarget { what, limit, found, verdict } = target;
        table.row([what.clone(), limit.clone(), found.clone(), verdict.text().to_owned()]);
    }
    table
}

/// Returns the whole of `docs/benchmarks.md`.
pub(super) fn document(machine: &Machine, sections: &[ReportSection]) -> String {
    let mut text = String::from(INTRODUCTION);
    text.push_str(&format!("\n{machine}\n## Targets\n\n{}", targets(sections)));
    for section in sections {
        text.push_str(&format!("\n{section}"));
    }
    text
}

const INTRODUCTION: &str = "\
# Benchmarks

`cargo xtask bench` writes this file and compares the results with haft's targets. Do not edit it.

All rows of a table were measured in one go. Each took its turn in every round, in an order that changed from
round to round, after one warm-up round. Other load on the machine therefore affected all of them, and ratios
are more reliable than times. p50 and p99 are samples, by nearest rank; with less than a hundred samples p99 is the slowest.

The peers:

- **floor**: `crates/haft-mcp/examples/floor.rs`, a minimal server on the same SDK. It has the same
  transport and the same kind of runtime, and a `read` and a `write` that call the standard library. It checks
  nothing, writes no journal and knows no root. A second floor uses the SDK's own `stdio()`, as a
  bare server on that SDK does; it passes every message to a blocking thread.
- **Node server**: `@modelcontextprotocol/server-filesystem`, the official one, at the version that `cargo xtask setup`
  installs.
- **rg**: the command, with the same pattern and the same directory, with line numbers, its output read through a pipe.
  Its options exclude configuration and ignore files outside the directory, because haft does not read them either.

haft runs as `haft mcp --allow bash` with everything on: validation, rules, and the journal in SQLite on the same disk.
The client is `cargo xtask bench` itself, optimised, on one thread.
";

#[cfg(test)]
mod tests {
    use super::*;

    fn case(rows: &[(&str, Figure)]) -> Case {
        let row = |(name, figure): &(&str, Figure)| CaseRow {
            name: (*name).to_owned(),
            figure: figure.clone(),
        };
        Case { name: "over pipes".to_owned(), rows: rows.iter().map(row).collect() }
    }

    fn computed(milliseconds: u64) -> Figure {
        Figure::Computed(Duration::from_millis(milliseconds))
    }

    #[test]
    fn tables_are_aligned_and_absence_is_said() {
        let absent = Figure::Absent("not installed".to_owned());
        let case = case(&[("haft", computed(30)), ("floor", computed(20)), ("Node", absent)]);
        assert_eq!(
            time_table(&[case]).to_string(),
            "\
|                      |        p50 ms | p99 ms | samples | haft's p50 ÷ this |
|:---------------------|--------------:|-------:|--------:|------------------:|
| **over pipes**: haft |          30.0 |        |         |                   |
| … floor              |          20.0 |        |         |              1.50 |
| … Node               | not installed |        |         |                   |
"
        );
    }

    #[test]
    fn rates_compare_the_other_way_round() {
        let case = case(&[("haft", computed(500)), ("floor", computed(250))]);
        let text = rate_table(&[case], 1_000).to_string();
        let cells = |line: &str| {
            line.split('|').map(str::trim).filter(|c| !c.is_empty()).map(str::to_owned).collect()
        };
        let rows: Vec<Vec<String>> = text.lines().skip(2).map(cells).collect();
        assert_eq!(rows[0][1..], ["2,000"]);
        assert_eq!(rows[1][1..], ["4,000", "0.50"]);
    }

    #[test]
    fn a_target_is_met_missed_or_not_measured() {
        let of = |own, limit, peer: &str| {
            let case = case(&[("haft", computed(own)), ("floor", computed(20))]);
            let target = BenchTarget::ratio("start", &case, peer, limit);
            (target.found, target.verdict)
        };
        assert_eq!(of(30, 1.5, "floor"), ("1.50 ×".to_owned(), TargetVerdict::Met));
        assert_eq!(of(31, 1.5, "floor"), ("1.55 ×".to_owned(), TargetVerdict::NotMet));
        assert_eq!(of(31, 1.5, "rg"), ("rg is absent".to_owned(), TargetVerdict::NotMeasured));
        assert_eq!(BenchTarget::number("size", "bytes", 8_192, 8_192).verdict, TargetVerdict::Met);
        assert_eq!(
            BenchTarget::number("size", "bytes", 8_193, 8_192).verdict,
            TargetVerdict::NotMet
        );
    }
}
