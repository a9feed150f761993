//! Builds and tests `fleet/haft-temporal`, which is a separate workspace, on a real Temporal server and a real PostgreSQL server.
//!
//! The build keeps to `target/fleet`. Without optimisation and debug information, the SDK takes a few minutes once.

use std::path::Path;
use std::process::Command;

use anyhow::Context as _;

use crate::process::{cargo, run as run_program};
use crate::setup::{self, ClientPaths};
use crate::usage::{UsageError, unexpected_argument};

/// The manifest of the workspace.
pub(crate) const MANIFEST: &str = "fleet/haft-temporal/Cargo.toml";

/// The manifests for Kubernetes.
const MANIFESTS: [&str; 2] = ["worker.yaml", "gvisor.yaml"];

/// Runs `cargo xtask fleet`.
pub(crate) fn run(root: &Path, arguments: &[String]) -> anyhow::Result<()> {
    let kills = match arguments {
        [] => None,
        [option, kills] if option == "--kills" => {
            let number = kills.parse::<u32>().ok().filter(|kills| *kills > 0);
            Some(number.ok_or_else(|| {
                UsageError(format!("--kills takes a number from 1 up, not `{kills}`"))
            })?)
        }
        [argument, ..] => return Err(unexpected_argument("fleet", argument).into()),
    };
    let build = ["build", "--quiet", "--package", "haft-cli", "--bins"];
    run_program(cargo().current_dir(root).args(build))?;
    run_tests(root, &setup::ensure_all(root)?, kills)
}

/// Checks the manifests for Kubernetes against its schemas.
fn check_manifests(root: &Path, clients: &ClientPaths) -> anyhow::Result<()> {
    let python = clients.iter().find(|(name, _)| *name == "HAFT_TEST_PYTHON");
    let (_, python) = python.context("the set-up has no Python")?;
    let mut validate = Command::new(python.with_file_name("kubernetes-validate"));
    let manifests = MANIFESTS.map(|name| root.join("fleet/kubernetes").join(name));
    run_program(validate.args(["--quiet", "--strict"]).args(manifests))
}

/// Runs the tests on the program `haft` that is built, with this many kills, or with the default of the tests.
pub(crate) fn run_tests(
    root: &Path,
    clients: &ClientPaths,
    kills: Option<u32>,
) -> anyhow::Result<()> {
    check_manifests(root, clients)?;
    let target = root.join("target");
    let mut tests = cargo();
    tests.current_dir(root).args(["test", "--quiet", "--manifest-path", MANIFEST]);
    tests.arg("--target-dir").arg(target.join("fleet")).envs(clients.iter().cloned());
    tests.env("HAFT_TEST_HAFT", target.join("debug").join("haft"));
    if let Some(kills) = kills {
        tests.env("HAFT_FLEET_KILLS", kills.to_string());
    }
    run_program(&mut tests).context("the tests of haft-temporal")
}
