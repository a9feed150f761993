//! The figures as a table for people and as JSON for programs.

use serde_json::{Value, json};

use super::Measurement;
use super::figures::{CodeFigures, percentile};

/// Returns a figure as text.
pub(super) type FigureText<T> = fn(&T) -> String;

/// The columns of the table of crates.
const COLUMNS: &[(&str, FigureText<CodeFigures>)] = &[
    ("lines", |figures| figures.lines.to_string()),
    ("files", |figures| figures.file_lines.len().to_string()),
    ("file p50/p90/max", |figures| percentiles(&figures.file_lines, &[50, 90, 100])),
    ("fn p50/p90/p99/max", |figures| percentiles(&figures.function_lines, &[50, 90, 99, 100])),
    ("params max", |figures| figures.parameters_max.to_string()),
    ("doc %", |figures| format!("{:.1}", figures.doc_percent())),
    ("comment %", |figures| format!("{:.1}", figures.comment_percent())),
    ("types", |figures| figures.types.to_string()),
    ("repeated %", |figures| format!("{:.1}", figures.repeated_percent())),
    ("visible twice", |figures| figures.repeated_visible_types.to_string()),
    ("single-use %", |figures| format!("{:.1}", figures.single_use_percent())),
    ("largest cycle", |figures| figures.largest_cycle().to_string()),
    ("upward/imports", |figures| format!("{}/{}", figures.upward_imports, figures.module_imports)),
    ("locks/10k", |figures| format!("{:.1}", figures.locks_per_10_000())),
    ("unwrap/expect/unsafe", |figures| {
        format!("{}/{}/{}", figures.unwraps, figures.expects, figures.unsafes)
    }),
];

/// Joins percentiles with slashes.
pub(super) fn percentiles(values: &[usize], ranks: &[usize]) -> String {
    let values: Vec<String> =
        ranks.iter().map(|rank| percentile(values, *rank).to_string()).collect();
    values.join("/")
}

/// Returns the table of all crates, the totals, and the dependencies.
pub(super) fn table(measurement: &Measurement) -> String {
    let workspace = &measurement.workspace;
    let header = std::iter::once("crate".to_owned())
        .chain(COLUMNS.iter().map(|(title, _)| (*title).to_owned()))
        .collect();
    let row = |name: &str, figures: &CodeFigures| -> Vec<String> {
        std::iter::once(name.to_owned())
            .chain(COLUMNS.iter().map(|(_, value)| value(figures)))
            .collect()
    };
    let mut rows: Vec<Vec<String>> = vec![header];
    rows.extend(workspace.crates.iter().map(|(name, figures)| row(name, figures)));
    rows.push(row("shipped", &workspace.shipped));
    rows.push(row("all", &workspace.all));
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or_default();
    let mut text = String::new();
    for row in &rows {
        text.push_str(&format!("{:<1$}", row[0], width(0)));
        for (column, cell) in row.iter().enumerate().skip(1) {
            text.push_str(&format!("  {cell:>0$}", width(column)));
        }
        text.push('\n');
    }
    let dependencies = &measurement.dependencies;
    let (name, count) = &dependencies.longest_list;
    text.push_str(&format!("\ntype names defined 3 times or more: {}\n", workspace.repeated_names));
    text.push_str(&format!("longest list of dependencies: {count} ({name})\n"));
    text.push_str(&format!("crates from registries that members name: {}\n", dependencies.named));
    if let Some(program) = dependencies.program {
        text.push_str(&format!("packages in the shipped program: {program}\n"));
    }
    for (name, figures) in &workspace.crates {
        for cycle in &figures.cycles {
            text.push_str(&format!("cycle in {name}: {}\n", cycle.join(" ")));
        }
    }
    text
}

/// Returns all figures as one object.
pub(super) fn json(measurement: &Measurement) -> Value {
    let workspace = &measurement.workspace;
    let dependencies = &measurement.dependencies;
    let crates: serde_json::Map<String, Value> = workspace
        .crates
        .iter()
        .map(|(name, figures)| (name.clone(), figures_json(figures)))
        .collect();
    json!({
        "all": figures_json(&workspace.all),
        "shipped": figures_json(&workspace.shipped),
        "crates": crates,
        "repeatedTypeNames": workspace.repeated_names,
        "dependencies": {
            "longestList": {
                "crate": dependencies.longest_list.0,
                "count": dependencies.longest_list.1,
            },
            "named": dependencies.named,
            "program": dependencies.program,
        },
    })
}

fn figures_json(figures: &CodeFigures) -> Value {
    json!({
        "lines": figures.lines,
        "docLines": figures.doc_lines,
        "commentLines": figures.comment_lines,
        "files": figures.file_lines.len(),
        "fileLines": percentiles_json(&figures.file_lines),
        "functions": figures.function_lines.len(),
        "functionLines": percentiles_json(&figures.function_lines),
        "parametersMax": figures.parameters_max,
        "privateFunctions": figures.private_functions,
        "singleUseFunctions": figures.single_use_functions,
        "types": figures.types,
        "repeatedTypes": figures.repeated_types,
        "repeatedVisibleTypes": figures.repeated_visible_types,
        "cycles": figures.cycles,
        "moduleImports": figures.module_imports,
        "upwardImports": figures.upward_imports,
        "sharedLocks": figures.shared_locks,
        "unwraps": figures.unwraps,
        "expects": figures.expects,
        "unsafes": figures.unsafes,
    })
}

fn percentiles_json(values: &[usize]) -> Value {
    json!({
        "p50": percentile(values, 50),
        "p90": percentile(values, 90),
        "p99": percentile(values, 99),
        "max": percentile(values, 100),
    })
}
