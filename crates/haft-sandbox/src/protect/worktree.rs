//! Whether a directory is a linked worktree of a git repository that lies elsewhere. It deliberately believes no pointer
//! that is not answered: whoever may write the worktree could point it anywhere, but not make that place point back.

use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// How long a file that only holds a path can be.
pub(crate) const POINTER_BYTES_MAX: u64 = 4_096 + 16;

/// The directories that a linked worktree needs beside its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worktree {
    /// The repository that all of its worktrees share: objects, branches, configuration and hooks.
    pub common_dir: PathBuf,
    /// What belongs to this worktree alone, inside of `common_dir`.
    pub git_dir: PathBuf,
}

/// Returns where the repository of a linked worktree is, or nothing where `root` is none.
///
/// That `root/.git` says so is not enough: the place that it names has to be a worktree's directory inside of a
/// repository, and has to name this very `.git` in turn. Paths are canonical.
///
/// # Errors
///
/// What the operating system answers when a file that exists cannot be read.
pub fn worktree_directories(root: &Path) -> io::Result<Option<Worktree>> {
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
    Ok((answers == Some(pointer)).then_some(Worktree { common_dir, git_dir }))
}

/// Returns the repository whose worktree's directory this is: the names decide, and the file that git obeys agrees.
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

/// Returns the one line of a regular file without its end, or nothing if there is no such file or it holds more.
pub(super) fn read_pointer(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let Some(metadata) = absent_as_none(path.symlink_metadata())? else { return Ok(None) };
    if !metadata.is_file() || metadata.len() > POINTER_BYTES_MAX {
        return Ok(None);
    }
    let mut text = Vec::new();
    fs::File::open(path)?.take(POINTER_BYTES_MAX).read_to_end(&mut text)?;
    Ok(pointer_line(&text).map(<[u8]>::to_vec))
}

/// Returns the only line of a text without its end, or nothing if there are more or it is empty.
pub(super) fn pointer_line(text: &[u8]) -> Option<&[u8]> {
    let line = text.strip_suffix(b"\n").unwrap_or(text);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let is_one = !line.is_empty() && !line.iter().any(|byte| matches!(byte, b'\n' | b'\r' | 0));
    is_one.then_some(line)
}

/// Joins a path that a file holds to the directory that it is relative to.
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
