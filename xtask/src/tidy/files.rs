//! Files as such: how long they are, how they open, and whether anything builds them.
//!
//! A file that no module declares compiles nowhere and fails nowhere, which is how tests get lost.

use super::{FILE_LINES_MAX, TidyViolation};
use crate::fuzz;
use crate::repository::RepositoryFile;
use crate::rust_text::words;

/// Fails production files over the limit, and exceptions that are no longer needed.
pub(super) fn check_lengths(sources: &[RepositoryFile], exceptions: &[&str]) -> Vec<TidyViolation> {
    let mut violations = Vec::new();
    let mut long = Vec::new();
    for source in sources.iter().filter(|source| !source.is_test()) {
        let Some(rust) = &source.rust else { continue };
        // Inline test modules are not counted.
        let (mut lines, mut rest) = (0, rust.code.as_str());
        while !rest.is_empty() {
            let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
            let opening = after.find(['{', ';']).unwrap_or(after.len());
            let (head, body) = after.split_at(opening);
            let is_module = body.starts_with('{') && words(head).any(|word| word == "mod");
            if line.trim() == "#[cfg(test)]" && is_module {
                let mut depth = 0_usize;
                let close = body.find(|next: char| {
                    depth = depth + usize::from(next == '{') - usize::from(next == '}');
                    depth == 0
                });
                rest = close.map_or("", |close| &body[close..]);
                rest = rest.split_once('\n').map_or("", |(_, rest)| rest);
            } else {
                lines += 1;
                rest = after;
            }
        }
        if lines <= FILE_LINES_MAX {
            continue;
        }
        long.push(source.path.as_str());
        if !exceptions.contains(&source.path.as_str()) {
            let message =
                format!("{lines} lines, at most {FILE_LINES_MAX}; split it by the nouns in it");
            violations.push(TidyViolation::new(&source.path, lines, message));
        }
    }
    for exception in exceptions.iter().filter(|exception| !long.contains(exception)) {
        let message =
            "not longer than others any more; delete it from LONG_FILES in xtask/src/tidy.rs";
        violations.push(TidyViolation::new(exception, 1, message));
    }
    violations
}

/// Fails Rust files that do not open by saying what they are for.
pub(super) fn check_header(source: &RepositoryFile) -> Vec<TidyViolation> {
    let is_exempt = source.rust.is_none() || source.file_name() == "tests.rs";
    if is_exempt || source.text.starts_with("//!") {
        return Vec::new();
    }
    let message = "open with a `//!` paragraph: what the file is for and what it does not do";
    vec![TidyViolation::new(&source.path, 1, message)]
}

/// Fails files under a crate's `tests/` that its one integration binary does not build.
pub(super) fn check_test_place(source: &RepositoryFile) -> Vec<TidyViolation> {
    let Some(rest) = source.path.strip_prefix("crates/").and_then(|rest| rest.split_once('/'))
    else {
        return Vec::new();
    };
    let Some(inside) = rest.1.strip_prefix("tests/") else { return Vec::new() };
    if inside.starts_with("it/") || inside.starts_with("fixtures/") {
        return Vec::new();
    }
    let message =
        "integration tests are modules of tests/it/main.rs, their data is in tests/fixtures";
    vec![TidyViolation::new(&source.path, 1, message)]
}

/// Fails modules that their parent does not declare.
pub(super) fn check_declared(sources: &[RepositoryFile]) -> Vec<TidyViolation> {
    let mut violations = Vec::new();
    for source in sources.iter().filter(|source| source.rust.is_some()) {
        let path = source.path.strip_suffix(".rs").unwrap_or(&source.path);
        let path = path.strip_suffix("/mod").unwrap_or(path);
        let Some((dir, stem)) = path.rsplit_once('/') else { continue };
        // Other Rust files, such as examples, become modules of nothing.
        let parts: Vec<&str> = dir.split('/').collect();
        let is_in_module_tree =
            parts.contains(&"src") || parts.windows(2).any(|pair| pair == ["tests", "it"]);
        // Cargo itself finds these.
        let is_root = stem == "main" || stem == "lib" || dir.ends_with("/src/bin");
        if !is_in_module_tree || is_root {
            continue;
        }
        let parents = [".rs", "/mod.rs", "/main.rs", "/lib.rs"].map(|end| format!("{dir}{end}"));
        let parents: Vec<&RepositoryFile> =
            sources.iter().filter(|source| parents.contains(&source.path)).collect();
        let is_declared = parents.iter().filter_map(|parent| parent.rust.as_ref()).any(|rust| {
            let words = words(&rust.code);
            words.clone().zip(words.skip(1)).any(|pair| pair == ("mod", stem))
        });
        // An attribute or a macro of another file of the crate may name it.
        let crate_of = |path: &str| path.split('/').take(2).collect::<Vec<_>>().join("/");
        let ends = ["\"", "/"].map(|before| format!("{before}{}\"", source.file_name()));
        let mut others = sources.iter().filter(|other| {
            other.path != source.path
                && other.rust.is_some()
                && crate_of(&other.path) == crate_of(&source.path)
        });
        let includes = |line: &str| {
            (line.contains("#[path") || line.contains("include!("))
                && ends.iter().any(|end| line.contains(end))
        };
        if is_declared || others.any(|other| other.text.lines().any(includes)) {
            continue;
        }
        let parent = parents.first().map_or("its parent module", |parent| parent.path.as_str());
        let message = format!("never built: declare `mod {stem};` in {parent}, or delete the file");
        violations.push(TidyViolation::new(&source.path, 1, message));
    }
    violations
}

/// Fails fuzz targets that the manifest of `fuzz/` does not build.
pub(super) fn check_fuzz_targets(sources: &[RepositoryFile]) -> Vec<TidyViolation> {
    const MANIFEST: &str = "fuzz/Cargo.toml";
    let manifest = sources.iter().find(|source| source.path == MANIFEST);
    let declared = match fuzz::declared_targets(manifest.map_or("", |source| &source.text)) {
        Ok(declared) => declared,
        Err(err) => return vec![TidyViolation::new(MANIFEST, 1, err.to_string())],
    };
    let mut violations = Vec::new();
    for source in sources {
        let name = source.path.strip_prefix("fuzz/fuzz_targets/");
        let Some(name) = name.and_then(|name| name.strip_suffix(".rs")) else { continue };
        if !declared.iter().any(|target| target == name) {
            let message =
                format!("never built: add a [[bin]] with name = \"{name}\" to {MANIFEST}");
            violations.push(TidyViolation::new(&source.path, 1, message));
        }
    }
    violations
}
