//! The rules of the house that neither the compiler nor clippy knows, checked over all files at once.
//!
//! Each check is a pure function from a file, or from the whole repository, to violations; the tables
//! that a design change edits are in this file. It reports and mends nothing, and it knows Rust only
//! as text: what needs types is clippy's.

mod attributes;
mod callers;
mod crates;
mod documents;
mod files;
mod manifests;
mod markdown;
mod messages;
mod order;
mod prose;
mod sentences;

#[cfg(test)]
mod tests;
mod type_names;
mod words;

use std::path::Path;

use anyhow::bail;

use crate::repository::{Repository, RepositoryFile};
use crate::syntax::{ProductionFile, parse_production};
use crate::usage::unexpected_argument;

/// The crates of the workspace that a crate may depend on.
///
/// A new edge changes the design and deserves a separate commit.
pub(crate) struct CrateEdges {
    pub(crate) name: &'static str,
    pub(crate) dependencies: &'static [&'static str],
    /// Beyond the dependencies, in tests.
    dev_dependencies: &'static [&'static str],
}

/// A crate stands below the crates that it depends on.
pub(crate) const CRATE_EDGES: &[CrateEdges] = &[
    edges("haft-contract", &[], &[]),
    edges("haft-patch", &[], &[]),
    edges("haft-sandbox", &[], &[]),
    edges("haft-shell", &[], &[]),
    edges("haft-policy", &["haft-contract"], &[]),
    // In tests itself, with the feature that has its conformance suite.
    edges("haft-journal", &["haft-contract"], &["haft-journal"]),
    // Not shipped: journals that fail and workers that are killed, for the tests of whatever has a journal.
    edges("haft-faults", &["haft-contract", "haft-journal"], &[]),
    edges("haft-snapshot", &["haft-sandbox"], &[]),
    edges(
        "haft",
        &["haft-contract", "haft-policy", "haft-sandbox", "haft-journal", "haft-snapshot"],
        &["haft-faults"],
    ),
    // Tools are tested where callers meet them: behind the whole pipeline.
    edges(
        "haft-tools",
        &["haft-contract", "haft-patch", "haft-shell"],
        &["haft", "haft-policy", "haft-sandbox", "haft-journal", "haft-snapshot", "haft-faults"],
    ),
    edges("haft-mcp", &["haft-contract", "haft"], &["haft-policy", "haft-sandbox", "haft-journal"]),
    // Asks language servers, which are programs like those of other tools: the contract is enough.
    edges("haft-lsp", &["haft-contract"], &["haft", "haft-policy", "haft-sandbox", "haft-journal"]),
    edges("haft-server", &[], &[]),
    // Not shipped: a server that speaks the wires of providers, for tests of whatever asks models.
    edges("haft-scripted-model", &[], &[]),
    edges("haft-model", &["haft-contract"], &["haft-model", "haft-scripted-model"]),
    // Reads untrusted pages. Only the crate that runs it in a separate process depends on it.
    edges("haft-reader", &["haft-contract"], &[]),
    // Not shipped: the tools that the protocol's conformance suite calls, offered through all of haft.
    edges(
        "haft-conformance",
        &["haft-contract", "haft-policy", "haft-journal", "haft", "haft-mcp", "haft-server"],
        &[],
    ),
    // A tool in Python is a tool like any other, so that its host needs the contract only.
    edges(
        "haft-python",
        &["haft-contract"],
        &["haft", "haft-policy", "haft-sandbox", "haft-journal"],
    ),
    edges(
        "haft-plan",
        // The analysis of commands knows where a program reads code.
        &["haft-contract", "haft-shell", "haft-journal", "haft-model", "haft"],
        &["haft-policy", "haft-sandbox", "haft-faults"],
    ),
    // Beside what plans need: what an agent narrows itself to is written in rules.
    edges(
        "haft-agent",
        &["haft-contract", "haft-journal", "haft-model", "haft-policy", "haft"],
        &["haft-sandbox", "haft-tools", "haft-scripted-model", "haft-faults"],
    ),
    // The other side of what agents are: an editor that speaks with them.
    edges(
        "haft-acp",
        &["haft-contract", "haft-patch", "haft-journal", "haft", "haft-model", "haft-agent"],
        &["haft-policy", "haft-scripted-model", "haft-tools"],
    ),
    // Puts together everything that a front end runs. It reads configuration, and the environment through its host.
    edges(
        "haft-app",
        &[
            "haft-contract",
            "haft-policy",
            "haft-sandbox",
            "haft-journal",
            "haft-snapshot",
            "haft-model",
            "haft",
            "haft-tools",
            "haft-python",
            "haft-plan",
            "haft-agent",
            "haft-lsp",
            "haft-mcp",
        ],
        &[],
    ),
    // Pages over the journal, for people with a browser. The guard is the server's.
    edges(
        "haft-inspector",
        &[
            "haft-app",
            "haft-contract",
            "haft-policy",
            "haft-journal",
            "haft-snapshot",
            "haft",
            "haft-plan",
            "haft-agent",
            "haft-server",
        ],
        &[],
    ),
    edges(
        "haft-cli",
        &[
            "haft-app",
            "haft-contract",
            "haft-policy",
            "haft-patch",
            "haft-sandbox",
            "haft-shell",
            "haft-journal",
            "haft-snapshot",
            "haft-model",
            "haft",
            "haft-tools",
            "haft-reader",
            "haft-python",
            "haft-plan",
            "haft-agent",
            "haft-acp",
            "haft-mcp",
            "haft-server",
            "haft-inspector",
        ],
        &["haft-lsp", "haft-scripted-model"],
    ),
    edges("xtask", &[], &[]),
];

