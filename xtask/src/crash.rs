//! Kills haft again and again and looks each time whether it kept its word. The killing and the looking are an example
//! of `haft-tools`, which has the runtime, the journal and the tools at hand; here is only how it is started.

use std::path::Path;

use crate::UsageError;
use crate::process::{cargo, run as run_program};

const OPTIONS: [&str; 3] = ["--kills", "--seed", "--seconds"];
/// The share of it that every run of the tests does.
const KILLS_OF_TESTS: &str = "500";

/// Runs `cargo xtask crash`.
pub(crate) fn run(root: &Path, arguments: &[String]) -> anyhow::Result<()> {
    for pair in arguments.chunks(2) {
        let is_usable = match pair {
            [name, value] => OPTIONS.contains(&name.as_str()) && value.parse::<u64>().is_ok(),
            _ => false,
        };
        if !is_usable {
            let expected = OPTIONS.map(|name| format!("[{name} N]")).join(" ");
            return Err(UsageError(format!("`cargo xtask crash` takes {expected}")).into());
        }
    }
    // Ten thousand starts are worth an optimized build.
    start(root, &["--release"], arguments)
}

/// Runs as much of it as fits into a run of the tests, under a seed of its own each time; it is printed.
pub(crate) fn run_share(root: &Path) -> anyhow::Result<()> {
    start(root, &[], &["--kills".to_owned(), KILLS_OF_TESTS.to_owned()])
}

fn start(root: &Path, profile: &[&str], arguments: &[String]) -> anyhow::Result<()> {
    let mut command = cargo();
    command.current_dir(root).args(["run", "--quiet"]).args(profile);
    command.args(["--package", "haft-tools", "--example", "crash", "--"]).args(arguments);
    run_program(&mut command)
}
