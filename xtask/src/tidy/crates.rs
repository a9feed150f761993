//! Which crate may depend on which, where crates live, and who may name a restricted dependency.
//!
//! The tables are in the parent; whether the code uses what it depends on is not looked at.

use super::{CrateEdges, InTests, RestrictedDependency, TidyViolation};
use crate::repository::{DependencyKind, DependencyOrigin, Package};

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
            let name = dependency.name.as_str();
            let is_allowed = row.dependencies.contains(&name)
                || (dependency.kind == DependencyKind::Dev && row.dev_dependencies.contains(&name));
            if dependency.origin == DependencyOrigin::Workspace && !is_allowed {
                let message = format!(
                    "`{}` may not depend on `{}`; edges point down only, and the allowed ones are \
                     CRATE_EDGES in {TABLE_PATH}",
                    package.name, name
                );
                violations.push(TidyViolation::new(&package.manifest_path, 1, message));
            }
        }
    }
    violations.extend(stale(packages, "CRATE_EDGES", table.iter().map(|row| row.name)));
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
    let users = table.iter().flat_map(|row| row.users).copied();
    violations.extend(stale(packages, "RESTRICTED_DEPENDENCIES", users));
    violations
}

fn stale<'table>(
    packages: &[Package],
    table: &str,
    names: impl Iterator<Item = &'table str>,
) -> Vec<TidyViolation> {
    names
        .filter(|name| packages.iter().all(|package| package.name != *name))
        .map(|name| {
            let message = format!("{table} names `{name}`, which is no crate; delete the entry");
            TidyViolation::new(TABLE_PATH, 1, message)
        })
        .collect()
}
