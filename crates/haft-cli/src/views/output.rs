//! Where text goes: data to standard output, everything else to standard error, colour only where somebody sees it.
//! What is said is the commands' affair.

use std::fmt;
use std::io::{self, IsTerminal, Write};

use anstream::ColorChoice;
use clap::ValueEnum;
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
/// What a pipe takes whole if it takes anything, in bytes: a page.
const AT_ONCE_BYTES_MAX: usize = 4_096;

/// When to colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Also into files and pipes
    Always,
    /// Nowhere
    Never,
}

impl Color {
    /// Makes the choice hold for the rest of the process.
    pub(crate) fn apply(self) {
        let choice = match self {
            Self::Auto => ColorChoice::Auto,
            Self::Always => ColorChoice::Always,
            Self::Never => ColorChoice::Never,
        };
        choice.write_global();
    }
}

/// Writes data, ended by a newline if there is any. Files and pipes get it as it is, a terminal as visible text.
pub(crate) fn write_data(text: &str) -> Result<(), CommandError> {
    if io::stdout().is_terminal() {
        write_coloured_data(&escape_controls(text))
    } else {
        write_coloured_data(text)
    }
}

/// Writes data that has colours of haft's own, ended by a newline if there is any. For a terminal, what of it was written by
/// others must be visible text already.
pub(crate) fn write_coloured_data(text: &str) -> Result<(), CommandError> {
    let newline = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    let mut stdout = io::stdout().lock();
    write!(stdout, "{text}{newline}")
        .and_then(|()| stdout.flush())
        .map_err(|err| CommandError::of_stdout(&err))
}

/// Writes a piece of data that comes bit by bit, without a newline. When nobody takes it there is nobody to tell.
pub(crate) fn write_data_piece(text: &str) {
    let mut stdout = io::stdout().lock();
    let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
}

/// Writes a piece of a line that has colours of haft's own. What of it was written by others must be visible text already.
pub(crate) fn write_stderr_piece(text: &str) {
    let mut stderr = anstream::stderr().lock();
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

/// Writes data as one line of JSON.
pub(crate) fn write_json(value: &impl Serialize) -> Result<(), CommandError> {
    let text = serde_json::to_string(value)
        .map_err(|err| CommandError::failed(format!("the answer is not JSON: {err}")))?;
    write_data(&text)
}

/// Writes data as JSON for people to read and for tools to take as it is.
pub(crate) fn write_pretty_json(value: &impl Serialize) -> Result<(), CommandError> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|err| CommandError::failed(format!("the answer is not JSON: {err}")))?;
    write_data(&text)
}

/// Says what went wrong, and after a blank line what helps.
pub(crate) fn print_error(message: &str, hint: Option<&str>) {
    print_labelled(ERROR, "error", message, hint);
}

/// Says what went wrong, right before the process ends: nobody is waited for.
pub(crate) fn print_error_nonblocking(message: &str, hint: Option<&str>) {
    print_nonblocking(&labelled_text(ERROR, "error", message, hint));
}

/// Says something at once, or not at all where standard error takes nothing at the moment. Neither a reader is waited for
/// nor whoever is in the middle of writing there. What of it was written by others must be visible text already.
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

/// Returns as much of a text as a pipe that takes something takes without waiting.
fn pipe_sized_prefix(text: &str) -> &str {
    text.get(..text.floor_char_boundary(AT_ONCE_BYTES_MAX)).unwrap_or_default()
}

/// Says what is not as somebody may think, and what helps. More may follow, so that a hint ends with a blank line.
pub(crate) fn print_warning(message: &str, hint: Option<&str>) {
    print_labelled(WARNING, "warning", message, hint);
    if hint.is_some() {
        write_stderr(format_args!("\n"));
    }
}

/// Returns a text in which the characters are spelled out that would control a terminal or turn the direction of writing.
/// Line ends and tabs stay. Names of files, texts of manifests and all that tools answer are chosen by strangers.
pub(crate) fn escape_controls(text: &str) -> String {
    let is_harmless = |character: char| matches!(character, '\n' | '\t');
    let controls = |character: char| character.is_control() || turns_direction(character);
    escape_where(text, |character| controls(character) && !is_harmless(character))
}

