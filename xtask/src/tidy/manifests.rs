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
    let mut root = None;
    for source in sources.iter().filter(|source| source.path.ends_with("Cargo.toml")) {
        // `fuzz/` is a separate workspace.
        let is_member = source.path == "xtask/Cargo.toml"
            || (source.path.starts_with("crates/") && source.path.ends_with("/Cargo.toml"));
        if !is_member && source.path != ROOT {
            continue;
        }
        let manifest = match source.text.parse::<toml::Table>() {
            Ok(manifest) => manifest,
            Err(err) => {
                violations.push(TidyViolation::new(&source.path, 1, err.message()));
                continue;
            }
        };
        if !is_member {
            root = Some((source, manifest));
            continue;
        }
        // The dependencies for one platform are in tables of it.
        let targets = manifest.get("target").and_then(toml::Value::as_table);
        let targets =
            targets.into_iter().flat_map(toml::Table::values).filter_map(toml::Value::as_table);
        let dependencies = std::iter::once(&manifest)
            .chain(targets)
            .flat_map(|table| SECTIONS.iter().filter_map(|section| table.get(*section)?.as_table()))
            .flatten();
        for (name, dependency) in dependencies {
            if !is_inherited(dependency) {
                let message =
                    format!("write `{name}.workspace = true` and give the version in {ROOT}");
                let line = line_of(&source.text, name);
                violations.push(TidyViolation::new(&source.path, line, message));
            }
            used.insert(name.clone());
        }
        if !manifest.get("lints").is_some_and(is_inherited) {
            let message = "inherit the lints: `[lints]` with `workspace = true`";
            violations.push(TidyViolation::new(&source.path, 1, message));
        }
    }
    if let Some((root, manifest)) = &root {
        let declared =
            manifest.get("workspace").and_then(|workspace| workspace.get("dependencies"));
        let names =
            declared.and_then(toml::Value::as_table).into_iter().flat_map(toml::Table::keys);
        for name in names.filter(|name| !used.contains(*name)) {
            let message = format!("no crate uses `{name}`; delete it");
            violations.push(TidyViolation::new(ROOT, line_of(&root.text, name), message));
        }
    }
    violations
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
