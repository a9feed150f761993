//! The user's own configuration, a `haft.toml` in the configuration directory of the user. It holds the model, MCP servers,
//! the preset, notifications and rules for all projects of the user. Only the user may be able to write it, and it needs no trust beyond that.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::process::geteuid;
use toml::Table;

use crate::app_error::{AppError, NextStep};
use crate::host::AppHost;
use crate::manifest::setting::keys_of_user;
use crate::manifest::{ExampleChecks, FILE_NAME, Manifest, ManifestFile};

/// The mode bits with which others than the owner write a file.
const WRITABLE_BY_OTHERS: u32 = 0o022;
/// The user id of the superuser, who can change every file anyway.
const SUPERUSER: u32 = 0;

/// Returns the path of the user's own configuration, whether it exists or not.
pub fn path(host: &AppHost) -> Option<PathBuf> {
    Some(host.config_directory()?.join("haft").join(FILE_NAME))
}

/// Returns the user's own configuration, if there is one.
///
/// # Errors
///
/// Fails if the file cannot be read, if others could change it, or if it holds settings that are not for all projects. haft
/// does not go on without it: its rules may deny something.
pub fn find(host: &AppHost) -> Result<Option<ManifestFile>, AppError> {
    let Some(path) = path(host) else { return Ok(None) };
    if let Err(err) = path.symlink_metadata() {
        return match err.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(None),
            _ => Err(AppError::configuration(format!(
                "user configuration {} cannot be read: {err}",
                path.display()
            ))),
        };
    }
    let file = ManifestFile::read(&path)?;
    check_owner(file.path())?;
    Ok(Some(file))
}

/// Returns what the user's own configuration says.
///
/// # Errors
///
/// Fails if the text is no manifest, or if it has settings that are not for all projects.
pub fn parse(file: &ManifestFile, examples: ExampleChecks) -> Result<Manifest, AppError> {
    let manifest = file.parse_with(examples)?;
    let table: Table = toml::from_str(file.text()).map_err(|err| file.unusable(&err))?;
    let known = keys_of_user();
    let others: Vec<&str> =
        table.keys().map(String::as_str).filter(|key| !known.contains(key)).collect();
    if others.is_empty() {
        return Ok(manifest);
    }
    let message = format!(
        "user configuration {}: {} cannot be set for all projects: expected only {}; put the rest into the {FILE_NAME} of a \
         workspace",
        file.path().display(),
        others.join(", "),
        known.join(", "),
    );
    Err(AppError::configuration(message))
}

/// Returns whether a file is the user's own configuration.
pub fn is_at(path: &Path, host: &AppHost) -> bool {
    let own = self::path(host).and_then(|own| {
        // As `ManifestFile` spells it: a link is not followed, its directory is.
        Some(own.parent()?.canonicalize().ok()?.join(own.file_name()?))
    });
    own.is_some_and(|own| own == path)
}

/// Refuses a file that others than the user can change or replace.
fn check_owner(path: &Path) -> Result<(), AppError> {
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let mut places = vec![target.as_path()];
    places.extend([target.parent(), path.parent()].into_iter().flatten());
    let mut writable: Vec<PathBuf> = Vec::new();
    for place in places {
        let found = place.metadata().map_err(|err| {
            AppError::configuration(format!("user configuration {}: {err}", place.display()))
        })?;
        if !is_owned(&found) {
            let message = format!(
                "user configuration {}: {} belongs to another user, who could change what haft allows",
                path.display(),
                place.display()
            );
            return Err(
                AppError::configuration(message).next(NextStep::InspectFile(place.to_owned()))
            );
        }
        if found.mode() & WRITABLE_BY_OTHERS != 0 && !writable.iter().any(|known| known == place) {
            writable.push(place.to_owned());
        }
    }
    if writable.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = writable.iter().map(|place| place.display().to_string()).collect();
    let message = format!(
        "user configuration {}: other users can write {}, and so change what haft allows",
        path.display(),
        names.join(" and ")
    );
    Err(AppError::configuration(message).next(NextStep::RestrictFiles(writable)))
}

