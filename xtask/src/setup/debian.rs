//! Programs from Debian's packages: the machine's own where it has them, installed as root, and else unpacked below
//! `target` without being installed, which needs no rights. Debian keeps one version of a package, so no version is pinned.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};

use crate::process::{capture, run as run_program, succeeds};

/// A program, and the packages that hold it and the libraries that a bare machine lacks.
pub(super) struct DebianProgram {
    pub(super) name: &'static str,
    pub(super) packages: &'static [&'static str],
}

pub(super) const STRACE: DebianProgram =
    DebianProgram { name: "strace", packages: &["strace", "libunwind8"] };

/// Returns the path of the program, which is there afterwards.
pub(super) fn ensure(program: &DebianProgram, dir: &Path) -> anyhow::Result<PathBuf> {
    if let Some(found) = on_path(program.name) {
        return Ok(found);
    }
    let wrapper = dir.join("bin").join(program.name);
    if succeeds(Command::new(&wrapper).arg("--version")) {
        return Ok(wrapper);
    }
    if !Path::new("/etc/debian_version").exists() {
        bail!("the tests need {}; install it", program.name);
    }
    if super::is_root() {
        super::install_system(program.packages)?;
        return on_path(program.name).with_context(|| {
            format!("installing {} did not provide it", program.packages.join(" "))
        });
    }
    unpack(program, dir, &wrapper)?;
    Ok(wrapper)
}

/// Fetches the packages of a program, unpacks them into `dir` and makes it runnable there.
fn unpack(program: &DebianProgram, dir: &Path, wrapper: &Path) -> anyhow::Result<()> {
    extract(program.packages, dir)?;
    wrap(&dir.join("usr/bin").join(program.name), dir, wrapper)?;
    if !succeeds(Command::new(wrapper).arg("--version")) {
        bail!("{} was unpacked and does not run; install it", program.name);
    }
    Ok(())
}

/// Fetches packages and unpacks them into `dir`, which is emptied first.
pub(super) fn extract<P: AsRef<OsStr>>(packages: &[P], dir: &Path) -> anyhow::Result<()> {
    let names: Vec<_> = packages.iter().map(|name| name.as_ref().to_string_lossy()).collect();
    eprintln!("set-up: unpacking {} in {}", names.join(" "), dir.display());
    super::start_afresh(dir)?;
    run_program(Command::new("apt-get").args(["-qq", "download"]).args(packages).current_dir(dir))?;
    let entries =
        std::fs::read_dir(dir).with_context(|| format!("cannot read {}", dir.display()))?;
    for entry in entries {
        let path = entry?.path();
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
    std::fs::create_dir_all(bin).with_context(|| format!("cannot create {}", bin.display()))?;
    let libraries = capture(Command::new("dpkg-architecture").arg("-qDEB_HOST_MULTIARCH"))
        .map_or_else(
            |_| format!("{}-linux-gnu", std::env::consts::ARCH),
            |it| it.trim().to_owned(),
        );
    let script = format!(
        "#!/bin/sh\nLD_LIBRARY_PATH={library} exec {program} \"$@\"\n",
        library = quoted(&dir.join("usr/lib").join(libraries)),
        program = quoted(program),
    );
    std::fs::write(wrapper, script)
        .with_context(|| format!("cannot write {}", wrapper.display()))?;
    run_program(Command::new("chmod").arg("+x").arg(wrapper))
}

fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

fn on_path(name: &str) -> Option<PathBuf> {
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
