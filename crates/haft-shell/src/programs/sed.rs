//! `sed`: a script runs commands through `e`, and writes and reads files through `w` and `r`.
//! Scripts are parsed just enough to exclude these commands; a script that cannot be parsed counts
//! as using them.

use crate::analysis::{CommandWord, FileUseMode, UnknownReason};

const FLAGS: &[&str] = &[
    "--debug",
    "--null-data",
    "--posix",
    "--quiet",
    "--regexp-extended",
    "--separate",
    "--silent",
    "--unbuffered",
    "--sandbox",
];
const FLAG_LETTERS: &str = "nErsuz";

/// The parsed arguments of `sed`.
#[derive(Debug, Default, PartialEq, Eq)]
struct SedArguments<'a> {
    scripts: Vec<&'a str>,
    files: Vec<&'a str>,
    /// The suffix of the backup of a file that is edited in place; empty for no backup.
    in_place: Option<&'a str>,
}

/// Returns why a script does more than edit, as far as its text shows.
pub(super) fn unknown_reason(arguments: &[CommandWord]) -> Option<UnknownReason> {
    let is_literal = arguments.iter().all(|word| word.literal().is_some());
    (!is_plain(arguments)).then_some(if is_literal {
        UnknownReason::RunsOthers
    } else {
        UnknownReason::StartsOthers
    })
}

/// Returns whether every script is literal and plain.
fn is_plain(arguments: &[CommandWord]) -> bool {
    let Some(read) = read(arguments) else { return false };
    let suffix = read.in_place.unwrap_or_default();
    // A suffix with these characters names another directory.
    let names_directory = suffix.contains(['/', '*']);
    !names_directory
        && read.scripts.iter().all(|script| {
            let between = [' ', '\t', '\n', ';', '}'];
            let mut rest = script.trim_start_matches(between);
            while !rest.is_empty() {
                let Some(after) = after_command(rest) else { return false };
                rest = after.trim_start_matches(between);
            }
            true
        })
}

/// Returns the files that are read or edited, and their backups.
pub(crate) fn files(arguments: &[CommandWord]) -> Vec<(String, FileUseMode)> {
    let Some(read) = read(arguments) else { return Vec::new() };
    let mut files = Vec::new();
    for file in read.files {
        files.push((file.to_owned(), FileUseMode::Read));
        if let Some(suffix) = read.in_place {
            files.push((file.to_owned(), FileUseMode::Write));
            if !suffix.is_empty() {
                files.push((format!("{file}{suffix}"), FileUseMode::Write));
            }
        }
    }
    files
}

/// Parses the arguments, or returns `None` if one of them is unknown.
fn read(arguments: &[CommandWord]) -> Option<SedArguments<'_>> {
    let mut read = SedArguments::default();
    let mut operands = Vec::new();
    let mut rest = arguments;
    while let Some((first, after)) = rest.split_first() {
        let text = first.literal()?;
        rest = after;
        if text == "--" {
            operands.extend(rest.iter().map(CommandWord::literal).collect::<Option<Vec<_>>>()?);
            break;
        } else if text == "-e" || text == "--expression" {
            let (script, after) = rest.split_first()?;
            read.scripts.push(script.literal()?);
            rest = after;
        } else if let Some(script) = text.strip_prefix("--expression=") {
            read.scripts.push(script);
        } else if text == "--in-place" {
            read.in_place = Some("");
        } else if let Some(suffix) = text.strip_prefix("--in-place=") {
            read.in_place = Some(suffix);
        } else if FLAGS.contains(&text) {
            // It changes how scripts run, but not their abilities.
        } else if text.starts_with('-') && text.len() > 1 {
            // A cluster of letters, of which the last may take a value.
            let flags = text.strip_prefix('-')?;
            if let Some(at) = flags.find(|letter| !FLAG_LETTERS.contains(letter)) {
                match flags.get(at..)?.split_at_checked(1)? {
                    ("i", suffix) => read.in_place = Some(suffix),
                    ("e", "") => {
                        let (script, after) = rest.split_first()?;
                        read.scripts.push(script.literal()?);
                        rest = after;
                    }
                    ("e", script) => read.scripts.push(script),
                    _ => return None,
                }
            }
        } else {
            operands.push(text);
        }
    }
    let mut operands = operands.into_iter();
    if read.scripts.is_empty() {
        read.scripts.push(operands.next()?);
    }
    read.files = operands.collect();
    Some(read)
}

/// Returns the text after the first command of a script, or `None` if the command is not plain.
fn after_command(script: &str) -> Option<&str> {
    let mut rest = after_address(script)?;
    if let Some(second) = rest.trim_start().strip_prefix(',') {
        rest = after_address(second.trim_start_matches([' ', '+', '~']))?;
    }
    let rest = rest.trim_start_matches([' ', '\t', '!']);
    let mut chars = rest.chars();
    let command = chars.next()?;
    let rest = chars.as_str();
    match command {
        '{' => Some(rest),
        '#' => Some(rest.split_once('\n').map_or("", |(_, rest)| rest)),
        '=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x' | 'z' | 'q' | 'Q' => {
            let rest = rest.trim_start_matches(|char: char| char.is_ascii_digit() || char == ' ');
            (rest.is_empty() || rest.starts_with([';', '\n', '}', '#'])).then_some(rest)
        }
        // Their text extends to the end of the line, and continues after a backslash.
        'a' | 'i' | 'c' if !rest.contains('\n') => Some(""),
        's' => {
            let rest = after_parts(rest, 2)?;
            let flags = |char: char| "gpiImM".contains(char) || char.is_ascii_digit();
            let rest = rest.trim_start_matches(flags).trim_start_matches(' ');
            (rest.is_empty() || rest.starts_with([';', '\n', '}', '#'])).then_some(rest)
        }
        'y' => after_parts(rest, 2),
        _ => None,
    }
}

fn after_address(script: &str) -> Option<&str> {
    if script.starts_with('/') {
        return Some(after_parts(script, 1)?.trim_start_matches(['I', 'M']));
    }
    if script.starts_with('\\') {
        return None;
    }
    Some(script.trim_start_matches(|char: char| char.is_ascii_digit() || "$~".contains(char)))
}

/// Skips a delimiter and `count` parts that end in it.
fn after_parts(text: &str, count: usize) -> Option<&str> {
    let delimiter = text.chars().next().filter(|char| !matches!(char, '\\' | '\n'))?;
    let mut chars = text.get(delimiter.len_utf8()..)?.chars();
    let mut ended = 0;
    while ended < count {
        let char = chars.next()?;
        if char == '\\' {
            chars.next();
        } else if char == '[' {
            // Versions differ in whether a delimiter in brackets ends the part.
            if inside_brackets(chars.as_str())?.contains(delimiter) {
                return None;
            }
        } else if char == delimiter {
            ended += 1;
        }
    }
    Some(chars.as_str())
}

/// Returns the text in brackets, or `None` if it is not plain.
fn inside_brackets(text: &str) -> Option<&str> {
    let start = if text.starts_with('^') { 1 } else { 0 };
    let mut at = start;
    loop {
        let rest = text.get(at..)?;
        if let Some(class) = rest.strip_prefix("[:") {
            at += class.find(":]")? + 4;
        } else if rest.starts_with(']') {
            return if at == start { None } else { text.get(..at) };
        } else {
            at += rest.chars().next()?.len_utf8();
        }
    }
}
