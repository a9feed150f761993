//! The options of the tool `lsp`: the languages of the settings, and the places of their servers' programs on this machine.
//! haft does not use a program that lies in the workspace, or whose arguments name a place there: a command could change it.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_lsp::{
    Language, LspOptions, ServerProgram, ServerProgramError, ServerProgramFinder, builtin_languages,
};

use super::roots;
use crate::app_error::AppError;
use crate::host::AppHost;
use crate::host_paths::{OutsideError, canonical_outside_roots};
use crate::manifest::ServerEntry;
use crate::mcp_servers;
use crate::settings::EffectiveSettings;

/// Returns the options of the tool.
pub(super) fn options(
    settings: &EffectiveSettings,
    host: &AppHost,
) -> Result<LspOptions, AppError> {
    let changes = settings.lsp.iter().map(|(name, entry)| (name.clone(), entry.clone().change()));
    let programs = LanguageServerFinder {
        search: host.variable("PATH").unwrap_or_default(),
        roots: roots(settings)?.paths(),
    };
    Ok(LspOptions {
        languages: Language::apply_changes(builtin_languages(), changes),
        programs: Arc::new(programs),
        is_unconfined: settings.sandbox.is_off,
    })
}

/// Finds programs by their names on PATH, or by their absolute paths.
struct LanguageServerFinder {
    /// The value of PATH.
    search: OsString,
    /// The roots, canonical.
    roots: Vec<PathBuf>,
}

impl ServerProgramFinder for LanguageServerFinder {
    fn find(&self, command: &[String]) -> Result<ServerProgram, ServerProgramError> {
        let (name, arguments) = command.split_first().ok_or(ServerProgramError::Missing)?;
        let is_in_root = |word: &String| {
            canonical_outside_roots(Path::new(word), &self.roots) == Err(OutsideError::InRoot)
        };
        if arguments.iter().any(is_in_root) {
            return Err(ServerProgramError::InWorkspace);
        }
        let path = if name.contains('/') {
            self.usable(PathBuf::from(name))?
        } else {
            // A program in the workspace does not hide a usable one behind it.
            let mut found = Err(ServerProgramError::Missing);
            for directory in std::env::split_paths(&self.search) {
                match self.usable(directory.join(name)) {
                    Err(ServerProgramError::Missing) => {}
                    Err(ServerProgramError::InWorkspace) => {
                        found = Err(ServerProgramError::InWorkspace);
                    }
                    Ok(path) => {
                        found = Ok(path);
                        break;
                    }
                }
            }
            found?
        };
        // The files of a program are found as for MCP servers.
        let mut words = command.to_vec();
        if let Some(first) = words.first_mut() {
            *first = path.to_string_lossy().into_owned();
        }
        let readable = mcp_servers::server_paths(&ServerEntry::of_command(words));
        Ok(ServerProgram { path, readable })
    }
}

impl LanguageServerFinder {
    /// Returns the path of a program that exists. Fails if commands could replace it through a root.
    fn usable(&self, path: PathBuf) -> Result<PathBuf, ServerProgramError> {
        let real = canonical_outside_roots(&path, &self.roots).map_err(|astray| match astray {
            OutsideError::Missing => ServerProgramError::Missing,
            OutsideError::InRoot if path.exists() => ServerProgramError::InWorkspace,
            OutsideError::InRoot => ServerProgramError::Missing,
        })?;
        let metadata = real.metadata();
        let is_executable =
            metadata.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0);
        is_executable.then_some(path).ok_or(ServerProgramError::Missing)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn programs_that_the_workspace_has_a_say_in_are_passed_over() {
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path().canonicalize().unwrap();
        for place in ["root/bin", "tools", "more"] {
            fs::create_dir_all(base.join(place)).unwrap();
        }
        for (file, mode) in
            [("root/bin/server", 0o755), ("tools/server", 0o644), ("more/server", 0o755)]
        {
            fs::write(base.join(file), "").unwrap();
            fs::set_permissions(base.join(file), fs::Permissions::from_mode(mode)).unwrap();
        }
        symlink(base.join("more/server"), base.join("root/bin/linked")).unwrap();
        symlink(base.join("root/bin/linked"), base.join("tools/linked")).unwrap();
        let search = ["root/bin", "tools", "more"].map(|place| base.join(place));
        let programs = LanguageServerFinder {
            search: std::env::join_paths(search).unwrap(),
            roots: vec![base.join("root")],
        };
        let check = |words: &[&str], expect: Result<&str, ServerProgramError>| {
            let command: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            let found = programs.find(&command).map(|found| found.path);
            assert_eq!(found, expect.map(|path| base.join(path)), "{words:?}");
        };
        check(&["server", "--stdio"], Ok("more/server"));
        check(&["linked"], Err(ServerProgramError::InWorkspace));
        check(&["absent"], Err(ServerProgramError::Missing));
        check(&["more/server"], Err(ServerProgramError::Missing));
        check(
            &["server", base.join("root/script.js").to_str().unwrap()],
            Err(ServerProgramError::InWorkspace),
        );
        check(&[base.join("more/server").to_str().unwrap()], Ok("more/server"));
        check(
            &[base.join("root/bin/server").to_str().unwrap()],
            Err(ServerProgramError::InWorkspace),
        );
    }
}
