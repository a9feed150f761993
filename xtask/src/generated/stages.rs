//! The stages of the pipeline, as a table in the documentation of `pipeline/mod.rs` lists them.
//!
//! The rows must name the files of the functions that `run_stages` calls, in the same order.

use std::path::Path;

use anyhow::{Context as _, ensure};

use crate::files;
use crate::rust_text::is_word;

const PIPELINE: &str = "crates/haft/src/pipeline";

/// Returns the table of stages.
pub(super) fn table(root: &Path) -> anyhow::Result<String> {
    let pipeline = root.join(PIPELINE);
    let text = files::read(&pipeline.join("mod.rs"))?;
    let body = text
        .split_once("async fn run_stages(")
        .and_then(|(_, rest)| rest.split_once("\n}\n"))
        .with_context(|| format!("{PIPELINE}/mod.rs has no function `run_stages`"))?
        .0;
    let mut called = Vec::new();
    for (module, function) in calls(body) {
        let mut names = vec![format!("{module}.rs")];
        if let Ok(folder) = std::fs::read_dir(pipeline.join(module)) {
            for entry in folder {
                names.push(format!("{module}/{}", entry?.file_name().to_string_lossy()));
            }
        }
        names.sort();
        let text = |name: &String| std::fs::read_to_string(pipeline.join(name)).ok();
        let mut texts = names.into_iter().filter_map(|name| Some((text(&name)?, name))).peekable();
        // A path that names no module of the pipeline is no stage.
        if texts.peek().is_none() {
            continue;
        }
        let definition = format!("fn {function}(");
        let (_, file) = texts
            .find(|(text, _)| text.contains(&definition))
            .with_context(|| format!("no file of the pipeline defines `{module}::{function}`"))?;
        if !called.contains(&file) {
            called.push(file);
        }
    }
    let rows = documented_rows(&text);
    let listed: Vec<&str> = rows.iter().skip(2).filter_map(|row| row.split('`').nth(1)).collect();
    ensure!(
        listed == called,
        "{PIPELINE}/mod.rs lists the stages {listed:?}, but `run_stages` passes through {called:?}"
    );
    Ok(format!("{}\n", rows.join("\n")))
}

/// Returns the lines of the table in a file's documentation.
fn documented_rows(text: &str) -> Vec<&str> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("//! "));
    lines.filter(|line| line.starts_with('|')).collect()
}

/// Returns the calls of the form `module::function(…)`, in order.
fn calls(body: &str) -> Vec<(&str, &str)> {
    let mut calls = Vec::new();
    for (end, _) in body.match_indices('(') {
        let before = &body[..end];
        let start = before.rfind(|c: char| !is_word(c) && c != ':').map_or(0, |index| index + 1);
        if let Some(call) = before[start..].split_once("::")
            && !call.1.contains(':')
        {
            calls.push(call);
        }
    }
    calls
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_paths_of_two_names() {
        let body = "let a = one::f(x, two::g(y)?).await; h(); a::b::c(); Some(x)";
        assert_eq!(calls(body), [("one", "f"), ("two", "g")]);
    }

    #[test]
    fn rows_are_taken_from_the_documentation() {
        let text = "//! Stages.\n//!\n//! | stage |\n//! |---|\n//! | recall |\n//! More.\nmod a; // | b |\n";
        assert_eq!(documented_rows(text), ["| stage |", "|---|", "| recall |"]);
    }
}
