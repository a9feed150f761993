//! Committed files that haft itself writes: the command line's reference and the table of limits.
//!
//! Their text is the output of hidden commands of the `haft` binary, so that this file knows nothing
//! of what is in them. `--check` compares without writing.

use std::path::Path;

use anyhow::{Context as _, bail};

use crate::process::{capture, cargo};
use crate::unexpected;

struct Generated {
    /// Relative to the root.
    path: &'static str,
    /// Arguments of `haft` that print the file.
    arguments: &'static [&'static str],
}

const GENERATED: &[Generated] = &[
    Generated { path: "docs/cli.md", arguments: &["help-markdown"] },
    Generated { path: "docs/limits.md", arguments: &["help-limits"] },
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Write,
    Check,
}

/// Runs `cargo xtask generated`.
pub(crate) fn run(root: &Path, arguments: &[String]) -> anyhow::Result<()> {
    let mode = match arguments {
        [] => Mode::Write,
        [flag] if flag == "--check" => Mode::Check,
        [other, ..] => return Err(unexpected("generated", other).into()),
    };
    let mut stale = Vec::new();
    for file in GENERATED {
        let text = print(root, file)?;
        let path = root.join(file.path);
        if std::fs::read_to_string(&path).is_ok_and(|committed| committed == text) {
            continue;
        }
        match mode {
            Mode::Check => stale.push(file.path),
            Mode::Write => {
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

fn print(root: &Path, file: &Generated) -> anyhow::Result<String> {
    let mut haft = cargo();
    haft.current_dir(root).args(["run", "--quiet", "--package", "haft-cli", "--bin", "haft", "--"]);
    // Neither the width nor the colours of whoever runs this may end up in a committed file.
    haft.args(file.arguments).env("NO_COLOR", "1").env_remove("COLUMNS");
    let text = capture(&mut haft)?;
    if text.trim().is_empty() {
        bail!("`haft {}` printed nothing for {}", file.arguments.join(" "), file.path);
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
            assert!(err.is::<crate::UsageError>(), "{err:#}");
        }
    }
}
