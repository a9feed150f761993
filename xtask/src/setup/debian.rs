//! Programs from Debian's packages: the machine's own where it has them, installed as root, and else unpacked below
//! `target` without being installed, which needs no rights. Debian keeps one version of a package, so no version is pinned.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail, ensure};

use crate::files;
use crate::process::{capture, run as run_program, succeeds};

/// A program, and the packages that hold it and the libraries that a bare machine lacks.
pub(super) struct DebianProgram {
    name: &'static str,
    packages: &'static [&'static str],
    /// The argument with which it does nothing and succeeds.
    probe: &'static str,
}

pub(super) const STRACE: DebianProgram =
    DebianProgram { name: "strace", packages: &["strace", "libunwind8"], probe: "--version" };
pub(super) const MINISIGN: DebianProgram =
    DebianProgram { name: "minisign", packages: &["minisign", "libsodium23"], probe: "-v" };

/// Returns the path of a program, which is there afterwards. `dir` is for what cannot be installed.
pub(super) fn ensure_program(program: &DebianProgram, dir: &Path) -> anyhow::Result<PathBuf> {
    let DebianProgram { name, packages, probe } = program;
    let wrapper = dir.join("bin").join(name);
    if let Some(found) = on_path(name) {
        return Ok(found);
    }
    if succeeds(Command::new(&wrapper).arg(probe)) {
        return Ok(wrapper);
    }
    if !is_debian() {
        bail!("the tests need {name}; install it");
    }
    if is_root() {
        install(packages)?;
        return on_path(name)
            .with_context(|| format!("installing {} did not provide it", packages.join(" ")));
    }
    extract(program.packages, dir)?;
    wrap(&dir.join("usr/bin").join(name), dir, &wrapper)?;
    ensure!(
        succeeds(Command::new(&wrapper).arg(probe)),
        "{name} was unpacked and does not run; install it"
    );
    Ok(wrapper)
}

pub(super) fn is_debian() -> bool {
    Path::new("/etc/debian_version").exists()
}

pub(super) fn is_root() -> bool {
    capture(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}

/// Installs packages, as root.
pub(super) fn install(packages: &[&str]) -> anyhow::Result<()> {
    eprintln!("set-up: installing {}", packages.join(" "));
    let apt_get = || {
        let mut command = Command::new("apt-get");
        command.env("DEBIAN_FRONTEND", "noninteractive").arg("-qq");
        command
    };
    run_program(apt_get().arg("update"))?;
    run_program(apt_get().args(["install", "-y", "--no-install-recommends"]).args(packages))
}

/// Fetches packages and unpacks them into `dir`, which is emptied first.
pub(super) fn extract<P: AsRef<OsStr>>(packages: &[P], dir: &Path) -> anyhow::Result<()> {
    let names: Vec<_> = packages.iter().map(|name| name.as_ref().to_string_lossy()).collect();
    eprintln!("set-up: unpacking {} in {}", names.join(" "), dir.display());
    files::remove_dir(dir)?;
    files::create_dir(dir)?;
    run_program(Command::new("apt-get").args(["-qq", "download"]).args(packages).current_dir(dir))?;
    for path in files::list(dir)? {
        if path.extension().is_some_and(|extension| extension == "deb") {
            run_program(Command::new("dpkg-deb").arg("--extract").arg(&path).arg(dir))?;
        }
    }
    Ok(())
}

/// Writes a script that runs a program with the libraries that were unpacked beside it.
pub(super) fn wrap(program: &Path, dir: &Path, wrapper: &Path) -> anyhow::Result<()> {
    // Debian's own `bin` in the packages, if any, is `usr/bin`; this one is ours.
    let bin = wrapper.parent().unwrap_or(dir);
    files::create_dir(bin)?;
    let libraries = capture(Command::new("dpkg-architecture").arg("-qDEB_HOST_MULTIARCH"))
        .unwrap_or_else(|_| format!("{}-linux-gnu", std::env::consts::ARCH));
    let script = format!(
        "#!/bin/sh\nLD_LIBRARY_PATH={library} exec {program} \"$@\"\n",
        library = quoted(&dir.join("usr/lib").join(libraries.trim())),
        program = quoted(program),
    );
    files::write(wrapper, script)?;
    run_program(Command::new("chmod").arg("+x").arg(wrapper))
}

fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

pub(super) fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(name)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_on_the_path_is_found() {
        assert!(on_path("sh").is_some());
        assert_eq!(on_path("no-such-program-anywhere"), None);
    }

    #[test]
    fn paths_survive_a_shell() {
        assert_eq!(quoted(Path::new("/a b/it's")), r"'/a b/it'\''s'");
    }
}
