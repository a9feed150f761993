//! Runs at length what `cargo xtask test` and `cargo xtask ci` run short: kills, fuzzing, and shell lines beside bash.

use std::path::Path;

use crate::process::{cargo, run as run_program};
use crate::{crash, fleet, fuzz, simulate};

/// Kills of calls; a tenth as many more hit plans, and agents.
const KILLS: &str = "6000";
/// Kills of workers and servers of a fleet.
const FLEET_KILLS: &str = "500";
/// Seconds for each fuzz target.
const FUZZ_SECONDS: &str = "600";
/// Generated shell lines that are compared with bash.
const SHELL_LINES: &str = "100000";

/// Runs `cargo xtask soak`.
pub(crate) fn run(root: &Path, _arguments: &[String]) -> anyhow::Result<()> {
    crash::run(root, &["--kills", KILLS].map(str::to_owned))?;
    simulate::run(root, &["fleet".to_owned()])?;
    fleet::run(root, &["--kills", FLEET_KILLS].map(str::to_owned))?;
    fuzz::run(root, &["--seconds", FUZZ_SECONDS].map(str::to_owned))?;
    let mut lines = cargo();
    lines.current_dir(root).env("HAFT_SHELL_LINES", SHELL_LINES);
    // Each run takes other lines.
    lines.env("HAFT_SHELL_SEED", (std::process::id() % 256).to_string());
    // nextest would end a test that takes so long.
    let test = ["--test", "it", "what_bash_runs_is_found", "--", "--nocapture"];
    run_program(lines.args(["test", "--quiet", "--package", "haft-shell"]).args(test))
}
