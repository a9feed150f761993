//! The places of haft's files, and whether haft could write them: a call that cannot be recorded is not made. This only asks
//! the system and writes nothing.

use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, accessat};
use serde::Serialize;

use haft_app::host::AppHost;
use haft_app::settings::EffectiveSettings;

/// Where haft keeps what.
#[derive(Serialize)]
pub(super) struct FilesReport {
    pub(super) state: PathBuf,
    /// Why the state directory cannot be written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) state_problem: Option<String>,
    pub(super) journal: String,
    /// Why the journal cannot be written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) journal_problem: Option<String>,
    pub(super) manifest: Option<PathBuf>,
    /// The user's own configuration, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) user_configuration: Option<PathBuf>,
    pub(super) project_rules: PathBuf,
}

impl FilesReport {
    /// Returns where they are by these settings.
    pub(super) fn find(settings: &EffectiveSettings, host: &AppHost) -> Self {
        let journal = &settings.durability.journal;
        Self {
            state: host.state().directory().to_owned(),
            state_problem: problem(host.state().directory(), ExpectedFileKind::Directory),
            journal_problem: journal.file().and_then(|file| problem(file, ExpectedFileKind::File)),
            journal: journal.to_string(),
            manifest: settings.manifest.clone(),
            user_configuration: settings.user_configuration.clone(),
            project_rules: settings.project.path().to_owned(),
        }
    }

    /// Returns whether haft could write what it keeps.
    pub(super) fn are_writable(&self) -> bool {
        self.state_problem.is_none() && self.journal_problem.is_none()
    }
}

/// The kind of file that a path should lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ExpectedFileKind {
    Directory,
    File,
}

/// Returns why something cannot be written where it is, or be made there.
fn problem(path: &Path, kind: ExpectedFileKind) -> Option<String> {
    let path = match std::path::absolute(path) {
        Ok(path) => path,
        Err(err) => return Some(err.to_string()),
    };
    let existing = path.ancestors().find(|ancestor| ancestor.exists())?;
    let is_itself = existing == path;
    let found = match existing.metadata() {
        Ok(metadata) => metadata,
        Err(err) => return Some(problem_text(existing, &err)),
    };
    if is_itself && kind == ExpectedFileKind::File && !found.is_file() {
        return Some(format!("{} is no file", existing.display()));
    }
    let is_file = is_itself && kind == ExpectedFileKind::File;
    if !is_file && !found.is_dir() {
        return Some(format!("{} is no directory", existing.display()));
    }
    let access = if is_file {
        Access::READ_OK | Access::WRITE_OK
    } else {
        Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK
    };
    let refused = accessat(CWD, existing, access, AtFlags::EACCESS).err()?;
    Some(problem_text(existing, &refused.into()))
}

fn problem_text(place: &Path, err: &io::Error) -> String {
    format!("{} cannot be written: {err}", place.display())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn what_is_in_the_way_is_found_without_making_anything() {
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path();
        std::fs::write(base.join("file"), "").unwrap();
        std::fs::create_dir(base.join("directory")).unwrap();
        let check = |path: &str, kind: ExpectedFileKind, expect: Option<&str>| {
            let found = problem(&base.join(path), kind);
            let expect = expect.map(|expect| format!("{}{expect}", base.display()));
            assert_eq!(found, expect, "for {path}");
        };
        check("not/there/yet", ExpectedFileKind::Directory, None);
        check("not/there/yet.sqlite", ExpectedFileKind::File, None);
        check("directory", ExpectedFileKind::Directory, None);
        check("file", ExpectedFileKind::File, None);
        check("file", ExpectedFileKind::Directory, Some("/file is no directory"));
        check("file/inside", ExpectedFileKind::Directory, Some("/file is no directory"));
        check("file/inside.sqlite", ExpectedFileKind::File, Some("/file is no directory"));
        check("directory", ExpectedFileKind::File, Some("/directory is no file"));
        let locked = std::fs::Permissions::from_mode(0o500);
        std::fs::set_permissions(base.join("directory"), locked).unwrap();
        let found = problem(&base.join("directory/state"), ExpectedFileKind::Directory);
        // Permissions do not restrict root.
        assert_eq!(found.is_some(), !rustix::process::geteuid().is_root(), "{found:?}");
        assert!(!base.join("not").exists());
    }
}
