//! Everything that CI checks, in one order: what is cheap and fails often first, the tests last.
//!
//! Each step prints one line with its time. The tests come last so that nextest's summary closes the
//! output; a step that fails ends the run, because what follows takes longer than mending it.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use crate::process::{cargo, run as run_program, succeeds};
use crate::{fleet, fuzz, generated, setup, site, test, tidy};

struct CiStep {
    name: &'static str,
    run: fn(&Path) -> anyhow::Result<()>,
}

const STEPS: &[CiStep] = &[
    CiStep {
        name: "fmt",
        run: |root| {
            run_cargo(root, &["fmt", "--all", "--check"])?;
            run_cargo(root, &["fmt", "--manifest-path", "fuzz/Cargo.toml", "--check"])?;
            run_cargo(root, &["fmt", "--manifest-path", fleet::MANIFEST, "--check"])
        },
    },
    CiStep { name: "tidy", run: |root| tidy::run(root, &[]) },
    CiStep {
        name: "clippy",
        run: |root| {
            let targets = ["clippy", "--quiet", "--workspace", "--all-targets"];
            run_cargo(root, &[&targets[..], &["--", "--deny", "warnings"]].concat())?;
            let fleet = ["clippy", "--quiet", "--manifest-path", fleet::MANIFEST, "--target-dir"];
            let rest = ["target/fleet", "--all-targets", "--", "--deny", "warnings"];
            run_cargo(root, &[&fleet[..], &rest].concat())
        },
    },
    CiStep {
        name: "docs",
        run: |root| {
            let arguments = ["doc", "--quiet", "--workspace", "--no-deps"];
            let mut doc = cargo();
            run_program(doc.current_dir(root).env("RUSTDOCFLAGS", "-D warnings").args(arguments))
        },
    },
    CiStep { name: "generated", run: |root| generated::run(root, &["--check".to_owned()]) },
    CiStep {
        name: "workflows",
        run: |root| {
            let actionlint = setup::ensure_package_tools(root)?.join("actionlint");
            run_program(Command::new(actionlint).current_dir(root))
        },
    },
    CiStep { name: "site", run: |root| site::run(root, &[]) },
    // Advisories are left out: their database is a repository to fetch, and a step that fails with
    // the network, or with the day, says nothing about the change under test.
    CiStep {
        name: "deny",
        run: |root| {
            setup::ensure_cargo_command(&setup::DENY)?;
            run_cargo(root, &["deny", "check", "bans", "licenses", "sources"])?;
            let fleet = ["deny", "--manifest-path", fleet::MANIFEST, "check"];
            run_cargo(root, &[&fleet[..], &["bans", "licenses", "sources"]].concat())
        },
    },
    CiStep {
        name: "fuzz",
        run: |root| fuzz::run(root, &["--seconds".to_owned(), "15".to_owned()]),
    },
    CiStep { name: "test", run: |root| test::run(root, &[]) },
];

/// Runs `cargo xtask ci`.
pub(crate) fn run(root: &Path, _arguments: &[String]) -> anyhow::Result<()> {
    ensure_component("fmt", "rustfmt")?;
    ensure_component("clippy", "clippy")?;
    for (index, step) in STEPS.iter().enumerate() {
        let is_last = index + 1 == STEPS.len();
        if is_last {
            eprintln!("ci: {} …", step.name);
        }
        let started = Instant::now();
        (step.run)(root).map_err(|err| err.context(format!("ci step `{}`", step.name)))?;
        if !is_last {
            eprintln!("ci: {} ok, {:.1} s", step.name, started.elapsed().as_secs_f64());
        }
    }
    Ok(())
}

/// A minimal toolchain lacks both components.
fn ensure_component(subcommand: &str, component: &str) -> anyhow::Result<()> {
    if succeeds(cargo().args([subcommand, "--version"])) {
        return Ok(());
    }
    run_program(Command::new("rustup").args(["component", "add", component]))
}

fn run_cargo(root: &Path, arguments: &[&str]) -> anyhow::Result<()> {
    run_program(cargo().current_dir(root).args(arguments))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tests_close_the_output() {
        assert_eq!(STEPS.last().map(|step| step.name), Some("test"));
    }
}
