//! Writes text: data to standard output, everything else to standard error, and colours only to a terminal or on request.
//! The commands decide what to write.

use std::fmt;
use std::io::{self, IsTerminal, Write};

use anstream::ColorChoice;
use clap::builder::styling::{AnsiColor, Effects, Style};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;

use crate::error::CommandError;
use crate::next_step::command_of;
use haft_app::host::{Notice, NoticeLevel};

const ERROR: Style = AnsiColor::Red.on_default().effects(Effects::BOLD);
const WARNING: Style = AnsiColor::Yellow.on_default().effects(Effects::BOLD);
const HINT: Style = AnsiColor::Cyan.on_default().effects(Effects::BOLD);
const DIM: Style = Style::new().dimmed();
/// The name of terminals that can only print.
const DUMB_TERMINAL: &str = "dumb";
/// Bytes that a ready pipe takes without waiting: a page.
const AT_ONCE_BYTES_MAX: usize = 4_096;

/// Writes data, ended by a newline if there is any. Files and pipes get it as it is, a terminal as visible text.
pub(crate) fn write_data(text: &str) -> Result<(), CommandError> {
    match io::stdout().is_terminal() {
        true => write_coloured_data(&haft_contract::escape_controls(text)),
        false => write_coloured_data(text),
    }
}

/// Writes data with haft's own colours, ended by a newline if there is any. For a terminal, the caller escapes those parts
/// that others wrote.
pub(crate) fn write_coloured_data(text: &str) -> Result<(), CommandError> {
    let newline = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    let mut stdout = io::stdout().lock();
    write!(stdout, "{text}{newline}")
        .and_then(|()| stdout.flush())
        .map_err(|err| CommandError::of_stdout(&err))
}

/// Writes a piece of streamed data, without a newline. Ignores errors: a reader that closed the pipe wants no report.
pub(crate) fn write_data_piece(text: &str) {
    let mut stdout = io::stdout().lock();
    let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
}

/// Writes a piece of a line with haft's own colours. The caller escapes those parts that others wrote.
pub(crate) fn write_stderr_piece(text: &str) {
    let mut stderr = anstream::stderr().lock();
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

/// Writes text that moves the cursor to standard error. Its styles go if standard error shows no colours. The caller escapes
/// those parts that others wrote.
pub(crate) fn write_stderr_controls(text: &str) {
    let mut stderr = io::stderr().lock();
    let text = if stderr_has_colours() { text.to_owned() } else { without_styles(text) };
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

/// Returns a text without the sequences that set styles. Other sequences stay.
fn without_styles(text: &str) -> String {
    let mut pieces = text.split('\u{1b}');
    let mut shown = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let end = piece.find(|character: char| character.is_ascii_alphabetic());
        match end.and_then(|end| piece.get(end..)?.strip_prefix('m')) {
            Some(rest) => shown.push_str(rest),
            None => shown.push_str(&format!("\u{1b}{piece}")),
        }
    }
    shown
}

/// Returns whether the terminal can only print, and not move its cursor.
pub(crate) fn is_dumb_terminal() -> bool {
    std::env::var("TERM").is_ok_and(|term| term == DUMB_TERMINAL)
}

/// Writes data as one line of JSON.
pub(crate) fn write_json(value: &impl Serialize) -> Result<(), CommandError> {
    write_data(&serde_json::to_string(value).map_err(not_json)?)
}

/// Writes data as indented JSON.
pub(crate) fn write_pretty_json(value: &impl Serialize) -> Result<(), CommandError> {
    write_data(&serde_json::to_string_pretty(value).map_err(not_json)?)
}

fn not_json(err: serde_json::Error) -> CommandError {
    CommandError::failed(format!("the answer is not JSON: {err}"))
}

/// Prints an error, and after a blank line the hint.
pub(crate) fn print_error(message: &str, hint: Option<&str>) {
    print_labelled(ERROR, "error", message, hint);
}

/// Prints an error right before the process ends, without waiting for a reader.
pub(crate) fn print_error_nonblocking(message: &str, hint: Option<&str>) {
    print_nonblocking(&labelled_text(ERROR, "error", message, hint));
}

/// Prints a text at once, or drops it if standard error takes nothing at the moment. Waits neither for a reader nor for other
/// writers. The caller escapes those parts that others wrote.
pub(crate) fn print_nonblocking(text: &str) {
    let stderr = io::stderr();
    let mut ends = [PollFd::new(&stderr, PollFlags::OUT)];
    let takes_some = poll(&mut ends, Some(&Timespec::default())).is_ok_and(|ready| ready > 0);
    if !takes_some || !ends.iter().all(|end| end.revents().contains(PollFlags::OUT)) {
        return;
    }
    let text = match stderr_has_colours() {
        true => text.to_owned(),
        false => anstream::adapter::strip_str(text).to_string(),
    };
    let _ = rustix::io::write(&stderr, pipe_sized_prefix(&text).as_bytes());
}

/// Returns the part of a text that a ready pipe takes without waiting.
fn pipe_sized_prefix(text: &str) -> &str {
    text.get(..text.floor_char_boundary(AT_ONCE_BYTES_MAX)).unwrap_or_default()
}

/// Prints a warning and the hint. More output may follow, so a blank line ends the hint.
pub(crate) fn print_warning(message: &str, hint: Option<&str>) {
    print_labelled(WARNING, "warning", message, hint);
    if hint.is_some() {
        write_stderr(format_args!("\n"));
    }
}

/// Returns a text on one line in which every invisible character is escaped, including those without a width or that join the
/// letter before. It is for questions, whose text must not deceive the person.
pub(crate) fn escape_nonprinting(text: &str) -> String {
    let is_sign = |character: char| matches!(character, '"' | '\'' | '\\');
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if character.escape_debug().len() > 1 && !is_sign(character) {
            shown.extend(character.escape_debug());
        } else {
            shown.push(character);
        }
    }
    shown
}

