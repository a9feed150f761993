//! Files as a server sees them: read through the call, in their current state, so that the server
//! sees only files that the call may read.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use haft_contract::{Cx, ErrorCode, FilePath, FileStamp, FsEntryKind, ToolError};
use url::Url;

use crate::language::Language;
use crate::limits::DOCUMENT_BYTES_MAX;

/// A whole text file.
#[derive(Clone, Debug)]
pub(crate) struct SourceDocument {
    /// The path as a model sees it.
    pub(crate) display: String,
    /// The path as servers name it.
    pub(crate) uri: String,
    /// The state of the file when it was read.
    pub(crate) stamp: FileStamp,
    /// Its content.
    pub(crate) text: String,
}

/// Reads a text file.
pub(crate) fn load_document(cx: &Cx, path: &str) -> Result<SourceDocument, ToolError> {
    let (place, kind) = cx.fs().resolve(path)?;
    match kind {
        Some(FsEntryKind::Regular) => {}
        Some(other) => {
            let found = other.with_article();
            return Err(unusable_path(path, &format!("expected a source file, found {found}")));
        }
        None => return Err(unusable_path(path, "it does not exist: use glob to find it")),
    }
    let opened = cx.fs().open_regular(&place)?;
    let mut bytes = Vec::new();
    opened.file.take(DOCUMENT_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > DOCUMENT_BYTES_MAX) {
        let message = format!(
            "{path:?} has more than {DOCUMENT_BYTES_MAX} bytes, which is more than a language server is shown: use grep"
        );
        return Err(ToolError::new(ErrorCode::FileTooLarge, message));
    }
    let text = String::from_utf8(bytes).map_err(|_| {
        unusable_path(path, "it is not UTF-8 text: convert it, for example with iconv")
    })?;
    let uri = uri_of(&absolute_path(cx, &place))?;
    Ok(SourceDocument { display: place.display().to_owned(), uri, stamp: opened.stamp, text })
}

/// Returns the absolute path of a file.
pub(crate) fn absolute_path(cx: &Cx, place: &FilePath) -> PathBuf {
    match place.display() {
        "." => cx.root().to_path_buf(),
        // A file in another root is displayed with its absolute path, which stays unchanged.
        display => cx.root().join(display),
    }
}

/// Returns the project directory of a file: the outermost one with a marker, or else the root.
pub(crate) fn project_directory(
    cx: &Cx,
    place: &FilePath,
    language: &Language,
) -> Result<FilePath, ToolError> {
    let file = absolute_path(cx, place);
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
    let path = directory.to_str().ok_or_else(|| unusable_path("path", "its name is not UTF-8"))?;
    Ok(cx.fs().resolve(path)?.0)
}

/// Returns the URI of an absolute path.
pub(crate) fn uri_of(path: &Path) -> Result<String, ToolError> {
    let url = Url::from_file_path(path)
        .map_err(|()| unusable_path(&path.to_string_lossy(), "it is not an absolute path"))?;
    Ok(url.into())
}

/// Returns the path of a server's URI, if it names a file.
pub(crate) fn path_of(uri: &str) -> Option<PathBuf> {
    Url::parse(uri).ok()?.to_file_path().ok()
}

fn unusable_path(path: &str, why: &str) -> ToolError {
    ToolError::new(ErrorCode::PathInvalid, format!("{path:?} cannot be used: {why}"))
}
