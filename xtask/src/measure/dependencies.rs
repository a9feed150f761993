//! How many crates the workspace names itself, and how many its program is built of.

use std::collections::BTreeSet;
use std::path::Path;

use crate::process::{capture, cargo};
use crate::repository::{DependencyKind, DependencyOrigin, Package};

/// The package whose crates are counted.
const PROGRAM: &str = "haft-cli";

pub(super) struct DependencyFigures {
    /// The package with the longest list of normal dependencies, and the length of that list.
    pub(super) longest_list: (String, usize),
    /// Crates from registries that any member names, tests included.
    pub(super) named: usize,
    /// Packages that the shipped program is built of, with its own; `None` without such a program.
    pub(super) program: Option<usize>,
}

impl DependencyFigures {
    /// Asks Cargo for what it would build on this platform.
    pub(super) fn of(root: &Path, packages: &[Package]) -> anyhow::Result<Self> {
        let list = |package: &Package| {
            let normal = package
                .dependencies
                .iter()
                .filter(|dependency| dependency.kind == DependencyKind::Normal);
            normal.map(|dependency| &dependency.name).collect::<BTreeSet<_>>().len()
        };
        let longest = packages.iter().max_by_key(|package| list(package));
        let named: BTreeSet<&str> = packages
            .iter()
            .flat_map(|package| &package.dependencies)
            .filter(|dependency| dependency.origin == DependencyOrigin::Registry)
            .map(|dependency| dependency.name.as_str())
            .collect();
        let mut program = None;
        if packages.iter().any(|package| package.name == PROGRAM) {
            let mut tree = cargo();
            tree.current_dir(root).args(["tree", "--package", PROGRAM, "--edges", "normal"]);
            let tree = capture(tree.args(["--prefix", "none", "--format", "{p}"]))?;
            let package =
                |line: &str| line.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
            let packages: BTreeSet<String> =
                tree.lines().map(package).filter(|package| !package.is_empty()).collect();
            program = Some(packages.len());
        }
        Ok(Self {
            longest_list: longest
                .map(|package| (package.name.clone(), list(package)))
                .unwrap_or_default(),
            named: named.len(),
            program,
        })
    }
}
