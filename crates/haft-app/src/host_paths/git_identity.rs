//! Who the user is to git, read from git's own configuration so that commits work where the rest of the home directory
//! cannot be seen. Only the name and the address are taken; the rest of that file may name programs or hold secrets.

use std::ffi::OsString;
use std::path::Path;

use super::directory_of;

/// Largest configuration that is read, in bytes.
pub(crate) const GIT_CONFIG_BYTES_MAX: u64 = 1024 * 1024;

/// Returns the variables that tell git the user's name and address, as far as they are configured.
pub fn git_identity(
    variable: &dyn Fn(&str) -> Option<OsString>,
    home: &Path,
) -> Vec<(OsString, OsString)> {
    let config_home =
        directory_of(variable, "XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
    let (mut name, mut email) = (None, None);
    // The second file comes before the first, as it does for git.
    for path in [config_home.join("git/config"), home.join(".gitconfig")] {
        let is_small_file = path
            .metadata()
            .is_ok_and(|found| found.is_file() && found.len() <= GIT_CONFIG_BYTES_MAX);
        if !is_small_file {
            continue;
        }
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let mut in_user = false;
        for line in text.lines().map(str::trim) {
            if line.starts_with('[') {
                in_user = line.eq_ignore_ascii_case("[user]");
            }
            let Some((key, value)) = line.split_once('=').filter(|_| in_user) else { continue };
            // Without a value here, git says that it does not know the user.
            let Some(value) = plain_value(value.trim()) else { continue };
            match key.trim().to_ascii_lowercase().as_str() {
                "name" => name = Some(value),
                "email" => email = Some(value),
                _ => {}
            }
        }
    }
    let pairs = [
        (name, ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"]),
        (email, ["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"]),
    ];
    let named = pairs.into_iter().filter_map(|(value, names)| Some((value?, names)));
    named.flat_map(|(value, names)| names.map(|name| (name.into(), value.clone().into()))).collect()
}

/// Returns a value without the quotes around it. A value that needs more than that is left out.
fn plain_value(text: &str) -> Option<String> {
    let bare = text.strip_prefix('"').and_then(|inner| inner.strip_suffix('"')).unwrap_or(text);
    let is_plain = !bare.is_empty() && !bare.contains(['"', '\\', '#', ';']);
    is_plain.then(|| bare.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_addresses_are_taken_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path();
        std::fs::create_dir_all(home.join(".config/git")).unwrap();
        let xdg = "[user]\n name = Elsewhere\n email = old@example.org\n";
        std::fs::write(home.join(".config/git/config"), xdg).unwrap();
        let usual =
            "[core]\n\tname = no\n[User]\n\tName = \"Ada L\"\n[http]\n extraHeader = secret\n";
        std::fs::write(home.join(".gitconfig"), usual).unwrap();
        let found = git_identity(&|_| None, home);
        let expect = [
            ("GIT_AUTHOR_NAME", "Ada L"),
            ("GIT_COMMITTER_NAME", "Ada L"),
            ("GIT_AUTHOR_EMAIL", "old@example.org"),
            ("GIT_COMMITTER_EMAIL", "old@example.org"),
        ];
        let expect: Vec<(OsString, OsString)> =
            expect.map(|(name, value)| (name.into(), value.into())).to_vec();
        assert_eq!(found, expect);
    }

    #[test]
    fn what_is_not_plain_is_left_out() {
        for (text, expect) in [
            ("Ada", Some("Ada")),
            ("\"Ada\"", Some("Ada")),
            ("Ada \\", None),
            ("Ada # comment", None),
            ("", None),
        ] {
            assert_eq!(plain_value(text).as_deref(), expect, "for {text:?}");
        }
    }
}
