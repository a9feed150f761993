//! The programs that models most often ask for: which of them are on PATH, and whether a confined command sees them.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde::Serialize;

use haft_app::host_paths::HostPaths;

const NAMES: &[&str] = &[
    "bash", "bun", "cargo", "cc", "clang", "cmake", "deno", "dotnet", "gcc", "git", "go", "java",
    "jq", "make", "node", "npm", "perl", "php", "pip", "pnpm", "python3", "rg", "ruby", "rustc",
    "uv", "yarn",
];

/// A program on PATH.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct ProgramReport {
    pub(super) name: &'static str,
    /// Where it is found on PATH.
    pub(super) path: PathBuf,
    /// Whether what it leads to can be read inside the sandbox.
    pub(super) visible: bool,
}

/// Returns those of the programs that are on PATH.
pub(super) fn programs(path: &OsStr, places: &HostPaths, roots: &[PathBuf]) -> Vec<ProgramReport> {
    let directories: Vec<PathBuf> = std::env::split_paths(path).collect();
    let is_executable = |path: &PathBuf| {
        let metadata = path.metadata();
        metadata.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    let is_visible = |program: &Path| {
        let holds =
            |place: &PathBuf| program.starts_with(place.canonicalize().as_ref().unwrap_or(place));
        places.readable.iter().chain(roots).any(holds)
            && !places.hidden.iter().any(|place| program.starts_with(place))
    };
    let find = |name: &&'static str| {
        let path = directories.iter().map(|directory| directory.join(name)).find(is_executable)?;
        let visible = path.canonicalize().is_ok_and(|program| is_visible(&program));
        Some(ProgramReport { name, path, visible })
    };
    NAMES.iter().filter_map(find).collect()
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found_first_counts_and_must_be_readable() {
        assert!(NAMES.is_sorted());
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path().canonicalize().unwrap();
        let make = |name: &str, mode: u32| {
            let path = base.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "").unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        make("one/bin/git", 0o644);
        make("two/bin/git", 0o755);
        make("elsewhere/node", 0o755);
        make("two/bin/jq", 0o755);
        make("root/bin/make", 0o755);
        std::os::unix::fs::symlink(base.join("elsewhere/node"), base.join("one/bin/node")).unwrap();
        let path =
            std::env::join_paths(["one/bin", "two/bin", "root/bin"].map(|path| base.join(path)));
        let path = path.unwrap();
        let places = HostPaths {
            home: base.to_path_buf(),
            readable: vec![base.join("one"), base.join("two")].into(),
            hidden: vec![base.join("two/bin/jq")],
        };
        let found = programs(&path, &places, &[base.join("root")]);
        let found: Vec<(&str, &Path, bool)> = found
            .iter()
            .map(|program| {
                (program.name, program.path.strip_prefix(&base).unwrap(), program.visible)
            })
            .collect();
        let expect = [
            ("git", Path::new("two/bin/git"), true),
            ("jq", Path::new("two/bin/jq"), false),
            ("make", Path::new("root/bin/make"), true),
            ("node", Path::new("one/bin/node"), false),
        ];
        assert_eq!(found, expect);
    }
}
