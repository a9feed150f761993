//! A writer of lines above the line that a person is typing. The line editor, which knows where that line is, prints them.

use std::sync::Arc;

use crate::views::output;

/// Prints whole lines above the line that is being typed.
pub(crate) type LinePrinter = Arc<dyn Fn(String) + Send + Sync>;

/// Writes whole lines above the line that is being typed. Without a printer, it drops its text.
pub(crate) struct AbovePromptWriter {
    printer: Option<LinePrinter>,
    unfinished_line: String,
}

impl AbovePromptWriter {
    /// Returns a writer to this printer.
    pub(crate) fn new(printer: Option<LinePrinter>) -> Self {
        Self { printer, unfinished_line: String::new() }
    }

    /// Takes a piece of text, and writes its complete lines.
    pub(crate) fn write_text(&mut self, text: &str) {
        self.unfinished_line.push_str(text);
        let Some(end) = self.unfinished_line.rfind('\n') else { return };
        let rest = self.unfinished_line.split_off(end + 1);
        let lines = std::mem::replace(&mut self.unfinished_line, rest);
        let lines = match output::stderr_has_colours() {
            true => lines,
            false => anstream::adapter::strip_str(&lines).to_string(),
        };
        if let Some(printer) = &self.printer {
            printer(lines);
        }
    }
}
