//! Kills haft again and again and looks each time whether it kept its word. The killing and the looking are examples: one of
//! `haft-tools`, which has the runtime, the journal and the tools at hand, one of `haft-plan`, whose runs are plans,
//! one of `haft-agent`, whose runs are conversations, and one of `haft`, whose calls wait for the answers of other processes.
//! Here is only how they are started, and how the kills are shared out.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{cargo, run as run_program};
use crate::usage::UsageError;

const OPTIONS: [&str; 4] = ["--kills", "--agents", "--seed", "--seconds"];
const KILLS_DEFAULT: u64 = 500;
/// One kill in so many hits a plan, beyond those that hit calls: a plan lives through far fewer states than they do.
const KILLS_OF_CALLS_PER_PLAN: u64 = 10;
/// One in so many hits an agent, unless `--agents` says how many do.
const KILLS_OF_CALLS_PER_AGENT: u64 = 10;

/// One in so many hits a process that asks or answers.
const KILLS_OF_CALLS_PER_ASK: u64 = 10;

/// The package and the example that hit calls, those that hit plans, those that hit agents, and those that hit asks. Examples of all packages
/// share a directory.
const OF_CALLS: (&str, &str) = ("haft-tools", "crash");
const OF_PLANS: (&str, &str) = ("haft-plan", "crash_plans");
const OF_AGENTS: (&str, &str) = ("haft-agent", "crash_agents");

const OF_ASKS: (&str, &str) = ("haft", "crash_asks");

/// Runs `cargo xtask crash`.
pub(crate) fn run(root: &Path, arguments: &[String]) -> anyhow::Result<()> {
    let mut kills = KILLS_DEFAULT;
    let mut of_agents = None;
    // The arguments that all programs get.
    let mut shared = Vec::new();
    for pair in arguments.chunks(2) {
        let value = match pair {
            [name, value] if OPTIONS.contains(&name.as_str()) => value.parse::<u64>().ok(),
            _ => None,
        };
        let Some(value) = value else {
            let expected = OPTIONS.map(|name| format!("[{name} N]")).join(" ");
            return Err(UsageError(format!("`cargo xtask crash` takes {expected}")).into());
        };
        match pair.first().map(String::as_str) {
            Some("--agents") => {
                of_agents = Some(value);
                continue;
            }
            Some("--kills") => kills = value,
            _ => {}
        }
        shared.extend_from_slice(pair);
    }
    let of_agents = of_agents.unwrap_or(kills.div_ceil(KILLS_OF_CALLS_PER_AGENT));
    // Ten thousand starts are worth an optimized build.
    let profile = &["--release"];
    start(root, profile, OF_CALLS, &shared)?;
    // Of options that are given twice the last one holds.
    shared.extend(kills_option(kills.div_ceil(KILLS_OF_CALLS_PER_PLAN)));
    start(root, profile, OF_PLANS, &shared)?;
    shared.extend(kills_option(kills.div_ceil(KILLS_OF_CALLS_PER_ASK)));
    start(root, profile, OF_ASKS, &shared)?;
    shared.extend(kills_option(of_agents));
    start(root, profile, OF_AGENTS, &shared)
}

/// Runs the share that fits into a run of the tests, with a new seed each time. The seed is printed.
pub(crate) fn run_share(root: &Path) -> anyhow::Result<()> {
    // The tests build all examples of the workspace anyway. `cargo run` would build the dependencies of each package once
    // more, with the features that this package alone asks for.
    run_program(cargo().current_dir(root).args(["build", "--quiet", "--workspace", "--examples"]))?;
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let directory = target.join("debug/examples");
    for ((_, example), kills) in [
        (OF_CALLS, KILLS_DEFAULT),
        (OF_PLANS, KILLS_DEFAULT / KILLS_OF_CALLS_PER_PLAN),
        (OF_ASKS, KILLS_DEFAULT / KILLS_OF_CALLS_PER_ASK),
        (OF_AGENTS, KILLS_DEFAULT / KILLS_OF_CALLS_PER_AGENT),
    ] {
        let mut program = Command::new(directory.join(example));
        run_program(program.current_dir(root).args(kills_option(kills)))?;
    }
    Ok(())
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
