//! Which crate may depend on which, where crates live, and who may name a restricted dependency.
//!
//! The tables are in the parent; whether the code uses what it depends on is not looked at.

use super::{CrateEdges, InTests, RestrictedDependency, TidyViolation};
use crate::repository::{Dependency, DependencyKind, DependencyOrigin, Package};

const TABLE_PATH: &str = "xtask/src/tidy.rs";

/// Fails edges between our crates that the table does not have, and rows of crates that are gone.
pub(super) fn check_edges(packages: &[Package], table: &[CrateEdges]) -> Vec<TidyViolation> {
    let mut violations = Vec::new();
    for package in packages {
        let Some(row) = table.iter().find(|row| row.name == package.name) else {
            let message = format!("`{}` has no row in CRATE_EDGES of {TABLE_PATH}", package.name);
            violations.push(TidyViolation::new(&package.manifest_path, 1, message));
            continue;
        };
        for dependency in &package.dependencies {
            if dependency.origin == DependencyOrigin::Workspace && !is_allowed(row, dependency) {
                let message = format!(
                    "`{}` may not depend on `{}`; edges point down only, and the allowed ones are \
                     CRATE_EDGES in {TABLE_PATH}",
                    package.name, dependency.name
                );
                violations.push(TidyViolation::new(&package.manifest_path, 1, message));
            }
        }
    }
    let names: Vec<&str> = packages.iter().map(|package| package.name.as_str()).collect();
    let rows = table.iter().map(|row| (row.name, "CRATE_EDGES"));
    violations.extend(stale(rows, &names));
    violations
}

/// Fails crates whose directory is not `crates/<name>`; xtask alone is no crate of haft.
pub(super) fn check_places(packages: &[Package]) -> Vec<TidyViolation> {
    let mut violations = Vec::new();
    for package in packages {
        let expected = match package.name.as_str() {
            "xtask" => "xtask/Cargo.toml".to_owned(),
            name => format!("crates/{name}/Cargo.toml"),
        };
        if package.manifest_path != expected {
            let message = format!("`{}` belongs at {expected}, one level deep", package.name);
            violations.push(TidyViolation::new(&package.manifest_path, 1, message));
        }
    }
    violations
}

/// Fails restricted dependencies in crates that may not have them, and users that are gone.
pub(super) fn check_restricted(
    packages: &[Package],
    table: &[RestrictedDependency],
) -> Vec<TidyViolation> {
    let mut violations = Vec::new();
    for package in packages {
        for dependency in &package.dependencies {
            let Some(row) = table.iter().find(|row| row.name == dependency.name) else { continue };
            let is_user = row.users.contains(&package.name.as_str());
            let is_free =
                dependency.kind == DependencyKind::Dev && row.in_tests == InTests::Anywhere;
            if !is_user && !is_free {
                let message = format!(
                    "`{}` may not depend on `{}`, which belongs to {} alone",
                    package.name,
                    row.name,
                    row.users.join(" and ")
                );
                violations.push(TidyViolation::new(&package.manifest_path, 1, message));
            }
        }
    }
    let names: Vec<&str> = packages.iter().map(|package| package.name.as_str()).collect();
    let users =
        table.iter().flat_map(|row| row.users).map(|user| (*user, "RESTRICTED_DEPENDENCIES"));
    violations.extend(stale(users, &names));
    violations
}

fn is_allowed(row: &CrateEdges, dependency: &Dependency) -> bool {
    let name = dependency.name.as_str();
    let is_dev = dependency.kind == DependencyKind::Dev;
    row.dependencies.contains(&name) || (is_dev && row.dev_dependencies.contains(&name))
}

fn stale<'table>(
    rows: impl Iterator<Item = (&'table str, &'table str)>,
    names: &[&str],
) -> Vec<TidyViolation> {
    rows.filter(|(name, _)| !names.contains(name))
        .map(|(name, table)| {
            let message = format!("{table} names `{name}`, which is no crate; delete the entry");
            TidyViolation::new(TABLE_PATH, 1, message)
        })
        .collect()
}
