//! Runs every test, or those that match a filter, after making sure that what they need is there.
//!
//! The last lines it prints are nextest's own summary. It does not build anything in release mode
//! and measures nothing.

use std::path::Path;

use crate::process::{cargo, run as run_program};
use crate::{crash, setup, spec};

/// Runs `cargo xtask test`.
pub(crate) fn run(root: &Path, filters: &[String]) -> anyhow::Result<()> {
    // A table that names a test which is gone fails before the tests take their time.
    spec::check(root)?;
    let clients = setup::ensure_all(root)?;
    // nextest cannot run documentation tests. They go first, so that its summary closes the output;
    // a filter names tests of nextest, so that then they are left out, and so are the kills.
    if filters.is_empty() {
        run_program(cargo().current_dir(root).args(["test", "--workspace", "--doc", "--quiet"]))?;
        crash::run_share(root)?;
    }
    let mut nextest = cargo();
    nextest.current_dir(root).args(["nextest", "run", "--workspace"]).args(filters);
    run_program(nextest.envs(clients))
}
