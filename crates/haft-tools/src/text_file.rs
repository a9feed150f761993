//! Reads text files for tools. An error about a file that is not text says why; an error about a missing file names
//! similar files.

use std::io::Read;
use std::path::Path;

use haft_contract::limits::SUGGESTIONS_MAX;
use haft_contract::{
    Cx, DirectoryEntry, ErrorCode, FilePath, FileStamp, Fs, FsEntryKind, OpenRegularFile,
    RequirementSet, ToolError,
};

use crate::charset::has_utf_16_mark;

/// Entries of a directory that an error about it names.
const LISTED_ENTRIES_MAX: usize = 10;
/// Letters of a file name for each of which one may be wrong, of those that are worth naming.
const CHARS_PER_MISTAKE: usize = 3;
/// Largest file that `edit` changes, in bytes. In the profile `smithers`, it is the output limit.
///
/// Limit (files): the edit is refused.
pub(crate) const EDITED_FILE_BYTES_MAX: usize = 5_000_000;
/// The start of a file that is looked at to tell text from anything else, in bytes.
const SNIFFED_BYTES: usize = 8 * 1024;

/// A whole text file.
pub(crate) struct TextFile {
    pub(crate) path: FilePath,
    pub(crate) text: String,
    pub(crate) stamp: FileStamp,
}

/// A whole file, of which nothing is known yet.
pub(crate) struct LoadedFile {
    pub(crate) path: FilePath,
    pub(crate) contents: Vec<u8>,
    pub(crate) stamp: FileStamp,
}

/// Returns the requirement of a tool that reads anywhere in the workspace.
pub(crate) fn workspace_read_requirements() -> RequirementSet {
    let mut requires = RequirementSet::default();
    requires.fs.read = vec!["{workspace}/**".to_owned()];
    requires
}

/// Returns the requirement of a tool that reads and changes files anywhere in the workspace.
pub(crate) fn workspace_write_requirements() -> RequirementSet {
    let mut requires = workspace_read_requirements();
    requires.fs.write = vec!["{workspace}/**".to_owned()];
    requires
}

/// The tool that takes a file whole, which determines how large the file may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileUser {
    /// The file becomes the answer.
    Read,
    /// A part of the file is replaced.
    Edit,
}

impl FileUser {
    fn bytes_max(self, cx: &Cx) -> usize {
        match self {
            Self::Read => cx.max_output_bytes(),
            Self::Edit => EDITED_FILE_BYTES_MAX.max(cx.max_output_bytes()),
        }
    }
}

/// Loads a whole text file.
pub(crate) fn load_text_file(cx: &Cx, path: &str, user: FileUser) -> Result<TextFile, ToolError> {
    let LoadedFile { path: place, contents, stamp } = load_file(cx, path, user)?;
    let text = decode_text(path, contents)?;
    Ok(TextFile { path: place, text, stamp })
}

/// Loads a whole file.
pub(crate) fn load_file(cx: &Cx, path: &str, user: FileUser) -> Result<LoadedFile, ToolError> {
    let (place, opened) = open_file(cx.fs(), path)?;
    let bytes_max = user.bytes_max(cx);
    check_size(path, opened.stamp.size, bytes_max, user)?;
    let mut contents =
        Vec::with_capacity(usize::try_from(opened.stamp.size).unwrap_or_default() + 1);
    let limit = u64::try_from(bytes_max).unwrap_or(u64::MAX).saturating_add(1);
    opened.file.take(limit).read_to_end(&mut contents)?;
    // The file may have grown since its size was read.
    check_size(path, u64::try_from(contents.len()).unwrap_or(u64::MAX), bytes_max, user)?;
    Ok(LoadedFile { path: place, contents, stamp: opened.stamp })
}

/// Opens a regular file; the errors say what is there instead.
pub(crate) fn open_file(fs: &dyn Fs, path: &str) -> Result<(FilePath, OpenRegularFile), ToolError> {
    let (place, kind) = fs.resolve(path)?;
    match kind {
        Some(FsEntryKind::Regular) => {
            let opened = fs.open_regular(&place)?;
            Ok((place, opened))
        }
        Some(FsEntryKind::Directory) => {
            let entries = fs.list(&place).unwrap_or_default();
            let listed = entries.iter().take(LISTED_ENTRIES_MAX).map(|entry| {
                let slash = if entry.kind == FsEntryKind::Directory { "/" } else { "" };
                format!("{}{slash}", entry.name.to_string_lossy())
            });
            let mut names: Vec<String> = listed.collect();
            if entries.len() > LISTED_ENTRIES_MAX {
                names.push(format!("and {} more", entries.len() - LISTED_ENTRIES_MAX));
            }
            let contains = match names.is_empty() {
                true => "is empty".to_owned(),
                false => format!("contains {}", names.join(", ")),
            };
            Err(invalid_input(format!(
                "path {path:?} is a directory, not a file; it {contains}. Name a file, or list it with glob."
            )))
        }
        Some(other) => Err(invalid_input(format!(
            "path {path:?} is {}, which cannot be read: name a regular file",
            other.with_article()
        ))),
        None => Err(missing_file_error(fs, path, &place)),
    }
}

