//! The line editor and its history, on a separate thread, because reading a line waits for the person. haft keeps the last
//! lines in the user's state, which only the user can read.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use rustyline::config::Config;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{DefaultEditor, Editor as LineEditor, ExternalPrinter};
use tokio::sync::mpsc;

use super::limits::{HISTORY_LINE_BYTES_MAX, HISTORY_LINES_MAX};
use crate::error::CommandError;

/// The result of a request for a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TypedInput {
    Line(String),
    /// Ctrl-C.
    Interrupted,
    /// Ctrl-D, or the terminal is gone.
    End,
}

/// A request for a line.
struct LineRequest {
    prompt: String,
    /// The text that the line starts with.
    prefilled_text: String,
}

type SharedPrinter = Arc<Mutex<dyn ExternalPrinter + Send>>;

/// Reads lines from the terminal.
pub(crate) struct TerminalLineEditor {
    line_requests: Sender<LineRequest>,
    inputs: mpsc::UnboundedReceiver<TypedInput>,
    printer: Option<SharedPrinter>,
    _settings: TerminalSettingsGuard,
}

/// Writes whole lines above the line that is being typed.
pub(crate) struct AbovePromptWriter {
    printer: Option<SharedPrinter>,
    unfinished_line: String,
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
            CommandError::failed(format!("this terminal cannot be typed on: {err}"))
        };
        let settings = TerminalSettingsGuard(tcgetattr(std::io::stdin()).ok());
        let mut editor = editor(&history).map_err(|err| unusable(&err))?;
        let printer = editor.create_external_printer().ok();
        let printer = printer.map(|printer| Arc::new(Mutex::new(printer)) as SharedPrinter);
        let (wanted, wishes) = channel();
        let (tell, typed) = mpsc::unbounded_channel();
        let thread = std::thread::Builder::new().name("line editor".to_owned());
        thread
            .spawn(move || read_lines(editor, &history, &wishes, &tell))
            .map_err(|err| unusable(&err))?;
        Ok(Self { line_requests: wanted, inputs: typed, printer, _settings: settings })
    }

    /// Requests a line, which `next_input` returns.
    pub(crate) fn request_line(&self, prompt: &str, begun: String) {
        let _ = self
            .line_requests
            .send(LineRequest { prompt: prompt.to_owned(), prefilled_text: begun });
    }

    /// Waits for the requested line.
    pub(crate) async fn next_input(&mut self) -> TypedInput {
        self.inputs.recv().await.unwrap_or(TypedInput::End)
    }

    /// Returns a writer of lines above the typed line.
    pub(crate) fn above_prompt_writer(&self) -> AbovePromptWriter {
        AbovePromptWriter { printer: self.printer.clone(), unfinished_line: String::new() }
    }
}

impl AbovePromptWriter {
    /// Returns a writer that drops its text.
    #[cfg(test)]
    pub(crate) fn disabled() -> Self {
        Self { printer: None, unfinished_line: String::new() }
    }

    /// Takes a piece of text, and writes its complete lines.
    pub(crate) fn write_text(&mut self, text: &str) {
        self.unfinished_line.push_str(text);
        let Some(end) = self.unfinished_line.rfind('\n') else { return };
        let rest = self.unfinished_line.split_off(end + 1);
        let lines = std::mem::replace(&mut self.unfinished_line, rest);
        let lines = match crate::views::output::stderr_has_colours() {
            true => lines,
            false => anstream::adapter::strip_str(&lines).to_string(),
        };
        if let Some(printer) = &self.printer {
            // A terminal that is gone shows nothing more.
            let _ = printer.lock().unwrap_or_else(PoisonError::into_inner).print(lines);
        }
    }
}

fn editor(history: &PathBuf) -> Result<DefaultEditor, ReadlineError> {
    let config = Config::builder()
        .max_history_size(HISTORY_LINES_MAX)?
        .history_ignore_space(true)
        .history_ignore_dups(true)?
        .build();
    let mut editor = LineEditor::<(), FileHistory>::with_config(config)?;
    // There may be no history yet, and a conversation needs none.
    if editor.load_history(history).is_ok() {
        // Lines were appended one by one; saving cuts the file to its bound.
        let _ = editor.save_history(history);
    }
    Ok(editor)
}

fn read_lines(
    mut editor: DefaultEditor,
    history: &PathBuf,
    wanted: &Receiver<LineRequest>,
    tell: &mpsc::UnboundedSender<TypedInput>,
) {
    while let Ok(LineRequest { prompt, prefilled_text: begun }) = wanted.recv() {
        let typed = match editor.readline_with_initial(&prompt, (&begun, "")) {
            Ok(line) => {
                save_history_line(&mut editor, history, &line);
                TypedInput::Line(line)
            }
            Err(ReadlineError::Interrupted) => TypedInput::Interrupted,
            Err(_) => TypedInput::End,
        };
        if tell.send(typed).is_err() {
            return;
        }
    }
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
    fn so_many_lines_are_kept_and_nobody_else_reads_them() {
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