const fn edges(
    name: &'static str,
    dependencies: &'static [&'static str],
    dev_dependencies: &'static [&'static str],
) -> CrateEdges {
    CrateEdges { name, dependencies, dev_dependencies }
}

/// A dependency from outside that few crates may name, so that it can be replaced in one place.
struct RestrictedDependency {
    name: &'static str,
    users: &'static [&'static str],
    in_tests: InTests,
}

/// Whether a restricted dependency may serve the tests of other crates.
#[derive(Clone, Copy, PartialEq, Eq)]
enum InTests {
    Anywhere,
    UsersOnly,
}

const RESTRICTED_DEPENDENCIES: &[RestrictedDependency] = &[
    restricted("agent-client-protocol", &["haft-acp"], InTests::UsersOnly),
    restricted("anyhow", &["haft-cli", "xtask"], InTests::Anywhere),
    restricted("askama", &["haft-inspector"], InTests::UsersOnly),
    restricted("axum", &["haft-server"], InTests::UsersOnly),
    restricted("genai", &["haft-model"], InTests::UsersOnly),
    restricted("indicatif", &["haft-cli"], InTests::UsersOnly),
    restricted("reqwest", &["haft-model", "haft", "haft-mcp"], InTests::UsersOnly),
    restricted("rmcp", &["haft-mcp"], InTests::UsersOnly),
    restricted("rusqlite", &["haft-journal"], InTests::Anywhere),
];

const fn restricted(
    name: &'static str,
    users: &'static [&'static str],
    in_tests: InTests,
) -> RestrictedDependency {
    RestrictedDependency { name, users, in_tests }
}

/// The one crate that may contain `unsafe`.
const UNSAFE_CRATE_DIR: &str = "crates/haft-sandbox/";

const FILE_LINES_MAX: usize = 800;

/// Uniform tables that are easier to read whole than cut.
const LONG_FILES: &[&str] = &[];

const ARCHITECTURE_LINES_MAX: usize = 250;

/// Something that breaks a rule, and how to mend it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct TidyViolation {
    path: String,
    line: usize,
    message: String,
}

impl TidyViolation {
    fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into() }
    }
}

impl std::fmt::Display for TidyViolation {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}:{}: {}", self.path, self.line, self.message)
    }
}

const SOURCE_CHECKS: &[fn(&RepositoryFile) -> Vec<TidyViolation>] = &[
    attributes::check_unsafe,
    attributes::check_allow,
    files::check_header,
    files::check_test_place,
    words::check_markers,
    words::check_macros,
    words::check_names,
    words::check_machine_paths,
    messages::check_advice,
];

const REPOSITORY_CHECKS: &[fn(&Repository) -> Vec<TidyViolation>] = &[
    |repository| crates::check_edges(&repository.packages, CRATE_EDGES),
    |repository| crates::check_places(&repository.packages),
    |repository| crates::check_restricted(&repository.packages, RESTRICTED_DEPENDENCIES),
    |repository| callers::check(&repository.sources, callers::SOLE_CALLERS),
    |repository| files::check_lengths(&repository.sources, LONG_FILES),
    |repository| files::check_declared(&repository.sources),
    |repository| files::check_fuzz_targets(&repository.sources),
    |repository| manifests::check(&repository.sources),
    |repository| documents::check(&repository.sources),
    |repository| messages::check_looks(&repository.sources, messages::FOREIGN_MESSAGES),
    |repository| sentences::check(&repository.sources),
];

type CodeCheck = fn(&[ProductionFile]) -> Vec<TidyViolation>;

const CODE_CHECKS: &[CodeCheck] =
    &[|code| order::check(code, order::MODULE_ORDER), |code| type_names::check(code)];

/// Runs `cargo xtask tidy`.
pub(crate) fn run(root: &Path, arguments: &[String]) -> anyhow::Result<()> {
    let repository = Repository::read(root)?;
    let code = parse_production(&repository.sources)?;
    match arguments {
        [] => {}
        [flag] if flag == "--lower" => {
            return prose::lower_baseline(root, &repository.sources, &code);
        }
        [flag, prefixes @ ..] if flag == "--prose" => {
            prose::print(&repository.sources, &code, prefixes);
            return Ok(());
        }
        [other, ..] => return Err(unexpected_argument("tidy", other).into()),
    }
    let violations = violations(&repository, &code);
    for violation in &violations {
        println!("{violation}");
    }
    match violations.len() {
        0 => Ok(()),
        1 => bail!("1 violation"),
        count => bail!("{count} violations"),
    }
}

fn violations(repository: &Repository, code: &[ProductionFile]) -> Vec<TidyViolation> {
    let of_sources =
        SOURCE_CHECKS.iter().flat_map(|check| repository.sources.iter().flat_map(check));
    let of_all = REPOSITORY_CHECKS.iter().flat_map(|check| check(repository));
    let of_code = CODE_CHECKS.iter().flat_map(|check| check(code));
    let mut violations: Vec<TidyViolation> = of_sources.chain(of_all).chain(of_code).collect();
    violations.extend(prose::check(&repository.sources, code));
    violations.sort();
    violations
}
