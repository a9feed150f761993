//! Files as a server is shown them: read through the call, so that it sees no more of them than the call does, and as they
//! are now.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use haft_contract::{Cx, ErrorCode, FileKind, FilePath, FileStamp, ToolError};
use url::Url;

use crate::language::Language;
use crate::limits::DOCUMENT_BYTES_MAX;

/// A whole text file.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    /// As a model reads it.
    pub(crate) display: String,
    /// As servers name it.
    pub(crate) uri: String,
    /// What the file was when it was read.
    pub(crate) stamp: FileStamp,
    /// What is in it.
    pub(crate) text: String,
}

/// Reads a text file.
pub(crate) fn load(cx: &Cx, path: &str) -> Result<Document, ToolError> {
    let (place, kind) = cx.fs().resolve(path)?;
    match kind {
        Some(FileKind::Regular) => {}
        Some(other) => {
            let found = other.with_article();
            return Err(unusable(path, &format!("expected a source file, found {found}")));
        }
        None => return Err(unusable(path, "it does not exist: use glob to find it")),
    }
    let opened = cx.fs().open_seen(&place)?;
    let mut bytes = Vec::new();
    opened.file.take(DOCUMENT_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > DOCUMENT_BYTES_MAX) {
        let message = format!(
            "{path:?} has more than {DOCUMENT_BYTES_MAX} bytes, which is more than a language server is shown: use grep"
        );
        return Err(ToolError::new(ErrorCode::FileTooLarge, message));
    }
    let text = String::from_utf8(bytes)
        .map_err(|_| unusable(path, "it is not UTF-8 text: convert it, for example with iconv"))?;
    let uri = uri_of(&absolute(cx, &place))?;
    Ok(Document { display: place.display().to_owned(), uri, stamp: opened.stamp, text })
}

/// Returns the absolute path of a place.
pub(crate) fn absolute(cx: &Cx, place: &FilePath) -> PathBuf {
    match place.display() {
        "." => cx.root().to_path_buf(),
        // What lies in another root is shown by its absolute path, which stays as it is.
        display => cx.root().join(display),
    }
}

/// Returns the directory that the project of a file begins in: the outermost one with a marker, or else the root.
pub(crate) fn project_of(
    cx: &Cx,
    place: &FilePath,
    language: &Language,
) -> Result<FilePath, ToolError> {
    let file = absolute(cx, place);
    let depth = place.relative().components().count();
    let mut outermost = None;
    for directory in file.ancestors().skip(1).take(depth) {
        let has_marker = |marker: &String| {
            let path = directory.join(marker);
            path.to_str().is_some_and(|path| matches!(cx.fs().resolve(path), Ok((_, Some(_)))))
        };
        if language.root_markers.iter().any(has_marker) {
            outermost = Some(directory);
        }
    }
    let root = file.ancestors().nth(depth);
    let directory = outermost.or(root).unwrap_or(cx.root());
    let path = directory.to_str().ok_or_else(|| unusable("path", "its name is not UTF-8"))?;
    Ok(cx.fs().resolve(path)?.0)
}

/// Returns the URI of an absolute path.
pub(crate) fn uri_of(path: &Path) -> Result<String, ToolError> {
    let url = Url::from_file_path(path)
        .map_err(|()| unusable(&path.to_string_lossy(), "it is no absolute path"))?;
    Ok(url.into())
}

/// Returns the path that a URI of a server names, if it names a file.
pub(crate) fn path_of(uri: &str) -> Option<PathBuf> {
    Url::parse(uri).ok()?.to_file_path().ok()
}

fn unusable(path: &str, why: &str) -> ToolError {
    ToolError::new(ErrorCode::PathInvalid, format!("{path:?} cannot be used: {why}"))
}
