//! The protocol's own conformance suite against the fixtures, for both revisions that haft speaks. The tests compare
//! its findings with the committed table in docs/conformance.md. `cargo xtask test` installs the suite and names its place.
//! Without the suite these tests fail.
#![expect(
    clippy::unwrap_used,
    reason = "the lint's exception for tests does not cover the functions that they share"
)]

use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use expect_test::expect_file;

/// The suite, beneath the directory of Node's packages.
const SUITE: &str = "node_modules/@modelcontextprotocol/conformance/dist/index.js";

/// The revisions that haft speaks.
const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];

/// Scenarios about features that only a program with the crate has. The programs of haft do not have them.
const CRATE_ONLY: [&str; 17] = [
    "logging-set-level",
    "tools-call-with-logging",
    "tools-call-sampling",
    "elicitation-sep1034-defaults",
    "resources-subscribe",
    "resources-unsubscribe",
    "prompts-get-embedded-resource",
    "prompts-get-with-image",
    "input-required-result-basic-sampling",
    "input-required-result-basic-list-roots",
    "input-required-result-multiple-input-requests",
    "input-required-result-multi-round",
    "input-required-result-non-tool-request",
    "input-required-result-capability-check",
    "input-required-result-unsupported-methods",
    "elicitation-sep1034-client-defaults",
    "sep-2322-client-request-state",
];

/// A running server with the fixtures. It ends with its input.
struct Fixtures {
    server: Child,
    url: String,
}

impl Fixtures {
    fn start() -> Self {
        let mut server = Command::new(env!("CARGO_BIN_EXE_haft-conformance"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut url).unwrap();
        Self { server, url: url.trim().to_owned() }
    }

    fn end(mut self) {
        drop(self.server.stdin.take());
        let ended = self.server.wait().unwrap();
        assert!(ended.success(), "{ended}");
    }
}

/// The suite's result for one scenario.
struct Outcome {
    scenario: String,
    passed: u32,
    failed: u32,
}

fn client(variable: &str) -> PathBuf {
    match std::env::var_os(variable) {
        Some(path) => path.into(),
        None => {
            panic!("{variable} is not set: run `cargo xtask test`, which installs what it names")
        }
    }
}

/// Which side the suite looks at.
#[derive(Clone, Copy)]
enum Side<'a> {
    /// The server at this address.
    Server(&'a str),
    /// The client, which it starts itself.
    Client,
}

impl Side<'_> {
    fn name(self) -> &'static str {
        match self {
            Self::Server(_) => "Server",
            Self::Client => "Client",
        }
    }

    fn args(self) -> [String; 3] {
        let args = match self {
            Self::Server(url) => ["server", "--url", url],
            Self::Client => ["client", "--command", env!("CARGO_BIN_EXE_haft-conformance-client")],
        };
        args.map(str::to_owned)
    }
}

/// Runs what a revision requires, and what it reports without requiring it.
fn run(side: Side<'_>, revision: &str) -> String {
    let place = tempfile::tempdir().unwrap();
    let output = Command::new(client("HAFT_TEST_NODE"))
        .current_dir(place.path())
        .env("NO_COLOR", "1")
        .arg(client("HAFT_TEST_NODE_PACKAGES").join(SUITE))
        .args(side.args())
        .args(["--requirements", revision])
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// Reads the lines of the summary: a mark, the scenario, and how many checks it passed and failed.
fn outcomes(report: &str) -> Vec<Outcome> {
    let (_, summary) = report.split_once("SUMMARY ===").unwrap_or_else(|| panic!("{report}"));
    let outcome = |line: &str| {
        let (scenario, counts) = line.split_once(": ")?;
        let (passed, failed) = counts.split_once(" passed, ")?;
        let scenario = scenario.strip_prefix(['✓', '✗'])?.trim().to_owned();
        let failed = failed.strip_suffix(" failed")?.parse().ok()?;
        Some(Outcome { scenario, passed: passed.parse().ok()?, failed })
    };
    summary.lines().filter_map(outcome).collect()
}

/// Returns the scenarios that are run without being required, each with the suite's reason.
fn not_required(report: &str) -> Vec<(String, String)> {
    let (_, listed) = report.split_once("Not scored for").unwrap_or_default();
    let reason = |line: &str| {
        let (scenario, reason) = line.trim().split_once(" (")?;
        let scenario = scenario.strip_prefix(['✓', '✗'])?.trim().to_owned();
        Some((scenario, reason.strip_suffix(')')?.to_owned()))
    };
    listed.lines().filter_map(reason).collect()
}

/// Returns the table of one revision, after making sure that nothing required has failed.
fn table(side: Side<'_>, revision: &str) -> String {
    let report = run(side, revision);
    let reasons = not_required(&report);
    let reason = |scenario: &str| reasons.iter().find(|(one, _)| one == scenario);
    let mut required = String::new();
    let mut others = String::new();
    for Outcome { scenario, passed, failed } in outcomes(&report) {
        match reason(&scenario) {
            None => {
                assert_eq!(failed, 0, "{scenario} is required by {revision}\n{report}");
                let mark = if CRATE_ONLY.contains(&&*scenario) { " (crate)" } else { "" };
                let _ = writeln!(required, "| {scenario}{mark} | {passed} | {failed} |");
            }
            Some((_, reason)) => {
                let _ = writeln!(others, "| {scenario} | {passed} | {failed} | {reason} |");
            }
        }
    }
    assert!(!required.is_empty(), "{report}");
    let side = side.name();
    format!(
        "## {side}, {revision}\n\n\
         | required | checks passed | failed |\n|---|---|---|\n{required}\n\
         | not required | checks passed | failed | because |\n|---|---|---|---|\n{others}\n"
    )
}

const INTRODUCTION: &str = "\
# Conformance

This file holds the results of the protocol's official conformance suite (`@modelcontextprotocol/conformance` 0.2.0-alpha.12) for haft. The test of
`haft-conformance` writes it (`UPDATE_EXPECT=1`) and runs in `cargo xtask test`. The test fails if this file differs from the
results, or if a check that a revision requires fails.

*Server.* The suite calls tools, resources and prompts by certain names. `crates/haft-conformance` offers them as ordinary tools of haft, through
the same pipeline, front end and listener as `haft serve`. `haft mcp` and `haft serve` offer their own tools, cut outputs as resources, skills as
prompts, and completion. Rows with «crate» are about features that only a program with the crate `haft-mcp` has: samplings, log lines, subscriptions,
and prompts with images or questions. haft has the extension for tasks only for `task` in the background, so no tool of the suite is one. It does not
implement parameters in headers that a tool's schema names.

*Client.* The client is haft's own. The tools of the suite's servers are tools of haft and are called through the same pipeline. The test accepts at once
the logins that a person would accept. In rows with «crate», the test also fills in the forms of servers. The programs decline these forms, because a
server may not ask the user through haft. haft does not implement two optional features: logins without a person, and proofs of
possession. haft calls no tool of the suite with the schema of another one.

";

#[test]
fn what_the_revisions_require_passes() {
    let fixtures = Fixtures::start();
    let mut found = INTRODUCTION.to_owned();
    for revision in REVISIONS {
        found.push_str(&table(Side::Server(&fixtures.url), revision));
    }
    fixtures.end();
    for revision in REVISIONS {
        found.push_str(&table(Side::Client, revision));
    }
    for scenario in CRATE_ONLY {
        assert!(found.contains(&format!("| {scenario} (crate) |")), "{scenario}");
    }
    expect_file!["../../../../docs/conformance.md"].assert_eq(&format!("{}\n", found.trim_end()));
}
