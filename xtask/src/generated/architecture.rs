//! The parts of ARCHITECTURE.md that follow from the code: the stages, the drawing of the crates, and their list.
//!
//! The edges are those of CRATE_EDGES, the descriptions those of the manifests.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Context as _;

use super::stages;
use crate::files;
use crate::markers::replace_between;
use crate::tidy::CRATE_EDGES;

const STAGES_BEGIN: &str = "<!-- Stages, written by `cargo xtask generated`: begin -->";
const STAGES_END: &str = "<!-- Stages, written by `cargo xtask generated`: end -->";
const CRATES_BEGIN: &str = "<!-- Crates, written by `cargo xtask generated`: begin -->";
const CRATES_END: &str = "<!-- Crates, written by `cargo xtask generated`: end -->";

/// Returns the document with its generated part as it should be.
pub(super) fn render(root: &Path) -> anyhow::Result<String> {
    let mut crates = drawing();
    crates.push_str("\n| crate | holds | builds on |\n|---|---|---|\n");
    for row in CRATE_EDGES.iter().filter(|row| row.name != "xtask") {
        let name = row.name;
        let manifest = files::read(&root.join("crates").join(name).join("Cargo.toml"))?;
        let manifest: toml::Table = manifest.parse()?;
        let description = manifest
            .get("package")
            .and_then(|package| package.get("description")?.as_str())
            .with_context(|| format!("{name} has no description"))?;
        let dependencies: Vec<&str> = row
            .dependencies
            .iter()
            .map(|name| name.strip_prefix("haft-").unwrap_or(name))
            .collect();
        crates.push_str(&format!("| `{name}` | {description} | {} |\n", dependencies.join(", ")));
    }
    let text = files::read(&root.join("ARCHITECTURE.md"))?;
    let text = replace_between(&text, STAGES_BEGIN, STAGES_END, &stages::table(root)?)?;
    replace_between(&text, CRATES_BEGIN, CRATES_END, &crates)
}

/// Draws the crates of haft, each arrow from a crate to one that it depends on.
///
/// An arrow is left out if other arrows lead to the same crate.
fn drawing() -> String {
    // The crates below each crate, directly or not. A row names only rows above it.
    let mut below: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut rows = Vec::new();
    for row in CRATE_EDGES {
        let (mut all, mut direct) = (BTreeSet::new(), row.dependencies.to_vec());
        all.extend(direct.iter().filter_map(|name| below.get(name)).flatten().copied());
        direct.retain(|name| !all.contains(name));
        all.extend(&direct);
        below.insert(row.name, all);
        rows.push((row.name, direct));
    }
    let mut arrows: Vec<(Vec<&str>, Vec<&str>)> = Vec::new();
    for (name, direct) in rows.into_iter().rev().filter(|(_, direct)| !direct.is_empty()) {
        match arrows.iter_mut().find(|(_, to)| *to == direct) {
            Some((from, _)) => from.push(name),
            None => arrows.push((vec![name], direct)),
        }
    }
    let lines: String = arrows
        .iter()
        .map(|(from, to)| format!("  {} --> {}\n", from.join(" & "), to.join(" & ")))
        .collect();
    format!("```mermaid\nflowchart TD\n{lines}```\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_crate_with_dependencies_starts_one_arrow() {
        let drawing = drawing();
        let starts: Vec<&str> = drawing
            .lines()
            .filter_map(|line| line.split_once(" --> "))
            .flat_map(|(from, _)| from.trim().split(" & "))
            .collect();
        for row in CRATE_EDGES.iter().filter(|row| !row.dependencies.is_empty()) {
            assert_eq!(
                starts.iter().filter(|start| **start == row.name).count(),
                1,
                "{}\n{drawing}",
                row.name
            );
        }
    }
}
