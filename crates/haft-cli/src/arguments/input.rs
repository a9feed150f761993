//! Values of the command line: as JSON, in a file, or on standard input.

use std::io::Read;

use serde_json::Value;

use crate::error::CommandError;
use haft_app::quote;

/// Largest input of `haft call`, in bytes. The largest content fits in, however it is escaped.
///
/// Limit (calls): the input is refused.
pub(crate) const INPUT_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Reads a value that was given as the input of a tool: as JSON, in a file, or on standard input.
pub(crate) fn read(tool: &str, given: &str) -> Result<Value, CommandError> {
    let (name, text) = text(given, "input")?;
    parsed(&name, &text).map_err(|err| err.hint(format!("haft tools show {}", quote::shell(tool))))
}

/// Reads a value as `read` does. `what` names it in errors.
pub(crate) fn read_json(given: &str, what: &str) -> Result<Value, CommandError> {
    let (name, text) = text(given, what)?;
    parsed(&name, &text)
}

/// Reads a text: as it is, in a file, or on standard input. `what` names it in errors.
pub(crate) fn read_text(given: &str, what: &str) -> Result<String, CommandError> {
    text(given, what).map(|(_, text)| text)
}

/// Reads the input of a plan. Standard input may be the plan itself, or the request for one, so it is not read here.
pub(crate) fn read_plan_input(given: &str) -> Result<Value, CommandError> {
    match given {
        "-" => Err(CommandError::usage("--input: expected JSON or @FILE, found -")),
        given => read_json(given, "input"),
    }
}

fn parsed(name: &str, text: &str) -> Result<Value, CommandError> {
    serde_json::from_str(text)
        .map_err(|err| CommandError::usage(format!("{name} is not JSON: {err}")))
}

/// Returns a name for the given value, and its text.
fn text(given: &str, what: &str) -> Result<(String, String), CommandError> {
    match given.strip_prefix('@') {
        Some(path) => {
            let file = std::fs::File::open(path).map_err(|err| {
                CommandError::usage(format!("{what} {path} cannot be read: {err}"))
            })?;
            Ok((path.to_owned(), read_bounded(file, path)?))
        }
        None if given == "-" => {
            let name = "standard input";
            Ok((name.to_owned(), read_bounded(std::io::stdin(), name)?))
        }
        None => Ok((format!("the {what}"), given.to_owned())),
    }
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
