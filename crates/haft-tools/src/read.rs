//! `read`: a text file, whole or in part.

use std::io::{BufRead, BufReader, Cursor, Read, Seek, SeekFrom};

use haft_contract::{
    Access, Cx, ErrorCode, FilePart, OpenRegularFile, Tool, ToolError, ToolKind, ToolOutput,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::aliases;
use crate::charset::{ConvertedText, has_utf_16_mark, to_utf_8};
use crate::text_file::{
    EDITED_FILE_BYTES_MAX, FileUser, load_file, open_file, refuse_binary, viewed_kind,
    workspace_read_requirements,
};

/// The bytes of a character that can stand before the next one begins.
const CONTINUATION_BYTES_MAX: usize = 3;
/// The start of a file that says whether it is text, in bytes.
const SNIFFED_BYTES: u64 = 1_024;
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
        .aliases(aliases::READ)
        .accesses(|input: &ReadInput| vec![Access::read(&input.path)])
        // Most files that are read are small and were read or written a moment ago.
        .execute_blocking_unless(is_quick, |input: ReadInput, cx: &Cx| {
            match range(&input, cx.max_output_bytes())? {
                FileRange::Whole => {
                    let converted = read_whole(cx, &input.path)?;
                    let lines = converted.text.split_inclusive('\n').count();
                    let total = Some(u64::try_from(lines).unwrap_or(u64::MAX));
                    let part = FilePart::Lines { first: 1, first_byte: 0, total, goes_on: false };
                    Ok(file_output(converted, part, "(empty file)".to_owned()))
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

fn file_output(converted: ConvertedText, part: FilePart, empty_note: String) -> ToolOutput {
    let ConvertedText { text, from } = converted;
    let empty_note = text.is_empty().then_some(empty_note);
    let note = from.map(|from| format!("converted from {from} to UTF-8"));
    ToolOutput { file_part: Some(part), note, empty_note, ..ToolOutput::text(text) }
}

fn read_whole(cx: &Cx, path: &str) -> Result<ConvertedText, ToolError> {
    let contents = load_file(cx, path, FileUser::Read).map_err(|err| match err.code {
        // A large image is to be viewed, not read in parts.
        ErrorCode::FileTooLarge => refuse_viewed_file(cx, path).err().unwrap_or(err),
        _ => err,
    })?;
    let contents = contents.contents;
    refuse_viewed(path, &contents)?;
    if is_notebook(path) && contents.starts_with(b"{") {
        let message = format!(
            "file {path:?} is a notebook: use view to see its cells, or give offset and limit to read its JSON"
        );
        return Err(ToolError::new(ErrorCode::PathInvalid, message));
    }
    convert(path, contents)
}

fn is_notebook(path: &str) -> bool {
    std::path::Path::new(path).extension().is_some_and(|ending| ending == "ipynb")
}

/// Refuses a file that another tool shows.
fn refuse_viewed(path: &str, start: &[u8]) -> Result<(), ToolError> {
    match viewed_kind(start) {
        Some(kind) => {
            let message = format!("file {path:?} is {kind}, not text: use view");
            Err(ToolError::new(ErrorCode::PathInvalid, message))
        }
        None => Ok(()),
    }
}

fn refuse_viewed_file(cx: &Cx, path: &str) -> Result<(), ToolError> {
    let (_, OpenRegularFile { file, .. }) = open_file(cx.fs(), path)?;
    let mut start = Vec::new();
    file.take(SNIFFED_BYTES).read_to_end(&mut start)?;
    refuse_viewed(path, &start)
}

/// Refuses content that does not start like a text.
fn check_start(path: &str, start: &[u8]) -> Result<(), ToolError> {
    refuse_viewed(path, start)?;
    if has_utf_16_mark(start) { Ok(()) } else { refuse_binary(path, start) }
}

/// Returns the text of a file or of a part of one.
fn convert(path: &str, contents: Vec<u8>) -> Result<ConvertedText, ToolError> {
    if !has_utf_16_mark(&contents) {
        refuse_binary(path, &contents)?;
    }
    to_utf_8(contents).ok_or_else(|| {
        let message = format!(
            "file {path:?} is binary (it is not UTF-8 and has control characters), not text: look at it with a command, \
             such as file or xxd"
        );
        ToolError::new(ErrorCode::PathInvalid, message)
    })
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
    check_start(path, lines.fill_buf()?)?;
    let from = has_utf_16_mark(lines.fill_buf()?).then_some("UTF-16");
    let mut lines: Box<dyn BufRead> = match from {
        // The bytes of a line feed may be parts of other characters there.
        Some(_) => Box::new(Cursor::new(utf_16_text(path, lines)?)),
        None => Box::new(lines),
    };
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
            "file {path:?} has {number} lines, found offset {first}: give an offset up to {number}"
        );
        return Err(ToolError::new(ErrorCode::InvalidInput, message));
    }
    let total = is_end.then_some(number);
    let part = FilePart::Lines { first, first_byte, total, goes_on };
    let converted = convert(path, wanted)?;
    let converted = ConvertedText { from: from.or(converted.from), ..converted };
    Ok(file_output(converted, part, "(empty file)".to_owned()))
}

/// Returns the text of a file in UTF-16. It is converted as a whole.
fn utf_16_text(path: &str, file: impl Read) -> Result<String, ToolError> {
    let mut contents = Vec::new();
    let limit = u64::try_from(EDITED_FILE_BYTES_MAX).unwrap_or(u64::MAX).saturating_add(1);
    file.take(limit).read_to_end(&mut contents)?;
    if contents.len() > EDITED_FILE_BYTES_MAX {
        let message = format!(
            "file {path:?} is UTF-16 text of more than {EDITED_FILE_BYTES_MAX} bytes: convert it to UTF-8, for example \
             with iconv"
        );
        return Err(ToolError::new(ErrorCode::FileTooLarge, message));
    }
    Ok(convert(path, contents)?.text)
}

/// Reads whole characters. A character that is cut at the beginning belongs to the range before, and one that is cut at the end
/// is completed, so adjoining ranges give the whole text.
fn read_bytes(cx: &Cx, path: &str, offset: u64, limit: u64) -> Result<ToolOutput, ToolError> {
    let (_, OpenRegularFile { mut file, stamp }) = open_file(cx.fs(), path)?;
    if offset > stamp.size {
        let size = stamp.size;
        let message = format!(
            "byte_offset: file {path:?} has {size} bytes, found {offset}: give a byte_offset up to {}",
            size.saturating_sub(1)
        );
        return Err(ToolError::new(ErrorCode::InvalidInput, message));
    }
    let mut start = Vec::new();
    file.by_ref().take(SNIFFED_BYTES).read_to_end(&mut start)?;
    if has_utf_16_mark(&start) {
        let message =
            format!("file {path:?} is UTF-16 text: give offset and limit, which count lines");
        return Err(ToolError::new(ErrorCode::InvalidInput, message));
    }
    check_start(path, &start)?;
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
    Ok(file_output(convert(path, wanted.to_vec())?, part, empty_note))
}

fn continuation_bytes(contents: &[u8], from: usize) -> usize {
    let rest = contents.get(from..).unwrap_or_default();
    rest.iter()
        .take(CONTINUATION_BYTES_MAX)
        .take_while(|&&byte| byte & 0b1100_0000 == 0b1000_0000)
        .count()
}