fn invalid_input(message: String) -> ToolError {
    ToolError::new(ErrorCode::PathInvalid, message)
}

fn check_size(path: &str, size: u64, bytes_max: usize, user: FileUser) -> Result<(), ToolError> {
    if usize::try_from(size).is_ok_and(|size| size <= bytes_max) {
        return Ok(());
    }
    let message = match user {
        FileUser::Read => format!(
            "file {path:?} has {size} bytes, and read takes at most {bytes_max} at once: give offset and limit (lines), \
             or find the lines with grep"
        ),
        FileUser::Edit => format!(
            "file {path:?} has {size} bytes, and edit takes at most {bytes_max}: change it with a command"
        ),
    };
    Err(ToolError::new(ErrorCode::FileTooLarge, message))
}

/// Returns the text, or says what the content is instead.
pub(crate) fn decode_text(path: &str, contents: Vec<u8>) -> Result<String, ToolError> {
    refuse_binary(path, &contents)?;
    String::from_utf8(contents).map_err(|err| {
        let offset = err.utf8_error().valid_up_to();
        invalid_input(format!(
            "file {path:?} is not UTF-8 text (the byte at offset {offset} is no valid UTF-8): \
             convert it, for example with iconv, or read a part of it with byte_offset and byte_limit"
        ))
    })
}

/// Refuses content that starts like UTF-16 or like a binary file.
pub(crate) fn refuse_binary(path: &str, contents: &[u8]) -> Result<(), ToolError> {
    let start = contents.get(..SNIFFED_BYTES.min(contents.len())).unwrap_or_default();
    if has_utf_16_mark(start) {
        return Err(invalid_input(format!(
            "file {path:?} is UTF-16 text: convert it to UTF-8, for example with iconv"
        )));
    }
    if start.contains(&0) {
        return Err(invalid_input(format!(
            "file {path:?} is {}, not text: look at it with a command, such as file or xxd",
            binary_kind(start)
        )));
    }
    Ok(())
}

/// Returns the kind of a file that `view` shows, as far as its first bytes tell.
pub(crate) fn viewed_kind(start: &[u8]) -> Option<&'static str> {
    const KINDS: &[(&[u8], &str)] = &[
        (b"\x89PNG", "a PNG image"),
        (b"\xff\xd8\xff", "a JPEG image"),
        (b"GIF8", "a GIF image"),
        (b"%PDF-", "a PDF document"),
    ];
    if start.starts_with(b"RIFF") && start.get(8..12) == Some(b"WEBP") {
        return Some("a WebP image");
    }
    KINDS.iter().find(|(magic, _)| start.starts_with(magic)).map(|(_, kind)| *kind)
}

/// Returns the kind of a file that is not text, as far as its first bytes tell.
fn binary_kind(start: &[u8]) -> &'static str {
    const KINDS: &[(&[u8], &str)] = &[
        (b"PK\x03\x04", "a ZIP archive"),
        (b"\x1f\x8b", "a gzip archive"),
        (b"\x7fELF", "a program"),
        (b"SQLite format 3", "an SQLite database"),
    ];
    let known = KINDS.iter().find(|(magic, _)| start.starts_with(magic)).map(|(_, kind)| *kind);
    viewed_kind(start).or(known).unwrap_or("binary (it has NUL bytes)")
}

