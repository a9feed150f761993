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
        let lines = production_lines(&rust.code);
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

/// Counts the lines outside of inline test modules.
fn production_lines(code: &str) -> usize {
    let lines: Vec<&str> = code.lines().collect();
    let mut count = 0;
    let mut index = 0;
    while let Some(line) = lines.get(index) {
        let rest = lines.get(index..).unwrap_or_default();
        let skipped = if line.trim() == "#[cfg(test)]" { inline_module_lines(rest) } else { 0 };
        count += usize::from(skipped == 0);
        index += skipped.max(1);
    }
    count
}

/// Returns how many lines the module takes that opens after a `#[cfg(test)]`, or 0 if none does.
fn inline_module_lines(lines: &[&str]) -> usize {
    let mut depth = 0_usize;
    let mut item = String::new();
    for (index, line) in lines.iter().enumerate().skip(1) {
        if depth == 0 {
            item.push_str(line);
            item.push(' ');
        }
        for character in line.chars() {
            match character {
                '{' => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                ';' if depth == 0 => return 0,
                _ => {}
            }
        }
        let is_module = words(&item).any(|word| word == "mod");
        if depth == 0 && item.contains('{') {
            return if is_module { index + 1 } else { 0 };
        }
    }
    0
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
    let modules = sources.iter().filter(|source| source.rust.is_some());
    modules.filter_map(|source| check_module(source, sources)).collect()
}

fn check_module(source: &RepositoryFile, sources: &[RepositoryFile]) -> Option<TidyViolation> {
    let (dir, file_name) = source.path.rsplit_once('/')?;
    let (dir, stem) = match file_name.strip_suffix(".rs")? {
        "mod" => dir.rsplit_once('/')?,
        stem => (dir, stem),
    };
    if !is_in_module_tree(dir) || is_root(dir, stem) {
        return None;
    }
    let parents = [
        format!("{dir}.rs"),
        format!("{dir}/mod.rs"),
        format!("{dir}/main.rs"),
        format!("{dir}/lib.rs"),
    ];
    let parents: Vec<&RepositoryFile> =
        sources.iter().filter(|source| parents.contains(&source.path)).collect();
    if parents.iter().any(|parent| declares(parent, stem)) || is_included(source, sources) {
        return None;
    }
    let parent = parents.first().map_or("its parent module", |parent| parent.path.as_str());
    let message = format!("never built: declare `mod {stem};` in {parent}, or delete the file");
    Some(TidyViolation::new(&source.path, 1, message))
}

/// Returns whether Rust files in a directory become modules of something, as examples do not.
fn is_in_module_tree(dir: &str) -> bool {
    let parts: Vec<&str> = dir.split('/').collect();
    parts.contains(&"src") || parts.windows(2).any(|pair| pair == ["tests", "it"])
}

/// Returns whether Cargo itself finds the file.
fn is_root(dir: &str, stem: &str) -> bool {
    stem == "main" || stem == "lib" || dir.ends_with("/src/bin")
}

fn declares(parent: &RepositoryFile, module: &str) -> bool {
    let Some(rust) = &parent.rust else { return false };
    let mut previous = "";
    words(&rust.code).any(|word| {
        let found = previous == "mod" && word == module;
        previous = word;
        found
    })
}

/// Returns whether some file of the same directory tree names this one in an attribute or macro.
fn is_included(source: &RepositoryFile, sources: &[RepositoryFile]) -> bool {
    let crate_of = |path: &str| path.split('/').take(2).collect::<Vec<_>>().join("/");
    let quoted = [format!("\"{}\"", source.file_name()), format!("/{}\"", source.file_name())];
    sources.iter().filter(|other| other.path != source.path && other.rust.is_some()).any(|other| {
        crate_of(&other.path) == crate_of(&source.path)
            && other.text.lines().any(|line| {
                (line.contains("#[path") || line.contains("include!("))
                    && quoted.iter().any(|quoted| line.contains(quoted))
            })
    })
}

/// Fails fuzz targets that the manifest of `fuzz/` does not build.
pub(super) fn check_fuzz_targets(sources: &[RepositoryFile]) -> Vec<TidyViolation> {
    const MANIFEST: &str = "fuzz/Cargo.toml";
    let manifest = sources.iter().find(|source| source.path == MANIFEST);
    let declared = match fuzz::declared_targets(manifest.map_or("", |source| &source.text)) {
        Ok(declared) => declared,
        Err(err) => return vec![TidyViolation::new(MANIFEST, 1, err.to_string())],
    };
    let targets = sources.iter().filter_map(|source| {
        let name = source.path.strip_prefix("fuzz/fuzz_targets/")?.strip_suffix(".rs")?;
        Some((source, name.to_owned()))
    });
    targets
        .filter(|(_, name)| !declared.contains(name))
        .map(|(source, name)| {
            let message =
                format!("never built: add a [[bin]] with name = \"{name}\" to {MANIFEST}");
            TidyViolation::new(&source.path, 1, message)
        })
        .collect()
}
