//! The terminal that questions go to and answers come from. A question may repeat text that a model wrote: none of it
//! reaches the terminal unescaped, and each line of it is indented.

use std::io::{self, BufRead as _, PipeReader, PipeWriter, Read as _, Write as _};

use rustix::event::{PollFd, PollFlags, poll};

use crate::views::output::escape_nonprinting;
use crate::views::table::columns_of;

/// Longest line that is read as an answer, in bytes.
pub(crate) const ANSWER_BYTES_MAX: u64 = 4_096;
/// Tries to answer a question in a terminal.
///
/// Limit (calls): the call is rejected.
pub(crate) const ANSWER_TRIES_MAX: usize = 5;
/// Longest part of one text that a question shows, in characters.
pub(crate) const ASKED_TEXT_CHARS_MAX: usize = 4_000;
/// Columns of a question, unless the terminal has fewer.
pub(super) const WIDTH: usize = 80;
/// Columns that are folded into at least, also where the terminal has fewer.
pub(super) const WIDTH_MIN: usize = 20;
pub(super) const INDENT: &str = "  ";

/// Ends a question that was withdrawn: the next message begins on a new line, and the next typed line goes to the next
/// question.
pub(super) struct OpenQuestionGuard {
    /// Closing it is what the other end waits for.
    _withdraw: PipeWriter,
    is_answered: bool,
}

impl OpenQuestionGuard {
    pub(super) fn mark_answered(mut self) {
        self.is_answered = true;
    }
}

impl Drop for OpenQuestionGuard {
    fn drop(&mut self) {
        if !self.is_answered {
            write_stderr("\n");
        }
    }
}

/// Where questions go and answers come from.
pub(super) trait QuestionScreen {
    /// How wide lines may be: what the terminal itself folds does not begin where haft sets it in.
    fn columns(&self) -> usize;
    /// Shows text that is ready to be shown.
    fn show_text(&mut self, text: &str);
    /// Shows text, and returns the line that is typed afterwards; `None` at the end of the input.
    fn read_answer(&mut self, text: &str) -> Option<String>;
}

pub(super) struct QuestionTerminal {
    withdrawn: PipeReader,
    /// Whether the caller stopped waiting for the answer. The question then shows nothing more.
    is_withdrawn: bool,
}

impl QuestionTerminal {
    /// Returns the terminal for one question, and what withdraws the question.
    pub(super) fn new() -> Option<(Self, OpenQuestionGuard)> {
        let (withdrawn, withdraw) = io::pipe().ok()?;
        Some((
            Self { withdrawn, is_withdrawn: false },
            OpenQuestionGuard { _withdraw: withdraw, is_answered: false },
        ))
    }
}

fn write_stderr(text: &str) {
    let mut stderr = io::stderr().lock();
    // If standard error is closed, the question stays unanswered.
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

impl QuestionScreen for QuestionTerminal {
    fn columns(&self) -> usize {
        columns()
    }

    fn show_text(&mut self, text: &str) {
        if !self.is_withdrawn {
            write_stderr(text);
        }
    }

    fn read_answer(&mut self, text: &str) -> Option<String> {
        let stdin = io::stdin();
        // Lines typed before the question was shown do not answer it.
        let _ = rustix::termios::tcflush(&stdin, rustix::termios::QueueSelector::IFlush);
        self.show_text(text);
        // Waits for a line, or for the end of the question: the pipe closes when the caller withdraws it.
        let has_line = loop {
            let mut ends =
                [PollFd::new(&stdin, PollFlags::IN), PollFd::new(&self.withdrawn, PollFlags::IN)];
            match poll(&mut ends, None) {
                Ok(_) => break ends.last().is_some_and(|end| end.revents().is_empty()),
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => break false,
            }
        };
        if !has_line {
            self.is_withdrawn = true;
            return None;
        }
        let mut line = String::new();
        let read = stdin.lock().take(ANSWER_BYTES_MAX).read_line(&mut line);
        matches!(read, Ok(bytes) if bytes > 0).then_some(line)
    }
}

/// Returns texts escaped, folded and set in, so that no line of them can be taken for one of haft's.
pub(crate) fn indent_untrusted(texts: &[String]) -> String {
    indent_untrusted_within(texts, columns())
}

pub(super) fn indent_untrusted_within(texts: &[String], columns: usize) -> String {
    texts.iter().map(|text| fold_text(&escape_text(text), columns)).collect()
}

/// Returns how wide lines of questions are.
fn columns() -> usize {
    columns_of(io::stderr()).map_or(WIDTH, |columns| columns.clamp(WIDTH_MIN, WIDTH))
}

/// Lines break after a gap where there is one in their second half, and else wherever they are full.
fn fold_text(text: &str, columns: usize) -> String {
    let mut lines = String::new();
    let mut line = String::from(INDENT);
    for character in text.chars() {
        if line.chars().map(width).sum::<usize>() + width(character) > columns {
            let gap = line.rfind(' ').filter(|gap| *gap > line.len() / 2);
            let rest = gap.map_or(String::new(), |gap| line.split_off(gap).split_off(1));
            lines.push_str(&line);
            lines.push('\n');
            line = format!("{INDENT}{INDENT}{rest}");
        }
        line.push(character);
    }
    format!("{lines}{line}\n")
}

/// Some characters are two columns wide. Folding early is only a little ugly.
pub(super) fn width(character: char) -> usize {
    if character.is_ascii() { 1 } else { 2 }
}

/// Returns the beginning of a text, plainly visible, and how much more there is.
pub(crate) fn escape_text(text: &str) -> String {
    let mut characters = text.chars();
    let begun: String = characters.by_ref().take(ASKED_TEXT_CHARS_MAX).collect();
    let shown = escape_nonprinting(&begun);
    match characters.count() {
        0 => shown,
        more => format!("{shown}… ({more} more characters are not shown)"),
    }
}
