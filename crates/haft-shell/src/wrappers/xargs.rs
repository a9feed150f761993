//! `xargs`: the program that it starts is known, but some of its arguments are always unknown.

use super::StartedCode;
use crate::analysis::{CommandWord, UnknownReason};
use crate::findings::{LineFindings, StatementScope};

const FLAGS: &[&str] =
    &["-0", "--null", "-r", "--no-run-if-empty", "-t", "--verbose", "-x", "--exit"];
const VALUED: &[&str] = &[
    "-n",
    "--max-args",
    "-P",
    "--max-procs",
    "-L",
    "-s",
    "--max-chars",
    "-d",
    "--delimiter",
    "-E",
];
/// Long options whose value only follows `=`.
const VALUED_JOINED: &[&str] = &["--max-lines"];
const REPLACING: &[&str] = &["-I", "--replace"];
const READING: &[&str] = &["-a", "--arg-file"];

/// Returns the command that `xargs` starts, in the scope of that command.
pub(super) fn parse_xargs(
    findings: &mut LineFindings,
    arguments: &[CommandWord],
    scope: &StatementScope,
) -> Result<StartedCode, UnknownReason> {
    let mut rest = arguments;
    let mut replaced: Option<&str> = None;
    while let Some((first, after)) = rest.split_first() {
        let text = first.literal().ok_or(UnknownReason::RunsOthers)?;
        if !text.starts_with('-') {
            break;
        }
        rest = after;
        let is_joined = |options| joined_value(text, options).is_some();
        if FLAGS.contains(&text) || is_joined(VALUED) || is_joined(VALUED_JOINED) {
            continue;
        }
        if text == "--replace" {
            replaced = Some("{}");
            continue;
        }
        if let Some(mark) = joined_value(text, REPLACING) {
            replaced = Some(mark);
            continue;
        }
        let (value, after) = after.split_first().ok_or(UnknownReason::RunsOthers)?;
        let value = value.literal().ok_or(UnknownReason::RunsOthers)?;
        rest = after;
        if text == "-I" {
            replaced = Some(value);
        } else if READING.contains(&text) {
            super::add_read_file(findings, value, scope);
        } else if !VALUED.contains(&text) {
            return Err(UnknownReason::RunsOthers);
        }
    }
    let mut words = rest.to_vec();
    if words.is_empty() {
        words.push(CommandWord::Literal("echo".to_owned()));
    }
    // The input takes the place of a marker, or follows at the end.
    match replaced {
        Some(mark) => super::find::replace_marker(&mut words, mark),
        None => words.push(CommandWord::Unknown("…".to_owned())),
    }
    Ok(StartedCode::Command(words, scope.clone()))
}

/// Returns the value in `-n1` or `--max-args=1`.
fn joined_value<'a>(text: &'a str, options: &[&str]) -> Option<&'a str> {
    options.iter().find_map(|option| {
        let value = text.strip_prefix(option).filter(|value| !value.is_empty())?;
        if option.starts_with("--") { value.strip_prefix('=') } else { Some(value) }
    })
}
