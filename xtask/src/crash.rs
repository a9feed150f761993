//! Kills haft again and again and looks each time whether it kept its word. The killing and the looking are examples: one of
//! `haft-tools`, which has the runtime, the journal and the tools at hand, and one of `haft-plan`, whose runs are plans.
//! Here is only how they are started, and how the kills are shared out.

use std::path::Path;

use crate::UsageError;
use crate::process::{cargo, run as run_program};

const OPTIONS: [&str; 3] = ["--kills", "--seed", "--seconds"];
const KILLS_DEFAULT: u64 = 500;
/// One kill in so many hits a plan, beyond those that hit calls: a plan lives through far fewer states than they do.
const KILLS_OF_CALLS_PER_PLAN: u64 = 10;

/// The package and the example that hit calls, and those that hit plans. Examples of all packages share a directory.
const OF_CALLS: (&str, &str) = ("haft-tools", "crash");
const OF_PLANS: (&str, &str) = ("haft-plan", "crash_plans");

/// Runs `cargo xtask crash`.
pub(crate) fn run(root: &Path, arguments: &[String]) -> anyhow::Result<()> {
    let mut kills = KILLS_DEFAULT;
    for pair in arguments.chunks(2) {
        let value = match pair {
            [name, value] if OPTIONS.contains(&name.as_str()) => value.parse::<u64>().ok(),
            _ => None,
        };
        let Some(value) = value else {
            let expected = OPTIONS.map(|name| format!("[{name} N]")).join(" ");
            return Err(UsageError(format!("`cargo xtask crash` takes {expected}")).into());
        };
        if pair.first().is_some_and(|name| name == "--kills") {
            kills = value;
        }
    }
    // Ten thousand starts are worth an optimized build.
    let profile = &["--release"];
    start(root, profile, OF_CALLS, arguments)?;
    // Of options that are given twice the last one holds.
    let mut arguments = arguments.to_vec();
    arguments.extend(kills_option(kills.div_ceil(KILLS_OF_CALLS_PER_PLAN)));
    start(root, profile, OF_PLANS, &arguments)
}

/// Runs as much of it as fits into a run of the tests, under a seed of its own each time; it is printed.
pub(crate) fn run_share(root: &Path) -> anyhow::Result<()> {
    start(root, &[], OF_CALLS, &kills_option(KILLS_DEFAULT))?;
    start(root, &[], OF_PLANS, &kills_option(KILLS_DEFAULT / KILLS_OF_CALLS_PER_PLAN))
}

fn kills_option(kills: u64) -> [String; 2] {
    ["--kills".to_owned(), kills.to_string()]
}

fn start(
    root: &Path,
    profile: &[&str],
    (package, example): (&str, &str),
    arguments: &[String],
) -> anyhow::Result<()> {
    let mut command = cargo();
    command.current_dir(root).args(["run", "--quiet"]).args(profile);
    command.args(["--package", package, "--example", example, "--"]).args(arguments);
    run_program(&mut command)
}
