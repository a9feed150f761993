//! The line editor and its history, on a separate thread, because reading a line waits for the person. haft keeps the last
//! lines in the user's state, which only the user can read.

use std::path::PathBuf;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use rustyline::config::Config;
use rustyline::error::ReadlineError;
use rustyline::{DefaultEditor, ExternalPrinter};
use tokio::sync::mpsc;

use crate::error::CommandError;
use crate::views::above_prompt::{AbovePromptWriter, LinePrinter};

/// Typed lines that the history keeps.
const HISTORY_LINES_MAX: usize = 1_000;
/// Longest line that is kept, in bytes.
const HISTORY_LINE_BYTES_MAX: usize = 4_096;

/// The result of a request for a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TypedInput {
    Line(String),
    /// Ctrl-C.
    Interrupted,
    /// Ctrl-D, or the terminal is gone.
    End,
}

/// Reads lines from the terminal.
pub(crate) struct TerminalLineEditor {
    /// The prompt of each wanted line, and the text that the line starts with.
    line_requests: Sender<(String, String)>,
    inputs: mpsc::UnboundedReceiver<TypedInput>,
    printer: Option<LinePrinter>,
    _settings: TerminalSettingsGuard,
}

/// Restores the settings of the terminal when it is dropped: the thread may wait for a line until the process ends.
struct TerminalSettingsGuard(Option<Termios>);

impl Drop for TerminalSettingsGuard {
    fn drop(&mut self) {
        if let Some(settings) = &self.0 {
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Drain, settings);
        }
    }
}

impl TerminalLineEditor {
    /// Begins to read lines, with the lines typed before as history.
    pub(crate) fn begin(history: PathBuf) -> Result<Self, CommandError> {
        let unusable = |err: &dyn std::fmt::Display| {
            CommandError::failed(format!("the terminal cannot be read: {err}"))
        };
        let settings = TerminalSettingsGuard(tcgetattr(std::io::stdin()).ok());
        let mut editor = editor(&history).map_err(|err| unusable(&err))?;
        let printer = editor.create_external_printer().ok();
        let printer = printer.map(|printer| -> LinePrinter {
            let printer = Mutex::new(printer);
            Arc::new(move |lines| {
                // A terminal that is gone shows nothing more.
                let _ = printer.lock().unwrap_or_else(PoisonError::into_inner).print(lines);
            })
        });
        let (line_requests, requests) = channel::<(String, String)>();
        let (sender, inputs) = mpsc::unbounded_channel();
        let thread = std::thread::Builder::new().name("line editor".to_owned());
        let started = thread.spawn(move || {
            while let Ok((prompt, prefilled_text)) = requests.recv() {
                let typed = match editor.readline_with_initial(&prompt, (&prefilled_text, "")) {
                    Ok(line) => {
                        save_history_line(&mut editor, &history, &line);
                        TypedInput::Line(line)
                    }
                    Err(ReadlineError::Interrupted) => TypedInput::Interrupted,
                    Err(_) => TypedInput::End,
                };
                if sender.send(typed).is_err() {
                    return;
                }
            }
        });
        started.map_err(|err| unusable(&err))?;
        Ok(Self { line_requests, inputs, printer, _settings: settings })
    }

    /// Requests a line that starts with some text. `next_input` returns the line.
    pub(crate) fn request_line(&self, prompt: String, prefilled_text: String) {
        let _ = self.line_requests.send((prompt, prefilled_text));
    }

    /// Waits for the requested line.
    pub(crate) async fn next_input(&mut self) -> TypedInput {
        self.inputs.recv().await.unwrap_or(TypedInput::End)
    }

    /// Returns a writer of lines above the typed line.
    pub(crate) fn above_prompt_writer(&self) -> AbovePromptWriter {
        AbovePromptWriter::new(self.printer.clone())
    }
}

fn editor(history: &PathBuf) -> Result<DefaultEditor, ReadlineError> {
    let config = Config::builder()
        .max_history_size(HISTORY_LINES_MAX)?
        .history_ignore_space(true)
        .history_ignore_dups(true)?
        .build();
    let mut editor = DefaultEditor::with_config(config)?;
    // There may be no history yet, and a conversation needs none.
    if editor.load_history(history).is_ok() {
        // Lines were appended one by one; saving cuts the file to its bound.
        let _ = editor.save_history(history);
    }
    Ok(editor)
}

fn save_history_line(editor: &mut DefaultEditor, history: &PathBuf, line: &str) {
    if line.trim().is_empty() || line.len() > HISTORY_LINE_BYTES_MAX {
        return;
    }
    // A conversation goes on even if the history cannot be written.
    if editor.add_history_entry(line).is_ok_and(|is_new| is_new) {
        let _ = editor.append_history(history);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn so_many_lines_are_kept_and_only_the_user_reads_them() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("history");
        let mut typed = editor(&path).unwrap();
        for number in 0..HISTORY_LINES_MAX + 5 {
            save_history_line(&mut typed, &path, &format!("line {number}"));
        }
        save_history_line(&mut typed, &path, " secret");
        save_history_line(&mut typed, &path, &"x".repeat(HISTORY_LINE_BYTES_MAX + 1));
        save_history_line(&mut typed, &path, &"y".repeat(HISTORY_LINE_BYTES_MAX));
        let again = editor(&path).unwrap();
        assert_eq!(again.history().iter().count(), HISTORY_LINES_MAX);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains("secret") && !text.contains("xx"), "{text}");
        assert!(text.contains("yy") && text.lines().count() <= HISTORY_LINES_MAX + 1);
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
}
