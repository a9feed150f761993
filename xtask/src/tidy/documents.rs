//! ARCHITECTURE.md stays short, and neither it nor README.md names files that are not there.
//!
//! Only names that start at the root, such as `crates/…`, are followed; prose is not checked.

use super::{ARCHITECTURE_LINES_MAX, TidyViolation};
use crate::repository::RepositoryFile;
use crate::rust_text::is_word;

const ARCHITECTURE: &str = "ARCHITECTURE.md";
const README: &str = "README.md";

/// Documents that commands and tests write. Their text comes from places that are checked.
const GENERATED: &[&str] =
    &["docs/benchmarks.md", "docs/cli.md", "docs/conformance.md", "docs/limits.md"];

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
        violations.extend(check_file_names(document, sources));
        let lines = document.text.lines().count();
        if name == ARCHITECTURE && lines > ARCHITECTURE_LINES_MAX {
            let message = format!("{lines} lines, at most {ARCHITECTURE_LINES_MAX}; say less");
            violations.push(TidyViolation::new(name, lines, message));
        }
    }
    violations
}

fn check_file_names(document: &RepositoryFile, sources: &[RepositoryFile]) -> Vec<TidyViolation> {
    let mut violations = Vec::new();
    for (index, line) in document.text.lines().enumerate() {
        for name in file_names(line).filter(|name| !exists(name, sources)) {
            let message = format!("`{name}` does not exist; mend or delete the name");
            violations.push(TidyViolation::new(&document.path, index + 1, message));
        }
    }
    violations
}

/// Returns what looks like a path from the root in backticks or in a fenced map.
fn file_names(line: &str) -> impl Iterator<Item = &str> {
    let is_separator = |c: char| c.is_whitespace() || "`()[],;:\"'".contains(c);
    line.split(is_separator)
        .filter(|name| name.starts_with("crates/") || name.starts_with("xtask/"))
        .map(|name| name.trim_end_matches(['.', '/']))
        // A pattern or a placeholder stands for many files.
        .filter(|name| name.chars().all(|c| is_word(c) || "/.-".contains(c)))
}

fn exists(name: &str, sources: &[RepositoryFile]) -> bool {
    sources.iter().any(|source| {
        let rest = source.path.strip_prefix(name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}
