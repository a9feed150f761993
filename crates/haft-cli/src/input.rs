//! The input of a tool as it is given on the command line: as JSON, in a file, or on standard input.

use std::io::Read;

use serde_json::Value;

use crate::error::CommandError;
use crate::quote;

/// Largest input of one call, in bytes. A content at its own largest bound fits in, however it is escaped.
pub(crate) const INPUT_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Reads what was given as the input of a tool.
pub(crate) fn read(tool: &str, given: &str) -> Result<Value, CommandError> {
    let (name, text) = match given.strip_prefix('@') {
        Some(path) => {
            let file = std::fs::File::open(path).map_err(|err| {
                CommandError::usage(format!("input {path} cannot be read: {err}"))
            })?;
            (path, read_bounded(file, path)?)
        }
        None if given == "-" => {
            ("standard input", read_bounded(std::io::stdin(), "standard input")?)
        }
        None => ("the input", given.to_owned()),
    };
    serde_json::from_str(&text).map_err(|err| {
        CommandError::usage(format!("{name} is not JSON: {err}"))
            .hint(format!("haft tools show {}", quote::shell(tool)))
    })
}

fn read_bounded(source: impl Read, name: &str) -> Result<String, CommandError> {
    let mut text = String::new();
    let read = source.take(INPUT_BYTES_MAX + 1).read_to_string(&mut text);
    read.map_err(|err| CommandError::usage(format!("{name} cannot be read: {err}")))?;
    if u64::try_from(text.len()).is_ok_and(|bytes| bytes > INPUT_BYTES_MAX) {
        return Err(CommandError::usage(format!("{name} has more than {INPUT_BYTES_MAX} bytes")));
    }
    Ok(text)
}
