//! Finds the repository of a linked git worktree. A pointer is trusted only if its target points
//! back: a process that may write the worktree could point it anywhere, but could not make the
//! target point back.

use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Maximum size of a file that contains only a path, in bytes.
pub(crate) const POINTER_BYTES_MAX: u64 = 4_096 + 16;

/// The directories that a linked worktree needs besides its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkedWorktree {
    /// The repository that all of its worktrees share: objects, branches, configuration and hooks.
    pub common_dir: PathBuf,
    /// The part of `common_dir` that belongs to this worktree alone.
    pub git_dir: PathBuf,
}

/// Returns the repository of a linked worktree, or `None` if `root` is not a linked worktree.
///
/// `root/.git` alone is not trusted. The directory that it names must be a worktree's directory
/// inside a repository, and must name this very `.git` in turn. Paths are canonical.
///
/// # Errors
///
/// The operating system's error if an existing file cannot be read.
pub fn worktree_directories(root: &Path) -> io::Result<Option<LinkedWorktree>> {
    let Some(entry) = absent_as_none(root.join(".git").symlink_metadata())? else {
        return Ok(None);
    };
    if !entry.is_file() {
        return Ok(None);
    }
    let root = root.canonicalize()?;
    let pointer = root.join(".git");
    let Some(text) = read_pointer(&pointer)? else { return Ok(None) };
    let Some(git_dir) = text.strip_prefix(b"gitdir: ").map(|path| join_bytes(&root, path)) else {
        return Ok(None);
    };
    let Some(git_dir) = absent_as_none(git_dir.canonicalize())? else { return Ok(None) };
    let Some(common_dir) = common_dir(&git_dir)? else { return Ok(None) };
    let answers = read_pointer(&git_dir.join("gitdir"))?
        .map(|path| absent_as_none(join_bytes(&git_dir, &path).canonicalize()))
        .transpose()?
        .flatten();
    Ok((answers == Some(pointer)).then_some(LinkedWorktree { common_dir, git_dir }))
}

/// Returns the repository of this worktree directory. The directory names decide, and the file that
/// git obeys must agree.
fn common_dir(git_dir: &Path) -> io::Result<Option<PathBuf>> {
    let Some(worktrees) = git_dir.parent().filter(|parent| parent.ends_with("worktrees")) else {
        return Ok(None);
    };
    let Some(common_dir) = worktrees.parent() else { return Ok(None) };
    let Some(path) = read_pointer(&git_dir.join("commondir"))? else { return Ok(None) };
    let named = absent_as_none(join_bytes(git_dir, &path).canonicalize())?;
    let has = |name: &str| common_dir.join(name).symlink_metadata().is_ok();
    let is_repository = has("HEAD") && has("objects") && has("refs");
    Ok((is_repository && named.as_deref() == Some(common_dir)).then(|| common_dir.to_path_buf()))
}

/// Returns the only line of a regular file without its line end, or `None` if the file is missing
/// or contains more.
pub(super) fn read_pointer(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let Some(metadata) = absent_as_none(path.symlink_metadata())? else { return Ok(None) };
    if !metadata.is_file() || metadata.len() > POINTER_BYTES_MAX {
        return Ok(None);
    }
    let mut text = Vec::new();
    fs::File::open(path)?.take(POINTER_BYTES_MAX).read_to_end(&mut text)?;
    Ok(pointer_line(&text).map(<[u8]>::to_vec))
}

/// Returns the only line of a text without its line end, or `None` if there are more lines or the
/// text is empty.
pub(super) fn pointer_line(text: &[u8]) -> Option<&[u8]> {
    let line = text.strip_suffix(b"\n").unwrap_or(text);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let is_one = !line.is_empty() && !line.iter().any(|byte| matches!(byte, b'\n' | b'\r' | 0));
    is_one.then_some(line)
}

/// Joins a path from a file to the directory that it is relative to.
pub(super) fn join_bytes(directory: &Path, path: &[u8]) -> PathBuf {
    directory.join(std::ffi::OsStr::from_bytes(path))
}

fn absent_as_none<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
