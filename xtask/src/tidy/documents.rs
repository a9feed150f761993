//! ARCHITECTURE.md stays short, and neither it nor README.md names files that are not there.
//!
//! Only names that start at the root, such as `crates/…`, are followed; prose is not checked.

use super::{ARCHITECTURE_LINES_MAX, TidyViolation};
use crate::repository::RepositoryFile;
use crate::rust_text::is_word;

const ARCHITECTURE: &str = "ARCHITECTURE.md";
const README: &str = "README.md";

/// Documents that commands and tests write. Their text comes from places that are checked.
const GENERATED: &[&str] = &[
    "docs/benchmarks.md",
    "docs/cli.md",
    "docs/conformance.md",
    "docs/limits.md",
    "docs/protected-paths.md",
    "docs/specification.md",
];

/// Returns whether no person writes a document.
pub(super) fn is_generated(path: &str) -> bool {
    GENERATED.contains(&path)
}

/// Fails missing or overlong documents and names in them that lead nowhere.
pub(super) fn check(sources: &[RepositoryFile]) -> Vec<TidyViolation> {
    let mut violations = Vec::new();
    for name in [ARCHITECTURE, README] {
        let Some(document) = sources.iter().find(|source| source.path == name) else {
            violations.push(TidyViolation::new(name, 1, "missing; every reader starts there"));
            continue;
        };
        for (index, line) in document.text.lines().enumerate() {
            let is_separator = |c: char| c.is_whitespace() || "`()[],;:\"'".contains(c);
            for path in line.split(is_separator).map(|path| path.trim_end_matches(['.', '/'])) {
                let is_path = ["crates/", "xtask/"].iter().any(|dir| path.starts_with(dir));
                // A pattern or a placeholder stands for many files.
                let is_name = path.chars().all(|c| is_word(c) || "/.-".contains(c));
                if !is_path || !is_name {
                    continue;
                }
                let mut inside = sources.iter().filter_map(|it| it.path.strip_prefix(path));
                if !inside.any(|rest| rest.is_empty() || rest.starts_with('/')) {
                    let message = format!("`{path}` does not exist; mend or delete the name");
                    violations.push(TidyViolation::new(name, index + 1, message));
                }
            }
        }
        let lines = document.text.lines().count();
        if name == ARCHITECTURE && lines > ARCHITECTURE_LINES_MAX {
            let message = format!("{lines} lines, at most {ARCHITECTURE_LINES_MAX}; say less");
            violations.push(TidyViolation::new(name, lines, message));
        }
    }
    violations
}
