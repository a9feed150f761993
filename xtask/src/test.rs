//! Runs every test, or those that match a filter, after making sure that what they need is there.
//!
//! The last lines it prints are nextest's own summary. It does not build anything in release mode
//! and measures nothing.

use std::path::Path;

use crate::process::{cargo, run as run_program};
use crate::{crash, fleet, package, setup, spec};

/// Filters that mean the tests of packages contain this.
const PACKAGES: &str = "packages";

/// Runs `cargo xtask test`.
pub(crate) fn run(root: &Path, filters: &[String]) -> anyhow::Result<()> {
    // A table that names a test which is gone fails before the tests take their time.
    spec::check(root)?;
    let clients = setup::ensure_all(root)?;
    // nextest cannot run documentation tests. They go first, so that its summary closes the output;
    // a filter names tests of nextest, so that then they are left out, and so are the kills and
    // the fleet.
    if filters.is_empty() {
        run_program(cargo().current_dir(root).args(["test", "--workspace", "--doc", "--quiet"]))?;
        crash::run_share(root)?;
    }
    let nextest = || {
        let mut nextest = cargo();
        nextest.current_dir(root).args(["nextest", "run", "--workspace"]);
        nextest
    };
    let mut tests = nextest();
    tests.args(filters).envs(clients.iter().cloned());
    // Made of the programs that the tests build anyway. They take a while, so that a filter has to name them.
    if filters.is_empty() || filters.iter().any(|filter| filter.contains(PACKAGES)) {
        run_program(nextest().args(["--no-run", "--cargo-quiet"]))?;
        tests.env("HAFT_TEST_PACKAGES", package::make_for_tests(root)?);
    }
    if filters.is_empty() {
        fleet::run_tests(root, &clients, None)?;
    }
    run_program(&mut tests)
}
