//! Selects the variables of the user's environment that commands see: those that programs need, and none that carries a
//! secret. The list names the allowed variables, because a list of all names of secrets is impossible.

use std::ffi::OsString;

/// Names that are handed on.
const NAMES: &[&str] = &[
    "CARGO_HOME",
    "COLUMNS",
    "GOCACHE",
    "GOMODCACHE",
    "GOPATH",
    "GOROOT",
    "HOME",
    "JAVA_HOME",
    "LANG",
    "LANGUAGE",
    "LINES",
    "LOGNAME",
    "NODE_PATH",
    "NVM_DIR",
    "PATH",
    "PYENV_ROOT",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "SHELL",
    "TEMP",
    "TERM",
    "TMP",
    "TMPDIR",
    "TZ",
    "USER",
    "VIRTUAL_ENV",
    "npm_config_cache",
];
/// Beginnings of names that are handed on.
const PREFIXES: &[&str] = &["LC_", "XDG_"];
/// Parts of names that are never handed on, whatever the name begins with.
const SECRET_PARTS: &[&str] = &["AUTH", "CREDENTIAL", "KEY", "PASS", "SECRET", "TOKEN"];

/// Returns the variables that commands get, of those of a front end.
pub(crate) fn allowed(
    variables: impl IntoIterator<Item = (OsString, OsString)>,
) -> Vec<(OsString, OsString)> {
    variables.into_iter().filter(|(name, _)| name.to_str().is_some_and(is_allowed)).collect()
}

/// Returns whether commands get a variable of this name.
fn is_allowed(name: &str) -> bool {
    let begins_well = PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    let looks_secret = SECRET_PARTS.iter().any(|part| name.to_ascii_uppercase().contains(part));
    NAMES.contains(&name) || (begins_well && !looks_secret)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_programs_need_passes_and_secrets_do_not() {
        for name in ["PATH", "HOME", "LC_ALL", "XDG_CACHE_HOME", "npm_config_cache", "CARGO_HOME"] {
            assert!(is_allowed(name), "{name} should be handed on");
        }
        for name in [
            "AWS_SECRET_ACCESS_KEY",
            "GITHUB_TOKEN",
            "OPENAI_API_KEY",
            "XDG_SESSION_TOKEN",
            "LC_PASSWORD",
            "SSH_AUTH_SOCK",
            "HAFT_DB",
            "LD_PRELOAD",
            "BASH_ENV",
            "path",
            "",
        ] {
            assert!(!is_allowed(name), "{name} should be kept back");
        }
    }

    #[test]
    fn no_name_on_the_list_looks_like_a_secret() {
        assert!(NAMES.is_sorted());
        for name in NAMES {
            let is_secret =
                SECRET_PARTS.iter().any(|part| name.to_ascii_uppercase().contains(part));
            assert!(!is_secret, "{name}");
        }
    }
}
