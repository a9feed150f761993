//! Writes the figures into the table of docs/structure.md.
//!
//! Only the column «now» changes. The document itself holds the other columns, which were measured once.

use std::path::Path;

use anyhow::Context as _;

use super::Measurement;
use super::output::{FigureText, percentiles};
use crate::files;
use crate::markers::grouped;

/// The column «now», counted from the text before the first bar.
const NOW_COLUMN: usize = 4;

/// The names of the rows, each with its figure.
const FIGURES: &[(&str, FigureText<Measurement>)] = &[
    ("production lines", |figures| grouped(figures.workspace.all.lines)),
    ("production lines, shipped crates", |figures| grouped(figures.workspace.shipped.lines)),
    ("production files", |figures| figures.workspace.all.file_lines.len().to_string()),
    ("lines per file, p50/p90/max", |figures| {
        percentiles(&figures.workspace.all.file_lines, &[50, 90, 100])
    }),
    ("lines per function, p50/p90/p99/max", |figures| {
        percentiles(&figures.workspace.all.function_lines, &[50, 90, 99, 100])
    }),
    ("parameters, max", |figures| figures.workspace.all.parameters_max.to_string()),
    ("types", |figures| grouped(figures.workspace.all.types)),
    ("types with a repeated name", |figures| {
        let share = figures.workspace.all.repeated_percent();
        format!("{share:.1} % ({} names)", figures.workspace.repeated_names)
    }),
    ("visible types with a name that is not unique", |figures| {
        figures.workspace.all.repeated_visible_types.to_string()
    }),
    ("private functions used once", |figures| {
        format!("{:.1} %", figures.workspace.all.single_use_percent())
    }),
    ("files in the largest cycle", |figures| {
        let largest =
            figures.workspace.crates.iter().max_by_key(|(_, figures)| figures.largest_cycle());
        largest.map_or_else(String::new, |(name, figures)| match figures.largest_cycle() {
            0 => "0".to_owned(),
            files => format!("{files} of {} ({name})", figures.file_lines.len()),
        })
    }),
    ("imports between top-level modules; upward", |figures| {
        let all = &figures.workspace.all;
        format!("{}; {}", grouped(all.module_imports), all.upward_imports)
    }),
    ("documentation", |figures| format!("{:.1} %", figures.workspace.all.doc_percent())),
    ("documentation of contract, haft, app, sandbox", |figures| {
        let shares = ["haft-contract", "haft", "haft-app", "haft-sandbox"].map(|name| {
            let found = figures.workspace.crates.iter().find(|(other, _)| other == name);
            found.map_or("–".to_owned(), |(_, figures)| format!("{:.1}", figures.doc_percent()))
        });
        format!("{} %", shares.join(", "))
    }),
    ("comments", |figures| format!("{:.1} %", figures.workspace.all.comment_percent())),
    ("shared locks per 10,000 lines", |figures| {
        format!("{:.1}", figures.workspace.all.locks_per_10_000())
    }),
    ("`unwrap`, `expect`, `unsafe` blocks", |figures| {
        let all = &figures.workspace.all;
        format!("{}, {}, {}", all.unwraps, all.expects, all.unsafes)
    }),
    ("direct dependencies, longest list", |figures| {
        let (name, count) = &figures.dependencies.longest_list;
        format!("{count} ({name})")
    }),
    ("crates from registries that members name", |figures| figures.dependencies.named.to_string()),
    ("packages in the shipped program", |figures| {
        figures.dependencies.program.map_or("–".to_owned(), |count| count.to_string())
    }),
];

/// Rewrites the column of the present figures in a document.
pub(super) fn write(path: &Path, measurement: &Measurement) -> anyhow::Result<()> {
    let text = files::read(path)?;
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for (name, figure) in FIGURES {
        let row = lines
            .iter_mut()
            .find(|line| line.starts_with(&format!("| {name} |")))
            .with_context(|| format!("{} has no row «{name}»", path.display()))?;
        let mut cells: Vec<&str> = row.split('|').collect();
        let now = format!(" {} ", figure(measurement));
        *cells.get_mut(NOW_COLUMN).with_context(|| format!("the row «{name}» is too short"))? =
            &now;
        *row = cells.join("|");
    }
    files::write(path, format!("{}\n", lines.join("\n")))
}
