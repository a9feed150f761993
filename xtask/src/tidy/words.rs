//! Words that must not be in the repository: names that say nothing, markers of unfinished work,
//! forgotten macros, and places on one person's machine.
//!
//! Every needle is written so that it does not contain itself, because this file is searched too.

use super::TidyViolation;
use crate::repository::RepositoryFile;
use crate::rust_text::{has_word, is_word, words};

/// Names that say nothing of what is inside. A helper process, in the singular, is a thing.
const EMPTY_NAMES: &[&str] = &["utils", "helpers", "common", "manager", "service", "types"];

const MARKERS: &[&str] = &[concat!("TO", "DO"), concat!("FIX", "ME"), concat!("X", "XX")];

/// Files whose whole text is searched for markers.
const PLAIN_EXTENSIONS: &[&str] = &["", "toml", "yml", "yaml", "sh", "py", "js"];

/// Code that is for a moment only. Literals and comments are not code, so these may stand here.
const FORGOTTEN: &[(&str, &str)] = &[
    ("dbg!", "delete it"),
    ("todo!", "write what belongs here"),
    ("unimplemented!", "write what belongs here"),
    ("#[ignore", "a test that cannot run here says why and is counted; it is not ignored"),
];

/// Registries and mirrors are a person's own configuration.
const REGISTRIES: &[&str] = &[
    concat!("index.", "crates"),
    concat!("sparse", "+http"),
    concat!("arti", "factory"),
    concat!("replace", "-with"),
];

const ROOT_HOME: &str = concat!("/ro", "ot/");
const HOMES: &[&str] = &[concat!("/ho", "me/"), concat!("/Us", "ers/")];
/// Names that documentation may use in examples.
const EXAMPLE_HOMES: &[&str] = &["you", "user", "alice", "ada", "me"];

/// Fails markers of unfinished work, in comments and prose.
pub(super) fn check_markers(source: &RepositoryFile) -> Vec<TidyViolation> {
    let text = match (&source.rust, source.extension()) {
        (Some(rust), _) => rust.comments.clone(),
        (None, "md") => prose(&source.text),
        (None, extension) if PLAIN_EXTENSIONS.contains(&extension) => source.text.clone(),
        (None, _) => return Vec::new(),
    };
    let mut violations = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for marker in MARKERS.iter().filter(|marker| has_word(line, marker)) {
            let message = format!("{marker}: do it now, or open an issue and delete the marker");
            violations.push(TidyViolation::new(&source.path, index + 1, message));
        }
    }
    violations
}

/// Blanks code out of Markdown: an example may well search for a marker.
fn prose(markdown: &str) -> String {
    let mut is_fenced = false;
    let mut prose = String::new();
    for line in markdown.lines() {
        let is_fence = line.trim_start().starts_with("```");
        if is_fence {
            is_fenced = !is_fenced;
        } else if !is_fenced {
            prose.extend(line.split('`').step_by(2));
        }
        prose.push('\n');
    }
    prose
}

/// Fails macros and attributes that are for a moment only.
pub(super) fn check_macros(source: &RepositoryFile) -> Vec<TidyViolation> {
    let Some(rust) = &source.rust else { return Vec::new() };
    let mut violations = Vec::new();
    for (index, line) in rust.code.lines().enumerate() {
        for (needle, advice) in FORGOTTEN.iter().filter(|(needle, _)| has_word(line, needle)) {
            let message = format!("`{needle}` stayed behind: {advice}");
            violations.push(TidyViolation::new(&source.path, index + 1, message));
        }
    }
    violations
}

/// Fails modules and types whose name says nothing.
pub(super) fn check_names(source: &RepositoryFile) -> Vec<TidyViolation> {
    let Some(rust) = &source.rust else { return Vec::new() };
    let mut violations = Vec::new();
    let path = source.path.trim_end_matches(".rs");
    if let Some(name) = path.split('/').find(|part| EMPTY_NAMES.contains(part)) {
        let message = format!("`{name}` says nothing as a module's name; name the noun inside");
        violations.push(TidyViolation::new(&source.path, 1, message));
    }
    for (index, line) in rust.code.lines().enumerate() {
        // The trait, which may be foreign, names an associated type; it is the `type` that is indented and
        // not public.
        let is_associated = line.trim_start().starts_with("type ") && line.starts_with(' ');
        let words = words(line);
        for (keyword, name) in words.clone().zip(words.skip(1)) {
            let is_declared = ["mod", "struct", "enum", "trait", "union"].contains(&keyword)
                || (keyword == "type" && !is_associated);
            let is_empty = EMPTY_NAMES.iter().any(|empty| {
                let (first, rest) = empty.split_at(1);
                name == *empty || name.ends_with(&format!("{}{rest}", first.to_ascii_uppercase()))
            });
            if is_declared && is_empty {
                let message = format!("`{name}` ends in a word that says nothing; name the noun");
                violations.push(TidyViolation::new(&source.path, index + 1, message));
            }
        }
    }
    violations
}

/// Fails home directories and registries of one person's machine.
pub(super) fn check_machine_paths(source: &RepositoryFile) -> Vec<TidyViolation> {
    let mut violations = Vec::new();
    for (index, line) in source.text.lines().enumerate() {
        let starts_path = |(start, _): &(usize, &str)| {
            // `src` before its slash says no.
            let before = line[..*start].chars().next_back();
            before.is_none_or(|it| it.is_whitespace() || "\"'`=:([,>/".contains(it))
        };
        let root = line.match_indices(ROOT_HOME).find(starts_path);
        let mut homes = HOMES.iter().flat_map(|home| line.match_indices(home)).filter(starts_path);
        let home = homes.find_map(|(start, home)| {
            let rest = line[start + home.len()..].chars();
            let name: String = rest.take_while(|&c| is_word(c) || c == '-' || c == '.').collect();
            let is_real = !name.is_empty() && !EXAMPLE_HOMES.contains(&name.as_str());
            is_real.then(|| format!("{home}{name}"))
        });
        if let Some(path) = root.map(|(_, root)| root.to_owned()).or(home) {
            let message =
                format!("`{path}` is a place on one machine; in examples write /home/you");
            violations.push(TidyViolation::new(&source.path, index + 1, message));
        }
        for registry in REGISTRIES.iter().filter(|registry| line.contains(**registry)) {
            let message = format!("`{registry}` belongs in a person's own configuration");
            violations.push(TidyViolation::new(&source.path, index + 1, message));
        }
    }
    violations
}
