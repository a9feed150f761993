//! The settings that would let a call reach a path outside of the roots. No directory of the system, and none that holds everything of the
//! user, is proposed as a root: commands could change all of it.

use std::path::{Path, PathBuf};

use haft::Runtime;

use haft_app::host::AppHost;

/// Directories of the system, which are no workspace.
const SYSTEM_DIRECTORIES: &[&str] = &[
    "/bin", "/boot", "/dev", "/etc", "/gnu", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/opt",
    "/proc", "/root", "/run", "/sbin", "/snap", "/sys", "/usr", "/var",
];
/// Directories that hold the files of many users or programs.
const WIDE_DIRECTORIES: &[&str] = &["/", "/home", "/media", "/mnt", "/srv", "/tmp"];

/// Returns the change that lets a call reach the first of the paths that lies outside of the roots.
pub(super) fn change_of_roots(paths: &[String], runtime: &Runtime, host: &AppHost) -> String {
    let roots = runtime.roots().paths();
    let workspace = runtime.roots().workspace();
    let places = paths.iter().map(|path| real_place(&workspace.join(path)));
    let outside = places.into_iter().find(|place| !roots.iter().any(|it| place.starts_with(it)));
    let Some(place) = outside else {
        return "a directory under roots in haft.toml, or another --root".to_owned();
    };
    let directory = match place.is_dir() {
        true => place.as_path(),
        false => place.parent().unwrap_or(&place),
    };
    if is_of_system(directory, host.home()) {
        return format!(
            "nothing: {} is no place to work in; have the user copy what is needed into {}",
            directory.display(),
            workspace.display()
        );
    }
    format!("roots = [{:?}] in haft.toml, or --root for it alone", directory.display().to_string())
}

/// Returns whether a directory belongs to the system, or holds everything of the user.
fn is_of_system(directory: &Path, home: Option<&Path>) -> bool {
    let is_system = SYSTEM_DIRECTORIES.iter().any(|system| directory.starts_with(system));
    let is_wide = WIDE_DIRECTORIES.iter().any(|wide| directory == Path::new(wide));
    let holds_home = home.is_some_and(|home| home.starts_with(directory));
    // A project of the superuser lies in its home, which is no more of the system than other homes.
    let is_in_home = home.is_some_and(|home| directory.starts_with(home) && directory != home);
    (is_system && !is_in_home) || is_wide || holds_home
}

/// Returns where a path leads, all links followed as far as the path exists.
fn real_place(path: &Path) -> PathBuf {
    let existing = path.ancestors().find_map(|ancestor| {
        let rest = path.strip_prefix(ancestor).ok()?;
        Some(ancestor.canonicalize().ok()?.components().chain(rest.components()).collect())
    });
    existing.unwrap_or_else(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_of_the_system_are_told_from_others() {
        let check = |directory: &str, expect: bool| {
            let home = Some(Path::new("/root"));
            assert_eq!(is_of_system(Path::new(directory), home), expect, "{directory}");
        };
        for system in ["/", "/usr", "/usr/lib/x", "/etc", "/home", "/root", "/var/lib", "/tmp"] {
            check(system, true);
        }
        for other in ["/data/x", "/home/ada/x", "/srv/app", "/tmp/x", "/usrlocal"] {
            check(other, false);
        }
    }
}
