//! Reading one skill's directory, which may be a stranger's: no link out of it is followed, nothing but a file is opened,
//! and how much is read is bounded.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use haft_sandbox::{InodeKind, Root, RootError};

use super::{
    FILE_NAME, SKILL_BYTES_MAX, SKILL_DEPTH_MAX, SKILL_ENTRIES_MAX, SKILL_FILES_MAX,
    SKILL_FILES_SEEN_MAX,
};
use crate::front_matter::FRONT_MATTER_BYTES_MAX;

/// The files of a skill.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SkillFiles {
    /// The paths of the files, relative to the directory of the skill.
    pub(super) names: Vec<String>,
    /// Whether files were left out because there are too many.
    pub(super) has_more: bool,
}

/// Returns the sorted entries of a directory of skills, at most one more than haft looks at. Returns no entries if the
/// directory does not exist. Names that begin with a dot are not skills.
pub(super) fn list_entries(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let unreadable = |err: &io::Error| format!("expected a directory of skills: {err}");
    let listed = match std::fs::read_dir(directory) {
        Ok(listed) => listed,
        Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(err) => return Err(unreadable(&err)),
    };
    let mut entries = Vec::new();
    for entry in listed.take(SKILL_ENTRIES_MAX + 1) {
        let entry = entry.map_err(|err| unreadable(&err))?;
        if !entry.file_name().as_encoded_bytes().starts_with(b".") {
            entries.push(entry.path());
        }
    }
    entries.sort();
    Ok(entries)
}

/// Returns as much of the `SKILL.md` of a directory as its front matter can take; nothing if there is none.
pub(super) fn read_first_lines(directory: &Path) -> Result<Option<Vec<u8>>, String> {
    let root = open(directory)?;
    // The lines of dashes around it come on top.
    read(&root, FRONT_MATTER_BYTES_MAX + 64)
}

/// Returns the whole `SKILL.md`.
pub(super) fn read_whole(root: &Root) -> Result<Vec<u8>, String> {
    let bytes_max = usize::try_from(SKILL_BYTES_MAX).unwrap_or(usize::MAX);
    read(root, bytes_max)?.ok_or_else(|| format!("{FILE_NAME} is gone"))
}

/// Opens a skill's directory.
pub(super) fn open(directory: &Path) -> Result<Root, String> {
    Root::open(directory).map_err(|err| err.to_string())
}

/// Reads the `SKILL.md` of a directory, at most `bytes_max` bytes. Returns `None` if there is none. Fails if the file
/// is too large or a link leads out of the directory.
fn read(root: &Root, bytes_max: usize) -> Result<Option<Vec<u8>>, String> {
    let refused = |err: RootError| match err {
        RootError::Escape { .. } | RootError::Outside { .. } => {
            "a link that leads out of the skill's directory is not followed: copy the file"
                .to_owned()
        }
        err => err.to_string(),
    };
    let resolved = root.resolve(Path::new(FILE_NAME)).map_err(refused)?;
    if resolved.kind.is_none() {
        return Ok(None);
    }
    let opened = root.open_file(&resolved.path).map_err(refused)?;
    if opened.stamp.size_bytes > SKILL_BYTES_MAX {
        let bytes = opened.stamp.size_bytes;
        return Err(format!("expected at most {SKILL_BYTES_MAX} bytes, found {bytes}"));
    }
    let mut bytes = Vec::new();
    let bytes_max = u64::try_from(bytes_max).unwrap_or(u64::MAX);
    opened.file.take(bytes_max).read_to_end(&mut bytes).map_err(|err| err.to_string())?;
    Ok(Some(bytes))
}

/// Returns the other files of a skill, sorted. Links count where they lead to files of the skill.
pub(super) fn list_files(root: &Root) -> SkillFiles {
    let mut files = SkillFiles::default();
    let mut seen = 0;
    let mut open = vec![(PathBuf::new(), 0)];
    while let Some((directory, depth)) = open.pop() {
        // A directory that cannot be listed is skipped.
        let Ok(entries) = root.list(&directory) else { continue };
        for entry in entries {
            seen += 1;
            if seen > SKILL_FILES_SEEN_MAX || files.names.len() > SKILL_FILES_MAX {
                open.clear();
                files.has_more = true;
                break;
            }
            if entry.name.as_encoded_bytes().starts_with(b".") {
                continue;
            }
            let path = directory.join(&entry.name);
            match entry.kind {
                InodeKind::Directory if depth < SKILL_DEPTH_MAX => open.push((path, depth + 1)),
                InodeKind::Directory => files.has_more = true,
                _ if path != Path::new(FILE_NAME)
                    && root
                        .resolve(&path)
                        .is_ok_and(|found| found.kind == Some(InodeKind::Regular)) =>
                {
                    // A name that is not valid text cannot be shown to a model.
                    files.names.extend(path.to_str().map(str::to_owned));
                }
                _ => {}
            }
        }
    }
    files.names.sort();
    files.has_more |= files.names.len() > SKILL_FILES_MAX;
    files.names.truncate(SKILL_FILES_MAX);
    files
}
