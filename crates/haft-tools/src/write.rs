//! `write`: creates or replaces a file, atomically.

use std::io::{self, Read};

use haft_contract::{
    Access, Cx, Effect, ErrorCode, FileChange, FsEntryKind, OpenRegularFile, Precondition, Tool,
    ToolError, ToolKind,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::aliases;
use crate::text_file::workspace_write_requirements;

/// The start of the former file that tells its line ends, in bytes.
const SNIFFED_BYTES: u64 = 64 * 1024;
const BOM: &str = "\u{feff}";
const OK: &str = "ok";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WriteInput {
    /// Relative to the root, or absolute within it.
    path: String,
    /// The whole new content.
    content: String,
}

pub(crate) fn write() -> Tool {
    Tool::new("write")
        .description(
            "Create or replace a file; parent directories are made. A file that has CRLF line ends or a BOM keeps \
             them. Prefer edit for changes.",
        )
        .kind(ToolKind::Edit)
        .example_output(json!("ok"))
        .effect(Effect::Once)
        .dangerous()
        // The former content is read too, for its line ends.
        .requires(workspace_write_requirements())
        .redacted(&["content"])
        .aliases(aliases::PATH)
        .aliases(aliases::WRITE)
        .only_changes_files()
        .accesses(|input: &WriteInput| vec![Access::write(&input.path)])
        .execute_blocking(|input: WriteInput, cx: &Cx| {
            let (bytes, bytes_max) = (input.content.len(), cx.max_output_bytes());
            if bytes > bytes_max {
                let message = format!(
                    "content has {bytes} bytes, at most {bytes_max} can be written at once: write a part, then add \
                     the rest with edit"
                );
                return Err(ToolError::new(ErrorCode::ContentTooLarge, message));
            }
            write_file(cx, &input.path, input.content)
        })
}

/// Returns the start of a file. With room for one byte more than there should be, one read finds the end.
fn read_start(opened: OpenRegularFile) -> io::Result<Vec<u8>> {
    let expected = opened.stamp.size.min(SNIFFED_BYTES);
    let mut start = Vec::with_capacity(usize::try_from(expected).unwrap_or_default() + 1);
    opened.file.take(SNIFFED_BYTES).read_to_end(&mut start)?;
    Ok(start)
}

/// Writes `content` to `path`, in the form of the file that it replaces.
pub(crate) fn write_file(
    cx: &Cx,
    path: &str,
    mut content: String,
) -> Result<&'static str, ToolError> {
    if path.ends_with('/') {
        let message =
            format!("path {path:?} ends with a slash and so names a directory: name the file");
        return Err(ToolError::new(ErrorCode::PathInvalid, message));
    }
    let (place, kind) = cx.fs().resolve(path)?;
    match kind {
        None => {}
        // The new content gets the BOM and the CRLF line ends of the file. If that file cannot be read, its form is lost.
        Some(FsEntryKind::Regular) => {
            if let Ok(opened) = cx.fs().open(&place)
                && let Ok(former) = read_start(opened)
            {
                let mut ends = former
                    .split_inclusive(|byte| *byte == b'\n')
                    .filter(|line| line.ends_with(b"\n"))
                    .peekable();
                let has_only_crlf =
                    ends.peek().is_some() && ends.all(|line| line.ends_with(b"\r\n"));
                if has_only_crlf && !content.contains('\r') {
                    content = content.replace('\n', "\r\n");
                }
                if former.starts_with(BOM.as_bytes()) && !content.starts_with(BOM) {
                    content.insert_str(0, BOM);
                }
            }
        }
        Some(other) => {
            let message = format!(
                "path {path:?} is {}, which cannot be written: name a file",
                other.with_article()
            );
            return Err(ToolError::new(ErrorCode::PathInvalid, message));
        }
    }
    let bytes_max = cx.max_output_bytes();
    if content.len() > bytes_max {
        let message = format!(
            "with the CRLF line ends of the file that it replaces, content has {} bytes, at most {bytes_max} are possible",
            content.len()
        );
        return Err(ToolError::new(ErrorCode::ContentTooLarge, message));
    }
    let change = FileChange::Write {
        path: place,
        contents: content.into_bytes(),
        mode: None,
        precondition: Precondition::Any,
    };
    cx.fs().apply_with_answer(vec![change], &OK.into())?;
    Ok(OK)
}
