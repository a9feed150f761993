//! `read`: a text file, whole or in part.

use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};

use haft_contract::{
    Access, Cx, ErrorCode, FilePart, OpenRegularFile, Tool, ToolError, ToolKind, ToolOutput,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::aliases;
use crate::text_file::{
    FileUser, decode_text, load_text_file, open_file, refuse_binary, workspace_read_requirements,
};

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
    offset: Option<u64>,
    /// Number of lines.
    #[schemars(range(min = 1))]
    limit: Option<u64>,
    /// The same as offset.
    #[schemars(range(min = 1))]
    start_line: Option<u64>,
    /// Last line, inclusive; instead of limit.
    #[schemars(range(min = 1))]
    end_line: Option<u64>,
    /// First byte, from 0; instead of lines.
    byte_offset: Option<u64>,
    /// Number of bytes.
    #[schemars(range(min = 1))]
    byte_limit: Option<u64>,
}

pub(crate) fn read() -> Tool {
    Tool::new("read")
        .description(
            "Read a text file, or some of its lines (offset, limit). A long answer is cut and says how to continue. \
             Files over 200 KB need a range.",
        )
        .kind(ToolKind::Read)
        .example_output(json!("the text of the file"))
        .requires(workspace_read_requirements())
        .aliases(aliases::PATH)
        .accesses(|input: &ReadInput| vec![Access::read(&input.path)])
        // Most files that are read are small and were read or written a moment ago.
        .execute_blocking_unless(is_quick, |input: ReadInput, cx: &Cx| {
            match range(&input, cx.max_output_bytes())? {
                FileRange::Whole => {
                    let text = load_text_file(cx, &input.path, FileUser::Read)?.text;
                    let lines = text.split_inclusive('\n').count();
                    let total = Some(u64::try_from(lines).unwrap_or(u64::MAX));
                    let part = FilePart::Lines { first: 1, first_byte: 0, total, goes_on: false };
                    Ok(file_output(text, part, "(empty file)".to_owned()))
                }
                FileRange::Lines(wanted) => read_lines(cx, &input.path, wanted),
                FileRange::Bytes { offset, limit } => read_bytes(cx, &input.path, offset, limit),
            }
        })
}

/// Returns whether the file can be read on the thread that serves all calls.
fn is_quick(input: &ReadInput, cx: &Cx) -> bool {
    cx.fs().is_cached(&input.path, QUICK_BYTES_MAX)
}

fn file_output(text: String, part: FilePart, empty_note: String) -> ToolOutput {
    let empty_note = text.is_empty().then_some(empty_note);
    ToolOutput { file_part: Some(part), empty_note, ..ToolOutput::text(text) }
}

/// The part of a file that is wanted.
enum FileRange {
    Whole,
    Lines(LineRange),
    Bytes { offset: u64, limit: u64 },
}

/// Some lines of a file.
struct LineRange {
    /// The first line, from 1.
    first: u64,
    /// The last line, or `None` for all that fit into an answer.
    last: Option<u64>,
}

fn range(input: &ReadInput, bytes_max: usize) -> Result<FileRange, ToolError> {
    let invalid = |message: &str| Err(ToolError::new(ErrorCode::InvalidInput, message));
    let ReadInput { offset, limit, start_line, end_line, byte_offset, byte_limit, .. } = input;
    let bytes_max = u64::try_from(bytes_max).unwrap_or(u64::MAX);
    let has_lines = [offset, limit, start_line, end_line].iter().any(|given| given.is_some());
    match (byte_offset, byte_limit) {
        (None, None) if !has_lines => return Ok(FileRange::Whole),
        (None, None) => {}
        _ if has_lines => {
            return invalid(
                "the input names lines and bytes: give offset and limit, or byte_offset and byte_limit",
            );
        }
        (byte_offset, byte_limit) => {
            let limit = byte_limit.unwrap_or(bytes_max);
            if limit > bytes_max {
                return invalid(&format!(
                    "byte_limit: expected at most {bytes_max}, found {limit}"
                ));
            }
            return Ok(FileRange::Bytes { offset: byte_offset.unwrap_or(0), limit });
        }
    }
    if offset.is_some() && start_line.is_some() {
        return invalid("offset and start_line both name the first line: give one of them");
    }
    if limit.is_some() && end_line.is_some() {
        return invalid("limit and end_line both name the last line: give one of them");
    }
    // Some agents count lines from 0.
    let first = start_line.or(*offset).unwrap_or(1).max(1);
    let last = end_line.or(limit.map(|lines| first.saturating_add(lines - 1)));
    match last {
        Some(last) if last < first => {
            invalid(&format!("end_line: expected at least the first line ({first}), found {last}"))
        }
        last => Ok(FileRange::Lines(LineRange { first, last })),
    }
}

