//! The line editor and its history, on a separate thread, because reading a line waits for the person. haft keeps the last
//! lines in the user's state, which only the user can read. Between two lines, the terminal neither shows keys nor holds them
//! back, so haft sees that the person begins to type while the agent works.

use std::io::{self, BufRead as _};
use std::path::PathBuf;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use rustyline::config::{CompletionType, Config};
use rustyline::error::ReadlineError;
use rustyline::history::DefaultHistory;
use rustyline::{Editor, ExternalPrinter};
use tokio::sync::mpsc;

use super::completion::LineCompletion;
use crate::error::CommandError;
use crate::views::above_prompt::{AbovePromptWriter, LinePrinter};
use crate::views::output;
use crate::views::screen::LineStart;

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

/// A wanted line: its prompt, and the text that it starts with.
type LineRequest = (String, String);

/// Reads lines from the terminal.
pub(crate) struct TerminalLineEditor {
    line_requests: Sender<LineRequest>,
    inputs: mpsc::UnboundedReceiver<TypedInput>,
    printer: Option<LinePrinter>,
    /// Whether a line was requested that is not finished.
    is_reading: bool,
    /// Whether the terminal itself edits the line.
    is_plain: bool,
    settings: TerminalSettingsGuard,
}

/// Restores the settings of the terminal when it is dropped: the thread may wait for a line until the process ends.
struct TerminalSettingsGuard(Option<Termios>);

impl TerminalSettingsGuard {
    fn restore(&self) {
        if let Some(settings) = &self.0 {
            let _ = tcsetattr(io::stdin(), OptionalActions::Drain, settings);
        }
    }

    /// Has the terminal pass keys on at once, without showing them.
    fn hide_keys(&self) {
        if let Some(settings) = &self.0 {
            let mut quiet = settings.clone();
            quiet.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
            let _ = tcsetattr(io::stdin(), OptionalActions::Drain, &quiet);
        }
    }
}

impl Drop for TerminalSettingsGuard {
    fn drop(&mut self) {
        self.restore();
    }
}

impl TerminalLineEditor {
    /// Begins to read lines with an editor that redraws the line, with the lines typed before as history.
    pub(crate) fn begin(
        history: PathBuf,
        completion: LineCompletion,
    ) -> Result<Self, CommandError> {
        let unusable = |err: &dyn std::fmt::Display| {
            CommandError::failed(format!("the terminal cannot be read: {err}"))
        };
        let settings = TerminalSettingsGuard(tcgetattr(io::stdin()).ok());
        let mut editor = editor(&history).map_err(|err| unusable(&err))?;
        editor.set_helper(Some(completion));
        let printer = editor.create_external_printer().ok();
        let printer = printer.map(|printer| -> LinePrinter {
            let printer = Mutex::new(printer);
            Arc::new(move |lines| {
                // A terminal that is gone shows nothing more.
                let _ = printer.lock().unwrap_or_else(PoisonError::into_inner).print(lines);
            })
        });
        let read = move |(prompt, prefilled_text): LineRequest| match editor
            .readline_with_initial(&prompt, (&prefilled_text, ""))
        {
            Ok(line) => {
                save_history_line(&mut editor, &history, &line);
                TypedInput::Line(line)
            }
            Err(ReadlineError::Interrupted) => TypedInput::Interrupted,
            Err(_) => TypedInput::End,
        };
        settings.hide_keys();
        Self::start(read, printer, settings)
    }

    /// Begins to read lines as the terminal itself edits them: nothing is redrawn, and no key completes a word.
    pub(crate) fn begin_plain() -> Result<Self, CommandError> {
        let settings = TerminalSettingsGuard(tcgetattr(io::stdin()).ok());
        let printer: LinePrinter = Arc::new(|lines| {
            output::write_stderr_piece(&format!("\n{lines}"));
        });
        let read = |(prompt, _): LineRequest| {
            output::write_stderr_piece(&prompt);
            let mut line = String::new();
            match io::stdin().lock().read_line(&mut line) {
                Ok(1..) => TypedInput::Line(line.trim_end_matches('\n').to_owned()),
                Ok(0) | Err(_) => {
                    // Ctrl-D leaves the cursor behind the prompt.
                    output::write_stderr_piece("\n");
                    TypedInput::End
                }
            }
        };
        Ok(Self { is_plain: true, ..Self::start(read, Some(printer), settings)? })
    }

    fn start(
        mut read: impl FnMut(LineRequest) -> TypedInput + Send + 'static,
        printer: Option<LinePrinter>,
        settings: TerminalSettingsGuard,
    ) -> Result<Self, CommandError> {
        let (line_requests, requests) = channel::<LineRequest>();
        let (sender, inputs) = mpsc::unbounded_channel();
        let thread = std::thread::Builder::new().name("line editor".to_owned());
        let started = thread.spawn(move || {
            while let Ok(request) = requests.recv() {
                if sender.send(read(request)).is_err() {
                    return;
                }
            }
        });
        let cannot = |err| CommandError::failed(format!("the terminal cannot be read: {err}"));
        started.map_err(cannot)?;
        let (is_reading, is_plain) = (false, false);
        Ok(Self { line_requests, inputs, printer, is_reading, is_plain, settings })
    }

    /// Returns what begins to read a line that starts with some text. `next_input` returns the line.
    pub(crate) fn request_line(&mut self, prompt: String, prefilled_text: String) -> LineStart {
        self.is_reading = true;
        let requests = self.line_requests.clone();
        Box::new(move || {
            let _ = requests.send((prompt, prefilled_text));
        })
    }

    /// Returns whether a line was requested that is not finished.
    pub(crate) fn is_reading(&self) -> bool {
        self.is_reading
    }

    /// Returns what begins to read the line that a person types while the agent works. In a plain terminal, the line is
    /// complete when haft sees it, so it needs no prompt.
    pub(crate) fn request_line_ahead(&mut self, prompt: String) -> LineStart {
        let prompt = if self.is_plain { String::new() } else { prompt };
        self.request_line(prompt, String::new())
    }

    /// Waits for the requested line.
    pub(crate) async fn next_input(&mut self) -> TypedInput {
        let typed = self.inputs.recv().await.unwrap_or(TypedInput::End);
        self.is_reading = false;
        typed
    }

    /// Returns whether the person typed something that no line has read.
    pub(crate) fn has_keys(&self) -> bool {
        let stdin = io::stdin();
        let mut keys = [PollFd::new(&stdin, PollFlags::IN)];
        poll(&mut keys, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
    }

    /// Returns a writer of lines above the typed line.
    pub(crate) fn above_prompt_writer(&self) -> AbovePromptWriter {
        AbovePromptWriter::new(self.printer.clone())
    }

    /// Restores the terminal, for a process that ends at once.
    pub(crate) fn restore_terminal(&self) {
        self.settings.restore();
    }
}

fn editor(history: &PathBuf) -> Result<Editor<LineCompletion, DefaultHistory>, ReadlineError> {
    let config = Config::builder()
        .max_history_size(HISTORY_LINES_MAX)?
        .history_ignore_space(true)
        .history_ignore_dups(true)?
        .completion_type(CompletionType::List)
        .build();
    let mut editor = Editor::with_config(config)?;
    // There may be no history yet, and a conversation needs none.
    if editor.load_history(history).is_ok() {
        // Lines were appended one by one; saving cuts the file to its bound.
        let _ = editor.save_history(history);
    }
    Ok(editor)
}

fn save_history_line(
    editor: &mut Editor<LineCompletion, DefaultHistory>,
    history: &PathBuf,
    line: &str,
) {
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
