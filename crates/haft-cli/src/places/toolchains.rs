//! The toolchains whose programs are on PATH, and the package caches that let builds work offline.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::directory_of;

/// Entries of one directory on PATH whose links are followed, at most.
const LINKS_MAX: usize = 2_000;

/// Variables that name the directory of a toolchain or of a package cache, and where it lies without them.
const DIRECTORIES: &[(&str, Option<&str>)] = &[
    ("BUN_INSTALL", Some(".bun")),
    ("CARGO_HOME", Some(".cargo")),
    ("DENO_DIR", Some(".cache/deno")),
    ("GOCACHE", None),
    ("GOMODCACHE", None),
    ("GOPATH", Some("go/pkg/mod")),
    ("GOROOT", None),
    ("JAVA_HOME", None),
    ("NVM_DIR", Some(".nvm")),
    ("PNPM_HOME", Some(".local/share/pnpm")),
    ("PYENV_ROOT", Some(".pyenv")),
    ("RUSTUP_HOME", Some(".rustup")),
    ("SDKMAN_DIR", Some(".sdkman")),
    ("UV_CACHE_DIR", Some(".cache/uv")),
    ("VIRTUAL_ENV", None),
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
    ".local/share/uv",
    ".m2/repository",
    ".m2/wrapper",
];

/// Returns the directories, canonical, each of them there.
pub(super) fn find(variable: &dyn Fn(&str) -> Option<OsString>, home: &Path) -> Vec<PathBuf> {
    let configured = DIRECTORIES.iter().filter_map(|(name, usual)| {
        directory_of(variable, name).or_else(|| Some(home.join((*usual)?)))
    });
    let caches = CACHES.iter().map(|name| home.join(name));
    let path = variable("PATH").unwrap_or_default();
    let on_path: Vec<PathBuf> =
        std::env::split_paths(&path).filter(|path| path.is_absolute()).collect();
    let toolchains = on_path.iter().flat_map(|directory| toolchain_of(directory));
    let found = configured.chain(caches).chain(toolchains);
    let canonical =
        found.filter_map(|place| place.canonicalize().ok()).filter(|place| place.is_dir());
    // The home directory as a whole, or all of a disk, is no toolchain, whatever PATH says.
    canonical.filter(|place| !home.starts_with(place)).collect()
}

/// Returns what belongs to the programs in a directory on PATH: the directory around it if it is one of a toolchain's,
/// and the same for the programs that are links to somewhere else.
fn toolchain_of(directory: &Path) -> Vec<PathBuf> {
    let mut places = vec![directory.to_owned()];
    places.extend(installation_of(directory));
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten().take(LINKS_MAX);
    for entry in entries {
        let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
        if !is_link {
            continue;
        }
        let Ok(target) = entry.path().canonicalize() else { continue };
        let Some(around) = target.parent().filter(|around| !around.starts_with(directory)) else {
            continue;
        };
        let place = installation_of(around).unwrap_or_else(|| around.to_owned());
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places
}

/// Returns the directory around `bin`, which holds the libraries of its programs. Directories that collect programs of
/// many origins have none.
fn installation_of(directory: &Path) -> Option<PathBuf> {
    let is_bin = directory
        .file_name()
        .is_some_and(|name| name == "bin" || name == "shims" || name == "sbin");
    let around = directory.parent().filter(|_| is_bin)?;
    let collects = around.ends_with(".local") || around.parent().is_none();
    (!collects).then(|| around.to_owned())
}