fn read_lines(cx: &Cx, path: &str, range: LineRange) -> Result<ToolOutput, ToolError> {
    let LineRange { first, last } = range;
    let (_, OpenRegularFile { file, .. }) = open_file(cx.fs(), path)?;
    let mut lines = BufReader::new(file);
    refuse_binary(path, lines.fill_buf()?)?;
    let mut wanted = Vec::new();
    let (mut number, mut first_byte, mut is_end, mut goes_on) = (0, 0, false, false);
    while last.is_none_or(|last| number < last) {
        if cx.is_cancelled() {
            return Err(ToolError::new(
                ErrorCode::ToolTimeout,
                format!("stopped at line {number} of {path:?}: give an offset nearer to the start"),
            ));
        }
        // Lines before the first wanted one are only passed over, however long they are.
        let count = if number + 1 < first {
            let count = lines.skip_until(b'\n')?;
            first_byte += u64::try_from(count).unwrap_or(u64::MAX);
            count
        } else {
            let before = wanted.len();
            let room = cx.max_output_bytes().saturating_sub(before);
            let limit = u64::try_from(room).unwrap_or(u64::MAX).saturating_add(1);
            let count = lines.by_ref().take(limit).read_until(b'\n', &mut wanted)?;
            if wanted.len() > cx.max_output_bytes() {
                if last.is_none() && before > 0 {
                    wanted.truncate(before);
                    goes_on = true;
                    break;
                }
                let message = format!(
                    "these lines of {path:?} have more than {} bytes: give a smaller limit, or byte_offset and \
                     byte_limit",
                    cx.max_output_bytes()
                );
                return Err(ToolError::new(ErrorCode::FileTooLarge, message));
            }
            count
        };
        if count == 0 {
            is_end = true;
            break;
        }
        number += 1;
    }
    if number < first && !(number == 0 && first == 1) {
        let message = format!(
            "file {path:?} has {number} lines, found offset {first}: give an offset from 1 to {number}"
        );
        return Err(ToolError::new(ErrorCode::InvalidInput, message));
    }
    let total = is_end.then_some(number);
    let part = FilePart::Lines { first, first_byte, total, goes_on };
    Ok(file_output(decode_text(path, wanted)?, part, "(empty file)".to_owned()))
}

/// Reads whole characters. A character that is cut at the beginning belongs to the range before, and one that is cut at the end
/// is completed, so adjoining ranges give the whole text.
fn read_bytes(cx: &Cx, path: &str, offset: u64, limit: u64) -> Result<ToolOutput, ToolError> {
    let (_, OpenRegularFile { mut file, stamp }) = open_file(cx.fs(), path)?;
    if offset > stamp.size {
        let size = stamp.size;
        let message = format!(
            "byte_offset: file {path:?} has {size} bytes, found {offset}: give an offset up to {size}"
        );
        return Err(ToolError::new(ErrorCode::InvalidInput, message));
    }
    let mut start = Vec::new();
    file.by_ref().take(1024).read_to_end(&mut start)?;
    refuse_binary(path, &start)?;
    file.seek(SeekFrom::Start(offset))?;
    let mut contents = Vec::new();
    let more = u64::try_from(CONTINUATION_BYTES_MAX).unwrap_or(0);
    file.take(limit.saturating_add(more)).read_to_end(&mut contents)?;
    let limit = usize::try_from(limit).unwrap_or(usize::MAX).min(contents.len());
    let begin = if offset == 0 { 0 } else { continuation_bytes(&contents, 0) };
    let end = limit + continuation_bytes(&contents, limit);
    let wanted = contents.get(begin.min(end)..end).unwrap_or_default();
    let first = offset + u64::try_from(begin).unwrap_or(0);
    let part = FilePart::Bytes { first, total: stamp.size };
    let empty_note = format!("(no more bytes: the file has {})", stamp.size);
    Ok(file_output(String::from_utf8_lossy(wanted).into_owned(), part, empty_note))
}

fn continuation_bytes(contents: &[u8], from: usize) -> usize {
    let rest = contents.get(from..).unwrap_or_default();
    rest.iter()
        .take(CONTINUATION_BYTES_MAX)
        .take_while(|&&byte| byte & 0b1100_0000 == 0b1000_0000)
        .count()
}