/// Returns whether a file belongs to the user of this process, or to the superuser.
fn is_owned(found: &Metadata) -> bool {
    [geteuid().as_raw(), SUPERUSER].contains(&found.uid())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    struct Case {
        directory: tempfile::TempDir,
        host: AppHost,
    }

    impl Case {
        fn new(text: &str) -> Self {
            let directory = tempfile::tempdir().unwrap();
            let config = directory.path().canonicalize().unwrap().join("config");
            std::fs::create_dir_all(config.join("haft")).unwrap();
            std::fs::write(config.join("haft/haft.toml"), text).unwrap();
            let host = AppHost::isolated(&directory.path().join("state")).unwrap();
            let host = host.with_variable("XDG_CONFIG_HOME", config.as_os_str());
            Self { directory, host }
        }

        fn set_mode(&self, relative: &str, mode: u32) {
            let path = self.directory.path().join(relative);
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        }
    }

    #[test]
    fn only_a_file_that_its_owner_alone_can_write_is_read() {
        let case = Case::new("preset = \"ask\"\n");
        assert!(find(&case.host).unwrap().is_some());
        for (relative, good) in [("config/haft/haft.toml", 0o644), ("config/haft", 0o755)] {
            for bad in [good | 0o020, good | 0o002] {
                case.set_mode(relative, bad);
                let refused = find(&case.host).unwrap_err();
                assert!(refused.message.contains("other users can write"), "{}", refused.message);
                let place = case.directory.path().canonicalize().unwrap().join(relative);
                assert_eq!(refused.next, Some(NextStep::RestrictFiles(vec![place])));
            }
            case.set_mode(relative, good);
        }
        assert!(find(&case.host).unwrap().is_some());
    }

    #[test]
    fn the_target_of_a_link_counts_as_well() {
        let case = Case::new("");
        let own = case.directory.path().join("config/haft/haft.toml");
        std::fs::create_dir(case.directory.path().join("dotfiles")).unwrap();
        std::fs::rename(&own, case.directory.path().join("dotfiles/mine.toml")).unwrap();
        std::os::unix::fs::symlink("../../dotfiles/mine.toml", &own).unwrap();
        let found = find(&case.host).unwrap().unwrap();
        assert!(is_at(found.path(), &case.host));
        for (relative, good) in [("dotfiles/mine.toml", 0o644), ("dotfiles", 0o755)] {
            case.set_mode(relative, good | 0o002);
            assert!(find(&case.host).is_err(), "{relative}");
            case.set_mode(relative, good);
        }
    }

    #[test]
    fn settings_of_one_workspace_are_refused() {
        let check = |text: &str, expect: Option<&str>| {
            let case = Case::new(text);
            let file = find(&case.host).unwrap().unwrap();
            let found = parse(&file, ExampleChecks::Checked).err().map(|err| err.message);
            let path = file.path().display().to_string();
            let found = found.map(|message| message.replace(&path, "FILE"));
            assert_eq!(found.as_deref(), expect, "{text}");
        };
        check("preset = \"full\"\nmodel.name = \"ollama/q\"\n[mcp.a]\ncommand = \"x\"\n", None);
        check("[[permissions]]\npermission = \"bash\"\n", None);
        check(
            "root = \"/\"\ntools = []\n",
            Some(
                "user configuration FILE: root, tools cannot be set for all projects: expected only asks, mcp, model, notify, \
                 permissions, preset; put the rest into the haft.toml of a workspace",
            ),
        );
    }

    #[test]
    fn there_need_not_be_one() {
        let directory = tempfile::tempdir().unwrap();
        let host = AppHost::isolated(directory.path()).unwrap();
        assert!(find(&host).unwrap().is_none() && path(&host).is_none());
    }
}
