//! Simulates a fleet in virtual time. The simulation is an example of `haft-faults`; here is only how it is started.

use std::path::Path;

use crate::process::{cargo, run as run_program};
use crate::usage::UsageError;

const SUBJECT: &str = "fleet";

/// Runs `cargo xtask simulate`.
pub(crate) fn run(root: &Path, arguments: &[String]) -> anyhow::Result<()> {
    let Some((SUBJECT, options)) =
        arguments.split_first().map(|(subject, options)| (subject.as_str(), options))
    else {
        let expected = "`cargo xtask simulate` takes fleet [--seed S] [--workers N] [--calls N]";
        return Err(UsageError(expected.to_owned()).into());
    };
    // A million calls are worth an optimized build.
    let mut command = cargo();
    command.current_dir(root).args(["run", "--quiet", "--release", "--package", "haft-faults"]);
    command.args(["--example", "simulate_fleet", "--"]).args(options);
    run_program(&mut command)
}
