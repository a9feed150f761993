//! Questions to the person at the terminal.

mod confirm;
mod question_terminal;
mod screen_asker;
mod terminal_asker;
mod tool_questions;
mod waiting_person;

pub(crate) use confirm::{ask_choice, ask_confirmation, ask_line};
pub(crate) use question_terminal::{ANSWER_BYTES_MAX, escape_text, indent_untrusted};
pub(crate) use screen_asker::ScreenAsker;
pub(crate) use terminal_asker::TerminalAsker;
pub(crate) use tool_questions::{TypedAnswer, ask_on_terminal_about, option_lines};
pub(crate) use waiting_person::WaitingPerson;
