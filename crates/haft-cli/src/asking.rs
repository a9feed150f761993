//! Questions to the person at the terminal.

mod confirm;
mod question_terminal;
mod screen_asker;
mod terminal_asker;
mod tool_questions;

pub(crate) use confirm::{ask_choice, ask_confirmation, ask_line};
pub(crate) use question_terminal::{ANSWER_BYTES_MAX, escape_text, indent_untrusted};
pub(crate) use screen_asker::ScreenAsker;
pub(crate) use terminal_asker::TerminalAsker;
