//! `read`: a text file, whole or in part.

use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};

use haft_contract::{Access, Cx, ErrorCode, OpenRegularFile, Tool, ToolError, ToolKind};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::text_file::{load_text_file, open_file, refuse_binary, workspace_read_requirements};

/// The bytes of a character that can stand before the next one begins.
const CONTINUATION_BYTES_MAX: usize = 3;
/// Bytes of a file that take less time to read from memory than a change of threads takes.
const QUICK_BYTES_MAX: u64 = 64 * 1024;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReadInput {
    /// Relative to the root, or absolute within it.
    path: String,
    /// First line, from 1.
    #[schemars(range(min = 1))]
    start_line: Option<u64>,
    /// Last line, inclusive.
    #[schemars(range(min = 1))]
    end_line: Option<u64>,
    /// First byte, from 0; instead of lines.
    offset: Option<u64>,
    /// Number of bytes.
    #[schemars(range(min = 1))]
    limit: Option<u64>,
}

pub(crate) fn read() -> Tool {
    Tool::new("read")
        .description(
            "Read a text file. Files over 200 KB need a range: start_line/end_line (1-based, inclusive) or \
             offset/limit (bytes).",
        )
        .kind(ToolKind::Read)
        .example_output(json!("the text of the file"))
        .requires(workspace_read_requirements())
        .accesses(|input: &ReadInput| vec![Access::read(&input.path)])
        // Most files that are read are small and were read or written a moment ago.
        .execute_blocking_unless(is_quick, |input: ReadInput, cx: &Cx| {
            match range(&input, cx.max_output_bytes())? {
                FileRange::Whole => Ok(load_text_file(cx, &input.path)?.text),
                FileRange::Lines { first, last } => read_lines(cx, &input.path, first, last),
                // The range gives whole characters: one that is cut at the beginning belongs to the range before,
                // and one that is cut at the end is completed. Adjoining ranges thus give the whole text.
                FileRange::Bytes { offset, limit } => {
                    let (_, OpenRegularFile { mut file, stamp }) = open_file(cx.fs(), &input.path)?;
                    if offset > stamp.size {
                        let message = format!(
                            "offset: file {:?} has {} bytes, found {offset}",
                            input.path, stamp.size
                        );
                        return Err(ToolError::new(ErrorCode::InvalidInput, message));
                    }
                    let mut start = Vec::new();
                    file.by_ref().take(1024).read_to_end(&mut start)?;
                    refuse_binary(&input.path, &start)?;
                    file.seek(SeekFrom::Start(offset))?;
                    let mut contents = Vec::new();
                    let more = u64::try_from(CONTINUATION_BYTES_MAX).unwrap_or(0);
                    file.take(limit.saturating_add(more)).read_to_end(&mut contents)?;
                    let limit = usize::try_from(limit).unwrap_or(usize::MAX).min(contents.len());
                    let begin = if offset == 0 { 0 } else { continuation_bytes(&contents, 0) };
                    let end = limit + continuation_bytes(&contents, limit);
                    let wanted = contents.get(begin.min(end)..end).unwrap_or_default();
                    Ok(String::from_utf8_lossy(wanted).into_owned())
                }
            }
        })
}

/// Returns whether the file can be read on the thread that serves all calls.
fn is_quick(input: &ReadInput, cx: &Cx) -> bool {
    cx.fs().is_cached(&input.path, QUICK_BYTES_MAX)
}

/// The part of a file that is wanted.
enum FileRange {
    Whole,
    Lines { first: u64, last: u64 },
    Bytes { offset: u64, limit: u64 },
}

fn range(input: &ReadInput, bytes_max: usize) -> Result<FileRange, ToolError> {
    let invalid = |message: String| Err(ToolError::new(ErrorCode::InvalidInput, message));
    let bytes_max = u64::try_from(bytes_max).unwrap_or(u64::MAX);
    match (input.start_line, input.end_line, input.offset, input.limit) {
        (None, None, None, None) => Ok(FileRange::Whole),
        (None, None, offset, limit) => {
            let limit = limit.unwrap_or(bytes_max);
            if limit > bytes_max {
                return invalid(format!("limit: expected at most {bytes_max}, found {limit}"));
            }
            Ok(FileRange::Bytes { offset: offset.unwrap_or(0), limit })
        }
        (first, last, None, None) => {
            let (first, last) = (first.unwrap_or(1), last.unwrap_or(u64::MAX));
            if last < first {
                return invalid(format!(
                    "end_line: expected at least start_line ({first}), found {last}"
                ));
            }
            Ok(FileRange::Lines { first, last })
        }
        _ => invalid(
            "give lines (start_line, end_line) or bytes (offset, limit), not both".to_owned(),
        ),
    }
}

fn read_lines(cx: &Cx, path: &str, first: u64, last: u64) -> Result<String, ToolError> {
    let (_, OpenRegularFile { file, .. }) = open_file(cx.fs(), path)?;
    let mut lines = BufReader::new(file);
    refuse_binary(path, lines.fill_buf()?)?;
    let mut wanted = Vec::new();
    let mut number = 0;
    while number < last {
        if cx.is_cancelled() {
            return Err(ToolError::new(
                ErrorCode::ToolTimeout,
                format!("stopped at line {number} of {path:?}"),
            ));
        }
        // Lines before the first wanted one are only passed over, however long they are.
        let count = if number + 1 < first {
            lines.skip_until(b'\n')?
        } else {
            let room = cx.max_output_bytes().saturating_sub(wanted.len());
            let limit = u64::try_from(room).unwrap_or(u64::MAX).saturating_add(1);
            let count = lines.by_ref().take(limit).read_until(b'\n', &mut wanted)?;
            if wanted.len() > cx.max_output_bytes() {
                let message = format!(
                    "these lines of {path:?} are more than {} bytes: ask for fewer lines, or use offset and limit",
                    cx.max_output_bytes()
                );
                return Err(ToolError::new(ErrorCode::FileTooLarge, message));
            }
            count
        };
        if count == 0 {
            break;
        }
        number += 1;
    }
    if number < first && !(number == 0 && first == 1) {
        let message = format!("start_line: file {path:?} has {number} lines, found {first}");
        return Err(ToolError::new(ErrorCode::InvalidInput, message));
    }
    crate::text_file::decode_text(path, wanted)
}

fn continuation_bytes(contents: &[u8], from: usize) -> usize {
    let rest = contents.get(from..).unwrap_or_default();
    rest.iter()
        .take(CONTINUATION_BYTES_MAX)
        .take_while(|&&byte| byte & 0b1100_0000 == 0b1000_0000)
        .count()
}
