//! The .deb, installed by dpkg into a directory that stands for a machine, used there by root and another user, and removed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::stage::{PackageStage, is_root, run};

/// The file with which AppArmor says that it has rules for user namespaces.
const APPARMOR_4: &str = "etc/apparmor.d/abi/4.0";
const PROFILE: &str = "etc/apparmor.d/haft";

/// A directory that stands for a machine.
struct DebianRoot {
    stage: PackageStage,
    package: PathBuf,
}

impl DebianRoot {
    fn new() -> Self {
        let stage = PackageStage::new();
        let package = stage.package("_amd64.deb", "_arm64.deb");
        let root = stage.path("");
        for name in ["root/var/lib/dpkg/info", "root/var/lib/dpkg/updates", "root/etc/apparmor.d"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        fs::write(root.join("root/var/lib/dpkg/status"), "").unwrap();
        Self { stage, package }
    }

    fn path(&self, relative: &str) -> PathBuf {
        self.stage.path("root").join(relative)
    }

    /// Returns dpkg, which needs to be root, at least in a namespace.
    fn dpkg(&self) -> Command {
        let mut dpkg = match is_root() {
            true => self.stage.command("dpkg"),
            false => {
                let mut unshare = self.stage.command("unshare");
                unshare.args(["--user", "--map-root-user", "dpkg"]);
                unshare
            }
        };
        // The scripts run here, and are told the directory. The C library is the machine's.
        dpkg.args(["--force-script-chrootless", "--force-depends"])
            .arg("--root")
            .arg(self.path(""));
        dpkg.arg("--log=/dev/null").env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        dpkg
    }
}

/// Returns all files below a directory, relative to it and sorted.
fn files(root: &Path) -> Vec<String> {
    let listing = run(Command::new("find").arg(root).args(["!", "-type", "d", "-printf", "%P\n"]));
    let mut files: Vec<String> = listing.lines().map(str::to_owned).collect();
    files.sort();
    files
}

#[test]
fn dpkg_installs_everything_and_removes_it_again() {
    let machine = DebianRoot::new();
    fs::create_dir_all(machine.path("etc/apparmor.d/abi")).unwrap();
    fs::write(machine.path(APPARMOR_4), "").unwrap();
    let before = files(&machine.path(""));
    run(machine.dpkg().arg("--install").arg(&machine.package));
    let installed = files(&machine.path("usr"));
    for expected in [
        "bin/haft",
        "bin/haft-agent",
        "bin/haft-reader",
        "share/bash-completion/completions/haft",
        "share/doc/haft/changelog.gz",
        "share/doc/haft/copyright",
        "share/doc/haft/haft.cdx.json",
        "share/fish/vendor_completions.d/haft.fish",
        "share/man/man1/haft-mcp-add.1.gz",
        "share/man/man1/haft.1.gz",
        "share/zsh/vendor-completions/_haft",
    ] {
        assert!(installed.iter().any(|file| file == expected), "{expected}: {installed:?}");
    }
    let profile = fs::read_to_string(machine.path(PROFILE)).unwrap();
    assert!(
        profile.contains(
            "\nprofile haft \"/usr/bin/haft{,-agent}\" flags=(unconfined) {\n  userns,\n"
        ),
        "{profile}"
    );
    // dpkg finds no file that differs from the package.
    assert_eq!(run(machine.dpkg().args(["--verify", "haft"])), "");

    let haft = machine.path("usr/bin/haft");
    machine.stage.use_haft(&haft);
    for user in PackageStage::for_each_user().iter().skip(1) {
        // The directory of the first user is closed to others, as a real machine's `/usr` is not.
        let bin = user.path("bin");
        run(Command::new("cp").arg("--recursive").arg(machine.path("usr/bin")).arg(&bin));
        user.use_haft(&bin.join("haft"));
    }

    run(machine.dpkg().args(["--purge", "haft"]));
    let mut left = files(&machine.path(""));
    left.retain(|file| !file.starts_with("var/lib/dpkg/"));
    let mut before = before;
    before.retain(|file| !file.starts_with("var/lib/dpkg/"));
    assert_eq!(left, before);
}

#[test]
fn an_older_apparmor_gets_no_profile_that_it_cannot_read() {
    let machine = DebianRoot::new();
    run(machine.dpkg().arg("--install").arg(&machine.package));
    assert!(!machine.path(PROFILE).exists());
    run(machine.dpkg().args(["--remove", "haft"]));
}