/// Prints a remark if standard error is a terminal.
pub(crate) fn print_aside(message: impl fmt::Display) {
    if io::stderr().is_terminal() {
        write_stderr(format_args!(
            "{DIM}{}{DIM:#}\n",
            haft_contract::escape_controls(&message.to_string())
        ));
    }
}

/// Prints a note on standard error.
pub(crate) fn print_note(message: impl fmt::Display) {
    write_stderr(format_args!("{}\n", haft_contract::escape_controls(&message.to_string())));
}

/// Prints a note with haft's own colours. The caller escapes those parts that others wrote.
pub(crate) fn print_coloured_note(text: &str) {
    write_stderr(format_args!("{text}\n"));
}

/// Returns whether standard output shows colours.
pub(crate) fn stdout_has_colours() -> bool {
    anstream::AutoStream::choice(&io::stdout()) != ColorChoice::Never
}

/// Returns a text in a style, if standard output shows colours. The caller escapes those parts that others wrote.
pub(crate) fn painted(style: Style, text: &str, has_colours: bool) -> String {
    if has_colours && !text.is_empty() {
        format!("{style}{text}{style:#}")
    } else {
        text.to_owned()
    }
}

/// Returns whether standard error shows colours, for output that does not go through `anstream`.
pub(crate) fn stderr_has_colours() -> bool {
    anstream::AutoStream::choice(&io::stderr()) != ColorChoice::Never
}

/// Prints a notice on standard error.
pub(crate) fn print_notice(notice: &Notice) {
    let step = notice.next.as_ref().map(command_of);
    match (notice.level, step) {
        (NoticeLevel::Warning, step) => print_warning(&notice.message, step.as_deref()),
        (NoticeLevel::Aside, Some(step)) => {
            print_aside(format_args!("{}; see {step}", notice.message));
        }
        (NoticeLevel::Aside, None) => print_aside(&notice.message),
    }
}

fn print_labelled(style: Style, label: &str, message: &str, hint: Option<&str>) {
    write_stderr(format_args!("{}", labelled_text(style, label, message, hint)));
}

fn labelled_text(style: Style, label: &str, message: &str, hint: Option<&str>) -> String {
    let message = haft_contract::escape_controls(message.trim_end());
    match hint.map(haft_contract::escape_controls) {
        Some(hint) => {
            format!("{style}{label}:{style:#} {message}\n\n{HINT}hint:{HINT:#} {hint}\n")
        }
        None => format!("{style}{label}:{style:#} {message}\n"),
    }
}

/// Writes to standard error. Ignores errors: there is no other place to report them.
fn write_stderr(text: fmt::Arguments<'_>) {
    let _ = anstream::stderr().lock().write_fmt(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_much_is_said_without_waiting() {
        let fits = "x".repeat(AT_ONCE_BYTES_MAX);
        assert_eq!(pipe_sized_prefix(&fits), fits);
        assert_eq!(pipe_sized_prefix(&format!("{fits}y")), fits);
        assert_eq!(
            pipe_sized_prefix(&format!("x{}", "ä".repeat(AT_ONCE_BYTES_MAX))).len(),
            AT_ONCE_BYTES_MAX - 1
        );
    }

    #[test]
    fn styles_go_and_movements_stay() {
        assert_eq!(
            without_styles("a\u{1b}[2mb\u{1b}[0m\r\u{1b}[1A\u{1b}[Jc"),
            "ab\r\u{1b}[1A\u{1b}[Jc"
        );
    }

    #[test]
    fn in_questions_all_is_spelled_out_that_is_not_plainly_to_be_seen() {
        let check = |text: &str, expect: &str| assert_eq!(escape_nonprinting(text), expect);
        check("'ä' \"\\\"", "'ä' \"\\\"");
        check("a\n\tb\u{200b}e\u{301}", "a\\n\\tb\\u{200b}e\\u{301}");
        check("\u{1b}[2J\u{202e}", "\\u{1b}[2J\\u{202e}");
    }
}
