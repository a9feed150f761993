//! The manifests: versions and lints are given once, in the root, and nothing there is left over.
//!
//! Which crate may use which dependency is checked elsewhere, on what Cargo makes of the manifests.

use std::collections::BTreeSet;

use super::TidyViolation;
use crate::repository::RepositoryFile;

const ROOT: &str = "Cargo.toml";
const SECTIONS: &[&str] = &["dependencies", "dev-dependencies", "build-dependencies"];

/// Fails dependencies and lints not inherited from the workspace, and entries that no member inherits.
pub(super) fn check(sources: &[RepositoryFile]) -> Vec<TidyViolation> {
    let mut violations = Vec::new();
    let mut used = BTreeSet::new();
    for source in sources.iter().filter(|source| is_member(&source.path)) {
        let manifest = match source.text.parse::<toml::Table>() {
            Ok(manifest) => manifest,
            Err(err) => {
                violations.push(TidyViolation::new(&source.path, 1, err.message()));
                continue;
            }
        };
        for (name, dependency) in dependencies(&manifest) {
            if !is_inherited(dependency) {
                let message =
                    format!("write `{name}.workspace = true` and give the version in {ROOT}");
                let line = line_of(&source.text, name);
                violations.push(TidyViolation::new(&source.path, line, message));
            }
            used.insert(name.to_owned());
        }
        if !manifest.get("lints").is_some_and(is_inherited) {
            let message = "inherit the lints: `[lints]` with `workspace = true`";
            violations.push(TidyViolation::new(&source.path, 1, message));
        }
    }
    if let Some(root) = sources.iter().find(|source| source.path == ROOT) {
        violations.extend(check_unused(root, &used));
    }
    violations
}

/// Returns whether a path is the manifest of a workspace member; `fuzz/` is a separate workspace.
fn is_member(path: &str) -> bool {
    path == "xtask/Cargo.toml" || (path.starts_with("crates/") && path.ends_with("/Cargo.toml"))
}

fn check_unused(root: &RepositoryFile, used: &BTreeSet<String>) -> Vec<TidyViolation> {
    let manifest: toml::Table = match root.text.parse() {
        Ok(manifest) => manifest,
        Err(err) => return vec![TidyViolation::new(ROOT, 1, err.message())],
    };
    let declared = manifest.get("workspace").and_then(|workspace| workspace.get("dependencies"));
    let names = declared.and_then(toml::Value::as_table).into_iter().flat_map(toml::Table::keys);
    names
        .filter(|name| !used.contains(*name))
        .map(|name| {
            let message = format!("no crate uses `{name}`; delete it");
            TidyViolation::new(ROOT, line_of(&root.text, name), message)
        })
        .collect()
}

/// Returns all dependencies of a manifest, those for one platform too.
fn dependencies(manifest: &toml::Table) -> Vec<(&str, &toml::Value)> {
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    let targets =
        targets.into_iter().flat_map(toml::Table::values).filter_map(toml::Value::as_table);
    std::iter::once(manifest)
        .chain(targets)
        .flat_map(|table| SECTIONS.iter().filter_map(|section| table.get(*section)?.as_table()))
        .flat_map(|section| section.iter().map(|(name, value)| (name.as_str(), value)))
        .collect()
}

fn is_inherited(value: &toml::Value) -> bool {
    value.get("workspace").and_then(toml::Value::as_bool) == Some(true)
}

/// Returns the line that declares a name. The parsed form does not keep it.
fn line_of(text: &str, name: &str) -> usize {
    let declares = |line: &str| {
        line.strip_prefix(name).is_some_and(|rest| rest.starts_with([' ', '=', '.']))
            || line.trim_end().ends_with(&format!("dependencies.{name}]"))
    };
    text.lines().position(declares).map_or(1, |index| index + 1)
}
