//! The toolchains whose programs are on PATH, and the package caches that let builds work offline.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::directory_of;
use super::links::canonical_outside_roots;

/// Entries of one directory on PATH whose links are followed, at most.
pub(crate) const LINKS_MAX: usize = 2_000;

/// Variables that name the directory of a toolchain or of a package cache, and where it lies without them.
const DIRECTORIES: &[(&str, Option<&str>)] = &[
    ("ASDF_DATA_DIR", Some(".asdf")),
    ("BUN_INSTALL", Some(".bun")),
    ("CARGO_HOME", Some(".cargo")),
    ("DENO_DIR", Some(".cache/deno")),
    ("GOCACHE", None),
    ("GOMODCACHE", None),
    ("GOPATH", Some("go/pkg/mod")),
    ("GOROOT", None),
    ("JAVA_HOME", None),
    ("JULIA_DEPOT_PATH", Some(".julia")),
    ("NODENV_ROOT", Some(".nodenv")),
    ("NVM_DIR", Some(".nvm")),
    ("PNPM_HOME", Some(".local/share/pnpm")),
    ("PYENV_ROOT", Some(".pyenv")),
    ("RBENV_ROOT", Some(".rbenv")),
    ("RUSTUP_HOME", Some(".rustup")),
    ("SDKMAN_DIR", Some(".sdkman")),
    ("UV_CACHE_DIR", Some(".cache/uv")),
    ("VIRTUAL_ENV", None),
    ("VOLTA_HOME", Some(".volta")),
    ("npm_config_cache", Some(".npm")),
];

/// Package caches that no variable moves.
const CACHES: &[&str] = &[
    ".cache/pip",
    ".cache/yarn",
    ".gradle/caches",
    ".gradle/wrapper",
    ".ivy2/cache",
    ".local/lib",
    ".local/share/mise/installs",
    ".local/share/uv/python",
    ".local/share/uv/tools",
    ".m2/repository",
    ".m2/wrapper",
];

/// Names beside a directory of programs that hold the libraries and data of the programs. Other names there may be anything
/// else, such as the settings and the secrets of the user.
const LIBRARIES: &[&str] = &[
    "Cellar",
    "VERSION",
    "conda-meta",
    "conf",
    "go.env",
    "include",
    "jmods",
    "jre",
    "lib",
    "lib32",
    "lib64",
    "libexec",
    "opt",
    "packages",
    "pkg",
    "pyvenv.cfg",
    "release",
    "share",
    "src",
    "ssl",
    "toolchains",
    "versions",
];

/// Returns the directories and programs, canonical, each of them there and none of them reached through a root.
pub(super) fn find(
    variable: &dyn Fn(&str) -> Option<OsString>,
    home: &Path,
    roots: &[PathBuf],
) -> Vec<PathBuf> {
    let configured = DIRECTORIES.iter().filter_map(|(name, usual)| {
        directory_of(variable, name).or_else(|| Some(home.join((*usual)?)))
    });
    let caches = CACHES.iter().map(|name| home.join(name));
    let outside = |place: PathBuf| canonical_outside_roots(&place, roots).ok();
    let named = configured.chain(caches).filter_map(outside).filter(|place| place.is_dir());
    let path = variable("PATH").unwrap_or_default();
    let on_path: Vec<PathBuf> = std::env::split_paths(&path)
        .filter_map(outside)
        .filter(|directory| directory.is_dir())
        .collect();
    let toolchains = on_path.iter().flat_map(|directory| toolchain_of(directory, home, roots));
    // The home directory as a whole, or all of a disk, is no toolchain, whatever PATH says.
    named.chain(toolchains).filter(|place| !home.starts_with(place)).collect()
}

/// Returns what belongs to the programs in a directory on PATH: the directory itself, with the libraries beside it if it is
/// one of a toolchain's. For the programs that are links to somewhere else, it is the same there, or the program alone.
fn toolchain_of(directory: &Path, home: &Path, roots: &[PathBuf]) -> Vec<PathBuf> {
    let mut places = vec![directory.to_owned()];
    places.extend(libraries_of(directory, home));
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten().take(LINKS_MAX);
    for entry in entries {
        let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
        if !is_link {
            continue;
        }
        let Ok(program) = canonical_outside_roots(&entry.path(), roots) else { continue };
        if program.starts_with(directory) || !program.is_file() {
            continue;
        }
        let directory = program.parent().unwrap_or(&program);
        let libraries = libraries_of(directory, home);
        let place = if libraries.is_empty() { program } else { directory.to_owned() };
        for place in std::iter::once(place).chain(libraries) {
            if !places.contains(&place) {
                places.push(place);
            }
        }
    }
    places
}

/// Returns what lies beside `bin` and holds the libraries of its programs. Directories that collect programs of many origins
/// have none, and neither do those that hold the home directory or that anybody can put things into.
fn libraries_of(directory: &Path, home: &Path) -> Vec<PathBuf> {
    let is_bin = directory
        .file_name()
        .is_some_and(|name| name == "bin" || name == "shims" || name == "sbin");
    let Some(around) = directory.parent().filter(|_| is_bin) else { return Vec::new() };
    let collects = around.ends_with(".local") || home.starts_with(around);
    let is_world_writable = |directory: &Path| {
        directory.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o002 != 0)
    };
    let is_anybodys = around.ancestors().take(2).any(is_world_writable);
    if collects || is_anybodys {
        return Vec::new();
    }
    // Packages of PHP load each other from beside their programs, and nothing else lies there.
    if around.ends_with("vendor") {
        return vec![around.to_owned()];
    }
    // A link there leads where its owner wanted, which may be anywhere.
    let is_own = |place: &PathBuf| place.symlink_metadata().is_ok_and(|state| !state.is_symlink());
    LIBRARIES.iter().map(|name| around.join(name)).filter(is_own).collect()
}