/// Names what is there instead of a missing file: entries like it, or how far the path leads.
pub(crate) fn missing_file_error(fs: &dyn Fs, path: &str, place: &FilePath) -> ToolError {
    let parent = Path::new(path).parent().map(|parent| parent.to_string_lossy().into_owned());
    let parent = parent.filter(|parent| !parent.is_empty()).unwrap_or_else(|| ".".to_owned());
    let name = place.relative().file_name().unwrap_or_default().to_string_lossy().into_owned();
    if path.contains("://") {
        return invalid_input(format!("{path:?} is a URL: give a path in the workspace"));
    }
    if path.contains('\\') {
        let plain = path.replace('\\', "/");
        return invalid_input(format!(
            "path {path:?} does not exist: write / between directories, as in {plain:?}"
        ));
    }
    let hint = match fs.resolve(&parent) {
        Ok((directory, Some(FsEntryKind::Directory))) => {
            let entries = fs.list(&directory).unwrap_or_default();
            let itself = Path::new(path).file_name();
            let is_link = |entry: &&DirectoryEntry| {
                entry.kind == FsEntryKind::Symlink && Some(entry.name.as_os_str()) == itself
            };
            if entries.iter().any(|entry| is_link(&entry)) {
                return invalid_input(format!(
                    "path {path:?} is a link to {:?}, which does not exist: use another file",
                    place.display()
                ));
            }
            let near = similar_entries(&directory, &entries, &name);
            if near.is_empty() {
                "use glob to find it".to_owned()
            } else {
                format!("did you mean {}?", near.join(" or "))
            }
        }
        Ok((directory, None)) => match near_entries(fs, &parent, &directory).as_slice() {
            [] => {
                format!("its directory {parent:?} does not exist either; use glob to find it")
            }
            near => {
                let files = near.iter().map(|near| format!("{near}/{name}"));
                let files: Vec<String> = files
                    .filter(|file| fs.resolve(file).is_ok_and(|(_, kind)| kind.is_some()))
                    .collect();
                let meant = if files.is_empty() { near } else { files.as_slice() };
                format!(
                    "its directory {parent:?} does not exist either; did you mean {}?",
                    meant.join(" or ")
                )
            }
        },
        Ok(_) | Err(_) => "use glob to find it".to_owned(),
    };
    invalid_input(format!("path {path:?} does not exist: {hint}"))
}

/// Returns the entries that are like a missing directory, if the directory around it exists.
fn near_entries(fs: &dyn Fs, path: &str, place: &FilePath) -> Vec<String> {
    let parent = Path::new(path).parent().map(|parent| parent.to_string_lossy().into_owned());
    let parent = parent.filter(|parent| !parent.is_empty()).unwrap_or_else(|| ".".to_owned());
    let name = place.relative().file_name().unwrap_or_default().to_string_lossy();
    match fs.resolve(&parent) {
        Ok((directory, Some(FsEntryKind::Directory))) => {
            let mut entries = fs.list(&directory).unwrap_or_default();
            entries.retain(|entry| entry.kind == FsEntryKind::Directory);
            similar_entries(&directory, &entries, &name)
        }
        Ok(_) | Err(_) => Vec::new(),
    }
}

/// Returns the entries of a directory whose names are like `name`, the most similar one first.
fn similar_entries(directory: &FilePath, entries: &[DirectoryEntry], name: &str) -> Vec<String> {
    let wanted = name.to_lowercase();
    let mut scored: Vec<(f64, String)> = entries
        .iter()
        .map(|entry| entry.name.to_string_lossy().into_owned())
        .filter(|name| is_similar(&wanted, &name.to_lowercase()))
        .map(|name| (strsim::jaro_winkler(&wanted, &name.to_lowercase()), name))
        .collect();
    scored.sort_by(|one, other| other.0.total_cmp(&one.0).then_with(|| one.1.cmp(&other.1)));
    let near = scored.iter().take(SUGGESTIONS_MAX);
    near.map(|(_, near)| directory.join(near.as_ref()).display().to_owned()).collect()
}

/// Returns whether one file name was probably meant by the other: few letters differ, or one is most of the beginning of the other.
fn is_similar(one: &str, other: &str) -> bool {
    let (longest, shortest) = {
        let counts = (one.chars().count(), other.chars().count());
        (counts.0.max(counts.1), counts.0.min(counts.1))
    };
    let is_beginning = one.starts_with(other) || other.starts_with(one);
    strsim::osa_distance(one, other) <= longest / CHARS_PER_MISTAKE
        || (is_beginning && shortest * 2 >= longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_may_be_meant_are_similar() {
        let check = |one: &str, other: &str, expect: bool| {
            assert_eq!(is_similar(one, other), expect, "for {one:?} and {other:?}");
        };
        check("mian.py", "main.py", true);
        check("scr", "src", true);
        check("readme", "readme.md", true);
        check("reamde.md", "readme.md", true);
        check("main.rs", "main.py", true);
        check("nope.py", "notes.ipynb", false);
        check("nope.png", "notes.ipynb", false);
        check("nope.png", "logo.png", false);
        check("a", "abcdef", false);
        check("", "src", false);
    }
}
