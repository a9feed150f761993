//! The table `[skills]` of a manifest: further directories of skills. haft reads them when a session first needs
//! skills, not here.

use std::path::PathBuf;

use serde::Deserialize;

use super::problem::KeyProblem;

/// Entries of `skills.paths`.
///
/// Limit (settings): the manifest is refused.
pub const SKILL_PATHS_MAX: usize = 16;

/// The values of the table. Every key is optional; a missing key has its default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SkillsSection {
    /// Directories of skills, looked at after all others.
    pub paths: Vec<PathBuf>,
}

impl SkillsSection {
    /// Returns the keys whose values cannot be used, and what is wrong with them.
    pub(super) fn problems(&self) -> Vec<KeyProblem> {
        let count = self.paths.len();
        let empty = self.paths.iter().any(|path| path.as_os_str().is_empty());
        let empty = empty.then(|| "paths: expected directories, found an empty text".to_owned());
        let many = (count > SKILL_PATHS_MAX).then(|| {
            format!(
                "paths: expected at most {SKILL_PATHS_MAX} directories of skills, found {count}"
            )
        });
        empty.into_iter().chain(many).map(|message| ("paths", message)).collect()
    }
}

#[cfg(test)]
mod tests;
