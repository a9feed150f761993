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

/// A way to show the events of a session.
pub(super) trait SessionRenderer {
    fn show_event(&mut self, event: AgentEvent);

    /// Keeps the text of a file for the end of the call that is about to replace it.
    fn keep_file_text(&mut self, _: FileTextBeforeCall) {}

    /// Returns whether events appear where questions are asked, and so wait for the answer.
    fn is_on_terminal(&self) -> bool {
        true
    }

    /// Shows a text that is not an event.
    fn show_note(&mut self, text: &str) {
        output::print_note(text);
    }

    /// Ends the unfinished line.
    fn end_line(&mut self) {}

    /// The person types a line from now on.
    fn start_typing(&mut self, _: AbovePromptWriter) {}

    /// The person has finished the line.
    fn stop_typing(&mut self) {}

    fn finish(&mut self) {}
}
