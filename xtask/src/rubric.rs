//! Runs the bad calls of `crates/haft-cli/tests/fixtures/rubric/calls.jsonl` through `haft mcp`, and prints how many answers name a
//! next step and how long they are. The test `rubric` does the work, so that every run of the tests checks the answers.

use std::path::Path;

use crate::process::{cargo, run as run_program};
use crate::usage::unexpected_argument;

/// Runs `cargo xtask rubric`.
pub(crate) fn run(root: &Path, arguments: &[String]) -> anyhow::Result<()> {
    let mut nextest = cargo();
    nextest.current_dir(root).args(["nextest", "run", "--package", "haft-cli"]);
    nextest.args(["--success-output", "immediate", "--filterset", "test(rubric::)"]);
    match arguments {
        [] => {}
        [argument] if argument == "--write" => {
            nextest.env("UPDATE_EXPECT", "1");
        }
        [argument, ..] => return Err(unexpected_argument("rubric", argument).into()),
    }
    run_program(&mut nextest)
}
