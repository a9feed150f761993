//! The directories that haft searches for skills and project instructions. The search goes up from a workspace as long
//! as the directories belong to the project. It stops at the top of the repository, below the home directory, and
//! before a directory of another user.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The directories in which haft searches for skills. By default there are none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SkillSearchPaths {
    /// The workspace: `.agents/skills` and `.claude/skills` of it and of the directories above it, the nearest first.
    pub root: Option<PathBuf>,
    /// The user's home, where the way up from the workspace ends.
    pub home: Option<PathBuf>,
    /// The user's directories of skills, in the order in which haft searches them.
    pub user: Vec<PathBuf>,
    /// The skills of the program.
    pub bundled: Vec<BundledSkill>,
    /// Directories of skills that the configuration names.
    pub configured: Vec<PathBuf>,
}

/// A skill that is a part of the program. It has no directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BundledSkill {
    /// Its name.
    pub name: &'static str,
    /// Its whole `SKILL.md`.
    pub text: &'static str,
}

/// Returns the directories of the project: the root and directories above it, the nearest first. The paths contain no
/// links.
///
/// The last directory is the top of the repository that contains the root. Without a repository, the last directory is
/// the one below the home. If the root is not in the home either, it is the only directory, because any user may write
/// above it. The list also ends before a directory that belongs to another user.
pub(crate) fn project_directories(root: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let Ok(root) = root.canonicalize() else { return Vec::new() };
    let home = home.and_then(|home| home.canonicalize().ok());
    let Some(owner) = owner(&root) else { return Vec::new() };
    let above = root.ancestors().take_while(|directory| self::owner(directory) == Some(owner));
    let above: Vec<PathBuf> = above.map(Path::to_path_buf).collect();
    let is_top = |directory: &PathBuf| directory.join(".git").symlink_metadata().is_ok();
    let is_home = |directory: &&PathBuf| home.as_ref() == Some(*directory);
    let depth = match (above.iter().position(is_top), above.iter().position(|one| is_home(&one))) {
        // Some keep their whole home in a repository, which is no project.
        (Some(top), Some(home)) if top >= home => home.max(1),
        (Some(top), _) => top + 1,
        (None, Some(home)) => home.max(1),
        (None, None) => 1,
    };
    above.into_iter().take(depth).collect()
}

/// Returns the user id of the directory's owner, or `None` if it cannot be read.
fn owner(directory: &Path) -> Option<u32> {
    directory.metadata().ok().map(|metadata| metadata.uid())
}
