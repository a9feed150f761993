//! Files and directories that hold secrets. A list of well-known places is never whole; it matters only where a root or a
//! readable directory encloses them, because nothing else of the home directory is visible to commands at all.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::directory_of;

/// Places in the home directory.
const IN_HOME: &[&str] = &[
    ".aws",
    ".azure",
    ".bash_history",
    ".boto",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".config/containers/auth.json",
    ".config/doctl",
    ".config/fly",
    ".config/gcloud",
    ".config/gh",
    ".config/git/credentials",
    ".config/glab-cli",
    ".config/google-chrome",
    ".config/chromium",
    ".config/hub",
    ".config/op",
    ".config/pip/pip.conf",
    ".config/rclone",
    ".config/sops",
    ".docker/config.json",
    ".fly",
    ".gem/credentials",
    ".git-credentials",
    ".gnupg",
    ".gradle/gradle.properties",
    ".kube",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".m2/settings-security.xml",
    ".m2/settings.xml",
    ".mozilla",
    ".my.cnf",
    ".netrc",
    ".node_repl_history",
    ".npmrc",
    ".password-store",
    ".pgpass",
    ".pip/pip.conf",
    ".psql_history",
    ".pypirc",
    ".python_history",
    ".s3cfg",
    ".ssh",
    ".terraform.d/credentials.tfrc.json",
    ".vault-token",
    ".yarnrc",
    ".yarnrc.yml",
    ".zsh_history",
];

/// Places in system directories. An ordinary user cannot read them; a user who runs haft as root could.
const IN_SYSTEM: &[&str] = &[
    "/etc/NetworkManager/system-connections",
    "/etc/docker/key.json",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/ipsec.secrets",
    "/etc/krb5.keytab",
    "/etc/letsencrypt",
    "/etc/mysql/debian.cnf",
    "/etc/openvpn",
    "/etc/ppp/chap-secrets",
    "/etc/ppp/pap-secrets",
    "/etc/security/opasswd",
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/ssh/ssh_host_dsa_key",
    "/etc/ssh/ssh_host_ecdsa_key",
    "/etc/ssh/ssh_host_ed25519_key",
    "/etc/ssh/ssh_host_rsa_key",
    "/etc/ssl/private",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/wireguard",
];

/// Variables that name a file or directory of credentials somewhere else, or several with colons between.
const VARIABLES: &[&str] = &[
    "AWS_SHARED_CREDENTIALS_FILE",
    "AZURE_CONFIG_DIR",
    "CLOUDSDK_CONFIG",
    "DOCKER_CONFIG",
    "GNUPGHOME",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "KUBECONFIG",
    "NETRC",
    "NPM_CONFIG_USERCONFIG",
    "PASSWORD_STORE_DIR",
    "PGPASSFILE",
    "PIP_CONFIG_FILE",
];

/// Names inside a directory that a variable puts somewhere else than in the home directory.
const IN_MOVED: &[(&str, &[&str])] = &[
    ("CARGO_HOME", &["credentials", "credentials.toml"]),
    ("GRADLE_USER_HOME", &["gradle.properties"]),
    ("XDG_CONFIG_HOME", &["gcloud", "gh", "git/credentials", "hub", "op", "rclone", "sops"]),
    ("XDG_DATA_HOME", &["keyrings", "kwalletd"]),
];

/// Returns all of the places, whether they exist or not: what is made there later is hidden as well.
pub(super) fn credential_paths(
    variable: &dyn Fn(&str) -> Option<OsString>,
    home: &Path,
) -> Vec<PathBuf> {
    let in_home = IN_HOME.iter().map(|name| home.join(name));
    let in_system = IN_SYSTEM.iter().map(PathBuf::from);
    let named = VARIABLES.iter().filter_map(|name| variable(name)).flat_map(|value| {
        // Most of them name one place, whose name may hold a colon.
        let all = std::iter::once(PathBuf::from(&value)).chain(std::env::split_paths(&value));
        all.filter(|place| place.is_absolute()).collect::<Vec<_>>()
    });
    let moved = IN_MOVED.iter().flat_map(|(name, inside)| {
        let directory = directory_of(variable, name);
        directory
            .into_iter()
            .flat_map(|directory| inside.iter().map(move |name| directory.join(name)))
    });
    let mut places: Vec<PathBuf> = in_home.chain(in_system).chain(named).chain(moved).collect();
    places.sort();
    places.dedup();
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted_so_that_twins_show() {
        let mut system = IN_SYSTEM.to_vec();
        system.sort_unstable();
        assert_eq!(system, IN_SYSTEM);
        assert!(VARIABLES.is_sorted());
    }

    #[test]
    fn variables_move_credentials() {
        let variable = |name: &str| match name {
            "CARGO_HOME" => Some(OsString::from("/tools/cargo")),
            "KUBECONFIG" => Some(OsString::from("/elsewhere/kube.yaml::/elsewhere/other.yaml")),
            "GNUPGHOME" => Some(OsString::from("/elsewhere/gnupg")),
            "PGPASSFILE" => Some(OsString::from("relative")),
            _ => None,
        };
        let found = credential_paths(&variable, Path::new("/home/ada"));
        for place in [
            "/home/ada/.ssh",
            "/tools/cargo/credentials.toml",
            "/elsewhere/gnupg",
            "/elsewhere/kube.yaml",
            "/elsewhere/other.yaml",
            "/etc/shadow",
        ] {
            assert!(found.contains(&PathBuf::from(place)), "{place} is missing");
        }
        assert!(found.iter().all(|place| place.is_absolute()));
    }
}
