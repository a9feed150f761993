//! The stages of the pipeline, as a table in the documentation of `pipeline/mod.rs` lists them.
//!
//! The rows must name the files of the functions that `run_stages` calls, in the same order.

use std::path::Path;

use anyhow::{Context as _, bail, ensure};

use crate::rust_text::is_word;

const PIPELINE: &str = "crates/haft/src/pipeline";

/// Returns the table of stages.
pub(super) fn table(root: &Path) -> anyhow::Result<String> {
    let pipeline = root.join(PIPELINE);
    let text = std::fs::read_to_string(pipeline.join("mod.rs"))
        .with_context(|| format!("cannot read {PIPELINE}/mod.rs"))?;
    let body = text
        .split_once("async fn run_stages(")
        .and_then(|(_, rest)| rest.split_once("\n}\n"))
        .with_context(|| format!("{PIPELINE}/mod.rs has no function `run_stages`"))?
        .0;
    let mut called = Vec::new();
    for (module, function) in calls(body) {
        if let Some(file) = defining_file(&pipeline, module, function)?
            && !called.contains(&file)
        {
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

/// Returns the file that defines a function of a module of the pipeline, if there is such a module.
fn defining_file(pipeline: &Path, module: &str, function: &str) -> anyhow::Result<Option<String>> {
    let mut names = vec![format!("{module}.rs")];
    if let Ok(folder) = std::fs::read_dir(pipeline.join(module)) {
        for entry in folder {
            names.push(format!("{module}/{}", entry?.file_name().to_string_lossy()));
        }
    }
    names.sort();
    let definition = format!("fn {function}(");
    let mut has_module = false;
    for name in names {
        let Ok(text) = std::fs::read_to_string(pipeline.join(&name)) else { continue };
        has_module = true;
        if text.contains(&definition) {
            return Ok(Some(name));
        }
    }
    if has_module {
        bail!("no file of the pipeline defines `{module}::{function}`");
    }
    Ok(None)
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
