//! Committed files that a program writes: the stages and crates in ARCHITECTURE.md, the command line's reference and the limits.
//!
//! This file knows only where each text comes from. `--check` compares without writing.

mod architecture;
mod stages;

use std::path::Path;

use anyhow::{Context as _, bail};

use crate::limits;
use crate::process::{capture, cargo};
use crate::usage::unexpected_argument;

struct Generated {
    /// Relative to the root.
    path: &'static str,
    render: fn(&Path) -> anyhow::Result<String>,
}

const GENERATED: &[Generated] = &[
    Generated { path: "ARCHITECTURE.md", render: architecture::render },
    Generated { path: "crates/haft/docs/stages.md", render: stages::table },
    Generated { path: "docs/cli.md", render: |root| print(root, &["help-markdown"]) },
    Generated { path: "docs/limits.md", render: limits::render },
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum GeneratedMode {
    Write,
    Check,
}

/// Runs `cargo xtask generated`.
pub(crate) fn run(root: &Path, arguments: &[String]) -> anyhow::Result<()> {
    let mode = match arguments {
        [] => GeneratedMode::Write,
        [flag] if flag == "--check" => GeneratedMode::Check,
        [other, ..] => return Err(unexpected_argument("generated", other).into()),
    };
    let mut stale = Vec::new();
    for file in GENERATED {
        let text = (file.render)(root)?;
        let path = root.join(file.path);
        if std::fs::read_to_string(&path).is_ok_and(|committed| committed == text) {
            continue;
        }
        match mode {
            GeneratedMode::Check => stale.push(file.path),
            GeneratedMode::Write => {
                std::fs::write(&path, text)
                    .with_context(|| format!("cannot write {}", path.display()))?;
                println!("wrote {}", file.path);
            }
        }
    }
    if !stale.is_empty() {
        bail!("{} out of date; `cargo xtask generated` writes them anew", stale.join(", "));
    }
    Ok(())
}

/// Returns what `haft` prints.
fn print(root: &Path, arguments: &[&str]) -> anyhow::Result<String> {
    let mut haft = cargo();
    haft.current_dir(root).args(["run", "--quiet", "--package", "haft-cli", "--bin", "haft", "--"]);
    // The width and the colours of this terminal must not end up in a committed file.
    haft.args(arguments).env("NO_COLOR", "1").env_remove("COLUMNS");
    let text = capture(&mut haft)?;
    if text.trim().is_empty() {
        bail!("`haft {}` printed nothing", arguments.join(" "));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_check_flag_is_known() {
        for bad in ["--chek", "docs/cli.md"] {
            let err = run(Path::new("/nonexistent"), &[bad.to_owned()])
                .expect_err("nothing else is an argument");
            assert!(err.is::<crate::usage::UsageError>(), "{err:#}");
        }
    }
}
