//! The terminal for questions and answers. A question may repeat text that a model wrote. Such text is escaped, and each
//! line of it is indented.

use std::io::{self, BufRead as _, PipeReader, PipeWriter, Read as _, Write as _};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

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
/// Columns of a question, also on a terminal that has fewer.
pub(super) const WIDTH_MIN: usize = 20;
pub(super) const INDENT: &str = "  ";

/// Withdraws a question when it is dropped unanswered: the next message begins on a new line, and the next typed line goes
/// to the next question.
struct OpenQuestionGuard {
    /// The terminal waits until this end is closed.
    _withdraw: PipeWriter,
    is_answered: bool,
}

impl Drop for OpenQuestionGuard {
    fn drop(&mut self) {
        if !self.is_answered {
            write_stderr("\n");
        }
    }
}

/// Has the terminal show what is typed, and pass it on line by line, until it is dropped.
struct LineModeGuard(Option<Termios>);

impl LineModeGuard {
    fn begin() -> Self {
        let line_modes = LocalModes::ICANON | LocalModes::ECHO;
        let former = tcgetattr(io::stdin()).ok();
        let former = former.filter(|former| !former.local_modes.contains(line_modes));
        if let Some(former) = &former {
            let mut lines = former.clone();
            lines.local_modes |= line_modes;
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, &lines);
        }
        Self(former)
    }
}

impl Drop for LineModeGuard {
    fn drop(&mut self) {
        if let Some(former) = &self.0 {
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, former);
        }
    }
}

/// Shows questions and reads answers.
pub(super) trait QuestionScreen {
    /// Returns how wide lines may be. A longer line would be folded by the terminal, without haft's indent.
    fn columns(&self) -> usize;
    /// Shows a text. The caller escapes those parts that others wrote.
    fn show_text(&mut self, text: &str);
    /// Shows a text, and returns the line that is typed afterwards; `None` at the end of the input.
    fn read_answer(&mut self, text: &str) -> Option<String>;
}

/// The terminal for one question.
pub(super) struct QuestionTerminal {
    withdrawn: PipeReader,
    /// Whether the caller stopped waiting for the answer. The question then shows nothing more.
    is_withdrawn: bool,
}

/// Asks on a separate thread, which may wait for a line for ever: the process does not wait for it. Returns `None` if the
/// question cannot be asked, and `unanswered` if the thread panicked.
pub(super) async fn ask_on_terminal<T: Send + 'static>(
    unanswered: T,
    ask: impl FnOnce(&mut QuestionTerminal) -> T + Send + 'static,
) -> Option<T> {
    let (withdrawn, withdraw) = io::pipe().ok()?;
    let mut terminal = QuestionTerminal { withdrawn, is_withdrawn: false };
    let mut open_question = OpenQuestionGuard { _withdraw: withdraw, is_answered: false };
    let answer = tokio::task::spawn_blocking(move || ask(&mut terminal)).await;
    open_question.is_answered = true;
    Some(answer.unwrap_or(unanswered))
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
        let _line_mode = LineModeGuard::begin();
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

/// Returns texts escaped, folded and indented, so that their lines differ from haft's own lines.
pub(crate) fn indent_untrusted(texts: &[String]) -> String {
    indent_untrusted_within(texts, columns())
}

pub(super) fn indent_untrusted_within(texts: &[String], columns: usize) -> String {
    let mut lines = String::new();
    for text in texts {
        let mut line = String::from(INDENT);
        for character in escape_text(text).chars() {
            if line.chars().map(width).sum::<usize>() + width(character) > columns {
                // A line breaks after a gap in its second half, or else where it is full.
                let gap = line.rfind(' ').filter(|gap| *gap > line.len() / 2);
                let rest = gap.map_or(String::new(), |gap| line.split_off(gap).split_off(1));
                lines.push_str(&format!("{line}\n"));
                line = format!("{INDENT}{INDENT}{rest}");
            }
            line.push(character);
        }
        lines.push_str(&format!("{line}\n"));
    }
    lines
}

/// Returns how wide lines of questions are.
fn columns() -> usize {
    columns_of(io::stderr()).map_or(WIDTH, |columns| columns.clamp(WIDTH_MIN, WIDTH))
}

/// Some characters are two columns wide. Folding early is only a little ugly.
pub(super) fn width(character: char) -> usize {
    if character.is_ascii() { 1 } else { 2 }
}

/// Returns the beginning of a text, escaped, and the number of characters that are not shown.
pub(crate) fn escape_text(text: &str) -> String {
    let mut characters = text.chars();
    let begun: String = characters.by_ref().take(ASKED_TEXT_CHARS_MAX).collect();
    let shown = escape_nonprinting(&begun);
    match characters.count() {
        0 => shown,
        more => format!("{shown}… ({more} more characters are not shown)"),
    }
}
