//! The requirements of the specifications, the tests that show them, and docs/specification.md.
//!
//! The texts lie outside of the repository. `spec/items` has one file for each text, with a short wording of every
//! requirement. Nothing here judges whether a test shows its requirement: readers do.

mod items;
mod page;
mod test_names;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context as _, bail, ensure};
use serde_json::Value;

use crate::files;
use crate::process::{capture, cargo, run as run_program};
use items::{SpecText, TEXTS};

const ARCHITECTURE: &str = "ARCHITECTURE.md";

/// Runs `cargo xtask spec`: checks the table, then runs the tests that it names.
pub(crate) fn run(root: &Path, _arguments: &[String]) -> anyhow::Result<()> {
    let texts = checked(root)?;
    let tests = named_tests(&texts);
    let (filter, packages) = nextest_filter(&tests);
    let nextest = |subcommand: &str| {
        let mut nextest = cargo();
        nextest.current_dir(root).args(["nextest", subcommand, "--filterset", &filter]);
        nextest.args(packages.iter().flat_map(|package| ["--package", package]));
        nextest
    };
    let listed = capture(nextest("list").args(["--message-format", "json"]))?;
    let found = matching_tests(&listed)?;
    ensure!(
        found == tests.len(),
        "the table names {} tests, and nextest finds {found} of them",
        tests.len()
    );
    run_program(&mut nextest("run"))?;
    println!("{}", page::summary(&texts));
    Ok(())
}

/// Fails if the table is not whole, or names tests or decisions that do not exist.
pub(crate) fn check(root: &Path) -> anyhow::Result<()> {
    checked(root).map(drop)
}

/// Returns the text of docs/specification.md.
pub(crate) fn render(root: &Path) -> anyhow::Result<String> {
    Ok(page::render(&checked(root)?))
}

/// Returns the table, without a mistake.
fn checked(root: &Path) -> anyhow::Result<Vec<SpecText>> {
    let directory = root.join("xtask/src/spec/items");
    let mut texts = Vec::new();
    for source in TEXTS {
        let file = format!("{}.toml", source.name);
        let text = files::read(&directory.join(&file))?;
        texts.push(source.parse(&text).with_context(|| format!("xtask/src/spec/items/{file}"))?);
    }
    let binaries = named_tests(&texts);
    let binaries: BTreeSet<&str> =
        binaries.iter().filter_map(|test| Some(test.split_once(' ')?.0)).collect();
    let existing = test_names::of_binaries(root, &binaries)?;
    // A decision may begin at the end of a line.
    let decisions = files::read(&root.join(ARCHITECTURE))?;
    let decisions = decisions.split_whitespace().collect::<Vec<_>>().join(" ");
    let problems: Vec<String> =
        texts.iter().flat_map(|text| text.problems(&existing, &decisions)).collect();
    if !problems.is_empty() {
        bail!("the table of requirements has mistakes:\n{}", problems.join("\n"));
    }
    Ok(texts)
}

/// Returns each test that the table names once, as nextest prints it: the binary, a blank and the path.
fn named_tests(texts: &[SpecText]) -> BTreeSet<&str> {
    let items = texts.iter().flat_map(|text| &text.items);
    items.flat_map(|item| item.tests.iter().map(String::as_str)).collect()
}

/// Returns nextest's filter for these tests, and the packages that they are in.
fn nextest_filter<'a>(tests: &BTreeSet<&'a str>) -> (String, BTreeSet<&'a str>) {
    let mut paths: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (binary, path) in tests.iter().filter_map(|test| test.split_once(' ')) {
        paths.entry(binary).or_default().push(format!("test(={path})"));
    }
    let filters: Vec<String> = paths
        .iter()
        .map(|(binary, paths)| format!("(binary_id({binary}) & ({}))", paths.join(" | ")))
        .collect();
    let packages = paths.keys().filter_map(|binary| binary.split("::").next()).collect();
    (filters.join(" | "), packages)
}

/// Returns how many tests of nextest's list match its filter.
fn matching_tests(listed: &str) -> anyhow::Result<usize> {
    let listed: Value = serde_json::from_str(listed).context("nextest's list is not JSON")?;
    let suites = listed["rust-suites"].as_object().context("nextest's list has no suites")?;
    let tests = suites.values().filter_map(|suite| suite["testcases"].as_object());
    let matches = |test: &&Value| test["filter-match"]["status"] == "matches";
    Ok(tests.map(|tests| tests.values().filter(matches).count()).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_names_each_test_in_its_binary() {
        let tests = BTreeSet::from(["haft-cli::it a::b", "haft-cli::it c", "haft d"]);
        let (filter, packages) = nextest_filter(&tests);
        let expect = "(binary_id(haft) & (test(=d))) | \
                      (binary_id(haft-cli::it) & (test(=a::b) | test(=c)))";
        assert_eq!((filter.as_str(), packages), (expect, BTreeSet::from(["haft", "haft-cli"])));
    }

    #[test]
    fn tests_that_match_are_counted() {
        let status = |status: &str| serde_json::json!({"filter-match": {"status": status}});
        let listed = serde_json::json!({"rust-suites": {
            "haft::it": {"testcases": {"a": status("matches"), "b": status("mismatch")}},
            "haft": {"testcases": {"c": status("matches")}},
        }});
        assert_eq!(matching_tests(&listed.to_string()).expect("it is a list"), 2);
        assert!(matching_tests("{}").is_err());
    }
}
