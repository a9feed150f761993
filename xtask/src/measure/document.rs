//! Writes the table of figures into docs/structure.md: before, now, the goals, and other programs.
//!
//! Only the column «now» changes. The other figures were measured once and are constants.

use std::path::Path;

use anyhow::Context as _;

use super::Measurement;
use super::output::percentiles;
use crate::markers::replace_between;

const BEGIN: &str = "<!-- Written by `cargo xtask measure --write`: begin -->";
const END: &str = "<!-- Written by `cargo xtask measure --write`: end -->";

/// One row of the table. The columns before `now` were measured at commit c4b4da6.
struct FigureRow {
    name: &'static str,
    review: &'static str,
    before: &'static str,
    now: fn(&Measurement) -> String,
    goal: &'static str,
    ripgrep: &'static str,
    jj: &'static str,
    uv: &'static str,
}

const ROWS: &[FigureRow] = &[
    FigureRow {
        name: "production lines",
        review: "142,300",
        before: "141,210",
        now: |figures| grouped(figures.workspace.all.lines),
        goal: "12,000 fewer",
        ripgrep: "37,000–40,000",
        jj: "107,800",
        uv: "239,000",
    },
    FigureRow {
        name: "production lines, shipped crates",
        review: "133,700",
        before: "132,825",
        now: |figures| grouped(figures.workspace.shipped.lines),
        goal: "",
        ripgrep: "",
        jj: "",
        uv: "",
    },
    FigureRow {
        name: "production files",
        review: "947",
        before: "942",
        now: |figures| figures.workspace.all.file_lines.len().to_string(),
        goal: "",
        ripgrep: "87",
        jj: "286",
        uv: "",
    },
    FigureRow {
        name: "lines per file, p50/p90/max",
        review: "121/291/646",
        before: "121/291/646",
        now: |figures| percentiles(&figures.workspace.all.file_lines, &[50, 90, 100]),
        goal: "",
        ripgrep: "173/949/5506",
        jj: "179/829/4791",
        uv: "198/1050/–",
    },
    FigureRow {
        name: "lines per function, p50/p90/p99/max",
        review: "8/23/40/76",
        before: "8/23/40/76",
        now: |figures| percentiles(&figures.workspace.all.function_lines, &[50, 90, 99, 100]),
        goal: "p99 below 70",
        ripgrep: "4/22/67/220",
        jj: "8/39/136/369",
        uv: "8/52/238/2062",
    },
    FigureRow {
        name: "parameters, max",
        review: "6",
        before: "6",
        now: |figures| figures.workspace.all.parameters_max.to_string(),
        goal: "",
        ripgrep: "7",
        jj: "11",
        uv: "64",
    },
    FigureRow {
        name: "types",
        review: "1,928",
        before: "1,981",
        now: |figures| grouped(figures.workspace.all.types),
        goal: "",
        ripgrep: "375",
        jj: "1,008",
        uv: "",
    },
    FigureRow {
        name: "types with a repeated name",
        review: "31 % (124 names)",
        before: "33.2 % (137 names)",
        now: |figures| {
            let share = figures.workspace.all.repeated_percent();
            format!("{share:.1} % ({} names)", figures.workspace.repeated_names)
        },
        goal: "below 3 %",
        ripgrep: "8 %",
        jj: "3 %",
        uv: "",
    },
    FigureRow {
        name: "visible types with a name that is not unique",
        review: "",
        before: "584",
        now: |figures| figures.workspace.all.repeated_visible_types.to_string(),
        goal: "0",
        ripgrep: "",
        jj: "",
        uv: "",
    },
    FigureRow {
        name: "private functions used once",
        review: "39 %",
        before: "42.8 %",
        now: |figures| format!("{:.1} %", figures.workspace.all.single_use_percent()),
        goal: "below 20 %",
        ripgrep: "12 %",
        jj: "29 %",
        uv: "",
    },
    FigureRow {
        name: "files in the largest cycle",
        review: "55 of 214 (cli), 22 of 98 (haft)",
        before: "60 of 215 (cli), 35 of 98 (haft)",
        now: |figures| {
            let largest =
                figures.workspace.crates.iter().max_by_key(|(_, figures)| figures.largest_cycle());
            largest.map_or_else(String::new, |(name, figures)| match figures.largest_cycle() {
                0 => "0".to_owned(),
                files => format!("{files} of {} ({name})", figures.file_lines.len()),
            })
        },
        goal: "0",
        ripgrep: "7 of 9 (ignore)",
        jj: "50 of 103 (lib)",
        uv: "",
    },
    FigureRow {
        name: "imports between top-level modules; upward",
        review: "142; 26 (haft)",
        before: "1,086; 66",
        now: |figures| {
            let all = &figures.workspace.all;
            format!("{}; {}", grouped(all.module_imports), all.upward_imports)
        },
        goal: "upward: 0",
        ripgrep: "",
        jj: "",
        uv: "",
    },
    FigureRow {
        name: "documentation",
        review: "12.2 %",
        before: "12.3 %",
        now: |figures| format!("{:.1} %", figures.workspace.all.doc_percent()),
        goal: "",
        ripgrep: "16–21 %",
        jj: "6.7–8.9 %",
        uv: "8.8 %",
    },
    FigureRow {
        name: "documentation of contract, haft, app, sandbox",
        review: "25.0, 11.8, –, 14.6 %",
        before: "25.0, 11.8, –, 14.8 %",
        now: |figures| {
            let shares = ["haft-contract", "haft", "haft-app", "haft-sandbox"].map(|name| {
                let found = figures.workspace.crates.iter().find(|(other, _)| other == name);
                found.map_or("–".to_owned(), |(_, figures)| {
                    format!("{:.1}", figures.doc_percent())
                })
            });
            format!("{} %", shares.join(", "))
        },
        goal: "over 16 % each",
        ripgrep: "",
        jj: "",
        uv: "",
    },
    FigureRow {
        name: "comments",
        review: "1.0 %",
        before: "1.0 %",
        now: |figures| format!("{:.1} %", figures.workspace.all.comment_percent()),
        goal: "",
        ripgrep: "3–5 %",
        jj: "7.6 %",
        uv: "4.5 %",
    },
    FigureRow {
        name: "shared locks per 10,000 lines",
        review: "1.4",
        before: "1.3",
        now: |figures| format!("{:.1}", figures.workspace.all.locks_per_10_000()),
        goal: "below 0.5",
        ripgrep: "0.2",
        jj: "0.2",
        uv: "",
    },
    FigureRow {
        name: "`unwrap`, `expect`, `unsafe` blocks",
        review: "13, 36, 24",
        before: "0, 37, 23",
        now: |figures| {
            let all = &figures.workspace.all;
            format!("{}, {}, {}", all.unwraps, all.expects, all.unsafes)
        },
        goal: "",
        ripgrep: "81, 11, 4",
        jj: "464, 126, 1",
        uv: "",
    },
    FigureRow {
        name: "direct dependencies, longest list",
        review: "33 (cli)",
        before: "33 (haft-cli)",
        now: |figures| {
            let (name, count) = &figures.dependencies.longest_list;
            format!("{count} ({name})")
        },
        goal: "fewer",
        ripgrep: "10",
        jj: "52",
        uv: "99",
    },
    FigureRow {
        name: "crates from registries that members name",
        review: "",
        before: "63",
        now: |figures| figures.dependencies.named.to_string(),
        goal: "fewer",
        ripgrep: "",
        jj: "",
        uv: "",
    },
    FigureRow {
        name: "packages in the shipped program",
        review: "407",
        before: "407",
        now: |figures| {
            figures.dependencies.program.map_or("–".to_owned(), |count| count.to_string())
        },
        goal: "",
        ripgrep: "",
        jj: "",
        uv: "",
    },
];

/// Rewrites the table in a document.
pub(super) fn write(path: &Path, measurement: &Measurement) -> anyhow::Result<()> {
    let text =
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let text = replace_between(&text, BEGIN, END, &table(measurement))
        .with_context(|| format!("{} has no place for the figures", path.display()))?;
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

fn table(measurement: &Measurement) -> String {
    let mut text = String::from(
        "| figure | before, review | before | now | goal | ripgrep | jj | uv |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for row in ROWS {
        let now = (row.now)(measurement);
        let cells = [row.name, row.review, row.before, &now, row.goal, row.ripgrep, row.jj, row.uv];
        text.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    text
}

/// Writes a number with a comma before each group of three digits.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped_by_three() {
        assert_eq!([7, 123, 1234, 1_234_567].map(grouped), ["7", "123", "1,234", "1,234,567"]);
    }
}
