//! Committed files that a program writes: the stages and crates in ARCHITECTURE.md, the command line's reference, the limits,
//! the requirements of the specifications, and the entry in the registry of MCP servers.
//!
//! This file knows only where each text comes from. `--check` compares without writing.

mod architecture;
mod stages;

use std::path::Path;

use anyhow::ensure;

use crate::process::{capture, cargo};
use crate::usage::unexpected_argument;
use crate::{files, limits, package, spec};

struct Generated {
    /// Relative to the root.
    path: &'static str,
    render: fn(&Path) -> anyhow::Result<String>,
}

const GENERATED: &[Generated] = &[
    Generated { path: "ARCHITECTURE.md", render: architecture::render },
    Generated { path: "crates/haft/docs/stages.md", render: stages::table },
    Generated { path: "docs/cli.md", render: |root| printed_page(root, "cli") },
    Generated { path: "docs/limits.md", render: limits::render },
    Generated {
        path: "docs/protected-paths.md",
        render: |root| printed_page(root, "protected-paths"),
    },
    Generated { path: "docs/specification.md", render: spec::render },
    Generated { path: "server.json", render: package::server_json },
];

/// Returns a page that `haft` prints.
fn printed_page(root: &Path, page: &str) -> anyhow::Result<String> {
    let mut haft = cargo();
    haft.current_dir(root).args(["run", "--quiet", "--package", "haft-cli"]);
    haft.args(["--bin", "haft", "--", "help-markdown", page]);
    // The width and the colours of this terminal must not end up in a committed file.
    let text = capture(haft.env("NO_COLOR", "1").env_remove("COLUMNS"))?;
    ensure!(!text.trim().is_empty(), "`haft help-markdown {page}` printed nothing");
    Ok(text)
}

/// Runs `cargo xtask generated`.
pub(crate) fn run(root: &Path, arguments: &[String]) -> anyhow::Result<()> {
    let is_check = match arguments {
        [] => false,
        [flag] if flag == "--check" => true,
        [other, ..] => return Err(unexpected_argument("generated", other).into()),
    };
    let mut stale = Vec::new();
    for file in GENERATED {
        let text = (file.render)(root)?;
        let path = root.join(file.path);
        if std::fs::read_to_string(&path).is_ok_and(|committed| committed == text) {
            continue;
        }
        if is_check {
            stale.push(file.path);
        } else {
            files::write(&path, text)?;
            println!("wrote {}", file.path);
        }
    }
    ensure!(
        stale.is_empty(),
        "{} out of date; `cargo xtask generated` writes them anew",
        stale.join(", ")
    );
    Ok(())
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
