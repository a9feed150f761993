//! The programs of a PostgreSQL server, which the journal's tests start themselves: the machine's own where it has them,
//! installed as root, and else unpacked below `target`. Nothing is started or configured here.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};

use super::debian;
use crate::process::{capture, succeeds};

/// The programs that the tests run.
const PROGRAMS: [&str; 3] = ["postgres", "initdb", "psql"];

/// Where Debian keeps one folder for each version.
const VERSIONS: &str = "usr/lib/postgresql";

/// Returns the directory with the programs, which are there afterwards.
pub(super) fn ensure(dir: &Path) -> anyhow::Result<PathBuf> {
    let unpacked = dir.join("bin");
    for found in newest(Path::new("/")).into_iter().chain([unpacked.clone()]) {
        if runs(&found) {
            return Ok(found);
        }
    }
    if !debian::is_debian() {
        bail!("the tests need the programs of a PostgreSQL server; install it");
    }
    if debian::is_root() {
        debian::install(&["postgresql"])?;
        return newest(Path::new("/"))
            .filter(|found| runs(found))
            .context("installing postgresql did not provide a server");
    }
    // Debian's server, its client and the libraries that they name, without the compiler that the server loads only for
    // long queries.
    let apt_cache = |package: &str| {
        capture(Command::new("apt-cache").args(["depends", "--important", package]))
    };
    let server = dependencies(&apt_cache("postgresql")?)
        .into_iter()
        .find(|name| name.starts_with("postgresql-"))
        .context("the package postgresql names no server")?;
    let client = server.replace("postgresql-", "postgresql-client-");
    let mut packages = dependencies(&apt_cache(&server)?);
    packages.extend(dependencies(&apt_cache(&client)?));
    packages.retain(|name| name.starts_with("lib") && !name.starts_with("libllvm"));
    packages.extend([server, client]);
    packages.sort();
    packages.dedup();
    debian::extract(&packages, dir)?;
    let programs = newest(dir).context("the package of the server holds no server")?;
    for name in PROGRAMS {
        debian::wrap(&programs.join(name), dir, &unpacked.join(name))?;
    }
    if !runs(&unpacked) {
        bail!("the PostgreSQL server was unpacked and does not run; install it");
    }
    Ok(unpacked)
}

/// Reads `apt-cache depends`: one package a line; of several that will do, the first is marked with a bar.
fn dependencies(text: &str) -> Vec<String> {
    let names = text
        .lines()
        .filter_map(|line| line.trim().trim_start_matches('|').strip_prefix("Depends: "));
    names.filter(|name| !name.starts_with('<')).map(str::to_owned).collect()
}

/// Returns the directory with the programs of the newest version below `root`.
fn newest(root: &Path) -> Option<PathBuf> {
    let versions = std::fs::read_dir(root.join(VERSIONS)).ok()?.filter_map(Result::ok);
    let number = |path: &PathBuf| path.file_name()?.to_str()?.parse::<u32>().ok();
    let newest = versions.map(|version| version.path()).max_by_key(number)?;
    Some(newest.join("bin"))
}

fn runs(bin: &Path) -> bool {
    PROGRAMS.iter().all(|name| succeeds(Command::new(bin.join(name)).arg("--version")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_are_read_as_apt_writes_them() {
        let text = "postgresql-15\n |Depends: locales\n  Depends: locales-all\n  Depends: <debconf-2.0>\n    \
                    cdebconf\n  PreDepends: init\n  Depends: libpq5\n";
        assert_eq!(dependencies(text), ["locales", "locales-all", "libpq5"]);
    }

    #[test]
    fn the_newest_version_is_the_one_with_the_greatest_number() {
        let root =
            std::env::temp_dir().join(format!("haft-postgres-versions-{}", std::process::id()));
        for version in ["9", "15", "contrib"] {
            std::fs::create_dir_all(root.join(VERSIONS).join(version))
                .expect("the directory is writable");
        }
        let found = newest(&root);
        std::fs::remove_dir_all(&root).expect("the directory is ours");
        assert_eq!(found, Some(root.join(VERSIONS).join("15/bin")));
    }
}
