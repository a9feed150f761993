//! How large the packages are, and how long installers need for them, beside other programs that come as wheels and npm packages.
//! Downloads are not part of the times: each file lies on the disk before.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::Context as _;

use super::Bench;
use super::report::{ReportSection, ReportTable, time_table};
use super::turns::{Entrant, interleave};
use crate::markers::grouped;
use crate::process::{capture, run as run_program};
use crate::{files, package};

const ROUNDS: usize = 10;
const WHEELS: &str = "pip install, wheel";
const NPM: &str = "npm install, package of the platform";

const ABOUT: &str = "\
The packages of the programs that are built here, with the compression of a release, and those that PyPI and npm have for this platform today. *pip
install* puts one wheel into an empty directory, without an index and without compiling Python. *npm install* puts the package with the programs into an
empty directory, offline.";

/// Another program, from a registry.
struct PackagedPeer {
    name: &'static str,
    case: &'static str,
    package: &'static str,
}

const PACKAGED_PEERS: &[PackagedPeer] = &[
    PackagedPeer { name: "uv", case: WHEELS, package: "uv" },
    PackagedPeer { name: "ruff", case: WHEELS, package: "ruff" },
    PackagedPeer { name: "codex", case: NPM, package: "@openai/codex" },
];

pub(super) fn measure(bench: &Bench) -> anyhow::Result<ReportSection> {
    let dir = bench.make_dir("packages")?;
    let programs = bench.peers.programs().next().and_then(Path::parent);
    let made = dir.join("made");
    let packages =
        package::make_for_bench(&bench.root, programs.context("haft is in no directory")?, &made)?;
    let mut sizes = ReportTable::new(&["package", "bytes"]);
    let mut installed = Vec::new();
    for (name, bytes) in &packages {
        let case = match name {
            _ if name.ends_with(".whl") => Some(WHEELS),
            _ if name.starts_with("haft-linux-") => Some(NPM),
            _ if name.ends_with(".deb") || name.ends_with(".tar.gz") => None,
            // The rest is small.
            _ => continue,
        };
        sizes.row([name.clone(), grouped(bytes)]);
        installed.extend(case.map(|case| (case, "haft", Ok(made.join(name)))));
    }
    for peer in PACKAGED_PEERS {
        let file = download(peer, &dir.join(peer.name));
        if let Ok(file) = &file {
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            sizes.row([name, grouped(file.metadata()?.len())]);
        }
        installed.push((peer.case, peer.name, file));
    }
    let mut entrants = Vec::new();
    for (case, name, file) in installed {
        let file = match file {
            Ok(file) => file,
            Err(err) => {
                entrants.push(Entrant::absent(
                    case,
                    name,
                    &format!("not fetched: {}", first_line(&err)),
                ));
                continue;
            }
        };
        let target = dir.join(format!("{name}-installed"));
        entrants.push(Entrant::new(case, name, 1, move || {
            files::remove_dir(&target)?;
            files::create_dir(&target)?;
            let mut install = installer(bench, case, &file, &target);
            let begin = Instant::now();
            run_program(&mut install)?;
            Ok(begin.elapsed())
        }));
    }
    let cases = interleave(entrants, bench.rounds(ROUNDS))?;
    Ok(ReportSection::new("Packages", ABOUT, vec![sizes, time_table(&cases)]))
}

/// Returns the command that installs a file into an empty directory.
fn installer(bench: &Bench, case: &str, file: &Path, target: &Path) -> Command {
    if case == NPM {
        let mut npm = Command::new("npm");
        npm.args([
            "install",
            "--offline",
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
            "--silent",
        ]);
        npm.arg("--prefix").arg(target).arg(file);
        return npm;
    }
    let mut pip = pip(bench.peers.test_python.as_deref());
    pip.args(["install", "--no-index", "--no-deps", "--no-compile", "--target"]);
    pip.arg(target).arg(file);
    pip
}

fn pip(python: Option<&Path>) -> Command {
    let mut pip = Command::new(python.unwrap_or(Path::new("python3")));
    pip.args(["-m", "pip", "--quiet", "--disable-pip-version-check"]);
    pip
}

/// Fetches the package that a registry has for this platform into a directory, and returns its file.
fn download(peer: &PackagedPeer, dir: &Path) -> anyhow::Result<PathBuf> {
    files::create_dir(dir)?;
    if peer.case == WHEELS {
        let mut pip = pip(None);
        pip.args(["download", "--no-deps", "--only-binary", ":all:", "--dest"]).arg(dir);
        capture(pip.arg(peer.package))?;
    } else {
        // codex has its platforms as versions of one package.
        let version = capture(Command::new("npm").args(["view", peer.package, "version"]))?;
        let platform = if cfg!(target_arch = "x86_64") { "linux-x64" } else { "linux-arm64" };
        let name = format!("{}@{}-{platform}", peer.package, version.trim());
        capture(Command::new("npm").current_dir(dir).args(["pack", "--silent", &name]))?;
    }
    files::list(dir)?.pop().context("the registry gave no file")
}

fn first_line(err: &anyhow::Error) -> String {
    err.to_string().lines().next().unwrap_or_default().to_owned()
}