/// Returns a text on one line in which every character is spelled out that is not plainly to be seen: also those that have
/// no width or belong to the letter before. It is for questions, whose readers must not be deceived about anything.
pub(crate) fn escape_nonprinting(text: &str) -> String {
    let is_sign = |character: char| matches!(character, '"' | '\'' | '\\');
    escape_where(text, |character| character.escape_debug().len() > 1 && !is_sign(character))
}

fn escape_where(text: &str, is_spelled_out: impl Fn(char) -> bool) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if is_spelled_out(character) {
            shown.extend(character.escape_debug());
        } else {
            shown.push(character);
        }
    }
    shown
}

fn turns_direction(character: char) -> bool {
    matches!(
        character,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    )
}

/// Says something beside the data, where a person is there to read it.
pub(crate) fn print_aside(message: impl fmt::Display) {
    if io::stderr().is_terminal() {
        write_stderr(format_args!("{DIM}{}{DIM:#}\n", escape_controls(&message.to_string())));
    }
}

/// Says something that a command did.
pub(crate) fn print_note(message: impl fmt::Display) {
    write_stderr(format_args!("{}\n", escape_controls(&message.to_string())));
}

/// Says something that has colours of haft's own. What of it was written by others must be visible text already.
pub(crate) fn print_coloured_note(text: &str) {
    write_stderr(format_args!("{text}\n"));
}

/// Returns whether somebody sees colours on standard error, for what is drawn there by other means.
pub(crate) fn stderr_has_colours() -> bool {
    anstream::AutoStream::choice(&io::stderr()) != ColorChoice::Never
}

/// Prints a notice on standard error.
pub(crate) fn print_notice(notice: &Notice) {
    match notice.level {
        NoticeLevel::Warning => {
            let hint = notice.next.as_ref().map(command_of);
            print_warning(&notice.message, hint.as_deref());
        }
        NoticeLevel::Aside => match &notice.next {
            Some(step) => {
                print_aside(format_args!("{}; see {}", notice.message, command_of(step)));
            }
            None => print_aside(&notice.message),
        },
    }
}

fn print_labelled(style: Style, label: &str, message: &str, hint: Option<&str>) {
    write_stderr(format_args!("{}", labelled_text(style, label, message, hint)));
}

fn labelled_text(style: Style, label: &str, message: &str, hint: Option<&str>) -> String {
    let message = escape_controls(message.trim_end());
    match hint.map(escape_controls) {
        Some(hint) => {
            format!("{style}{label}:{style:#} {message}\n\n{HINT}hint:{HINT:#} {hint}\n")
        }
        None => format!("{style}{label}:{style:#} {message}\n"),
    }
}

/// When nobody takes what is said there is nobody to tell either.
fn write_stderr(text: fmt::Arguments<'_>) {
    let _ = anstream::stderr().lock().write_fmt(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_control_a_terminal_is_spelled_out() {
        let check = |text: &str, expect: &str| {
            assert_eq!(escape_controls(text), expect);
            assert_eq!(escape_controls(expect), expect, "what is visible stays as it is");
        };
        check("plain\ttext ä \"\\\" e\u{301}\n", "plain\ttext ä \"\\\" e\u{301}\n");
        check("\u{1b}[31mred\r\n", "\\u{1b}[31mred\\r\n");
        check("\u{9b}2J\u{7f}\u{8}", "\\u{9b}2J\\u{7f}\\u{8}");
        check("gpj.\u{202e}exe\u{2066}", "gpj.\\u{202e}exe\\u{2066}");
    }

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
    fn in_questions_all_is_spelled_out_that_is_not_plainly_to_be_seen() {
        let check = |text: &str, expect: &str| assert_eq!(escape_nonprinting(text), expect);
        check("'ä' \"\\\"", "'ä' \"\\\"");
        check("a\n\tb\u{200b}e\u{301}", "a\\n\\tb\\u{200b}e\\u{301}");
        check("\u{1b}[2J\u{202e}", "\\u{1b}[2J\\u{202e}");
    }
}
