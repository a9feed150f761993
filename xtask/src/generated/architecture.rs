//! The parts of ARCHITECTURE.md that follow from the code: the stages, the drawing of the crates, and their list.
//!
//! The edges are those of CRATE_EDGES, the descriptions those of the manifests.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Context as _;

use super::stages;
use crate::markers::replace_between;
use crate::tidy::{CRATE_EDGES, CrateEdges};

const STAGES_BEGIN: &str = "<!-- Stages, written by `cargo xtask generated`: begin -->";
const STAGES_END: &str = "<!-- Stages, written by `cargo xtask generated`: end -->";
const CRATES_BEGIN: &str = "<!-- Crates, written by `cargo xtask generated`: begin -->";
const CRATES_END: &str = "<!-- Crates, written by `cargo xtask generated`: end -->";

const DOCUMENT: &str = "ARCHITECTURE.md";

/// Returns the document with its generated part as it should be.
pub(super) fn render(root: &Path) -> anyhow::Result<String> {
    let committed = std::fs::read_to_string(root.join(DOCUMENT))
        .with_context(|| format!("cannot read {DOCUMENT}"))?;
    let crates = format!("{}\n{}", drawing(CRATE_EDGES), list(root, CRATE_EDGES)?);
    let text = replace_between(&committed, STAGES_BEGIN, STAGES_END, &stages::table(root)?)?;
    replace_between(&text, CRATES_BEGIN, CRATES_END, &crates)
}

/// Draws the crates of haft, each arrow from a crate to one that it depends on.
///
/// An arrow is left out if other arrows lead to the same crate.
fn drawing(crates: &[CrateEdges]) -> String {
    let mut arrows: Vec<(Vec<&str>, Vec<&str>)> = Vec::new();
    for row in crates.iter().rev().filter(|row| !row.dependencies.is_empty()) {
        let indirect: BTreeSet<&str> =
            row.dependencies.iter().flat_map(|dependency| reachable(crates, dependency)).collect();
        let direct: Vec<&str> = row
            .dependencies
            .iter()
            .copied()
            .filter(|dependency| !indirect.contains(dependency))
            .collect();
        match arrows.iter_mut().find(|(_, to)| *to == direct) {
            Some((from, _)) => from.push(row.name),
            None => arrows.push((vec![row.name], direct)),
        }
    }
    let lines: String = arrows
        .iter()
        .map(|(from, to)| format!("  {} --> {}\n", from.join(" & "), to.join(" & ")))
        .collect();
    format!("```mermaid\nflowchart TD\n{lines}```\n")
}

/// Returns the crates that a crate depends on, directly or not, without itself.
fn reachable<'table>(crates: &'table [CrateEdges], name: &str) -> BTreeSet<&'table str> {
    let mut found = BTreeSet::new();
    let mut open = vec![name];
    while let Some(name) = open.pop() {
        let row = crates.iter().find(|row| row.name == name);
        for dependency in row.into_iter().flat_map(|row| row.dependencies) {
            if found.insert(*dependency) {
                open.push(dependency);
            }
        }
    }
    found
}

fn list(root: &Path, crates: &[CrateEdges]) -> anyhow::Result<String> {
    let mut text = String::from("| crate | holds | builds on |\n|---|---|---|\n");
    for row in crates.iter().filter(|row| row.name != "xtask") {
        let manifest = root.join("crates").join(row.name).join("Cargo.toml");
        let manifest = std::fs::read_to_string(&manifest)
            .with_context(|| format!("cannot read {}", manifest.display()))?;
        let manifest: toml::Table = manifest.parse()?;
        let package = manifest.get("package");
        let description = package
            .and_then(|package| package.get("description"))
            .and_then(toml::Value::as_str)
            .with_context(|| format!("{} has no description", row.name))?;
        let short = |name: &str| name.strip_prefix("haft-").unwrap_or(name).to_owned();
        let dependencies: Vec<String> =
            row.dependencies.iter().map(|dependency| short(dependency)).collect();
        let name = row.name;
        text.push_str(&format!("| `{name}` | {description} | {} |\n", dependencies.join(", ")));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_crate_with_dependencies_starts_one_arrow() {
        let drawing = drawing(CRATE_EDGES);
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
