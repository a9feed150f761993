//! `unsafe` outside its crate or without its argument, and lints switched off without a reason.
//!
//! Whether a safety argument is true is for the reviewer.

use super::{TidyViolation, UNSAFE_CRATE_DIR};
use crate::repository::RepositoryFile;
use crate::rust_text::has_word;

/// How many lines of code may stand between the argument and the word.
const SAFETY_LINES_MAX: usize = 3;

/// Fails `unsafe` outside of its crate, and inside where no `// SAFETY:` stands before it.
pub(super) fn check_unsafe(source: &RepositoryFile) -> Vec<TidyViolation> {
    let Some(rust) = &source.rust else { return Vec::new() };
    let lines: Vec<&str> = source.text.lines().collect();
    let mut violations = Vec::new();
    for (index, code) in rust.code.lines().enumerate() {
        if !has_word(code, "unsafe") {
            continue;
        }
        if !source.path.starts_with(UNSAFE_CRATE_DIR) {
            let message = format!("`unsafe` belongs in {UNSAFE_CRATE_DIR} alone");
            violations.push(TidyViolation::new(&source.path, index + 1, message));
            continue;
        }
        let before = lines.get(..=index).unwrap_or_default();
        // The second is what rustdoc wants of an unsafe function.
        let is_argument =
            |line: &&str| line.contains("// SAFETY:") || line.trim() == "/// # Safety";
        let code_lines_since = before.iter().rposition(is_argument).map(|argument| {
            let since = before[argument + 1..].iter();
            since.filter(|line| !line.trim_start().starts_with("//")).count()
        });
        if code_lines_since.is_none_or(|count| count > SAFETY_LINES_MAX) {
            let message = "say in a `// SAFETY:` comment right above why this `unsafe` is sound";
            violations.push(TidyViolation::new(&source.path, index + 1, message));
        }
    }
    violations
}

/// Fails `allow` attributes that do not say why.
pub(super) fn check_allow(source: &RepositoryFile) -> Vec<TidyViolation> {
    let Some(rust) = &source.rust else { return Vec::new() };
    let mut violations = Vec::new();
    for opening in ["#[allow(", "#![allow("] {
        for (start, _) in rust.code.match_indices(opening) {
            let rest = &rust.code[start..];
            let attribute = rest.split_once(']').map_or(rest, |(attribute, _)| attribute);
            if !has_word(attribute, "reason") {
                let line = rust.code[..start].matches('\n').count() + 1;
                let message =
                    "write `#[expect(…, reason = \"…\")]`, which fails once it is not needed";
                violations.push(TidyViolation::new(&source.path, line, message));
            }
        }
    }
    violations
}
