//! `xargs`: the program that it starts is known, and some of its arguments never are.

use crate::judgement::{UnknownReason, Word};
use crate::walk::{Scope, Walk};

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

/// Judges the arguments of `xargs` in the scope of what it starts.
pub(super) fn judge(
    walk: &mut Walk,
    arguments: &[Word],
    scope: &Scope,
) -> Result<(), UnknownReason> {
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
            super::reads(walk, value, scope);
        } else if !VALUED.contains(&text) {
            return Err(UnknownReason::RunsOthers);
        }
    }
    let words = with_unknown(rest, replaced);
    walk.command(&words, scope);
    Ok(())
}

/// Returns the words that are run: with what is read put in for a mark, or at the end.
fn with_unknown(words: &[Word], replaced: Option<&str>) -> Vec<Word> {
    let mut words = words.to_vec();
    if words.is_empty() {
        words.push(Word::Literal("echo".to_owned()));
    }
    match replaced {
        Some(mark) => super::find::replace(&mut words, mark),
        None => words.push(Word::Unknown("…".to_owned())),
    }
    words
}

/// Returns the value in `-n1` or `--max-args=1`.
fn joined_value<'a>(text: &'a str, options: &[&str]) -> Option<&'a str> {
    options.iter().find_map(|option| {
        let value = text.strip_prefix(option).filter(|value| !value.is_empty())?;
        if option.starts_with("--") { value.strip_prefix('=') } else { Some(value) }
    })
}
