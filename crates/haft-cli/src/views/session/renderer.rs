//! The renderer of a session's events: as lines of text, or as lines of JSON.

use haft_agent::AgentEvent;
use haft_journal::SessionId;

use super::editor::AbovePromptWriter;
use crate::views::output;

/// The text of a file before a call replaces it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FileTextBeforeCall {
    pub(super) session: SessionId,
    pub(super) call: String,
    pub(super) text: String,
}

/// A way of showing what happens.
pub(super) trait SessionRenderer {
    fn show_event(&mut self, event: AgentEvent);

    /// Keeps what a file says, for the end of the call that is going to replace it.
    fn keep_file_text(&mut self, _: FileTextBeforeCall) {}

    /// Returns whether events are shown where questions are asked, and so wait for the answer.
    fn is_on_terminal(&self) -> bool {
        true
    }

    /// Says something that is no event.
    fn show_note(&mut self, text: &str) {
        output::print_note(text);
    }

    /// Ends the line that is being written.
    fn end_line(&mut self) {}

    /// A line is being typed.
    fn start_typing(&mut self, _: AbovePromptWriter) {}

    /// No line is being typed any more.
    fn stop_typing(&mut self) {}

    fn finish(&mut self) {}
}
