//! Programs of the user that haft runs unconfined: watchdogs, and programs that are notified. A command must not be able to
//! change what they do. haft finds each program once, at the start, and refuses one that is reached through a root. haft does
//! not check the files that a program reads while it runs.

use std::ffi::{OsStr, OsString};
use std::fs::DirBuilder;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use haft::OperatorProgram;

use crate::app_error::AppError;
use crate::environment;
use crate::host::AppHost;
use crate::host_paths::{OutsideError, canonical_outside_roots};

/// Variables whose value is a list of directories that programs are loaded from.
const SEARCH_PATHS: &[&str] = &["NODE_PATH", "PATH"];

/// The directory that programs run in, and the roots that they must not lie in.
pub(crate) struct OperatorPrograms<'a> {
    /// The purpose of the programs, for messages.
    purpose: &'static str,
    /// The roots, as canonical paths.
    roots: &'a [PathBuf],
    /// The directory that the programs run in.
    directory: PathBuf,
    /// The variables that the programs get.
    environment: Vec<(OsString, OsString)>,
}

impl<'a> OperatorPrograms<'a> {
    /// Makes the directory that the programs run in if it is missing. No command reaches it.
    ///
    /// # Errors
    ///
    /// Fails if the directory cannot be made.
    pub(crate) fn new(
        purpose: &'static str,
        roots: &'a [PathBuf],
        host: &AppHost,
    ) -> Result<Self, AppError> {
        let directory = host.state().directory();
        DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(|err| {
            AppError::configuration(format!(
                "state directory {}, in which a {purpose} runs, cannot be made: {err}",
                directory.display()
            ))
        })?;
        let environment = without_roots(environment::allowed(host.variables()), roots);
        Ok(Self { purpose, roots, directory: directory.to_owned(), environment })
    }

    /// Finds a program with its arguments.
    ///
    /// # Errors
    ///
    /// Fails if there is no such program, or if commands could change the program or one of its arguments.
    pub(crate) fn find(
        &self,
        words: &[String],
        timeout_ms: u64,
    ) -> Result<OperatorProgram, AppError> {
        let purpose = self.purpose;
        let mut words = words.iter();
        let name = words.next().map(String::as_str).unwrap_or_default();
        let program = self.find_file(name)?;
        let is_in_root = |text: &str| {
            canonical_outside_roots(&self.directory.join(text), self.roots)
                == Err(OutsideError::InRoot)
        };
        for word in words.clone() {
            // An argument can be the script of an interpreter, and the text after a `=` can be a path, too.
            let value = word.split_once('=').map(|(_, value)| value);
            if [Some(word.as_str()), value].into_iter().flatten().any(is_in_root) {
                return Err(AppError::configuration(format!(
                    "{purpose} {name:?}: its argument {word:?} lies in a root, or is reached through one, where \
                     commands could change it: move it elsewhere"
                )));
            }
        }
        Ok(OperatorProgram {
            program,
            args: words.map(OsString::from).collect(),
            timeout_ms,
            environment: self.environment.clone(),
            directory: self.directory.clone(),
        })
    }

    /// Returns the path of a program under the name that the manifest uses: some programs behave by their name.
    fn find_file(&self, name: &str) -> Result<PathBuf, AppError> {
        let purpose = self.purpose;
        let named = Path::new(name);
        let candidate = if name.contains('/') {
            Some(named.to_owned())
        } else {
            let path = self.environment.iter().find(|(variable, _)| variable == "PATH");
            let directories = path.into_iter().flat_map(|(_, path)| std::env::split_paths(path));
            directories.map(|directory| directory.join(named)).find(|place| is_executable(place))
        };
        let missing = || {
            let expected = "expected an executable file, by its path or by a name on PATH";
            AppError::configuration(format!(
                "{purpose} {name:?} was not found: {expected} outside every root"
            ))
        };
        let candidate = candidate.ok_or_else(missing)?;
        match canonical_outside_roots(&candidate, self.roots) {
            Ok(program) if is_executable(&program) => Ok(candidate),
            Ok(_) | Err(OutsideError::Missing) => Err(missing()),
            Err(OutsideError::InRoot) => Err(AppError::configuration(format!(
                "{purpose} {name:?} lies in a root, or is reached through one, where commands could replace it: \
                 move it elsewhere"
            ))),
        }
    }
}

/// Returns whether the path is a file that some user may execute.
fn is_executable(path: &Path) -> bool {
    let metadata = path.metadata();
    metadata.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// Returns the variables without places in a root: an interpreter or its libraries would be loaded from there.
fn without_roots(
    variables: Vec<(OsString, OsString)>,
    roots: &[PathBuf],
) -> Vec<(OsString, OsString)> {
    let is_outside =
        |place: &PathBuf| canonical_outside_roots(place, roots) != Err(OutsideError::InRoot);
    let kept = |(name, value): (OsString, OsString)| {
        let places = std::env::split_paths(&value);
        if SEARCH_PATHS.iter().any(|search| name == *search) {
            let places = places.filter(|place| place.is_absolute()).filter(is_outside);
            return Some((name, std::env::join_paths(places).ok()?));
        }
        let is_free = places.into_iter().all(|place| is_outside(&place));
        is_free.then(|| (name, OsStr::to_owned(&value)))
    };
    variables.into_iter().filter_map(kept).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_lose_what_lies_in_a_root() {
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path().canonicalize().unwrap();
        for made in ["root/bin", "bin"] {
            std::fs::create_dir_all(base.join(made)).unwrap();
        }
        let roots = [base.join("root")];
        let check = |name: &str, value: &str, expect: Option<&str>| {
            let spelled = |text: &str| OsString::from(text.replace('@', base.to_str().unwrap()));
            let found = without_roots(vec![(name.into(), spelled(value))], &roots);
            let expect: Vec<_> =
                expect.map(|value| (name.into(), spelled(value))).into_iter().collect();
            assert_eq!(found, expect, "for {name}={value}");
        };
        check("PATH", "@/root/bin:@/bin:bin:", Some("@/bin"));
        check("NODE_PATH", "@/root/node_modules", Some(""));
        check("VIRTUAL_ENV", "@/root/venv", None);
        check("JAVA_HOME", "@/bin", Some("@/bin"));
        check("XDG_DATA_DIRS", "@/bin:@/root", None);
        check("LANG", "C.UTF-8", Some("C.UTF-8"));
    }
}
