//! Which credentials of a program lie where commands can read them. A rule on words does not see what a program starts by
//! itself, so it matters whether such a program would find a credential. This module reads names, and the configuration of
//! the repositories in the roots.

use std::path::{Path, PathBuf};

use crate::compose;
use crate::host::AppHost;
use crate::host_paths::{CredentialOwner, owners_of, user_paths};
use crate::password::without_passwords;
use crate::settings::EffectiveSettings;
use crate::state_file;

/// Largest configuration of a repository that is searched for credentials, in bytes.
const REPOSITORY_CONFIG_BYTES_MAX: u64 = 1024 * 1024;

/// Returns the files with credentials of a program that commands can read; `None` if haft does not know where the program
/// keeps them. Commands get no variable that holds a secret, so only files count.
pub fn credentials_in_reach(
    program: &str,
    settings: &EffectiveSettings,
    host: &AppHost,
) -> Option<Vec<PathBuf>> {
    let owners: Vec<&CredentialOwner> = owners_of(program).collect();
    if owners.is_empty() {
        return None;
    }
    let roots: Vec<PathBuf> = std::iter::once(&settings.root)
        .chain(&settings.roots)
        .filter_map(|root| root.canonicalize().ok())
        .collect();
    let places = compose::host_paths(settings, host, &roots);
    let variable = |name: &str| host.variable(name);
    let of_user = owners.iter().flat_map(|owner| user_paths(owner, &variable, &places.home));
    let names = || owners.iter().flat_map(|owner| owner.in_roots);
    let in_roots = roots.iter().flat_map(|root| names().map(|name| root.join(name)));
    let of_repositories = roots.iter().map(|root| root.join(".git/config"));
    let of_repositories = of_repositories.filter(|file| program == "git" && has_secret(file));
    let is_seen = |place: &Path| {
        let is_shown = |shown: &PathBuf| place.starts_with(shown);
        let is_hidden = places.hidden.iter().any(is_shown);
        let is_beneath = roots.iter().any(is_shown) || places.readable.iter().any(is_shown);
        settings.sandbox.is_off || (is_beneath && !is_hidden)
    };
    let found = of_user.chain(in_roots).chain(of_repositories).filter_map(|place| {
        let real = place.canonicalize().ok()?;
        is_seen(&real).then_some(place)
    });
    let mut found: Vec<PathBuf> = found.collect();
    found.sort();
    found.dedup();
    Some(found)
}

/// Returns whether the configuration of a repository holds a password or a header with a token.
fn has_secret(config: &Path) -> bool {
    state_file::read(config, REPOSITORY_CONFIG_BYTES_MAX).is_some_and(|text| {
        without_passwords(&text) != text || text.to_ascii_lowercase().contains("extraheader")
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::overrides::SettingOverrides;
    use crate::settings;

    struct Case {
        directory: tempfile::TempDir,
        host: AppHost,
    }

    impl Case {
        fn new() -> Self {
            let directory = tempfile::tempdir().unwrap();
            let base = directory.path().canonicalize().unwrap();
            for made in ["home/work/.git", "home/.ssh"] {
                fs::create_dir_all(base.join(made)).unwrap();
            }
            let host = AppHost::isolated(&base.join("state")).unwrap().with_home(base.join("home"));
            Self { directory, host }
        }

        fn found(&self, root: &str, program: &str, is_off: bool) -> Option<Vec<String>> {
            let base = self.directory.path().canonicalize().unwrap();
            let host = self.host.clone().in_directory(base.join(root));
            let overrides =
                SettingOverrides { unsafe_no_sandbox: is_off, ..SettingOverrides::default() };
            let settings = settings::resolve(&overrides, &host).unwrap();
            let found = credentials_in_reach(program, &settings, &host)?;
            let shown = |path: PathBuf| path.strip_prefix(&base).unwrap().display().to_string();
            Some(found.into_iter().map(shown).collect())
        }

        fn write(&self, relative: &str, text: &str) {
            fs::write(self.directory.path().join(relative), text).unwrap();
        }
    }

    #[test]
    fn only_what_a_command_can_read_is_in_reach() {
        let case = Case::new();
        assert_eq!(case.found("home/work", "frobnicate", false), None);
        assert_eq!(case.found("home/work", "git", false), Some(vec![]));
        // Hidden wherever it lies, unless nothing confines commands.
        assert_eq!(case.found("home", "git", false), Some(vec![]));
        assert_eq!(case.found("home", "git", true), Some(vec!["home/.ssh".to_owned()]));
        case.write("home/work/.git/config", "[remote \"origin\"]\n\turl = https://h.example/r\n");
        assert_eq!(case.found("home/work", "git", false), Some(vec![]));
        for secret in ["\turl = https://a:b@h.example/r\n", "\textraHeader = AUTHORIZATION: x\n"] {
            case.write("home/work/.git/config", &format!("[http]\n{secret}"));
            let expect = vec!["home/work/.git/config".to_owned()];
            assert_eq!(case.found("home/work", "git", false), Some(expect), "{secret}");
        }
        case.write("home/work/.npmrc", "//registry.npmjs.org/:_authToken=x\n");
        assert_eq!(
            case.found("home/work", "npm", false),
            Some(vec!["home/work/.npmrc".to_owned()])
        );
        // A program finds those of several owners, and that of npm in a root counts for those that read it, too.
        assert_eq!(case.found("home/work", "yarn", false), case.found("home/work", "npm", false));
        case.write("home/.netrc", "machine h.example password x\n");
        let both = ["home/.netrc", "home/.ssh", "home/work/.git/config"].map(str::to_owned);
        assert_eq!(case.found("home/work", "git", true), Some(both.to_vec()));
    }
}
