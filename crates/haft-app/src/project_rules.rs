//! The rules that a person decided for one project, when they were asked and said «always». They are kept in the user's
//! state, keyed by the root, and never in the workspace: what works there must not write what is allowed there.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use haft::ProjectRules;
use haft_contract::sha256_hex;
use haft_policy::Rule;
use serde::Serialize;

use crate::app_error::{AppError, NextStep};
use crate::host::AppHost;
use crate::manifest::{ExampleChecks, parse_project};
use crate::state_file;

/// Rules that are kept for a project.
///
/// Limit (calls): no rule is added.
pub(crate) const PROJECT_RULES_MAX: usize = 1_000;
/// Largest file of rules, in bytes.
pub(crate) const PROJECT_BYTES_MAX: u64 = 1024 * 1024;

/// The comment at the top of each file.
const HEADING: &str = "\
# Permission rules for the project below. haft added each of them when a person answered «always for
# this project». haft lists these rules and removes one on request; you can also edit the file.
";

/// The rules of one project, on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectRuleFile {
    /// The canonical root of the project.
    root: PathBuf,
    /// The file with the rules.
    path: PathBuf,
}

/// The file as it is written.
#[derive(Serialize)]
struct ProjectFileText<'a> {
    /// The root, for people who read the file.
    root: &'a str,
    /// The rules, in the order in which they were added.
    permissions: &'a [Rule],
}

impl ProjectRuleFile {
    /// Returns the project that `root` is the root of. Nothing is made.
    pub fn for_root(host: &AppHost, root: &Path) -> Self {
        // One that does not exist has no rules, and opening it says what is wrong with it.
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let name = format!("{}.toml", sha256_hex(root.as_os_str().as_bytes()));
        Self { path: host.state().projects().join(name), root }
    }

    /// Returns the file that the rules are in, if there are any.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the rules, in the order in which they were decided.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read, if a rule in it cannot be used, and if it was written for another root.
    pub fn rules(&self, examples: ExampleChecks) -> Result<Vec<Rule>, AppError> {
        let Some(text) = self.text().map_err(|err| self.unusable(&err))? else {
            return Ok(Vec::new());
        };
        let project = parse_project(&self.path, &text, examples)?;
        // A file may be copied from another project, and the user did not decide its rules for this one.
        if project.root.as_deref() != Some(&*self.root.to_string_lossy()) {
            let message = format!(
                "project rules {} are about another root: expected root = {:?}, found {}",
                self.path.display(),
                self.root,
                project.root.map_or("none".to_owned(), |root| format!("{root:?}")),
            );
            return Err(
                AppError::configuration(message).next(NextStep::RemoveFile(self.path.clone()))
            );
        }
        Ok(project.permissions)
    }

    /// Adds rules, those that are new; returns how many were.
    ///
    /// # Errors
    ///
    /// Fails like [`Self::rules`], if there would be too many rules, and if the file cannot be locked or written. It then holds
    /// what it held before.
    pub fn add(&self, rules: &[Rule]) -> Result<usize, AppError> {
        self.change(|known| {
            let before = known.len();
            for rule in rules {
                if !known.contains(rule) {
                    known.push(rule.clone());
                }
            }
            if known.len() > PROJECT_RULES_MAX {
                return Err(AppError::configuration(format!(
                    "there are {PROJECT_RULES_MAX} rules for this project already (PROJECT_RULES_MAX)"
                ))
                .next(NextStep::ListRules));
            }
            Ok(known.len() - before)
        })
    }

    /// Removes the rule with this number, from 1, and returns it.
    ///
    /// # Errors
    ///
    /// Fails like [`Self::rules`], if no rule has the number, and if the file cannot be locked or written.
    pub fn remove(&self, number: usize) -> Result<Rule, AppError> {
        self.change(|known| {
            let index = number.checked_sub(1).filter(|index| *index < known.len());
            let Some(index) = index else {
                let expected = match known.len() {
                    0 => "there are none".to_owned(),
                    count => format!("expected 1 to {count}"),
                };
                let message =
                    format!("no rule for this project has the number {number}: {expected}");
                return Err(AppError::configuration(message).next(NextStep::ListRules));
            };
            Ok(known.remove(index))
        })
    }

    /// Changes the rules under a lock, and writes the file whole or not at all.
    fn change<T>(
        &self,
        change: impl FnOnce(&mut Vec<Rule>) -> Result<T, AppError>,
    ) -> Result<T, AppError> {
        let _lock = self.lock().map_err(|err| self.unusable(&err))?;
        let mut rules = self.rules(ExampleChecks::Unchecked)?;
        let before = rules.clone();
        let changed = change(&mut rules)?;
        if rules != before {
            self.write(&rules).map_err(|err| self.unusable(&err))?;
        }
        Ok(changed)
    }

    /// Locks a separate file, because the file of the rules is replaced. The lock ends when the descriptor is closed, also
    /// by a crash.
    fn lock(&self) -> io::Result<File> {
        let directory = self.path.parent().unwrap_or(&self.path);
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        let lock = options.open(self.path.with_extension("lock"))?;
        lock.lock()?;
        Ok(lock)
    }

    /// Replaces the file with these rules.
    fn write(&self, rules: &[Rule]) -> io::Result<()> {
        let root = self.root.to_string_lossy();
        let text = toml::to_string(&ProjectFileText { root: &root, permissions: rules });
        let text = format!("{HEADING}{}", text.map_err(io::Error::other)?);
        state_file::write(&self.path, text.as_bytes())
    }

    /// Returns the content of the file, or `None` if there is no file.
    fn text(&self) -> io::Result<Option<String>> {
        use io::ErrorKind::{NotADirectory, NotFound};
        let file = match File::open(&self.path) {
            Ok(file) => file,
            // Without a state directory there are no rules either; what needs the directory says what is wrong with it.
            Err(err) if matches!(err.kind(), NotFound | NotADirectory) => return Ok(None),
            Err(err) => return Err(err),
        };
        let mut text = String::new();
        file.take(PROJECT_BYTES_MAX + 1).read_to_string(&mut text)?;
        if u64::try_from(text.len()).is_ok_and(|bytes| bytes > PROJECT_BYTES_MAX) {
            let message = format!("it has more than {PROJECT_BYTES_MAX} bytes (PROJECT_BYTES_MAX)");
            return Err(io::Error::other(message));
        }
        Ok(Some(text))
    }

    /// Returns the error of a file that cannot be read.
    fn unusable(&self, err: &io::Error) -> AppError {
        AppError::configuration(format!(
            "project rules {} cannot be used: {err}",
            self.path.display()
        ))
    }
}

impl ProjectRules for ProjectRuleFile {
    fn add(&self, rules: &[Rule]) -> Result<(), String> {
        Self::add(self, rules).map(drop).map_err(|err| err.message)
    }
}

#[cfg(test)]
mod tests;
