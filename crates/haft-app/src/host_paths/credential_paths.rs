//! The paths of the places that hold secrets, on this host: variables and the directories of the XDG specification move them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::credentials::{CREDENTIALS, CredentialOwner};
use super::directory_of;

/// The directories below the home directory that the XDG specification lets a variable move.
/// <https://specifications.freedesktop.org/basedir-spec/latest/>
const XDG_DIRECTORIES: &[(&str, &str)] = &[
    (".config/", "XDG_CONFIG_HOME"),
    (".local/share/", "XDG_DATA_HOME"),
    (".cache/", "XDG_CACHE_HOME"),
];

/// Returns the owners of secrets that a command uses.
pub(crate) fn owners_of(program: &str) -> impl Iterator<Item = &'static CredentialOwner> {
    CREDENTIALS.iter().filter(move |owner| owner.programs.contains(&program))
}

/// Returns the places of a user's own secrets, whether they exist or not.
pub(crate) fn user_paths(
    owner: &CredentialOwner,
    variable: &dyn Fn(&str) -> Option<OsString>,
    home: &Path,
) -> Vec<PathBuf> {
    // Files of the system belong to services.
    let places = owner.places.iter().filter(|place| !place.starts_with('/'));
    places.flat_map(|place| paths_of(place, variable, home)).collect()
}

/// Returns all of the places, whether they exist or not: what is made there later is hidden as well.
pub(super) fn credential_paths(
    variable: &dyn Fn(&str) -> Option<OsString>,
    home: &Path,
) -> Vec<PathBuf> {
    let places = CREDENTIALS.iter().flat_map(|owner| owner.places);
    let mut places: Vec<PathBuf> =
        places.flat_map(|place| paths_of(place, variable, home)).collect();
    places.sort();
    places.dedup();
    places
}

/// Returns the paths that a place of the table names.
fn paths_of(place: &str, variable: &dyn Fn(&str) -> Option<OsString>, home: &Path) -> Vec<PathBuf> {
    if let Some(name) = place.strip_prefix("~/") {
        let moved = XDG_DIRECTORIES.iter().filter_map(|(directory, moves)| {
            Some(directory_of(variable, moves)?.join(name.strip_prefix(directory)?))
        });
        return moved.chain([home.join(name)]).collect();
    }
    let Some(named) = place.strip_prefix('$') else { return vec![PathBuf::from(place)] };
    match named.split_once('/') {
        Some((name, inside)) => directory_of(variable, name)
            .map(|directory| directory.join(inside))
            .into_iter()
            .collect(),
        None => {
            let Some(value) = variable(named) else { return Vec::new() };
            // Most of them name one place, whose name may hold a colon.
            let all = std::iter::once(PathBuf::from(&value)).chain(std::env::split_paths(&value));
            // `/dev/null` is how people say that there is no such file.
            all.filter(|place| place.is_absolute() && !place.starts_with("/dev")).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_move_credentials() {
        let variable = |name: &str| match name {
            "CARGO_HOME" => Some(OsString::from("/tools/cargo")),
            "KUBECONFIG" => Some(OsString::from("/elsewhere/kube.yaml::/elsewhere/other.yaml")),
            "GNUPGHOME" => Some(OsString::from("/elsewhere/gnupg")),
            "PGPASSFILE" => Some(OsString::from("relative")),
            "PIP_CONFIG_FILE" => Some(OsString::from("/dev/null")),
            "XDG_CONFIG_HOME" => Some(OsString::from("/elsewhere/config")),
            _ => None,
        };
        let found = credential_paths(&variable, Path::new("/home/ada"));
        for place in [
            "/home/ada/.ssh",
            "/home/ada/.local/share/uv/credentials",
            "/tools/cargo/credentials.toml",
            "/elsewhere/gnupg",
            "/elsewhere/config/gh",
            "/home/ada/.config/gh",
            "/elsewhere/kube.yaml",
            "/elsewhere/other.yaml",
            "/etc/shadow",
        ] {
            assert!(found.contains(&PathBuf::from(place)), "{place} is missing");
        }
        assert!(found.iter().all(|place| place.is_absolute() && !place.starts_with("/dev")));
    }
}
